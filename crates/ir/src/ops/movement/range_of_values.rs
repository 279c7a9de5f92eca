//! Numbers at equal distances whose ends only a run knows, as a composition: as many as the run finds.

use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::Infer;
use crate::ops::bit_shift::ShiftDirection;
use crate::ops::elementwise::NUMERIC;
use pumice_types::DType;
use std::ops::RangeInclusive;

/// Numbers that f32 counts.
const COUNTED: u64 = 1 << 24;
/// Places that the larger of two mantissas is moved to the left by at most, so that 24 bits stay below 2⁶².
const MOVED: f64 = 38.0;

/// What the bits of an f32 say, each a u32.
#[derive(Clone, Copy)]
struct FloatWords {
    sign: Value,
    exponent: Value,
    mantissa: Value,
}

fn checked(cx: &Infer<'_>, largest: u64) -> Result<(), OpError> {
    let dtype = cx.expect_dtype(0, NUMERIC)?;
    for i in 0..3 {
        cx.same_dtype(0, i)?;
        cx.expect_rank(i, 0)?;
    }
    let most = if dtype.is_float() { COUNTED } else { i32::MAX as u64 };
    match largest > most {
        true => Err(OpError::Invalid(format!("there may be {largest} numbers, at most {most} are counted"))),
        false => Ok(()),
    }
}

impl GraphBuilder {
    /// start + i·delta for i from 0 to max(⌈(limit − start)/delta⌉, 0) − 1, of values that the run knows (ONNX Range):
    /// three of one dtype, rank 0 → \[n\] of it. n is found while the program runs, at most the end of `range`, which
    /// begins at 0 ([`extent_of`](GraphBuilder::extent_of)); more numbers report FOUND_EXTENT. [`range`] and
    /// [`range_of_floats`] are for numbers that are known before.
    ///
    /// How many there are is computed without rounding, but that of floats limit − start is rounded to f32 first;
    /// elements are counted and not accumulated. Floats are computed in f32, and at most 2²⁴. A delta of 0, floats that
    /// are infinite or NaN, and such whose difference is, report FOUND_EXTENT and give no numbers.
    ///
    /// [`range`]: GraphBuilder::range
    /// [`range_of_floats`]: GraphBuilder::range_of_floats
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, tensor};
    /// # use pumice_types::DType;
    /// let g = GraphBuilder::new("g");
    /// let [start, limit, delta] = ["start", "limit", "delta"].map(|n| g.input(n, tensor::<u64>(DType::I64, [])));
    /// g.output("numbers", g.range_of_values(start, limit, delta, 0..=1000));
    /// assert_eq!(g.build()?.symbols().found().count(), 1);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn range_of_values(
        &self,
        start: Value,
        limit: Value,
        delta: Value,
        range: RangeInclusive<u64>,
    ) -> Value {
        let (names, numbers) = (&["start", "limit", "delta"], [start, limit, delta]);
        let rule = |cx: &Infer<'_>| checked(cx, *range.end());
        let dtype = match self.checked_operands("range_of_values", names, &numbers, rule) {
            Ok(types) => types[0].dtype(),
            Err(mistake) => return mistake,
        };
        let g = self.composition("range_of_values");
        let computed = if dtype.is_float() { DType::F32 } else { dtype };
        let numbers = numbers.map(|v| g.cast(v, computed));
        let count = if dtype.is_float() { g.count_of_floats(numbers) } else { g.count_of_integers(numbers) };
        let n = g.extent_of(count, range);
        let ([start, _, delta], places) = (numbers, g.range(0u64, n, 1, DType::I32));
        let moved = g.mul(g.cast(places, computed), delta);
        let moved = g.add(moved, start);
        g.last().cast(moved, dtype)
    }

    /// How many integers there are: −1 for a delta of 0. The distance of two i64 is a u64.
    #[track_caller]
    fn count_of_integers(&self, numbers: [Value; 3]) -> Value {
        let is_wide = self.type_of(numbers[0]).is_some_and(|ty| ty.dtype() == DType::U64);
        let wide = if is_wide { DType::U64 } else { DType::I64 };
        let [start, limit, delta] = numbers.map(|v| self.cast(v, wide));
        let zero = self.constant_scalar(wide, 0.0);
        let ascends = self.greater(delta, zero);
        let (from, to) = (self.select(ascends, start, limit), self.select(ascends, limit, start));
        let [from_word, to_word, by] = [from, to, delta].map(|v| self.cast(v, DType::U64));
        let back = self.sub(self.constant_scalar(DType::U64, 0.0), by);
        let steps = self.steps(self.sub(to_word, from_word), self.select(ascends, by, back));
        self.count_where(self.greater(to, from), steps, self.equal(delta, zero))
    }

    /// How many floats there are: −1 for a delta of 0 and for what is not finite. Of two mantissas one is moved to the
    /// left by the difference of the exponents; then the quotient is one of integers.
    #[track_caller]
    fn count_of_floats(&self, [start, limit, delta]: [Value; 3]) -> Value {
        let (distance, step) = (self.float_words(self.sub(limit, start)), self.float_words(delta));
        let steps = self.steps(self.shifted_mantissa(distance, step), self.shifted_mantissa(step, distance));
        let is = |x, value| self.equal(x, self.constant_scalar(DType::U32, value));
        let turns = self.not(self.equal(distance.sign, step.sign));
        let is_empty = self.or(turns, is(distance.mantissa, 0.0));
        let infinite = self.or(is(distance.exponent, 255.0), is(step.exponent, 255.0));
        self.count_where(self.not(is_empty), steps, self.or(infinite, is(step.mantissa, 0.0)))
    }

    /// ⌈distance/step⌉ of u64, at most 2⁶² + 1; a step of 0 counts as 1. The distance is not 0.
    #[track_caller]
    fn steps(&self, distance: Value, step: Value) -> Value {
        let [one, most] = [1.0, 2f64.powi(62)].map(|v| self.constant_scalar(DType::U64, v));
        let whole = self.div(self.sub(distance, one), self.max(&[step, one]));
        self.add(self.min(&[whole, most]), one)
    }

    /// The count as an i64 where there are numbers, else 0; −1 where it is none.
    #[track_caller]
    fn count_where(&self, are_some: Value, count: Value, is_none: Value) -> Value {
        let [zero, none] = [0.0, -1.0].map(|v| self.constant_scalar(DType::I64, v));
        let count = self.select(are_some, self.cast(count, DType::I64), zero);
        self.select(is_none, none, count)
    }

    #[track_caller]
    fn float_words(&self, x: Value) -> FloatWords {
        let (bits, word) = (self.bit_cast(x, DType::U32), |v| self.constant_scalar(DType::U32, v));
        let right = |by| self.bit_shift(bits, word(by), ShiftDirection::Right);
        let exponent = self.bitwise_and(right(23.0), word(255.0));
        let fraction = self.bitwise_and(bits, word(f64::from(0x7f_ffff)));
        let normal = self.bitwise_or(fraction, word(f64::from(0x80_0000)));
        let mantissa = self.select(self.equal(exponent, word(0.0)), fraction, normal);
        FloatWords { sign: right(31.0), exponent, mantissa }
    }

    /// A mantissa in units of the smaller of two exponents, as far as [`MOVED`] allows.
    #[track_caller]
    fn shifted_mantissa(&self, x: FloatWords, other: FloatWords) -> Value {
        let one = self.constant_scalar(DType::U32, 1.0);
        // Of 0 and subnormal numbers the exponent is that of the smallest normal ones.
        let [power, least] = [x, other].map(|x| self.cast(self.max(&[x.exponent, one]), DType::I32));
        let by = self.clip(self.sub(power, least), Some(0.0), Some(MOVED));
        let [mantissa, by] = [x.mantissa, by].map(|v| self.cast(v, DType::U64));
        self.bit_shift(mantissa, by, ShiftDirection::Left)
    }
}
