//! `Range`: numbers at equal distances.

use super::slice::expect_step;
use crate::attr::AttrError;
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types, one};
use crate::ops::elementwise::{FLOATS, NUMERIC};
use crate::ops::{Cast, Grad, OpDef};
use crate::sample::Sample;
use crate::shape::{display_dim, f32, sym};
use pumice_types::{DType, DimExpr, SymbolTable};

crate::op! {
    /// yᵢ = start + i·delta for i from 0 to len − 1, wrapping in the dtype (ONNX Range of integers).
    pub struct Range {
        /// The first number. One that symbols decide is not negative.
        start: DimExpr,
        /// Distance of neighbours.
        delta: i64,
        /// How many.
        len: DimExpr,
        /// I32 or I64.
        dtype: DType,
    }
}

impl OpDef for Range {
    const OPERANDS: &'static [&'static str] = &[];
    const GRAD: Grad<Self> = Grad::Zero;

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        if !matches!(self.dtype, DType::I32 | DType::I64) {
            let reason = "a range is counted in i32 or i64".into();
            return Err(AttrError::Value { name: "dtype", reason }.into());
        }
        let (least, most) = self.start.bounds(cx.symbols());
        if self.start.as_const().is_none() && (least < 0 || most > i64::from(u32::MAX)) {
            let extent = display_dim(&self.start, cx.symbols());
            let what = "a first number that may be negative or beyond 32 bits".into();
            return Err(OpError::ExtentUnsupported { what, extent });
        }
        one(self.dtype, [self.len.clone()])
    }

    fn samples() -> Vec<Sample> {
        let case = |start: i64, limit: i64, delta: i64, dtype: DType| {
            Sample::graph(&format!("{dtype} from {start} to {limit} by {delta}"), |g| {
                g.output("y", g.range(DimExpr::constant(start), DimExpr::constant(limit), delta, dtype));
            })
        };
        let (i, l) = (DType::I32, DType::I64);
        let mut samples = vec![
            case(0, 0, 1, i),
            case(0, 1, 1, i),
            case(0, 1025, 1, i),
            case(3, -4, -2, i),
            case(7, 3, 1, i),
            case(-5, 70_000, 3, i),
            case(2_147_483_640, 2_147_483_660, 3, i),
            case(-3, 300, 2, l),
            case((1 << 40) + 7, (1 << 40) - 600, -3, l),
            case(i64::MAX - 9, i64::MAX, 4, l),
            case(i64::MIN, i64::MIN + (5 << 33), 1 << 33, l),
        ];
        samples.extend(NUMERIC.iter().map(|&d| case(0, 100, 7, d)));
        samples.extend([
            case(0, 1 << 40, 1 << 33, DType::U64),
            case(3_000_000_000, 3_000_000_009, 4, DType::U32),
            case(3_000_000_000, 3_000_000_900, 256, DType::F32),
            case(-5, 300, 100, DType::U8),
            case((1 << 40) + 5, (1 << 40) + 90, (1 << 35) + 7, i),
        ]);
        samples.extend([i, l].into_iter().flat_map(|dtype| {
            [0, 1, 5, 70].map(|n| {
                let sample = Sample::graph(&format!("{dtype}, symbolic, {n} of 70"), |g| {
                    let x = g.input("x", f32([sym("n", 0..=70)]));
                    let n = g.dim_of(x, 0);
                    g.output("places", g.range(0, n.clone(), 1, dtype));
                    g.output("back", g.range(n.clone() + 2, 0, -3, dtype));
                    g.output("beyond", g.range(n.clone(), &n * 2 - DimExpr::constant(9), 1, dtype));
                });
                sample.bind("n", n)
            })
        }));
        samples.extend([
            float_case(0.0, 1.0, 0.125, DType::F32),
            float_case(-2.5, 40.0, 0.75, DType::F32),
            float_case(1.0, -1.0, -0.25, DType::F16),
            float_case(3.0, 1.0, 0.5, DType::BF16),
        ]);
        samples
    }
}

fn float_case(start: f64, limit: f64, delta: f64, dtype: DType) -> Sample {
    Sample::graph(&format!("{dtype} from {start} to {limit} by {delta}"), |g| {
        g.output("y", g.range_of_floats(start, limit, delta, dtype));
    })
}

impl GraphBuilder {
    /// start, start + delta, … before `limit` (ONNX Range, NumPy arange): → \[max(⌈(limit − start)/delta⌉, 0)\],
    /// counted, never accumulated. Start and limit are numbers or expressions of extents. Any numeric dtype:
    /// integers wrap, floats are rounded from I64.
    ///
    /// Mistakes, told by [`GraphBuilder::build`]: a delta of 0 or of the smallest integer, a first number that symbols
    /// may make negative, more than 2^31 − 1 numbers, bool.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32, sym};
    /// # use pumice_types::DType;
    /// let g = GraphBuilder::new("g");
    /// let x = g.input("x", f32([sym("n", 1..=64), 8.into()]));
    /// g.output("positions", g.range(0, g.dim_of(x, 0), 1, DType::I32));
    /// assert_eq!(g.build()?.outputs().len(), 1);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn range(
        &self,
        start: impl Into<DimExpr>,
        limit: impl Into<DimExpr>,
        delta: i64,
        dtype: DType,
    ) -> Value {
        let (start, limit) = (start.into(), limit.into());
        if let Err(e) = expect_step("delta", delta) {
            return self.wrong_call("range", e);
        }
        if dtype == DType::Bool {
            return self.wrong_call("range", OpError::Invalid("a range is of numbers, not of bool".into()));
        }
        let Some(len) = count(&start, &limit, delta, &self.symbols().unwrap_or_default()) else {
            return self.wrong_call("range", OpError::Invalid("it has more than 2^31 - 1 numbers".into()));
        };
        let counted = if wraps_in_32_bits(dtype) { DType::I32 } else { DType::I64 };
        let op = Range { start, delta, len, dtype: counted };
        if dtype == counted {
            return self.apply_as("range", op, &[]);
        }
        let g = self.composition("range");
        let counted = g.apply(op, &[]);
        g.last().apply(Cast { to: dtype }, &[counted])
    }

    /// start + i·delta for i from 0 to max(⌈(limit − start)/delta⌉, 0) − 1 (ONNX Range of floats): → \[…\]. Computed in
    /// f32, counted and not accumulated, then rounded to `dtype`, which is a float. How many there are is found in f64.
    ///
    /// Mistakes: a delta of 0, numbers that are not finite, more than 2^24 of them, which f32 does not count.
    ///
    /// ```
    /// # use pumice_ir::GraphBuilder;
    /// # use pumice_types::DType;
    /// let g = GraphBuilder::new("g");
    /// g.output("grid", g.range_of_floats(-1.0, 1.0, 0.25, DType::F32));
    /// assert_eq!(g.build()?.outputs().len(), 1);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn range_of_floats(&self, start: f64, limit: f64, delta: f64, dtype: DType) -> Value {
        let n = match count_of_floats([start, limit, delta], dtype) {
            Ok(n) => n,
            Err(e) => return self.wrong_call("range_of_floats", e.into()),
        };
        let g = self.composition("range_of_floats");
        let op = Range { start: 0.into(), delta: 1, len: n.into(), dtype: DType::I32 };
        let places = g.cast(g.apply(op, &[]), DType::F32);
        let scaled = g.mul(places, g.constant_scalar(DType::F32, delta));
        let moved = g.add(scaled, g.constant_scalar(DType::F32, start));
        g.last().cast(moved, dtype)
    }
}

/// Whether numbers of the dtype are the low bits of those counted in I32.
fn wraps_in_32_bits(dtype: DType) -> bool {
    matches!(dtype, DType::I8 | DType::U8 | DType::I16 | DType::U16 | DType::I32 | DType::U32)
}

/// How many numbers a range has; `None`: more than an axis.
fn count(start: &DimExpr, limit: &DimExpr, delta: i64, symbols: &SymbolTable) -> Option<DimExpr> {
    if let (Some(start), Some(limit)) = (start.as_const(), limit.as_const()) {
        let (span, step) = (i128::from(limit) - i128::from(start), i128::from(delta));
        let span = if step > 0 { span } else { -span }.max(0);
        let n = (span + step.abs() - 1) / step.abs();
        return (n <= i128::from(i32::MAX)).then(|| DimExpr::constant(n as i64));
    }
    let span = if delta > 0 { limit - start } else { start - limit };
    let counted = if span.bounds(symbols).0 < 0 { span.max_with(&DimExpr::constant(0)) } else { span };
    Some(counted.ceil_div(&DimExpr::constant(delta.abs())))
}

/// How many numbers a range of floats has.
fn count_of_floats(numbers: [f64; 3], dtype: DType) -> Result<u64, AttrError> {
    let refuse = |name, reason: String| Err(AttrError::Value { name, reason });
    if !FLOATS.contains(&dtype) {
        return refuse("dtype", format!("{dtype} is no float; use f32, f16 or bf16, or `range`"));
    }
    for (name, v) in ["start", "limit", "delta"].into_iter().zip(numbers) {
        if !v.is_finite() {
            return refuse(name, format!("{v} is not finite"));
        }
    }
    let [start, limit, delta] = numbers;
    if delta == 0.0 {
        return refuse("delta", "it is 0, so that no number would be the last".into());
    }
    let n = ((limit - start) / delta).ceil().max(0.0);
    // Also where the difference of two finite numbers is not finite.
    if n > f64::from(1 << 24) {
        return refuse("delta", format!("there would be {n:e} numbers; f32 counts 2^24"));
    }
    Ok(n as u64)
}
