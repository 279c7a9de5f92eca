//! sinh, cosh, tanh, asinh, acosh, atanh.
//!
//! The odd functions are polynomials near zero and expressions in eˣ (or logarithms) elsewhere. Large arguments
//! of sinh and cosh use eˣ/2 formed by its exponent, so they overflow where the function does.

use super::super::builder::{Reg, ScalarBuilder};
use super::super::tangent::Function;
use super::{INF, NAN};

/// (sinh x − x)/x³ in x², |x| ≤ 1, to 2⁻²⁵ of sinh x.
const SINH: [f32; 3] = [0.166_667_16, 0.008_330_271, 0.000_203_733_22];
/// (tanh x − x)/x³ in x², |x| ≤ 0.625, to 2⁻²⁷ of tanh x.
const TANH: [f32; 5] = [-0.333_332_8, 0.133_314_06, -0.053_736_515, 0.020_628_167, -0.005_692_296_7];
/// From here on x² + 1 is x², and x·x may overflow soon.
const HUGE: f32 = 1e9;

const SINH_RULE: Function = Function::one("sinh", |b, x, _, t| b.mul(t, b.cosh(x)));
const COSH_RULE: Function = Function::one("cosh", |b, x, _, t| b.mul(t, b.sinh(x)));
/// 1 − tanh².
const TANH_RULE: Function = Function::one("tanh", |b, _, y, t| {
    let one = b.f32(1.0);
    b.mul(t, b.mul(b.sub(one, y), b.add(one, y)))
});
/// 1/√(x² + 1).
const ASINH_RULE: Function = Function::one("asinh", |b, x, _, t| b.div(t, b.sqrt(b.fma(x, x, b.f32(1.0)))));
/// 1/√(x² − 1); below 1 its first root is NaN, and so are all derivatives.
const ACOSH_RULE: Function = Function::one("acosh", |b, x, _, t| {
    let one = b.f32(1.0);
    b.div(t, b.mul(b.sqrt(b.sub(x, one)), b.sqrt(b.add(x, one))))
});
/// 1/(1 − x²).
const ATANH_RULE: Function = Function::one("atanh", |b, x, _, t| {
    let one = b.f32(1.0);
    b.div(t, b.mul(b.sub(one, x), b.add(one, x)))
});

impl ScalarBuilder {
    /// sinh x.
    pub fn sinh(&self, x: Reg) -> Reg {
        self.noted(&SINH_RULE, &[x], || {
            let a = self.abs(x);
            let u = self.mul(a, a);
            let near = self.fma(self.mul(a, u), self.poly(u, &SINH), a);
            let half = self.half_exp(a);
            let far = self.sub(half, self.div_raw(self.f32(0.25), half));
            self.copysign(self.select(self.lt(a, self.f32(1.0)), near, far), x)
        })
    }

    /// cosh x.
    pub fn cosh(&self, x: Reg) -> Reg {
        self.noted(&COSH_RULE, &[x], || {
            let half = self.half_exp(self.abs(x));
            self.add(half, self.div_raw(self.f32(0.25), half))
        })
    }

    /// tanh x; ±1 at ±∞.
    pub fn tanh(&self, x: Reg) -> Reg {
        self.noted(&TANH_RULE, &[x], || {
            let a = self.abs(x);
            let u = self.mul(a, a);
            let near = self.fma(self.mul(a, u), self.poly(u, &TANH), a);
            let (one, two) = (self.f32(1.0), self.f32(2.0));
            // From 10 on tanh is 1 to the last bit.
            let limited = self.limit(a, 0.0, 10.0);
            let (r, n) = self.exp_reduce(self.mul(limited, two), None);
            let e = self.mul(self.exp_small(r), self.power_of_two(n));
            let far = self.sub(one, self.div_raw(two, self.add(e, one)));
            self.copysign(self.select(self.lt(a, self.f32(0.625)), near, far), x)
        })
    }

    /// asinh x.
    pub fn asinh(&self, x: Reg) -> Reg {
        self.noted(&ASINH_RULE, &[x], || {
            let a = self.abs(x);
            let huge = self.gt(a, self.f32(HUGE));
            let b = self.select(huge, self.f32(0.0), a);
            let square = self.mul(b, b);
            let root = self.sqrt(self.add(square, self.f32(1.0)));
            let more = self.div_raw(square, self.add(root, self.f32(1.0)));
            let t = self.select(huge, a, self.add(b, more));
            let y = self.log1p(t);
            self.copysign(self.select(huge, self.add(y, self.f32(std::f32::consts::LN_2)), y), x)
        })
    }

    /// acosh x; NaN below 1.
    pub fn acosh(&self, x: Reg) -> Reg {
        self.noted(&ACOSH_RULE, &[x], || {
            let one = self.f32(1.0);
            let huge = self.gt(x, self.f32(HUGE));
            let t = self.sub_precise(self.select(huge, one, x), one);
            let root = self.sqrt(self.mul(t, self.add(t, self.f32(2.0))));
            let y = self.log1p(self.select(huge, x, self.add(t, root)));
            let y = self.select(huge, self.add(y, self.f32(std::f32::consts::LN_2)), y);
            self.select(self.lt(x, one), self.f32(NAN), y)
        })
    }

    /// atanh x; ±∞ at ±1, NaN beyond.
    pub fn atanh(&self, x: Reg) -> Reg {
        self.noted(&ATANH_RULE, &[x], || {
            let a = self.abs(x);
            let one = self.f32(1.0);
            let quotient = self.div_raw(self.add(a, a), self.sub_precise(one, a));
            let y = self.mul(self.log1p(quotient), self.f32(0.5));
            let y = self.select(self.eq(a, one), self.f32(INF), y);
            let inside = self.le(a, one);
            let y = self.select(inside, y, self.f32(NAN));
            self.select(self.lt(a, self.f32(1e-8)), x, self.copysign(y, x))
        })
    }

    /// e^a / 2 for a ≥ 0.
    fn half_exp(&self, a: Reg) -> Reg {
        let (r, n) = self.exp_reduce(self.limit(a, 0.0, 91.0), None);
        self.scale2(self.exp_small(r), self.sub(n, self.i32(1)))
    }
}
