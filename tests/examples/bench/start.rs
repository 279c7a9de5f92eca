//! Before the first result (S4): how long a model takes from graph to plan without any pipeline, and how long a fresh
//! process takes to its first embedding, with the pipeline cache empty and then warm.

use crate::Args;
use crate::Case;
use crate::clock::{self, Times};
use crate::encoder;
use crate::rig::{self, Rig};
use crate::row::{Bar, Outcome, Row};
use pumice::embed::{EmbedOptions, Embedder};
use pumice::{OptOptions, Target};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// What the child says when it has a vector.
const DONE: &str = "embedded";
const SENTENCE: &str = "A compiler plans memory before the code runs.";

/// The cases.
pub fn cases() -> Vec<Case> {
    vec![Case::new("S4.compile_minilm", compile), Case::new("S4.first_embedding", first_embedding)]
}

/// Graph to plan, every specialization, for the device's target and for the H200's profile. The graph is built before.
fn compile(rig: &Rig) -> Outcome<Vec<Row>> {
    let (model, _) = encoder::model(rig.args.model.as_deref())?;
    let options = encoder::options(OptOptions::default());
    let mut targets = vec![rig.device.target().clone()];
    if targets[0].name != "h200" {
        targets.push(Target::h200());
    }
    let row = |target: &Target| {
        let times = clock::host(rig.pace.samples, rig.pace.warm_s, || {
            pumice::plan(&model.graph, target, &options)?;
            Ok(())
        })?;
        let plan = pumice::plan(&model.graph, target, &options)?;
        let check_us = plan.check_time().as_secs_f64() * 1e6;
        let checked = format!(
            "{} specializations; the plan checker took {:.1} ms of it, {:.0} %",
            plan.runs.len(),
            check_us / 1e3,
            100.0 * check_us / times.median
        );
        Ok(Row {
            bar: Bar::Us(100_000.0),
            judged: !rig.quick,
            checked,
            ..Row::new(format!("S4.compile_minilm_for_{}", short(&target.name)), times, "host")
        })
    };
    targets.iter().map(row).collect()
}

/// A target's name without spaces and capitals, up to a bracket.
fn short(name: &str) -> String {
    let words = name.split('(').next().unwrap_or(name).trim().to_lowercase();
    words.replace(' ', "_")
}

/// A folder that goes when it is dropped.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        // A folder that is left does no harm.
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn first_embedding(rig: &Rig) -> Outcome<Vec<Row>> {
    let cache = Scratch(std::env::temp_dir().join(format!("pumice-bench-{}", std::process::id())));
    fs::create_dir_all(&cache.0)?;
    let cold = Times::of(&[child(&rig.args, &cache.0)?]);
    let samples = if rig.quick { 1 } else { 9 };
    let warm = (0..samples).map(|_| child(&rig.args, &cache.0)).collect::<Outcome<Vec<f64>>>()?;
    let checked = "the vector's length against 1 in the child".to_owned();
    let cold = Row {
        checked: checked.clone(),
        notes: vec!["pumice's pipeline cache empty; the driver's own may be warm".to_owned()],
        ..Row::new("S4.first_embedding_cold", cold, "host")
    };
    let warm = Row {
        bar: Bar::Us(1.5e6),
        judged: rig.judges_gpu(),
        checked,
        ..Row::new("S4.first_embedding_warm", Times::of(&warm), "host")
    };
    Ok(vec![cold, warm])
}

/// Microseconds from before the process is made until it says that it has a vector.
fn child(args: &Args, cache: &Path) -> Outcome<f64> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("--first-embedding").arg("--cache").arg(cache).stdout(Stdio::piped());
    if let Some(device) = &args.device {
        command.arg("--device").arg(device);
    }
    if let Some(model) = &args.model {
        command.arg("--model").arg(model);
    }
    let begin = Instant::now();
    let mut child = command.spawn()?;
    let mut line = String::new();
    if let Some(out) = child.stdout.take() {
        BufReader::new(out).read_line(&mut line)?;
    }
    let us = begin.elapsed().as_secs_f64() * 1e6;
    let status = child.wait()?;
    match line.trim() == DONE && status.success() {
        true => Ok(us),
        false => Err(format!("the child said `{}` and ended with {status}", line.trim()).into()),
    }
}

/// The child: opens device and model, embeds a sentence, says so.
pub fn embed_once(args: &Args) -> Outcome {
    let (_, device) = rig::open_device(args.device.as_deref(), args.cache.as_deref())?;
    let options = EmbedOptions::default();
    let mut embedder = match &args.model {
        Some(folder) => Embedder::open(folder, &device, &options, |_, _| {})?,
        None => Embedder::offline(encoder::SEED, &device, &options)?,
    };
    let vectors = embedder.embed(&[SENTENCE], |_| {})?;
    let length = vectors.values.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>().sqrt();
    if (length - 1.0).abs() > 1e-3 {
        return Err(format!("a vector of length {length}").into());
    }
    println!("{DONE}");
    Ok(())
}
