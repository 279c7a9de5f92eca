//! How cases about signals are built.

use pumice_ir::ops::fft::{Fft, FftNorm};
use pumice_ir::ops::log_mel::{LogBase, LogMel, LogMelCompress, LogMelOver};
use pumice_ir::ops::mel_weight_matrix::MelWeightMatrix;
use pumice_ir::ops::stft::Stft;
use pumice_ir::ops::welch::{WelchPeakKind, WelchPeaks, WelchPsd, WelchScaling};
use pumice_ir::{GraphBuilder, Value};
use pumice_tests::goldens::Golden;
use pumice_types::DType;
use serde_json::Value as Json;

/// How many of a case's operands are data, if it is about signals.
pub fn data(op: &str) -> Option<usize> {
    let tables = ["HannWindow", "HammingWindow", "BlackmanWindow", "MelWeightMatrix"];
    tables.contains(&op).then_some(0)
}

/// The result, if the case is about signals.
pub fn build(case: &Golden, g: &GraphBuilder, x: &[Value]) -> Option<Value> {
    let (size, periodic) = (|| case.operand(0).ints()[0] as u64, case.flag("periodic"));
    Some(match case.op.as_str() {
        "HannWindow" => g.hann_window(size(), periodic, DType::F32),
        "HammingWindow" => g.hamming_window(size(), periodic, DType::F32),
        "BlackmanWindow" => g.blackman_window(size(), periodic, DType::F32),
        "MelWeightMatrix" => g.mel_weight_matrix(mel(case)),
        "DFT" | "fft" => g.fft(x[0], fft(case)),
        "STFT" => {
            let (frame_step, frame_length) = (case.int("step") as u64, Some(case.int("length") as u64));
            let op = Stft { frame_step, frame_length, onesided: case.flag("onesided") };
            g.stft(x[0], x.get(1).copied(), op)
        }
        "log_mel" => g.log_mel(x[0], x[1], log_mel(case)),
        "welch_psd" => {
            let density = case.word("scaling") == "density";
            let scaling = if density { WelchScaling::Density } else { WelchScaling::None };
            let double = case.attributes.get("double").map(|_| case.flag("double"));
            g.welch_psd(x[0], WelchPsd { scaling, double })
        }
        "welch_peaks" => {
            let local = case.word("kind") == "local";
            let kind = if local { WelchPeakKind::Local } else { WelchPeakKind::Largest };
            g.welch_peaks(x[0], WelchPeaks { k: case.int("k") as u64, kind, n_segments: None })
        }
        _ => return None,
    })
}

/// The smallest number of which a result may be off by its share: of a transform the largest of its results.
pub fn floor(op: &str, results: &[f64]) -> f64 {
    let largest = || results.iter().fold(0.5, |most: f64, v| most.max(v.abs()));
    if ["DFT", "fft", "STFT"].contains(&op) { largest() } else { 0.5 }
}

fn fft(case: &Golden) -> Fft {
    Fft {
        axis: case.attributes.get("axis").map_or(-2, |_| case.int("axis")),
        inverse: case.flag("inverse"),
        onesided: case.flag("onesided"),
        dft_length: case.attributes.get("length").map(|_| case.int("length")),
        norm: match case.word("norm") {
            "ortho" => FftNorm::Ortho,
            "forward" => FftNorm::Forward,
            _ => FftNorm::Backward,
        },
    }
}

fn mel(case: &Golden) -> MelWeightMatrix {
    let int = |i: usize| case.operand(i).ints()[0] as u64;
    MelWeightMatrix {
        num_mel_bins: int(0),
        dft_length: int(1),
        sample_rate: int(2),
        lower_edge_hertz: case.operand(3).floats()[0],
        upper_edge_hertz: case.operand(4).floats()[0],
        dtype: DType::F32,
    }
}

fn log_mel(case: &Golden) -> LogMel {
    let float = |name: &str| case.attributes.get(name).and_then(Json::as_f64).expect("a number") as f32;
    LogMel {
        eps: float("eps"),
        log: if case.word("log") == "ln" { LogBase::Ln } else { LogBase::Log10 },
        power: float("power"),
        compress: match case.word("compress") {
            "whisper" => LogMelCompress::Whisper,
            _ => LogMelCompress::None,
        },
        over: if case.word("over") == "all" { LogMelOver::All } else { LogMelOver::Frame },
    }
}
