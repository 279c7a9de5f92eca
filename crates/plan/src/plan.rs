//! The plan: a value that says where every byte lives, what runs when, and what separates it. Made and checked with
//! no GPU, never edited after planning.

use crate::entry::Entry;
use crate::file::PlanForm;
use crate::frame::Frame;
use crate::kernel::Fingerprint;
use crate::region::{Region, RegionKind, Span};
use crate::step::{Step, StepId, VersionId};
use crate::stream::Stream;
use pumice_types::{
    Bindings, Bytes, DType, DimExpr, Encoding, EvalError, Precision, ScalarId, SymbolId, SymbolTable,
    TableId, Target, Tensor, When,
};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// How scratch is placed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    /// Every value has its own bytes: all intermediates can be read after a run.
    Bump,
    /// Bytes of dead values are used again; lifetimes are counted in levels.
    #[default]
    Packed,
}

/// A dynamic scalar (OPS 2).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScalarSlot {
    /// Name in the API.
    pub name: String,
    /// I32, U32 or F32.
    pub dtype: DType,
    /// Smallest value allowed.
    pub min: f64,
    /// Largest value allowed.
    pub max: f64,
    /// Value until it is set.
    pub default: f64,
    /// What is added to it on the device at the end of every replay (integers only).
    pub advance: Option<DimExpr>,
}

/// A param: natural bytes in region `weights`, or, where they only pass through, in the scratch of its stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParamSlot {
    /// Name in the API.
    pub name: String,
    /// How its elements lie in its bytes.
    pub encoding: Encoding,
    /// Extents.
    pub shape: Vec<u64>,
    /// Where it is stored, or lies while its stream runs.
    pub span: Span,
}

/// Params of one encoding that lie one after the other without a gap, so that a kernel reads them as one weight: merged
/// queries, keys and values cost no bytes and no step. Each is still set and read alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinedParams {
    /// Indices into `params`, in the order of their bytes; two at least.
    pub params: Vec<u32>,
    /// The bytes of all of them.
    pub span: Span,
}

/// Data written in the graph: natural bytes in region `weights`, uploaded when the plan is loaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConstantSlot {
    /// The bytes.
    pub data: Tensor,
    /// Where they lie.
    pub span: Span,
}

/// What a state holds before anything was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StateInit {
    /// All zero.
    Zeros,
    /// The value of a param (index into `params`), taken when the session is made or the state is reset.
    Param(u32),
    /// These natural bytes.
    Data(Vec<u8>),
    /// Whatever is given by its name before the first run; a reset waits for it again.
    Given,
}

/// A persistent state: natural bytes in region `states`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateSlot {
    /// Name in the API.
    pub name: String,
    /// Stored type: F32, F16, BF16 or an integer type.
    pub dtype: DType,
    /// Extents; static.
    pub shape: Vec<u64>,
    /// The axis along which only a prefix is valid.
    pub capacity_axis: Option<u32>,
    /// What it holds before the first write.
    pub init: StateInit,
    /// Where it lives.
    pub span: Span,
}

/// An input or output: natural bytes in `io_in` or `io_out`, dense at its actual extents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IoSlot {
    /// Name in the API.
    pub name: String,
    /// Boundary type.
    pub dtype: DType,
    /// Extents, shared with the graph.
    pub shape: Arc<[DimExpr]>,
    /// Its bytes at the upper bounds.
    pub span: Span,
}

/// Where a value version comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum VersionOrigin {
    /// Bytes of a stored param (index into `params`), set by the user.
    Param(u32),
    /// Bytes of several stored params (index into `joined`).
    Joined(u32),
    /// Data of the graph (index into `constants`), uploaded when the plan is loaded.
    Constant(u32),
    /// Bytes that the load program derives.
    Derived,
    /// Bytes of an input (index into `inputs`), set before the run.
    Input(u32),
    /// The frame, written before the run.
    Frame,
    /// A state (index into `states`) as it was when the run began.
    StateBefore(u32),
    /// A state after a step of the run wrote to it.
    StateAfter(u32),
    /// The status block.
    Status,
    /// Written by a step of the run.
    Step,
    /// A row of the frame (index into `found`), which a step of the run fills.
    Found(u32),
    /// What a turn of a loop begins with, which a step before the loop makes.
    Carried,
    /// What a turn leaves for the next in the place of that version.
    Next(VersionId),
    /// What is there behind the loop, in the place of that version.
    Left(VersionId),
    /// A state (index into `states`) as a turn of a loop begins with it, which nothing writes: in the first turn it is
    /// the version before it, in every other the [`VersionOrigin::Next`] of it.
    StateCarried(u32),
}

/// A value of a program, for the checker, for reading intermediates by name and for finding NaNs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanValue {
    /// Name of the graph value it is.
    pub name: Arc<str>,
    /// Where it comes from.
    pub origin: VersionOrigin,
    /// Its type; of a param how it is stored.
    pub encoding: Encoding,
    /// Extents.
    pub shape: Arc<[DimExpr]>,
    /// Where it lives.
    pub span: Span,
    /// First and last level that touch it; empty for what lives outside the run.
    pub live: Option<(u32, u32)>,
}

impl PlanValue {
    /// The type of its elements; of blocks, that of the values that they stand for.
    pub const fn dtype(&self) -> DType {
        self.encoding.dtype()
    }
}

/// Dependency of a barrier: what the accesses before it did and what those after it do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Barrier {
    /// Kernel writes are made visible.
    pub from_shader_write: bool,
    /// Kernel reads end (write after read: execution only).
    pub from_shader_read: bool,
    /// Copies and fills are made visible or end.
    pub from_transfer: bool,
    /// Kernels wait.
    pub to_shader: bool,
    /// Copies and fills wait.
    pub to_transfer: bool,
    /// Indirect grids wait.
    pub to_indirect: bool,
}

/// A dependency level: its steps run without a barrier between them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Level {
    /// Its steps: a range of the program's steps.
    pub steps: Range<u32>,
    /// The barrier before it; `None` where nothing needs one (the first level of a segment has the seam barrier).
    pub barrier: Option<Barrier>,
    /// Why the barrier is there, for people: the first hazard found.
    pub reason: Option<Hazard>,
}

/// The kind of a hazard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum HazardKind {
    /// Read after write.
    Raw,
    /// Write after read.
    War,
    /// Write after write.
    Waw,
}

/// Two steps that touch a byte in conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Hazard {
    /// Which kind.
    pub kind: HazardKind,
    /// The earlier step.
    pub before: StepId,
    /// The later step.
    pub after: StepId,
    /// The later step's span.
    pub span: Span,
}

/// Consecutive levels that are recorded together, or one host step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Segment {
    /// One reusable command buffer. It begins with a seam barrier, because it may be replayed directly after itself.
    Gpu {
        /// Its levels: a range of the program's levels.
        levels: Range<u32>,
    },
    /// A loop: as [`Segment::Gpu`], replayed while a symbol that it finds is 1.
    Repeat {
        /// Its levels: those of one turn.
        levels: Range<u32>,
        /// Turns at most.
        turns: u32,
        /// The symbol. Where it is 0 the steps of the turn do nothing, but for those that find it.
        running: SymbolId,
        /// How many turns there are, where the caller's symbols say so: less than one is none. Then every turn is
        /// taken, and no step finds the symbol.
        count: Option<DimExpr>,
    },
    /// Host steps of one level, run while the device is idle.
    Host {
        /// The level.
        level: u32,
    },
}

impl Segment {
    /// How many turns a loop takes at these bindings, where the caller's symbols say so: never more than at most.
    ///
    /// # Errors
    /// A symbol without a value.
    pub fn counted_turns(count: &DimExpr, most: u32, bindings: &Bindings) -> Result<u32, EvalError> {
        Ok(u32::try_from(count.eval(bindings)?.max(0)).unwrap_or(most).min(most))
    }
}

/// Steps with their order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Program {
    /// Every step, level by level.
    pub steps: Vec<Step>,
    /// The levels.
    pub levels: Vec<Level>,
    /// The segments.
    pub segments: Vec<Segment>,
    /// What the steps' uses read and leave.
    pub values: Vec<PlanValue>,
}

impl Program {
    /// The branches that all steps of a turn, whose levels these are, stand under: where they are not taken the turn
    /// does nothing. Steps that find words of the frame run whatever is taken, and say nothing.
    pub fn turn_when(&self, levels: &Range<u32>) -> When {
        let all = self.levels.get(levels.start as usize..levels.end as usize).unwrap_or_default();
        let steps = all.iter().flat_map(|level| self.steps_of(level)).map(|(_, step)| step);
        let whens = steps.filter(|step| !step.finds_words()).map(|step| step.when.clone());
        whens.reduce(|a, b| a.common(&b)).unwrap_or_default()
    }

    /// Steps of a level with their ids.
    pub fn steps_of(&self, level: &Level) -> impl Iterator<Item = (StepId, &Step)> {
        let range = level.steps.clone();
        range.clone().map(StepId).zip(self.steps.get(range.start as usize..range.end as usize).unwrap_or(&[]))
    }

    /// The value of a version id.
    pub fn value(&self, id: VersionId) -> Option<&PlanValue> {
        self.values.get(id.0 as usize)
    }

    /// The state (index into `states`) that a value of this origin is a version of.
    pub fn state_of(&self, origin: VersionOrigin) -> Option<u32> {
        use VersionOrigin as O;
        match origin {
            O::StateBefore(state) | O::StateAfter(state) | O::StateCarried(state) => Some(state),
            O::Next(first) | O::Left(first) => match self.value(first)?.origin {
                O::StateCarried(state) => Some(state),
                _ => None,
            },
            _ => None,
        }
    }
}

/// A condition on the bindings that is checked before a run: `min ≤ value ≤ max`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunCheck {
    /// The expression.
    pub value: DimExpr,
    /// Smallest value allowed.
    pub min: i64,
    /// Largest value allowed.
    pub max: i64,
    /// What it means, with names: `feed of state kv: rows dst..dst+count`.
    pub what: Arc<str>,
    /// Where the condition compares two extents, those: equal if `max` is 0, else the first at most the second. `value`
    /// is the second less the first.
    #[serde(default)]
    pub sides: Option<Box<[DimExpr; 2]>>,
}

/// The plan for one range of the symbols.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Which entry it is of: an index into the plan's `entries`.
    #[serde(default)]
    pub entry: u32,
    /// Smallest and largest value of each symbol, in the order of the symbol table.
    pub ranges: Vec<(u64, u64)>,
    /// What changes between runs.
    pub frame: Frame,
    /// The steps.
    pub program: Program,
    /// Conditions on bindings and scalars.
    pub checks: Vec<RunCheck>,
    /// For each output of its entry, the version its bytes hold at the end.
    pub outputs: Vec<VersionId>,
    /// For each state, the version its bytes hold at the end.
    pub states: Vec<VersionId>,
    /// Figures.
    pub stats: Stats,
}

impl Run {
    /// Whether these values of the symbols are in this run's ranges; one without a value is found by the run, or
    /// another entry's.
    pub fn covers(&self, value: impl Fn(SymbolId) -> Option<u64>) -> bool {
        self.ranges
            .iter()
            .enumerate()
            .all(|(i, &(lo, hi))| value(SymbolId(i as u32)).is_none_or(|v| (lo..=hi).contains(&v)))
    }

    /// The plan's symbols within this run's ranges.
    pub fn symbols_of(&self, symbols: &SymbolTable) -> SymbolTable {
        let mut own = symbols.clone();
        for (id, &(lo, hi)) in (0u32..).map(SymbolId).zip(&self.ranges) {
            own.set_range(id, lo, hi);
        }
        own
    }
}

/// Figures of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stats {
    /// Steps.
    pub steps: u32,
    /// Levels.
    pub levels: u32,
    /// Barriers, seam barriers not counted.
    pub barriers: u32,
    /// Barriers the same schedule would have with every value in its own bytes.
    pub barriers_unlimited: u32,
    /// Bytes of scratch this run uses.
    pub scratch: Bytes,
    /// Largest sum of bytes alive in one level: no placement with these levels can use less.
    pub scratch_lower_bound: Bytes,
    /// The same where no step with slack waits: they do where that makes it less.
    pub scratch_earliest: Bytes,
    /// A lower estimate of the run's time from the target's measured rates (docs/measuring.md), and its parts, in
    /// microseconds.
    pub floor: Floor,
    /// Levels of the layers: (name prefix of the layer, levels that hold a step of it).
    pub layers: Vec<(String, u32)>,
    /// What is computed again, where memory did not suffice to keep it.
    pub again: Option<Again>,
}

/// What a run computes again, so that it fits in less memory. Nothing of its results changes by it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Again {
    /// Steps that the run has more. What is repeated inside the step that reads it is none.
    pub steps: u32,
    /// Bytes of scratch that it would need without.
    pub scratch: Bytes,
    /// The estimate of the run's time without, in microseconds; [`Stats::floor`] is that with them.
    pub floor_us: f64,
}

impl Stats {
    /// Scratch over its lower bound; 1 when nothing is needed.
    pub fn scratch_ratio(&self) -> f64 {
        if self.scratch_lower_bound.0 == 0 {
            1.0
        } else {
            self.scratch.0 as f64 / self.scratch_lower_bound.0 as f64
        }
    }
}

/// A lower estimate of a run's time on the target, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Floor {
    /// Everything, the submission left out.
    pub total_us: f64,
    /// Levels and dispatches.
    pub levels_us: f64,
    /// Levels bound by bytes.
    pub bytes_us: f64,
    /// Levels bound by arithmetic.
    pub flops_us: f64,
}

/// A whole plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// What of it is there.
    #[serde(default)]
    pub form: PlanForm,
    /// Name of the graph.
    pub name: String,
    /// By what whoever made the plan knows the graph again; `None` where nobody asked.
    #[serde(default)]
    pub graph: Option<Fingerprint>,
    /// What it was made for; without its selection table, which nothing asks a plan for.
    pub target: Target,
    /// Which selection table it was made with.
    #[serde(default)]
    pub table: TableId,
    /// Arithmetic chosen.
    pub precision: Precision,
    /// Placement policy.
    pub placement: Placement,
    /// Symbols with their full ranges.
    pub symbols: SymbolTable,
    /// Dynamic scalars.
    pub scalars: Vec<ScalarSlot>,
    /// Stored params.
    pub params: Vec<ParamSlot>,
    /// Params that lie side by side.
    #[serde(default)]
    pub joined: Vec<JoinedParams>,
    /// Data written in the graph.
    pub constants: Vec<ConstantSlot>,
    /// States.
    pub states: Vec<StateSlot>,
    /// What it runs; one where it is made from one graph.
    pub entries: Vec<Entry>,
    /// Inputs in declaration order, entry by entry.
    pub inputs: Vec<IoSlot>,
    /// Outputs in declaration order, entry by entry.
    pub outputs: Vec<IoSlot>,
    /// Names of the ops in the status block, by number.
    pub status_ops: Vec<String>,
    /// One region of each kind, in the order of [`RegionKind::ALL`].
    pub regions: Vec<Region>,
    /// Maps stored params to the bytes the kernels want. Re-run for the params that were set again.
    pub load: Program,
    /// The parts of the load program that streamed params are passed through; one for each such param.
    #[serde(default)]
    pub streams: Vec<Stream>,
    /// One per entry and specialization; the ranges of an entry are disjoint and cover every binding.
    pub runs: Vec<Run>,
}

impl Plan {
    /// A plan for a device with nothing in it, to be filled by hand.
    pub fn empty(name: &str, target: Target) -> Plan {
        Plan {
            form: PlanForm::Explain,
            name: name.to_owned(),
            graph: None,
            target: target.without_table(),
            table: TableId::default(),
            precision: Precision::Exact,
            placement: Placement::Packed,
            symbols: SymbolTable::default(),
            scalars: Vec::new(),
            params: Vec::new(),
            joined: Vec::new(),
            constants: Vec::new(),
            states: Vec::new(),
            entries: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            status_ops: Vec::new(),
            regions: Vec::new(),
            load: Program::default(),
            streams: Vec::new(),
            runs: Vec::new(),
        }
    }

    /// A region.
    pub fn region(&self, kind: RegionKind) -> Option<&Region> {
        self.regions.iter().find(|r| r.kind == kind)
    }

    /// Size of a region.
    pub fn region_size(&self, kind: RegionKind) -> Bytes {
        self.region(kind).map_or(Bytes::ZERO, Region::size)
    }

    /// The run of an entry whose ranges hold the bindings.
    pub fn run_for(&self, entry: usize, value: impl Fn(SymbolId) -> Option<u64> + Copy) -> Option<usize> {
        self.runs_of(entry).find(|(_, run)| run.covers(value)).map(|(number, _)| number)
    }

    /// A scalar by name.
    pub fn find_scalar(&self, name: &str) -> Option<ScalarId> {
        self.scalars.iter().position(|s| s.name == name).map(|i| ScalarId(i as u32))
    }
}

impl fmt::Display for HazardKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            HazardKind::Raw => "RAW",
            HazardKind::War => "WAR",
            HazardKind::Waw => "WAW",
        })
    }
}
