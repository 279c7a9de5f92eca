//! Drawn numbers, the same in every run.

/// A stream of numbers (splitmix64).
pub struct Draws(u64);

impl Draws {
    pub fn new(seed: u64) -> Draws {
        Draws(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// About normal: the sum of twelve uniform numbers less 6.
    pub fn normal(&mut self) -> f64 {
        (0..12).map(|_| (self.next() >> 11) as f64 / (1u64 << 53) as f64).sum::<f64>() - 6.0
    }

    /// A normal number in such a part of the draws, else 0.
    pub fn sparse(&mut self, part: f64) -> f64 {
        let (drawn, number) = ((self.next() >> 11) as f64 / (1u64 << 53) as f64, self.normal());
        if drawn < part { number } else { 0.0 }
    }

    pub fn normals(&mut self, count: usize) -> Vec<f64> {
        (0..count).map(|_| self.normal()).collect()
    }
}
