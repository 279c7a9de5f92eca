//! Where kernels pay whose groups have more threads than 256, or keep in registers what others read again.
//!
//! In: what such a group holds. Out: yes or no; a CPU driver, whose registers are memory, has no row.

use super::family::{Family, FamilyDecl, Shape};
use pumice_types::Target;

/// Recurrent layers, by hidden units.
pub const RECURRENT: &FamilyDecl =
    &FamilyDecl { rules: &[("kept", &[])], optional: true, ..FamilyDecl::new("recurrence.kept", &["units"]) };

/// Selections of the first of many, by places of a run.
pub const SELECT: &FamilyDecl =
    &FamilyDecl { rules: &[("fast", &[])], optional: true, ..FamilyDecl::new("sort.select", &["run"]) };

/// Rules of both; without a row the plain kernel runs.
#[derive(Clone, Debug)]
pub struct Rules {
    pub(super) recurrent: Family,
    pub(super) select: Family,
}

impl Rules {
    /// Whether a recurrent layer of so many units keeps its matrix in registers.
    pub fn keeps(&self, units: u64, target: &Target) -> bool {
        self.recurrent.holds(&Shape::new(target, [units]))
    }

    /// Whether the first of so many places are selected by a large group.
    pub fn selects(&self, run: u64, target: &Target) -> bool {
        self.select.holds(&Shape::new(target, [run]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select::Selection;

    #[test]
    fn large_groups_are_of_gpus() {
        let [gpu, cpu] = [Target::h200(), Target::lavapipe()];
        let of = |target: &Target| Selection::exact(target).large_groups.clone();
        assert!(of(&gpu).keeps(128, &gpu) && !of(&gpu).keeps(129, &gpu) && !of(&cpu).keeps(8, &cpu));
        assert!(
            of(&gpu).selects(8192, &gpu) && !of(&gpu).selects(1024, &gpu) && !of(&cpu).selects(8192, &cpu)
        );
    }
}
