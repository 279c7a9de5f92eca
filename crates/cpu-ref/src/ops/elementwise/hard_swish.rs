//! `HardSwish`.

use crate::ops::elementwise::{max, min, unary_eval};
use pumice_ir::ops::HardSwish;

// αx + β cancels near its zero, where |x| is a few units: the error there is absolute.
unary_eval!(HardSwish, ulp 2.0, abs 1e-6, |op, x| x * gate(op, x), slope gate(op, x) + x * line_slope(op, x));

fn gate(op: &HardSwish, x: f64) -> f64 {
    min(1.0, max(0.0, f64::from(op.alpha) * x + f64::from(op.beta)))
}

/// 0 at both ends of the line.
fn line_slope(op: &HardSwish, x: f64) -> f64 {
    let inside = gate(op, x) > 0.0 && gate(op, x) < 1.0;
    if inside { f64::from(op.alpha) } else { 0.0 }
}
