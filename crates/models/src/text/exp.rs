//! The exponential function from additions and multiplications alone.
//!
//! The system's own differs in the last bit between machines; a seed must draw the same tokens on each of them.

/// ln 2 in two parts: the first has few bits, so that whole multiples of it are exact.
const LN2_HIGH: f64 = 0.693_147_180_369_123_8;
const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;

/// e^x for x ≤ 0; zero where the result would be below the smallest normal number.
pub(super) fn exp(x: f64) -> f64 {
    if x < -708.0 {
        return 0.0;
    }
    // x = k·ln 2 + r with |r| ≤ ln 2 / 2, e^x = 2^k · e^r.
    let k = (x * std::f64::consts::LOG2_E).round();
    let r = (x - k * LN2_HIGH) - k * LN2_LOW;
    // e^r = 1 + r(1 + r/2(1 + r/3(…))); the first term left out is r^14/14! < 5e-18.
    let series = (1..=13).rev().fold(1.0, |rest, n| 1.0 + r / f64::from(n) * rest);
    let power = (1023 + k as i64) as u64;
    series * f64::from_bits(power << 52)
}

#[cfg(test)]
mod tests {
    use super::exp;

    #[test]
    fn it_is_the_exponential() {
        for i in 0..70_000 {
            let x = -f64::from(i) / 99.0;
            assert!((exp(x) / x.exp() - 1.0).abs() < 1e-15, "{x}");
        }
        assert_eq!([exp(0.0), exp(-0.0), exp(-709.0), exp(f64::NEG_INFINITY)], [1.0, 1.0, 0.0, 0.0]);
    }
}
