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
const FIGURES: &[Figure] = &[
    upto("threads_per_unit", u32::MAX as u64),
    upto("loads_at_once", u32::MAX as u64),
    number("load_us"),
    above_zero("scattered_share"),
    above_zero("in_order_share"),
    number("levels"),
];

/// What one step and several take.
#[derive(Clone, Copy, Debug)]
struct Apart {
    /// Threads that a compute unit has at once.
    threads_per_unit: u64,
    /// Words that a thread loads before it waits for them.
    loads_at_once: u64,
    /// Microseconds of that.
    load_us: f64,
    /// Share of the bandwidth for words that are read apart.
    scattered_share: f64,
    /// Share of the bandwidth for neighbours.
    in_order_share: f64,
    /// Levels that several steps have more than one.
    levels: f64,
}

/// Rules of reductions over axes that are no neighbours.
#[derive(Clone, Debug)]
pub struct Rules(pub(super) Family);

impl Rules {
    /// Whether a reduction to so many results of so many elements each is faster as several. `lanes`: threads of a
    /// result in one step.
    pub fn is_faster(&self, lanes: u32, outputs: u64, reduced: u64, target: &Target) -> bool {
        let shape = Shape::new(target, [outputs, reduced]);
        let row = self.0.holding(&shape).next().map(|row| row.figures());
        row.is_some_and(|figures| Apart::of(figures).is_faster(lanes.into(), outputs, reduced, target))
    }
}

impl Apart {
    fn of([threads, loads, load_us, scattered_share, in_order_share, levels]: [f64; 6]) -> Apart {
        let (threads_per_unit, loads_at_once) = (threads as u64, loads as u64);
        Apart { threads_per_unit, loads_at_once, load_us, scattered_share, in_order_share, levels }
    }

    fn is_faster(&self, lanes: u64, outputs: u64, reduced: u64, target: &Target) -> bool {
        let t = &target.tuning;
        let at_once = self.threads_per_unit.saturating_mul(t.compute_units.max(1).into());
        let waves = outputs.saturating_mul(lanes).div_ceil(at_once);
        let loads = reduced.div_ceil(self.loads_at_once.saturating_mul(lanes)).saturating_mul(waves);
        let bytes = 4.0 * outputs as f64 * reduced as f64;
        let together = (loads as f64 * self.load_us).max(bytes / (self.scattered_share * t.bytes_per_us));
        together > self.levels * t.level_us + bytes / (self.in_order_share * t.bytes_per_us)
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
