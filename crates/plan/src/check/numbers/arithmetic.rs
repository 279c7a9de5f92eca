//! Sums, products and quotients of numbers. Values saturate at 128 bits, far from what kernels count to.

use super::Number;
use pumice_types::DimExpr;
use std::fmt;
use std::ops::{Add, Div, Mul, Rem, Sub};

impl<'i> Number<'i> {
    fn with(
        self,
        other: Number<'i>,
        value: i128,
        form: impl FnOnce(&DimExpr, &DimExpr) -> DimExpr,
    ) -> Number<'i> {
        let Some(of) = self.intervals().or(other.intervals()) else { return Number { value, form: None } };
        of.keep(value, self.expression().zip(other.expression()).map(|(a, b)| form(&a, &b)))
    }

    /// The product.
    pub fn saturating_mul(self, other: impl Into<Number<'i>>) -> Number<'i> {
        let other = other.into();
        self.with(other, self.value.saturating_mul(other.value), |a, b| a * b)
    }

    /// The sum.
    pub fn saturating_add(self, other: impl Into<Number<'i>>) -> Number<'i> {
        let other = other.into();
        self.with(other, self.value.saturating_add(other.value), |a, b| a + b)
    }

    fn minus(self, other: Number<'i>) -> Number<'i> {
        self.with(other, self.value.saturating_sub(other.value), |a, b| a - b)
    }

    /// The quotient, rounded down; 0 where the divisor is not positive, which rules do not ask for.
    pub fn div_euclid(self, by: impl Into<Number<'i>>) -> Number<'i> {
        let by = by.into();
        if by < 1 {
            return Number::from(0);
        }
        self.with(by, self.value.div_euclid(by.value), DimExpr::floor_div)
    }

    /// The quotient, rounded up; 0 where the divisor is not positive.
    pub fn div_ceil(self, by: impl Into<Number<'i>>) -> Number<'i> {
        let by = by.into();
        if by < 1 {
            return Number::from(0);
        }
        let up = i128::from(self.value.rem_euclid(by.value) != 0);
        self.with(by, self.value.div_euclid(by.value) + up, DimExpr::ceil_div)
    }

    /// The quotient, rounded down; none where the divisor is 0.
    pub fn checked_div(self, by: impl Into<Number<'i>>) -> Option<Number<'i>> {
        let by = by.into();
        (by != 0).then(|| self.div_euclid(by))
    }

    /// What the quotient leaves, which is not negative.
    pub fn rem_euclid(self, by: impl Into<Number<'i>>) -> Number<'i> {
        let by = by.into();
        self.minus(self.div_euclid(by).saturating_mul(by))
    }

    /// Whether the quotient leaves nothing.
    pub fn is_multiple_of(self, by: impl Into<Number<'i>>) -> bool {
        self.rem_euclid(by) == 0
    }

    /// Without its sign.
    pub fn unsigned_abs(self) -> Number<'i> {
        if self >= 0 { self } else { Number::from(0).minus(self) }
    }

    /// The smaller of the two.
    pub fn min(self, other: impl Into<Number<'i>>) -> Number<'i> {
        let other = other.into();
        self.with(other, self.value.min(other.value), DimExpr::min_with)
    }

    /// The larger of the two.
    pub fn max(self, other: impl Into<Number<'i>>) -> Number<'i> {
        let other = other.into();
        self.with(other, self.value.max(other.value), DimExpr::max_with)
    }
}

macro_rules! from {
    ($($int:ty)*) => { $(
        impl From<$int> for Number<'_> {
            fn from(value: $int) -> Self {
                Number { value: value.into(), form: None }
            }
        }
    )* };
}

from! { u32 u64 i32 i64 i128 }

macro_rules! operation {
    ($trait:ident, $method:ident, $apply:expr) => {
        impl<'i, N: Into<Number<'i>>> $trait<N> for Number<'i> {
            type Output = Number<'i>;
            fn $method(self, other: N) -> Number<'i> {
                $apply(self, other.into())
            }
        }

        impl<'i> $trait<Number<'i>> for u64 {
            type Output = Number<'i>;
            fn $method(self, other: Number<'i>) -> Number<'i> {
                $apply(self.into(), other)
            }
        }
    };
}

operation!(Add, add, Number::saturating_add);
operation!(Sub, sub, Number::minus);
operation!(Mul, mul, Number::saturating_mul);
operation!(Div, div, Number::div_euclid);
operation!(Rem, rem, Number::rem_euclid);

impl fmt::Display for Number<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

impl fmt::Debug for Number<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}
