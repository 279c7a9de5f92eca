//! `SampleSorted`: one draw of each row of weights in descending order. What `sample` ends in.

use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types};
use crate::ops::cum_sum::CumSum;
use crate::ops::steering_samples::steering_samples;
use crate::ops::{Grad, OpDef};
use crate::sample::{Fill, Sample};
use crate::shape::{ValueType, bool_, f32, i32, sym};
use pumice_types::{DType, DimExpr};

/// Operands before the options.
const ROWS: usize = 5;
/// The options.
const OPTIONS: [&str; 4] = ["temperature", "top_k", "top_p", "min_p"];

crate::op! {
    /// One element of each row of V, by weights \[B, V\] in descending order whose cumulative sums are `sums` and whose
    /// names are `ids`: (ids at i, ln(weight of i / s)). The first m weights are left: `top_k` of them, if that is
    /// positive; of those the ones before which the sum is below `top_p` of all (and the first); of those the ones that
    /// are at least `min_p` of the first; one where `temperature` is 0. s is their sum, and i how many of their sums
    /// are at most u·s in f32, m − 1 at most. Options are of rank 0 or \[B\]; a `top_p` of 1 or more leaves all.
    ///
    /// A row that is `invalid`, whose first weight is 0, or of which an option but `top_k` is negative or NaN reports
    /// BAD_DISTRIBUTION; a row of zeros gives its first id.
    pub struct SampleSorted {}
}

impl OpDef for SampleSorted {
    const OPERANDS: &'static [&'static str] =
        &["weights", "sums", "ids", "invalid", "u", "temperature?", "top_k?", "top_p?", "min_p?"];
    const GRAD: Grad<Self> = Grad::No("its probability is that of what was drawn");
    const STEERS: &'static [&'static str] = &["top_k"];

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        let dtypes = [DType::F32, DType::F32, DType::I32, DType::Bool, DType::F32];
        for (operand, dtype) in dtypes.into_iter().enumerate() {
            cx.expect_dtype(operand, &[dtype])?;
            cx.expect_rank(operand, if operand < 3 { 2 } else { 1 })?;
        }
        let weights = &cx.ty(0)?.shape;
        for operand in 1..ROWS {
            for (own, of_weights) in cx.ty(operand)?.shape.iter().zip(weights.iter()) {
                cx.equal(own, of_weights, "an operand's extent, and that of the weights")?;
            }
        }
        if weights[1].lower(cx.symbols()) == 0 {
            return Err(OpError::Invalid(format!("rows of {} may be empty", cx.show(weights))));
        }
        expect_options(cx, ROWS, &weights[0])?;
        let rows = vec![weights[0].clone()];
        Ok(smallvec::smallvec![ValueType::new(DType::I32, rows.clone()), ValueType::new(DType::F32, rows)])
    }

    fn samples() -> Vec<Sample> {
        let mut samples: Vec<Sample> =
            [1, 2, 31, 255, 256, 257, 1025].map(|n| case([3, n], &[0, 1, 2, 3])).into();
        samples.extend([&[][..], &[0], &[1], &[2], &[3]].map(|given| case([40, 100], given)));
        samples.extend([case([0, 5], &[0, 1]), case([1, 70_000], &[2, 3]), case([66_000, 2], &[2])]);
        samples.extend([0.0, 1.0, 2.0, f64::NAN, -1.0].map(by_scalars));
        samples.extend([invalid(Fill::Ints(vec![0, 1, 0])), invalid(Fill::Constant(0.0))]);
        samples.extend([(1, 1), (9, 300)].map(|(b, v)| {
            let sample = Sample::graph(&format!("symbolic, {b} rows of {v}"), |g| {
                let like = g.input("like", f32([sym("b", 0..=9), sym("v", 1..=300)]));
                draws(g, like, |_| None);
            });
            sample.bind("b", b).bind("v", v)
        }));
        samples.extend(steering_samples(
            "of five, top_k",
            5,
            |_| false,
            |g, top_k| {
                let like = g.param("like", f32([2, 5]));
                draws(g, like, |option| (option == 1).then_some(top_k));
            },
        ));
        samples.into_iter().map(|s| s.fill("u", Fill::Uniform(0.0, 1.0))).collect()
    }
}

/// Draws from rows like these, with weights of which each is a part of the one before.
fn draws(g: &GraphBuilder, like: Value, option: impl Fn(usize) -> Option<Value>) {
    let places = g.range(0u64, g.dim_of(like, 1), 1, DType::I32);
    let zeros = g.affine(like, 0.0, 0.0);
    let weights = g.add(zeros, g.exp(g.affine(g.cast(places, DType::F32), -0.05, 0.0)));
    let ids = g.sub(g.cast(zeros, DType::I32), places);
    let u = g.input("u", ValueType::new(DType::F32, [g.dim_of(like, 0)]));
    draw(g, [weights, ids, g.is_nan(u), u], option);
}

fn draw(g: &GraphBuilder, [weights, ids, invalid, u]: [Value; 4], option: impl Fn(usize) -> Option<Value>) {
    let sums = g.cum_sum(weights, CumSum::default());
    let (id, logprob) = g.sample_sorted([weights, sums, ids, invalid, u], [0, 1, 2, 3].map(option));
    g.output("id", id);
    g.output("logprob", logprob);
}

/// Every option that is given has an element for each row.
fn case([rows, n]: [u64; 2], given: &[usize]) -> Sample {
    Sample::graph(&format!("{rows} of {n}, options {given:?}"), |g| {
        let like = g.input("like", f32([rows, n]));
        draws(g, like, |option| {
            let own = || {
                if option == 1 {
                    g.input("top_k", i32([rows]))
                } else {
                    g.input(OPTIONS[option], f32([rows]))
                }
            };
            given.contains(&option).then(own)
        });
    })
    .fill("temperature", Fill::Floats(vec![1.0, 0.5, 0.0, 2.0]))
    .fill("top_k", Fill::Range(-1, 60))
    .fill("top_p", Fill::Floats(vec![0.9, 0.5, 1.0, 0.0, 1.5]))
    .fill("min_p", Fill::Floats(vec![0.3, 0.0, 0.01, 2.0]))
}

/// One value for all options and rows; negative ones and NaN mean nothing.
fn by_scalars(value: f64) -> Sample {
    let sample = Sample::graph(&format!("options are scalars, {value}"), |g| {
        let like = g.input("like", f32([7, 50]));
        draws(g, like, |option| (option != 1).then(|| g.input(OPTIONS[option], f32::<u64>([]))));
    });
    let sample = if value >= 0.0 { sample } else { sample.expect_status() };
    OPTIONS.iter().fold(sample, |sample, option| sample.fill(option, Fill::Constant(value)))
}

/// Rows of which some are said to be invalid, or that are zeros.
fn invalid(fill: Fill) -> Sample {
    Sample::graph(&format!("rows that are not drawn from, {fill:?}"), |g| {
        let row = g.input("row", bool_([3]));
        let ids = g.input("ids", i32([3, 4]));
        let weights = g.cast(g.mul(g.cast(ids, DType::F32), g.constant_scalar(DType::F32, 0.0)), DType::F32);
        let one = g.cast(g.unsqueeze(row, &[1]), DType::F32);
        let u = g.input("u", f32([3]));
        draw(g, [g.add(weights, one), ids, row, u], |_| None);
    })
    .fill("row", fill)
    .expect_status()
}

/// Checks operands from `first` on as temperature, top_k, top_p and min_p of so many rows.
pub(super) fn expect_options(cx: &Infer<'_>, first: usize, rows: &DimExpr) -> Result<(), OpError> {
    for (option, operand) in (first..first + OPTIONS.len()).enumerate() {
        let Some(ty) = cx.opt(operand) else { continue };
        cx.expect_dtype(operand, &[if option == 1 { DType::I32 } else { DType::F32 }])?;
        match &ty.shape[..] {
            [] => {}
            [own] => cx.equal(own, rows, "rows of an option, and of the logits")?,
            _ => cx.expect_rank(operand, 1)?,
        }
    }
    Ok(())
}

impl GraphBuilder {
    /// One draw of each row: weights, sums, ids \[B, V\], invalid, u \[B\], and the options temperature, top_k, top_p
    /// and min_p of rank 0 or \[B\] → (i32\[B\], f32\[B\]). For logits see [`sample`](crate::GraphBuilder::sample).
    #[track_caller]
    pub fn sample_sorted(&self, rows: [Value; 5], options: [Option<Value>; 4]) -> (Value, Value) {
        let operands: Vec<Option<Value>> = rows.into_iter().map(Some).chain(options).collect();
        let results = self.apply_all(SampleSorted {}, &operands);
        (results[0], *results.last().unwrap_or(&results[0]))
    }
}
