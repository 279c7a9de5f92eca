//! `Rotary`.

use crate::array::Array;
use crate::eval::{Eval, EvalCx, Status};
use crate::index::strides;
use crate::tolerance::Tolerance;
use pumice_ir::ops::Rotary;

impl Eval for Rotary {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let x = cx.arg(0);
        raise_outside(self, cx);
        let y = rotated(self, cx, |c, s, x1, x2| (c * x1 - s * x2, s * x1 + c * x2));
        vec![Array::floats(x.dtype, &x.shape, y)]
    }

    /// Two products and a difference. Angles must be reduced to a turn before they become f32, so cosine and sine are
    /// off by a few 2⁻²⁴ at any position.
    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        Tolerance::sum(cx.out().0, 2)
    }

    fn magnitude(&self, cx: &EvalCx<'_>) -> Vec<f64> {
        let size = f64::from(self.magnitude).abs();
        rotated(self, cx, |_, _, x1, x2| {
            let both = size * (x1.abs() + x2.abs());
            (both, both)
        })
    }
}

/// Cosine and sine for pair i of row s of batch entry b.
fn angle(
    op: &Rotary,
    cx: &EvalCx<'_>,
    (b, s, rows): (usize, usize, usize),
    i: usize,
    pairs: usize,
) -> (f64, f64) {
    let position = cx.opt(1).map(|p| match p.as_ints() {
        [first] if p.shape.is_empty() => first.saturating_add(s as i64),
        all => all[b * rows + s],
    });
    let Some((cos, sin)) = cx.opt(2).zip(cx.opt(3)) else {
        let exponent = -2.0 * i as f64 / (2 * pairs) as f64;
        let turn = f64::from(op.theta).powf(exponent) * f64::from(op.freq_scale);
        let factor = cx.opt(4).map_or(1.0, |factors| factors.as_floats()[i]);
        let angle = position.unwrap_or(0) as f64 * (turn / factor);
        return (angle.cos(), angle.sin());
    };
    let row = match position {
        Some(p) => usize::try_from(p).ok().filter(|&p| p < cos.shape[0] as usize),
        None if cos.shape.len() == 3 => Some(b * rows + s),
        None => Some(s),
    };
    row.map_or((0.0, 0.0), |r| (cos.as_floats()[r * pairs + i], sin.as_floats()[r * pairs + i]))
}

/// Positions outside the tables, each once.
fn raise_outside(op: &Rotary, cx: &EvalCx<'_>) {
    let (Some(pos), Some(cos)) = (cx.opt(1), cx.opt(2)) else { return };
    if cos.shape[1] == 0 || cx.arg(0).is_empty() {
        return; // No row is read.
    }
    let outside = |p: i64| p < 0 || p >= cos.shape[0] as i64;
    let rows: Vec<i64> = match pos.as_ints() {
        [first] if pos.shape.is_empty() => {
            let rows = cx.arg(0).shape[op.layout.axes()[2]] as i64;
            (0..rows).map(|s| first.saturating_add(s)).collect()
        }
        all => all.to_vec(),
    };
    let found = rows.into_iter().enumerate().filter(|&(_, p)| outside(p));
    found.for_each(|(i, _)| cx.raise(Status::IndexOutOfRange(i as u64)));
}

/// One pair of results per pair, the other elements as they are, in x's layout.
fn rotated(op: &Rotary, cx: &EvalCx<'_>, turn: impl Fn(f64, f64, f64, f64) -> (f64, f64)) -> Vec<f64> {
    let x = cx.arg(0);
    let axes = op.layout.axes();
    let [batch, heads, rows, width] = axes.map(|a| x.shape[a] as usize);
    let walk = axes.map(|a| strides(&x.shape)[a] as usize);
    let pairs = op.rotated(width as u64).expect("inference has accepted n_rot") as usize / 2;
    let mut y = x.as_floats().to_vec();
    for b in 0..batch {
        for s in 0..rows {
            for i in 0..pairs {
                let (cos, sin) = angle(op, cx, (b, s, rows), i, pairs);
                let (c, sin) = (f64::from(op.magnitude) * cos, f64::from(op.magnitude) * sin);
                for h in 0..heads {
                    let head = b * walk[0] + h * walk[1] + s * walk[2];
                    let (i1, i2) = if op.interleaved { (2 * i, 2 * i + 1) } else { (i, i + pairs) };
                    let (at1, at2) = (head + i1 * walk[3], head + i2 * walk[3]);
                    (y[at1], y[at2]) = turn(c, sin, y[at1], y[at2]);
                }
            }
        }
    }
    y
}
