//! `FftPass`: one of the steps that transforms are made of.

use crate::attr::AttrError;
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types, one};
use crate::ops::{Grad, OpDef};
use crate::sample::{Fill, Sample};
use crate::shape::{sym, tensor};
use pumice_types::{DType, DimExpr};

/// The most values of a line.
pub const MOST_VALUES: i64 = 1 << 23;
/// The most values that one pass transforms.
pub const MOST_AT_ONCE: i64 = 4096;
/// The largest prime that the lengths of passes are made of: half of it is a chain of sums.
const MOST_PRIME: i64 = 251;
/// The largest prime whose roots a pass has as constants; it keeps those of others beside the values.
const MOST_SMALL: i64 = 13;

/// The largest prime factor of a length, 1 of 1; of what has one above 251, a number above that.
fn largest_prime(mut n: i64) -> i64 {
    let mut largest = 1;
    for p in 2..=MOST_PRIME {
        while n > 1 && n % p == 0 {
            n /= p;
            largest = p;
        }
    }
    largest.max(n)
}

/// Whether passes can make a transform of this length.
pub(super) fn is_of_passes(n: i64) -> bool {
    largest_prime(n) <= MOST_PRIME
}

/// Whether one pass takes this many values of a line: with roots of a large prime beside them, in whole sixteens.
pub(super) fn is_at_once(n: i64) -> bool {
    let prime = largest_prime(n);
    let beside = if prime > MOST_SMALL { prime } else { 0 };
    (1..=MOST_AT_ONCE).contains(&n) && prime <= MOST_PRIME && (n + 15) / 16 * 16 + beside <= MOST_AT_ONCE
}

crate::op! {
    /// One pass of a transform of N = `length` values x_t by factors (Stockham's, of which the results come in order):
    /// with P = `done`, n = `radix`, j = aP + k, k < P, y\[aPn + k + sP\] = f·Σ_r x\[r·N/n + j\]·e^(∓2πir(k + sP)/(Pn))
    /// over r < n, for every s < n and j < N/n. After passes whose lengths have the product N, each with the product of
    /// those before it as `done`, y is the transform of x.
    ///
    /// x\[…, m, …, 1 or 2\], m ≤ N; values past m are 0. `by`\[m, 2\], N of them where x is
    /// one side of a spectrum, multiplies them, as complex numbers. The first `kept` results → \[…, kept, …, 2\], or
    /// their real parts. Where one of the n values of a sum is not finite, its results are NaN.
    pub struct FftPass {
        /// The axis; not the last one.
        axis: i64 = -2,
        /// N, at most 2^23.
        length: i64,
        /// P.
        done: i64 = 1,
        /// n: at most 4096 less its largest prime above 13, of no prime above 251.
        radix: i64,
        /// Whether the exponent is positive.
        inverse: bool = false,
        /// Whether x is the one side of a spectrum of real values: x_(N−t) is the conjugate of x_t, and what cannot be
        /// imaginary is not.
        mirrored: bool = false,
        /// Results that are kept.
        kept: i64,
        /// Whether real parts alone are.
        real: bool = false,
        /// f.
        factor: f32 = 1.0 => ANY,
    }
}

impl FftPass {
    /// The whole of a transform, of values that it takes as they are, in one pass.
    pub fn of(length: i64) -> FftPass {
        FftPass {
            axis: -2,
            length,
            done: 1,
            radix: length,
            inverse: false,
            mirrored: false,
            kept: length,
            real: false,
            factor: 1.0,
        }
    }

    fn expect_valid(&self) -> Result<(), OpError> {
        let wrong = |name, reason: &str| Err(AttrError::Value { name, reason: reason.into() }.into());
        if !(1..=MOST_VALUES).contains(&self.length) {
            return wrong("length", "it must be from 1 to 2^23");
        }
        if !is_at_once(self.radix) {
            return wrong(
                "radix",
                "it must be from 1 to 4096 less its largest prime above 13, of no prime above 251",
            );
        }
        if self.done < 1 || self.length % self.radix != 0 || self.length / self.radix % self.done != 0 {
            return wrong("done", "with the radix it must divide the length");
        }
        if !(1..=self.length).contains(&self.kept) {
            return wrong("kept", "it must be from 1 to the length");
        }
        Ok(())
    }

    fn expect_values(&self, cx: &Infer<'_>, axis: usize) -> Result<(), OpError> {
        let x = cx.ty(0)?;
        let last = x.rank() - 1;
        let parts = cx.constant_extent(&x.shape[last], "the last axis")?;
        if !(parts == 2 || parts == 1 && !self.mirrored) {
            return Err(OpError::Invalid(format!("the last axis of x is {parts}; it has complex parts")));
        }
        let given = cx.constant_extent(&x.shape[axis], "the axis")?;
        let most = if self.mirrored { self.length / 2 + 1 } else { self.length } as u64;
        if given == 0 || given > most {
            return Err(OpError::Invalid(format!("the axis has {given} values; it may have 1 to {most}")));
        }
        Ok(())
    }

    fn expect_weights(&self, cx: &Infer<'_>) -> Result<(), OpError> {
        let Some(by) = cx.opt(1) else { return Ok(()) };
        cx.same_dtype(0, 1)?;
        cx.expect_rank(1, 2)?;
        let x = cx.ty(0)?;
        let axis = cx.axis(self.axis, x.rank())?;
        let given = cx.constant_extent(&x.shape[axis], "the axis")? as i64;
        let count = if self.mirrored { self.length } else { given };
        if by.shape[0].is(count) && by.shape[1].is(2) {
            return Ok(());
        }
        let shape = cx.show(&by.shape);
        Err(OpError::Invalid(format!("`by` is {shape}; it has {count} complex numbers")))
    }
}

impl OpDef for FftPass {
    const OPERANDS: &'static [&'static str] = &["x", "by?"];
    const GRAD: Grad<Self> = Grad::No("it is made by passes, after gradients are taken");

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        let dtype = cx.expect_dtype(0, &[DType::F32])?;
        self.expect_valid()?;
        let mut shape = cx.ty(0)?.shape.to_vec();
        let axis = cx.axis(self.axis, shape.len())?;
        if axis + 1 == shape.len() {
            return Err(OpError::Invalid("the last axis holds real and imaginary parts".into()));
        }
        self.expect_values(cx, axis)?;
        self.expect_weights(cx)?;
        let last = shape.len() - 1;
        shape[axis] = DimExpr::constant(self.kept);
        shape[last] = DimExpr::constant(if self.real { 1 } else { 2 });
        one(dtype, shape)
    }

    fn samples() -> Vec<Sample> {
        let whole = FftPass::of;
        let mut samples: Vec<Sample> = [1, 2, 3, 4, 5, 7, 8, 9, 11, 13, 16, 33, 60, 64, 65, 1024, 1029, 1458]
            .into_iter()
            .flat_map(|n| {
                [
                    case(&[2 + u64::from(n == 2), n, 2], whole(n as i64)),
                    case(&[3 + u64::from(n == 3), n, 1], whole(n as i64)),
                ]
            })
            .collect();
        samples.extend(
            [17, 31, 34, 71, 97, 227, 251, 289, 323, 454, 2497, 3502, 17 * 19 * 12]
                .map(|n| case(&[2, n, 2], whole(n as i64))),
        );
        samples.extend(
            [(34, 8), (46, 300)].map(|(n, c)| case(&[2, n, c, 2], FftPass { axis: 1, ..whole(n as i64) })),
        );
        samples.extend([
            case(&[2, 204, 2], FftPass { inverse: true, ..later(204, 12, 17) }),
            case(&[2, 3468, 2], later(3468, 12, 289)),
            case(&[3, 4096, 1], whole(4096)),
            case(&[2, 3750, 2], whole(3750)),
        ]);
        samples.extend([2048, 2002].map(|n| case(&[1, n, 2], FftPass { inverse: true, ..whole(n as i64) })));
        samples.extend([
            case(&[2, 60, 2], later(60, 1, 4)),
            case(&[2, 60, 2], later(60, 4, 5)),
            case(&[2, 60, 2], FftPass { inverse: true, ..later(60, 20, 3) }),
            case(&[1, 4096, 2], later(4096, 512, 8)),
            case(&[1, 4096, 2], later(4096, 8, 512)),
            case(&[5, 6, 7, 2], FftPass { axis: 0, ..later(5, 1, 5) }),
            case(&[5, 6, 7, 2], FftPass { axis: 1, ..later(6, 2, 3) }),
            case(&[3, 12, 2], FftPass { kept: 7, ..whole(12) }),
            case(&[3, 12, 2], FftPass { kept: 5, real: true, ..later(12, 3, 4) }),
            case(&[3, 5, 1], FftPass { factor: 0.125, ..whole(12) }),
            case(&[3, 5, 2], FftPass { factor: -2.0, ..later(12, 1, 3) }),
            case(&[3, 7, 2], FftPass { mirrored: true, real: true, inverse: true, ..whole(12) }),
            case(&[3, 7, 2], FftPass { mirrored: true, ..whole(13) }),
            case(&[3, 2, 2], FftPass { mirrored: true, ..later(12, 1, 4) }),
            case(&[9, 2], FftPass { radix: 1, axis: 0, ..whole(17) }),
            case(&[3, 9, 2], FftPass { radix: 1, mirrored: true, kept: 11, ..whole(17) }),
            case(&[70_000, 2, 2], whole(2)),
            case(&[2, 70_000, 2], FftPass { axis: 0, ..whole(2) }),
            case(&[0, 8, 2], whole(8)),
            case(&[2, 2, 2, 2, 2, 2, 4, 1], whole(4)),
        ]);
        samples.extend([not_finite(4), not_finite(7)]);
        samples.extend([0, 1, 5, 70].map(symbolic));
        samples
    }
}

/// The pass by `radix` after factors of the product `done`.
fn later(length: i64, done: i64, radix: i64) -> FftPass {
    FftPass { done, radix, ..FftPass::of(length) }
}

fn symbolic(n: u64) -> Sample {
    let sample = Sample::graph(&format!("symbolic, {n} of 70"), |g| {
        let shape = [sym("n", 0..=70), 12.into(), sym("c", 1..=30), 2.into()];
        let x = g.input("x", tensor(DType::F32, shape));
        g.output("y", g.fft_pass(x, None, FftPass { axis: 1, ..FftPass::of(12) }));
        g.output("part", g.fft_pass(x, None, FftPass { axis: 1, ..later(12, 2, 3) }));
    });
    sample.bind("n", n).bind("c", 3)
}

/// With and without numbers that multiply.
fn case(shape: &[u64], op: FftPass) -> Sample {
    Sample::graph(&format!("{shape:?} {op:?}"), |g| {
        let x = g.input("x", tensor(DType::F32, shape.iter().copied()));
        g.output("y", g.fft_pass(x, None, op.clone()));
        let axis = if op.axis < 0 { shape.len() - 2 } else { op.axis as usize };
        let count = if op.mirrored { op.length as u64 } else { shape[axis] };
        let by = g.input("by", tensor(DType::F32, [count, 2]));
        g.output("weighted", g.fft_pass(x, Some(by), op.clone()));
    })
    .fill("x", Fill::Normal)
    .fill("by", Fill::Normal)
}

fn not_finite(n: u64) -> Sample {
    let mut values: Vec<f64> = (0..6 * n).map(|i| (i % 5) as f64 - 2.0).collect();
    values[1] = f64::NAN;
    values[4 * n as usize] = f64::INFINITY;
    Sample::graph(&format!("lines of {n} that are not finite"), |g| {
        let x = g.input("x", tensor(DType::F32, [3, n, 2]));
        g.output("y", g.fft_pass(x, None, FftPass::of(n as i64)));
        g.output("alone", g.fft_pass(x, None, FftPass { radix: 1, ..FftPass::of(n as i64) }));
    })
    .fill("x", Fill::Floats(values))
}

impl GraphBuilder {
    /// One pass of a transform: x\[…, m, …, 1 or 2\], by\[m, 2\] (\[length, 2\] where x is mirrored) or none →
    /// \[…, kept, …, 2 or 1\]. For whole
    /// transforms see [`fft`](crate::GraphBuilder::fft).
    #[track_caller]
    pub fn fft_pass(&self, x: Value, by: Option<Value>, op: FftPass) -> Value {
        self.apply_all(op, &[Some(x), by])[0]
    }
}
