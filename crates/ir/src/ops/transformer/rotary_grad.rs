//! The rule of gradients of `Rotary`.
//!
//! dx is dy turned by the negative angle. With x₁, x₂ and dy₁, dy₂ the two halves of pairs, m the magnitude:
//! dcos = m·Σ(dy₁·x₁ + dy₂·x₂), dsin = m·Σ(dy₂·x₁ − dy₁·x₂) over what reads an entry of the tables. An angle's gradient
//! is Σ(dy₂·y₁ − dy₁·y₂), that of the factor f of a pair −Σ dangle·pos·ω/f², ω = θ^(−2i/n_rot)·freq_scale.

use super::attention::AttentionLayout;
use super::rotary::Rotary;
use crate::builder::{GraphBuilder, Value};
use crate::ops::gradient::{narrowed, wide};
use crate::ops::{GradCx, Grads, NoGrad};
use pumice_types::{DType, DimExpr, Tensor};

const NO_WIDTH: NoGrad = NoGrad::Undefined("the width of a head is not known");

/// Gradients of x, the tables and the factors.
pub(super) fn rule(op: &Rotary, cx: &GradCx<'_>) -> Result<Grads, NoGrad> {
    let dx = cx.wanted(0, || of_x(op, cx));
    let mut grads = vec![dx, None, None, None, None];
    if !(2..5).any(|i| cx.wants(i)) {
        return Ok(grads);
    }
    let turned = Turned::new(op, cx)?;
    for i in [2, 3, 4] {
        let Some(operand) = cx.opt(i).filter(|_| cx.wants(i)) else { continue };
        grads[i] = Some(narrowed(cx, turned.of_angles(i, operand)?, operand));
    }
    Ok(grads)
}

/// dy turned back.
fn of_x(op: &Rotary, cx: &GradCx<'_>) -> Value {
    let tables = cx.opt(2).zip(cx.opt(3)).map(|(cos, sin)| (cos, cx.g.neg(sin)));
    let freq_scale = if tables.is_some() { op.freq_scale } else { -op.freq_scale };
    let (cos, sin) = tables.unzip();
    cx.g.apply_all(Rotary { freq_scale, ..op.clone() }, &[Some(cx.dy()), cx.opt(1), cos, sin, cx.opt(4)])[0]
}

/// What turns, in f32.
struct Turned<'a, 'b> {
    op: &'a Rotary,
    cx: &'a GradCx<'b>,
    g: &'a GraphBuilder,
    pairs: u64,
    dy: [Value; 2],
    x: [Value; 2],
}

impl<'a, 'b> Turned<'a, 'b> {
    fn new(op: &'a Rotary, cx: &'a GradCx<'b>) -> Result<Turned<'a, 'b>, NoGrad> {
        let width = cx.shape(cx.x(0)).last().and_then(DimExpr::as_extent).ok_or(NO_WIDTH)?;
        let pairs = op.rotated(width).map_err(|_| NO_WIDTH)? / 2;
        let [dy, x] = [cx.dy(), cx.x(0)].map(|v| halves(op, cx.g, v, pairs));
        Ok(Turned { op, cx, g: cx.g, pairs, dy, x })
    }

    /// Σ(dy₁·v₁ + dy₂·v₂) over heads: \[B, S, n_rot/2\].
    fn along(&self, [v1, v2]: [Value; 2]) -> Value {
        let (g, [dy1, dy2]) = (self.g, self.dy);
        g.reduce_sum(g.add(g.mul(dy1, v1), g.mul(dy2, v2)), &[1], false)
    }

    /// Σ(dy₂·v₁ − dy₁·v₂) over heads: \[B, S, n_rot/2\].
    fn around(&self, [v1, v2]: [Value; 2]) -> Value {
        let (g, [dy1, dy2]) = (self.g, self.dy);
        g.reduce_sum(g.sub(g.mul(dy2, v1), g.mul(dy1, v2)), &[1], false)
    }

    /// The gradient of what angles are made of: a table, or factors.
    fn of_angles(&self, i: usize, operand: Value) -> Result<Value, NoGrad> {
        Ok(match i {
            _ if self.pairs == 0 => self.cx.zeros(operand),
            2 => self.of_table(self.along(self.x)),
            3 => self.of_table(self.around(self.x)),
            _ => self.of_factors(operand)?,
        })
    }

    /// Sums of \[B, S, n_rot/2\] where the tables' rows are.
    fn of_table(&self, sums: Value) -> Value {
        let (g, cx) = (self.g, self.cx);
        let sums = if self.op.magnitude == 1.0 { sums } else { g.affine(sums, self.op.magnitude, 0.0) };
        let table = cx.shape(cx.x(2));
        let batch_summed = |v| g.reduce_sum(v, &[0], false);
        match cx.opt(1) {
            None if table.len() == 3 => sums,
            None => batch_summed(sums),
            Some(pos) if cx.ty(pos).rank() == 0 => {
                let places = self.places(pos);
                self.scattered(batch_summed(sums), places, &table)
            }
            Some(pos) => self.scattered_by_batch(sums, pos, &table),
        }
    }

    /// Sums added where the positions of each batch say.
    fn scattered_by_batch(&self, sums: Value, pos: Value, table: &[DimExpr]) -> Value {
        let (g, shape) = (self.g, self.cx.shape(sums));
        let rows = &shape[0] * &shape[1];
        let updates = g.reshape_to(sums, vec![rows.clone(), self.pairs.into()]);
        self.scattered(updates, g.reshape_to(pos, vec![rows]), table)
    }

    /// The position of each row: i32 \[S\].
    fn places(&self, first: Value) -> Value {
        let rows = self.cx.shape(self.cx.x(0))[self.op.layout.axes()[2]].clone();
        self.g.add(self.g.range(0u64, rows, 1, DType::I32), first)
    }

    /// Rows added where their positions say; those outside the tables, which the forward op reports, nowhere.
    fn scattered(&self, rows: Value, places: Value, table: &[DimExpr]) -> Value {
        let g = self.g;
        let count = g.extent(self.cx.x(2), 0);
        let zero = g.constant_scalar(DType::I32, 0.0);
        let inside = g.and(g.greater_or_equal(places, zero), g.less(places, count));
        let rows = g.select(g.unsqueeze(inside, &[1]), rows, g.constant_scalar(DType::F32, 0.0));
        g.scatter_add(rows, g.select(inside, places, zero), table[0].clone())
    }

    /// The gradients of the factors of angles.
    fn of_factors(&self, factors: Value) -> Result<Value, NoGrad> {
        let (g, cx) = (self.g, self.cx);
        let y = halves(self.op, g, cx.y(0), self.pairs);
        let angles = self.around(y);
        let pos = cx.x(1);
        let places = if cx.ty(pos).rank() == 0 { self.places(pos) } else { pos };
        let places = g.unsqueeze(g.cast(places, DType::F32), &[-1]);
        let moved = g.reduce_sum(g.mul(angles, places), &[0, 1], false);
        Ok(g.div(g.mul(moved, g.constant(self.speeds()?)), g.square(factors)))
    }

    /// −ω of each pair.
    fn speeds(&self) -> Result<Tensor, NoGrad> {
        let speed = |i: u64| {
            let exponent = -2.0 * i as f64 / (2 * self.pairs) as f64;
            (-f64::from(self.op.theta).powf(exponent) * f64::from(self.op.freq_scale)) as f32
        };
        let speeds: Vec<f32> = (0..self.pairs).map(speed).collect();
        Tensor::new(&speeds, &[self.pairs]).map_err(|_| NO_WIDTH)
    }
}

/// The first and the second elements of all pairs in f32: \[B, H, S, n_rot/2\].
fn halves(op: &Rotary, g: &GraphBuilder, v: Value, pairs: u64) -> [Value; 2] {
    let v = if op.layout == AttentionLayout::Bshd { g.transpose(v, &[0, 2, 1, 3]) } else { v };
    let n = pairs as i64;
    let parts = [0, 1].map(|part| match op.interleaved {
        true => g.slice(v, &[part], &[2 * n], &[3], &[2]),
        false => g.slice(v, &[part * n], &[(part + 1) * n], &[3], &[]),
    });
    parts.map(|part| wide(g, part))
}
