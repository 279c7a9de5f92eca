//! Products by experts: rows, each multiplied with the matrix that its id names. A row alone, or those of one expert as
//! the rows of a tile, once it is known which these are.

use super::tiles::{tile_roles, tile_trip_count};
use crate::kernel;
use crate::kernel::KernelDecl;

/// The declarations of this family.
pub const DECLS: &[KernelDecl] = &[ExpertRows::DECL, GroupedMatmul::DECL, GroupedMatmulTile::DECL];

kernel! {
    /// Which rows go to which expert, of `count` ids. rows\[e\], e <= experts, is how many ids name an expert below e;
    /// then come the rows in the order of their experts, those of one in their own order, and last those whose id is
    /// not below `experts`.
    pub struct ExpertRows = "expert_rows" in "experts/rows.comp";
    grid "experts + 1 groups of 256 threads, folded";
    args { count: u32, experts: u32 }
    operands { id: read, rows: write }
    slots 0;
    holes {}
    specs {}
    trip_count |c| each(each(c.count, 256), 1).saturating_mul(2);
    variants { plain: zero }
}

kernel! {
    /// y[r, n] = epilogue(sum over k of a[r / picks, k] · b[id[r], k, n]), r < rows, f32 sums; 0 where id\[r\] is not
    /// below `experts`, which raises INDEX_OUT_OF_RANGE at r for op `op`.
    ///
    /// a, id and y are dense. Strides of b count elements. Modes and `vec_y` are those of `matmul_f32`; `a_mode` is 0
    /// or 1.
    pub struct GroupedMatmul = "grouped_matmul" in "experts/dot.comp";
    grid "rows * ceil(n / 4) groups of 128 threads, folded";
    args { rows: u32, n: u32, k: u32, experts: u32, picks: u32, op: u32, b { at, e, row, col: u32 } }
    operands { a: read factor, b: read typed blocks factor, id: read, y: write, status: status }
    slots 0;
    holes { epilogue: vec4 [v] () }
    specs { a_mode = 0: 0, b_mode = 1: 0, vec_y = 2: 0, round = 5: 0 }
    trip_count |c| {
        let quads = c.a_mode == 1 && c.b_mode == 1;
        let chains = each(c.k, if quads { 64 * 4 * 128 } else { 64 * 128 });
        let terms = each(c.k, if quads { 4 * 128 } else { 128 });
        let terms = after(terms, after(chains.saturating_mul(3), pairs(chains, 16)));
        after(terms, each(32, 1).saturating_mul(4))
    };
    variants { plain: zero { "BLOCKS": "1" } }
}

kernel! {
    /// As `grouped_matmul`, of rows that `expert_rows` put in order: a group makes BM x BN results of one expert.
    ///
    /// Expert e has the tiles from floor(rows\[e\] / BM) + e on, so that a group finds its own without a sum over all;
    /// tiles of no rows end at once. A row is stored where its id names the tile's expert. `edge` is 1, `k_tail` as of
    /// `matmul_f32`.
    pub struct GroupedMatmulTile = "grouped_matmul_tile" in "experts/tile.comp";
    grid "(ceil(rows / BM) + experts + 1) * ceil(n / BN) groups, folded; BM x BN is the variant's tile";
    args { rows: u32, n: u32, k: u32, experts: u32, picks: u32, op: u32, b { at, e, row, col: u32 } }
    operands { a: read factor, b: read typed blocks factor, id: read, order: read, y: write, status: status }
    slots 0;
    holes { epilogue: vec4 [v] () }
    specs { a_mode = 0: 0, b_mode = 1: 0, vec_y = 2: 0, k_tail = 3: 1, edge = 4: 1, round = 5: 0 }
    trip_count |c| {
        let results = c.define("BM").saturating_mul(c.define("BN"));
        let found = each(c.experts.saturating_add(1), 32);
        after(tile_trip_count(c.variant, c.k), after(found, each(results, 128)))
    };
    roles |c| tile_roles(c.variant);
    variants {
        plain: zero { "BM": "32", "BN": "32", "BK": "16", "TM": "4", "TN": "4", "SK": "1", "WX": "8", "UK": "4", "BLOCKS": "1" };
        t32x128: zero { "BM": "32", "BN": "128", "BK": "16", "TM": "4", "TN": "8", "SK": "1", "WX": "8", "UK": "16", "CHAINS_IN_REGISTERS": "1", "BLOCKS": "1" };
        t64: zero { "BM": "64", "BN": "64", "BK": "16", "TM": "8", "TN": "4", "SK": "1", "WX": "8", "UK": "16", "CHAINS_IN_REGISTERS": "1", "BLOCKS": "1" }
    }
}
