//! `cargo xtask test`: every suite. In: the checkout. Out: a summary in the last lines; where no Vulkan driver
//! answers, the device suites are left out, counted, and said to be so. Never here: a suite.
//!
//! A test needs a Vulkan driver if its binary is named `device_*` or if it stands in a module `on_device`.
//! A test needs a downloaded model if it stands in a module `with_minilm` or `with_smollm2`. Such a test never skips
//! itself: without driver or model it fails, so leaving it out is decided here alone. Likewise a test
//! that takes minutes or needs a downloaded model is ignored with a reason that begins with `long:` or `model:`, and
//! runs with `--long`.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde::Deserialize;

use crate::checkout::{Checkout, MINILM, SMOLLM2};
use crate::child;
use crate::drivers;
use crate::failure::{Failure, Outcome};

/// The device suites as a nextest filter.
const DEVICE_SUITES: &str = "binary(/^device_/) | test(/(^|::)on_device::/)";

/// A model that `cargo xtask demo` downloads, and its tests.
struct Model {
    /// The name of its folder.
    folder: &'static str,
    /// A file in it.
    file: &'static str,
    /// The module of its tests.
    module: &'static str,
    /// Tests read its folder from this variable.
    variable: &'static str,
}

const MODELS: [Model; 2] = [
    Model { folder: MINILM, file: "config.json", module: "with_minilm", variable: "PUMICE_MINILM" },
    Model {
        folder: SMOLLM2,
        file: "SmolLM2-135M-Instruct.Q4_1.gguf",
        module: "with_smollm2",
        variable: "PUMICE_SMOLLM2",
    },
];

impl Model {
    /// Its tests as a nextest filter.
    fn suites(&self) -> String {
        format!("test(/(^|::){}::/)", self.module)
    }
}

/// Options of `test`.
#[derive(clap::Args)]
pub struct Args {
    /// Fail if no Vulkan driver answers, instead of leaving out the device suites
    #[arg(long)]
    require_vulkan: bool,
    /// Fail if a model is not there, instead of leaving out its tests (`cargo xtask demo` fetches them)
    #[arg(long)]
    require_model: bool,
    /// First install Mesa's drivers and the validation layer with apt
    #[arg(long)]
    install: bool,
    /// Also run what takes minutes; it needs the models (`cargo xtask demo` fetches them)
    #[arg(long)]
    long: bool,
    /// The nextest profile
    #[arg(long, value_name = "NAME", default_value = "default")]
    profile: String,
    /// Passed to cargo nextest (or to the test programs, where nextest is not installed)
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    rest: Vec<String>,
}

#[derive(Deserialize)]
struct Doctor {
    devices: Vec<DoctorDevice>,
}

#[derive(Deserialize)]
struct DoctorDevice {
    name: String,
    usable: bool,
}

/// Runs documentation tests, then all suites this machine can run.
pub fn run(args: &Args, checkout: &Checkout) -> Outcome {
    if args.install {
        drivers::install()?;
    }
    let missing = match vulkan_devices(checkout) {
        Ok(names) => {
            println!("Vulkan devices: {}", names.join(", "));
            None
        }
        Err(reason) if args.require_vulkan => {
            eprintln!("{}", drivers::advice());
            return Err(Failure::NoDriver { reason });
        }
        Err(reason) => Some(reason),
    };
    let here = Here::look(missing.is_none(), checkout)?;
    if let Some(model) = here.absent().next().filter(|_| args.long || args.require_model) {
        return Err(Failure::said(format!("{} is not there: run `cargo xtask demo` once", model.folder)));
    }
    if !args.long {
        println!("left out: tests of minutes (those that are ignored); --long runs them");
    }
    let mut doc = child::cargo();
    doc.args(["test", "--doc", "--quiet"]).args(WORKSPACE).args(WITH_LIBRARIES).current_dir(&checkout.root);
    let documentation = child::run(&mut doc);
    let suites = if child::answers("cargo", &["nextest", "--version"]) {
        nextest(args, checkout, &here)
    } else {
        cargo_test(args, checkout, &here)
    };
    if let Some(reason) = missing {
        println!("\nNOT RUN: the device suites ({}).", count(checkout, DEVICE_SUITES));
        println!("reason: {reason}\n{}", drivers::advice());
    }
    for model in here.absent() {
        println!("\nNOT RUN: the tests of {} ({}).", model.folder, count(checkout, &model.suites()));
        println!("reason: the model is not there; `cargo xtask demo` downloads it");
    }
    documentation.and(suites)
}

/// What tests may need and this machine has.
struct Here {
    device: bool,
    /// The folder of each model, where it is there.
    models: Vec<(&'static Model, Option<PathBuf>)>,
}

impl Here {
    fn look(device: bool, checkout: &Checkout) -> Outcome<Here> {
        let models = MODELS.iter().map(|model| {
            let folder = checkout.model_folder(model.folder)?;
            let there = folder.join(model.file).exists();
            Ok((model, there.then_some(folder)))
        });
        Ok(Here { device, models: models.collect::<Outcome<_>>()? })
    }

    /// Models that are not there.
    fn absent(&self) -> impl Iterator<Item = &'static Model> {
        self.models.iter().filter(|(_, folder)| folder.is_none()).map(|(model, _)| *model)
    }

    /// Tells tests where the models are.
    fn name_models(&self, command: &mut Command) {
        for (model, folder) in &self.models {
            folder.as_ref().map(|folder| command.env(model.variable, folder));
        }
    }
}

const WORKSPACE: [&str; 3] = ["--workspace", "--exclude", "pumice-shader-build"];
/// Everything that has tests: the commands of xtask that need the packages, and the command line of pumice.
pub const WITH_LIBRARIES: [&str; 2] =
    ["--features", "xtask/libraries,pumice/cli,pumice/tracing,pumice/ndarray"];

fn nextest(args: &Args, checkout: &Checkout, here: &Here) -> Outcome {
    let mut command = child::cargo();
    command.args(["nextest", "run", "--no-tests", "pass", "--profile", &args.profile]);
    command.args(WORKSPACE).args(WITH_LIBRARIES).current_dir(&checkout.root);
    if args.long {
        command.args(["--run-ignored", "all"]);
    }
    here.name_models(&mut command);
    // One filter: a second one would add tests, not take some away.
    let mut absent: Vec<String> = here.absent().map(Model::suites).collect();
    absent.extend((!here.device).then(|| DEVICE_SUITES.to_owned()));
    if !absent.is_empty() {
        command.args(["--filterset", &format!("not ({})", absent.join(" | "))]);
    }
    child::run(command.args(&args.rest))
}

fn count(checkout: &Checkout, filter: &str) -> String {
    let mut command = child::cargo();
    command.args(["nextest", "list", "--message-format", "oneline", "--filterset", filter]);
    command.args(WORKSPACE).args(WITH_LIBRARIES).current_dir(&checkout.root);
    match child::stdout(&mut command) {
        Ok(text) => format!("{} tests", text.lines().filter(|line| !line.is_empty()).count()),
        Err(_) => "uncounted without nextest".to_owned(),
    }
}

/// The same suites without nextest: the output is passed on and its result lines are added up.
fn cargo_test(args: &Args, checkout: &Checkout, here: &Here) -> Outcome {
    let mut command = child::cargo();
    command.args(["test", "--no-fail-fast", "--lib", "--bins"]).args(WORKSPACE).args(WITH_LIBRARIES);
    for package in checkout.packages()? {
        for target in package.targets.iter().filter(|t| t.kind.iter().any(|kind| kind == "test")) {
            if here.device || !target.name.starts_with("device_") {
                command.args(["--test", &target.name]);
            }
        }
    }
    command.arg("--").args(&args.rest).current_dir(&checkout.root);
    if args.long {
        command.arg("--include-ignored");
    }
    here.name_models(&mut command);
    for model in here.absent() {
        command.args(["--skip", &format!("{}::", model.module)]);
    }
    if !here.device {
        command.args(["--skip", "on_device::"]);
    }
    let shown = child::describe(&command);
    eprintln!("$ {shown}");
    let start = |source| Failure::Start { program: shown.clone(), source };
    let mut running = command.stdout(Stdio::piped()).spawn().map_err(start)?;
    let mut totals = Totals::default();
    if let Some(stdout) = running.stdout.take() {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            println!("{line}");
            totals.add(&line);
        }
    }
    let status = running.wait().map_err(start)?;
    println!("{} passed, {} failed", totals.passed, totals.failed);
    if status.success() { Ok(()) } else { Err(Failure::Child { program: shown, status: status.to_string() }) }
}

#[derive(Default)]
struct Totals {
    passed: u64,
    failed: u64,
}

impl Totals {
    /// Adds a line such as `test result: ok. 5 passed; 0 failed; 0 ignored; ...`.
    fn add(&mut self, line: &str) {
        let Some(rest) = line.strip_prefix("test result: ") else { return };
        let words: Vec<&str> = rest.split([' ', ';']).filter(|word| !word.is_empty()).collect();
        for pair in words.windows(2) {
            match (pair[0].parse::<u64>(), pair[1]) {
                (Ok(count), "passed") => self.passed += count,
                (Ok(count), "failed") => self.failed += count,
                _ => {}
            }
        }
    }
}

/// Names of the devices on which pumice can run, or why there is none. The question is put to
/// `pumice doctor`, so that xtask needs no `unsafe` of its own to open the loader.
fn vulkan_devices(checkout: &Checkout) -> Result<Vec<String>, String> {
    let mut command: Command = child::cargo();
    command.args(["run", "--quiet", "--package", "pumice", "--features", "cli", "--", "doctor", "--json"]);
    let text = child::stdout(command.current_dir(&checkout.root)).map_err(|e| e.to_string())?;
    let doctor: Doctor = serde_json::from_str(&text).map_err(|e| format!("pumice doctor: {e}"))?;
    let names: Vec<String> = doctor.devices.into_iter().filter(|d| d.usable).map(|d| d.name).collect();
    if names.is_empty() { Err("no usable Vulkan device".to_owned()) } else { Ok(names) }
}

#[cfg(test)]
mod tests {
    use super::Totals;

    #[test]
    fn result_lines_add_up() {
        let mut totals = Totals::default();
        totals.add("test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out");
        totals.add("test result: FAILED. 2 passed; 3 failed; 0 ignored; 0 measured; 0 filtered out");
        totals.add("test other ... ok");
        assert_eq!((totals.passed, totals.failed), (14, 3));
    }
}
