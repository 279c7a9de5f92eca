//! Transforms and windows.

use super::call::{Call, one};
use super::{OnnxError, Results, Rule, rule};
use pumice_ir::ops::fft::Fft;
use pumice_ir::ops::mel_weight_matrix::MelWeightMatrix;
use pumice_ir::ops::stft::Stft;
use pumice_ir::{GraphBuilder, Value};
use pumice_types::DType;

pub(super) const RULES: &[Rule] = &[
    rule("DFT", 17, dft),
    rule("STFT", 17, stft),
    rule("HannWindow", 17, |c| window(c, GraphBuilder::hann_window)),
    rule("HammingWindow", 17, |c| window(c, GraphBuilder::hamming_window)),
    rule("BlackmanWindow", 17, |c| window(c, GraphBuilder::blackman_window)),
    rule("MelWeightMatrix", 17, mel_weight_matrix),
];

/// The axis is an attribute before opset 20, an input from then on.
fn dft(c: &mut Call<'_>) -> Results {
    let (x, dft_length) = (c.x(0)?, c.opt_int(1)?);
    let axis = if c.opset < 20 { c.int("axis", 1)? } else { c.opt_int(2)?.unwrap_or(-2) };
    let (inverse, onesided) = (c.flag("inverse", false)?, c.flag("onesided", false)?);
    one(c.g.fft(x, Fft { axis, inverse, onesided, dft_length, ..Fft::default() }))
}

fn stft(c: &mut Call<'_>) -> Results {
    let (x, frame_step, window) = (c.x(0)?, c.known_count(1)?, c.opt(2));
    let negative = OnnxError::NotConstant { op: c.op, input: 3, expected: "one count" };
    let frame_length = c.opt_int(3)?.map(u64::try_from).transpose().map_err(|_| negative)?;
    let onesided = c.flag("onesided", true)?;
    one(c.g.stft(x, window, Stft { frame_step, frame_length, onesided }))
}

fn window(c: &mut Call<'_>, method: fn(&GraphBuilder, u64, bool, DType) -> Value) -> Results {
    let (size, periodic) = (c.known_count(0)?, c.flag("periodic", true)?);
    let dtype = c.opt_dtype("output_datatype")?.unwrap_or(DType::F32);
    one(method(c.g, size, periodic, dtype))
}

fn mel_weight_matrix(c: &mut Call<'_>) -> Results {
    let (num_mel_bins, dft_length, sample_rate) = (c.known_count(0)?, c.known_count(1)?, c.known_count(2)?);
    let (lower_edge_hertz, upper_edge_hertz) = (c.known_float(3)?, c.known_float(4)?);
    let dtype = c.opt_dtype("output_datatype")?.unwrap_or(DType::F32);
    let op =
        MelWeightMatrix { num_mel_bins, dft_length, sample_rate, lower_edge_hertz, upper_edge_hertz, dtype };
    one(c.g.mel_weight_matrix(op))
}
