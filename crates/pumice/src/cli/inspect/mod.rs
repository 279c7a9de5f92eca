//! `pumice inspect`: what a model is and where its bytes would go on a device, before anything runs.
//!
//! In: a GGUF file, a safetensors file, the folder of a language model or an encoder, a target. Out: architecture,
//! tensors, the memory plan with every param's residence and why. Never here: a tensor's data, a device's memory.

mod file;
mod memory;
mod show;
mod table;

use super::escape::message;
use super::hub::{HubArgs, Takes};
use super::progress::Progress;
use super::reading::ReadingArgs;
use super::{CommandError, Outcome};
use crate::embed::cli::choose;
use pumice_types::Target;
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;

/// Arguments of `pumice inspect`.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    /// A GGUF file, a folder in Hugging Face layout, a safetensors file, or a name in the hub such as ORG/REPO:Q4_K_M
    /// (feature hub)
    #[arg(value_name = "FILE|DIR")]
    pub path: PathBuf,
    /// Plan a language model for so many tokens of context [default: the model's, 2048 at most]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub context: Option<u64>,
    /// How a language model is read
    #[command(flatten)]
    pub reading: ReadingArgs,
    /// Plan an encoder for so many texts in one run [default: 32]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=4096))]
    pub batch: Option<u64>,
    /// Plan for a device that need not be there: h200 or lavapipe
    #[arg(long, value_name = "NAME", conflicts_with = "device")]
    pub target: Option<String>,
    /// Plan for this device: `auto`, `cpu` (the interpreter), a device's number or a part of its name
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    pub device: String,
    /// Print one JSON object, with every tensor on its own
    #[arg(long)]
    pub json: bool,
    /// What the program knows of the hub
    #[command(flatten)]
    pub hub: HubArgs,
}

/// Everything that is reported, and the form of `--json`.
#[derive(Debug, Serialize)]
pub(super) struct Inspection {
    path: String,
    /// `gguf`, `safetensors` or `folder`.
    format: &'static str,
    /// What the file or the folder's config.json says of the model.
    facts: serde_json::Map<String, serde_json::Value>,
    tensors: Vec<file::TensorRow>,
    /// Of all tensors, whether their types are read or not.
    tensor_bytes: u64,
    notes: Vec<String>,
    /// Where the bytes go; none for what cannot be planned.
    memory: Option<memory::MemoryPlan>,
    /// Why there is no memory plan.
    problem: Option<String>,
}

/// Prints what the model is. All is well if it can be planned; else `log` has the reason as well.
///
/// # Errors
/// A path that is no model, a target or device that there is not, an output that cannot be written.
pub fn run(args: &Args, cache: Option<PathBuf>, out: &mut dyn Write, log: &mut dyn Write) -> Outcome {
    let target = target(args, cache)?;
    let path = args.hub.located(&args.path, Takes::Any, &Progress::new(), &mut std::io::sink())?;
    let args = &Args { path, ..args.clone() };
    let opened = file::open(args, &target)?;
    let (memory, problem) = match opened.graph {
        Ok(planned) => match memory::of(&planned, &target) {
            Ok(memory) => (Some(memory), None),
            Err(error) => (None, Some(error.to_string())),
        },
        Err(why) => (None, Some(why)),
    };
    let inspection = Inspection {
        path: args.path.display().to_string(),
        format: opened.format,
        facts: opened.facts,
        tensor_bytes: opened.tensors.iter().map(|t| t.bytes).sum(),
        tensors: opened.tensors,
        notes: opened.notes,
        memory,
        problem,
    };
    if args.json {
        writeln!(out, "{}", serde_json::to_string(&inspection).map_err(|e| CommandError::Write(e.into()))?)?;
    } else {
        write!(out, "{}", show::text(&inspection))?;
    }
    out.flush()?;
    if let Some(problem) = &inspection.problem {
        // Where nobody hears it there is the code.
        let _ = writeln!(log, "pumice: {}", message(problem));
    }
    Ok(inspection.problem.is_none())
}

/// What the model is planned for.
fn target(args: &Args, cache: Option<PathBuf>) -> Result<Target, CommandError> {
    match &args.target {
        Some(name) => Target::profile(name).ok_or_else(|| {
            let message = "a target that pumice has figures of; give h200 or lavapipe, or a device of this machine with \
                           --device (`pumice devices` lists them)";
            CommandError::Usage(format!("`{name}` is not {message}"))
        }),
        None => Ok(choose(&args.device, cache, &Progress::new())?.device.target().clone()),
    }
}
