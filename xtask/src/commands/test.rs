//! `cargo xtask test`: every suite. In: the checkout. Out: a summary in the last lines; where no Vulkan driver
//! answers, the device suites are left out, counted, and said to be so. Never here: a suite.
//!
//! A test needs a Vulkan driver if its binary is named `device_*` or if it stands in a module `on_device`, and the
//! validation layer as well if it stands in a module `with_validation`. A test needs a downloaded model if it stands
//! in a module `with_minilm` or `with_smollm2`. Such a test never skips itself: without driver, layer or model it
//! fails, so leaving it out is decided here alone. Likewise a test that takes minutes or needs a downloaded model is
//! ignored with a reason that begins with `long:` or `model:`, and runs with `--long`. How it all ended is the last
//! thing that is printed, whatever failed.

mod one_op;
mod share;
mod summary;

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde::Deserialize;

use crate::checkout::{Checkout, MINILM, SMOLLM2};
use crate::child;
use crate::drivers;
use crate::failure::{Failure, Outcome};
use crate::heartbeat::Heartbeat;
use summary::Summary;

/// The device suites as a nextest filter.
const DEVICE_SUITES: &str = "binary(/^device_/) | test(/(^|::)on_device::/)";

/// Those of them that need the validation layer, too.
const VALIDATED_SUITES: &str = "test(/(^|::)with_validation::/)";

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
    /// Only the samples of this op: on the interpreter, on the device, and under the validation layer
    #[arg(long, value_name = "NAME", conflicts_with_all = ["long", "rest"])]
    op: Option<String>,
    /// Fail if no Vulkan driver answers, or without the validation layer, instead of leaving out suites
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
    validation_layer: bool,
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
    let here = Here::look(args, checkout)?;
    if let Some(op) = &args.op {
        return one_op::run(op, here.no_device.is_none(), here.layer, checkout);
    }
    let documentation = documentation(checkout);
    let suites = if child::answers("cargo", &["nextest", "--version"]) {
        nextest(args, checkout, &here)
    } else {
        cargo_test(args, checkout, &here)
    };
    here.say_what_is_left_out(args, checkout);
    finish(documentation, suites)
}

fn documentation(checkout: &Checkout) -> Outcome {
    let mut doc = child::cargo();
    doc.args(["test", "--doc", "--quiet"]).args(WORKSPACE).args(WITH_LIBRARIES).current_dir(&checkout.root);
    let _running = Heartbeat::start("documentation tests");
    child::run(&mut doc)
}

/// The last lines: how documentation tests and suites ended.
fn finish(documentation: Outcome, suites: Outcome<Summary>) -> Outcome {
    match &documentation {
        Ok(()) => println!("\ndocumentation tests: passed"),
        Err(failure) => println!("\ndocumentation tests: FAILED: {failure}"),
    }
    let summary = suites?;
    println!("{summary}");
    match documentation.is_ok() && summary.failed.is_empty() {
        true => Ok(()),
        false => Err(Failure::Reported),
    }
}

/// What tests may need and this machine has.
struct Here {
    /// Why there is no device.
    no_device: Option<String>,
    /// Whether the validation layer is installed.
    layer: bool,
    /// The folder of each model, where it is there.
    models: Vec<(&'static Model, Option<PathBuf>)>,
}

impl Here {
    /// Finds out, and refuses where what the arguments require is missing.
    fn look(args: &Args, checkout: &Checkout) -> Outcome<Here> {
        let (no_device, layer) = match vulkan(checkout)? {
            (Ok(names), layer) => {
                println!("Vulkan devices: {}", names.join(", "));
                (None, layer)
            }
            (Err(reason), layer) => (Some(reason), layer),
        };
        let lacking = no_device.clone().or((!layer).then(|| NO_LAYER.to_owned()));
        if let Some(reason) = lacking.filter(|_| args.require_vulkan) {
            eprintln!("{}", drivers::advice());
            return Err(Failure::NoDriver { reason });
        }
        let models = MODELS.iter().map(|model| {
            let folder = checkout.model_folder(model.folder)?;
            let there = folder.join(model.file).exists();
            Ok((model, there.then_some(folder)))
        });
        let here = Here { no_device, layer, models: models.collect::<Outcome<_>>()? };
        if let Some(model) = here.absent().next().filter(|_| args.long || args.require_model) {
            return Err(Failure::said(format!("{} is not there: run `cargo xtask demo` once", model.folder)));
        }
        Ok(here)
    }

    /// The suites that this machine cannot run, as nextest filters.
    fn left_out(&self) -> Vec<String> {
        let mut suites: Vec<String> = self.absent().map(Model::suites).collect();
        suites.extend(self.no_device.is_some().then(|| DEVICE_SUITES.to_owned()));
        suites.extend((!self.layer).then(|| VALIDATED_SUITES.to_owned()));
        suites
    }

    /// Counts and names every suite that did not run, with the reason.
    fn say_what_is_left_out(&self, args: &Args, checkout: &Checkout) {
        if !args.long {
            println!("\nleft out: tests of minutes (those that are ignored); --long runs them");
            println!("{}", share::said());
        }
        let counting = Heartbeat::start("counting what was left out");
        let tests = |filter: &str| count(checkout, filter);
        if let Some(reason) = &self.no_device {
            println!("\nNOT RUN: the device suites ({}).", tests(DEVICE_SUITES));
            println!("reason: {reason}\n{}", drivers::advice());
        } else if !self.layer {
            println!("\nNOT RUN: the suites under validation ({}).", tests(VALIDATED_SUITES));
            println!("reason: {NO_LAYER}\n{}", drivers::advice());
        }
        for model in self.absent() {
            println!("\nNOT RUN: the tests of {} ({}).", model.folder, tests(&model.suites()));
            println!("reason: the model is not there; `cargo xtask demo` downloads it");
        }
        drop(counting);
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

const NO_LAYER: &str = "the Khronos validation layer is not installed";

/// The packages whose suites run.
pub const WORKSPACE: [&str; 3] = ["--workspace", "--exclude", "pumice-shader-build"];
/// Everything that has tests: the commands of xtask that need the packages, and the command line of pumice.
pub const WITH_LIBRARIES: [&str; 2] =
    ["--features", "xtask/libraries,pumice/cli,pumice/hub,pumice/train,pumice/tracing,pumice/ndarray"];

fn nextest(args: &Args, checkout: &Checkout, here: &Here) -> Outcome<Summary> {
    let mut command = child::cargo();
    command.args(["nextest", "run", "--no-tests", "pass", "--profile", &args.profile]);
    command.args(WORKSPACE).args(WITH_LIBRARIES).current_dir(&checkout.root);
    if args.long {
        command.args(["--run-ignored", "all"]);
    }
    here.name_models(&mut command);
    share::set(args.long, checkout, &mut command);
    // One filter: a second one would add tests, not take some away.
    let left_out = here.left_out();
    if !left_out.is_empty() {
        command.args(["--filterset", &format!("not ({})", left_out.join(" | "))]);
    }
    let report = summary::report(checkout, &args.profile)?;
    // An earlier run's report must not be taken for this one's.
    let _ = std::fs::remove_file(&report);
    let running = Heartbeat::start("building and running the suites");
    let outcome = child::run(command.args(&args.rest));
    drop(running);
    match (Summary::read(&report), outcome) {
        (Some(summary), Err(failure)) if summary.failed.is_empty() => Err(failure),
        (Some(summary), _) => Ok(summary),
        (None, outcome) => outcome.map(|()| Summary::default()),
    }
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
fn cargo_test(args: &Args, checkout: &Checkout, here: &Here) -> Outcome<Summary> {
    let mut command = child::cargo();
    command.args(["test", "--no-fail-fast", "--lib", "--bins"]).args(WORKSPACE).args(WITH_LIBRARIES);
    for package in checkout.packages()? {
        for target in package.targets.iter().filter(|t| t.kind.iter().any(|kind| kind == "test")) {
            if here.no_device.is_none() || !target.name.starts_with("device_") {
                command.args(["--test", &target.name]);
            }
        }
    }
    command.arg("--").args(&args.rest).current_dir(&checkout.root);
    if args.long {
        command.arg("--include-ignored");
    }
    here.name_models(&mut command);
    share::set(args.long, checkout, &mut command);
    for model in here.absent() {
        command.args(["--skip", &format!("{}::", model.module)]);
    }
    if here.no_device.is_some() {
        command.args(["--skip", "on_device::"]);
    }
    if !here.layer {
        command.args(["--skip", "with_validation::"]);
    }
    let shown = child::describe(&command);
    eprintln!("$ {shown}");
    let start = |source| Failure::Start { program: shown.clone(), source };
    let mut running = command.stdout(Stdio::piped()).spawn().map_err(start)?;
    let mut totals = Summary::default();
    if let Some(stdout) = running.stdout.take() {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            println!("{line}");
            totals.add(&line);
        }
    }
    let status = running.wait().map_err(start)?;
    match status.success() || !totals.failed.is_empty() {
        true => Ok(totals),
        false => Err(Failure::Child { program: shown, status: status.to_string() }),
    }
}

impl Summary {
    /// Adds a line such as `test result: ok. 5 passed; 0 failed; 0 ignored; ...` or `test x::y ... FAILED`.
    fn add(&mut self, line: &str) {
        let failed = line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED"));
        self.failed.extend(failed.map(str::to_owned));
        let Some(rest) = line.strip_prefix("test result: ") else { return };
        let words: Vec<&str> = rest.split([' ', ';']).filter(|word| !word.is_empty()).collect();
        let passed = words.windows(2).find(|pair| pair[1] == "passed");
        self.passed += passed.and_then(|pair| pair[0].parse::<usize>().ok()).unwrap_or(0);
    }
}

/// Names of the devices on which pumice can run, or why there is none; and whether the validation layer is installed.
/// The question is put to `pumice doctor`, so that xtask needs no `unsafe` of its own to open the loader.
fn vulkan(checkout: &Checkout) -> Outcome<(Result<Vec<String>, String>, bool)> {
    let building = Heartbeat::start("building `pumice doctor`, which looks for Vulkan devices");
    let mut build = child::cargo();
    build.args(["build", "--bin", "pumice"]).args(WORKSPACE).args(WITH_LIBRARIES);
    child::run(build.current_dir(&checkout.root))?;
    drop(building);
    let program = checkout.target_folder()?.join("debug").join("pumice");
    let mut command = Command::new(program.with_extension(std::env::consts::EXE_EXTENSION));
    let text = child::stdout(command.args(["doctor", "--json"]).current_dir(&checkout.root));
    let doctor = text
        .map_err(|e| e.to_string())
        .and_then(|text| serde_json::from_str::<Doctor>(&text).map_err(|e| format!("pumice doctor: {e}")));
    let doctor = match doctor {
        Ok(doctor) => doctor,
        Err(reason) => return Ok((Err(reason), false)),
    };
    let layer = doctor.validation_layer;
    let names: Vec<String> = doctor.devices.into_iter().filter(|d| d.usable).map(|d| d.name).collect();
    Ok((if names.is_empty() { Err("no usable Vulkan device".to_owned()) } else { Ok(names) }, layer))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_lines_add_up() {
        let mut totals = Summary::default();
        totals.add("test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out");
        totals.add("test a::b ... FAILED");
        totals.add("test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out");
        totals.add("test other ... ok");
        assert_eq!(totals, Summary { passed: 14, failed: vec!["a::b".to_owned()] });
    }

    /// With a driver and without the layer, 14 tests failed for want of it.
    #[test]
    fn without_the_layer_its_suites_are_left_out() {
        let here = |no_device: Option<&str>, layer| Here {
            no_device: no_device.map(str::to_owned),
            layer,
            models: Vec::new(),
        };
        assert_eq!(here(None, true).left_out(), Vec::<String>::new());
        assert_eq!(here(None, false).left_out(), [VALIDATED_SUITES]);
        assert_eq!(here(Some("none"), false).left_out(), [DEVICE_SUITES, VALIDATED_SUITES]);
    }
}
