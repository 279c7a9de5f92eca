//! Plans for the commands that show them. In: a model's name or file, or a saved plan. Out: the plan. Never
//! here: planning, printing a plan.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pumice::{Graph, OptOptions, Options, Placement, Plan};
use pumice_models::decoder::{DecoderConfig, decoder_graph};
use pumice_models::offline::OfflineEncoder;
use pumice_models::{Cuts, EncoderFolder, EncoderOptions, ModelError, SentenceOverrides, specialize};
use pumice_types::{Table, Target};

use crate::commands::{ModelArgs, PlanOptions};
use crate::failure::{Failure, Outcome};

/// The plan a command was asked for.
pub fn make(args: &ModelArgs) -> Outcome<Plan> {
    load_or_make(&args.model, &args.options)
}

/// How long a plan took to make, and its check of that.
pub struct Took {
    /// From graph to checked plan.
    pub whole: Duration,
    /// The checker.
    pub check: Duration,
}

/// A saved plan (`*.json`), or the plan of a model for the chosen target.
pub fn load_or_make(model: &str, options: &PlanOptions) -> Outcome<Plan> {
    timed(model, options).map(|(plan, _)| plan)
}

/// As [`load_or_make`], with how long it took; nothing where the plan was read.
pub fn timed(model: &str, options: &PlanOptions) -> Outcome<(Plan, Option<Took>)> {
    if model.ends_with(".json") {
        return Ok((read_json(Path::new(model))?, None));
    }
    let target = with_table(target(&options.target)?, options.table.as_deref())?;
    let (graph, specializations) = graph(model)?;
    let options = Options::default()
        .precision(options.precision.parse().map_err(Failure::said)?)
        .placement(if options.bump { Placement::Bump } else { Placement::Packed })
        .opt(if options.unfused { OptOptions::none() } else { OptOptions::default() })
        .specializations(specializations);
    let begin = Instant::now();
    let plan = pumice::plan(&graph, &target, &options).map_err(|e| Failure::said(format!("{model}: {e}")))?;
    let took = Took { whole: begin.elapsed(), check: plan.check_time() };
    Ok((plan.into_plan(), Some(took)))
}

/// A graph with the ranges of its symbols that get plans of their own.
type Program = (Graph, Cuts);

/// A program that needs no file: its name, and how it is made.
type BuiltIn = (&'static str, fn() -> Result<Program, ModelError>);

const BUILT_IN: [BuiltIn; 2] = [("seeded-minilm", seeded_minilm), ("tiny-decoder", tiny_decoder)];

/// Names of the programs that need no file.
#[cfg(test)]
pub fn built_in() -> impl Iterator<Item = &'static str> {
    BUILT_IN.into_iter().map(|(name, _)| name)
}

fn graph(model: &str) -> Outcome<Program> {
    let named = |e: ModelError| Failure::said(format!("{model}: {e}"));
    if let Some((_, make)) = BUILT_IN.iter().find(|(name, _)| *name == model) {
        return make().map_err(named);
    }
    let path = Path::new(model);
    if model.ends_with(".ir") {
        let text = fs::read_to_string(path).map_err(Failure::file(path))?;
        let graph = pumice_ir::text::read(&text).map_err(|e| Failure::said(format!("{model}: {e}")))?;
        return Ok((graph, Cuts::new()));
    }
    if path.is_dir() {
        return encoder(path).map_err(named);
    }
    let known = BUILT_IN.map(|(name, _)| name).join(", ");
    Err(Failure::said(format!(
        "`{model}` is no folder, no .ir file, no saved plan (.json), no built-in model ({known})"
    )))
}

fn encoder(path: &Path) -> Result<Program, ModelError> {
    let folder = EncoderFolder::open(path, &SentenceOverrides::default())?;
    Ok((folder.graph(&EncoderOptions::default())?, specialize::encoder()))
}

fn seeded_minilm() -> Result<Program, ModelError> {
    let encoder = OfflineEncoder::new(0, &EncoderOptions::default())?;
    Ok((encoder.model.graph, specialize::encoder()))
}

fn tiny_decoder() -> Result<Program, ModelError> {
    Ok((decoder_graph("tiny-decoder", &DecoderConfig::tiny())?, specialize::decoder()))
}

/// The target with the table of a file, where one is given.
fn with_table(target: Target, file: Option<&Path>) -> Outcome<Target> {
    let Some(file) = file else { return Ok(target) };
    let text = fs::read_to_string(file).map_err(Failure::file(file))?;
    let table = Table::from_json(&text).map_err(|e| Failure::said(format!("{}: {e}", file.display())))?;
    Ok(target.with_table(Arc::new(table)))
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
