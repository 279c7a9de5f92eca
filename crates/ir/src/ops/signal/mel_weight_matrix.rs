//! Triangles on the mel scale, folded.

use crate::attr::AttrError;
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use pumice_types::DType;
use std::f64::consts::LN_10;

/// Attributes of [`GraphBuilder::mel_weight_matrix`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MelWeightMatrix {
    /// Triangles.
    pub num_mel_bins: u64,
    /// Length of the transform whose one side is weighted.
    pub dft_length: u64,
    /// Samples in a second.
    pub sample_rate: u64,
    /// Where the first triangle begins, in hertz.
    pub lower_edge_hertz: f64,
    /// Where the last triangle would end if it were one further, in hertz; at most half the sample rate.
    pub upper_edge_hertz: f64,
    /// F32, F16 or BF16.
    pub dtype: DType,
}

impl Default for MelWeightMatrix {
    /// 80 triangles over a transform of 400 of a voice: 16 kHz.
    fn default() -> MelWeightMatrix {
        MelWeightMatrix {
            num_mel_bins: 80,
            dft_length: 400,
            sample_rate: 16_000,
            lower_edge_hertz: 0.0,
            upper_edge_hertz: 8_000.0,
            dtype: DType::F32,
        }
    }
}

impl MelWeightMatrix {
    fn expect_valid(&self) -> Result<(), OpError> {
        let wrong = |name, reason: &str| Err(AttrError::Value { name, reason: reason.into() }.into());
        let (low, high) = (self.lower_edge_hertz, self.upper_edge_hertz);
        if self.sample_rate == 0 || self.sample_rate > 1 << 40 {
            return wrong("sample_rate", "it must be from 1 to 2^40");
        }
        if self.dft_length > 1 << 40 {
            return wrong("dft_length", "it must be at most 2^40");
        }
        if !(0.0..=self.sample_rate as f64 / 2.0).contains(&high) {
            return wrong("upper_edge_hertz", "it must be from 0 to half the sample rate");
        }
        if !(0.0..=high).contains(&low) {
            return wrong("lower_edge_hertz", "it must be from 0 to the upper edge");
        }
        Ok(())
    }

    fn shape(&self) -> [u64; 2] {
        [self.dft_length / 2 + 1, self.num_mel_bins]
    }

    /// The bin that edge `i` of the triangles falls into: edges are equally far apart on the scale mel(f) =
    /// 2595·log₁₀(1 + f/700), of which the upper edge is edge `num_mel_bins` + 2.
    fn edge(&self, i: u64) -> i64 {
        let mel = |hertz: f64| 2595.0 * (hertz / 700.0).ln_1p() / LN_10;
        let (low, high) = (mel(self.lower_edge_hertz), mel(self.upper_edge_hertz));
        let step = (high - low) / (self.num_mel_bins + 2) as f64;
        let hertz = 700.0 * ((i as f64 * step + low) / 2595.0 * LN_10).exp_m1();
        ((self.dft_length + 1) as f64 * hertz / self.sample_rate as f64).floor() as i64
    }

    /// All elements, in row-major order.
    fn weights(&self) -> Vec<f64> {
        let edges: Vec<i64> = (0..self.num_mel_bins + 2).map(|i| self.edge(i)).collect();
        let bins = 0..self.shape()[0] as i64;
        bins.flat_map(|bin| edges.windows(3).map(move |of| triangle(of, bin))).collect()
    }
}

/// A triangle's height over a bin: 1 at its centre, 0 at its edges. One without a left side is its right one.
fn triangle(edges: &[i64], bin: i64) -> f64 {
    let (left, centre, right) = (edges[0], edges[1], edges[2]);
    let share = |part: i64, whole: i64| part as f64 / whole as f64;
    match bin {
        _ if bin == centre => 1.0,
        _ if left < bin && bin < centre => share(bin - left, centre - left),
        _ if centre < bin && bin < right => share(right - bin, right - centre),
        _ => 0.0,
    }
}

impl GraphBuilder {
    /// Triangles that sum the one side of a spectrum into bins of the mel scale, mel(f) = 2595·log₁₀(1 + f/700) (ONNX
    /// MelWeightMatrix): → \[⌊dft_length/2⌋ + 1, num_mel_bins\]. Edges are rounded down to whole bins; nothing is
    /// normalised by width. A constant: computed in f64, rounded once. [`log_mel`](crate::GraphBuilder::log_mel) takes
    /// its transpose.
    ///
    /// Mistakes, told by [`GraphBuilder::build`]: a sample rate of 0, edges that are not 0 ≤ lower ≤ upper ≤ half of
    /// it, a dtype that is no float, more than 2^24 elements.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// # use pumice_ir::ops::mel_weight_matrix::MelWeightMatrix;
    /// let g = GraphBuilder::new("g");
    /// let power = g.input("power", f32([98, 201]));
    /// g.output("mels", g.matmul(power, g.mel_weight_matrix(MelWeightMatrix::default())));
    /// assert_eq!(g.build()?.outputs().len(), 1);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn mel_weight_matrix(&self, op: MelWeightMatrix) -> Value {
        const METHOD: &str = "mel_weight_matrix";
        match op.expect_valid() {
            Ok(()) => self.folded(METHOD, op.dtype, &op.shape(), || op.weights()),
            Err(e) => self.wrong_call(METHOD, e),
        }
    }
}
