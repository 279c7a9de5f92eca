//! Rows appended to a state in place, and a tensor with rows put into it.

use crate::kernel;
use crate::kernel::KernelDecl;

/// The declarations of this family.
pub const DECLS: &[KernelDecl] = &[KvAppend::DECL, TensorScatter::DECL];

kernel! {
    /// state[o, pos + t, c] = x[o, t, c]; o < outer, t < rows, c < inner; the state has `capacity` rows per o.
    ///
    /// x lies at `o1 * x_outer1 + o0 * x_outer0 + t * x_row + c` with o = o1 * outer0 + o0, so that [B, T, H, D] can be
    /// appended to [B, H, C, D]. pos is `pos` where `source` is 0, else element o / pos_div of `positions` (1: i32,
    /// 2: i64). `mode` 0 linear: rows outside 0..capacity are dropped and raise STATE_OVERFLOW at position
    /// o * rows + t; 1 circular: row index modulo capacity, of several writers the one with the largest t.
    /// A thread owns one 32-bit word of the state (one f32, or a pair of 16-bit elements), so no two threads write one
    /// word. `split` 1 is for 16-bit states with an odd `inner`: threads cover the whole state, a pair may lie in two
    /// rows. Without positions bind `x` again.
    pub struct KvAppend = "kv_append" in "kv/append.comp";
    grid "ceil(words / 256) groups of 256 threads, folded; words = outer * rows * inner (f32), half of it (16 bit), \
          or ceil(outer * capacity * inner / 2) where split is 1";
    args { outer: u32, outer0: u32, rows: u32, inner: u32, capacity: u32, pos: i32, pos_div: u32,
        x { outer1, outer0, row: u32 }, op: u32 }
    operands { x: read, positions: read, state: readwrite typed, status: status }
    slots 0;
    holes {}
    specs { mode = 0: 0, source = 1: 0, split = 2: 0 }
    trip_count |_| 0;
    variants { plain: zero }
}

kernel! {
    /// y[o, r, c] = x[o, t, c] where row t goes to place r, else data[o, r, c]; o < outer, r < capacity, c < inner
    /// words. Positions, `mode` and what is dropped as in `kv_append`; all operands are dense.
    pub struct TensorScatter = "tensor_scatter" in "kv/tensor_scatter.comp";
    grid "ceil(outer * capacity * inner / 256) groups of 256 threads, folded";
    args { outer: u32, rows: u32, inner: u32, capacity: u32, pos: i32, pos_div: u32, op: u32 }
    operands { data: read, x: read, positions: read, y: write, status: status }
    slots 0;
    holes {}
    specs { mode = 0: 0, source = 1: 0 }
    trip_count |_| 0;
    variants { plain: zero }
}
