//! `MatMul`: batched matrix product.

use super::OpDef;
use super::elementwise::FLOATS;
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types, one};
use crate::sample::{Fill, Sample};
use crate::shape::tensor;
use pumice_types::{DType, DimExpr};

crate::op! {
    /// NumPy matmul (ONNX MatMul): A\[…, M, K\] · B\[…, K, N\] → \[…, M, N\], batch extents broadcast, rank-1 operands
    /// promoted and the added extent removed. f32 products and sums; K = 0 gives zeros.
    pub struct MatMul {
        /// A's last two axes are swapped: \[…, K, M\].
        trans_a: bool = false,
        /// B's last two axes are swapped: \[…, N, K\].
        trans_b: bool = false,
    }
}

impl OpDef for MatMul {
    const OPERANDS: &'static [&'static str] = &["a", "b"];

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        let dtype = cx.expect_dtype(0, FLOATS)?;
        cx.same_dtype(0, 1)?;
        let rank_0 =
            |i| OpError::Rank { operand: cx.name(i), rank: 0, expected: "expected 1 or more".into() };
        let a = parts(&cx.ty(0)?.shape, !self.trans_a).ok_or_else(|| rank_0(0))?;
        let b = parts(&cx.ty(1)?.shape, self.trans_b).ok_or_else(|| rank_0(1))?;
        cx.equal(a.k, b.k, "K of `a` and `b`")?;
        let mut shape = cx.broadcast(a.batch, b.batch)?;
        shape.extend(a.free.into_iter().chain(b.free).cloned());
        one(dtype, shape)
    }

    fn samples() -> Vec<Sample> {
        let case = |dtype: DType, a: &[u64], b: &[u64], ta: bool, tb: bool| {
            Sample::graph(&format!("{dtype} {a:?}{} x {b:?}{}", t(ta), t(tb)), |g| {
                let x = g.input("a", tensor(dtype, a.iter().copied()));
                let y = g.input("b", tensor(dtype, b.iter().copied()));
                g.output("y", g.apply(MatMul { trans_a: ta, trans_b: tb }, &[x, y]));
            })
            .fill("a", Fill::Normal)
            .fill("b", Fill::Normal)
        };
        let f = DType::F32;
        let mut samples = Vec::new();
        for &m in &[1u64, 2, 15, 17, 33, 127, 129] {
            for &(n, k) in &[(1u64, 7u64), (15, 1), (17, 129), (129, 33), (127, 64)] {
                samples.push(case(f, &[m, k], &[k, n], false, false));
                samples.push(case(f, &[k, m], &[k, n], true, false));
                samples.push(case(f, &[m, k], &[n, k], false, true));
            }
        }
        samples.push(case(f, &[33, 17], &[65, 33], true, true));
        let shapes: &[(&[u64], &[u64])] = &[
            (&[5], &[5]),
            (&[5], &[5, 3]),
            (&[3, 5], &[5]),
            (&[2, 3, 5], &[5]),
            (&[3, 0], &[0, 4]),
            (&[0, 3], &[3, 4]),
            (&[4, 0, 3], &[3, 2]),
            (&[2, 3, 4], &[2, 4, 5]),
            (&[2, 3, 4], &[4, 5]),
            (&[3, 4], &[2, 4, 5]),
            (&[2, 1, 3, 4], &[1, 3, 4, 5]),
            (&[2, 3, 1, 7], &[2, 3, 7, 1]),
            (&[1, 4096], &[4096, 3]),
            (&[3, 4096], &[4096, 2]),
            (&[64, 64], &[64, 64]),
            (&[128, 128], &[128, 128]),
            (&[256, 64], &[64, 256]),
            (&[70_000, 1, 2], &[2, 1]),
        ];
        samples.extend(shapes.iter().map(|(a, b)| case(f, a, b, false, false)));
        samples.extend(FLOATS.iter().map(|&d| case(d, &[9, 31], &[31, 13], false, false)));
        samples
    }
}

fn t(transposed: bool) -> &'static str {
    if transposed { "ᵀ" } else { "" }
}

/// Matrix extents of one operand: batch, the extent that is in the result (none for rank 1), and K.
struct Parts<'a> {
    batch: &'a [DimExpr],
    free: Option<&'a DimExpr>,
    k: &'a DimExpr,
}

/// Takes a shape of rank 1 or more apart; `k_last` says whether K is the last of the two matrix axes.
fn parts(shape: &[DimExpr], k_last: bool) -> Option<Parts<'_>> {
    match shape {
        [] => None,
        [k] => Some(Parts { batch: &[], free: None, k }),
        [batch @ .., x, y] => {
            let (free, k) = if k_last { (x, y) } else { (y, x) };
            Some(Parts { batch, free: Some(free), k })
        }
    }
}

impl GraphBuilder {
    /// Matrix product: a\[…, M, K\], b\[…, K, N\] → \[…, M, N\]; batch extents broadcast.
    pub fn matmul(&self, a: Value, b: Value) -> Value {
        self.apply(MatMul { trans_a: false, trans_b: false }, &[a, b])
    }
}
