//! `ThresholdedRelu`.

use crate::ops::elementwise::unary_eval;

unary_eval!(ThresholdedRelu, ulp 0.5, |op, x| if x <= f64::from(op.alpha) { 0.0 } else { x }, slope f64::from(x > f64::from(op.alpha)));
