//! Limits that crates share, each stated once. What keeps one asks of its own accord; only the number is common.

/// The largest index of an element, and the most elements of an iteration, that kernels count to in 32 bits: sums of
/// an index and a step stay below 2^31, and quotients by `divide.glsl` are exact.
pub const LARGEST_INDEX: u64 = (1 << 31) - (1 << 10);

/// The most symbols that one word of a frame follows from, of those that a run finds.
pub const MOST_COUNTS: usize = 4;

/// Choices that one step stands under at most.
pub const MOST_CHOICES: usize = 8;
