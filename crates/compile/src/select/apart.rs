//! Whether a reduction over axes with others between them is better as several, each over neighbouring axes.
//!
//! In: results and elements of each at their upper bounds. Out: yes or no. In one step each thread waits for its words
//! one after the other and neighbours read apart; each further step costs a level. A row of the table has the figures
//! of that; where none holds, one step is taken.

use super::family::{Family, FamilyDecl, Shape};
use super::read::{Figure, above_zero, number, upto};
use pumice_types::Target;

/// Results; elements of each.
pub const APART: &FamilyDecl = &FamilyDecl {
    rules: &[("apart", FIGURES)],
    optional: true,
    ..FamilyDecl::new("reduce.apart", &["outputs", "reduced"])
};
/// What one step and several take: threads that a compute unit has at once; words that a thread loads before it waits
/// for them, and how much of a level's time that takes; shares of the bandwidth for words that are read apart, and
/// for neighbours; levels that several steps have more than one.
const FIGURES: &[Figure] = &[
    upto("threads_per_unit", u32::MAX as u64),
    upto("loads_at_once", u32::MAX as u64),
    number("load_levels"),
    above_zero("scattered_share"),
    above_zero("in_order_share"),
    number("levels"),
];

/// Rules of reductions over axes that are no neighbours.
#[derive(Clone, Debug)]
pub struct Rules(pub(super) Family);

impl Rules {
    /// Whether a reduction to so many results of so many elements each is faster as several. `lanes`: threads of a
    /// result in one step.
    pub fn is_faster(&self, lanes: u32, outputs: u64, reduced: u64, target: &Target) -> bool {
        let shape = Shape::new(target, [outputs, reduced]);
        let Some(row) = self.0.holding(&shape).next() else { return false };
        let [threads_per_unit, loads_at_once] = row.counts();
        let [_, _, load_levels, scattered_share, in_order_share, levels] = row.figures();
        let (t, lanes) = (&target.tuning, u64::from(lanes));
        let at_once = threads_per_unit.saturating_mul(t.compute_units.max(1).into());
        let waves = outputs.saturating_mul(lanes).div_ceil(at_once);
        let loads = reduced.div_ceil(loads_at_once.saturating_mul(lanes)).saturating_mul(waves);
        let bytes = 4.0 * outputs as f64 * reduced as f64;
        let together =
            (loads as f64 * load_levels * t.level_us).max(bytes / (scattered_share * t.bytes_per_us));
        together > levels * t.level_us + bytes / (in_order_share * t.bytes_per_us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select::Selection;

    #[test]
    fn a_gpu_takes_another_step_where_scattered_words_cost_more() {
        let of = |target: &Target, outputs, reduced| {
            let read = Selection::exact(target);
            read.apart.is_faster(read.reduce.lanes(reduced, target), outputs, reduced, target)
        };
        let gpu = Target::h200();
        assert!(of(&gpu, 512, 65_536) && of(&gpu, 1 << 20, 64));
        assert!(!of(&gpu, 64, 64) && !of(&gpu, 64, 4096) && !of(&gpu, 0, 0));
        assert!(!of(&Target::lavapipe(), 512, 65_536));
    }
}
