//! `SearchSorted`: where values would stand among numbers in order.

use super::arg_top_k::expect_index_dtype;
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types, one};
use crate::ops::elementwise::NUMERIC;
use crate::ops::{Grad, OpDef};
use crate::sample::{Fill, Sample};
use crate::shape::{DimSpec, sym, tensor};
use pumice_types::DType;

crate::op! {
    /// Of each value the number of elements of `sorted` that are less than it, or with `right` not above it (NumPy
    /// `searchsorted`, PyTorch `searchsorted` and `bucketize`): sorted \[m\], values \[…\] of its dtype → \[…\].
    ///
    /// NaN is above infinity and equals NaN, −0 equals 0, as sorts have them: NaN gives the number of elements that are
    /// numbers, or m. Of none the result is 0. Where `sorted` is not in ascending order the result is some number from
    /// 0 to m.
    pub struct SearchSorted {
        /// Whether elements that equal the value count.
        right: bool = false,
        /// I64 or I32.
        index_dtype: DType = DType::I32,
    }
}

impl Default for SearchSorted {
    /// What is less than a value counts.
    fn default() -> SearchSorted {
        of(false)
    }
}

impl OpDef for SearchSorted {
    const OPERANDS: &'static [&'static str] = &["sorted", "values"];
    const GRAD: Grad<Self> = Grad::Zero;

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        cx.expect_dtype(0, NUMERIC)?;
        cx.same_dtype(0, 1)?;
        cx.expect_rank(0, 1)?;
        expect_index_dtype(self.index_dtype)?;
        let m = &cx.ty(0)?.shape;
        if self.index_dtype == DType::I32 && m[0].upper(cx.symbols()) > i32::MAX as u64 {
            let shape = cx.show(m);
            return Err(OpError::Invalid(format!("{shape} may have more elements than an i32 counts")));
        }
        one(self.index_dtype, cx.ty(1)?.shape.clone())
    }

    fn samples() -> Vec<Sample> {
        let (f, i) = (DType::F32, DType::I32);
        let sides = [false, true];
        let each = || NUMERIC.iter().flat_map(move |&d| sides.map(|right| (d, right)));
        let mut samples: Vec<Sample> =
            each().map(|(d, right)| case(d, 33, &[40], of(right), Fill::Special)).collect();
        samples.extend(each().map(|(d, right)| case(d, 1025, &[3, 67], of(right), Fill::Range(0, 9))));
        samples.extend(
            [0, 1, 2, 31, 32, 255, 256]
                .into_iter()
                .flat_map(|m| sides.map(|right| case(f, m, &[257], of(right), Fill::Special))),
        );
        samples.extend([
            case(f, 5, &[], of(false), Fill::Any),
            case(f, 5, &[0], of(false), Fill::Any),
            case(f, 0, &[2, 3], of(true), Fill::Any),
            case(DType::I64, 0, &[3], of(false), Fill::Any),
            case(DType::U64, 1, &[], of(true), Fill::Special),
            case(f, 7, &[2, 0, 3], of(true), Fill::Any),
            case(f, 7, &[2, 1, 2, 3, 1, 2, 2, 1], of(false), Fill::Any),
            case(f, 9, &[300], of(false), Fill::Constant(2.0)),
            case(f, 9, &[300], of(true), Fill::Constant(2.0)),
            case(f, 9, &[30], of(false), Fill::Constant(f64::NAN)),
            case(f, 9, &[30], of(true), Fill::Constant(f64::NAN)),
            case(DType::F16, 9, &[70_000], SearchSorted { right: false, index_dtype: DType::I64 }, Fill::Any),
        ]);
        samples.extend(
            [f, i, DType::U32, DType::I64, DType::U64]
                .into_iter()
                .flat_map(|d| sides.map(|right| stairs(d, 70_000, right))),
        );
        samples.extend([(0, 0), (0, 5), (1, 1), (33, 0), (1025, 7), (3000, 64)].map(symbolic));
        samples.extend(NUMERIC.iter().map(|&d| bounds(d)));
        samples.extend([f, DType::U64].map(views));
        samples.extend([f, DType::BF16, DType::I8, DType::I64].map(in_no_order));
        samples
    }
}

fn of(right: bool) -> SearchSorted {
    SearchSorted { right, index_dtype: DType::I32 }
}

/// Values among m elements that a sort has put in order.
fn case(d: DType, m: u64, values: &[u64], op: SearchSorted, fill: Fill) -> Sample {
    let label = format!("{d}, {values:?} among {m}, right {}, {fill:?}", op.right);
    let sample = Sample::graph(&label, |g| {
        let (sorted, _) = g.sort(g.input("x", tensor(d, [m])), 0, false);
        let values = g.input("values", tensor(d, values.iter().copied()));
        g.output("y", g.search_sorted(sorted, values, op.clone()));
    });
    sample.fill("x", fill.clone()).fill("values", fill)
}

/// Two of every number from 0 on.
fn stairs(d: DType, m: u64, right: bool) -> Sample {
    Sample::graph(&format!("{d}, among {m} pairs of numbers, right {right}"), |g| {
        let places = g.range(0u64, m, 1, DType::I32);
        let sorted = g.cast(g.div(places, g.constant_scalar(DType::I32, 2.0)), d);
        let values = g.input("values", tensor(d, [300]));
        g.output("y", g.search_sorted(sorted, values, of(right)));
    })
    .fill("values", Fill::Range(0, m as i64 * 2 / 3))
}

fn symbolic((m, n): (u64, u64)) -> Sample {
    let sample = Sample::graph(&format!("symbolic, {n} rows among {m}"), |g| {
        let dims: [DimSpec; 2] = [sym("n", 0..=64), 3.into()];
        let (sorted, _) = g.sort(g.input("x", tensor(DType::F32, [sym("m", 0..=3000)])), 0, false);
        let values = g.input("values", tensor(DType::F32, dims));
        g.output("left", g.search_sorted(sorted, values, of(false)));
        g.output("right", g.search_sorted(sorted, values, of(true)));
    });
    sample.bind("m", m).bind("n", n)
}

/// Values among the numbers of a param.
fn bounds(d: DType) -> Sample {
    let sample = Sample::graph(&format!("{d}, among a param"), |g| {
        let bounds = g.param("bounds", tensor(d, [6]));
        let values = g.input("values", tensor(d, [9]));
        g.output("left", g.search_sorted(bounds, values, of(false)));
        g.output("right", g.search_sorted(bounds, values, of(true)));
    });
    let [bounds, values] = if d.is_float() { floats() } else { integers() };
    sample.fill("bounds", bounds).fill("values", values)
}

/// Six numbers in order, and nine beside and among them.
fn integers() -> [Fill; 2] {
    [Fill::Ints(vec![0, 1, 1, 3, 7, 100]), Fill::Ints(vec![0, 1, 2, 3, 7, 99, 100, 101, 127])]
}

/// As [`integers`], with both zeros, infinities and NaN.
fn floats() -> [Fill; 2] {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let bounds = vec![-inf, -1.5, -0.0, 0.0, 2.0, nan];
    [Fill::Floats(bounds), Fill::Floats(vec![-inf, -2.0, -1.5, -0.0, 0.0, 0.5, 2.0, inf, nan])]
}

/// A part of what is in order, one column of a matrix, and values whose axes are exchanged.
fn views(d: DType) -> Sample {
    Sample::graph(&format!("{d}, of views"), |g| {
        let (sorted, _) = g.sort(g.input("x", tensor(d, [50])), 0, false);
        let values = g.transpose(g.input("values", tensor(d, [5, 7])), &[1, 0]);
        g.output("part", g.search_sorted(g.narrow(sorted, 0, 3u64, 40u64), values, of(false)));
        let (rows, _) = g.sort(g.input("rows", tensor(d, [7, 3])), 0, false);
        let column = g.squeeze(g.narrow(rows, 1, 1u64, 1u64), &[1]);
        g.output("column", g.search_sorted(column, values, of(true)));
    })
    .fill("x", Fill::Special)
    .fill("rows", Fill::Special)
    .fill("values", Fill::Special)
}

/// Any number of elements, and no more than there are.
fn in_no_order(d: DType) -> Sample {
    Sample::graph(&format!("{d}, in no order"), |g| {
        let sorted = g.input("sorted", tensor(d, [400]));
        let y = g.search_sorted(sorted, g.input("values", tensor(d, [200])), of(false));
        let [none, all] = [0.0, 400.0].map(|n| g.constant_scalar(DType::I32, n));
        let inside = g.and(g.greater_or_equal(y, none), g.less_or_equal(y, all));
        g.output("inside", g.reduce_all(inside, &[0], false));
    })
    .fill("sorted", Fill::Special)
    .fill("values", Fill::Special)
}

impl GraphBuilder {
    /// Where values would stand among numbers in ascending order: of each value how many of `sorted` are less than it,
    /// or with `right` not above it (NumPy and PyTorch `searchsorted`). sorted\[m\], values\[…\] of its dtype →
    /// i32\[…\], or i64. NaN is above infinity, −0 equals 0, as [`sort`](crate::GraphBuilder::sort) has them.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// # use pumice_ir::ops::search_sorted::SearchSorted;
    /// let g = GraphBuilder::new("g");
    /// let edges = g.param("edges", f32([64]));
    /// let x = g.input("x", f32([8, 100]));
    /// g.output("bins", g.search_sorted(edges, x, SearchSorted { right: true, ..SearchSorted::default() }));
    /// assert_eq!(g.build()?.outputs().len(), 1);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn search_sorted(&self, sorted: Value, values: Value, op: SearchSorted) -> Value {
        self.apply(op, &[sorted, values])
    }
}
