//! Which kernels the gradients of an attention take. In: upper bounds of extents. Out: a [`Choice`].

use super::choice::Choice;
use super::family::{Family, FamilyDecl, Shape};
use super::read::Reader;
use pumice_ir::ops::attention_grad::AttentionFactor;
use pumice_plan::kernels::attention_grad::{AttentionGradKeys, AttentionGradQueries};
use pumice_types::{AttentionExtents, Target};

/// Widths of queries and values, the larger of them; how often tiles of 64 rows (of queries, or of keys) fill all
/// compute units, rounded up.
const MEASURES: &[&str] = &["width", "waves_64"];

/// Gradients by queries.
pub const QUERIES: &FamilyDecl = &FamilyDecl {
    kernels: &[AttentionGradQueries::DECL],
    last: &[("attention_grad_queries.plain", &[])],
    ..FamilyDecl::new("attention.by_queries", MEASURES)
};

/// Gradients by keys and values.
pub const KEYS: &FamilyDecl = &FamilyDecl {
    kernels: &[AttentionGradKeys::DECL],
    last: &[("attention_grad_keys.plain", &[])],
    ..FamilyDecl::new("attention.by_keys", MEASURES)
};

/// What the choice depends on: upper bounds of extents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extents {
    /// Width of queries and keys.
    pub d: u64,
    /// Width of the values.
    pub dv: u64,
    /// Queries, or keys, of a head.
    pub rows: u64,
    /// Heads of these, of all batches.
    pub heads: u64,
    /// What a row meets: keys, or queries of all heads of a group.
    pub columns: u64,
    /// Query heads that share a key head.
    pub group: u64,
}

/// Rules of gradients of attention.
#[derive(Clone, Debug)]
pub struct Rules {
    queries: Family,
    keys: Family,
}

impl Rules {
    /// Those of a table.
    ///
    /// # Errors
    /// As of reading a family.
    pub(super) fn read(reader: &Reader<'_>) -> Result<Rules, String> {
        Ok(Rules { queries: reader.family(QUERIES)?, keys: reader.family(KEYS)? })
    }

    /// The kernel for extents on a target.
    pub fn choose(&self, target: &Target, of: AttentionFactor, e: &Extents) -> Option<Choice> {
        let units = u64::from(target.tuning.compute_units.max(1));
        let tiles = e.rows.div_ceil(64).saturating_mul(e.heads);
        let (family, columns) = match of {
            AttentionFactor::Queries => (&self.queries, "sk"),
            AttentionFactor::KeysAndValues => (&self.keys, "sq"),
        };
        let loops = [(columns, e.columns), ("d", e.d), ("dv", e.dv), ("group", e.group)];
        family.choose(&Shape::new(target, [e.d.max(e.dv), tiles.div_ceil(units)]).looping(loops))
    }

    /// Whether gradients by keys and values are best made for each query head: tiles of 64 keys of each key head leave
    /// more than half of the compute units idle.
    pub fn for_each_head(&self, target: &Target, e: &AttentionExtents) -> bool {
        let tiles = e.keys.div_ceil(64).saturating_mul(e.batches).saturating_mul(e.key_heads);
        tiles.saturating_mul(2) <= u64::from(target.tuning.compute_units)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select::Selection;

    #[test]
    fn tiles_follow_the_width() {
        let of = |target: &Target, factor, d| {
            let e = Extents { d, dv: d, rows: 512, heads: 96, columns: 512, group: 1 };
            let choice =
                Selection::exact(target).attention_grad.choose(target, factor, &e).expect("a kernel");
            (choice.variant.name, choice.roles.rows, choice.roles.columns)
        };
        let (gpu, cpu) = (Target::h200(), Target::lavapipe());
        for factor in [AttentionFactor::Queries, AttentionFactor::KeysAndValues] {
            assert_eq!(of(&gpu, factor, 20), ("r64_w32", 64, 32));
            assert_eq!(of(&gpu, factor, 64), ("r64_w64", 64, 64));
            assert_eq!(of(&gpu, factor, 128), ("r32_w128", 32, 128));
            assert_eq!(of(&cpu, factor, 64), ("plain_w64", 16, 64));
            assert_eq!(of(&cpu, factor, 300), ("plain", 16, 128));
        }
    }
}
