//! Windows of cosines, folded.

use crate::builder::{GraphBuilder, Value};
use pumice_types::DType;
use std::f64::consts::TAU;

/// a₀, a₁ and a₂ of a₀ − a₁·cos(2πi/N) + a₂·cos(4πi/N).
type Cosines = [f64; 3];

const HANN: Cosines = [0.5, 0.5, 0.0];
const HAMMING: Cosines = [25.0 / 46.0, 21.0 / 46.0, 0.0];
const BLACKMAN: Cosines = [0.42, 0.5, 0.08];

impl GraphBuilder {
    /// The window of Hann, ½ − ½·cos(2πi/N) (ONNX HannWindow): → \[size\] of a float dtype. N is the size where the
    /// window is `periodic`, as spectra want it, else size − 1, as filters do; a window of one element that is not
    /// periodic is 1. A constant: computed in f64, rounded once.
    ///
    /// Mistakes, told by [`GraphBuilder::build`]: another dtype, more than 2^24 elements.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// # use pumice_types::DType;
    /// let g = GraphBuilder::new("g");
    /// let frames = g.input("frames", f32([98, 400]));
    /// g.output("y", g.mul(frames, g.hann_window(400, true, DType::F32)));
    /// assert_eq!(g.build()?.outputs().len(), 1);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn hann_window(&self, size: u64, periodic: bool, dtype: DType) -> Value {
        self.cosine_window("hann_window", HANN, (size, periodic), dtype)
    }

    /// The window of Hamming, 25/46 − 21/46·cos(2πi/N) (ONNX HammingWindow); all else as
    /// [`hann_window`](crate::GraphBuilder::hann_window).
    #[track_caller]
    pub fn hamming_window(&self, size: u64, periodic: bool, dtype: DType) -> Value {
        self.cosine_window("hamming_window", HAMMING, (size, periodic), dtype)
    }

    /// The window of Blackman, 0.42 − 0.5·cos(2πi/N) + 0.08·cos(4πi/N) (ONNX BlackmanWindow); all else as
    /// [`hann_window`](crate::GraphBuilder::hann_window).
    #[track_caller]
    pub fn blackman_window(&self, size: u64, periodic: bool, dtype: DType) -> Value {
        self.cosine_window("blackman_window", BLACKMAN, (size, periodic), dtype)
    }

    #[track_caller]
    fn cosine_window(
        &self,
        method: &'static str,
        of: Cosines,
        (size, periodic): (u64, bool),
        dtype: DType,
    ) -> Value {
        self.folded(method, dtype, &[size], || (0..size).map(|i| element(of, i, size, periodic)).collect())
    }
}

/// Element i of a window.
fn element([a0, a1, a2]: Cosines, i: u64, size: u64, periodic: bool) -> f64 {
    let period = if periodic { size } else { size - 1 };
    if period == 0 {
        return 1.0;
    }
    let angle = |times: u64| TAU * (times * i % period) as f64 / period as f64;
    a0 - a1 * angle(1).cos() + a2 * angle(2).cos()
}
