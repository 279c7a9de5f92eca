//! The command line of pumice: embed sentences, generate text, compile, convert and inspect models, list devices, say
//! what is missing, test this device.
//!
//! The environment is read here and nowhere else. Exit codes: 0 all is well, 1 something was found to be wrong, 2 the
//! command could not be carried out; 128 and the number of a signal that ended it.

mod signals;

use self::signals::{Terminates, hear};
use clap::{Parser, Subcommand};
use pumice::cli::hub::HubAccess;
use pumice::cli::{
    CommandError, Outcome, bench, compile, convert, devices, doctor, escape, inspect, perplexity, selftest,
    tokenize, tune,
};
use pumice::embed::cli as embed;
use pumice::generate::cli as generate;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::cell::Cell;
use std::env::var_os;
use std::io::Write;
use std::panic;
use std::path::PathBuf;
use std::process::ExitCode;

/// Neural networks on any GPU with a Vulkan driver.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Turn sentences into vectors with a sentence encoder
    Embed(embed::EmbedArgs),
    /// Continue a text, answer a message or talk with a language model
    Generate(Box<generate::GenerateArgs>),
    /// Measure how fast a language model reads prompts and makes tokens
    Bench(bench::BenchArgs),
    /// Say how surprised a language model is by a text
    Perplexity(perplexity::PerplexityArgs),
    /// Print the tokens of a text, as a language model reads it
    Tokenize(tokenize::TokenizeArgs),
    /// Compile a model to a plan that embed and generate run without compiling
    Compile(compile::CompileArgs),
    /// Write a language model to a GGUF file in another encoding
    Convert(convert::ConvertArgs),
    /// Say what a model is and where its bytes would go on a device
    Inspect(inspect::Args),
    /// List the Vulkan devices and what pumice makes of them
    Devices(devices::Args),
    /// Say what is missing on this machine, what it costs, and how to get it
    Doctor(doctor::Args),
    /// Measure which kernels are fastest on this device, in 10 minutes at most; the other commands then use them
    Tune(tune::Args),
    /// Run the samples of every op on a device and compare with the reference
    Selftest(selftest::Args),
}

/// The folder of the pipeline cache in the user's cache folder, where the environment names one.
fn cache_dir() -> Option<PathBuf> {
    let folder = |name: &str| var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let base = if cfg!(windows) {
        folder("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        folder("HOME").map(|home| home.join("Library/Caches"))
    } else {
        folder("XDG_CACHE_HOME").or_else(|| folder("HOME").map(|home| home.join(".cache")))
    };
    base.map(|dir| dir.join("pumice"))
}

/// Lets a command that takes a model look up names of the hub.
fn with_hub(mut command: Command) -> Command {
    match &mut command {
        Command::Embed(args) => args.hub.access = hub(),
        Command::Generate(args) => args.hub.access = hub(),
        Command::Compile(args) => args.hub.access = hub(),
        Command::Inspect(args) => args.hub.access = hub(),
        Command::Tokenize(args) => args.hub.access = hub(),
        Command::Perplexity(args) => args.hub.access = hub(),
        Command::Bench(args) => args.hub.access = hub(),
        Command::Convert(args) => args.hub.access = hub(),
        Command::Devices(_) | Command::Doctor(_) | Command::Tune(_) | Command::Selftest(_) => {}
    }
    command
}

/// What the environment says of the hub, by the names that huggingface_hub has: HF_HOME, HF_HUB_CACHE, HF_TOKEN (else
/// the file `token` of HF_HOME), HF_ENDPOINT, HF_HUB_OFFLINE.
#[cfg(feature = "hub")]
fn hub() -> HubAccess {
    let text = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    let folder = |name: &str| var_os(name).map(PathBuf::from).filter(|path| !path.as_os_str().is_empty());
    let cache = || folder("XDG_CACHE_HOME").or_else(|| Some(std::env::home_dir()?.join(".cache")));
    let Some(home) = folder("HF_HOME").or_else(|| Some(cache()?.join("huggingface"))) else {
        return HubAccess::Never;
    };
    let kept = || std::fs::read_to_string(home.join("token")).ok();
    let token = text("HF_TOKEN").or_else(kept).map(|token| token.trim().to_owned());
    let is_on =
        |value: String| ["1", "ON", "YES", "TRUE"].contains(&value.trim().to_ascii_uppercase().as_str());
    let mut options = pumice::hub::Options::new(folder("HF_HUB_CACHE").unwrap_or_else(|| home.join("hub")))
        .token(token.filter(|token| !token.is_empty()))
        .offline(text("HF_HUB_OFFLINE").is_some_and(is_on));
    if let Some(endpoint) = text("HF_ENDPOINT") {
        options = options.endpoint(endpoint);
    }
    HubAccess::Through(options)
}

#[cfg(not(feature = "hub"))]
fn hub() -> HubAccess {
    HubAccess::NotBuilt
}

/// Whether all is well.
fn run(command: Command) -> Outcome {
    let (mut out, mut log) = (std::io::stdout(), std::io::stderr());
    match command {
        Command::Embed(args) => {
            embed::run(&args, cache_dir(), &mut out, &mut log).map(|()| true).map_err(CommandError::from)
        }
        Command::Generate(args) => {
            generate::run(&args, cache_dir(), hear(Terminates::Program), &mut out, &mut log)
        }
        Command::Bench(args) => bench::run(&args, cache_dir(), &mut out, &mut log),
        Command::Perplexity(args) => perplexity::run(&args, cache_dir(), &mut out, &mut log),
        Command::Tokenize(args) => tokenize::run(&args, &mut out, &mut log),
        Command::Compile(args) => compile::run(&args, cache_dir(), &mut out, &mut log),
        Command::Convert(args) => convert::run(&args, hear(Terminates::WhatIsOpen), &mut out, &mut log),
        Command::Inspect(args) => inspect::run(&args, cache_dir(), &mut out, &mut log),
        Command::Devices(args) => devices::run(&args, cache_dir().as_deref(), &mut out),
        Command::Doctor(args) => doctor::run(&args, cache_dir().as_deref(), &mut out),
        Command::Tune(args) => tune::run(&args, cache_dir(), &mut out, &mut log),
        Command::Selftest(args) => match selftest::run_again(&args) {
            Ok(Some(status)) => std::process::exit(status),
            Ok(None) => selftest::run(&args, &mut out),
            Err(error) => Err(error),
        },
    }
}

thread_local! {
    static HELD: Cell<Option<String>> = const { Cell::new(None) };
}

/// A panic of the first thread is told where it ends the program. One that is caught on its way is told as the error
/// that it became, and not before as well.
fn hold_panics() {
    let tell = panic::take_hook();
    panic::set_hook(Box::new(move |found| {
        if std::thread::current().name() != Some("main") {
            return tell(found);
        }
        let trace = Backtrace::capture();
        let is_there = trace.status() == BacktraceStatus::Captured;
        let trace = if is_there { trace.to_string() } else { String::new() };
        HELD.set(Some(format!("thread 'main' {found}\n{trace}")));
    }));
}

/// Prints help, the version, or what is wrong with the arguments.
fn told(said: &clap::Error) -> ExitCode {
    let printed = said.print().and_then(|()| std::io::stdout().flush());
    match (said.exit_code(), printed) {
        (0, Err(error)) => ended(Err(error.into())),
        (code, _) => ExitCode::from(u8::try_from(code).unwrap_or(2)),
    }
}

fn ended(outcome: Outcome) -> ExitCode {
    match outcome {
        Ok(true) | Err(CommandError::Closed) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(CommandError::Interrupted) => ExitCode::from(signals::code()),
        Err(error) => {
            // Where nobody hears it there is the code.
            let _ = writeln!(std::io::stderr(), "pumice: {}", escape::message(&error.to_string()));
            ExitCode::from(2)
        }
    }
}

fn main() -> ExitCode {
    hold_panics();
    let code = panic::catch_unwind(|| match Arguments::try_parse() {
        Ok(arguments) => ended(run(with_hub(arguments.command))),
        Err(said) => told(&said),
    });
    code.unwrap_or_else(|_| {
        let _ = write!(std::io::stderr(), "{}", HELD.take().unwrap_or_default());
        ExitCode::from(101)
    })
}
