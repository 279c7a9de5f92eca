//! Normally distributed random numbers, as a composition.

use super::random_numbers::{RandomKind, RandomNumbers};
use super::random_uniform::expect_float;
use super::source::RandomSource;
use crate::attr::FloatRange;
use crate::builder::{GraphBuilder, Value, in_range};
use crate::error::OpError;
use crate::ops::Affine;
use pumice_types::{DType, DimExpr};

/// Attributes of [`GraphBuilder::random_normal`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RandomNormal {
    /// The mean.
    pub mean: f32,
    /// The standard deviation, not negative.
    pub scale: f32,
    /// F32, F16 or BF16.
    pub dtype: DType,
    /// The stream; none is one by the node's name.
    pub stream: Option<u32>,
}

impl Default for RandomNormal {
    /// f32 of mean 0 and deviation 1.
    fn default() -> RandomNormal {
        RandomNormal { mean: 0.0, scale: 1.0, dtype: DType::F32, stream: None }
    }
}

impl RandomNormal {
    fn check(&self) -> Result<(), OpError> {
        expect_float(self.dtype)?;
        in_range("mean", self.mean, FloatRange::FINITE)?;
        in_range("scale", self.scale, FloatRange::NOT_NEGATIVE)
    }
}

impl GraphBuilder {
    /// Normally distributed random numbers (ONNX RandomNormal): `mean` + `scale`·z in every element of a shape, z of
    /// [`RandomNumbers`]. Without a source that of the graph
    /// ([`random_source`](crate::GraphBuilder::random_source)): another run has other numbers. 16-bit floats are
    /// computed in f32 and rounded once. |z| is at most 5.77.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// # use pumice_ir::ops::random_normal::RandomNormal;
    /// let g = GraphBuilder::new("g");
    /// let x = g.input("x", f32([4, 8]));
    /// let noise = g.random_normal_like(x, None, RandomNormal { scale: 0.1, ..RandomNormal::default() });
    /// g.output("y", g.add(x, noise));
    /// assert_eq!(g.build()?.outputs().len(), 1);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn random_normal<D: Into<DimExpr>>(
        &self,
        shape: impl IntoIterator<Item = D>,
        source: Option<RandomSource>,
        op: RandomNormal,
    ) -> Value {
        let shape: Vec<DimExpr> = shape.into_iter().map(Into::into).collect();
        self.normal("random_normal", shape, source, op)
    }

    /// [`random_normal`](crate::GraphBuilder::random_normal) in the shape and dtype of another value (ONNX
    /// RandomNormalLike): like\[…\] → the same type. `dtype` of the attributes is not asked.
    #[track_caller]
    pub fn random_normal_like(&self, like: Value, source: Option<RandomSource>, op: RandomNormal) -> Value {
        match self.operand_types("random_normal_like", &[like]) {
            Ok(types) => {
                let op = RandomNormal { dtype: types[0].dtype(), ..op };
                self.normal("random_normal_like", types[0].shape.to_vec(), source, op)
            }
            Err(mistake) => mistake,
        }
    }

    #[track_caller]
    fn normal(
        &self,
        method: &'static str,
        shape: Vec<DimExpr>,
        source: Option<RandomSource>,
        op: RandomNormal,
    ) -> Value {
        if let Err(e) = op.check() {
            return self.wrong_call(method, e);
        }
        let draw = |stream| RandomNumbers { shape, stream, kind: RandomKind::Normal };
        if op.dtype == DType::F32 && (op.mean, op.scale) == (0.0, 1.0) {
            return self.draw(method, source, op.stream, draw);
        }
        let g = self.composition(method);
        let z = g.draw("numbers", source, op.stream, draw);
        g.finish(Affine { mul: op.scale, add: op.mean }, &[z], op.dtype, &[])
    }
}
