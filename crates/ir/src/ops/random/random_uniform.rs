//! Uniform random numbers, as a composition.

use super::random_numbers::{RandomKind, RandomNumbers};
use super::source::RandomSource;
use crate::attr::AttrError;
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::ops::Min;
use crate::ops::elementwise::FLOATS;
use half::{bf16, f16};
use pumice_types::{DType, DimExpr};

/// Attributes of [`GraphBuilder::random_uniform`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RandomUniform {
    /// The smallest number.
    pub low: f32,
    /// What every number is below.
    pub high: f32,
    /// F32, F16 or BF16.
    pub dtype: DType,
    /// The stream; none is one by the node's name.
    pub stream: Option<u32>,
}

impl Default for RandomUniform {
    /// f32 from 0 to 1.
    fn default() -> RandomUniform {
        RandomUniform { low: 0.0, high: 1.0, dtype: DType::F32, stream: None }
    }
}

impl RandomUniform {
    /// The largest number below `high` that the dtype has; numbers between it and `high` would be rounded to `high`.
    fn most(&self) -> Result<f32, OpError> {
        let RandomUniform { low, high, dtype, .. } = *self;
        expect_float(dtype)?;
        if !(high - low).is_finite() {
            let reason = format!("from {low} to {high} is no finite distance");
            return Err(AttrError::Value { name: "high", reason }.into());
        }
        let most = below(high, dtype);
        if most >= low {
            return Ok(most);
        }
        let reason = format!("no number of {dtype} lies from {low} to below {high}");
        Err(AttrError::Value { name: "high", reason }.into())
    }
}

/// Errors unless numbers can be drawn in that dtype.
pub(super) fn expect_float(dtype: DType) -> Result<(), OpError> {
    if FLOATS.contains(&dtype) {
        return Ok(());
    }
    let reason = format!("it is {dtype}; random numbers are f32, f16 or bf16");
    Err(AttrError::Value { name: "dtype", reason }.into())
}

/// The largest number below a finite one that a float dtype has.
fn below(high: f32, dtype: DType) -> f32 {
    let (nearest, step_down): (f32, fn(f32) -> f32) = match dtype {
        DType::F16 => {
            (f16::from_f32(high).to_f32(), |x| f16::from_bits(lower(f16::from_f32(x).to_bits())).to_f32())
        }
        DType::BF16 => {
            (bf16::from_f32(high).to_f32(), |x| bf16::from_bits(lower(bf16::from_f32(x).to_bits())).to_f32())
        }
        _ => (high, f32::next_down),
    };
    if nearest < high { nearest } else { step_down(nearest) }
}

/// The bits of the next smaller number of a 16-bit float.
fn lower(bits: u16) -> u16 {
    const SIGN: u16 = 0x8000;
    match bits {
        0 | SIGN => SIGN | 1,
        _ if bits & SIGN == 0 => bits - 1,
        _ => bits + 1,
    }
}

impl GraphBuilder {
    /// Uniform random numbers (ONNX RandomUniform): `low` + (`high` − `low`)·u in every element of a shape, u of
    /// [`RandomNumbers`] in \[0, 1), and never `high`. Without a source that of the graph
    /// ([`random_source`](crate::GraphBuilder::random_source)): another run has other numbers. 16-bit floats are
    /// computed in f32 and rounded once.
    ///
    /// ```
    /// # use pumice_ir::GraphBuilder;
    /// # use pumice_ir::ops::random_uniform::RandomUniform;
    /// let g = GraphBuilder::new("g");
    /// let op = RandomUniform { low: -1.0, ..RandomUniform::default() };
    /// g.output("y", g.random_uniform([4, 8], None, op));
    /// assert_eq!(g.build()?.outputs().len(), 1);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn random_uniform<D: Into<DimExpr>>(
        &self,
        shape: impl IntoIterator<Item = D>,
        source: Option<RandomSource>,
        op: RandomUniform,
    ) -> Value {
        let shape: Vec<DimExpr> = shape.into_iter().map(Into::into).collect();
        self.uniform("random_uniform", shape, source, op)
    }

    /// [`random_uniform`](crate::GraphBuilder::random_uniform) in the shape and dtype of another value (ONNX
    /// RandomUniformLike): like\[…\] → the same type. `dtype` of the attributes is not asked.
    #[track_caller]
    pub fn random_uniform_like(&self, like: Value, source: Option<RandomSource>, op: RandomUniform) -> Value {
        match self.operand_types("random_uniform_like", &[like]) {
            Ok(types) => {
                let op = RandomUniform { dtype: types[0].dtype(), ..op };
                self.uniform("random_uniform_like", types[0].shape.to_vec(), source, op)
            }
            Err(mistake) => mistake,
        }
    }

    #[track_caller]
    fn uniform(
        &self,
        method: &'static str,
        shape: Vec<DimExpr>,
        source: Option<RandomSource>,
        op: RandomUniform,
    ) -> Value {
        let most = match op.most() {
            Ok(most) => most,
            Err(e) => return self.wrong_call(method, e),
        };
        let draw = |stream| RandomNumbers { shape, stream, kind: RandomKind::Uniform };
        if op.dtype == DType::F32 && (op.low, op.high) == (0.0, 1.0) {
            return self.draw(method, source, op.stream, draw);
        }
        let g = self.composition(method);
        let u = g.draw("numbers", source, op.stream, draw);
        let y = g.affine(u, op.high - op.low, op.low);
        let most = g.constant_scalar(DType::F32, most.into());
        g.finish(Min {}, &[y, most], op.dtype, &[])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_below_are_the_next_ones() {
        let unit = |bits: i32| 2f32.powi(-bits);
        for (high, f32s, f16s, bf16s) in [
            (1.0, 1.0 - unit(24), 1.0 - unit(11), 1.0 - unit(8)),
            (0.0, -f32::from_bits(1), -unit(24), -unit(133)),
            (-2.0, -2.0 - unit(22), -2.0 - unit(9), -2.0 - unit(6)),
            (0.75, 0.75 - unit(24), 0.75 - unit(11), 0.75 - unit(8)),
            (0.1, 0.1 - unit(27), 1638.0 * unit(14), 204.0 * unit(11)),
        ] {
            assert_eq!(below(high, DType::F32), f32s);
            assert_eq!(below(high, DType::F16), f16s);
            assert_eq!(below(high, DType::BF16), bf16s);
        }
    }
}
