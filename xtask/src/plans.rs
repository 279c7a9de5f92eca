//! Plans for the commands that show them. In: a model's name or file, or a saved plan. Out: the plan, its
//! one-screen summary, JSON. Never here: planning.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use pumice_compile::{OptOptions, Options};
use pumice_cpu_ref::RefEval;
use pumice_ir::Graph;
use pumice_models::offline::OfflineEncoder;
use pumice_models::{EncoderFolder, EncoderOptions, SentenceOverrides, Specialization};
use pumice_plan::{Placement, Plan, Precision, RegionKind, Run, Segment};
use pumice_types::{SymbolId, Target};
use serde::Serialize;

use crate::commands::{ModelArgs, PlanOptions};
use crate::failure::{Failure, Outcome};

/// The plan a command was asked for.
pub fn make(args: &ModelArgs) -> Outcome<Plan> {
    load_or_make(&args.model, &args.options)
}

/// A saved plan (`*.json`), or the plan of a model for the chosen target.
pub fn load_or_make(model: &str, options: &PlanOptions) -> Outcome<Plan> {
    if model.ends_with(".json") {
        return read_json(Path::new(model));
    }
    let target = target(&options.target)?;
    let (graph, specializations) = graph(model)?;
    let options = Options {
        placement: if options.bump { Placement::Bump } else { Placement::Packed },
        opt: if options.unfused { OptOptions::none() } else { OptOptions::default() },
        specializations,
        ..Options::default()
    };
    pumice_compile::compile(&graph, &target, &options, &RefEval)
        .map_err(|e| Failure::said(format!("{model}: {e}")))
}

/// Ends of the ranges of each symbol that get a plan of their own.
type Ranges = Vec<(String, Vec<u64>)>;

/// Programs that need no file: name, and how the graph is made.
const BUILT_IN: [(&str, fn() -> Outcome<(Graph, Ranges)>); 1] = [("seeded-minilm", seeded_minilm)];

fn graph(model: &str) -> Outcome<(Graph, Ranges)> {
    if let Some((_, make)) = BUILT_IN.iter().find(|(name, _)| *name == model) {
        return make();
    }
    let path = Path::new(model);
    if model.ends_with(".ir") {
        let text = fs::read_to_string(path).map_err(Failure::file(path))?;
        let graph = pumice_ir::text::read(&text).map_err(|e| Failure::said(format!("{model}: {e}")))?;
        return Ok((graph, Vec::new()));
    }
    if path.is_dir() {
        return encoder(path).map_err(|e| Failure::said(format!("{model}: {e}")));
    }
    let names: Vec<&str> = BUILT_IN.iter().map(|(name, _)| *name).collect();
    let known = names.join(", ");
    Err(Failure::said(format!("`{model}` is no folder, no .ir file and no built-in model ({known})")))
}

fn encoder(path: &Path) -> Result<(Graph, Ranges), pumice_models::ModelError> {
    let options = EncoderOptions::default();
    let folder = EncoderFolder::open(path, &SentenceOverrides::default())?;
    Ok((folder.graph(&options)?, ends(&folder.specializations(&options))))
}

fn seeded_minilm() -> Outcome<(Graph, Ranges)> {
    let options = EncoderOptions::default();
    let encoder = OfflineEncoder::new(0, &options).map_err(|e| Failure::said(e.to_string()))?;
    let ranges = ends(&encoder.specializations(&options));
    Ok((encoder.model.graph, ranges))
}

/// From ranges, the last value of every range of a symbol but the last.
fn ends(specializations: &[Specialization]) -> Ranges {
    let mut ranges: Ranges = Vec::new();
    for (name, range) in specializations.iter().flat_map(|one| &one.ranges) {
        match ranges.iter_mut().find(|(known, _)| known == name) {
            Some((_, ends)) => ends.push(*range.end()),
            None => ranges.push((name.clone(), vec![*range.end()])),
        }
    }
    for (_, ends) in &mut ranges {
        ends.sort_unstable();
        ends.dedup();
        ends.pop();
    }
    ranges
}

/// A target by profile name or from a JSON file.
pub fn target(name: &str) -> Outcome<Target> {
    match Target::profile(name) {
        Some(target) => Ok(target),
        None if Path::new(name).exists() => read_json(Path::new(name)),
        None => {
            Err(Failure::said(format!("no target `{name}`: h200, lavapipe, or a file with a Target as JSON")))
        }
    }
}

fn read_json<T: serde::de::DeserializeOwned>(path: &Path) -> Outcome<T> {
    let text = fs::read_to_string(path).map_err(Failure::file(path))?;
    serde_json::from_str(&text).map_err(|e| Failure::Form {
        path: path.display().to_string(),
        line: e.line(),
        message: e.to_string(),
    })
}

/// Prints any value as JSON.
pub fn print_json<T: Serialize>(value: &T) -> Outcome {
    let text = serde_json::to_string_pretty(value).map_err(|e| Failure::said(e.to_string()))?;
    println!("{text}");
    Ok(())
}

/// The range of the symbols that a run serves: `batch 1..=8, seq 1..=128`.
pub fn range(plan: &Plan, run: &Run) -> String {
    let name =
        |index: usize| plan.symbols.get(SymbolId(index as u32)).map_or("?", |symbol| symbol.name.as_str());
    let one = |(index, (lo, hi)): (usize, &(u64, u64))| {
        if lo == hi { format!("{} {lo}", name(index)) } else { format!("{} {lo}..={hi}", name(index)) }
    };
    let parts: Vec<String> = run.ranges.iter().enumerate().map(one).collect();
    if parts.is_empty() { "no symbols".to_owned() } else { parts.join(", ") }
}

/// One screen: where memory goes, what each specialization does, which kernels the largest one runs most.
pub fn summary(plan: &Plan) -> String {
    let mut text = String::new();
    let precision = match plan.precision {
        Precision::Exact => "exact (f32 products and sums)",
    };
    let _ = writeln!(text, "plan {} for {}, precision {precision}", plan.name, plan.target.name);
    let _ = write!(text, "memory ");
    for kind in RegionKind::ALL {
        let _ = write!(text, " {kind} {}", plan.region_size(kind));
    }
    let _ = writeln!(text, "\nload    {} steps", plan.load.steps.len());
    for run in &plan.runs {
        write_run(&mut text, plan, run);
    }
    if let Some(run) = plan.runs.last() {
        write_kernels(&mut text, run);
    }
    text
}

fn write_run(text: &mut String, plan: &Plan, run: &Run) {
    let stats = &run.stats;
    let hosts = run.program.segments.iter().filter(|segment| matches!(segment, Segment::Host { .. })).count();
    let recorded = run.program.segments.len() - hosts;
    let _ = writeln!(
        text,
        "run     {}: {} steps, {} levels, {} barriers, {recorded} recorded segments, {hosts} on the host",
        range(plan, run),
        stats.steps,
        stats.levels,
        stats.barriers
    );
    let floor = stats.floor;
    let _ = writeln!(
        text,
        "        scratch {} (lower bound {}, ratio {:.2})  floor {:.0} us (levels {:.0}, bytes {:.0}, flops {:.0})",
        stats.scratch,
        stats.scratch_lower_bound,
        stats.scratch_ratio(),
        floor.total_us,
        floor.levels_us,
        floor.bytes_us,
        floor.flops_us
    );
    if let (Some((name, first)), Some(most)) = (stats.layers.first(), stats.layers.iter().map(|l| l.1).max())
    {
        let _ = writeln!(
            text,
            "        layers {}: {name} has {first} levels, at most {most}",
            stats.layers.len()
        );
    }
}

/// Rows of the kernel list; the rest is summed up.
const ROWS: usize = 12;

fn write_kernels(text: &mut String, run: &Run) {
    let mut counts: Vec<(String, usize)> = Vec::new();
    for step in &run.program.steps {
        let label = step.label();
        match counts.iter_mut().find(|(known, _)| *known == label) {
            Some((_, count)) => *count += 1,
            None => counts.push((label, 1)),
        }
    }
    counts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    for (label, count) in counts.iter().take(ROWS) {
        let _ = writeln!(text, "  {count:>5}  {label}");
    }
    let rest: usize = counts.iter().skip(ROWS).map(|(_, count)| count).sum();
    if rest > 0 {
        let _ = writeln!(text, "  {rest:>5}  others ({} kinds)", counts.len() - ROWS);
    }
}
