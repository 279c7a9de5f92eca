//! Reductions: threads for each result, and into how many parts one is best cut.
//!
//! Any axis set collapses to rows, columns or the strided form (`lower/reduce.rs`). Few long rows are two reductions of
//! the graph.

use super::columns::{Columns, Narrower};
use super::lanes::Lanes;
use super::rule::{Candidate, Reader, Rule};
use pumice_plan::kernels::reduce::{ArgReduce, DECLS, ReduceColumns};
use pumice_types::{EncodingClass, ReductionExtents, Target};

/// Families of rows that are read here.
pub const FAMILIES: &[&str] =
    &["reduce.rows", "reduce.columns", "reduce.one_by_one", "reduce.arg", "reduce.parts"];
/// Measures of `reduce.rows` and `reduce.one_by_one`: elements of a result. Of `reduce.columns`: neighbouring results.
const LENGTH: &[&str] = &["n"];
/// Measures of `reduce.arg`: elements of a result, results, how often one group for each fills all compute units, rounded
/// up.
const ARG: &[&str] = &["n", "outputs", "waves"];
/// Measures of `reduce.parts`.
const PARTS: &[&str] = &["outer", "reduced", "inner"];

/// Threads of a group of every kernel here that does not say otherwise.
const THREADS: u64 = 256;

/// A kernel with its threads.
#[derive(Clone, Copy, Debug)]
struct Form {
    candidate: Candidate,
    lanes: Lanes,
}

/// When a reduction is cut: groups for every compute unit, each with enough elements.
#[derive(Clone, Copy, Debug)]
struct Cutting {
    groups_per_unit: u64,
    /// Neighbouring results of a group.
    columns: u64,
    /// Elements of each result in a part, at least.
    least: u64,
    /// Elements of all results of a group in a part, at least.
    least_elements: u64,
}

/// Rules of reductions.
#[derive(Clone, Debug)]
pub struct Rules {
    rows: Vec<Rule<Form>>,
    columns: Vec<Rule<Form>>,
    one_by_one: Vec<Rule<Form>>,
    arg: Vec<Rule<Form>>,
    parts: Vec<Rule<Cutting>>,
    narrower: Narrower,
}

impl Rules {
    /// Reads the rows of the table.
    pub fn read(reader: &Reader<'_>) -> Result<Rules, String> {
        let forms = |family: &str, measures: &[&str]| {
            reader.some_rules(family, measures, |row| {
                let candidate = row.candidate(DECLS)?;
                let threads = candidate.define("THREADS").unwrap_or(THREADS);
                // Columns are walked by quads, up to 64 side by side.
                let most = if candidate.decl.name == ReduceColumns::DECL.name { 64 } else { threads };
                let lanes = Lanes::of(row.counts(Lanes::FIGURES)?, most, row)?;
                let of_family = match family {
                    "reduce.arg" => candidate.decl.name == ArgReduce::DECL.name,
                    "reduce.one_by_one" => candidate.decl.name == "reduce_strided",
                    _ => candidate.decl.name == family.replace('.', "_"),
                };
                if of_family {
                    Ok(Form { candidate, lanes })
                } else {
                    Err(row.mistake("it is another family's"))
                }
            })
        };
        let parts = reader.rules("reduce.parts", PARTS, |row| {
            let names = ["groups_per_unit", "columns", "least", "least_elements"];
            let [groups_per_unit, columns, least, least_elements] = row.counts(names)?;
            if row.take() != "parts" || columns == 0 || least.max(least_elements) == 0 {
                return Err(row.mistake("the one rule is `parts`, of at least one column and one element"));
            }
            Ok(Cutting { groups_per_unit, columns, least, least_elements })
        })?;
        Ok(Rules {
            rows: forms("reduce.rows", LENGTH)?,
            columns: forms("reduce.columns", LENGTH)?,
            one_by_one: forms("reduce.one_by_one", LENGTH)?,
            arg: forms("reduce.arg", ARG)?,
            parts,
            narrower: Narrower::read(reader, "reduce.narrower")?,
        })
    }

    /// `lanes` of `reduce_rows` for rows of `n` elements: a power of two, 8 to 256.
    pub fn row_lanes(&self, n: u64) -> u32 {
        of_length(&self.rows, n).max(8)
    }

    /// Threads for an output over `n` elements that are read one by one: a power of two, 1 to 256.
    pub fn lanes(&self, n: u64) -> u32 {
        of_length(&self.one_by_one, n)
    }

    /// `columns` of `reduce_columns` for `outer` times `red` rows of `inner` columns, at their upper bounds: those of the
    /// table, and fewer, with more threads for each, where they would turn too often or the table says so.
    pub fn columns(&self, [outer, red, inner]: [u64; 3], target: &Target) -> u32 {
        let groups = |columns: u64| outer.saturating_mul(inner.div_ceil(4 * columns));
        let ends = |columns: u64| {
            let numbers = [("red", red), ("columns", columns)];
            target.limits.lets_turn(ReduceColumns::DECL.turns_of(ReduceColumns::plain, &numbers))
        };
        let widest = of_length(&self.columns, inner).into();
        self.narrower.columns(&Columns { widest, n: red, groups: &groups, ends: &ends }, target)
    }

    /// Variant and `lanes` of `arg_reduce` for `outputs` outputs over `n` elements each, at their upper bounds: the
    /// table's, or large groups where the threads of that would turn too often. `vec` as in the kernel.
    pub fn arg_threads(&self, outputs: u64, n: u64, vec: bool, target: &Target) -> (&'static str, u32) {
        let units = u64::from(target.tuning.compute_units.max(1));
        let measures = [n, outputs, outputs.div_ceil(units)];
        let runs =
            |r: &&Rule<Form>| r.holds(&measures, EncodingClass::F32) && r.take.candidate.runs_on(target);
        let found = self.arg.iter().find(runs);
        let chosen = found.map(|r| (r.take.candidate.variant.name, r.take.lanes.of_elements(n)));
        let chosen = chosen.unwrap_or((ArgReduce::plain, THREADS as u32));
        let large = (ArgReduce::fast, 1024);
        let has_large = ArgReduce::DECL.variant(ArgReduce::fast).is_some_and(|v| v.runs_on(target));
        let numbers = [("n", n), ("lanes", chosen.1.into()), ("vec", vec.into())];
        let ends = target.limits.lets_turn(ArgReduce::DECL.turns_of(chosen.0, &numbers));
        if has_large && !ends { large } else { chosen }
    }

    /// Into about how many parts a reduction is best cut, each part reduced by groups of its own and the results in a
    /// second step; 1 where one step is better.
    pub fn parts(&self, reduction: &ReductionExtents, target: &Target) -> u64 {
        let ReductionExtents { outer, reduced, inner, .. } = *reduction;
        let rule = self.parts.iter().find(|r| r.holds(&[outer, reduced, inner], EncodingClass::F32));
        let Some(Rule { take: parts, .. }) = rule else { return 1 };
        let units = u64::from(target.tuning.compute_units.max(1)).saturating_mul(parts.groups_per_unit);
        let groups = outer.max(1).saturating_mul(inner.div_ceil(parts.columns).max(1));
        let of_group = parts.least_elements / inner.clamp(1, parts.columns);
        let wanted = units.div_ceil(groups).min(reduced / parts.least.max(of_group).max(1));
        if wanted < 2 { 1 } else { wanted }
    }
}

fn of_length(rules: &[Rule<Form>], n: u64) -> u32 {
    let rule = rules.iter().find(|r| r.holds(&[n], EncodingClass::F32));
    rule.map_or(1, |r| r.take.lanes.of_elements(n))
}

/// Turns that a reduction makes besides those over elements, at most: halving its threads, the quotient of a mean.
const OTHER_TURNS: u64 = 80;

/// Into at least how many parts a reduction must be cut so that the loops of a part end by themselves; 1 where it need not
/// be cut. Half as many are enough, so that a number may be taken that divides the elements.
pub fn least_parts(reduction: &ReductionExtents, target: &Target) -> u64 {
    let Some(limit) = target.limits.loop_turns else { return 1 };
    // What one turn of all threads of a group takes, and of so many turns those that are over elements: the others add the
    // sums of 64 chains in pairs. See the declarations.
    let (step, over_elements, all) = match (reduction.one_by_one, reduction.inner <= 1) {
        (true, _) => (THREADS, 1, 1),
        (false, true) => (16 * THREADS, 64 * 128, 64 * 133 + 1),
        (false, false) => (4 * THREADS, 64 * 32, 64 * 37 + 1),
    };
    let turns = limit.saturating_sub(OTHER_TURNS).max(1).saturating_mul(over_elements) / all;
    let most = turns.max(1).saturating_mul(step);
    if reduction.reduced <= most { 1 } else { reduction.reduced.div_ceil(most).saturating_mul(2) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select::Selection;
    use pumice_plan::kernels::reduce::{ReduceInt, ReduceRows, ReduceStrided, op};

    fn rules(target: &Target) -> Rules {
        Selection::exact(target).reduce
    }

    fn cut(outer: u64, reduced: u64, inner: u64) -> u64 {
        let target = Target::h200();
        rules(&target).parts(&ReductionExtents { outer, reduced, inner, one_by_one: false }, &target)
    }

    #[test]
    fn few_long_rows_are_cut() {
        assert_eq!(cut(1, 64 << 20, 1), 528);
        assert_eq!(cut(1, 1 << 20, 1), 512);
        assert_eq!(cut(3, 262_147, 1), 128);
        assert_eq!(cut(100, 1 << 20, 1), 6);
        // One part of 2048 elements is the row; as many rows as groups are wanted, or none, are enough.
        assert_eq!(cut(1, 4095, 1), 1);
        assert_eq!(cut(528, 1 << 20, 1), 1);
        assert_eq!(cut(8192, 8192, 1), 1);
        assert_eq!(cut(0, 8192, 0), 4);
    }

    #[test]
    fn few_long_columns_are_cut() {
        assert_eq!(cut(1, 8192, 8192), 9);
        assert_eq!(cut(2, 200_000, 2), 264);
        assert_eq!(cut(1, 512, 128), 8);
        assert_eq!(cut(1, 127, 2), 1);
        assert_eq!(cut(u64::MAX, u64::MAX, 1000), 1);
    }

    #[test]
    fn a_cpu_gets_few_large_parts() {
        let target = Target::lavapipe();
        let cut = |outer, reduced, inner| {
            rules(&target).parts(&ReductionExtents { outer, reduced, inner, one_by_one: false }, &target)
        };
        assert_eq!((cut(1, 1 << 20, 1), cut(1, 1 << 17, 1), cut(2, 1 << 20, 1)), (4, 1, 2));
        assert_eq!((cut(4, 1 << 20, 1), cut(1, 4096, 128), cut(1, 4096, 1024)), (1, 4, 1));
    }

    /// The longest reduction that is not cut, and a part of one that is, turn no more often than the driver lets them.
    #[test]
    fn parts_are_short_enough_for_a_driver_that_ends_loops() {
        let target = Target::lavapipe();
        let limit = target.limits.loop_turns.expect("lavapipe has a limit");
        for (one_by_one, inner, decl, length, threads) in [
            (false, 1, ReduceRows::DECL, "n", ("lanes", 256)),
            (false, 3, ReduceColumns::DECL, "red", ("columns", 1)),
            (true, 1, ReduceStrided::DECL, "n", ("lanes", 256)),
            (true, 9, ReduceInt::DECL, "n", ("lanes", 256)),
        ] {
            let of = |reduced| ReductionExtents { outer: 1, reduced, inner, one_by_one };
            let least = |reduced| least_parts(&of(reduced), &target);
            let turns = |n| decl.turns_of("plain", &[(length, n), threads, ("op", op::MEAN.into())]);
            let longest =
                (1u64..1 << 40).step_by(1 << 16).take_while(|n| least(*n) == 1).last().expect("some");
            // Of what is read one by one, integers turn most often.
            let most = decl.name != ReduceStrided::DECL.name;
            assert!(
                turns(longest) <= limit && (!most || turns(longest + (1 << 16)) > limit - 400),
                "{} {longest}",
                decl.name
            );
            for n in [longest + (1 << 20), 1 << 30, 1 << 33] {
                let parts = least(n);
                assert!(parts >= 4 && turns(n.div_ceil(parts / 2)) <= limit, "{} {n}", decl.name);
            }
            assert_eq!(least_parts(&of(1 << 40), &Target::h200()), 1);
        }
    }

    #[test]
    fn columns_become_narrow_and_groups_large_where_threads_would_turn_too_often() {
        let (cpu, gpu) = (Target::lavapipe(), Target::h200());
        let columns = |red, inner, target: &Target| rules(target).columns([132, red, inner], target);
        assert_eq!(
            (columns(1 << 19, 256, &cpu), columns(1 << 20, 256, &cpu), columns(1 << 20, 256, &gpu)),
            (64, 32, 64)
        );
        assert_eq!((columns(1 << 25, 3, &cpu), columns(1 << 30, 300, &cpu)), (1, 1));
        let arg = |n, vec| rules(&cpu).arg_threads(1, n, vec, &cpu);
        assert_eq!(arg(1 << 25, false), (ArgReduce::plain, 256));
        assert_eq!(arg(100_000_000, false), (ArgReduce::fast, 1024));
        assert_eq!(arg(100_000_000, true), (ArgReduce::plain, 256));
    }
}
