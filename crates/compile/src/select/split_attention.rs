//! Split attention, of few queries over many keys: into how many parts the keys are split, and the kernel that makes
//! them.

use super::choice::Choice;
use super::family::{Family, FamilyDecl, Shape};
use super::read::{Figure, count, upto};
use pumice_plan::kernel::KernelDecl;
use pumice_plan::kernels::attention::AttentionParts;
use pumice_types::{AttentionExtents, Target};

const KERNELS: &[KernelDecl] = &[AttentionParts::DECL];
/// Queries that share a key head; widths of queries and values, the larger of them.
pub const PARTS: &FamilyDecl = &FamilyDecl {
    kernels: KERNELS,
    last: &[("attention_parts.plain", &[])],
    ..FamilyDecl::new("attention.parts", &["rows", "width"])
};
/// Measures of `attention.parts`, queries and keys of a head; how often tiles of 32 queries fill all compute units,
/// rounded up.
pub const SPLIT: &FamilyDecl = &FamilyDecl {
    rules: &[("parts", SPLITTING)],
    optional: true,
    ..FamilyDecl::new("attention.deal", &["rows", "width", "queries", "keys", "waves_32"])
};
/// How keys are split: into parts for so many groups of every compute unit; parts at least and at most, keys of a
/// part at least.
const SPLITTING: &[Figure] = &[
    count("groups_per_unit"),
    count("least_parts"),
    count("most_parts"),
    upto("least_keys", u32::MAX as u64),
];

/// Rules of split attention.
#[derive(Clone, Debug)]
pub struct Rules {
    pub(super) parts: Family,
    pub(super) split: Family,
}

impl Rules {
    /// Into how many parts the keys of an attention are best split; 1: it is made in one step.
    pub fn parts(&self, target: &Target, e: &AttentionExtents) -> u64 {
        let rows = (e.heads / e.key_heads.max(1)).saturating_mul(e.queries);
        let width = e.d.max(e.dv);
        let compute_units = u64::from(target.tuning.compute_units.max(1));
        let tiles = e.queries.div_ceil(32).saturating_mul(e.heads).saturating_mul(e.batches);
        let shape = Shape::new(target, [rows, width, e.queries, e.keys, tiles.div_ceil(compute_units)]);
        let (Some(row), Ok(choice)) = (self.split.holding(&shape).next(), self.choose(target, rows, width))
        else {
            return 1;
        };
        let [groups_per_unit, least_parts, most_parts, least_keys] = row.counts();
        let tiles = rows.div_ceil(choice.roles.rows);
        let groups = tiles.saturating_mul(e.key_heads).saturating_mul(e.batches).max(1);
        let units = compute_units.saturating_mul(groups_per_unit);
        let wanted = units.div_ceil(groups).max(least_parts).min(most_parts);
        wanted.min(e.keys / least_keys).max(1)
    }

    /// The kernel for so many rows that share a key head, of at most that width: the table's first that holds a row and
    /// runs on the target, or the plain one.
    ///
    /// # Errors
    /// The widest row that any kernel of the target holds, where this is wider.
    pub fn choose(&self, target: &Target, rows: u64, width: u64) -> Result<Choice, u64> {
        self.parts.choose(&Shape::new(target, [rows, width])).ok_or_else(|| widest(target))
    }
}

/// The widest row that any kernel holds which runs on the target; 0 where none runs.
fn widest(target: &Target) -> u64 {
    let variants = KERNELS.iter().flat_map(|decl| decl.variants.iter().map(move |variant| (decl, variant)));
    let runs = variants.filter(|(_, variant)| variant.runs_on(target));
    runs.map(|(decl, variant)| decl.roles_of(variant, &[]).columns).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select::Selection;

    fn rules(target: &Target) -> Rules {
        Selection::exact(target).split_attention
    }

    #[test]
    fn keys_are_split_where_there_are_few_queries() {
        let of = |target: &Target, heads, key_heads, queries, keys, d| {
            let e = AttentionExtents { batches: 1, heads, key_heads, queries, keys, d, dv: d };
            rules(target).parts(target, &e)
        };
        let gpu = Target::h200();
        assert_eq!(of(&gpu, 32, 8, 1, 8192, 128), 64);
        assert_eq!(of(&gpu, 32, 8, 1, 1024, 128), 8);
        assert_eq!(of(&gpu, 32, 32, 1, 32_768, 64), 17);
        assert_eq!(of(&gpu, 32, 32, 1, 200, 64), 1, "few keys");
        assert_eq!(of(&gpu, 32, 8, 512, 8192, 64), 1, "many queries");
        assert_eq!(of(&gpu, 4, 4, 512, 8192, 128), 2, "many queries of few heads");
        assert_eq!(of(&gpu, 16, 8, 256, 8192, 128), 2);
        assert_eq!(of(&gpu, 16, 8, 256, 1000, 128), 1, "few keys");
        assert_eq!(of(&gpu, 16, 8, 512, 8192, 128), 1, "tiles for all compute units");
        assert_eq!(of(&gpu, 32, 8, 1, 8192, 256), 64);
        assert_eq!(of(&gpu, 32, 8, 1, 8192, 260), 1, "wide");
        assert_eq!(of(&gpu, 0, 0, 1, 8192, 64), 1, "no rows");
        assert_eq!(of(&Target::lavapipe(), 32, 8, 1, 8192, 128), 1);
    }

    #[test]
    fn a_device_without_shuffles_gets_the_plain_kernel() {
        let mut target = Target::h200();
        let of =
            |target: &Target| rules(target).choose(target, 4, 64).map(|c| (c.variant.name, c.roles.rows));
        assert_eq!(of(&target), Ok((AttentionParts::w64_r4, 4)));
        target.features.subgroup_shuffle = false;
        assert_eq!(of(&target), Ok((AttentionParts::plain, 1)));
        assert_eq!(rules(&target).choose(&target, 4, 132), Err(128), "what wider kernels need is not there");
        assert_eq!(rules(&Target::h200()).choose(&Target::h200(), 4, 260), Err(256));
    }
}
