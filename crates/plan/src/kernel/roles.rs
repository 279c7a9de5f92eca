//! What choosing a kernel needs to know of a variant: the roles that its macros and constants play.
//!
//! In: the `roles` section of a declaration. Out: extents of a tile and the like as numbers, the shapes that the
//! variant takes at all as bounds of named measures, and which of its constants the row of a table gives. Measures
//! are named as the family names them that asks (`compile/src/select`). Never here: a device, a figure, what is
//! faster.

use super::{KernelDecl, VariantDecl};
use crate::kernel::trip_count::{Of, Upper};
use pumice_types::{Bounds, Precision};

/// The roles of a variant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roles {
    /// Rows of the result that a group makes; of an elementwise kernel, places apart from each other that a thread
    /// takes.
    pub rows: u64,
    /// Columns of the result that a group makes; of an elementwise kernel, neighbours that are one place.
    pub columns: u64,
    /// Terms of each sum that one step takes.
    pub step: u64,
    /// Terms of a sum that fill a stage of a step.
    pub least_k: u64,
    /// Threads of a group.
    pub threads: u64,
    /// Quads of a row that a thread keeps; 0: it keeps none.
    pub kept_quads: u64,
    /// Whether the columns that a thread makes lie in one line of the result: along its last axis, not along all of its
    /// positions as one.
    pub by_lines: bool,
    /// In what it multiplies: `Exact` whatever factors are rounded to, another one nothing else.
    pub precision: Precision,
    /// Measures of a shape and the bounds within which it is taken.
    pub takes: Vec<(&'static str, Bounds)>,
    /// What a row of a table sets. It is the same whatever the constants are.
    pub set: Vec<Setting>,
}

/// What a row of a table sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// A figure of the row, which is this constant or argument.
    Figure {
        /// The figure's name.
        figure: &'static str,
        /// What it is for the kernel.
        sets: &'static str,
        /// The largest one.
        most: u64,
        /// Whether it must be a power of two.
        power: bool,
    },
    /// Threads side by side for one result, a power of two that follows from the measure `n`.
    Lanes {
        /// The constant.
        sets: &'static str,
        /// The fewest.
        least: u64,
        /// The most.
        most: u64,
    },
}

impl Setting {
    /// The constant or argument.
    pub fn sets(&self) -> &'static str {
        let (Setting::Figure { sets, .. } | Setting::Lanes { sets, .. }) = self;
        sets
    }
}

/// A kernel of which a group makes so many rows and columns of the result.
pub fn tile(rows: u64, columns: u64) -> Roles {
    Roles { rows, columns, ..Roles::default() }
}

/// A kernel with groups of so many threads.
pub fn group(threads: u64) -> Roles {
    Roles { threads, ..Roles::default() }
}

impl Roles {
    /// Of a kernel that multiplies in that precision alone.
    #[must_use]
    pub fn multiplies(self, precision: Precision) -> Roles {
        Roles { precision, ..self }
    }

    /// Terms of each sum that one step takes, and those that fill a stage of it.
    #[must_use]
    pub fn steps(self, step: u64, least_k: u64) -> Roles {
        Roles { step, least_k, ..self }
    }

    /// Quads of a row that each of so many threads keeps; a row that they cannot keep is not taken. 0: none is kept.
    #[must_use]
    pub fn keeps(self, kept_quads: u64, lanes: u64) -> Roles {
        let most =
            if kept_quads == 0 { u64::MAX } else { lanes.saturating_mul(4).saturating_mul(kept_quads) };
        Roles { kept_quads, ..self }.only("n", 0, most)
    }

    /// Of a kernel of which a group of so many threads makes what of others one thread makes.
    #[must_use]
    pub fn shared_by(self, threads: u64) -> Roles {
        Roles { threads, ..self }
    }

    /// Of a kernel whose threads make columns of one line.
    #[must_use]
    pub fn by_lines(self) -> Roles {
        Roles { by_lines: true, ..self }
    }

    /// Shapes are taken whose measure lies between these.
    #[must_use]
    pub fn only(mut self, measure: &'static str, least: u64, most: u64) -> Roles {
        self.takes.extend(Bounds::new(least, most).map(|bounds| (measure, bounds)));
        self
    }

    /// A row sets this constant to its figure of that name, at least 1.
    #[must_use]
    pub fn figure(mut self, figure: &'static str, sets: &'static str, most: u64) -> Roles {
        self.set.push(Setting::Figure { figure, sets, most, power: false });
        self
    }

    /// As [`Roles::figure`], a power of two.
    #[must_use]
    pub fn power(mut self, figure: &'static str, sets: &'static str, most: u64) -> Roles {
        self.set.push(Setting::Figure { figure, sets, most, power: true });
        self
    }

    /// A row says how many threads have one result; the constant is their number.
    #[must_use]
    pub fn lanes(mut self, sets: &'static str, least: u64, most: u64) -> Roles {
        self.set.push(Setting::Lanes { sets, least, most });
        self
    }
}

impl KernelDecl {
    /// The roles of a variant with these constants; others have their defaults.
    pub fn roles_of(&self, variant: &'static VariantDecl, constants: &[(&str, u32)]) -> Roles {
        let id = |name: &str| self.specs.iter().find(|s| s.name == name).map(|s| s.id);
        let spec: Vec<(u32, u32)> = constants.iter().filter_map(|&(name, n)| Some((id(name)?, n))).collect();
        self.roles.of(&Upper::of_variant(variant, &spec))
    }
}

/// The roles that a declaration states.
pub type RolesOf = Of<Roles>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::matmul::{MatmulF32, MatmulF32Columns};
    use crate::kernels::softmax::SoftmaxRows;

    fn roles(decl: &KernelDecl, variant: &str, constants: &[(&str, u32)]) -> Roles {
        decl.roles_of(decl.variant(variant).expect("declared"), constants)
    }

    #[test]
    fn roles_follow_from_macros_and_constants() {
        let tile = roles(&MatmulF32::DECL, MatmulF32::t32k4, &[]);
        assert_eq!((tile.rows, tile.columns, tile.step, tile.least_k), (32, 32, 64, 16));
        let columns = |quads| roles(&MatmulF32Columns::DECL, "plain_m4", &[("quads", quads)]);
        assert_eq!((columns(2).rows, columns(2).columns, columns(8).columns), (4, 8, 32));
        assert_eq!(columns(2).set, columns(8).set);
    }

    #[test]
    fn a_row_is_taken_that_the_threads_can_keep() {
        let most = |variant, lanes| roles(&SoftmaxRows::DECL, variant, &[("lanes", lanes)]).takes[0].1.most();
        assert_eq!(most(SoftmaxRows::fast4, 32), 512);
        assert_eq!(most(SoftmaxRows::wide4, 1024), 16_384);
        assert_eq!(most(SoftmaxRows::plain, 32), u64::MAX);
    }
}
