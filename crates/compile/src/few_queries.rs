//! Attention of few queries over many keys: into how many parts the keys are dealt, and the kernel that makes them.
//!
//! In: upper bounds of extents, the target. Out: a number of parts, a variant. Never here: operands, steps.

use crate::select::attention::{Choice, Form};
use pumice_plan::kernels::attention::AttentionParts;
use pumice_types::{AttentionExtents, Target};

/// Queries that share a key head, up to which keys are dealt in parts.
const ROWS: u64 = 32;
/// The widest queries and values.
const WIDTH: u64 = 128;
/// Keys of a part at least: two blocks of the kernel.
const KEYS: u64 = 128;

/// Into how many parts the keys of an attention are best dealt; 1: it is made in one step. On GPUs groups enough for every
/// compute unit twice, for few queries two parts at least, since the other kernels give queries tiles of sixteen.
pub fn parts(target: &Target, e: &AttentionExtents) -> u64 {
    let able = !target.features.cpu && shares_keys(target);
    let rows = (e.heads / e.key_heads.max(1)).saturating_mul(e.queries);
    if !able || rows == 0 || rows > ROWS || e.queries > 8 || e.d.max(e.dv) > WIDTH || e.keys < 2 * KEYS {
        return 1;
    }
    let tiles = rows.div_ceil(choice(target, rows, e.d.max(e.dv), 1).rows);
    let groups = tiles.saturating_mul(e.key_heads).saturating_mul(e.batches).max(1);
    let wanted = (4 * u64::from(target.tuning.compute_units)).div_ceil(groups);
    wanted.clamp(2, 128).min(e.keys / KEYS)
}

/// Whether eight threads of a subgroup can share a key.
fn shares_keys(target: &Target) -> bool {
    target.features.subgroup_shuffle && target.features.subgroup_size.is_multiple_of(8)
}

/// The kernel for so many rows that share a key head, of at most that width.
pub fn choice(target: &Target, rows: u64, width: u64, parts: u32) -> Choice {
    let (variant, rows, columns) = match (width <= 64, rows <= 1) {
        _ if !shares_keys(target) => (AttentionParts::plain, 1, 128),
        (true, true) => (AttentionParts::w64, 1, 64),
        (true, false) => (AttentionParts::w64_r4, 4, 64),
        (false, true) => (AttentionParts::w128, 1, 128),
        (false, false) => (AttentionParts::w128_r4, 4, 128),
    };
    Choice { form: Form::Parts(parts), variant, rows, columns }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_dealt_where_there_are_few_queries() {
        let of = |target: &Target, heads, key_heads, queries, keys, d| {
            let e = AttentionExtents { batches: 1, heads, key_heads, queries, keys, d, dv: d };
            parts(target, &e)
        };
        let gpu = Target::h200();
        assert_eq!(of(&gpu, 32, 8, 1, 8192, 128), 64);
        assert_eq!(of(&gpu, 32, 8, 1, 1024, 128), 8);
        assert_eq!(of(&gpu, 32, 32, 1, 32_768, 64), 17);
        assert_eq!(of(&gpu, 32, 32, 1, 200, 64), 1, "few keys");
        assert_eq!(of(&gpu, 32, 8, 512, 8192, 64), 1, "many queries");
        assert_eq!(of(&gpu, 32, 8, 1, 8192, 256), 1, "wide");
        assert_eq!(of(&Target::lavapipe(), 32, 8, 1, 8192, 128), 1);
    }
}
