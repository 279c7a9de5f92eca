//! Which attention kernel. In: upper bounds of extents. Out: a [`Choice`]. Operands, strides and masks are lowering's.

use super::choice::Choice;
use super::family::{Family, FamilyDecl, Row, Shape};
use pumice_plan::kernels::attention::{
    Attention, AttentionExtended, AttentionLanes, AttentionSplit, AttentionUnits,
};
use pumice_types::{Precision, Target};

/// Widths of queries and values, the larger of them; queries and keys of a head; query heads of all batches; whether
/// there is a mask, and whether both widths are multiples of four (1 or 0); how often tiles of 32 queries fill all
/// compute units, rounded up.
pub const ATTENTION: &FamilyDecl = &FamilyDecl {
    kernels: &[Attention::DECL, AttentionUnits::DECL, AttentionLanes::DECL, AttentionSplit::DECL],
    // From the one that is quickest to build on; tiles take a row in pieces.
    last: &[
        ("attention_split.plain", &[]),
        ("attention", &[]),
        ("attention_lanes", &[]),
        ("attention.plain", &[]),
    ],
    fits: Some(("width", |roles| roles.columns)),
    ..FamilyDecl::new(
        "attention",
        &["d", "dv", "width", "queries", "keys", "heads", "masked", "by_four", "waves_32"],
    )
};

/// What the choice depends on: upper bounds of extents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extents {
    /// Width of queries and keys.
    pub d: u64,
    /// Width of the values.
    pub dv: u64,
    /// Queries of a head.
    pub queries: u64,
    /// Query heads of all batches.
    pub heads: u64,
    /// Keys of a head.
    pub keys: u64,
    /// Whether there is a mask tensor.
    pub masked: bool,
    /// To what the factors of both products are rounded.
    pub precision: Precision,
    /// Whether it has what only `attention_extended` takes.
    pub extended: bool,
}

impl Extents {
    fn measures(&self, target: &Target) -> [u64; 9] {
        let units = u64::from(target.tuning.compute_units.max(1));
        let tiles = self.queries.div_ceil(32).saturating_mul(self.heads);
        let by_four = self.d.is_multiple_of(4) && self.dv.is_multiple_of(4);
        [
            self.d,
            self.dv,
            self.d.max(self.dv),
            self.queries,
            self.keys,
            self.heads,
            self.masked.into(),
            by_four.into(),
            tiles.div_ceil(units),
        ]
    }
}

/// Rules of attention.
#[derive(Clone, Debug)]
pub struct Rules(pub(super) Family);

impl Rules {
    /// The kernel for extents on a target: the fastest, or one whose loops end by themselves where those of the
    /// fastest would be ended by the driver. An extended one takes what rows say of `attention`.
    pub fn choose(&self, target: &Target, e: &Extents) -> Option<Choice> {
        let measures = e.measures(target);
        let loops = [("sk", e.keys), ("d", e.d), ("mask_kind", e.masked.into())];
        let shape = Shape::new(target, measures).multiplied(e.precision).looping(loops);
        if e.extended {
            // A row for what no other kernel took may mean a tile that is far too wide.
            let widest = e.d.max(e.dv).max(64).next_power_of_two();
            let fits = |choice: &Choice| choice.roles.columns <= widest;
            let twin = |row: &Row| self.0.choice(row, &shape)?.twin(&AttentionExtended::DECL).filter(fits);
            return self.0.choose_by(&shape, twin);
        }
        self.0.choose(&shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select::Selection;

    /// One query of one head.
    const ONE: Extents = Extents {
        d: 1,
        dv: 1,
        queries: 1,
        heads: 1,
        keys: 1,
        masked: false,
        precision: Precision::Exact,
        extended: false,
    };
    const TILE: &str = Attention::DECL.name;
    const LANES: &str = AttentionLanes::DECL.name;
    const SPLIT: &str = AttentionSplit::DECL.name;

    fn choose(target: &Target, e: &Extents) -> Choice {
        Selection::exact(target).attention.choose(target, e).expect("a kernel")
    }

    #[test]
    fn the_form_follows_width_and_number_of_tiles() {
        let of = |target: &Target, d, queries, heads| {
            let c = choose(target, &Extents { dv: d, d, queries, heads, keys: queries, ..ONE });
            (c.decl.name, c.variant.name, c.roles.rows, c.roles.columns)
        };
        let (gpu, cpu) = (Target::h200(), Target::lavapipe());
        assert_eq!(of(&gpu, 32, 128, 12), (SPLIT, AttentionSplit::w32, 16, 32));
        assert_eq!(of(&gpu, 32, 128, 12 * 32), (SPLIT, AttentionSplit::plain, 32, 32));
        assert_eq!(of(&gpu, 33, 1, 1), (SPLIT, AttentionSplit::w64, 16, 64));
        assert_eq!(of(&gpu, 65, 1, 1), (TILE, Attention::plain_w128, 16, 128));
        assert_eq!(of(&gpu, 129, 1, 1), (TILE, Attention::plain, 16, 256));
        assert_eq!(of(&cpu, 32, 128, 12), (LANES, AttentionLanes::shuffle_w32, 64, 32));
        assert_eq!(of(&cpu, 64, 8, 9), (LANES, AttentionLanes::shuffle_w64_row, 8, 64));
        let mut floor = cpu;
        floor.features.subgroup_shuffle = false;
        assert_eq!(of(&floor, 32, 128, 12), (LANES, AttentionLanes::w32, 64, 32));
        let mut floor = gpu;
        floor.features.subgroup_shuffle = false;
        assert_eq!(of(&floor, 32, 1, 1), (SPLIT, AttentionSplit::plain, 32, 32));
        assert_eq!(of(&floor, 64, 1, 1), (TILE, Attention::plain_w64, 16, 64));
    }

    /// What has sinks, slopes, places or sums takes the tile that a row gives to what has none.
    #[test]
    fn extended_ones_have_the_tiles_of_rows() {
        let of = |target: &Target, d, queries, heads| {
            let e = Extents { d, dv: d, queries, heads, keys: queries, extended: true, ..ONE };
            let c = choose(target, &e);
            (c.decl.name, c.variant.name)
        };
        let (gpu, cpu, name) = (Target::h200(), Target::lavapipe(), AttentionExtended::DECL.name);
        assert_eq!(of(&gpu, 128, 1024, 64), (name, AttentionExtended::q64_w128));
        assert_eq!(of(&gpu, 64, 1, 1), (name, AttentionExtended::plain_w64));
        assert_eq!(of(&gpu, 32, 128, 12), (name, AttentionExtended::plain_w64));
        assert_eq!(of(&cpu, 64, 8, 9), (name, AttentionExtended::plain_w64));
        assert_eq!(of(&cpu, 300, 8, 9), (name, AttentionExtended::plain));
    }

    /// Many keys: the form of fewest iterations a key, or none.
    #[test]
    fn long_keys_take_the_form_of_fewest_iterations() {
        let of = |d, keys, masked| {
            let e = Extents { d, dv: d, keys, masked, ..ONE };
            let c = choose(&Target::lavapipe(), &e);
            let loops = [("sk", keys), ("d", d), ("mask_kind", masked.into())];
            (c.decl.name, c.variant.name, c.terminates(&Target::lavapipe(), &loops))
        };
        assert_eq!(of(64, 219_000, false), (LANES, AttentionLanes::shuffle_w64_row, true));
        assert_eq!(of(66, 8_000, false).0, TILE);
        assert_eq!(of(66, 200_000, false), (LANES, AttentionLanes::w128, true));
        assert!(!of(66, 300_000, false).2, "refused by name");
    }
}
