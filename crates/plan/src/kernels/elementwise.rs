//! Elementwise kernels: a hole that loads every input and stores every output through slots.
//!
//! Templates: `elementwise_flat` where every slot is dense over the same elements or a single element,
//! `elementwise_strided4` where the innermost axis is contiguous (or broadcast) and a multiple of four in every slot,
//! `elementwise_tiles` where some slots are contiguous along another axis, `elementwise_spread` for many elements that
//! are contiguous but begin anywhere, `elementwise_strided` for everything else, 64-bit elements among it. CPU drivers
//! take `elementwise_runs4` and `elementwise_runs` instead of the last two. The strided ones with an identity body are
//! the strided copy: transpose, slice, expand, concat, split. Variants `words64` are for CPU targets with 64-bit
//! integers.

use crate::kernel;
use crate::kernel::{KernelDecl, SlotKind};
use pumice_types::slots;

/// Threads of a group.
pub const THREADS: u32 = 256;
/// Elements that a group of `elementwise_flat` takes with `per` 1.
pub const FLAT_ELEMENTS: u64 = 4 * THREADS as u64;
/// Elements that a group of `elementwise_spread` takes.
pub const SPREAD_ELEMENTS: u64 = 4 * THREADS as u64;
/// Edge of a tile of `elementwise_tiles`.
pub const TILE: u64 = 32;
/// Slots of `elementwise_tiles` that have a tile.
pub const TILED_SLOTS: usize = 4;

/// The declarations of this family.
pub const DECLS: &[KernelDecl] = &[
    ElementwiseFlat::DECL,
    ElementwiseStrided::DECL,
    ElementwiseStrided4::DECL,
    ElementwiseSpread::DECL,
    ElementwiseTiles::DECL,
    ElementwiseRuns::DECL,
    ElementwiseRuns4::DECL,
];

const _: () = crate::kernel::have_slots(DECLS, slots::ELEMENTWISE);
// Lowering writes results into states before it knows which of these a step takes.
const _: () = crate::kernel::have_slots_in_place(DECLS);

kernel! {
    /// body(g) for each group `g` of four consecutive elements below `n`.
    ///
    /// A slot is dense (element i of the slot is element i of the iteration, base 16-byte aligned) or, with its bit in
    /// `scalars` set, one element for all. With `tail` 1, elements past `n` in the last group are neither loaded nor
    /// stored in word slots; narrow slots (f16, bf16, 8 and 16 bits) are written in whole words. `tail` 0 leaves out
    /// the checks: right where n is a multiple of 4, or where every slot that is stored to
    /// owns its padding; never with a status slot unless n is a multiple of 4. `kinds0`, `kinds1`: four bits a slot,
    /// slots 0..8 and 8..12 (see [`kinds`]). No 64-bit slots.
    pub struct ElementwiseFlat = "elementwise_flat" in "elementwise/flat.comp";
    grid "ceil(n / (1024 * per)) groups of 256 threads, folded; a thread takes `per` groups of 4 elements";
    args { n: u32, status_op: u32 }
    operands {}
    slots 12 in_place;
    holes { body: void4 [] (g) stores }
    specs { kinds0 = 0: 0, kinds1 = 1: 0, scalars = 2: 0, per = 3: 1, tail = 4: 1 }
    trip_count |c| each(c.per, 1);
    roles |_| tile(1, 4).figure("groups_per_thread", "per", u32::MAX as u64);
    variants { plain: zero; words64: zero needs [Int64] { "WORDS64": "1" } }
}

/// A kernel over strides: what all of them have stands here, once. Of its own it has arguments, the hole's width and
/// coordinate, specialization constants, trip counts and variants.
macro_rules! over_strides {
    (
        $(#[doc = $doc:literal])+
        pub struct $Call:ident = $name:literal in $file:literal;
        grid $grid:literal;
        args { $($arg:ident),* }
        body $width:ident ($coord:ident);
        specs { $($specs:tt)* }
        trip_count |$c:pat_param| $trip_count:expr;
        roles |$r:pat_param| $roles:expr;
        variants { $($variants:tt)* }
    ) => {
        kernel! {
            $(#[doc = $doc])+
            pub struct $Call = $name in $file;
            grid $grid;
            args { n: u32, $($arg: u32,)* status_op: u32, size[8]: u32, offset[12]: i32, stride[96]: i32 }
            operands {}
            slots 12 in_place;
            holes { body: $width [] ($coord) stores }
            specs { kinds0 = 0: 0, kinds1 = 1: 0, $($specs)* }
            trip_count |$c| $trip_count;
            roles |$r| $roles;
            variants { $($variants)* }
        }
    };
}

over_strides! {
    /// body(i) for each i below `n`, i being row-major over `size[0..rank]`, innermost last.
    ///
    /// Slot s has element `offset[s] + sum over d of coordinate_d * stride[8 * s + d]`; strides may be 0 or negative.
    /// Stores go to word, 64-bit and status slots only.
    pub struct ElementwiseStrided = "elementwise_strided" in "elementwise/strided.comp";
    grid "ceil(n / 256) groups of 256 threads, folded";
    args {}
    body void1 (i);
    specs { rank = 2: 1 }
    trip_count |_| 0;
    roles |_| tile(1, 1).only("by_four", 0, 0);
    variants { plain: zero { "WIDTH": "1" } }
}

over_strides! {
    /// As `elementwise_strided`, four elements of the innermost axis at a time: `n` and `size[rank - 1]` count groups
    /// of four.
    ///
    /// The innermost stride of a slot is 1 (contiguous; its offset and other strides are then multiples of four, in
    /// elements) or 0 (one element for all four). Word slots only are stored to.
    pub struct ElementwiseStrided4 = "elementwise_strided4" in "elementwise/strided.comp";
    grid "ceil(n / 256) groups of 256 threads, folded; n counts groups of four elements";
    args {}
    body void4 (g);
    specs { rank = 2: 1, scalars = 3: 0 }
    trip_count |_| 0;
    roles |_| tile(1, 4).only("by_four", 1, 1);
    variants { plain: zero { "WIDTH": "4" } }
}

over_strides! {
    /// As `elementwise_strided`, four elements a thread that lie 256 apart in the order of the result.
    ///
    /// `scalars`: slots with a bit have one element for all. No 64-bit slots.
    pub struct ElementwiseSpread = "elementwise_spread" in "elementwise/spread.comp";
    grid "ceil(n / 1024) groups of 256 threads, folded";
    args {}
    body void4 (g);
    specs { rank = 2: 1, scalars = 3: 0 }
    trip_count |_| 0;
    roles |_| tile(4, 1).only("by_four", 0, 0).only("wide", 0, 0);
    variants { plain: zero }
}

over_strides! {
    /// As `elementwise_strided` with an axis before the last, `rank` at least 2, of which a group makes 32 x 32 of the
    /// last two.
    ///
    /// Slots with their bit in `crossed`, up to four, word slots that are not stored to, are read along the axis before
    /// the last, where their neighbours should lie, and pass through a tile in shared memory.
    pub struct ElementwiseTiles = "elementwise_tiles" in "elementwise/tiles.comp";
    grid "ceil(size[rank - 1] / 32) * ceil(size[rank - 2] / 32) * the other sizes groups of 256 threads, folded";
    args {}
    body void1 (i);
    specs { rank = 2: 2, crossed = 3: 0 }
    trip_count |_| 2 * each(32, 8);
    roles |_| tile(TILE, TILE);
    variants { plain: zero }
}

over_strides! {
    /// As `elementwise_strided`, a thread taking up to `run` consecutive elements of the innermost axis; for CPU
    /// drivers.
    ///
    /// `width` is the innermost extent, `size[rank - 1]` the number of runs in it, `n` that of all runs; `used` is how
    /// many slots there are. Lavapipe (Mesa 22.3) reads each argument once for every lane of each thread, which took
    /// nine tenths of the time of copies by `elementwise_strided`.
    pub struct ElementwiseRuns = "elementwise_runs" in "elementwise/runs.comp";
    grid "ceil(n / 256) groups of 256 threads, folded; n counts runs";
    args { width, run }
    body void1 (i);
    specs { rank = 2: 1, used = 3: 12 }
    trip_count |c| each(c.run, 1);
    roles |_| tile(1, 1).only("by_four", 0, 0).power("most_run", "run", 256);
    variants { plain: zero { "WIDTH": "1", "KEPT_SLOTS": "1" } }
}

over_strides! {
    /// As `elementwise_runs`, four elements of the innermost axis at a time, under the rules of `elementwise_strided4`:
    /// `width` and `run` count groups of four.
    pub struct ElementwiseRuns4 = "elementwise_runs4" in "elementwise/runs.comp";
    grid "ceil(n / 256) groups of 256 threads, folded; n counts runs";
    args { width, run }
    body void4 (g);
    specs { rank = 2: 1, used = 3: 12, scalars = 4: 0 }
    trip_count |c| each(c.run, 1);
    roles |_| tile(1, 4).only("by_four", 1, 1).power("most_run", "run", 256);
    variants {
        plain: zero { "WIDTH": "4", "KEPT_SLOTS": "1" };
        words64: zero needs [Int64] { "WIDTH": "4", "KEPT_SLOTS": "1", "WORDS64": "1" }
    }
}

/// `kinds0` and `kinds1` for these slots.
pub fn kinds(kinds: &[SlotKind]) -> (u32, u32) {
    let mut words = [0u32; 2];
    for (i, kind) in kinds.iter().enumerate().take(slots::ELEMENTWISE) {
        words[i / 8] |= (*kind as u32) << (4 * (i % 8));
    }
    (words[0], words[1])
}
