//! The norm over the channels of every pixel, as a composition.

use super::channels::expect_channels;
use crate::builder::{GraphBuilder, Value};
use crate::ops::Transpose;

impl GraphBuilder {
    /// y = (x − μ)/√(σ² + ε)·γ + β with μ and σ², which is biased, over the channels, axis 1, of every pixel
    /// (`LayerNorm2d` of ConvNeXt and SAM): x\[B, C, …\], γ and β of \[C\], of one float dtype → x's type. It is
    /// [`GraphBuilder::layer_norm`] with channels last.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// let g = GraphBuilder::new("g");
    /// let (x, gamma, beta) = (g.input("x", f32([1, 8, 4, 4])), g.param("gamma", f32([8])), g.param("beta", f32([8])));
    /// g.output("y", g.layer_norm2d(x, gamma, beta, 1e-6));
    /// # assert!(g.build().is_ok());
    /// ```
    #[track_caller]
    pub fn layer_norm2d(&self, x: Value, gamma: Value, beta: Value, epsilon: f32) -> Value {
        let names = &["x", "gamma", "beta"];
        let rule = |cx: &crate::infer::Infer<'_>| {
            crate::builder::in_range("epsilon", epsilon, crate::attr::FloatRange::NOT_NEGATIVE)?;
            expect_channels(cx, 1..3).map(|_| ())
        };
        let rank = match self.checked_operands("layer_norm2d", names, &[x, gamma, beta], rule) {
            Ok(types) => types[0].rank() as i64,
            Err(mistake) => return mistake,
        };
        let g = self.composition("layer_norm2d");
        let last: Vec<i64> = [0].into_iter().chain(2..rank).chain([1]).collect();
        let y = g.layer_norm(g.transpose(x, &last), gamma, Some(beta), epsilon);
        let second: Vec<i64> = [0, rank - 1].into_iter().chain(1..rank - 1).collect();
        g.last().apply(Transpose { perm: second }, &[y])
    }
}
