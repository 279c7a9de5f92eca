//! Transforms of frames, as a composition.

use super::fft::Fft;
use crate::attr::AttrError;
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::Infer;
use crate::ops::Range;
use crate::ops::elementwise::FLOATS;
use pumice_types::{DType, DimExpr};

/// Attributes of [`GraphBuilder::stft`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stft {
    /// Values from the first of a frame to the first of the next, 1 or more.
    pub frame_step: u64,
    /// Values of a frame; if not given those of the window, and without one all of the signal, whose number is then a
    /// constant.
    pub frame_length: Option<u64>,
    /// Whether the first half of each spectrum is the result. Of real values.
    pub onesided: bool,
}

impl Default for Stft {
    fn default() -> Stft {
        Stft { frame_step: 1, frame_length: None, onesided: true }
    }
}

impl Stft {
    /// Values of a frame of x\[B, L, 1 or 2\] and a window, if they belong together.
    fn length(&self, cx: &Infer<'_>) -> Result<u64, OpError> {
        let wrong = |name, reason: String| Err(AttrError::Value { name, reason }.into());
        cx.expect_dtype(0, FLOATS)?;
        cx.expect_rank(0, 3)?;
        let shape = &cx.ty(0)?.shape;
        if !(shape[2].is(1) || shape[2].is(2) && !self.onesided) {
            let (last, most) = (cx.show(&shape[2..]), if self.onesided { "1: real" } else { "1 or 2" });
            return Err(OpError::Invalid(format!("the last axis of `x` is {last}, not {most}")));
        }
        let n = match (self.frame_length, cx.opt(1)) {
            (Some(length), _) => length,
            (None, Some(window)) => cx.constant_extent(&window.shape[0], "the window")?,
            (None, None) => cx.constant_extent(&shape[1], "a frame that is the whole signal")?,
        };
        if self.frame_step == 0 || self.frame_step > MOST {
            return wrong("frame_step", "it must be from 1 to 2^31 - 1".into());
        }
        if n == 0 || n > MOST {
            return wrong("frame_length", "it must be from 1 to 2^31 - 1".into());
        }
        let least = shape[1].lower(cx.symbols());
        if least < n {
            return wrong("frame_length", format!("a frame has {n} values, a signal may have {least}"));
        }
        Ok(n)
    }

    fn rule(&self, cx: &Infer<'_>) -> Result<(), OpError> {
        if let Some(window) = cx.opt(1) {
            cx.same_dtype(0, 1)?;
            cx.expect_rank(1, 1)?;
            let n = self.length(cx)?;
            if !window.shape[0].is(n as i64) {
                let window = cx.show(&window.shape);
                return Err(OpError::Invalid(format!("the window is {window}, a frame has {n} values")));
            }
        }
        self.length(cx).map(|_| ())
    }
}

/// Places that frames are counted by.
const MOST: u64 = i32::MAX as u64;

impl GraphBuilder {
    /// Spectra of frames of a signal (ONNX STFT): x\[B, L, 1 or 2\], window\[n\] or none → \[B, ⌊(L − n)/frame_step⌋ +
    /// 1, ⌊n/2⌋ + 1, 2\], all n of each where not `onesided`. Frame f begins at f·frame_step; nothing is centred or
    /// padded, and the end of a signal that fills no frame is left out. Each is multiplied by the window first.
    ///
    /// Mistakes: complex values with `onesided`, a window of another length than frames, a signal that may be shorter.
    ///
    /// ```
    /// # use pumice_ir::GraphBuilder;
    /// # use pumice_ir::{f32, sym};
    /// # use pumice_ir::ops::stft::Stft;
    /// # use pumice_types::DType;
    /// let g = GraphBuilder::new("g");
    /// let x = g.input("x", f32([1.into(), sym("samples", 400..=480_000), 1.into()]));
    /// let window = g.hann_window(400, true, DType::F32);
    /// g.output("spectra", g.stft(x, Some(window), Stft { frame_step: 160, ..Stft::default() }));
    /// assert_eq!(g.build()?.outputs().len(), 1);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn stft(&self, x: Value, window: Option<Value>, op: Stft) -> Value {
        const METHOD: &str = "stft";
        let operands: Vec<Value> = [Some(x), window].into_iter().flatten().collect();
        let mut n = 0;
        let rule = |cx: &Infer<'_>| {
            op.rule(cx)?;
            n = op.length(cx)?;
            Ok(())
        };
        let types = match self.checked_operands(METHOD, &["x", "window"], &operands, rule) {
            Ok(types) => types,
            Err(mistake) => return mistake,
        };
        let g = self.composition(METHOD);
        let (n, step) = (DimExpr::from(n), DimExpr::from(op.frame_step));
        let frames = (&types[0].shape[1] - n.clone()).floor_div(&step) + DimExpr::constant(1);
        let first = Range { start: 0.into(), delta: op.frame_step as i64, len: frames, dtype: DType::I32 };
        let first = g.unsqueeze(g.apply(first, &[]), &[1]);
        let framed = g.gather(x, g.add(first, g.range(0, n, 1, DType::I32)), 1);
        let framed = match window {
            Some(window) => g.mul(framed, g.unsqueeze(window, &[1])),
            None => framed,
        };
        g.last().fft(framed, Fft { onesided: op.onesided, ..Fft::default() })
    }
}
