//! Elementwise nodes of random programs.

use super::{Garden, Item};
use pumice_ir::ops::bit_shift::ShiftDirection;
use pumice_ir::{GraphBuilder, Value};
use pumice_types::DType;

type Unary = fn(&GraphBuilder, Value) -> Value;

/// Continuous everywhere, growing no faster than their operand.
const SMOOTH: &[Unary] = &[
    |g, x| g.neg(x),
    |g, x| g.abs(x),
    |g, x| g.sin(x),
    |g, x| g.cos(x),
    |g, x| g.atan(x),
    |g, x| g.tanh(x),
    |g, x| g.asinh(x),
    |g, x| g.erf(x),
    |g, x| g.sigmoid(x),
    |g, x| g.log_sigmoid(x),
    |g, x| g.softplus(x),
    |g, x| g.softsign(x),
    |g, x| g.mish(x),
    |g, x| g.gelu(x),
    |g, x| g.gelu_tanh(x),
    |g, x| g.silu(x),
    |g, x| g.identity(x),
    |g, x| g.stop_gradient(x),
];

/// Smooth, with derivatives that are so, too, of at most 2.
const SLOPED: &[Unary] = &[
    |g, x| g.sin(x),
    |g, x| g.cos(x),
    |g, x| g.atan(x),
    |g, x| g.tanh(x),
    |g, x| g.erf(x),
    |g, x| g.sigmoid(x),
    |g, x| g.softplus(x),
    |g, x| g.mish(x),
    |g, x| g.gelu(x),
    |g, x| g.gelu_tanh(x),
    |g, x| g.swish(x, 1.7),
];

/// Functions with a domain or growth of their own, on operands brought there first: t is in (−1, 1), p at least 1.
const BROUGHT: &[Unary] = &[
    |g, t| g.exp(t),
    |g, t| g.exp2(t),
    |g, t| g.expm1(t),
    |g, t| g.sinh(t),
    |g, t| g.cosh(t),
    |g, t| g.tan(t),
    |g, t| g.square(t),
    |g, t| g.asin(half(g, t)),
    |g, t| g.acos(half(g, t)),
    |g, t| g.atanh(half(g, t)),
    |g, t| g.log(positive(g, t)),
    |g, t| g.log2(positive(g, t)),
    |g, t| g.log1p(positive(g, t)),
    |g, t| g.acosh(g.add(positive(g, t), number(g, 0.5))),
    |g, t| g.sqrt(positive(g, t)),
    |g, t| g.rsqrt(positive(g, t)),
    |g, t| g.reciprocal(positive(g, t)),
    |g, t| g.pow_scalar(positive(g, t), 1.5),
    |g, t| g.pow(positive(g, t), t),
    |g, t| g.div(t, positive(g, t)),
    |g, t| g.atan2(t, positive(g, t)),
];

fn number(g: &GraphBuilder, v: f64) -> Value {
    g.constant_scalar(DType::F32, v)
}

fn half(g: &GraphBuilder, t: Value) -> Value {
    g.mul(t, number(g, 0.5))
}

fn positive(g: &GraphBuilder, t: Value) -> Value {
    g.add(g.mul(t, t), number(g, 1.0))
}

impl Garden<'_> {
    /// The derivative of a function, as `grad` makes it.
    fn slope(&mut self, x: Item) -> Item {
        let f = self.pick(SLOPED);
        let loss = self.g.reduce_sum(f(self.g, x.value), &[], false);
        self.about(self.g.grad(loss, &[x.value])[0], 2.0)
    }

    pub(super) fn unary(&mut self) -> Option<Item> {
        let x = self.real();
        if self.below(10) == 0 {
            return Some(self.slope(x));
        }
        if self.below(2) == 0 {
            let f = self.pick(SMOOTH);
            return Some(self.about(f(self.g, x.value), x.size.max(1.0)));
        }
        let t = self.g.tanh(x.value);
        let f = self.pick(BROUGHT);
        Some(self.about(f(self.g, t), 3.0))
    }

    /// Activations with settings, and other shapes of elementwise ops; all continuous.
    pub(super) fn activation(&mut self) -> Option<Item> {
        let g = self.g;
        let x = self.real();
        let v = x.value;
        let y = match self.below(16) {
            0 => g.relu(v),
            1 => g.leaky_relu(v, 0.1),
            2 => g.elu(v, 0.7),
            3 => g.celu(v, 1.3),
            4 => g.selu(v, 1.673, 1.05),
            5 => g.hard_sigmoid(v, 0.2, 0.5),
            6 => g.hard_swish(v, 1.0 / 6.0, 0.5),
            7 => g.shrink(v, 0.5, 0.5),
            8 => g.affine(v, 0.75, -0.25),
            9 => g.clip(v, Some(-1.5), Some(2.0)),
            10 => g.clip_by(v, Some(number(g, -1.0)), None),
            11 => {
                let slope = self.param(&[self.width(v)]);
                g.p_relu(v, slope)
            }
            12 => {
                let b = self.param(&[self.width(v)]);
                g.bias_add(v, b, -1)
            }
            13 => g.dropout(v, 0.5).0,
            14 => {
                // It jumps at its threshold: an exact operand.
                let e = self.find(|s, i| i.exact && s.ty(i.value).dtype() == DType::F32)?;
                return Some(self.exact(g.thresholded_relu(e.value, 0.5), e.size));
            }
            _ => g.swish(v, 1.7),
        };
        Some(self.about(y, x.size + 1.0))
    }

    pub(super) fn binary(&mut self) -> Option<Item> {
        let g = self.g;
        let a = self.real();
        let b = self.second(a);
        let (x, y) = if self.below(3) == 0 { (b.value, a.value) } else { (a.value, b.value) };
        let sum = a.size + b.size;
        let (value, size) = match self.below(8) {
            0 | 1 => (g.add(x, y), sum),
            2 => (g.sub(x, y), sum),
            3 => (g.mul(x, y), a.size * b.size),
            4 => (g.max(&[x, y]), a.size.max(b.size)),
            5 => (g.min(&[x, y]), a.size.max(b.size)),
            6 => (g.sum(&[x, y, a.value]), sum + a.size),
            _ if self.below(2) == 0 => return Some(self.about(g.mean(&[x, y, a.value]), sum)),
            _ => (g.fma(x, y, a.value), a.size * b.size + a.size),
        };
        // Small integers stay integers that every device computes the same.
        Some(Item { value, size, exact: a.exact && b.exact && size < 1e5 })
    }

    /// An f32 operand that broadcasts with another: of its shape, a row, or a number.
    pub(super) fn second(&mut self, a: Item) -> Item {
        match self.below(5) {
            0 => {
                let p = self.param(&[self.width(a.value)]);
                self.about(p, 2.0)
            }
            1 => {
                let v = self.pick(&[1.0, 0.5, -2.0, 0.0]);
                self.about(number(self.g, v), 2.0)
            }
            _ => self.twin(a),
        }
    }

    /// Integers: arithmetic, bits, shifts, remainders.
    pub(super) fn whole(&mut self) -> Option<Item> {
        let g = self.g;
        let a = self
            .find(|s, i| matches!(s.ty(i.value).dtype(), DType::I32 | DType::I64 | DType::U8 | DType::I16))?;
        let ty = self.ty(a.value);
        let b = self.find(|s, i| s.ty(i.value) == ty)?;
        let number = |v: f64| g.constant_scalar(ty.dtype(), v);
        let (x, y) = (a.value, b.value);
        let value = match self.below(13) {
            0 => g.add(x, y),
            1 => g.sub(x, y),
            2 => g.mul(x, y),
            3 => g.bitwise_and(x, y),
            4 => g.bitwise_or(x, y),
            5 => g.bitwise_xor(x, y),
            6 => g.bitwise_not(x),
            7 if ty.dtype() == DType::U8 => g.bit_shift(x, number(1.0), ShiftDirection::Right),
            7 => g.bit_shift(x, number(2.0), self.pick(&[ShiftDirection::Left, ShiftDirection::Right])),
            8 => g.modulo(x, number(3.0), self.below(2) == 0),
            9 => g.div(x, number(3.0)),
            10 => g.max(&[x, y]),
            11 if ty.dtype() != DType::U8 => g.abs(g.neg(x)),
            _ => g.min(&[x, y]),
        };
        Some(self.exact(value, 1e9))
    }

    /// Booleans from exact values.
    pub(super) fn compare(&mut self) -> Option<Item> {
        let g = self.g;
        let a = self.find(|s, i| i.exact && s.ty(i.value).dtype() != DType::Bool)?;
        let ty = self.ty(a.value);
        let b = self.find(|s, i| i.exact && s.ty(i.value) == ty)?;
        let (x, y) = (a.value, b.value);
        let value = match self.below(8) {
            0 => g.equal(x, y),
            1 => g.not_equal(x, y),
            2 => g.less(x, y),
            3 => g.less_or_equal(x, y),
            4 => g.greater(x, y),
            5 => g.greater_or_equal(x, y),
            6 if ty.dtype().is_float() => g.is_nan(x),
            7 if ty.dtype().is_float() => g.is_inf(x, true, true),
            _ => g.less(g.constant_scalar(ty.dtype(), 1.0), y),
        };
        Some(self.exact(value, 1.0))
    }

    /// Logic on booleans, and choices by them.
    pub(super) fn logic(&mut self) -> Option<Item> {
        let g = self.g;
        let c = self.find(|s, i| s.ty(i.value).dtype() == DType::Bool)?;
        let ty = self.ty(c.value);
        let d = self.find(|s, i| s.ty(i.value) == ty)?;
        let value = match self.below(7) {
            0 => g.and(c.value, d.value),
            1 => g.or(c.value, d.value),
            2 => g.xor(c.value, d.value),
            3 => g.not(c.value),
            _ => {
                let shape = ty.shape.clone();
                let x =
                    self.find(|s, i| s.ty(i.value).shape == shape && s.ty(i.value).dtype() != DType::Bool)?;
                let y = self.twin(x);
                let x = if self.ty(y.value) == self.ty(x.value) { x } else { y };
                let item = Item {
                    value: g.select(c.value, x.value, y.value),
                    size: x.size.max(y.size),
                    exact: x.exact && y.exact,
                };
                return Some(item);
            }
        };
        Some(self.exact(value, 1.0))
    }
}
