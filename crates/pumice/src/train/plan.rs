//! What a trainer's program needs, on a few lines.

use pumice_plan::hist::ranges;
use pumice_plan::{Plan, Region, RegionKind};
use pumice_train::{MicroBatches, Trained};
use pumice_types::Bytes;
use std::fmt;

/// The plan of a trainer as people read it; [`Trainer::executable`](super::Trainer::executable) has all of it.
#[derive(Clone, Copy)]
pub struct TrainPlan<'t> {
    pub(super) plan: &'t Plan,
    pub(super) trained: &'t [Trained],
    pub(super) micro_batches: Option<&'t MicroBatches>,
}

/// Bytes of a plan on the device: weights, states and scratch, and what passes between it and the host.
pub(super) fn bytes(plan: &Plan) -> Bytes {
    plan.regions.iter().map(Region::size).sum()
}

/// Of these, those of inputs, outputs and frames, which the compiler's limit does not count.
pub(super) fn passing(plan: &Plan) -> Bytes {
    let counted = [RegionKind::Weights, RegionKind::States, RegionKind::Scratch];
    plan.regions.iter().filter(|region| !counted.contains(&region.kind)).map(Region::size).sum()
}

impl TrainPlan<'_> {
    /// Bytes on the device: weights, states, scratch, inputs and outputs.
    pub fn bytes(&self) -> u64 {
        bytes(self.plan).0
    }

    /// How many rows of a batch a run takes; none where it takes all of them.
    pub fn micro_batch(&self) -> Option<u64> {
        self.micro_batches.map(|cut| cut.rows)
    }

    /// Levels of an entry's largest run.
    pub fn levels(&self, entry: &str) -> Option<u32> {
        let entry = self.plan.find_entry(entry)?;
        self.plan.runs_of(entry).map(|(_, run)| run.stats.levels).max()
    }
}

impl fmt::Display for TrainPlan<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values: u64 = self.trained.iter().map(|t| t.shape.iter().product::<u64>()).sum();
        let count = self.trained.len();
        writeln!(f, "trains {count} tensors, {values} values  target {}", self.plan.target.name)?;
        let size = |kind| self.plan.region_size(kind);
        write!(f, "bytes  frozen {}", size(RegionKind::Weights))?;
        writeln!(
            f,
            "  weights and moments {}  scratch {}  inputs and outputs {}",
            size(RegionKind::States),
            size(RegionKind::Scratch),
            passing(self.plan)
        )?;
        if let Some(MicroBatches { rows, symbol, .. }) = self.micro_batches {
            writeln!(f, "micro-batch  {rows} rows of {symbol}")?;
        }
        for (number, entry) in self.plan.entries.iter().enumerate() {
            for (_, run) in self.plan.runs_of(number) {
                let s = &run.stats;
                write!(
                    f,
                    "{}  {}  steps {}  levels {}",
                    entry.name,
                    ranges(&self.plan.symbols, run),
                    s.steps,
                    s.levels
                )?;
                writeln!(f, "  scratch {}  floor {:.0} us", s.scratch, s.floor.total_us)?;
            }
        }
        Ok(())
    }
}
