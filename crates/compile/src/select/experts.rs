//! Products by experts of many rows: the tile.
//!
//! A row of `experts` names a tile of `grouped_matmul_tile`. How many rows an expert has only the device knows: the
//! measure is how many there are for each on the average.

use super::choice::Choice;
use super::family::{Family, FamilyDecl, Shape};
use pumice_plan::kernel::KernelDecl;
use pumice_plan::kernels::experts::GroupedMatmulTile;
use pumice_types::{EncodingClass, Precision, Target};

const KERNELS: &[KernelDecl] = &[GroupedMatmulTile::DECL];

/// Rows for each expert, rounded up; columns and terms.
pub const TILE: &FamilyDecl = &FamilyDecl {
    kernels: KERNELS,
    last: &[("grouped_matmul_tile.plain", &[])],
    optional: true,
    ..FamilyDecl::new("experts", &["rows_per_expert", "n", "k"])
};

/// A product by experts at its upper bounds.
#[derive(Clone, Copy, Debug)]
pub struct ExpertExtents {
    /// Rows of all experts.
    pub rows: u64,
    /// Experts.
    pub experts: u64,
    /// Columns.
    pub n: u64,
    /// Terms.
    pub k: u64,
    /// How experts are stored.
    pub stored: EncodingClass,
    /// In what is multiplied.
    pub precision: Precision,
}

/// Rules of products by experts.
#[derive(Clone, Debug)]
pub struct Rules(pub(super) Family);

impl Rules {
    /// The tile; none where the target runs none.
    pub fn choose(&self, of: &ExpertExtents, target: &Target) -> Option<Choice> {
        let measures = [of.rows.div_ceil(of.experts.max(1)), of.n, of.k];
        let shape = Shape::new(target, measures).stored(of.stored).multiplied(of.precision);
        self.0.choose(&shape.looping([("k", of.k), ("experts", of.experts)]))
    }
}
