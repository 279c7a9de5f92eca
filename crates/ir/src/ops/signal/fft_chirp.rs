//! `FftChirp`: the numbers by which a transform of any length becomes a convolution.

use crate::attr::AttrError;
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types, one};
use crate::ops::{Grad, OpDef};
use crate::sample::Sample;
use pumice_types::{DType, DimExpr};

/// The most values of a line that is transformed, and of the chirp.
const MOST: i64 = 1 << 22;

crate::op! {
    /// c_j = e^(∓πij²/N) for j < `extent` (Bluestein, A linear filtering approach to the computation of discrete
    /// Fourier transform, 1970): → f32\[extent, 2\]. `wrapped`: of min(j, extent − j), and 0 where that is N or more,
    /// which is the filter of a cyclic convolution.
    pub struct FftChirp {
        /// N, at most 2^22.
        length: i64,
        /// How many.
        extent: i64,
        /// Whether the exponent is positive.
        inverse: bool = false,
        /// Whether the end is the beginning, mirrored.
        wrapped: bool = false,
    }
}

impl OpDef for FftChirp {
    const OPERANDS: &'static [&'static str] = &[];
    const GRAD: Grad<Self> = Grad::Zero;

    fn infer(&self, _: &Infer<'_>) -> Result<Types, OpError> {
        let wrong = |name, reason: &str| Err(AttrError::Value { name, reason: reason.into() }.into());
        if !(1..=MOST).contains(&self.length) {
            return wrong("length", "it must be from 1 to 2^22");
        }
        if !(0..=2 * MOST).contains(&self.extent) {
            return wrong("extent", "it must be from 0 to 2^23");
        }
        one(DType::F32, [DimExpr::constant(self.extent), DimExpr::constant(2)])
    }

    fn samples() -> Vec<Sample> {
        let case = |length: i64, extent: i64| {
            Sample::graph(&format!("{extent} of {length}"), |g| {
                for (inverse, wrapped) in [(false, false), (true, false), (false, true), (true, true)] {
                    let op = FftChirp { length, extent, inverse, wrapped };
                    g.output(&format!("{inverse} {wrapped}"), g.fft_chirp(op));
                }
            })
        };
        let all = [(1, 1), (1, 0), (2, 4), (3, 3), (5, 16), (17, 17), (17, 64), (257, 1025), (1009, 4096)];
        let mut samples: Vec<Sample> = all.into_iter().map(|(length, extent)| case(length, extent)).collect();
        samples.extend([case(65_537, 65_537), case(4_194_301, 4_194_301)]);
        samples
    }
}

impl GraphBuilder {
    /// The numbers of a chirp: → f32\[extent, 2\]. For whole transforms see [`fft`](crate::GraphBuilder::fft).
    #[track_caller]
    pub fn fft_chirp(&self, op: FftChirp) -> Value {
        self.apply(op, &[])
    }
}
