//! Scale, or scale and minimum, of a few values whose codes are small integers: the least squared error that is found.
//!
//! The error has no closed form, since codes are rounded. Of codes that stand still it has one: least squares. So some
//! scales are tried around the one that spans the values; each rounds the codes, from which the best scale follows.

/// x ≈ scale · q − minimum, neither below 0.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Affine {
    pub scale: f32,
    pub minimum: f32,
}

impl Affine {
    /// The nearest code, of 0 to `top`.
    pub fn code(self, x: f32, top: f32) -> f32 {
        code((x + self.minimum) * inverse(self.scale), 0.0, top)
    }

    /// The squared error of values with their nearest codes.
    pub fn error(self, values: &[f32], top: f32) -> f32 {
        let inverse = inverse(self.scale);
        let [error] = sums(values, |x| {
            let q = code((x + self.minimum) * inverse, 0.0, top);
            let off = self.scale * q - self.minimum - x;
            [off * off]
        });
        error
    }

    /// The best for the codes that this one gives: with n values, Σ(s q − m − x)² is least where
    /// s = (n Σxq − Σx Σq) / (n Σq² − (Σq)²) and m = (s Σq − Σx) / n; where that m is below 0, at m = 0, s = Σxq / Σq².
    fn refitted(self, values: &[f32], top: f32) -> Affine {
        let inverse = inverse(self.scale);
        let [x1, q1, q2, xq] = sums(values, |x| {
            let q = code((x + self.minimum) * inverse, 0.0, top);
            [x, q, q * q, x * q]
        });
        let n = values.len() as f32;
        let determinant = n * q2 - q1 * q1;
        // All codes are one: nothing is known of the scale.
        if determinant <= 0.0 {
            return self;
        }
        let scale = (n * xq - x1 * q1) / determinant;
        let minimum = (scale * q1 - x1) / n;
        match minimum >= 0.0 {
            true => Affine { scale, minimum },
            false => Affine { scale: xq / q2, minimum: 0.0 },
        }
    }
}

/// Spans that are tried, in codes more than `top`.
const SPANS: [f32; 11] = [-0.8, -0.6, -0.4, -0.2, 0.0, 0.2, 0.4, 0.6, 0.8, 1.1, 1.5];

/// Scale and minimum for codes of 0 to `top`.
pub(super) fn affine(values: &[f32], top: f32) -> Affine {
    let low = values.iter().fold(0f32, |least, &x| least.min(x));
    let high = values.iter().fold(low, |most, &x| most.max(x));
    if high <= low {
        return Affine { scale: 0.0, minimum: -low };
    }
    let mut best = Affine { scale: (high - low) / top, minimum: -low };
    let mut least = best.error(values, top);
    for span in SPANS {
        let first = Affine { scale: (high - low) / (top + span), minimum: -low };
        let fitted = first.refitted(values, top).refitted(values, top);
        let error = fitted.error(values, top);
        if error < least {
            (best, least) = (fitted, error);
        }
    }
    best
}

/// The scale s of x ≈ s · q for codes of `low` (below 0) to `high`; of either sign.
pub(super) fn signed(values: &[f32], low: f32, high: f32) -> f32 {
    let extreme = values.iter().fold(0f32, |most, &x| if x.abs() > most.abs() { x } else { most });
    if extreme == 0.0 {
        return 0.0;
    }
    let (mut best, mut most) = (extreme / low, f32::NEG_INFINITY);
    for step in -9..=9 {
        let inverse = (low - 0.1 * step as f32) / extreme;
        let [xq, q2] = sums(values, |x| {
            let q = code(x * inverse, low, high);
            [x * q, q * q]
        });
        // Σ(x − s q)² is least at s = Σxq / Σq², where it is Σx² − (Σxq)² / Σq².
        if q2 > 0.0 && xq * xq / q2 > most {
            (best, most) = (xq / q2, xq * xq / q2);
        }
    }
    best
}

/// The squared error of values with their nearest codes.
pub(super) fn signed_error(values: &[f32], scale: f32, low: f32, high: f32) -> f32 {
    let inverse = inverse(scale);
    let [error] = sums(values, |x| {
        let off = scale * code(x * inverse, low, high) - x;
        [off * off]
    });
    error
}

/// Sums over values, whose number is a multiple of 8: eight lanes of each, which compilers make vectors of.
fn sums<const N: usize>(values: &[f32], terms: impl Fn(f32) -> [f32; N]) -> [f32; N] {
    const LANES: usize = 8;
    let mut lanes = [[0f32; LANES]; N];
    for eight in values.chunks_exact(LANES) {
        for (lane, &x) in eight.iter().enumerate() {
            let all = terms(x);
            (0..N).for_each(|i| lanes[i][lane] += all[i]);
        }
    }
    lanes.map(|lane| lane.iter().sum())
}

/// The nearest code. (Adding and taking away 1.5 · 2²³ rounds a number below 2²² to the nearest integer.)
pub(super) fn code(x: f32, low: f32, high: f32) -> f32 {
    const ROUND: f32 = 12_582_912.0;
    (x.clamp(low, high) + ROUND) - ROUND
}

/// 1 / s; 0 of 0.
pub(super) fn inverse(scale: f32) -> f32 {
    if scale == 0.0 { 0.0 } else { 1.0 / scale }
}
