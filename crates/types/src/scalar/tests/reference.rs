//! f64 reference values that the standard library lacks.

/// erf by its Taylor series near zero and erfc beyond.
pub(super) fn erf(x: f64) -> f64 {
    if x.abs() > 2.5 {
        return x.signum() * (1.0 - erfc(x.abs()));
    }
    let (mut term, mut sum) = (x, x);
    for n in 1..120 {
        term *= -x * x / n as f64;
        sum += term / (2 * n + 1) as f64;
    }
    sum * std::f64::consts::FRAC_2_SQRT_PI
}

/// erfc for any x, by its continued fraction where 1 − erf would cancel.
pub(super) fn erfc(x: f64) -> f64 {
    if x < 1.5 {
        return 1.0 - erf(x);
    }
    let mut tail = 0.0;
    for k in (1..400).rev() {
        tail = 0.5 * k as f64 / (x + tail);
    }
    (-x * x).exp() / ((x + tail) * std::f64::consts::PI.sqrt())
}

pub(super) fn gelu(x: f64) -> f64 {
    0.5 * x * erfc(-x * std::f64::consts::FRAC_1_SQRT_2)
}

pub(super) fn gelu_tanh(x: f64) -> f64 {
    let u = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x * x * x);
    x * sigmoid(2.0 * u)
}

pub(super) fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

pub(super) fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

pub(super) fn mish(x: f64) -> f64 {
    x * softplus(x).tanh()
}

pub(super) fn asinh(x: f64) -> f64 {
    let a = x.abs();
    let y = if a > 1e9 {
        a.ln() + std::f64::consts::LN_2
    } else {
        (a + a * a / (1.0 + (a * a + 1.0).sqrt())).ln_1p()
    };
    y.copysign(x)
}

pub(super) fn acosh(x: f64) -> f64 {
    if x < 1.0 {
        return f64::NAN;
    }
    let t = x - 1.0;
    if x > 1e9 { x.ln() + std::f64::consts::LN_2 } else { (t + (t * (t + 2.0)).sqrt()).ln_1p() }
}

pub(super) fn atanh(x: f64) -> f64 {
    0.5 * (2.0 * x / (1.0 - x)).ln_1p()
}
