//! Numbers to measure with, and the arithmetic in f64 that results are checked against.

use crate::row::Outcome;

/// `n` numbers in `low..high`, from a seed: splitmix64, its upper 24 bits.
pub fn random(seed: u64, n: usize, low: f32, high: f32) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let scale = (high - low) / (1 << 24) as f32;
    let next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        low + ((z ^ (z >> 31)) >> 40) as f32 * scale
    };
    std::iter::repeat_with(next).take(n).collect()
}

/// `n` bytes from a seed, all values alike: xorshift.
pub fn bytes(seed: u64, n: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut all = Vec::with_capacity(n + 8);
    while all.len() < n {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        all.extend_from_slice(&state.wrapping_mul(0x2545_f491_4f6c_dd1d).to_le_bytes());
    }
    all.truncate(n);
    all
}

/// A row times a matrix of `n` columns.
pub fn row_times(row: &[f64], matrix: &[f32], n: usize) -> Vec<f64> {
    sums(row, matrix, n, f64::from)
}

/// A row times the sizes of a matrix of `n` columns: Σ|term| where the row is of sizes too.
pub fn row_times_abs(row: &[f64], matrix: &[f32], n: usize) -> Vec<f64> {
    sums(row, matrix, n, |w| f64::from(w.abs()))
}

fn sums(row: &[f64], matrix: &[f32], n: usize, f: impl Fn(f32) -> f64) -> Vec<f64> {
    let mut out = vec![0.0; n];
    for (x, line) in row.iter().zip(matrix.chunks_exact(n)) {
        for (sum, w) in out.iter_mut().zip(line) {
            *sum += x * f(*w);
        }
    }
    out
}

/// What a sum of `k` terms with Σ|term| of `size` may be off by in f32, in any order: 4(⌈log₂k⌉ + 4)·2⁻²⁴·Σ|term|.
pub fn of_sum(k: u64, size: f64) -> f64 {
    4.0 * ((k.max(1) as f64).log2().ceil() + 4.0) * 2f64.powi(-24) * size
}

/// x/2 · (1 + erf(x/√2)).
pub fn gelu(x: f64) -> f64 {
    0.5 * x * (1.0 + erf(x / std::f64::consts::SQRT_2))
}

/// The error function by its series 2/√π · Σ (−1)ⁿ x²ⁿ⁺¹ / (n! (2n+1)); beyond ±4 it is ±1 to 2e-8.
fn erf(x: f64) -> f64 {
    if x.abs() > 4.0 {
        return x.signum();
    }
    let (mut power, mut sum) = (x, x);
    for n in 1..120 {
        power *= -x * x / f64::from(n);
        sum += power / f64::from(2 * n + 1);
    }
    sum * std::f64::consts::FRAC_2_SQRT_PI
}

/// The worst |got − want| / max(1, |want|), or an error if it passes the tolerance or something is no number.
pub fn worst(got: &[f32], want: &[f64], tolerance: f64) -> Outcome<f64> {
    worst_within(got, want, |i| tolerance * want[i].abs().max(1.0))
}

/// As [`worst`], with what each element may be off by.
pub fn worst_within(got: &[f32], want: &[f64], allowed: impl Fn(usize) -> f64) -> Outcome<f64> {
    if got.len() != want.len() {
        return Err(format!("{} results where {} were expected", got.len(), want.len()).into());
    }
    let mut worst = 0.0f64;
    for (i, (&g, &w)) in got.iter().zip(want).enumerate() {
        let off = (f64::from(g) - w).abs();
        if off.is_nan() || off > allowed(i) {
            return Err(format!("element {i} is {g} and should be {w}: not timed").into());
        }
        worst = worst.max(off / w.abs().max(1.0));
    }
    Ok(worst)
}
