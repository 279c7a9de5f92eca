//! `PRelu`.

use crate::ops::elementwise::binary_eval;

binary_eval!(PRelu, ulp 0.5, |x, slope| if x < 0.0 { slope * x } else { x }, int |_d, i, _j| i, slopes if x <= 0.0 { slope } else { 1.0 }, if x <= 0.0 { x } else { 0.0 });
