//! The command line of pumice: embed sentences, generate text, compile and inspect models, list devices, say what is
//! missing, test this device.
//!
//! The environment is read here and nowhere else. Exit codes: 0 all is well, 1 something was found to be wrong, 2 the
//! command could not be carried out.

use clap::{Parser, Subcommand};
use pumice::cli::{CommandError, compile, devices, doctor, inspect, selftest, tune};
use pumice::embed::cli as embed;
use pumice::generate::cli::{self as generate, Interrupts};
use std::env::var_os;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::LazyLock;
use std::sync::atomic::Ordering;

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
    /// Compile a model to a plan that embed and generate run without compiling
    Compile(compile::CompileArgs),
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

/// What Ctrl-C asks for. Where no conversation is open, or an answer did not end yet, it ends the program at once.
fn interrupts() -> &'static Interrupts {
    static INTERRUPTS: LazyLock<Interrupts> = LazyLock::new(Interrupts::default);
    let handler = || {
        let is_open = INTERRUPTS.is_open.load(Ordering::Relaxed);
        let is_second = INTERRUPTS.stop.is_set();
        INTERRUPTS.stop.set();
        if is_second || !is_open {
            std::process::exit(130);
        }
    };
    // Where no handler can be set, Ctrl-C ends the program as it ends any other.
    let _ = ctrlc::set_handler(handler);
    &INTERRUPTS
}

fn main() -> ExitCode {
    let (mut out, mut log) = (std::io::stdout(), std::io::stderr());
    let result = match Arguments::parse().command {
        Command::Embed(args) => {
            embed::run(&args, cache_dir(), &mut out, &mut log).map(|()| true).map_err(CommandError::from)
        }
        Command::Generate(args) => generate::run(&args, cache_dir(), interrupts(), &mut out, &mut log),
        Command::Compile(args) => compile::run(&args, cache_dir(), &mut out, &mut log),
        Command::Inspect(args) => inspect::run(&args, cache_dir(), &mut out),
        Command::Devices(args) => devices::run(&args, cache_dir().as_deref(), &mut out),
        Command::Doctor(args) => doctor::run(&args, cache_dir().as_deref(), &mut out),
        Command::Tune(args) => tune::run(&args, cache_dir(), &mut out, &mut log),
        Command::Selftest(args) => match selftest::run_again(&args) {
            Ok(Some(status)) => std::process::exit(status),
            Ok(None) => selftest::run(&args, &mut out),
            Err(error) => Err(error),
        },
    };
    match result {
        Ok(true) | Err(CommandError::Closed) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("pumice: {error}");
            ExitCode::from(2)
        }
    }
}
