//! Windows, filters, logarithms and averages of spectra.

use super::{FLOATS, all_near, all_pass};
use pumice_ir::Sample;
use pumice_ir::ops::log_mel::{LogBase, LogMel, LogMelCompress, LogMelOver};
use pumice_ir::ops::mel_weight_matrix::MelWeightMatrix;
use pumice_ir::ops::pad::{Pad, PadMode};
use pumice_ir::ops::stft::Stft;
use pumice_ir::ops::welch::{WelchPeakKind, WelchPeaks, WelchPsd, WelchScaling};
use pumice_ir::sample::Fill;
use pumice_ir::{sym, tensor};
use pumice_tests::op_suite::{Case, Runner};
use pumice_types::DType;

pub fn windows(runner: &Runner) {
    let case = |d: DType, size: u64, periodic: bool| {
        let sample = Sample::graph(&format!("{d} of {size}, periodic {periodic}"), |g| {
            let x = g.input("x", tensor(d, [2, size]));
            g.output("hann", g.mul(x, g.hann_window(size, periodic, d)));
            g.output("hamming", g.mul(x, g.hamming_window(size, periodic, d)));
            g.output("blackman", g.mul(x, g.blackman_window(size, periodic, d)));
            g.output("alone", g.hann_window(size, periodic, d));
        });
        sample.fill("x", Fill::Special)
    };
    let sizes = [0, 1, 2, 33, 400, 1025];
    let samples = sizes.into_iter().flat_map(|n| [true, false].map(|periodic| case(DType::F32, n, periodic)));
    let narrow = [DType::F16, DType::BF16].map(|d| case(d, 33, true));
    all_pass(runner, "hann_window", samples.chain(narrow).collect());
}

pub fn mels(runner: &Runner) {
    let case = |op: MelWeightMatrix, frames: u64| {
        let sample = Sample::graph(&format!("{frames} frames, {op:?}"), |g| {
            let power = g.input("power", tensor(op.dtype, [frames, op.dft_length / 2 + 1]));
            g.output("mels", g.matmul(power, g.mel_weight_matrix(op)));
            g.output("weights", g.mel_weight_matrix(op));
        });
        sample.fill("power", Fill::Uniform(0.0, 1.0))
    };
    let base = MelWeightMatrix::default();
    let small = MelWeightMatrix { num_mel_bins: 7, dft_length: 63, lower_edge_hertz: 300.0, ..base };
    let samples = vec![
        case(base, 3),
        case(small, 5),
        case(MelWeightMatrix { upper_edge_hertz: 300.0, ..small }, 5),
        case(MelWeightMatrix { num_mel_bins: 0, ..small }, 5),
        case(MelWeightMatrix { dft_length: 0, ..small }, 5),
        case(MelWeightMatrix { dtype: DType::F16, ..small }, 5),
        case(MelWeightMatrix { dtype: DType::BF16, ..small }, 5),
    ];
    all_pass(runner, "mel_weight_matrix", samples);
}

pub fn log_mels(runner: &Runner) {
    let base = LogMel::default();
    let whisper = LogMel { log: LogBase::Log10, compress: LogMelCompress::Whisper, ..base };
    let ops = [
        base,
        LogMel { log: LogBase::Log10, eps: 1e-5, ..base },
        LogMel { power: 1.0, ..base },
        LogMel { power: 3.0, ..base },
        whisper,
        LogMel { over: LogMelOver::Frame, ..whisper },
    ];
    let case = |d: DType, shape: &[u64], bins: u64, fill: Fill| {
        let sample = Sample::graph(&format!("{d} {shape:?} by {bins} {fill:?}"), |g| {
            let spec = g.input("spec", tensor(d, shape.iter().copied()));
            let filters = g.input("filters", tensor(d, [5, bins]));
            ops.iter().for_each(|&op| g.output(&format!("{op:?}"), g.log_mel(spec, filters, op)));
        });
        sample.fill("spec", fill).fill("filters", Fill::Uniform(0.0, 1.0))
    };
    let f = DType::F32;
    let mut samples: Vec<Sample> = FLOATS.iter().map(|&d| case(d, &[7, 9, 2], 9, Fill::Normal)).collect();
    samples.extend([
        case(f, &[9, 2], 4, Fill::Normal),
        case(f, &[2, 3, 5, 33, 2], 31, Fill::Normal),
        case(f, &[3, 0, 9, 2], 9, Fill::Normal),
        case(f, &[3, 9, 2], 0, Fill::Normal),
        case(f, &[3, 9, 2], 9, Fill::Constant(0.0)),
        case(f, &[300, 201, 2], 201, Fill::Normal),
        case(f, &[4, 3, 2], 3, Fill::Floats(vec![1.0, f64::NAN, 0.5, 0.0, 0.0, 2.0, 1.0])),
    ]);
    samples.extend([1, 40].map(|n| {
        let sample = Sample::graph(&format!("symbolic, {n} of 40"), |g| {
            let spec = g.input("spec", tensor(f, [sym("n", 1..=40), 17.into(), 2.into()]));
            let filters = g.input("filters", tensor(f, [6, 16]));
            ops.iter().for_each(|&op| g.output(&format!("{op:?}"), g.log_mel(spec, filters, op)));
        });
        sample.bind("n", n).fill("filters", Fill::Uniform(0.0, 1.0))
    }));
    all_near(runner, "log_mel", 2e-5, samples);
}

pub fn averages(runner: &Runner) {
    let scalings = [WelchScaling::None, WelchScaling::Density];
    let ops = scalings
        .into_iter()
        .flat_map(|scaling| [None, Some(false), Some(true)].map(|double| WelchPsd { scaling, double }));
    let ops: Vec<WelchPsd> = ops.collect();
    let case = |d: DType, shape: [u64; 4], fill: Fill| {
        let sample = Sample::graph(&format!("{d} {shape:?} {fill:?}"), |g| {
            let spec = g.input("spec", tensor(d, shape));
            ops.iter().for_each(|&op| g.output(&format!("{op:?}"), g.welch_psd(spec, op)));
        });
        sample.fill("spec", fill)
    };
    let f = DType::F32;
    let mut samples: Vec<Sample> = FLOATS.iter().map(|&d| case(d, [2, 3, 9, 2], Fill::Normal)).collect();
    samples.extend([
        case(f, [1, 1, 1, 2], Fill::Normal),
        case(f, [2, 1, 8, 2], Fill::Normal),
        case(f, [2, 300, 2, 2], Fill::Normal),
        case(f, [0, 3, 5, 2], Fill::Normal),
        case(f, [2, 0, 5, 2], Fill::Normal),
        case(f, [3, 4, 257, 2], Fill::Special),
    ]);
    samples.extend([(1, 1), (6, 8), (3, 33)].map(|(s, n)| {
        let sample = Sample::graph(&format!("symbolic, {s} of {n}"), |g| {
            let spec = g.input("spec", tensor(f, [2.into(), sym("s", 1..=6), sym("n", 1..=33), 2.into()]));
            ops.iter().for_each(|&op| g.output(&format!("{op:?}"), g.welch_psd(spec, op)));
        });
        sample.bind("s", s).bind("n", n)
    }));
    all_near(runner, "welch_psd", 2e-6, samples);
}

pub fn peaks(runner: &Runner) {
    let case = |d: DType, shape: [u64; 4], fill: Fill| {
        let sample = Sample::graph(&format!("{d} {shape:?} {fill:?}"), |g| {
            let spec = g.input("spec", tensor(d, shape));
            for kind in [WelchPeakKind::Local, WelchPeakKind::Largest] {
                for k in [0, 1, 5, 40] {
                    let op = WelchPeaks { k, kind, n_segments: Some(shape[1]) };
                    g.output(&format!("{kind:?} {k}"), g.welch_peaks(spec, op));
                }
            }
        });
        sample.fill("spec", fill)
    };
    let f = DType::F32;
    // Whole numbers, of which sums are exact and several equal.
    let whole = || Fill::Range(-3, 4);
    let mut samples: Vec<Sample> = FLOATS.iter().map(|&d| case(d, [2, 2, 33, 2], whole())).collect();
    samples.extend([1, 2, 3, 4, 5, 64].map(|n| case(f, [3, 1, n, 2], whole())));
    samples.extend([
        case(f, [2, 2, 16, 2], Fill::Constant(1.0)),
        case(f, [0, 2, 16, 2], whole()),
        case(f, [1, 4, 2100, 2], whole()),
        case(f, [2, 1, 9, 2], Fill::Floats(vec![1.0, 2.0, f64::NAN, 0.0, 3.0])),
    ]);
    all_near(runner, "welch_peaks", 2e-6, samples);
}

pub fn frames(runner: &Runner) {
    let case = |d: DType, shape: [u64; 3], n: u64, frame_step: u64| {
        let sample = Sample::graph(&format!("{d} {shape:?}, frames of {n} by {frame_step}"), |g| {
            let (x, w) = (g.input("x", tensor(d, shape)), g.input("w", tensor(d, [n])));
            let op = Stft { frame_step, frame_length: Some(n), onesided: false };
            g.output("windowed", g.stft(x, Some(w), op));
            g.output("plain", g.stft(x, None, op));
            if shape[2] == 1 {
                g.output("side", g.stft(x, Some(w), Stft { onesided: true, frame_length: None, ..op }));
            }
        });
        sample.fill("x", Fill::Normal).fill("w", Fill::Uniform(0.0, 1.0))
    };
    let f = DType::F32;
    let mut samples: Vec<Sample> = FLOATS.iter().map(|&d| case(d, [2, 50, 1], 16, 5)).collect();
    samples.extend([
        case(f, [1, 9, 1], 9, 1),
        case(f, [3, 9, 2], 1, 2),
        case(f, [2, 40, 2], 7, 7),
        case(f, [0, 40, 1], 8, 3),
        case(f, [1, 3000, 1], 400, 160),
        case(f, [2, 300, 1], 17, 1),
    ]);
    samples.extend([40, 41, 300].map(|n| {
        let sample = Sample::graph(&format!("symbolic, {n} of 300"), |g| {
            let x = g.input("x", tensor(f, [sym("b", 1..=3), sym("n", 40..=300), 1.into()]));
            let op = Stft { frame_step: 7, frame_length: Some(40), onesided: true };
            g.output("y", g.stft(x, Some(g.hann_window(40, true, f)), op));
        });
        sample.bind("b", 2).bind("n", n)
    }));
    all_pass(runner, "stft", samples);
}

/// Features of two seconds by transformers (`tests/reference/whisper_features.py`), within 1e-4.
pub fn whisper(runner: &Runner) {
    #[derive(serde::Deserialize)]
    struct Features {
        frames: Vec<usize>,
        features: Vec<Vec<f64>>,
        filters: Vec<(usize, usize, f64)>,
    }
    let text = include_str!("../../data/whisper_features.json");
    let known: Features = serde_json::from_str(text).expect("the committed form");
    let mut filters = vec![0.0; 80 * 201];
    known.filters.iter().for_each(|&(band, bin, v)| filters[band * 201 + bin] = v);
    let sample = Sample::graph("whisper", |g| {
        let sound = g.input("sound", tensor(DType::F32, [1, 32_000, 1]));
        let half_a_minute = Pad { pads: vec![0, 448_000], axes: vec![1], ..Pad::default() };
        let reflect = Pad { mode: PadMode::Reflect, pads: vec![200, 200], axes: vec![1] };
        let padded = g.pad(g.pad(sound, None, half_a_minute), None, reflect);
        let window = g.hann_window(400, true, DType::F32);
        let spectra = g.stft(padded, Some(window), Stft { frame_step: 160, ..Stft::default() });
        let filters = g.input("filters", tensor(DType::F32, [80, 201]));
        let op = LogMel { log: LogBase::Log10, compress: LogMelCompress::Whisper, ..LogMel::default() };
        g.output("y", g.log_mel(g.narrow(spectra, 1, 0, 3000), filters, op));
    });
    let sample = sample.fill("sound", Fill::Floats(sound())).fill("filters", Fill::Floats(filters));
    let plan = runner.plan(sample.graph.as_ref().expect("a graph")).expect("a plan");
    let made = runner.outputs(&Case::new("stft", sample), plan).expect("it runs");
    let made = made[0].to_vec::<f32>().expect("floats");
    for (&frame, want) in known.frames.iter().zip(&known.features) {
        for (band, want) in want.iter().enumerate() {
            let got = f64::from(made[frame * 80 + band]);
            assert!((got - want).abs() <= 1e-4, "frame {frame}, band {band}: {got}, not {want}");
        }
    }
}

/// The sound of that script.
fn sound() -> Vec<f64> {
    let mut state = 1u32;
    let sample = |i: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let (t, noise) = (f64::from(i) / 16_000.0, f64::from(state) / f64::from(1u32 << 31) - 1.0);
        let tone = 0.3 * (std::f64::consts::TAU * (200.0 + 600.0 * t) * t).sin();
        f64::from((tone + 0.01 * noise) as f32)
    };
    (0..32_000).map(sample).collect()
}
