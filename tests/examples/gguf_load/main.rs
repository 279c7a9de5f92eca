//! How fast a language model's file gets onto a device, and what the host holds meanwhile.
//!
//! `gguf_load make 8b q8_0 FILE` writes a Llama-shaped GGUF file of random weights (no vocabulary; for speed alone).
//! `gguf_load load FILE [--context N] [--prompt N] [--precision exact|f16]` opens it, compiles, reads the weights,
//! takes a prompt of so many tokens in one run, decodes some tokens, and prints each time beside what the machine can:
//! reading the file into memory, and copying memory to the device. Read the file once before (`cat FILE >/dev/null`) so
//! that it is in the page cache.

mod make;

use pumice::{Device, Options};
use pumice_import::{GgufFile, WeightBytes, WeightSource};
use pumice_models::{LanguageModel, LanguageOptions, specialize};
use pumice_types::{ByteSource, Precision, SourceError, Stored, TensorView};
use std::time::Instant;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words[..] {
        ["make", shape, encoding, path] => make::write(shape, encoding, path),
        ["load", path, ref rest @ ..] => load(path, rest),
        _ => Err("gguf_load make SHAPE ENCODING FILE | load FILE [--context N] [--prompt N] [--precision exact|f16]"
            .into()),
    }
}

/// The value of an option, or what it is where it is missing.
fn option<T: std::str::FromStr>(words: &[&str], name: &str, missing: T) -> Result<T, Failure>
where
    T::Err: std::error::Error + 'static,
{
    match words.iter().position(|word| *word == name) {
        Some(i) => Ok(words.get(i + 1).ok_or(format!("{name} lacks its value"))?.parse()?),
        None => Ok(missing),
    }
}

fn load(path: &str, rest: &[&str]) -> Result<(), Failure> {
    let context: u64 = option(rest, "--context", 512)?;
    let prompt: u64 = option(rest, "--prompt", 0)?;
    let precision: Precision = option(rest, "--precision", "exact".to_owned())?.parse()?;
    let device = Device::best();
    let host_before_mib = status("VmRSS")?;
    let begin = Instant::now();
    let context = context.max(prompt + 256);
    let mut choices = LanguageOptions::default().context(context);
    if prompt > 0 {
        choices = choices.max_new(prompt);
    }
    let file = LanguageModel::open(path, &choices)?;
    let model = file.model()?;
    model.check()?;
    let open_s = begin.elapsed().as_secs_f64();
    let begin = Instant::now();
    let options = Options::default().specializations(specialize::decoder()).precision(precision);
    let exe = pumice::compile(&model.graph, &device, &options)?;
    let compile_s = begin.elapsed().as_secs_f64();
    let source = WeightBytes(model.weights.as_ref());
    let begin = Instant::now();
    exe.read_params(&source, |_, _| {})?;
    let read_s = begin.elapsed().as_secs_f64();
    let host_peak_mib = status("VmHWM")?;
    let mut session = exe.session()?;
    let begin = Instant::now();
    session.run(&[("ids", TensorView::i32(&[1, 2, 3], [1, 3]))])?;
    let first_run_s = begin.elapsed().as_secs_f64();
    let prompt_tokens_per_s = match prompt {
        0 => None,
        _ => Some(prompt as f64 / prompt_time(&mut session, prompt)?),
    };
    let tokens_per_s = decode(&mut session, (context as usize).min(200).saturating_sub(24))?;
    let stored: u64 = exe.plan().params.iter().map(|p| p.span.len.0).sum();
    let (file_s, copy_s) = (file_time(path)?, copy_time(&exe, &source)?);
    let megabytes = |bytes: u64| bytes as f64 / 1e6;
    let measured = serde_json::json!({
        "device": exe.device_name(),
        "file_mb": megabytes(std::fs::metadata(path)?.len()),
        "stored_mb": megabytes(stored),
        "weights_mb": megabytes(exe.plan().region_size(pumice_plan::RegionKind::Weights).0),
        "open_s": open_s,
        "compile_s": compile_s,
        "read_s": read_s,
        // From the file to weights in place; compiling left out.
        "ready_s": open_s + read_s,
        "first_run_s": first_run_s,
        "read_gb_per_s": stored as f64 / 1e9 / read_s,
        // What the machine can: the file into one buffer, one buffer to the device.
        "file_gb_per_s": stored as f64 / 1e9 / file_s,
        "copy_gb_per_s": stored as f64 / 1e9 / copy_s,
        "prompt_tokens_per_s": prompt_tokens_per_s,
        "tokens_per_s": tokens_per_s,
        "floor_tokens_per_s": floor(&exe),
        // Memory of the process: before the file was opened, and at most until the weights were in place.
        "host_before_mib": host_before_mib,
        "host_peak_mib": host_peak_mib,
    });
    println!("{measured:#}");
    Ok(())
}

/// Seconds of a prompt in one run: the median of nine, each from an empty context, after two that are not counted.
fn prompt_time(session: &mut pumice::Session, tokens: u64) -> Result<f64, Failure> {
    let ids: Vec<i32> = (0..tokens as i32).map(|i| 3 + i % 250).collect();
    let mut seconds = Vec::new();
    for _ in 0..11 {
        session.set_scalar("position", 0)?;
        let begin = Instant::now();
        session.run(&[("ids", TensorView::i32(&ids, [1, tokens]))])?;
        seconds.push(begin.elapsed().as_secs_f64());
    }
    let mut counted = seconds.split_off(2);
    counted.sort_by(f64::total_cmp);
    Ok(counted[counted.len() / 2])
}

fn decode(session: &mut pumice::Session, tokens: usize) -> Result<f64, Failure> {
    let ids = [("ids", TensorView::i32(&[-1], [1, 1]))];
    session.run_steps(&ids, 8)?;
    let begin = Instant::now();
    let submissions = tokens / 8;
    for _ in 0..submissions {
        session.run_steps(&ids, 8)?;
    }
    Ok(submissions as f64 * 8.0 / begin.elapsed().as_secs_f64())
}

/// Tokens a second if the run for one token took no longer than its floor.
fn floor(exe: &pumice::Executable) -> f64 {
    let one = exe.plan().run_for(0, |_| Some(1));
    let us = one.and_then(|i| exe.plan().runs.get(i)).map_or(f64::NAN, |r| r.stats.floor.total_us);
    1e6 / us
}

/// Seconds to read every tensor into one buffer.
fn file_time(path: &str) -> Result<f64, Failure> {
    let file = GgufFile::open(path)?;
    let names: Vec<String> = file.tensors().map(|(name, _)| name.to_owned()).collect();
    let mut buffer = vec![1u8; 8 << 20];
    let begin = Instant::now();
    for name in &names {
        let bytes = file.describe(name)?.bytes.0;
        for at in (0..bytes).step_by(buffer.len()) {
            let len = buffer.len().min((bytes - at) as usize);
            file.read_at(name, at, &mut buffer[..len])?;
        }
    }
    Ok(begin.elapsed().as_secs_f64())
}

/// Seconds to copy as many bytes as the params have from one buffer to the device.
fn copy_time(exe: &pumice::Executable, source: &dyn ByteSource) -> Result<f64, Failure> {
    struct Same<'s>(&'s dyn ByteSource, Vec<u8>);
    impl ByteSource for Same<'_> {
        fn stored(&self, name: &str) -> Result<Stored, SourceError> {
            self.0.stored(name)
        }
        fn read_bytes(&self, _: &str, _: u64, to: &mut [u8]) -> Result<(), SourceError> {
            for part in to.chunks_mut(self.1.len()) {
                part.copy_from_slice(&self.1[..part.len()]);
            }
            Ok(())
        }
    }
    let same = Same(source, vec![1u8; 1 << 20]);
    let begin = Instant::now();
    exe.read_params(&same, |_, _| {})?;
    Ok(begin.elapsed().as_secs_f64())
}

/// A figure of this process in MiB.
fn status(key: &str) -> Result<u64, Failure> {
    let text = std::fs::read_to_string("/proc/self/status")?;
    let line = text.lines().find(|l| l.starts_with(key)).ok_or("no such figure")?;
    let kib: u64 = line.split_whitespace().nth(1).ok_or("no figure")?.parse()?;
    Ok(kib >> 10)
}
