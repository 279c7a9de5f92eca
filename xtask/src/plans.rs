//! Plans for the commands that show them. In: a model's name or file, or a saved plan. Out: the plan. Never
//! here: planning, printing a plan.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pumice::{Graph, OptOptions, Options, Placement, Plan};
use pumice_models::decoder::{DecoderConfig, decoder_graph};
use pumice_models::offline::OfflineEncoder;
use pumice_models::{
    Cuts, EncoderFolder, EncoderOptions, LanguageModel, LanguageOptions, ModelError, SentenceOverrides,
    specialize,
};
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

/// A saved plan (of `pumice compile` or `plan --json`), or the plan of a model for the chosen target.
pub fn load_or_make(model: &str, options: &PlanOptions) -> Outcome<Plan> {
    timed(model, options).map(|(plan, _)| plan)
}

/// As [`load_or_make`], with how long it took; nothing where the plan was read.
pub fn timed(model: &str, options: &PlanOptions) -> Outcome<(Plan, Option<Took>)> {
    match kind(Path::new(model))? {
        Kind::PlanFile => {
            let plan = pumice::plan_file::load(Path::new(model)).map_err(|e| Failure::said(e.to_string()))?;
            return Ok((plan.into_plan(), None));
        }
        Kind::Json => return Ok((read_json(Path::new(model))?, None)),
        Kind::Gguf | Kind::Other => {}
    }
    let target = with_table(target(&options.target)?, options.table.as_deref())?;
    let (graph, specializations) = graph(model, &target)?;
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

/// What a file is.
#[derive(Debug, PartialEq, Eq)]
enum Kind {
    /// A file of `pumice compile`.
    PlanFile,
    /// A plan as JSON.
    Json,
    /// A language model.
    Gguf,
    /// Something else, or no file.
    Other,
}

/// What a file is, by its first bytes; JSON by its name.
fn kind(path: &Path) -> Outcome<Kind> {
    if !path.is_file() {
        return Ok(Kind::Other);
    }
    let mut head = Vec::new();
    let file = fs::File::open(path).map_err(Failure::file(path))?;
    file.take(8).read_to_end(&mut head).map_err(Failure::file(path))?;
    Ok(match head {
        head if head.starts_with(b"GGUF") => Kind::Gguf,
        head if head.starts_with(b"\x89plan") => Kind::PlanFile,
        _ if path.extension().is_some_and(|end| end == "json") => Kind::Json,
        _ => Kind::Other,
    })
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

fn graph(model: &str, target: &Target) -> Outcome<Program> {
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
    if path.is_dir() && !LanguageModel::is_in_folder(path).map_err(named)? {
        return encoder(path).map_err(named);
    }
    if path.is_dir() || kind(path)? == Kind::Gguf {
        return decoder(path, target).map_err(named);
    }
    let known = BUILT_IN.map(|(name, _)| name).join(", ");
    Err(Failure::said(format!(
        "`{model}` is no folder, no GGUF file, no .ir file, no plan of `pumice compile`, no saved plan (.json), no built-in \
         model ({known})"
    )))
}

fn encoder(path: &Path) -> Result<Program, ModelError> {
    let folder = EncoderFolder::open(path, &SentenceOverrides::default())?;
    Ok((folder.graph(&EncoderOptions::default())?, specialize::encoder()))
}

fn decoder(path: &Path, target: &Target) -> Result<Program, ModelError> {
    let file = LanguageModel::open(path, &LanguageOptions::default().suited_to(target))?;
    Ok((file.model()?.graph, specialize::decoder()))
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

#[cfg(test)]
mod tests {
    use super::*;
    use pumice::PlanForm;

    fn options() -> PlanOptions {
        let (target, precision) = ("lavapipe".to_owned(), "exact".to_owned());
        PlanOptions { target, table: None, precision, bump: false, unfused: false }
    }

    /// Only JSON was taken for a plan, and only by its name.
    #[test]
    fn files_are_told_by_what_they_hold() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            fs::write(&path, bytes).expect("written");
            path
        };
        let made = load_or_make("tiny-decoder", &options()).expect("built in");
        let saved = file("any.name", &made.to_bytes(PlanForm::Explain).expect("saved"));
        let text = saved.to_str().expect("text");
        assert!(load_or_make(text, &options()).expect("a plan") == made);
        assert_eq!(kind(&saved).expect("read"), Kind::PlanFile);
        assert_eq!(kind(&file("x", b"GGUF\x03\0\0\0")).expect("read"), Kind::Gguf);
        assert_eq!(kind(&file("x.json", b"{}")).expect("read"), Kind::Json);
        assert_eq!(kind(&file("x.ir", b"")).expect("read"), Kind::Other);
        assert_eq!(kind(folder.path()).expect("a folder"), Kind::Other);
        let model = file("broken.gguf", b"GGUF\x03\0\0\0");
        let refused = load_or_make(model.to_str().expect("text"), &options());
        assert!(refused.expect_err("no header").to_string().contains("broken.gguf"));
    }
}
