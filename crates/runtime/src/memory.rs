//! The memory plan as a person wants to see it. In: a plan. Out: numbers, and a table. Takes no memory itself.

use pumice_plan::{Placement, Plan, RegionKind, Residence};
use pumice_types::Bytes;
use std::fmt;

/// One region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegionSummary {
    /// Which.
    pub kind: RegionKind,
    /// Its size.
    pub size: Bytes,
    /// Device allocations it is made of.
    pub chunks: usize,
    /// Slots the user can name in it (params, states, inputs, outputs).
    pub slots: usize,
}

/// Scratch of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct ScratchSummary {
    /// The range of each symbol, by name.
    pub ranges: Vec<(String, u64, u64)>,
    /// Bytes it uses.
    pub used: Bytes,
    /// Bytes no placement can do without.
    pub lower_bound: Bytes,
    /// The one over the other.
    pub ratio: f64,
}

/// Where the bytes of an executable and one of its sessions go.
#[derive(Clone, Debug, PartialEq)]
pub struct MemorySummary {
    /// Name of the plan.
    pub plan: String,
    /// How scratch is placed.
    pub placement: Placement,
    /// Every region, weights first.
    pub regions: Vec<RegionSummary>,
    /// Every run.
    pub runs: Vec<ScratchSummary>,
    /// Most scratch of its own that a param passing through needs, while it is set.
    pub stream: Bytes,
}

impl MemorySummary {
    /// Of a plan.
    pub fn of(plan: &Plan) -> MemorySummary {
        let slots = |kind| match kind {
            RegionKind::Weights => plan.params.iter().filter(|p| p.residence() == Residence::Kept).count(),
            RegionKind::States => plan.states.len(),
            RegionKind::IoIn => plan.inputs.len(),
            RegionKind::IoOut => plan.outputs.len(),
            _ => 0,
        };
        let region = |kind| RegionSummary {
            kind,
            size: plan.region_size(kind),
            chunks: plan.region(kind).map_or(0, |r| r.chunks.len()),
            slots: slots(kind),
        };
        let run = |run: &pumice_plan::Run| ScratchSummary {
            ranges: plan
                .symbols
                .iter()
                .zip(&run.ranges)
                .map(|((_, s), r)| (s.name.clone(), r.0, r.1))
                .collect(),
            used: run.stats.scratch,
            lower_bound: run.stats.scratch_lower_bound,
            ratio: run.stats.scratch_ratio(),
        };
        MemorySummary {
            plan: plan.name.clone(),
            placement: plan.placement,
            regions: RegionKind::ALL.into_iter().map(region).collect(),
            runs: plan.runs.iter().map(run).collect(),
            stream: plan.streams.iter().map(|s| s.room.size()).max().unwrap_or(Bytes::ZERO),
        }
    }

    /// Bytes of the executable: weights.
    pub fn shared(&self) -> Bytes {
        self.regions.iter().filter(|r| r.kind == RegionKind::Weights).map(|r| r.size).sum()
    }

    /// Bytes of each session.
    pub fn per_session(&self) -> Bytes {
        self.regions.iter().filter(|r| r.kind != RegionKind::Weights).map(|r| r.size).sum()
    }
}

impl fmt::Display for MemorySummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<9} {:>10} {:>7} {:>6}", "region", "size", "chunks", "slots")?;
        for r in &self.regions {
            writeln!(f, "{:<9} {:>10} {:>7} {:>6}", r.kind.name(), r.size.to_string(), r.chunks, r.slots)?;
        }
        writeln!(f, "shared {}, per session {}", self.shared(), self.per_session())?;
        if self.stream > Bytes::ZERO {
            writeln!(f, "while params are set up to {}", self.stream)?;
        }
        for run in &self.runs {
            write!(f, "scratch")?;
            for (name, min, max) in &run.ranges {
                write!(f, " {name}={min}..={max}")?;
            }
            writeln!(f, ": {} (lower bound {}, ratio {:.2})", run.used, run.lower_bound, run.ratio)?;
        }
        Ok(())
    }
}
