//! Attention of few queries over many keys: into how many parts the keys are dealt, and the kernel that makes them.

use super::attention::{AttentionKernel, Form};
use super::rule::{Candidate, Reader, Rule};
use pumice_plan::kernels::attention::{AttentionParts, DECLS};
use pumice_types::{AttentionExtents, EncodingClass, Target};

/// Families of rows that are read here.
pub const FAMILIES: &[&str] = &["attention.parts", "attention.deal"];
/// Measures of `attention.parts`: queries that share a key head; widths of queries and values, the larger of them.
const PARTS: &[&str] = &["rows", "width"];
/// Measures of `attention.deal`: those of `attention.parts`, queries and keys of a head.
const DEAL: &[&str] = &["rows", "width", "queries", "keys"];

/// How keys are dealt: into parts for so many groups of every compute unit.
#[derive(Clone, Copy, Debug)]
struct Deal {
    groups_per_unit: u64,
    /// Parts at least and at most.
    least_parts: u64,
    most_parts: u64,
    /// Keys of a part at least.
    least_keys: u64,
}

/// Rules of attention in parts.
#[derive(Clone, Debug)]
pub struct Rules {
    parts: Vec<Rule<Candidate>>,
    deal: Vec<Rule<Deal>>,
}

impl Rules {
    /// Reads the rows of the table.
    pub fn read(reader: &Reader<'_>) -> Result<Rules, String> {
        let parts = reader.some_rules("attention.parts", PARTS, |row| {
            let [] = row.counts([])?;
            let candidate = row.candidate(DECLS)?;
            let is_of_parts = candidate.decl.name == AttentionParts::DECL.name;
            is_of_parts.then_some(candidate).ok_or_else(|| row.mistake("it makes no parts"))
        })?;
        let deal = reader.rules("attention.deal", DEAL, |row| {
            let names = ["groups_per_unit", "least_parts", "most_parts", "least_keys"];
            let [groups_per_unit, least_parts, most_parts, least_keys] = row.counts(names)?;
            if row.take() != "parts" || least_keys == 0 || least_parts > most_parts {
                return Err(
                    row.mistake("the one rule is `parts`, of at least one key, from least to most parts")
                );
            }
            Ok(Deal { groups_per_unit, least_parts, most_parts, least_keys })
        })?;
        Ok(Rules { parts, deal })
    }

    /// Into how many parts the keys of an attention are best dealt; 1: it is made in one step.
    pub fn parts(&self, target: &Target, e: &AttentionExtents) -> u64 {
        let rows = (e.heads / e.key_heads.max(1)).saturating_mul(e.queries);
        let width = e.d.max(e.dv);
        let rule = self.deal.iter().find(|r| r.holds(&[rows, width, e.queries, e.keys], EncodingClass::F32));
        let (Some(Rule { take: deal, .. }), Ok(choice)) = (rule, self.choose(target, rows, width, 1)) else {
            return 1;
        };
        let tiles = rows.div_ceil(choice.rows);
        let groups = tiles.saturating_mul(e.key_heads).saturating_mul(e.batches).max(1);
        let units = u64::from(target.tuning.compute_units.max(1)).saturating_mul(deal.groups_per_unit);
        let wanted = units.div_ceil(groups).clamp(deal.least_parts, deal.most_parts);
        wanted.min(e.keys / deal.least_keys).max(1)
    }

    /// The kernel for so many rows that share a key head, of at most that width: the table's first that holds a row and
    /// runs on the target, or the plain one.
    ///
    /// # Errors
    /// The widest row that any of them holds, where this is wider.
    pub fn choose(&self, target: &Target, rows: u64, width: u64, parts: u32) -> Result<AttentionKernel, u64> {
        let takes = |c: &Candidate| width <= define(c, "W") && c.runs_on(target);
        let holds = |r: &&Rule<Candidate>| r.holds(&[rows, width], EncodingClass::F32) && takes(&r.take);
        let found = self.parts.iter().find(holds).map(|r| r.take);
        let chosen =
            found.or_else(plain).filter(takes).ok_or_else(|| plain().map_or(0, |c| define(&c, "W")))?;
        Ok(AttentionKernel {
            form: Form::Parts(parts),
            variant: chosen.variant.name,
            rows: define(&chosen, "ROWS").max(1),
            columns: define(&chosen, "W"),
        })
    }
}

/// What runs on any device.
fn plain() -> Option<Candidate> {
    let decl = &AttentionParts::DECL;
    Some(Candidate { decl, variant: decl.variant(AttentionParts::plain)? })
}

fn define(candidate: &Candidate, name: &str) -> u64 {
    candidate.define(name).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select::Selection;

    fn rules(target: &Target) -> Rules {
        Selection::exact(target).few_queries
    }

    #[test]
    fn keys_are_dealt_where_there_are_few_queries() {
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
        assert_eq!(of(&gpu, 32, 8, 1, 8192, 256), 1, "wide");
        assert_eq!(of(&gpu, 0, 0, 1, 8192, 64), 1, "no rows");
        assert_eq!(of(&Target::lavapipe(), 32, 8, 1, 8192, 128), 1);
    }

    #[test]
    fn a_device_without_shuffles_gets_the_plain_kernel() {
        let mut target = Target::h200();
        let of = |target: &Target| rules(target).choose(target, 4, 64, 3).map(|c| (c.variant, c.rows));
        assert_eq!(of(&target), Ok((AttentionParts::w64_r4, 4)));
        target.features.subgroup_shuffle = false;
        assert_eq!(of(&target), Ok((AttentionParts::plain, 1)));
        assert_eq!(rules(&target).choose(&target, 4, 132, 3), Err(128));
    }
}
