//! Random numbers by their places: Philox4x32-10, whose every block is computed from a counter alone.

use crate::kernel;
use crate::kernel::KernelDecl;

/// The declarations of this family.
pub const DECLS: &[KernelDecl] = &[RandomNumbers::DECL];

/// Numbers that one thread makes: a block of the generator.
pub const BLOCK: u64 = 4;

/// `distribution` of the kernel: what becomes of a word.
pub mod distribution {
    /// It stays a word.
    pub const WORDS: u32 = 0;
    /// Its upper 24 bits as a part of 1.
    pub const UNIFORM: u32 = 1;
    /// Two words become two numbers of the standard normal distribution.
    pub const NORMAL: u32 = 2;
}

kernel! {
    /// y[r, i] = number i of the generator's stream `stream` at seed and step of row r < rows, i < n. Bit 0 of `by_row`
    /// says that rows have low words of the seed of their own, else seed_low is one word; bit 1: high words; bit 2:
    /// steps. `vec` 1: n is a multiple of four.
    pub struct RandomNumbers = "random_numbers" in "random/numbers.comp";
    grid "ceil(rows * ceil(n / 4) / 256) groups of 256 threads, folded";
    args { rows: u32, n: u32, stream: u32 }
    operands { seed_low: read, seed_high: read, step: read, y: write }
    slots 0;
    holes {}
    specs { distribution = 0: 0, by_row = 1: 0, vec = 2: 0 }
    trip_count |_| 0;
    variants { plain: zero }
}
