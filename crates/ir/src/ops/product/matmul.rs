//! `MatMul`: batched matrix product.

use crate::ValueId;
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types, one};
use crate::ops::OpDef;
use crate::ops::elementwise::FLOATS;
use crate::ops::{Grad, GradCx, Grads, NoGrad, NodeCx, Rounding, Untransposed};
use crate::sample::{Fill, LONG_AXIS, Sample};
use crate::shape::product;
use crate::shape::{sym, tensor};
use pumice_types::{DType, DimExpr};

crate::op! {
    /// NumPy matmul (ONNX MatMul): A\[…, M, K\] · B\[…, K, N\] → \[…, M, N\], batch extents broadcast, rank-1 operands
    /// promoted and the added extent removed. f32 products and sums; K = 0 gives zeros.
    pub struct MatMul {
        /// A's last two axes are swapped: \[…, K, M\].
        trans_a: bool = false,
        /// B's last two axes are swapped: \[…, N, K\].
        trans_b: bool = false,
        /// To what the factors are rounded first.
        rounding: Rounding = Rounding::None,
    }
}

impl Default for MatMul {
    fn default() -> MatMul {
        MatMul { trans_a: false, trans_b: false, rounding: Rounding::None }
    }
}

impl OpDef for MatMul {
    const OPERANDS: &'static [&'static str] = &["a", "b"];
    const GRAD: Grad<Self> = Grad::Rule(rule);
    crate::rounds_factors!(2);

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        let dtype = cx.expect_dtype(0, FLOATS)?;
        cx.same_dtype(0, 1)?;
        let rank_0 =
            |i| OpError::Rank { operand: cx.name(i), rank: 0, expected: "expected 1 or more".into() };
        let a = matrix_extents(&cx.ty(0)?.shape, !self.trans_a).ok_or_else(|| rank_0(0))?;
        let b = matrix_extents(&cx.ty(1)?.shape, self.trans_b).ok_or_else(|| rank_0(1))?;
        cx.equal(a.k, b.k, "K of `a` and `b`")?;
        let mut shape = cx.broadcast(a.batch, b.batch)?;
        shape.extend(a.free.into_iter().chain(b.free).cloned());
        one(dtype, shape)
    }

    fn samples() -> Vec<Sample> {
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
        samples.extend(SHAPES.iter().map(|(a, b)| case(f, a, b, false, false)));
        samples.extend(FLOATS.iter().map(|&d| case(d, &[9, 31], &[31, 13], false, false)));
        samples.push(case(f, &[3, 7, 5], &[3, 7, 9], true, false));
        samples.push(case(f, &[3, 5, 7], &[3, 9, 7], false, true));
        samples.push(case(f, &[2, 3, 35, 33], &[3, 17, 35], true, true));
        samples.extend(FLOATS.iter().map(|&d| extremes(d, &[9, 31], &[31, 13], false)));
        samples.push(extremes(f, &[33, 65], &[65, 17], false));
        samples.push(extremes(f, &[33, 65], &[17, 65], true));
        samples.push(extremes(f, &[1, 96], &[96, 3], false));
        samples.push(extremes(f, &[3, 9, 31], &[3, 31, 13], false));
        let long = [(&[1, 70_000][..], &[70_000, 3][..], false), (&[5, 70_003], &[2, 70_003], true)];
        samples.extend(long.map(|(a, b, trans_b)| {
            let sample = case(f, a, b, false, trans_b);
            let label = format!("{LONG_AXIS}: {}", sample.label);
            let positive = Fill::Uniform(0.0, 1.0);
            Sample { label, fills: Vec::new(), ..sample }.fill("a", positive.clone()).fill("b", positive)
        }));
        samples.extend([(1, 0), (1, 1), (3, 33), (4, 40)].map(|(batch, rows)| symbolic(batch, rows)));
        samples.push(heads());
        samples.extend(stretched());
        samples
            .extend([(1, 3), (2, 5), (7, 33), (33, 17)].iter().flat_map(|&(m, n)| equal_terms(m, n, 4096)));
        samples.extend(equal_terms(1, 2, 16_384));
        samples
    }

    fn reads_strides(&self) -> bool {
        true
    }

    /// Batch axes.
    fn stretches(&self, cx: &NodeCx<'_>, _operand: usize, from: ValueId) -> bool {
        cx.graph.ty(from).rank() >= 2
    }

    /// matmul(transpose(a), b) == matmul(a, b) with `trans_a` the other way round, for the last two axes; so for b.
    fn untransposed(&self, cx: &NodeCx<'_>) -> Option<Untransposed> {
        let taken = [0, 1].map(|i| cx.exchanged(i, -2, -1));
        let [was_a, was_b] = taken.map(|x| x.is_some());
        let op = MatMul { trans_a: self.trans_a != was_a, trans_b: self.trans_b != was_b, ..self.clone() };
        let operands = taken.into_iter().enumerate().filter_map(|(i, x)| Some((i, x?)));
        (was_a || was_b).then(|| Untransposed { op: op.into(), operands: operands.collect(), after: None })
    }
}

/// Vectors, matrices, batches that broadcast, no elements, long and many rows.
const SHAPES: &[(&[u64], &[u64])] = &[
    (&[5], &[5]),
    (&[5], &[5, 3]),
    (&[3, 5], &[5]),
    (&[2, 3, 5], &[5]),
    (&[3, 0], &[0, 4]),
    (&[0, 3], &[3, 4]),
    (&[4, 0, 3], &[3, 2]),
    (&[256, 130], &[130, 256]),
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
    (&[192, 40], &[40, 192]),
    (&[192, 16], &[16, 1024]),
    // Few rows of many terms.
    (&[31, 1023], &[1023, 513]),
    (&[32, 1024], &[1024, 512]),
    (&[70_000, 1, 2], &[2, 1]),
    // More than 65,535 products.
    (&[70_000, 1, 2], &[70_000, 2, 1]),
];

/// A product of normal numbers.
fn case(dtype: DType, a: &[u64], b: &[u64], trans_a: bool, trans_b: bool) -> Sample {
    Sample::graph(&format!("{dtype} {a:?}{} x {b:?}{}", t(trans_a), t(trans_b)), |g| {
        let x = g.input("a", tensor(dtype, a.iter().copied()));
        let y = g.input("b", tensor(dtype, b.iter().copied()));
        g.output("y", g.apply(MatMul { trans_a, trans_b, ..MatMul::default() }, &[x, y]));
    })
    .fill("a", Fill::Normal)
    .fill("b", Fill::Normal)
}

/// A product of mostly ordinary numbers with some that are not.
fn extremes(dtype: DType, a: &[u64], b: &[u64], trans_b: bool) -> Sample {
    let sample = case(dtype, a, b, false, trans_b);
    let label = format!("NaN, infinities and -0: {}", sample.label);
    Sample { label, fills: Vec::new(), ..sample }
        .fill("a", sparse(521, &A_EXTREMES))
        .fill("b", sparse(523, &B_EXTREMES))
}

/// Places of extreme values in an operand; most rows and columns have none, so that most sums stay finite.
const A_EXTREMES: [(usize, f64); 4] =
    [(17, f64::INFINITY), (100, f64::NAN), (190, -0.0), (270, f64::NEG_INFINITY)];
const B_EXTREMES: [(usize, f64); 4] =
    [(5, f64::NEG_INFINITY), (101, -0.0), (205, f64::INFINITY), (400, f64::NAN)];

/// Small numbers in a period of `n`, these values at these places.
fn sparse(n: usize, extremes: &[(usize, f64)]) -> Fill {
    let mut values: Vec<f64> = (0..n).map(|i| (i * 5 % 13) as f64 / 4.0 - 1.5).collect();
    extremes.iter().for_each(|&(at, v)| values[at] = v);
    Fill::Floats(values)
}

/// Symbolic batch and rows: of both operands, with one matrix for all, and with the rows as K.
fn symbolic(batch: u64, rows: u64) -> Sample {
    Sample::graph(&format!("symbolic, batch {batch} of 4, {rows} rows of 40"), |g| {
        let (b, n) = (sym("batch", 1..=4), sym("rows", 0..=40));
        let x = g.input("x", tensor(DType::F32, [b.clone(), n.clone(), 33.into()]));
        let y = g.input("y", tensor(DType::F32, [b, 33.into(), 17.into()]));
        let w = g.input("w", tensor(DType::F32, [33u64, 17]));
        g.output("batched", g.matmul(x, y));
        g.output("shared", g.matmul(x, w));
        g.output("rows are K", g.apply(MatMul { trans_a: true, ..MatMul::default() }, &[x, x]));
        let z = g.input("z", tensor(DType::F32, [n, 33.into()]));
        g.output("rows", g.matmul(z, w));
    })
    .bind("batch", batch)
    .bind("rows", rows)
}

/// Operands that are transposed views under batch axes, as heads of attention are.
fn heads() -> Sample {
    Sample::graph("transposed views under batch axes", |g| {
        let q = g.input("q", tensor(DType::F32, [2u64, 19, 3, 16]));
        let k = g.input("k", tensor(DType::F32, [2u64, 23, 3, 16]));
        let (q, k) = (g.transpose(q, &[0, 2, 1, 3]), g.transpose(k, &[0, 2, 3, 1]));
        let scores = g.matmul(q, k);
        g.output("scores", scores);
        g.output("other", g.matmul(g.transpose(scores, &[0, 1, 3, 2]), q));
    })
}

/// Equal terms of one sign, whose roundings add up; the right operand across k and along it.
fn equal_terms(m: u64, n: u64, k: u64) -> Vec<Sample> {
    let equal = |sample: Sample| {
        let label = format!("equal terms: {}", sample.label);
        let third = || Fill::Floats(vec![1.0 / 3.0]);
        Sample { label, fills: Vec::new(), ..sample }.fill("a", third()).fill("b", third())
    };
    let across = case(DType::F32, &[m, k], &[k, n], false, false);
    let along = case(DType::F32, &[m, k], &[n, k], false, true);
    vec![equal(across), equal(along)]
}

/// Three and four batch axes, each operand stretched along each of them, along every other, and as a vector or a matrix
/// of its own; with an operand of the epilogue that is stretched, too.
fn stretched() -> Vec<Sample> {
    let mut samples = vec![case(DType::F32, &[2, 1, 2, 1, 1], &[2, 2, 2, 1, 1], false, false)];
    for batch in [&[2u64, 3, 2][..], &[2, 3, 2, 2]] {
        let all = 1u32 << batch.len();
        // Bit d: axis d of the operand is 1.
        let ones = |set: u32| (0..batch.len()).map(move |d| if set >> d & 1 == 1 { 1 } else { batch[d] });
        // Each alone, and each along what the other is not; of all axes there is nothing left to be.
        let alone = (1..all).flat_map(|set| [(set, 0), (0, set)]);
        let both = (1..all - 1).map(|set| (set, all - 1 - set));
        for (a, b) in alone.chain(both) {
            let shape =
                |set: u32, rows: u64, columns: u64| ones(set).chain([rows, columns]).collect::<Vec<u64>>();
            samples.push(case(DType::F32, &shape(a, 3, 5), &shape(b, 5, 2), false, false));
            samples.push(case(DType::F32, &shape(a, 5, 3), &shape(b, 2, 5), true, true));
        }
    }
    samples.push(case(DType::F32, &[5], &[2, 1, 2, 5, 2], false, false));
    samples.push(case(DType::F32, &[3, 1, 3, 5], &[2, 1, 2, 5, 2], false, false));
    samples.extend([stretched_views(), stretched_epilogue(), stretched_symbols()]);
    samples
}

/// Batch axes in another order than in memory, beside an operand that is stretched along one; a vector beside them.
fn stretched_views() -> Sample {
    Sample::graph("batch axes out of order, beside stretched ones", |g| {
        let x = g.input("x", tensor(DType::F32, [4u64, 3, 2, 5, 7]));
        let y = g.input("y", tensor(DType::F32, [3u64, 1, 7, 3]));
        let v = g.input("v", tensor(DType::F32, [7u64]));
        let x = g.transpose(x, &[2, 1, 0, 3, 4]);
        g.output("stretched", g.matmul(x, y));
        g.output("vector", g.matmul(x, v));
    })
}

/// What follows the product reads its left operand again, and a value that is stretched along the middle batch axis; of
/// small integers, whose sums are exact.
fn stretched_epilogue() -> Sample {
    let integers = || Fill::Floats((0..23).map(|i| f64::from(i * 5 % 13 - 6)).collect());
    let sample = Sample::graph("an epilogue of stretched operands", |g| {
        let x = g.input("x", tensor(DType::F32, [2u64, 1, 2, 5, 5]));
        let y = g.input("y", tensor(DType::F32, [2u64, 3, 2, 5, 5]));
        let z = g.input("z", tensor(DType::F32, [2u64, 1, 2, 5, 5]));
        g.output("twice", g.add(g.matmul(x, y), x));
        g.output("other", g.relu(g.add(g.matmul(y, y), z)));
    });
    sample.fill("x", integers()).fill("y", integers()).fill("z", integers())
}

/// The batch axis that is stretched is a symbol.
fn stretched_symbols() -> Sample {
    Sample::graph("symbolic, a stretched axis among three", |g| {
        let (outer, inner) = (sym("outer", 2..=4), sym("inner", 2..=3));
        let x = g.input("x", tensor(DType::F32, [outer.clone(), 1.into(), 2.into(), 3.into(), 5.into()]));
        let y = g.input("y", tensor(DType::F32, [outer, inner, 2.into(), 5.into(), 2.into()]));
        g.output("y", g.matmul(x, y));
    })
    .bind("outer", 3)
    .bind("inner", 2)
}

fn t(transposed: bool) -> &'static str {
    if transposed { "ᵀ" } else { "" }
}

/// Matrix extents of one operand: batch, the extent that is in the result (none for rank 1), and K.
struct MatrixExtents<'a> {
    batch: &'a [DimExpr],
    free: Option<&'a DimExpr>,
    k: &'a DimExpr,
}

/// Takes a shape of rank 1 or more apart; `k_last` says whether K is the last of the two matrix axes.
fn matrix_extents(shape: &[DimExpr], k_last: bool) -> Option<MatrixExtents<'_>> {
    match shape {
        [] => None,
        [k] => Some(MatrixExtents { batch: &[], free: None, k }),
        [batch @ .., x, y] => {
            let (free, k) = if k_last { (x, y) } else { (y, x) };
            Some(MatrixExtents { batch, free: Some(free), k })
        }
    }
}

/// dA = dY·Bᵀ and dB = Aᵀ·dY, summed over batches that were stretched; factors rounded as the product's were.
fn rule(op: &MatMul, cx: &GradCx<'_>) -> Result<Grads, NoGrad> {
    let g = cx.g;
    let factors = [(0, op.trans_a), (1, op.trans_b)];
    let [(a, trans_a), (b, trans_b)] = factors.map(|(i, trans)| as_matrix(cx, i, trans));
    let dy = as_matrices(cx);
    let multiply =
        |x, y, trans_a, trans_b| g.apply(MatMul { trans_a, trans_b, rounding: op.rounding }, &[x, y]);
    let back = |whole, matrix, to| g.reshape_to(cx.unstretched(whole, matrix), cx.shape(to));
    let by_a = || {
        let whole = if trans_a { multiply(b, dy, trans_b, true) } else { multiply(dy, b, false, !trans_b) };
        back(whole, a, cx.x(0))
    };
    let by_b = || {
        let whole = match rows_of_all(cx, (a, trans_a), b, dy) {
            Some([a, dy]) if trans_b => multiply(dy, a, true, false),
            Some([a, dy]) => multiply(a, dy, true, false),
            None if trans_b => multiply(dy, a, true, trans_a),
            None => multiply(a, dy, !trans_a, false),
        };
        back(whole, b, cx.x(1))
    };
    Ok(vec![cx.wanted(0, by_a), cx.wanted(1, by_b)])
}

/// a and dy with the rows of all batches in one matrix each, where all are multiplied by the same one: their sum over
/// batches is one product then.
fn rows_of_all(cx: &GradCx<'_>, (a, trans_a): (Value, bool), b: Value, dy: Value) -> Option<[Value; 2]> {
    let is_same = !trans_a && cx.shape(a).len() > 2 && cx.shape(b).len() == 2;
    let rows = |x: Value| {
        let shape = cx.shape(x);
        let (last, rows) = shape.split_last()?;
        Some(cx.g.reshape_to(x, vec![product(rows), last.clone()]))
    };
    if is_same { Some([rows(a)?, rows(dy)?]) } else { None }
}

/// A factor as a matrix, and whether its axes are swapped: a vector is a row on the left and a column on the right.
fn as_matrix(cx: &GradCx<'_>, i: usize, trans: bool) -> (Value, bool) {
    let x = cx.x(i);
    if cx.shape(x).len() == 1 { (cx.g.unsqueeze(x, &[i as i64]), false) } else { (x, trans) }
}

/// dy with the axes that the product of a vector loses.
fn as_matrices(cx: &GradCx<'_>) -> Value {
    let mut dy = cx.dy();
    for (i, axis) in [(1, -1), (0, -2)] {
        if cx.shape(cx.x(i)).len() == 1 {
            dy = cx.g.unsqueeze(dy, &[axis]);
        }
    }
    dy
}

impl GraphBuilder {
    /// Matrix product: a\[…, M, K\], b\[…, K, N\] → \[…, M, N\]; batch extents broadcast.
    #[track_caller]
    pub fn matmul(&self, a: Value, b: Value) -> Value {
        self.apply(MatMul::default(), &[a, b])
    }
}
