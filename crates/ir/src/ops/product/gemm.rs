//! `Gemm`: a product of matrices, scaled, and a third one, scaled, as a composition.

use crate::attr::FloatRange;
use crate::builder::{Composition, GraphBuilder, Value, in_range};
use crate::error::OpError;
use crate::infer::Infer;
use crate::ops::elementwise::FLOATS;
use crate::ops::{Add, MatMul, Mul, Op};
use pumice_types::DType;

/// Attributes of [`GraphBuilder::gemm`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gemm {
    /// What the product is multiplied with: finite.
    pub alpha: f32,
    /// What `c` is multiplied with: finite. Where it is 0, `c` is not read.
    pub beta: f32,
    /// `a` is \[K, M\].
    pub trans_a: bool,
    /// `b` is \[N, K\].
    pub trans_b: bool,
}

impl Default for Gemm {
    fn default() -> Gemm {
        Gemm { alpha: 1.0, beta: 1.0, trans_a: false, trans_b: false }
    }
}

impl GraphBuilder {
    /// y = α·a·b + β·c (ONNX Gemm): a\[M, K\] and b\[K, N\] of one float dtype, each of them transposed where its
    /// attribute says so → \[M, N\]; c of that dtype broadcasts to \[M, N\]: of rank 0, \[N\], \[M, 1\], \[1, N\],
    /// \[M, N\]. K = 0 gives β·c. Where β is 0, c is not read, so that its NaN does not come through. 16-bit floats
    /// are computed in f32 and rounded once. α and β that are not finite are mistakes.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// # use pumice_ir::ops::gemm::Gemm;
    /// let g = GraphBuilder::new("g");
    /// let (a, b, c) = (g.input("a", f32([3, 4])), g.param("b", f32([5, 4])), g.param("c", f32([5])));
    /// g.output("y", g.gemm(a, b, Some(c), Gemm { alpha: 0.5, trans_b: true, ..Gemm::default() }));
    /// assert_eq!(g.build()?.outputs().len(), 1);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn gemm(&self, a: Value, b: Value, c: Option<Value>, op: Gemm) -> Value {
        const METHOD: &str = "gemm";
        let rule = |cx: &Infer<'_>| operands(cx, op);
        let types = match self.checked_optional(METHOD, &["a", "b", "c?"], &[Some(a), Some(b), c], rule) {
            Ok(types) => types,
            Err(mistake) => return mistake,
        };
        let (dtype, g) = (types[0].dtype(), self.composition(METHOD));
        let [a, b] = [a, b].map(|v| g.widened(v, dtype));
        let c = c.filter(|_| op.beta != 0.0).map(|c| g.widened(c, dtype));
        let product = MatMul { trans_a: op.trans_a, trans_b: op.trans_b, ..MatMul::default() };
        let mut last: (Op, Vec<Value>) = (product.into(), vec![a, b]);
        if op.alpha != 1.0 {
            let y = g.apply(last.0, &last.1);
            last = (Mul {}.into(), vec![y, g.constant_scalar(DType::F32, f64::from(op.alpha))]);
        }
        if let Some(c) = c {
            let y = g.apply(last.0, &last.1);
            last = (Add {}.into(), vec![y, g.times(c, op.beta)]);
        }
        g.finish(last.0, &last.1, dtype, &[])
    }
}

impl Composition {
    /// The value times a number; itself for 1.
    #[track_caller]
    pub(super) fn times(&self, x: Value, by: f32) -> Value {
        if by == 1.0 { x } else { self.mul(x, self.constant_scalar(DType::F32, f64::from(by))) }
    }
}

fn operands(cx: &Infer<'_>, op: Gemm) -> Result<(), OpError> {
    in_range("alpha", op.alpha, FloatRange::FINITE)?;
    in_range("beta", op.beta, FloatRange::FINITE)?;
    cx.expect_dtype(0, FLOATS)?;
    cx.same_dtype(0, 1)?;
    cx.expect_rank(0, 2)?;
    cx.expect_rank(1, 2)?;
    let (a, b) = (&cx.ty(0)?.shape, &cx.ty(1)?.shape);
    let [m, k] = [0, 1].map(|axis| &a[axis ^ usize::from(op.trans_a)]);
    let [of_b, n] = [0, 1].map(|axis| &b[axis ^ usize::from(op.trans_b)]);
    cx.equal(k, of_b, "K of `a` and `b`")?;
    let Some(c) = cx.opt(2) else { return Ok(()) };
    cx.same_dtype(0, 2)?;
    cx.broadcast_to(&c.shape, &[m.clone(), n.clone()])
}
