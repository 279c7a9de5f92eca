//! `pumice convert`: a language model in, a GGUF file (or several) in another encoding out. Files appear whole or not
//! at all, several together, once all are written; ended by a signal, it leaves nothing.

use super::escape;
use super::hub::{HubArgs, Takes};
use super::interrupts::Interrupts;
use super::progress::Progress;
use super::reading::quantization;
use super::words::count;
use super::{CommandError, Outcome, say};
use crate::apart;
use crate::error::Error;
use crate::save::{self, Destination};
use pumice_models::{Conversion, ConvertedTensor};
use pumice_runtime::Interrupt;
use pumice_types::Encoding;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Arguments of `pumice convert`.
#[derive(clap::Args, Clone, Debug)]
pub struct ConvertArgs {
    /// The GGUF file of a language model, the first of several, a folder in Hugging Face layout, or a name in the hub
    /// (feature hub)
    #[arg(value_name = "MODEL")]
    pub model: PathBuf,
    /// What the program knows of the hub
    #[command(flatten)]
    pub hub: HubArgs,
    /// Where the file goes
    #[arg(short, long, value_name = "X.gguf")]
    pub out: PathBuf,
    /// What matrices are written in: q8_0, q6_k, q5_k, q4_k, q4_0, f16, bf16 or f32. Norms and biases are f32, token
    /// table and output matrix at least q6_k; rows that are no whole blocks are q5_0, q8_0 or f16
    #[arg(long, value_name = "TYPE", value_parser = quantization)]
    pub quantize: Encoding,
    /// Write so many files, X-00001-of-0000N.gguf and so on, of about as many bytes each
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=512))]
    pub shards: u16,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// The form of `--json`.
#[derive(Serialize)]
struct Report<'r> {
    model: String,
    files: Vec<String>,
    quantization: &'static str,
    tensors: usize,
    bytes: u64,
    encodings: BTreeMap<&'static str, usize>,
    instead: Vec<Instead<'r>>,
    notes: Vec<&'r str>,
    convert_s: f64,
}

/// A tensor that is not written as asked.
#[derive(Serialize)]
struct Instead<'r> {
    tensor: &'r str,
    shape: &'r [u64],
    encoding: &'static str,
    why: &'static str,
}

/// Runs the command: what was written is said on `out`, notes on `log`.
///
/// # Errors
/// A model that cannot be read or is of an unknown family, a place that cannot be written or that is read, values that
/// the encoding does not hold; [`CommandError::Interrupted`].
pub fn run(args: &ConvertArgs, interrupts: &Interrupts, out: &mut dyn Write, log: &mut dyn Write) -> Outcome {
    let paths = paths(args)?;
    let model = args.hub.located(&args.model, Takes::Any, &Progress::new(), log)?;
    let conversion = Conversion::open(&model, args.quantize).map_err(Error::from)?;
    let reads: Vec<&Path> = conversion.reads().iter().map(PathBuf::as_path).collect();
    let places = paths.iter().map(|path| place(path, &reads)).collect::<Result<Vec<_>, _>>()?;
    if usize::from(args.shards) > conversion.tensors().len() {
        let most = conversion.tensors().len();
        return Err(CommandError::Usage(format!("--shards {}: the model has {most} tensors", args.shards)));
    }
    let begin = Instant::now();
    interrupts.is_open.store(true, Ordering::Relaxed);
    let written = write(&conversion, places, &interrupts.stop);
    interrupts.is_open.store(false, Ordering::Relaxed);
    if interrupts.stop.is_set() && written.is_err() {
        return Err(CommandError::Interrupted);
    }
    written.map_err(|(which, e)| CommandError::Usage(format!("{}: {e}", paths[which].display())))?;
    escape::notes(&conversion.notes, log)?;
    tell(args, &paths, &conversion, begin.elapsed().as_secs_f64(), out)?;
    Ok(true)
}

/// The files that are written.
fn paths(args: &ConvertArgs) -> Result<Vec<PathBuf>, CommandError> {
    let name = args.out.file_name().and_then(|name| name.to_str());
    let Some(stem) = name.and_then(|name| name.strip_suffix(".gguf")) else {
        return Err(CommandError::Usage(format!("{}: the name must end in .gguf", args.out.display())));
    };
    if args.shards == 1 {
        return Ok(vec![args.out.clone()]);
    }
    let of = |number| args.out.with_file_name(format!("{stem}-{number:05}-of-{:05}.gguf", args.shards));
    Ok((1..=args.shards).map(of).collect())
}

/// Looks at where a file goes before the work begins.
fn place(path: &Path, reads: &[&Path]) -> Result<Destination, CommandError> {
    let looked = Destination::look(path);
    let place = looked.map_err(|e| CommandError::Usage(format!("{}: {e}", path.display())))?;
    apart::check(path, reads)?;
    Ok(place)
}

/// Writes all files, then puts them into their places. An error is one of the file of that number.
fn write(
    conversion: &Conversion,
    places: Vec<Destination>,
    stop: &Interrupt,
) -> Result<(), (usize, io::Error)> {
    let count = places.len();
    let progress = Progress::new();
    let one = |(shard, place): (usize, Destination)| {
        let write = |out: &mut dyn Write, heard: &mut dyn FnMut(usize, usize)| {
            let numbers = (shard as u16, count as u16);
            conversion.write_shard(numbers, &mut Stopping { out, stop }, heard).map_err(io::Error::other)
        };
        let written = progress.with_tensors(|heard| place.write(|out| write(out, heard)));
        written.map_err(|e| (shard, e))
    };
    let written = places.into_iter().enumerate().map(one).collect::<Result<Vec<_>, _>>()?;
    ended(stop).and_then(|()| save::place(written)).map_err(|e| (0, e))
}

/// What is written until it is asked to end.
struct Stopping<'s> {
    out: &'s mut dyn Write,
    stop: &'s Interrupt,
}

impl Write for Stopping<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        ended(self.stop)?;
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn ended(stop: &Interrupt) -> io::Result<()> {
    if stop.is_set() { Err(io::Error::other("interrupted")) } else { Ok(()) }
}

fn tell(
    args: &ConvertArgs,
    paths: &[PathBuf],
    conversion: &Conversion,
    convert_s: f64,
    to: &mut dyn Write,
) -> Result<(), CommandError> {
    let tensors = conversion.tensors();
    let mut encodings = BTreeMap::new();
    tensors.iter().for_each(|t| *encodings.entry(t.to.name()).or_insert(0) += 1);
    if args.json {
        let report = Report {
            model: args.model.display().to_string(),
            files: paths.iter().map(|path| path.display().to_string()).collect(),
            quantization: args.quantize.name(),
            tensors: tensors.len(),
            bytes: conversion.bytes(),
            encodings,
            instead: tensors.iter().filter_map(instead).collect(),
            notes: conversion.notes.iter().map(|note| note.0.as_str()).collect(),
            convert_s,
        };
        let text = serde_json::to_string(&report).map_err(|e| CommandError::Write(e.into()))?;
        return say(to, text);
    }
    say_instead(tensors, to)?;
    let kinds: Vec<String> = encodings.iter().map(|(name, n)| format!("{n} {name}")).collect();
    let (files, bytes) = (paths.iter().map(|path| path.display().to_string()), conversion.bytes());
    let files = files.collect::<Vec<_>>().join(", ");
    let all = count(tensors.len(), "tensor");
    say(to, format!("{files}: {all} ({}), {bytes} bytes; converted in {convert_s:.1} s", kinds.join(", ")))
}

fn instead(tensor: &ConvertedTensor) -> Option<Instead<'_>> {
    let why = tensor.why?;
    Some(Instead { tensor: &tensor.name, shape: &tensor.shape, encoding: tensor.to.name(), why })
}

/// A line for each encoding and reason, with the first tensor and how many there are.
fn say_instead(tensors: &[ConvertedTensor], to: &mut dyn Write) -> Result<(), CommandError> {
    let mut said: Vec<(&ConvertedTensor, usize)> = Vec::new();
    for tensor in tensors.iter().filter(|t| t.why.is_some()) {
        match said.iter_mut().find(|(first, _)| (first.to, first.why) == (tensor.to, tensor.why)) {
            Some((_, n)) => *n += 1,
            None => said.push((tensor, 1)),
        }
    }
    said.into_iter().try_for_each(|(first, n)| {
        let (why, row) = (first.why.unwrap_or_default(), first.shape.last().copied().unwrap_or(1));
        let which = count(n, "tensor");
        say(to, format!("{} instead: {which} ({}, rows of {row}), since {why}", first.to, first.name))
    })
}
