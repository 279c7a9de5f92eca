//! `LeakyRelu`.

use crate::ops::elementwise::unary_eval;

// α is any f32, so the product of a 16-bit value is rounded to f32 first.
unary_eval!(LeakyRelu, ulp 1.0, |op, x| if x < 0.0 { f64::from(op.alpha) * x } else { x }, slope if x <= 0.0 { f64::from(op.alpha) } else { 1.0 });
