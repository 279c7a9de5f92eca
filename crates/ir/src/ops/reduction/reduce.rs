//! What reductions share: their type rule, their samples, and the macro that declares one.
//!
//! Axes: an empty list is all of them, or none of them with `noop_with_empty_axes`. 16-bit floats accumulate in f32,
//! integers in their own width (they wrap).

use crate::Op;
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types, normalize_axis, one};
use crate::ops::gradient::{narrowed, wide};
use crate::ops::{GradCx, Grads, NoGrad};
use crate::sample::{Fill, Sample};
use crate::shape::{sym, tensor};
use pumice_types::{DType, DimExpr};

/// A reduction whatever it combines with, as passes see it.
pub trait Reduction {
    /// The reduced axes as sorted indices into the axes of an operand of that rank.
    fn axes(&self, rank: usize) -> Result<Vec<usize>, OpError>;

    /// The same reduction over these axes, one at least.
    fn over(&self, axes: &[usize], keepdims: bool) -> Op;

    /// The op of two operands that joins what two parts of a row gave; of a mean, once each is weighted by its share.
    fn join(&self) -> Op;

    /// Whether the result is divided by the number of elements.
    fn is_mean(&self) -> bool;
}

/// The reduced axes as sorted indices.
pub fn reduced_axes(axes: &[i64], noop_with_empty_axes: bool, rank: usize) -> Result<Vec<usize>, OpError> {
    if axes.is_empty() {
        return Ok(if noop_with_empty_axes { Vec::new() } else { (0..rank).collect() });
    }
    let mut out = Vec::with_capacity(axes.len());
    for &a in axes {
        let i = normalize_axis(a, rank)?;
        if out.contains(&i) {
            return Err(OpError::DuplicateAxis(a));
        }
        out.push(i);
    }
    out.sort_unstable();
    Ok(out)
}

/// A shape without its reduced axes, or with 1 in their place.
pub fn reduced_shape(shape: &[DimExpr], axes: &[usize], keepdims: bool) -> Vec<DimExpr> {
    let one = DimExpr::constant(1);
    let kept = shape.iter().enumerate().filter(|(i, _)| keepdims || !axes.contains(i));
    kept.map(|(i, d)| if axes.contains(&i) { one.clone() } else { d.clone() }).collect()
}

/// Type rule of a reduction.
pub fn infer_reduction(
    cx: &Infer<'_>,
    dtypes: &[DType],
    axes: &[i64],
    noop: bool,
    keepdims: bool,
) -> Result<Types, OpError> {
    let dtype = cx.expect_dtype(0, dtypes)?;
    let x = cx.ty(0)?;
    let axes = reduced_axes(axes, noop, x.rank())?;
    one(dtype, reduced_shape(&x.shape, &axes, keepdims))
}

type Apply<'a> = &'a dyn Fn(&GraphBuilder, Value, &[i64], bool) -> Value;

fn case(d: DType, shape: &[u64], axes: &[i64], keep: bool, fill: &Fill, apply: Apply<'_>) -> Sample {
    Sample::graph(&format!("{d} {shape:?} over {axes:?} keep {keep}"), |g| {
        let x = g.input("x", tensor(d, shape.iter().copied()));
        g.output("y", apply(g, x, axes, keep));
    })
    .fill("x", fill.clone())
}

/// Samples of a reduction: every size as rows, columns and in the middle, any set of axes, few long rows and many short
/// ones, empty sets, NaN and infinity first and last, symbolic extents. `fill_of` fills operands by their dtype.
pub fn reduction_samples(
    dtypes: &[DType],
    fill_of: impl Fn(DType) -> Fill,
    apply: impl Fn(&GraphBuilder, Value, &[i64], bool) -> Value,
) -> Vec<Sample> {
    let f = dtypes[0];
    let fill = fill_of(f);
    let mut samples = Vec::new();
    for &n in crate::ops::elementwise::samples::E0_SIZES {
        samples.push(case(f, &[3, n], &[-1], false, &fill, &apply));
        samples.push(case(f, &[n, 5], &[0], true, &fill, &apply));
        samples.push(case(f, &[2, n, 3], &[1], false, &fill, &apply));
    }
    for (i, (shape, axes)) in AXIS_SETS.iter().enumerate() {
        samples.push(case(f, shape, axes, i % 2 == 0, &fill, &apply));
    }
    samples.extend(dtypes.iter().map(|&d| case(d, &[5, 37], &[-1], false, &fill_of(d), &apply)));
    samples.extend(dtypes.iter().map(|&d| case(d, &[37, 5], &[0], true, &fill_of(d), &apply)));
    samples.extend(special_rows(f, &apply));
    // Equal terms of one sign, whose roundings add up.
    let third = Fill::Constant(1.0 / 3.0);
    for (shape, axes) in [(&[2u64, 65_536][..], &[1i64][..]), (&[65_536, 2], &[0]), (&[300, 2, 200], &[0, 2])]
    {
        let sample = case(f, shape, axes, false, &third, &apply);
        samples.push(Sample { label: format!("equal terms: {}", sample.label), ..sample });
    }
    let transposed =
        |g: &GraphBuilder, x: Value, axes: &[i64], keep: bool| apply(g, g.transpose(x, &[1, 0]), axes, keep);
    let of_transposed = case(f, &[13, 17], &[1], false, &fill, &transposed);
    samples.push(Sample { label: "transposed".into(), ..of_transposed });
    samples.extend([0, 1, 40, 70].map(|n| {
        Sample::graph(&format!("symbolic, {n} of 70"), |g| {
            let x = g.input("x", tensor(f, [sym("n", 0..=70), 5.into()]));
            g.output("rows", apply(g, x, &[1], false));
            g.output("columns", apply(g, x, &[0], false));
        })
        .fill("x", fill.clone())
        .bind("n", n)
    }));
    samples
}

/// Shapes with the axes reduced: every axis and pair of axes, rank 8, none, long and short, empty.
const AXIS_SETS: &[(&[u64], &[i64])] = &[
    (&[], &[]),
    (&[7], &[]),
    (&[2, 3, 4, 5], &[]),
    (&[2, 3, 4, 5], &[0, 2]),
    (&[2, 3, 4, 5], &[1, 3]),
    (&[2, 3, 4, 5], &[-1, -2]),
    (&[2, 3, 4, 5], &[0, 1]),
    (&[2, 3, 4, 5], &[3, 0]),
    (&[2, 1, 3, 2, 2, 3, 1, 2], &[0, 3, 5]),
    (&[2, 3, 2, 3, 2, 3, 2, 3], &[0, 2, 4, 6]),
    (&[33, 31, 29], &[0, 2]),
    (&[128, 64], &[1]),
    (&[64, 128], &[0]),
    (&[4, 0], &[1]),
    (&[0, 4], &[0]),
    (&[0, 4], &[1]),
    (&[70_000, 3], &[1]),
    (&[3, 70_000], &[1]),
    (&[70_000, 3], &[0]),
    (&[1, 1_000_003], &[1]),
    (&[1_000_003], &[]),
    (&[2, 200_000, 2], &[1]),
];

/// NaN, infinities and zeros of both signs, first, last and in the middle; short rows and one that takes many threads.
fn special_rows(f: DType, apply: Apply<'_>) -> Vec<Sample> {
    let (nan, inf) = (f64::NAN, f64::INFINITY);
    let rows = [
        [nan, 1.0, 2.0],
        [1.0, 2.0, nan],
        [inf, 1.0, -2.0],
        [1.0, -inf, 2.0],
        [inf, -inf, 0.5],
        [-0.0, 0.0, -0.0],
    ];
    let long = |row: [f64; 3]| {
        let mut spread = vec![1.0; 259];
        (spread[0], spread[129], spread[258]) = (row[0], row[1], row[2]);
        spread
    };
    let each = rows.into_iter().flat_map(|row| {
        let short = case(f, &[2, 3], &[1], false, &Fill::Floats(row.to_vec()), apply);
        let long = case(f, &[1, 259], &[1], false, &Fill::Floats(long(row)), apply);
        [
            Sample { label: format!("short rows of {row:?}"), ..short },
            Sample { label: format!("a long row of {row:?}"), ..long },
        ]
    });
    each.collect()
}

/// A gradient of a reduction's result for every element that it was made of.
pub(crate) fn spread(cx: &GradCx<'_>, dy: Value, op: &dyn Reduction) -> Result<Value, NoGrad> {
    let shape = cx.shape(cx.x(0));
    let mut kept = shape.clone();
    for axis in op.axes(shape.len()).map_err(|_| NoGrad::Composed)? {
        kept[axis] = DimExpr::constant(1);
    }
    Ok(cx.g.expand_to(cx.g.reshape_to(dy, kept), shape))
}

/// dy/k for each of the k elements that are the result.
pub(crate) fn of_extremes(cx: &GradCx<'_>, op: &dyn Reduction) -> Result<Grads, NoGrad> {
    let (g, x) = (cx.g, cx.x(0));
    let dtype = cx.ty(x).dtype();
    let axes: Vec<i64> =
        op.axes(cx.shape(x).len()).map_err(|_| NoGrad::Composed)?.iter().map(|&a| a as i64).collect();
    let chosen = g.equal(x, spread(cx, cx.y(0), op)?);
    if axes.is_empty() {
        return Ok(vec![Some(cx.dy())]);
    }
    let count = g.reduce_sum(g.cast(chosen, DType::F32), &axes, true);
    // More elements than 16 bits count.
    let share = narrowed(cx, g.div(wide(g, spread(cx, cx.dy(), op)?), count), x);
    Ok(vec![Some(g.select(chosen, share, g.constant_scalar(dtype, 0.0)))])
}

/// Declares a reduction with its builder method. Its samples take one fill, or one for floats and one for integers with
/// further samples.
macro_rules! reduction {
    ($(#[$doc:meta])* $Name:ident $method:ident, join $Join:ident, mean $mean:literal, $dtypes:expr, $fill:expr) => {
        $crate::ops::reduce::reduction! {
            $(#[$doc])* $Name $method, join $Join, mean $mean, $dtypes, $fill, $fill,
            Vec::<$crate::sample::Sample>::new()
        }
    };
    ($(#[$doc:meta])* $Name:ident $method:ident, join $Join:ident, mean $mean:literal, $dtypes:expr, $floats:expr,
        $integers:expr, $more:expr) => {
        $crate::op! {
            $(#[$doc])*
            pub struct $Name {
                /// The axes; empty: all of them.
                axes: Vec<i64> = Vec::new(),
                /// Whether reduced axes stay, with extent 1.
                keepdims: bool = true,
                /// Whether empty `axes` mean none.
                noop_with_empty_axes: bool = false,
            }
        }

        impl $crate::ops::OpDef for $Name {
            const OPERANDS: &'static [&'static str] = &["x"];
            const GRAD: $crate::ops::Grad<Self> = $crate::ops::Grad::Rule(rule);
            fn infer(&self, cx: &$crate::infer::Infer<'_>) -> Result<$crate::infer::Types, $crate::error::OpError> {
                $crate::ops::reduce::infer_reduction(cx, $dtypes, &self.axes, self.noop_with_empty_axes, self.keepdims)
            }
            fn samples() -> Vec<$crate::sample::Sample> {
                let fill_of = |d: pumice_types::DType| if d.is_float() { $floats } else { $integers };
                let mut samples =
                    $crate::ops::reduce::reduction_samples($dtypes, fill_of, |g, x, axes, keep| g.$method(x, axes, keep));
                samples.push($crate::ops::elementwise::samples::unary_case(
                    "no axes, no reduction", pumice_types::DType::F32, &[3, 5], &$floats,
                    &|g, x| g.apply($Name { axes: Vec::new(), keepdims: true, noop_with_empty_axes: true }, &[x])));
                samples.extend($more);
                samples
            }
            fn as_reduction(&self) -> Option<&dyn $crate::ops::reduce::Reduction> {
                Some(self)
            }
        }

        impl $crate::ops::reduce::Reduction for $Name {
            fn axes(&self, rank: usize) -> Result<Vec<usize>, $crate::error::OpError> {
                $crate::ops::reduce::reduced_axes(&self.axes, self.noop_with_empty_axes, rank)
            }
            fn over(&self, axes: &[usize], keepdims: bool) -> $crate::Op {
                let axes = axes.iter().map(|&a| a as i64).collect();
                $Name { axes, keepdims, noop_with_empty_axes: false }.into()
            }
            fn join(&self) -> $crate::Op {
                $crate::ops::$Join {}.into()
            }
            fn is_mean(&self) -> bool {
                $mean
            }
        }

        impl $crate::builder::GraphBuilder {
            $(#[$doc])*
            ///
            /// x\[…\] → x without the axes, or with 1 in their place; empty `axes` are all of them.
            #[track_caller]
            pub fn $method(&self, x: $crate::builder::Value, axes: &[i64], keepdims: bool) -> $crate::builder::Value {
                self.apply($Name { axes: axes.to_vec(), keepdims, noop_with_empty_axes: false }, &[x])
            }
        }
    };
}
pub(crate) use reduction;
