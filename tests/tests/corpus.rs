//! A5: how close placement comes to its lower bound, on the corpus and on MiniLM. A6: how many levels MiniLM's layers
//! have.

use pumice_compile::Options;
use pumice_cpu_ref::RefEval;
use pumice_ir::Graph;
use pumice_models::EncoderOptions;
use pumice_models::offline::OfflineEncoder;
use pumice_models::specialize;
use pumice_plan::Plan;
use pumice_plan::print::levels_per_layer;
use pumice_tests::files;
use pumice_tests::graphs::corpus;
use pumice_tests::op_suite::checked;
use pumice_types::Target;

/// Median and 95th percentile that A5 asks for.
const MEDIAN: f64 = 1.05;
const MOST: f64 = 1.15;

fn plan(graph: &Graph, target: &Target, options: &Options) -> Plan {
    let plan = pumice_compile::compile(graph, target, options, &RefEval);
    let plan = plan.unwrap_or_else(|e| panic!("{}: {e}", graph.name()));
    checked(&plan).unwrap_or_else(|e| panic!("{}: {e}", graph.name()));
    plan
}

/// Arena bytes over the lower bound, of every run of a plan.
fn ratios(plan: &Plan) -> Vec<f64> {
    plan.runs.iter().map(|run| run.stats.scratch_ratio()).collect()
}

/// The value below which that part of the sorted values lies.
fn percentile(sorted: &[f64], part: f64) -> f64 {
    let rank = (part * sorted.len() as f64).ceil() as usize;
    sorted[rank.clamp(1, sorted.len()) - 1]
}

fn minilm() -> Graph {
    OfflineEncoder::new(0, &EncoderOptions::default()).expect("sound").model.graph
}

/// The text that is committed is what the generator writes; `UPDATE=1` writes it.
#[test]
fn the_corpus_is_what_its_generator_writes() {
    let folder = files::data().join("corpus");
    for (i, family) in corpus::FAMILIES.iter().enumerate() {
        let (text, path) = (corpus::text(i), folder.join(format!("{family}.ir")));
        if std::env::var_os("UPDATE").is_some() {
            std::fs::create_dir_all(&folder).expect("a folder");
            std::fs::write(&path, &text).expect("written");
        }
        assert!(
            std::fs::read_to_string(&path).expect("committed") == text,
            "{family}.ir; UPDATE=1 rewrites it"
        );
    }
}

#[test]
fn graphs_are_many_and_wide() {
    let all: Vec<Graph> = corpus::committed().into_iter().flat_map(|(_, graphs)| graphs).collect();
    assert_eq!(all.len() as u64, corpus::COUNT);
    let sizes: Vec<(usize, usize)> = all.iter().map(corpus::size).collect();
    let least = |f: fn(&(usize, usize)) -> usize| sizes.iter().map(f).min().expect("some");
    let most = |f: fn(&(usize, usize)) -> usize| sizes.iter().map(f).max().expect("some");
    println!("{} to {} nodes, {} to {} wide", least(|s| s.0), most(|s| s.0), least(|s| s.1), most(|s| s.1));
    assert!(least(|s| s.0) >= corpus::LEAST_NODES && least(|s| s.1) >= corpus::LEAST_WIDTH);
}

#[test]
fn arenas_are_close_to_their_lower_bound() {
    for target in [Target::h200(), Target::lavapipe()] {
        let mut all = Vec::new();
        for (family, graphs) in corpus::committed() {
            let mut mine: Vec<f64> =
                graphs.iter().flat_map(|g| ratios(&plan(g, &target, &Options::default()))).collect();
            mine.sort_by(f64::total_cmp);
            report(&target, family, &mine);
            all.extend(mine);
        }
        let options = Options::default().specializations(specialize::encoder());
        let mut mine = ratios(&plan(&minilm(), &target, &options));
        mine.sort_by(f64::total_cmp);
        report(&target, "MiniLM", &mine);
        assert!(percentile(&mine, 1.0) <= MOST, "MiniLM");
        all.extend(mine);
        all.sort_by(f64::total_cmp);
        report(&target, "all", &all);
        assert!(percentile(&all, 0.5) <= MEDIAN && percentile(&all, 0.95) <= MOST);
    }
}

fn report(target: &Target, what: &str, sorted: &[f64]) {
    println!(
        "{:9} {what:10} {:4} runs: median {:.3}, 95th percentile {:.3}, largest {:.3}",
        target.name,
        sorted.len(),
        percentile(sorted, 0.5),
        percentile(sorted, 0.95),
        percentile(sorted, 1.0)
    );
}

/// A6: levels that hold a step of a layer, over the layers, in every specialization.
#[test]
fn minilm_has_seven_levels_a_layer() {
    let options = Options::default().specializations(specialize::encoder());
    let plan = plan(&minilm(), &Target::h200(), &options);
    assert_eq!(plan.runs.len(), 6);
    for run in &plan.runs {
        assert_eq!(run.stats.layers.len(), 6, "{:?}", run.stats.layers);
        let levels = levels_per_layer(run).expect("it has layers");
        assert!(levels <= 7.0, "{levels} levels a layer for {:?}", run.ranges);
    }
}
