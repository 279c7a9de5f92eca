//! Whether the numbers of a pass of a transform are constants of its pipeline.
//!
//! In: values of the pass at their upper bound. Out: yes or no. A compiler that knows the extents divides by them
//! without dividing and leaves out what other extents need; in return each of them is a pipeline that is compiled by
//! itself.

use super::family::{Family, FamilyDecl, Shape};
use pumice_types::Target;

/// Values of the pass.
pub const FIXED: &FamilyDecl = &FamilyDecl {
    rules: &[("fixed", &[])],
    optional: true,
    ..FamilyDecl::new("transform.fixed", &["values"])
};

/// Rules of passes; without a row their numbers are arguments.
#[derive(Clone, Debug)]
pub struct Rules(pub(super) Family);

impl Rules {
    /// Whether a pass over so many values has its numbers as constants.
    pub fn is_fixed(&self, values: u64, target: &Target) -> bool {
        self.0.holds(&Shape::new(target, [values]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select::Selection;

    #[test]
    fn a_gpu_compiles_what_is_large_enough() {
        let of = |target: &Target, values| Selection::exact(target).transform.is_fixed(values, target);
        assert!(of(&Target::h200(), 4 * 512) && !of(&Target::h200(), 100));
        assert!(!of(&Target::lavapipe(), 1 << 30));
    }
}
