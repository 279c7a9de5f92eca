//! Logarithms of filtered spectra, as a composition.

use crate::attr::AttrError;
use crate::builder::{Composition, GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::Infer;
use crate::ops::elementwise::FLOATS;
use crate::ops::{Affine, Op, PowScalar, Square};
use crate::shape::ValueType;
use pumice_types::DType;

/// The logarithm of [`LogMel`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LogBase {
    /// The natural one.
    #[default]
    Ln,
    /// Decimal.
    Log10,
}

/// What becomes of the logarithms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LogMelCompress {
    /// They are the result.
    #[default]
    None,
    /// (max(v, m − 8) + 4)/4 of decimal logarithms v of at least −10, m the largest of them (Radford and others, Robust
    /// Speech Recognition via Large-Scale Weak Supervision, 2022).
    Whisper,
}

/// Of which logarithms the largest is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LogMelOver {
    /// Of all frames of a signal: the two last axes of the result.
    #[default]
    All,
    /// Of the frame.
    Frame,
}

/// Attributes of [`GraphBuilder::log_mel`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogMel {
    /// Sums below it count as it, above 0. Not with [`LogMelCompress::Whisper`], whose number is 1e-10.
    pub eps: f32,
    /// The logarithm. [`LogMelCompress::Whisper`] has decimal ones.
    pub log: LogBase,
    /// The power of |X| that is summed, above 0.
    pub power: f32,
    /// What becomes of the logarithms.
    pub compress: LogMelCompress,
    /// Of which logarithms the largest is taken, if one is.
    pub over: LogMelOver,
}

impl Default for LogMel {
    fn default() -> LogMel {
        let (log, compress, over) = (LogBase::Ln, LogMelCompress::None, LogMelOver::All);
        LogMel { eps: WHISPER_EPS, log, power: 2.0, compress, over }
    }
}

const WHISPER_EPS: f32 = 1e-10;

impl LogMel {
    /// Errors unless spectrum and filters belong together.
    fn expect_valid(&self, cx: &Infer<'_>) -> Result<(), OpError> {
        let wrong = |name, reason: &str| Err(AttrError::Value { name, reason: reason.into() }.into());
        cx.expect_dtype(0, FLOATS)?;
        cx.same_dtype(0, 1)?;
        cx.expect_rank(1, 2)?;
        let spec = cx.ty(0)?;
        if spec.rank() < 2 {
            let expected = "expected frequencies and complex parts".into();
            return Err(OpError::Rank { operand: "spec", rank: spec.rank(), expected });
        }
        let (bins, parts) = (&spec.shape[spec.rank() - 2], &spec.shape[spec.rank() - 1]);
        if !parts.is(2) {
            let last = cx.show(std::slice::from_ref(parts));
            return Err(OpError::Invalid(format!("the last axis of `spec` is {last}, not 2: re and im")));
        }
        cx.at_most(&cx.ty(1)?.shape[1], bins, "what a filter weights, and frequencies")?;
        if !(self.eps > 0.0 && self.eps.is_finite()) {
            return wrong("eps", "it must be finite and above 0");
        }
        if !(self.power > 0.0 && self.power.is_finite()) {
            return wrong("power", "it must be finite and above 0");
        }
        if self.compress == LogMelCompress::Whisper && self.log != LogBase::Log10 {
            return wrong("log", "whisper's compression is of decimal logarithms");
        }
        if self.compress == LogMelCompress::Whisper && self.eps != WHISPER_EPS {
            return wrong("eps", "whisper's compression has 1e-10");
        }
        Ok(())
    }

    /// The last step of all.
    fn last(&self) -> Affine {
        match (self.compress, self.log) {
            (LogMelCompress::Whisper, _) => Affine { mul: 0.25, add: 1.0 },
            (_, LogBase::Log10) => Affine { mul: std::f32::consts::LOG10_E, add: 0.0 },
            _ => Affine { mul: 1.0, add: 0.0 },
        }
    }
}

impl GraphBuilder {
    /// log max(Σ_b filters\[m, b\]·|X_b|^power, eps) of spectra (PyTorch and librosa: a log-mel spectrogram): spec\[…,
    /// F, 2\] of re and im, filters\[M, nb\] of the same float dtype → \[…, M\]; a filter weights the first nb ≤ F
    /// frequencies. With [`LogMelCompress::Whisper`] the features of that model: v = log₁₀ max(e, 1e-10), (max(v, m −
    /// 8) + 4)/4, m the largest v of all frames of a signal, or of the frame.
    ///
    /// Silence is log eps; NaN propagates, to all that is compared with it. 16-bit floats are computed in f32 and
    /// rounded once.
    ///
    /// [`mel_weight_matrix`](crate::GraphBuilder::mel_weight_matrix) has frequencies first, as ONNX has it: transpose
    /// it.
    ///
    /// Mistakes: numbers that are not above 0, more weights than frequencies, `Whisper` with another logarithm or eps.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// # use pumice_ir::ops::log_mel::LogMel;
    /// # use pumice_ir::ops::mel_weight_matrix::MelWeightMatrix;
    /// let g = GraphBuilder::new("g");
    /// let spectra = g.input("spectra", f32([98, 201, 2]));
    /// let filters = g.param("filters", f32([80, 201]));
    /// g.output("features", g.log_mel(spectra, filters, LogMel::default()));
    /// // Without filters of one's own: 80 triangles up to 8 kHz, of frames of 400 samples.
    /// let triangles = MelWeightMatrix { num_mel_bins: 80, dft_length: 400, ..Default::default() };
    /// let filters = g.transpose(g.mel_weight_matrix(triangles), &[1, 0]);
    /// g.output("of triangles", g.log_mel(spectra, filters, LogMel::default()));
    /// assert_eq!(g.build()?.outputs().len(), 2);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn log_mel(&self, spec: Value, filters: Value, op: LogMel) -> Value {
        const METHOD: &str = "log_mel";
        let names = &["spec", "filters"];
        let types = match self.checked_operands(METHOD, names, &[spec, filters], |cx| op.expect_valid(cx)) {
            Ok(types) => types,
            Err(mistake) => return mistake,
        };
        let g = self.composition(METHOD);
        let energies = g.filtered((spec, &types[0]), (filters, &types[1]), op.power);
        let logs = g.log(g.max(&[energies, g.constant_scalar(DType::F32, f64::from(op.eps))]));
        let logs = if op.compress == LogMelCompress::Whisper { g.compressed(logs, op) } else { logs };
        g.finish(op.last(), &[logs], types[0].dtype(), &[])
    }
}

impl Composition {
    /// Σ_b filters\[m, b\]·|X_b|^power in f32.
    #[track_caller]
    fn filtered(
        &self,
        (spec, ty): (Value, &ValueType),
        (filters, of): (Value, &ValueType),
        power: f32,
    ) -> Value {
        let (used, dtype) = (self.narrow(spec, -2, 0, of.shape[1].clone()), ty.dtype());
        let powers = self.powers(self.widened(used, dtype), power);
        self.linear(powers, self.widened(filters, dtype), None)
    }

    /// |X|^power of complex numbers, which are f32.
    #[track_caller]
    pub(super) fn powers(&self, spec: Value, power: f32) -> Value {
        let squares = self.reduce_sum(self.apply(Square {}, &[spec]), &[-1], false);
        let op: Op = match power {
            2.0 => return squares,
            1.0 => crate::ops::Sqrt {}.into(),
            _ => PowScalar { exponent: power / 2.0 }.into(),
        };
        self.apply(op, &[squares])
    }

    /// max(v, m − 8) of decimal logarithms v, of natural ones.
    #[track_caller]
    fn compressed(&self, logs: Value, op: LogMel) -> Value {
        let decimal = self.apply(Affine { mul: std::f32::consts::LOG10_E, add: 0.0 }, &[logs]);
        let rank = self.type_of(decimal).map_or(0, |ty| ty.rank());
        let axes: &[i64] = if op.over == LogMelOver::All && rank > 1 { &[-2, -1] } else { &[-1] };
        let most = self.reduce_max(decimal, axes, true);
        self.max(&[decimal, self.apply(Affine { mul: 1.0, add: -8.0 }, &[most])])
    }
}
