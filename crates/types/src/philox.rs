//! Philox4x32-10 (Salmon, Moraes, Dror, Shaw 2011), word by word, and what its words become (OPS 3.10): the one
//! generator of the reference and of values that the host draws.

/// The words of a seed, a stream and a step. The streams of one seed are independent, and so are steps of one stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Philox {
    /// The seed, low word first.
    pub key: [u32; 2],
    /// The stream.
    pub stream: u32,
    /// The step.
    pub step: u32,
}

impl Philox {
    /// Word number `i`.
    pub fn word(&self, i: u64) -> u32 {
        let number = i / 4;
        let counter = [number as u32, (number >> 32) as u32, self.stream, self.step];
        block(counter, self.key)[(i % 4) as usize]
    }

    /// Number `i` of those uniform in \[0, 1), a multiple of 2⁻²⁴.
    pub fn uniform(&self, i: u64) -> f64 {
        f64::from(self.word(i) >> 8) / f64::from(1 << 24)
    }

    /// Number `i` of the normal ones, mean 0 and deviation 1, two of two words (Box and Muller).
    pub fn normal(&self, i: u64) -> f64 {
        let first = i - i % 2;
        let a = f64::from((self.word(first) >> 8) + 1) / f64::from(1 << 24);
        let turn = std::f64::consts::TAU * self.uniform(first + 1);
        let radius = (-2.0 * a.ln()).sqrt();
        radius * if i.is_multiple_of(2) { turn.cos() } else { turn.sin() }
    }
}

/// One block of the generator.
fn block(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    let ([mut a, mut b, mut c, mut d], [mut k0, mut k1]) = (counter, key);
    for _ in 0..10 {
        let p = u64::from(a) * 0xD251_1F53;
        let q = u64::from(c) * 0xCD9E_8D57;
        (a, b, c, d) = ((q >> 32) as u32 ^ b ^ k0, q as u32, (p >> 32) as u32 ^ d ^ k1, p as u32);
        k0 = k0.wrapping_add(0x9E37_79B9);
        k1 = k1.wrapping_add(0xBB67_AE85);
    }
    [a, b, c, d]
}

#[cfg(test)]
mod tests {
    use super::block;

    /// The known answers of Random123's `kat_vectors`.
    #[test]
    fn philox_has_its_known_answers() {
        let ones = u32::MAX;
        assert_eq!(block([0; 4], [0; 2]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(block([ones; 4], [ones; 2]), [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
        let digits = [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344];
        let answer = [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1];
        assert_eq!(block(digits, [0xa409_3822, 0x299f_31d0]), answer);
    }
}
