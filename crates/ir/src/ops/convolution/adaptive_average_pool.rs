//! Means of windows that share an image out, as a composition.

use super::average_pool::AveragePool;
use super::lp_pool::expect_spatial;
use super::max_pool_indices::expect_elements;
use crate::attr::{AttrError, CountRange};
use crate::builder::{Composition, GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::Infer;
use crate::ops::Cast;
use crate::ops::elementwise::FLOATS;
use pumice_types::{DType, DimExpr};

impl GraphBuilder {
    /// Means over windows that share out each spatial axis (PyTorch `adaptive_avg_pool`): of an axis of n elements
    /// position i of o is the mean of the elements ⌊i·n/o⌋ to ⌈(i + 1)·n/o⌉ − 1. x\[B, C, spatial…\], `output` of one
    /// number for each spatial axis → \[B, C, output…\]. Floats; 16-bit ones are added in f32 and rounded once. Spatial
    /// extents are at least 1. Where o divides n it is [`GraphBuilder::average_pool`]; else axes are reduced one after
    /// the other.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// let g = GraphBuilder::new("g");
    /// g.output("y", g.adaptive_average_pool(g.input("x", f32([1, 3, 10, 7])), &[4, 7]));
    /// # assert!(g.build().is_ok());
    /// ```
    #[track_caller]
    pub fn adaptive_average_pool(&self, x: Value, output: &[u64]) -> Value {
        let rule = |cx: &Infer<'_>| adaptive(cx, output);
        let ty = match self.checked_operands("adaptive_average_pool", &["x"], &[x], rule) {
            Ok(types) => types[0].clone(),
            Err(mistake) => return mistake,
        };
        let (g, shape) = (self.composition("adaptive_average_pool"), ty.shape.to_vec());
        if let Some(op) = divided(&shape[2..], output) {
            return g.last().apply(op, &[x]);
        }
        let mut y = g.widened(x, ty.dtype());
        for (i, &o) in output.iter().enumerate() {
            if !shape[i + 2].is(o as i64) {
                y = g.shared_out(y, (i + 2, shape.len()), &shape[i + 2], o);
            }
        }
        g.last().apply(Cast { to: ty.dtype() }, &[y])
    }
}

/// The rule of the operand and the attribute.
fn adaptive(cx: &Infer<'_>, output: &[u64]) -> Result<(), OpError> {
    cx.expect_dtype(0, FLOATS)?;
    expect_spatial(cx)?;
    let spatial = &cx.ty(0)?.shape[2..];
    expect_output(output, spatial.len())?;
    expect_elements(cx, spatial)
}

fn expect_output(output: &[u64], spatial: usize) -> Result<(), OpError> {
    let reason = if output.len() == spatial {
        output.iter().find_map(|&o| CountRange::POSITIVE.refusal(o))
    } else {
        Some(format!("it has {} numbers, and must have {spatial}", output.len()))
    };
    match reason {
        None => Ok(()),
        Some(reason) => Err(AttrError::Value { name: "output", reason }.into()),
    }
}

/// The pool of equal windows, if that is what it is.
fn divided(extents: &[DimExpr], output: &[u64]) -> Option<AveragePool> {
    let size = |(n, &o): (&DimExpr, &u64)| n.as_extent().filter(|n| n % o == 0).map(|n| n / o);
    let kernel: Vec<u64> = extents.iter().zip(output).map(size).collect::<Option<_>>()?;
    (kernel.len() <= 3).then(|| AveragePool { strides: kernel.clone(), kernel, ..AveragePool::default() })
}

impl Composition {
    /// The means of o windows of an axis.
    #[track_caller]
    fn shared_out(&self, x: Value, (axis, rank): (usize, usize), n: &DimExpr, o: u64) -> Value {
        let (positions, others) = (DimExpr::from(o), rank - 1 - axis);
        let shares = self.shares(n, o);
        // Windows that do not divide the axis have an element more, and one more at each end at most.
        let most = n.ceil_div(&positions) + DimExpr::constant(1);
        let column = |v, others| self.over(v, std::slice::from_ref(&positions), others);
        let place = self.add(column(shares.start, 1), self.counted(&most));
        let inside = self.less(place, column(shares.end, 1));
        let last = self.scaled(self.length(n), 1, -1);
        let under = self.gather(x, self.at_most(place, last), axis as i64);
        let inside = self.over(inside, &[positions.clone(), most], others);
        let kept = self.select(inside, under, self.constant_scalar(DType::F32, 0.0));
        let sums = self.reduce_sum(kept, &[axis as i64 + 1], false);
        self.div(sums, column(self.cast(self.sub(shares.end, shares.start), DType::F32), others))
    }

    /// ⌊i·n/o⌋ and ⌈(i + 1)·n/o⌉ for each i.
    #[track_caller]
    fn shares(&self, n: &DimExpr, o: u64) -> Shares {
        let (length, count) = (self.length(n), self.whole(o as i64));
        let i = self.counted(&DimExpr::from(o));
        let after = self.mul(self.scaled(i, 1, 1), length);
        Shares {
            start: self.div(self.mul(i, length), count),
            end: self.div(self.scaled(after, 1, o as i64 - 1), count),
        }
    }
}

/// Where the windows that share an axis out begin and end, tables over them.
struct Shares {
    start: Value,
    end: Value,
}
