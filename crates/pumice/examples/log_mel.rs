//! A sound to what Whisper listens to: a WAV file of 16 kHz → 80 logarithms of mel bands, a hundred times a second.
//!
//! Reflect pad by half a frame → frames of 400 samples, 160 apart, under a window → their spectra → energies in bands →
//! decimal logarithms, compressed. The filters are a param: bands of Slaney's Auditory Toolbox (1998), linear below
//! 1 kHz and logarithmic above, each of the same area.
//!
//! `cargo run --release -p pumice --example log_mel -- speech.wav`; without a file it makes one of two tones.

use pumice::ops::log_mel::{LogBase, LogMel, LogMelCompress};
use pumice::ops::pad::{Pad, PadMode};
use pumice::ops::stft::Stft;
use pumice::{DType, Device, Graph, GraphBuilder, Options, TensorView, f32, sym};
use std::error::Error;
use std::f64::consts::TAU;
use std::path::{Path, PathBuf};

const RATE: u32 = 16_000;
const FRAME: u64 = 400;
const STEP: u64 = 160;
const BANDS: usize = 80;
const BINS: usize = FRAME as usize / 2 + 1;
/// Half a minute, as much as the model takes at once.
const MOST: u64 = 30 * RATE as u64;

fn features() -> Result<Graph, Box<dyn Error>> {
    let g = GraphBuilder::new("log_mel");
    let samples = g.input("samples", f32([1.into(), sym("samples", FRAME..=MOST), 1.into()]));
    let half = FRAME as i64 / 2;
    let pads = Pad { mode: PadMode::Reflect, pads: vec![half, half], axes: vec![1] };
    let window = g.hann_window(FRAME, true, DType::F32);
    let stft = Stft { frame_step: STEP, ..Stft::default() };
    let spectra = g.stft(g.pad(samples, None, pads), Some(window), stft);
    // The frame at the very end is not the model's.
    let frames = g.dim_of(samples, 1).floor_div(&STEP.into());
    let spectra = g.narrow(spectra, 1, 0, frames);
    let filters = g.param("filters", f32([BANDS as u64, BINS as u64]));
    let whisper = LogMel { log: LogBase::Log10, compress: LogMelCompress::Whisper, ..LogMel::default() };
    g.output("features", g.log_mel(spectra, filters, whisper));
    Ok(g.build()?)
}

/// Triangles of one area whose edges are equally far apart on Slaney's scale, from 0 to half the rate.
fn filters() -> Vec<f32> {
    let (linear, step) = (1000.0, 6.4f64.ln() / 27.0);
    let mel = |f: f64| if f < linear { 3.0 * f / 200.0 } else { 15.0 + (f / linear).ln() / step };
    let hertz = |m: f64| if m < 15.0 { 200.0 * m / 3.0 } else { linear * ((m - 15.0) * step).exp() };
    let top = mel(f64::from(RATE) / 2.0);
    let edge = |i: usize| hertz(top * i as f64 / (BANDS + 1) as f64);
    let weight = |band: usize, bin: usize| {
        let f = bin as f64 * f64::from(RATE) / FRAME as f64;
        let (left, centre, right) = (edge(band), edge(band + 1), edge(band + 2));
        let height = ((f - left) / (centre - left)).min((right - f) / (right - centre)).max(0.0);
        (height * 2.0 / (right - left)) as f32
    };
    (0..BANDS).flat_map(|band| (0..BINS).map(move |bin| weight(band, bin))).collect()
}

/// A second of two tones, 440 Hz in the first half and 2 kHz in the second.
fn write_tones(path: &Path) -> Result<(), hound::Error> {
    let spec = hound::WavSpec {
        channels: 1,
        sample_rate: RATE,
        bits_per_sample: 16,
        sample_format: hound::SampleFormat::Int,
    };
    let mut file = hound::WavWriter::create(path, spec)?;
    for i in 0..RATE {
        let hertz = if i < RATE / 2 { 440.0 } else { 2000.0 };
        let v = 0.5 * (TAU * hertz * f64::from(i) / f64::from(RATE)).sin();
        file.write_sample((v * f64::from(i16::MAX)) as i16)?;
    }
    file.finalize()
}

/// The samples of a WAV file of one channel and 16 bits, in [−1, 1).
fn read(path: &Path) -> Result<Vec<f32>, Box<dyn Error>> {
    let mut file = hound::WavReader::open(path)?;
    let spec = file.spec();
    if (spec.channels, spec.sample_rate, spec.bits_per_sample) != (1, RATE, 16) {
        return Err(format!("{}: one channel of 16 kHz and 16 bits, please", path.display()).into());
    }
    let samples = file.samples::<i16>().take(MOST as usize);
    let samples: Result<Vec<f32>, _> = samples.map(|v| v.map(|v| f32::from(v) / 32_768.0)).collect();
    Ok(samples?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let given = std::env::args_os().nth(1).map(PathBuf::from);
    let made = std::env::temp_dir().join(format!("pumice-tones-{}.wav", std::process::id()));
    let path = given.as_ref().unwrap_or(&made);
    if given.is_none() {
        write_tones(path)?;
    }
    let samples = read(path)?;
    if given.is_none() {
        std::fs::remove_file(path)?;
    }

    let device = Device::best();
    let exe = pumice::compile(&features()?, &device, &Options::default())?;
    exe.set_param("filters", &filters())?;
    let mut session = exe.session()?;
    session.run(&[("samples", TensorView::f32(&samples, [1, samples.len() as u64, 1]))])?;
    let features = session.output("features")?.to_vec::<f32>()?;
    let frames = features.len() / BANDS;
    println!("device: {}; {} samples, {frames} frames of {BANDS} bands", device.name(), samples.len());
    let loudest = |frame: &[f32]| (0..BANDS).max_by(|&a, &b| frame[a].total_cmp(&frame[b])).unwrap_or(0);
    let bands: Vec<usize> = features.chunks_exact(BANDS).map(loudest).collect();
    for (i, band) in bands.iter().enumerate().step_by(10) {
        println!("{:5.2} s: loudest in band {band}", i as f32 * STEP as f32 / RATE as f32);
    }
    if given.is_none() {
        // 440 Hz and 2 kHz are 6.6 and 25.1 of 45.2 mel, which 81 parts divide.
        assert_eq!((bands[25], bands[75]), (11, 44));
    }
    Ok(())
}
