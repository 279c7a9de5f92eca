//! `Fft`: the discrete Fourier transform of any length.

use crate::attr::AttrError;
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types, one};
use crate::ops::elementwise::FLOATS;
use crate::ops::{Grad, OpDef};
use crate::sample::{Fill, Sample};
use crate::shape::{sym, tensor};
use crate::{Graph, NodeId, Patch};
use pumice_types::{DType, DimExpr};

crate::attr_enum! {
    /// Which direction carries the factor 1/N.
    pub enum FftNorm {
        /// The inverse.
        Backward = "backward",
        /// Both, as 1/√N.
        Ortho = "ortho",
        /// The forward one.
        Forward = "forward",
    }
}

crate::op! {
    /// X_k = Σ x_n e^(∓2πikn/N) along one axis (ONNX DFT). The last axis of x holds real (1) or complex (2) values,
    /// that of the result complex ones. `dft_length` cuts x or adds zeros. `onesided` keeps the first ⌊N/2⌋ + 1 results
    /// of a real x; with `inverse` it takes those ⌊N/2⌋ + 1 values and gives N real ones (N is `dft_length`, or 2(n −
    /// 1)). All results of a line with a NaN or an infinity among the values it takes are NaN.
    ///
    /// The device transforms lines of 1 to 2^22 values whose number is known when the graph is built; the host what is
    /// longer, and lines whose length symbols decide.
    pub struct Fft {
        /// The axis; not the last one.
        axis: i64 = -2,
        /// Whether the exponent is positive.
        inverse: bool = false,
        /// Whether the spectrum is kept by half.
        onesided: bool = false,
        /// N; the extent of the axis if not given.
        dft_length: Option<i64> = None,
        /// Which direction carries the factor.
        norm: FftNorm = FftNorm::Backward,
    }
}

impl Default for Fft {
    fn default() -> Fft {
        Fft { axis: -2, inverse: false, onesided: false, dft_length: None, norm: FftNorm::Backward }
    }
}

impl Fft {
    /// N for an axis of extent n.
    pub fn length(&self, n: &DimExpr) -> DimExpr {
        match self.dft_length {
            Some(length) => DimExpr::constant(length),
            None if self.inverse && self.onesided => {
                let doubled = (n - DimExpr::constant(1)) * 2u64;
                doubled.max_with(&DimExpr::constant(0))
            }
            None => n.clone(),
        }
    }

    /// Extents that the last axis of x may have, and their names.
    fn parts_of_x(&self) -> (&'static [u64], &'static str) {
        match (self.onesided, self.inverse) {
            (true, false) => (&[1], "1 (real)"),
            (true, true) => (&[2], "2 (complex)"),
            (false, _) => (&[1, 2], "1 (real) or 2 (complex)"),
        }
    }
}

impl OpDef for Fft {
    const OPERANDS: &'static [&'static str] = &["x"];
    const GRAD: Grad<Self> = Grad::Rule(super::fft_grad::rule);

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        let dtype = cx.expect_dtype(0, FLOATS)?;
        let x = cx.ty(0)?;
        if x.rank() < 2 {
            return Err(OpError::Rank {
                operand: "x",
                rank: x.rank(),
                expected: "expected 2 or more".into(),
            });
        }
        let (axis, last) = (cx.axis(self.axis, x.rank())?, x.rank() - 1);
        if axis == last {
            return Err(OpError::Invalid(
                "the last axis holds real and imaginary parts; transform another".into(),
            ));
        }
        if self.dft_length.is_some_and(|n| n < 1) {
            return Err(AttrError::Value { name: "dft_length", reason: "it must be 1 or more".into() }.into());
        }
        let parts = cx.constant_extent(&x.shape[last], "the last axis")?;
        let (allowed, names) = self.parts_of_x();
        if !allowed.contains(&parts) {
            return Err(OpError::Invalid(format!("the last axis of x is {parts}; it must be {names} here")));
        }
        let length = self.length(&x.shape[axis]);
        let half = length.floor_div(&DimExpr::constant(2)) + DimExpr::constant(1);
        let mut shape = x.shape.to_vec();
        shape[axis] = if self.onesided && !self.inverse { half } else { length };
        shape[last] = DimExpr::constant(if self.inverse && self.onesided { 1 } else { 2 });
        one(dtype, shape)
    }

    /// Its parts, where the device transforms it.
    fn expand(&self, graph: &Graph, id: NodeId) -> Option<Patch> {
        super::fft_parts::expand(self, graph, id)
    }

    fn samples() -> Vec<Sample> {
        let mut samples = Vec::new();
        let base = Fft::default();
        let lengths = [
            0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 31, 64, 97, 100, 128, 210, 255, 256, 257, 1009, 1023, 1024,
        ];
        // Of a square no plan says which axis is transformed.
        let rows = |n: u64| if n == 2 { 3 } else { 2 };
        for n in lengths {
            samples.push(case(DType::F32, &[rows(n), n, 1], base.clone()));
            samples.push(case(DType::F32, &[rows(n), n, 2], Fft { inverse: n % 2 == 0, ..base.clone() }));
        }
        for n in [1, 2, 3, 7, 8, 12, 97, 256] {
            // No other axis has as many: which of them was meant no plan would show.
            samples.push(case(DType::F32, &[5, n, 1], Fft { onesided: true, ..base.clone() }));
            for length in [2 * n - 2, 2 * n - 1].into_iter().filter(|&l| l > 0) {
                let op =
                    Fft { onesided: true, inverse: true, dft_length: Some(length as i64), ..base.clone() };
                samples.push(case(DType::F32, &[rows(n), n, 2], op));
            }
        }
        for norm in [FftNorm::Backward, FftNorm::Ortho, FftNorm::Forward] {
            for inverse in [false, true] {
                samples.push(case(DType::F32, &[3, 15, 2], Fft { norm, inverse, ..base.clone() }));
            }
        }
        for length in [1, 5, 16, 40] {
            samples.push(case(DType::F32, &[2, 16, 1], Fft { dft_length: Some(length), ..base.clone() }));
            samples.push(case(
                DType::F32,
                &[2, 16, 2],
                Fft { dft_length: Some(length), inverse: true, ..base.clone() },
            ));
        }
        samples.extend([
            case(DType::F32, &[6, 5, 2], Fft { axis: 0, ..base.clone() }),
            case(DType::F32, &[2, 6, 5, 1], Fft { axis: 1, onesided: true, ..base.clone() }),
            case(DType::F32, &[4, 3, 5, 2], Fft { axis: -3, inverse: true, ..base.clone() }),
            case(DType::F32, &[0, 8, 2], base.clone()),
            case(DType::F32, &[1 << 20, 1], Fft { axis: 0, onesided: true, ..base.clone() }),
            case(DType::F32, &[4097, 2], base.clone()),
            case(DType::F32, &[2, 2187, 3, 2], Fft { axis: 1, ..base.clone() }),
            case(DType::F32, &[2, 4400, 1], Fft { dft_length: Some(6000), onesided: true, ..base.clone() }),
            case(DType::F16, &[2, 24, 1], base.clone()),
            case(DType::BF16, &[2, 24, 2], base.clone()),
        ]);
        samples.extend([4, 7, 12].map(not_finite));
        samples.extend([1, 6, 20].map(symbolic_length));
        samples.extend([0, 3].map(lines_beside));
        samples
    }
}

fn symbolic_length(n: u64) -> Sample {
    let sample = Sample::graph(&format!("symbolic, {n} of 20"), |g| {
        let x = g.input("x", tensor(DType::F32, [2.into(), sym("n", 1..=20), 1.into()]));
        g.output("y", g.fft(x, Fft { onesided: true, ..Fft::default() }));
    });
    sample.bind("n", n)
}

fn lines_beside(n: u64) -> Sample {
    let sample = Sample::graph(&format!("lines side by side, {n} of 3"), |g| {
        let x = g.input("x", tensor(DType::F32, [2.into(), 5.into(), sym("n", 0..=3), 1.into()]));
        g.output("y", g.fft(x, Fft { axis: 1, ..Fft::default() }));
    });
    sample.bind("n", n)
}

/// Five complex lines of n: one is finite, the others have a NaN or an infinity, the last of them in an imaginary part
/// that half a spectrum of real values does not have.
fn not_finite(n: usize) -> Sample {
    let mut values: Vec<f64> = (0..10 * n).map(|i| (i % 13) as f64 - 6.0).collect();
    let odd =
        [(2 * n + 2, f64::NAN), (5 * n, f64::INFINITY), (7 * n, f64::NEG_INFINITY), (8 * n + 1, f64::NAN)];
    odd.into_iter().for_each(|(at, v)| values[at] = v);
    Sample::graph(&format!("lines of {n} that are not finite"), |g| {
        let x = g.input("x", tensor(DType::F32, [5, n as u64, 2]));
        let base = Fft::default();
        g.output("forward", g.fft(x, base.clone()));
        g.output("inverse", g.fft(x, Fft { inverse: true, norm: FftNorm::Ortho, ..base.clone() }));
        let back = Fft { inverse: true, onesided: true, dft_length: Some(2 * n as i64 - 2), ..base.clone() };
        g.output("back", g.fft(x, back));
        g.output("cut", g.fft(x, Fft { dft_length: Some(1), ..base }));
    })
    .fill("x", Fill::Floats(values))
}

fn case(d: DType, shape: &[u64], op: Fft) -> Sample {
    Sample::graph(&format!("{d} {shape:?} {op:?}"), |g| {
        let x = g.input("x", tensor(d, shape.iter().copied()));
        g.output("y", g.fft(x, op.clone()));
    })
    .fill("x", Fill::Normal)
}

impl GraphBuilder {
    /// The discrete Fourier transform along an axis: x\[…, n, …, 1 or 2\] → \[…, N or ⌊N/2⌋ + 1, …, 2\]; back from one
    /// side \[…, N, …, 1\].
    #[track_caller]
    pub fn fft(&self, x: Value, op: Fft) -> Value {
        self.apply(op, &[x])
    }
}
