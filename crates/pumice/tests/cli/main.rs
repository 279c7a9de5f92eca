//! Commands from arguments to output, on the interpreter.

mod apart;
mod benched;
mod compiler;
mod converted;
mod first_contact;
mod folder;
mod plan_file;
mod prepared;
mod scored;
#[cfg(unix)]
mod stopped;
#[cfg(unix)]
mod terminal;
mod tokens;
mod tune;

use clap::Parser;
use pumice::cli::CommandError;
use pumice::cli::bench::{self, BenchArgs};
use pumice::cli::compile::{self, CompileArgs};
use pumice::cli::convert::{self, ConvertArgs};
use pumice::cli::perplexity::{self, PerplexityArgs};
use pumice::cli::tokenize::{self, TokenizeArgs};
use pumice::embed::cli::{self as embed, EmbedArgs};
use pumice::generate::cli::{self as generate, GenerateArgs, Interrupts};
use std::fs;
use std::path::{Path, PathBuf};

#[derive(Debug, Parser)]
enum Command {
    Bench(BenchArgs),
    Compile(CompileArgs),
    Convert(ConvertArgs),
    Embed(EmbedArgs),
    Generate(Box<GenerateArgs>),
    Perplexity(PerplexityArgs),
    Tokenize(TokenizeArgs),
}

/// The command of these words, or what is wrong with them.
fn parsed(args: &[&str]) -> Result<Command, String> {
    Command::try_parse_from([&["pumice"], args].concat()).map_err(|e| e.to_string())
}

/// Runs a command; its standard output.
fn command(args: &[&str]) -> Result<String, CommandError> {
    Ok(String::from_utf8(run(args, &Interrupts::default())?.out).expect("text"))
}

/// What a command wrote.
struct Written {
    out: Vec<u8>,
    log: String,
}

/// Runs a command; what it wrote to the standard output and to the log.
fn run(args: &[&str], stop: &Interrupts) -> Result<Written, CommandError> {
    let (mut out, mut log) = (Vec::new(), Vec::new());
    match parsed(args).unwrap_or_else(|e| panic!("{e}")) {
        Command::Bench(args) => _ = bench::run(&args, None, &mut out, &mut log)?,
        Command::Compile(args) => _ = compile::run(&args, None, &mut out, &mut log)?,
        Command::Convert(args) => _ = convert::run(&args, stop, &mut out, &mut log)?,
        Command::Embed(args) => embed::run(&args, None, &mut out, &mut log)?,
        Command::Generate(args) => _ = generate::run(&args, None, stop, &mut out, &mut log)?,
        Command::Perplexity(args) => _ = perplexity::run(&args, None, &mut out, &mut log)?,
        Command::Tokenize(args) => _ = tokenize::run(&args, &mut out, &mut log)?,
    }
    Ok(Written { out, log: String::from_utf8(log).expect("text") })
}

/// The folder of a small checked-in encoder.
fn tiny(name: &str) -> String {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/tiny");
    data.join(name).display().to_string()
}

/// A file of that name for this run of the tests.
fn place(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("cli-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    folder.join(name)
}

/// A file with that text.
fn file(name: &str, text: &str) -> String {
    let path = place(name);
    fs::write(&path, text).expect("written");
    path.display().to_string()
}
