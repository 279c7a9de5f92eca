//! Scans: sums or products of what comes before, run by run.

use crate::kernel;
use crate::kernel::KernelDecl;

/// The declarations of this family.
pub const DECLS: &[KernelDecl] = &[ScanFloats::DECL, ScanWords::DECL];

/// Elements that one group cumulates.
pub const TILE: u64 = 1024;

kernel! {
    /// y[o, i, c] = before[o, r, c] + the sum of x[o, j, c] over j <= i of run r of i, of 2^`levels` elements.
    ///
    /// x is dense [rows / inner, n, inner], before [rows / inner, runs, inner]; without `given` bind `x` again, then it
    /// is 0. `product` 1: products, and 1. `exclusive` 1: j < i. `reverse` 1: runs are counted from the end, j >= i.
    /// `totals` 1: y[o, r, c] is the whole of run r. `across` 1: a group takes 2^(10 - levels) rows side by side, else
    /// as many runs one after the other; which threads take which elements, and no more.
    pub struct ScanFloats = "scan_floats" in "scan/floats.comp";
    grid "ceil(rows * runs * 2^levels / 1024), across: runs * ceil(rows * 2^levels / 1024) groups of 256 threads, folded";
    args { rows: u32, n: u32, inner: u32, runs: u32 }
    operands { x: read, before: read, y: write }
    slots 0;
    holes {}
    specs { product = 0: 0, exclusive = 1: 0, reverse = 2: 0, totals = 3: 0, given = 4: 0, levels = 5: 10, across = 6: 0 }
    trip_count |c| each(c.levels, 1);
    variants { plain: zero }
}

kernel! {
    /// As `scan_floats` for integers, which wrap: 32-bit words, or with `pair` 1 64-bit ones.
    pub struct ScanWords = "scan_words" in "scan/words.comp";
    grid "ceil(rows * runs * 2^levels / 1024), across: runs * ceil(rows * 2^levels / 1024) groups of 256 threads, folded";
    args { rows: u32, n: u32, inner: u32, runs: u32 }
    operands { x: read, before: read, y: write }
    slots 0;
    holes {}
    specs { product = 0: 0, exclusive = 1: 0, reverse = 2: 0, totals = 3: 0, given = 4: 0, levels = 5: 10, across = 6: 0,
        pair = 7: 0 }
    trip_count |c| each(c.levels, 1);
    variants { plain: zero }
}
