//! Random graphs: all passes, each pass left out, and fusions undone give the bits of the unoptimized graph.

#[path = "../common/mod.rs"]
mod common;
mod programs;

use common::{assert_same, optimized, sample_of, without_fusions};
use pumice_ir::{Graph, Op};
use pumice_opt::{OptOptions, PASSES};
use std::collections::BTreeMap;

const GRAPHS: u64 = 300;

fn count_kinds(graph: &Graph, kinds: &mut BTreeMap<String, usize>) {
    for (_, node) in graph.nodes() {
        if let Op::Fused(f) = &node.op {
            *kinds.entry(f.kind.clone()).or_default() += 1;
            if node.outputs.len() > 1 {
                *kinds.entry(format!("{} with several results", f.kind)).or_default() += 1;
            }
        }
    }
}

#[test]
fn passes_keep_the_values() {
    let mut kinds = BTreeMap::new();
    for seed in 0..GRAPHS {
        let graph = programs::graph(seed).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        let mut sample = sample_of(&graph);
        sample.runs = 2;
        let plain = optimized(&graph, &OptOptions::none());
        let all = optimized(&graph, &OptOptions::default());
        let what = format!("seed {seed}");
        assert_same(&sample, &plain, &all, &what);
        assert_same(&sample, &plain, &without_fusions(&all), &what);
        let optional: Vec<&str> = PASSES.iter().filter(|p| !p.required).map(|p| p.name).collect();
        let pass = optional[seed as usize % optional.len()];
        let without = optimized(&graph, &OptOptions::without(pass));
        assert_same(&sample, &plain, &without, &format!("{what} without {pass}"));
        count_kinds(&all, &mut kinds);
    }
    println!("{kinds:?}");
    for kind in ["elementwise", "matmul", "norm"] {
        assert!(kinds.get(kind).is_some_and(|&n| n > 20), "too few fused nodes of kind {kind}: {kinds:?}");
    }
}

#[test]
fn passes_are_deterministic() {
    for seed in 0..20 {
        let graph = || programs::graph(seed).expect("built above");
        let text = || pumice_ir::text::print(&optimized(&graph(), &OptOptions::default()));
        assert_eq!(text(), text(), "seed {seed}");
    }
}
