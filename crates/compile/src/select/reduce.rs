//! Reductions: threads for each result, and into how many parts one is best cut.
//!
//! Any axis set collapses to rows, columns or the strided form (`lower/reduce.rs`). Few long rows are two reductions of
//! the graph.

use super::choice::Choice;
use super::columns::{Columns, Narrower};
use super::family::{Family, FamilyDecl, Shape};
use super::read::{Figure, count, upto};
use pumice_plan::kernel::KernelDecl;
use pumice_plan::kernels::reduce::{ArgReduce, ReduceColumns, ReduceRows, ReduceStrided};
use pumice_types::{ReductionExtents, Target};

/// Elements of a result.
pub const ROWS: &FamilyDecl =
    &lanes("reduce.rows", &[ReduceRows::DECL], &[("reduce_rows.plain", &[16.0, 8.0, 256.0])]);
/// Neighbouring results.
pub const COLUMNS: &FamilyDecl =
    &lanes("reduce.columns", &[ReduceColumns::DECL], &[("reduce_columns.plain", &[4.0, 1.0, 64.0])]);
/// Elements of a result, read one by one.
pub const ONE_BY_ONE: &FamilyDecl =
    &lanes("reduce.one_by_one", &[ReduceStrided::DECL], &[("reduce_strided.plain", &[4.0, 1.0, 256.0])]);
/// Elements of a result, results, how often one group for each fills all compute units, rounded up.
pub const ARG: &FamilyDecl = &FamilyDecl {
    kernels: &[ArgReduce::DECL],
    last: &[("arg_reduce.fast", &[1.0, 1024.0, 1024.0]), ("arg_reduce.plain", &[1.0, 256.0, 256.0])],
    ..FamilyDecl::new("reduce.arg", &["n", "outputs", "waves"])
};
/// When a reduction is cut.
pub const PARTS: &FamilyDecl = &FamilyDecl {
    rules: &[("parts", CUTTING)],
    optional: true,
    ..FamilyDecl::new("reduce.parts", &["outer", "reduced", "inner"])
};
/// Groups for every compute unit, neighbouring results of a group; in a part at least so many elements of each
/// result, and of all results of a group.
const CUTTING: &[Figure] =
    &[count("groups_per_unit"), upto("columns", u32::MAX as u64), count("least"), count("least_elements")];

const fn lanes(
    name: &'static str,
    kernels: &'static [KernelDecl],
    last: &'static [(&'static str, &'static [f64])],
) -> FamilyDecl {
    FamilyDecl { kernels, last, ..FamilyDecl::new(name, &["n"]) }
}

/// Threads of a group of every kernel here that does not say otherwise.
const THREADS: u64 = 256;

/// Rules of reductions.
#[derive(Clone, Debug)]
pub struct Rules {
    pub(super) rows: Family,
    pub(super) columns: Family,
    pub(super) one_by_one: Family,
    pub(super) arg: Family,
    pub(super) parts: Family,
    pub(super) narrower: Narrower,
}

impl Rules {
    /// `reduce_rows` for rows of `n` elements.
    pub fn rows(&self, n: u64, target: &Target) -> Option<Choice> {
        self.rows.choose(&Shape::new(target, [n]))
    }

    /// Threads for an output over `n` elements that are read one by one: a power of two, 1 to 256.
    pub fn lanes(&self, n: u64, target: &Target) -> u32 {
        self.one_by_one.choose(&Shape::new(target, [n])).map_or(1, |choice| choice.number("lanes"))
    }

    /// `reduce_columns` for `outer` times `red` rows of `inner` columns, at their upper bounds: `columns` of the
    /// table, and fewer, with more threads for each, where their loops would be too long for
    /// the driver or the table says so.
    pub fn columns(&self, [outer, red, inner]: [u64; 3], target: &Target) -> Option<Choice> {
        let choice = self.columns.choose(&Shape::new(target, [inner]))?;
        let groups = |columns: u64| outer.saturating_mul(inner.div_ceil(4 * columns));
        let of = |columns: u64| choice.clone().with("columns", columns as u32);
        let terminates = |columns: u64| of(columns).terminates(target, &[("red", red)]);
        let widest = choice.number("columns").into();
        let columns = self
            .narrower
            .columns(&Columns { widest, n: red, groups: &groups, terminates: &terminates }, target);
        Some(of(columns.into()))
    }

    /// `arg_reduce` for `outputs` outputs over `n` elements each, at their upper bounds: the table's, or large groups
    /// where loops of that would be too long for the driver. `vec` as in the kernel.
    pub fn arg(&self, outputs: u64, n: u64, vec: bool, target: &Target) -> Option<Choice> {
        let units = u64::from(target.tuning.compute_units.max(1));
        let shape = Shape::new(target, [n, outputs, outputs.div_ceil(units)]);
        self.arg.choose(&shape.looping([("n", n), ("vec", vec.into())]))
    }

    /// Into about how many parts a reduction is best cut, each part reduced by groups of its own and the results in a
    /// second step; 1 where one step is better.
    pub fn parts(&self, reduction: &ReductionExtents, target: &Target) -> u64 {
        let ReductionExtents { outer, reduced, inner, .. } = *reduction;
        let shape = Shape::new(target, [outer, reduced, inner]);
        let Some(row) = self.parts.holding(&shape).next() else { return 1 };
        let [groups_per_unit, columns, least, least_elements] = row.counts();
        let units = u64::from(target.tuning.compute_units.max(1)).saturating_mul(groups_per_unit);
        let groups = outer.max(1).saturating_mul(inner.div_ceil(columns).max(1));
        let of_group = least_elements / inner.clamp(1, columns);
        let wanted = units.div_ceil(groups).min(reduced / least.max(of_group).max(1));
        if wanted < 2 { 1 } else { wanted }
    }
}

/// Elements of a reduction from which on two more levels are little beside one step: a group takes 3,700 in a
/// microsecond, the levels 5.6 (H200, 2026-11-29).
const LONG: u64 = 1 << 17;
/// Parts from which on the longest row is so many times faster.
const MANY: u64 = 8;

impl Rules {
    /// As [`Rules::parts`] where there may be fewer elements than these.
    pub fn varying_parts(&self, longest: &ReductionExtents, target: &Target) -> u64 {
        let parts = self.parts(longest, target);
        let is_long = longest.reduced.saturating_mul(longest.inner) >= LONG;
        if is_long && parts >= MANY { parts } else { 1 }
    }
}

/// Iterations of a reduction's loops besides those over elements, at most: halving its threads, the quotient of a mean.
const OTHER_ITERATIONS: u64 = 80;

/// Into at least how many parts a reduction must be cut so that the loops of a part end by themselves; 1 where it need
/// not be cut. Half as many are enough, so that a number may be taken that divides the elements.
pub fn least_parts(reduction: &ReductionExtents, target: &Target) -> u64 {
    let Some(limit) = target.limits.loop_turns else { return 1 };
    // Elements that one iteration of all threads of a group takes, and how many of so many iterations are over
    // elements: the others add the sums of 64 chains in pairs. See the declarations.
    let (step, over_elements, all) = match (reduction.one_by_one, reduction.inner <= 1) {
        (true, _) => (THREADS, 1, 1),
        (false, true) => (16 * THREADS, 64 * 128, 64 * 133 + 1),
        (false, false) => (4 * THREADS, 64 * 32, 64 * 37 + 1),
    };
    let iterations = limit.saturating_sub(OTHER_ITERATIONS).max(1).saturating_mul(over_elements) / all;
    let most = iterations.max(1).saturating_mul(step);
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

    /// The longest reduction that is not cut, and a part of one that is, iterate no more often than the driver lets
    /// them.
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
            let iterations =
                |n| decl.trip_count_of("plain", &[(length, n), threads, ("op", op::MEAN.into())]);
            let longest =
                (1u64..1 << 40).step_by(1 << 16).take_while(|n| least(*n) == 1).last().expect("some");
            // Of what is read one by one, integers iterate most often.
            let most = decl.name != ReduceStrided::DECL.name;
            assert!(
                iterations(longest) <= limit && (!most || iterations(longest + (1 << 16)) > limit - 400),
                "{} {longest}",
                decl.name
            );
            for n in [longest + (1 << 20), 1 << 30, 1 << 33] {
                let parts = least(n);
                assert!(parts >= 4 && iterations(n.div_ceil(parts / 2)) <= limit, "{} {n}", decl.name);
            }
            assert_eq!(least_parts(&of(1 << 40), &Target::h200()), 1);
        }
    }

    #[test]
    fn columns_become_narrow_and_groups_large_where_threads_would_iterate_too_often() {
        let (cpu, gpu) = (Target::lavapipe(), Target::h200());
        let columns = |red, inner, target: &Target| {
            rules(target).columns([132, red, inner], target).expect("a kernel").number("columns")
        };
        assert_eq!(
            (columns(1 << 19, 256, &cpu), columns(1 << 20, 256, &cpu), columns(1 << 20, 256, &gpu)),
            (64, 32, 64)
        );
        assert_eq!((columns(1 << 25, 3, &cpu), columns(1 << 30, 300, &cpu)), (1, 1));
        let arg = |n, vec| {
            let choice = rules(&cpu).arg(1, n, vec, &cpu).expect("a kernel");
            (choice.variant.name, choice.number("lanes"))
        };
        assert_eq!(arg(1 << 25, false), (ArgReduce::plain, 256));
        assert_eq!(arg(100_000_000, false), (ArgReduce::fast, 1024));
        assert_eq!(arg(100_000_000, true), (ArgReduce::plain, 256));
    }
}
