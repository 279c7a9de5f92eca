//! Philox4x32-10, word by word, and what its words become.

use crate::eval::EvalCx;

/// One block of the generator.
fn philox(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
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

/// Seed and step of one row, and the stream.
pub(crate) struct Row {
    key: [u32; 2],
    stream: u32,
    step: u32,
}

impl Row {
    /// Word `i` of the row.
    pub(crate) fn word(&self, i: u64) -> u32 {
        let block = i / 4;
        let counter = [block as u32, (block >> 32) as u32, self.stream, self.step];
        philox(counter, self.key)[(i % 4) as usize]
    }

    pub(crate) fn uniform(&self, i: u64) -> f64 {
        f64::from(self.word(i) >> 8) / f64::from(1 << 24)
    }

    pub(crate) fn normal(&self, i: u64) -> f64 {
        let first = i - i % 2;
        let a = f64::from((self.word(first) >> 8) + 1) / f64::from(1 << 24);
        let turn = std::f64::consts::TAU * self.uniform(first + 1);
        let radius = (-2.0 * a.ln()).sqrt();
        radius * if i.is_multiple_of(2) { turn.cos() } else { turn.sin() }
    }
}

/// For every element of a result of that shape its row and its place in the row. The source is the operands from
/// `first` on: where one of them has an axis, a row is an element of the first axis, else all elements are one row.
pub(crate) fn places(cx: &EvalCx<'_>, first: usize, stream: u64, shape: &[u64]) -> Vec<(Row, u64)> {
    let words: Vec<&[i64]> = (first..first + 3).map(|k| cx.arg(k).as_ints()).collect();
    let by_row = (first..first + 3).any(|k| cx.arg(k).shape.len() == 1);
    let elements: u64 = shape.iter().product();
    let per_row = if by_row { shape[1..].iter().product() } else { elements };
    let place = |e: u64| {
        let r = if by_row { e / per_row } else { 0 };
        let word = |k: usize| words[k][if words[k].len() == 1 { 0 } else { r as usize }] as u32;
        (Row { key: [word(0), word(1)], stream: stream as u32, step: word(2) }, e - r * per_row)
    };
    (0..elements).map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::philox;

    /// The known answers of Random123's `kat_vectors`.
    #[test]
    fn philox_has_its_known_answers() {
        let ones = u32::MAX;
        assert_eq!(philox([0; 4], [0; 2]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(philox([ones; 4], [ones; 2]), [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
        let digits = [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344];
        let answer = [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1];
        assert_eq!(philox(digits, [0xa409_3822, 0x299f_31d0]), answer);
    }
}
