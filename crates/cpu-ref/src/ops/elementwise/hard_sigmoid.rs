//! `HardSigmoid`.

use crate::ops::elementwise::{max, min, unary_eval};
use pumice_ir::ops::HardSigmoid;

// αx + β cancels near its zero: the error there is absolute.
unary_eval!(HardSigmoid, ulp 2.0, abs 2e-7 * f64::from(op.beta.abs().max(1.0)), |op, x| gate(op, x), slope line_slope(op, x));

fn gate(op: &HardSigmoid, x: f64) -> f64 {
    min(1.0, max(0.0, f64::from(op.alpha) * x + f64::from(op.beta)))
}

/// 0 at both ends of the line.
fn line_slope(op: &HardSigmoid, x: f64) -> f64 {
    let inside = gate(op, x) > 0.0 && gate(op, x) < 1.0;
    if inside { f64::from(op.alpha) } else { 0.0 }
}
