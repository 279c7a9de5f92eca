//! Whether a reduction over axes with others between them is better as several, each over neighbouring axes.
//!
//! In: results and elements of each at their upper bounds. Out: yes or no. In one step each thread waits for its words one
//! after the other and neighbours read apart; each further step costs a level. A row of the table has the figures of that; where
//! none holds, one step is taken.

use super::rule::{Reader, RowReader, Rule};
use pumice_types::{EncodingClass, Target};

/// Families of rows that are read here.
pub const FAMILIES: &[&str] = &["reduce.apart"];
/// Results; elements of each.
const MEASURES: &[&str] = &["outputs", "reduced"];

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
pub struct Rules(Vec<Rule<Apart>>);

impl Rules {
    /// Reads the rows of the table.
    pub fn read(reader: &Reader<'_>) -> Result<Rules, String> {
        reader.rules("reduce.apart", MEASURES, Apart::read).map(Rules)
    }

    /// Whether a reduction to so many results of so many elements each is faster as several. `lanes`: threads of a result in
    /// one step.
    pub fn is_faster(&self, lanes: u32, outputs: u64, reduced: u64, target: &Target) -> bool {
        let rule = self.0.iter().find(|r| r.holds(&[outputs, reduced], EncodingClass::F32));
        rule.is_some_and(|r| r.take.is_faster(lanes.into(), outputs, reduced, target))
    }
}

impl Apart {
    fn read(row: &RowReader<'_>) -> Result<Apart, String> {
        let names =
            ["threads_per_unit", "loads_at_once", "load_us", "scattered_share", "in_order_share", "levels"];
        let [threads, loads, load_us, scattered_share, in_order_share, levels] = row.figures(names)?;
        let threads_per_unit = row.count(names[0], threads)?;
        let loads_at_once = row.count(names[1], loads)?;
        let above_zero = [threads, loads, scattered_share, in_order_share].iter().all(|f| *f > 0.0);
        if row.take() != "apart" || !above_zero {
            return Err(row.mistake("the one rule is `apart`, of threads, loads and shares above 0"));
        }
        Ok(Apart { threads_per_unit, loads_at_once, load_us, scattered_share, in_order_share, levels })
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
            read.apart.is_faster(read.reduce.lanes(reduced), outputs, reduced, target)
        };
        let gpu = Target::h200();
        assert!(of(&gpu, 512, 65_536) && of(&gpu, 1 << 20, 64));
        assert!(!of(&gpu, 64, 64) && !of(&gpu, 64, 4096) && !of(&gpu, 0, 0));
        assert!(!of(&Target::lavapipe(), 512, 65_536));
    }
}
