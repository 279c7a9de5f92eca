//! Elementwise kernels: over dense elements, over strides, through tiles where operands lie along another axis; and
//! copies that exchange the innermost axis.

use super::choice::Choice;
use super::family::{Family, FamilyDecl, Shape};
use pumice_plan::kernel::KernelDecl;
use pumice_plan::kernels::copy::Transpose;
use pumice_plan::kernels::elementwise::{
    ElementwiseFlat, ElementwiseRuns, ElementwiseRuns4, ElementwiseSpread, ElementwiseStrided,
    ElementwiseStrided4, ElementwiseTiles, SPREAD_ELEMENTS,
};
use pumice_types::Target;

/// Elements of the result; how often groups of 1024 of them fill all compute units, rounded down.
pub const FLAT: &FamilyDecl = &FamilyDecl {
    kernels: &[ElementwiseFlat::DECL],
    last: &[("elementwise_flat.plain", &[1.0])],
    ..FamilyDecl::new("elementwise.flat", &["n", "waves"])
};
/// How often groups of 1024 elements fill all compute units, rounded down; whether the innermost axis is walked four
/// elements at a time (1) or one (0); whether there are 64-bit elements (1 or 0).
pub const STRIDED: &FamilyDecl = &FamilyDecl {
    kernels: &[
        ElementwiseStrided::DECL,
        ElementwiseStrided4::DECL,
        ElementwiseSpread::DECL,
        ElementwiseRuns::DECL,
        ElementwiseRuns4::DECL,
    ],
    last: &[("elementwise_strided4.plain", &[]), ("elementwise_strided.plain", &[])],
    ..FamilyDecl::new("elementwise.strided", &["waves", "by_four", "wide"])
};
/// Steps over elements of which some lie along another axis than the result.
pub const CROSSED: &FamilyDecl = &tiled("elementwise.crossed", &[ElementwiseTiles::DECL]);
/// Copies that exchange the innermost axis.
pub const TRANSPOSED: &FamilyDecl = &tiled("copy.transposed", &[Transpose::DECL]);

/// Kernels through tiles, or `strided`: the step is one over strides. Of measures there are the extent along which
/// operands lie, and the extent along which the result does.
const fn tiled(name: &'static str, kernels: &'static [KernelDecl]) -> FamilyDecl {
    FamilyDecl { kernels, rules: &[("strided", &[])], ..FamilyDecl::new(name, &["from", "to"]) }
}

/// Rules of elementwise steps.
#[derive(Clone, Debug)]
pub struct Rules {
    pub(super) flat: Family,
    pub(super) strided: Family,
    pub(super) crossed: Family,
    pub(super) transposed: Family,
}

impl Rules {
    /// The kernel for `n` dense elements.
    pub fn flat(&self, n: u64, target: &Target) -> Option<Choice> {
        self.flat.choose(&Shape::new(target, [n, waves(n, target)]))
    }

    /// The kernel of a step over strides, of `n` elements; `wide`: there are 64-bit ones.
    pub fn strided(&self, n: u64, by_four: bool, wide: bool, target: &Target) -> Option<Choice> {
        self.strided.choose(&Shape::new(target, [waves(n, target), by_four.into(), wide.into()]))
    }

    /// The kernel for operands that lie along an axis of `from` elements where results lie along one of `to`; none
    /// where a step over strides is better.
    pub fn crossed(&self, from: u64, to: u64, target: &Target) -> Option<Choice> {
        through_tiles(&self.crossed, from, to, target)
    }

    /// The kernel for a copy of such a kind; none where a step over strides is better.
    pub fn transposed(&self, from: u64, to: u64, target: &Target) -> Option<Choice> {
        through_tiles(&self.transposed, from, to, target)
    }
}

/// How often groups of 1024 elements fill all compute units.
fn waves(n: u64, target: &Target) -> u64 {
    n / SPREAD_ELEMENTS / u64::from(target.tuning.compute_units.max(1))
}

fn through_tiles(family: &Family, from: u64, to: u64, target: &Target) -> Option<Choice> {
    let shape = &Shape::new(target, [from, to]);
    let choice = |row| family.choice(row, shape);
    let mut able =
        family.holding(shape).map(choice).filter(|c| c.as_ref().is_none_or(|c| family.takes(c, shape)));
    able.next().flatten()
}
