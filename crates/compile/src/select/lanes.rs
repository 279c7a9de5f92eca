//! Threads side by side for one result: a power of two that follows from the number of elements; and the row kernels of
//! norms and softmax, which hold a row in registers where it fits.

use super::choice::Choice;
use super::family::{Family, FamilyDecl, Shape};
use super::read::{Figure, count, power, upto};
use pumice_plan::kernel::KernelDecl;
use pumice_types::Target;

/// Elements of a row.
pub const ROWS: &FamilyDecl = &FamilyDecl { rules: &[("row", ROW)], ..FamilyDecl::new("rows", &["n"]) };
const ROW: &[Figure] = &[
    upto("per_lane", u32::MAX as u64),
    power("least_lanes", 256),
    power("most_lanes", 256),
    count("kept_quads"),
];

/// Threads for so many elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lanes {
    per_lane: u64,
    least: u64,
    most: u64,
}

/// The figures of threads for one result, up to so many.
pub fn figures(most: u64) -> [Figure; 3] {
    [upto("per_lane", u32::MAX.into()), power("least_lanes", most), power("most_lanes", most)]
}

impl Lanes {
    /// From the figures, in their order.
    pub fn of([per_lane, least, most]: [u64; 3]) -> Lanes {
        Lanes { per_lane: per_lane.max(1), least, most }
    }

    /// Threads for `n` elements.
    pub fn of_elements(self, n: u64) -> u32 {
        let wanted = n.div_ceil(self.per_lane).checked_next_power_of_two().unwrap_or(self.most);
        wanted.max(self.least).min(self.most) as u32
    }
}

/// Rules of norms and softmax over rows.
#[derive(Clone, Debug)]
pub struct RowRules(pub(super) Family);

impl RowRules {
    /// The variant of a row kernel for rows of at most `n` elements, and its `lanes`: of those whose threads hold
    /// a row in registers the one that holds the fewest quads, or the plain one.
    pub fn choose(&self, decl: &'static KernelDecl, n: u64, target: &Target) -> Option<Choice> {
        let shape = &Shape::new(target, [n]);
        let row = self.0.holding(shape).next();
        let [per_lane, least, most, quads] = row.map_or([1, 256, 256, 0], |row| row.counts());
        let lanes = Lanes::of([per_lane, least, most]).of_elements(n);
        let all = decl.variants.iter().map(|variant| Choice::new(decl, variant).with("lanes", lanes));
        let small =
            all.filter(|c| c.roles.threads == 256 && c.roles.kept_quads <= quads && self.0.takes(c, shape));
        small.min_by_key(|c| c.roles.kept_quads.wrapping_sub(1))
    }
}
