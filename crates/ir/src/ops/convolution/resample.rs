//! `Resample`: elements of one axis or two picked by tables, or weighted sums of some. What a resize is made of.

use crate::attr::AttrError;
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types, one};
use crate::ops::steering_samples::{steering_list, steering_samples};
use crate::ops::{Grad, OpDef};
use crate::sample::{Fill, Sample};
use crate::shape::{DimSpec, dim, sym, tensor};
use pumice_types::{DType, DimExpr};

/// The most taps of an axis.
pub const MOST_TAPS: i64 = 4;

crate::op! {
    /// x with other elements along `axes`, one or two in ascending order: y\[…, i, …, j, …\] =
    /// x\[…, first\[i\], …, last\[j\], …\]; with `taps` Σₛ Σₜ first_weights\[i, s\]·last_weights\[j, t\]·
    /// x\[…, first\[i, s\], …, last\[j, t\], …\]. An index outside is that of the border; an axis without elements
    /// gives 0. Without taps any dtype, whose bits stay.
    pub struct Resample {
        /// The axes.
        axes: Vec<i64>,
        /// Elements that are weighted along each axis; 0: one is taken as it is.
        taps: i64 = 0,
    }
}

impl Resample {
    /// The axes of a tensor of that rank.
    ///
    /// # Errors
    /// None, more than two, or axes that do not ascend.
    pub fn axes(&self, rank: usize) -> Result<Vec<usize>, OpError> {
        let axes = self.axes.iter().map(|&axis| crate::infer::normalize_axis(axis, rank));
        let axes = axes.collect::<Result<Vec<usize>, OpError>>()?;
        match axes[..] {
            [_] => Ok(axes),
            [first, last] if first < last => Ok(axes),
            _ => {
                let reason = "one axis or two are resampled, in ascending order".into();
                Err(AttrError::Value { name: "axes", reason }.into())
            }
        }
    }

    /// The extent that the table at `operand`, whose weights are at `weights`, gives an axis.
    fn extent(&self, cx: &Infer<'_>, operand: usize, weights: usize) -> Result<DimExpr, OpError> {
        cx.expect_dtype(operand, &[DType::I32])?;
        cx.expect_rank(operand, if self.taps > 0 { 2 } else { 1 })?;
        let table = cx.ty(operand)?;
        if self.taps > 0 {
            cx.expect_dtype(weights, &[DType::F32])?;
            cx.expect_rank(weights, 2)?;
            cx.equal(&table.shape[1], &DimExpr::constant(self.taps), "taps of a table")?;
            for (of_index, of_weight) in table.shape.iter().zip(cx.ty(weights)?.shape.iter()) {
                cx.equal(of_index, of_weight, "indices and weights")?;
            }
        }
        Ok(table.shape[0].clone())
    }
}

impl OpDef for Resample {
    const OPERANDS: &'static [&'static str] = &["x", "last", "first?", "last_weights?", "first_weights?"];
    const GRAD: Grad<Self> = Grad::Rule(super::resample_grad::rule);
    const STEERS: &'static [&'static str] = &["last", "first"];

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        let x = cx.ty(0)?;
        let axes = self.axes(x.rank())?;
        if !(0..=MOST_TAPS).contains(&self.taps) {
            let reason = format!("{}, at most {MOST_TAPS} are weighted", self.taps);
            return Err(AttrError::Value { name: "taps", reason }.into());
        }
        if self.taps > 0 {
            cx.expect_dtype(0, &[DType::F32])?;
        }
        let expected = [true, axes.len() == 2, self.taps > 0, axes.len() == 2 && self.taps > 0];
        for (i, expected) in (1..).zip(expected) {
            if cx.opt(i).is_some() != expected {
                let reason = format!("`{}` is given for each axis, weights of taps alone", cx.name(i));
                return Err(AttrError::Value { name: "axes", reason }.into());
            }
        }
        let mut shape = x.shape.to_vec();
        let tables = [(2, 4), (1, 3)];
        for (&axis, &(operand, weights)) in axes.iter().zip(&tables[2 - axes.len()..]) {
            shape[axis] = self.extent(cx, operand, weights)?;
        }
        one(x.dtype(), shape)
    }

    fn samples() -> Vec<Sample> {
        let f = DType::F32;
        let mut samples: Vec<Sample> = DType::ALL.map(|d| case(d, &[3, 5, 7], &[0, 2], [4, 9], 0)).into();
        for taps in 0..=MOST_TAPS {
            samples.extend([
                case(f, &[7], &[0], [0, 5], taps),
                case(f, &[3, 7], &[1], [0, 70], taps),
                case(f, &[5, 3], &[-2], [0, 3], taps),
                case(f, &[2, 3, 17, 9], &[2, 3], [8, 33], taps),
                case(f, &[4, 6, 3], &[0, 1], [5, 1], taps),
                case(f, &[2, 1, 3, 4, 2], &[1, 3], [6, 2], taps),
                case(f, &[1, 2, 1, 3, 2, 5, 2, 2], &[3, 5], [2, 7], taps),
                case(f, &[3, 4], &[0, 1], [0, 5], taps),
                case(f, &[300, 65], &[0, 1], [129, 130], taps),
            ]);
            samples.extend([(2, 9), (5, 1)].map(|(n, m)| symbolic(n, m, taps)));
        }
        samples.extend(steered());
        samples
    }

    fn moves_bits(&self) -> bool {
        self.taps == 0
    }
}

fn case(d: DType, shape: &[u64], axes: &[i64], to: [u64; 2], taps: i64) -> Sample {
    let label = format!("{d} {shape:?} along {axes:?} to {to:?}, {taps} taps");
    let sample = Sample::graph(&label, |g| {
        let x = g.input("x", tensor(d, shape.iter().copied()));
        let table = |name: &str, dtype: DType, n: u64| match taps {
            0 => g.input(name, tensor(dtype, [n])),
            taps => g.input(name, tensor(dtype, [n, taps as u64])),
        };
        let weights = |name: &str, n: u64| (taps > 0).then(|| table(name, f(), n));
        let two = axes.len() == 2;
        let last = (table("last", DType::I32, to[1]), weights("last_weights", to[1]));
        let first = two.then(|| (table("first", DType::I32, to[0]), weights("first_weights", to[0])));
        g.output("y", g.resample(x, axes, taps, last, first));
    });
    let x = if taps == 0 { Fill::Any } else { Fill::Normal };
    sample.fill("x", x).fill("last", Fill::Range(0, 9)).fill("first", Fill::Range(-1, 5))
}

fn f() -> DType {
    DType::F32
}

fn symbolic(n: u64, m: u64, taps: i64) -> Sample {
    Sample::graph(&format!("symbolic, {n} of 5 to {m} of 9, {taps} taps"), |g| {
        let x = g.input("x", tensor(f(), [sym("n", 2..=5), 3.into(), 4.into()]));
        let table = |name: &str, dtype: DType, n: DimSpec| match taps {
            0 => g.input(name, tensor(dtype, [n])),
            taps => g.input(name, tensor(dtype, [n, dim(taps as u64)])),
        };
        let weights = |name: &str, n: DimSpec| (taps > 0).then(|| table(name, f(), n));
        let first = table("first", DType::I32, sym("m", 1..=9));
        let m = g.dim_of(first, 0).into();
        let last = (table("last", DType::I32, dim(5)), weights("last_weights", dim(5)));
        g.output("y", g.resample(x, &[0, 2], taps, last, Some((first, weights("first_weights", m)))));
    })
    .fill("last", Fill::Range(0, 4))
    .fill("first", Fill::Range(0, 5))
    .bind("n", n)
    .bind("m", m)
}

/// Indices at their extremes.
fn steered() -> Vec<Sample> {
    let mut samples = Vec::new();
    for taps in [0, 1] {
        for of_first in [false, true] {
            let graph = move |g: &GraphBuilder, steer: Value, count: u64| {
                let x = g.param("x", tensor(f(), [5, 5]));
                let shape: &[i64] = if taps == 0 { &[count as i64] } else { &[count as i64, 1] };
                let steered = g.reshape(steer, shape);
                let zero = g.sub(steered, steered);
                let weights = |name: &str| (taps > 0).then(|| g.input(name, tensor(f(), [count, 1])));
                let [last, first] = if of_first { [zero, steered] } else { [steered, zero] };
                let (last, first) = ((last, weights("last_weights")), (first, weights("first_weights")));
                g.output("y", g.resample(x, &[0, 1], taps, last, Some(first)));
            };
            let what = format!("{} axis, {taps} taps", if of_first { "the first" } else { "the last" });
            samples.extend(steering_samples(&what, 5, |_| false, |g, steer| graph(g, steer, 1)));
            samples.push(steering_list(&what, DType::I32, 5, &[7], |g, steer| graph(g, steer, 7)));
        }
    }
    samples
}

impl GraphBuilder {
    /// Elements along one axis or two by tables of indices, i32\[m\] for each, or `taps` of them weighted: i32 and f32
    /// \[m, taps\]. For images see [`resize`](crate::GraphBuilder::resize).
    #[track_caller]
    pub fn resample(
        &self,
        x: Value,
        axes: &[i64],
        taps: i64,
        last: (Value, Option<Value>),
        first: Option<(Value, Option<Value>)>,
    ) -> Value {
        let op = Resample { axes: axes.to_vec(), taps };
        let first_weights = first.and_then(|first| first.1);
        self.apply_all(op, &[Some(x), Some(last.0), first.map(|first| first.0), last.1, first_weights])[0]
    }
}
