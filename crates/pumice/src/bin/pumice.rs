//! The command line of pumice: embed sentences, list devices, say what is missing, test this device.

use clap::{Parser, Subcommand};
use pumice::cli::{devices, doctor, selftest};
use pumice::embed::cli as embed;
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
    /// List the Vulkan devices and what pumice makes of them
    Devices(devices::Args),
    /// Say what is missing on this machine, what it costs, and how to get it
    Doctor(doctor::Args),
    /// Run every op's samples on a device and compare with the reference
    Selftest(selftest::Args),
}

/// The folder of the pipeline cache: the user's cache folder, if the environment names one.
fn cache_dir() -> Option<PathBuf> {
    let base = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|h| PathBuf::from(h).join(".cache"));
    base.or_else(home).map(|dir| dir.join("pumice"))
}

fn main() -> ExitCode {
    let (mut out, mut log) = (std::io::stdout(), std::io::stderr());
    let result = match Arguments::parse().command {
        Command::Embed(args) => {
            embed::run(&args, cache_dir(), &mut out, &mut log).map(|()| true).map_err(|e| e.to_string())
        }
        Command::Devices(args) => devices::run(&args, &mut out),
        Command::Doctor(args) => doctor::run(&args, &mut out),
        Command::Selftest(args) => selftest::run(&args, &mut out),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("pumice: {message}");
            ExitCode::from(2)
        }
    }
}
