//! How many neighbouring columns a group takes, of the kernels that walk columns side by side: a power of two; the
//! threads of the group are shared among them.
//!
//! In: numbers of columns and elements at their upper bounds. Out: columns of a group. Half as many are taken while a
//! row of the table says that the device has too little to do, and where the driver would end the loops. What a kernel
//! begins with, and what its groups are, is the caller's.

use super::family::{Family, FamilyDecl, Shape};
use super::read::{Figure, count, number};
use pumice_plan::kernels::softmax::SoftmaxColumns;
use pumice_types::Target;

/// Columns of a group as it is; elements of each.
const MEASURES: &[&str] = &["columns", "n"];
/// When half as many columns a group are better: with fewer groups than these, while a thread has more than so many
/// elements.
const HALVE: &[Figure] = &[number("groups_per_unit"), count("per_thread")];
/// Softmax over columns.
pub const SOFTMAX: &FamilyDecl = &narrower("softmax.narrower");
/// Reductions over columns.
pub const REDUCE: &FamilyDecl = &narrower("reduce.narrower");

const fn narrower(name: &'static str) -> FamilyDecl {
    FamilyDecl { rules: &[("halve", HALVE)], optional: true, ..FamilyDecl::new(name, MEASURES) }
}

/// Threads of a group.
pub const THREADS: u64 = 256;

/// When groups become narrower; without a rule never.
#[derive(Clone, Debug)]
pub struct Narrower(pub(super) Family);

/// Columns to be divided among groups.
pub struct Columns<'a> {
    /// Columns of a group to begin with: a power of two.
    pub widest: u64,
    /// Elements of each.
    pub n: u64,
    /// Groups where each takes so many columns.
    pub groups: &'a dyn Fn(u64) -> u64,
    /// Whether the loops of a group of so many columns terminate by themselves.
    pub terminates: &'a dyn Fn(u64) -> bool,
}

impl Narrower {
    /// Columns of a group.
    pub fn columns(&self, of: &Columns<'_>, target: &Target) -> u32 {
        let mut columns = of.widest;
        while columns > 1 && (self.starved(of, columns, target) || !(of.terminates)(columns)) {
            columns /= 2;
        }
        columns as u32
    }

    fn starved(&self, of: &Columns<'_>, columns: u64, target: &Target) -> bool {
        let shape = Shape::new(target, [columns, of.n]);
        let Some([groups_per_unit, per_thread]) = self.0.holding(&shape).next().map(|row| row.figures())
        else {
            return false;
        };
        let wanted = groups_per_unit * f64::from(target.tuning.compute_units.max(1));
        let threads = THREADS / columns;
        ((of.groups)(columns) as f64) < wanted && of.n > (per_thread as u64).saturating_mul(threads)
    }
}

/// Rules of softmax over columns.
#[derive(Clone, Debug)]
pub struct SoftmaxRules(pub(super) Narrower);

impl SoftmaxRules {
    /// `columns` of `softmax_columns` for so many columns of `n` elements.
    pub fn columns(&self, all: u64, n: u64, target: &Target) -> u32 {
        let groups = |columns: u64| all.div_ceil(columns);
        let terminates = |columns: u64| {
            let numbers = [("n", n), ("columns", columns)];
            target.limits.allows_trips(SoftmaxColumns::DECL.trip_count_of(SoftmaxColumns::plain, &numbers))
        };
        self.0.columns(&Columns { widest: THREADS, n, groups: &groups, terminates: &terminates }, target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select::Selection;

    #[test]
    fn few_columns_of_a_gpu_are_shared_by_more_threads() {
        let of = |target: &Target, all, n| {
            let read = Selection::exact(target);
            read.softmax_columns.columns(all, n, target)
        };
        let (gpu, cpu) = (Target::h200(), Target::lavapipe());
        assert_eq!(of(&gpu, 64 * 64, 512), 8, "neighbours of a sector stay together");
        assert_eq!(of(&gpu, 8 * 9000, 4), 256, "too few elements to share");
        assert_eq!(of(&gpu, 8, 65_536), 1, "all but a few compute units would have nothing to do");
        assert_eq!(of(&gpu, 1 << 20, 512), 256, "enough groups");
        assert_eq!((of(&cpu, 64 * 64, 512), of(&cpu, 8, 1 << 18)), (256, 64), "as the loops let them");
    }
}
