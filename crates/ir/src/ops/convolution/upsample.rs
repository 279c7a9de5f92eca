//! Special cases of a resize.

use super::lp_pool::expect_spatial;
use super::resize::{Resize, ResizeCoordinates, ResizeMode, ResizeRounding};
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::ops::Reshape;
use pumice_types::DimExpr;

impl GraphBuilder {
    /// Axes scaled by one number each (ONNX Upsample, which Resize replaced): a resize of asymmetric places that takes
    /// the element below, or weights two (`linear`).
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// let g = GraphBuilder::new("g");
    /// g.output("y", g.upsample(g.input("x", f32([1, 3, 4, 4])), &[1.0, 1.0, 2.0, 2.0], false));
    /// # assert!(g.build().is_ok());
    /// ```
    #[track_caller]
    pub fn upsample(&self, x: Value, scales: &[f32], linear: bool) -> Value {
        let mode = if linear { ResizeMode::Linear } else { ResizeMode::Nearest };
        let op = Resize {
            mode,
            coordinates: ResizeCoordinates::Asymmetric,
            nearest: ResizeRounding::Floor,
            scales: scales.to_vec(),
            ..Resize::default()
        };
        self.resized("upsample", x, &op)
    }

    /// Each spatial element twice along each of one to three spatial axes: x\[B, C, spatial…\] → \[B, C, 2·spatial…\].
    /// Elements keep their bits; any dtype.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// let g = GraphBuilder::new("g");
    /// g.output("y", g.upsample_nearest_2x(g.input("x", f32([1, 3, 4, 4]))));
    /// # assert!(g.build().is_ok());
    /// ```
    #[track_caller]
    pub fn upsample_nearest_2x(&self, x: Value) -> Value {
        let checked = self.checked_operands("upsample_nearest_2x", &["x"], &[x], |cx| {
            expect_spatial(cx)?;
            let rank = cx.ty(0)?.rank();
            let expected = "expected one to three spatial axes".to_owned();
            if rank > 5 { Err(OpError::Rank { operand: "x", rank, expected }) } else { Ok(()) }
        });
        let shape = match checked {
            Ok(types) => types[0].shape.to_vec(),
            Err(mistake) => return mistake,
        };
        let g = self.composition("upsample_nearest_2x");
        let with = |copies: i64| -> Vec<DimExpr> {
            let spatial = shape[2..].iter().flat_map(|n| [n.clone(), DimExpr::constant(copies)]);
            shape[..2].iter().cloned().chain(spatial).collect()
        };
        let twice = g.expand_to(g.reshape_to(x, with(1)), with(2));
        let doubled = shape[2..].iter().map(|n| n * 2);
        g.last().apply(Reshape { shape: shape[..2].iter().cloned().chain(doubled).collect() }, &[twice])
    }
}
