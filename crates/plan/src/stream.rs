//! Params that pass through: their bytes do not stay on the device, only what the load program made of them does.
//!
//! In: nothing; data of a plan. Never here: who decides it (`compile/src/residence.rs`), who checks it
//! (`check/streams.rs`).

use crate::plan::{ParamSlot, Plan, Program};
use crate::region::{Region, RegionKind};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Whether the bytes of a param stay on the device. Decided once for all runs of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Residence {
    /// They have a slot of region `weights`.
    Kept,
    /// They lie in the scratch of the param's [`Stream`] while it runs, and are gone afterwards.
    Streamed,
}

impl Residence {
    /// The word that people read.
    pub const fn name(self) -> &'static str {
        match self {
            Residence::Kept => "kept",
            Residence::Streamed => "streamed",
        }
    }
}

impl fmt::Display for Residence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The part of the load program that one streamed param is passed through. Streams share no byte that one of them
/// writes, so they run in any order, each when its param is set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stream {
    /// Index into `params`.
    pub param: u32,
    /// Reads that param and constants alone, and leaves what is derived from it among the weights.
    pub program: Program,
    /// Region `scratch` as this program sees it, the param in it; there only while the program runs.
    pub room: Region,
}

impl ParamSlot {
    /// Whether its bytes stay: those of a streamed param lie in scratch.
    pub const fn residence(&self) -> Residence {
        match self.span.region {
            RegionKind::Scratch => Residence::Streamed,
            _ => Residence::Kept,
        }
    }
}

impl Plan {
    /// The number of the stream that a param passes through; `None` for one that is kept.
    pub fn stream_of(&self, param: u32) -> Option<usize> {
        self.streams.iter().position(|s| s.param == param)
    }

    /// What runs when params are set: the load program, then the streams.
    pub fn load_programs(&self) -> impl Iterator<Item = &Program> {
        [&self.load].into_iter().chain(self.streams.iter().map(|s| &s.program))
    }

    /// Every program: those that run when params are set, then those of the runs.
    pub fn programs(&self) -> impl Iterator<Item = &Program> {
        self.load_programs().chain(self.runs.iter().map(|r| &r.program))
    }

    /// As [`Plan::programs`], to be changed.
    pub fn programs_mut(&mut self) -> impl Iterator<Item = &mut Program> {
        let streams = self.streams.iter_mut().map(|s| &mut s.program);
        [&mut self.load].into_iter().chain(streams).chain(self.runs.iter_mut().map(|r| &mut r.program))
    }
}
