//! Which numbers an attribute may be: what an op's declaration states after `=>`, and what verifying checks.
//!
//! In: the value of an attribute. Out: why it is refused. Never here: what an op does with it.

/// What a float attribute may be: a range with both ends, and whether NaN is taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FloatRange {
    /// The smallest value.
    pub min: f64,
    /// The largest value.
    pub max: f64,
    /// Whether the smallest value itself is left out.
    pub above: bool,
    /// Whether NaN is a value like any other.
    pub nan: bool,
    /// In words.
    pub words: &'static str,
}

impl FloatRange {
    /// Every value, NaN and infinities among them.
    pub const ANY: FloatRange = FloatRange {
        min: f64::NEG_INFINITY,
        max: f64::INFINITY,
        above: false,
        nan: true,
        words: "any number",
    };
    /// Every number but NaN and infinities. Bounds are those of f32, in which the values are computed with.
    pub const FINITE: FloatRange =
        FloatRange { min: f32::MIN as f64, max: f32::MAX as f64, above: false, nan: false, words: "finite" };
    /// Finite, 0 or more.
    pub const NOT_NEGATIVE: FloatRange =
        FloatRange { min: 0.0, words: "finite and not negative", ..FloatRange::FINITE };
    /// Finite, more than 0.
    pub const POSITIVE: FloatRange =
        FloatRange { min: 0.0, above: true, words: "finite and positive", ..FloatRange::FINITE };
    /// From 0 to 1.
    pub const SHARE: FloatRange =
        FloatRange { min: 0.0, max: 1.0, words: "from 0 to 1", ..FloatRange::FINITE };

    /// Whether a value is in it.
    pub fn holds(&self, value: f64) -> bool {
        let inside = (self.min..=self.max).contains(&value) && !(self.above && value == self.min);
        inside || self.nan && value.is_nan()
    }

    /// Why a value is refused, if it is.
    pub fn refusal(&self, value: f64) -> Option<String> {
        (!self.holds(value)).then(|| format!("it is {value}, and must be {}", self.words))
    }
}

/// What a count may be: a range with both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountRange {
    /// The smallest count.
    pub min: u64,
    /// The largest count.
    pub max: u64,
    /// In words.
    pub words: &'static str,
}

impl CountRange {
    /// 0 or more. Kernels count in words of 32 bits, so that 2³¹ − 1 is the most.
    pub const ANY: CountRange = CountRange { min: 0, max: i32::MAX as u64, words: "0 to 2147483647" };
    /// 1 or more, 2³¹ − 1 at most.
    pub const POSITIVE: CountRange = CountRange { min: 1, words: "1 to 2147483647", ..CountRange::ANY };

    /// A word of 32 bits.
    pub const WORD: CountRange = CountRange { min: 0, max: u32::MAX as u64, words: "0 to 4294967295" };

    /// Whether a count is in it.
    pub fn holds(&self, count: u64) -> bool {
        (self.min..=self.max).contains(&count)
    }

    /// Why a count is refused, if it is.
    pub fn refusal(&self, count: u64) -> Option<String> {
        (!self.holds(count)).then(|| format!("it is {count}, and must be {}", self.words))
    }
}
