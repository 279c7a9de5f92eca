//! What a plan can have wrong. Every fault names the program and the step; none of them is the user's mistake.

use crate::kernel::call::CallError;
use crate::kernel::{Feature, OperandAccess};
use crate::plan::Hazard;
use crate::region::{RegionKind, Span};
use crate::step::{Access, InputError, StepId};
use pumice_types::Bytes;
use std::fmt;

/// Which program of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ProgramRef {
    /// The load program.
    Load,
    /// The stream of a param, by index into `streams`.
    Stream(u32),
    /// A run, by index.
    Run(u32),
}

/// One fault and where it is.
#[derive(Clone, PartialEq)]
pub struct CheckError {
    /// The program; `None` for what all programs share.
    pub program: Option<ProgramRef>,
    /// The step with its origin; `None` where no single step is at fault.
    pub step: Option<(StepId, String)>,
    /// What is wrong.
    pub fault: Fault,
}

/// What is wrong.
#[derive(Clone, PartialEq, thiserror::Error)]
pub enum Fault {
    /// The list of regions, or one of them.
    #[error("region {kind}: {why}")]
    Region {
        /// Which.
        kind: RegionKind,
        /// What is wrong with it.
        why: String,
    },
    /// Everything together is larger than the target.
    #[error("weights, states and scratch need {needed}, the target has {available}")]
    Memory {
        /// Their sum.
        needed: Bytes,
        /// What there is.
        available: Bytes,
    },
    /// Entries that are none.
    #[error("entries: {0}")]
    Entries(String),
    /// A slot or value in the wrong place.
    #[error("{what} at {span}: {why}")]
    Slot {
        /// Which.
        what: String,
        /// Where it is.
        span: Span,
        /// What is wrong.
        why: &'static str,
    },
    /// A streamed param, or its stream, that is not as it must be.
    #[error("stream of {param}: {why}")]
    Stream {
        /// The param.
        param: String,
        /// What is wrong.
        why: &'static str,
    },
    /// A step reads a param whose bytes are not there.
    #[error("use {index} is of param {param}, {why}")]
    NotThere {
        /// The use.
        index: usize,
        /// The param.
        param: String,
        /// Why they are not.
        why: &'static str,
    },
    /// Two things that share bytes and may not.
    #[error("{a} and {b} share bytes at {span}")]
    Overlap {
        /// One.
        a: String,
        /// The other.
        b: String,
        /// Where the second lies.
        span: Span,
    },
    /// Ranges of the runs.
    #[error("ranges of the runs: {0}")]
    Ranges(String),
    /// A stated figure that is not so.
    #[error("stats: {what} is stated as {stated}, counted {counted}")]
    Stats {
        /// Which figure.
        what: &'static str,
        /// In the plan.
        stated: u64,
        /// Counted.
        counted: u64,
    },
    /// Levels, segments, or what stands in them.
    #[error("{0}")]
    Structure(String),
    /// A kernel call that does not fit its declaration.
    #[error(transparent)]
    Call(#[from] CallError),
    /// More push constants than there are.
    #[error("{bytes} bytes of push constants, at most {limit}")]
    PushConstants {
        /// What the call takes.
        bytes: u32,
        /// What there is.
        limit: u32,
    },
    /// A feature the target lacks, needed by the variant or by what its holes compute.
    #[error("variant {variant} needs {feature:?}, which the target does not have")]
    Feature {
        /// The variant.
        variant: String,
        /// The feature.
        feature: Feature,
    },
    /// A grid past the target's limit, or past its own stated upper bound.
    #[error("grid dimension {dimension} has {groups} groups, at most {limit}")]
    Grid {
        /// 0, 1 or 2.
        dimension: usize,
        /// Groups.
        groups: u64,
        /// Most there may be.
        limit: u64,
    },
    /// Loops that the target's driver would end before they are over.
    #[error(
        "the loops of {kernel} make up to {turns} trips in one invocation, the target ends them after {limit}"
    )]
    LoopTurns {
        /// The kernel with its variant.
        kernel: String,
        /// Most trips, by its declaration.
        turns: u64,
        /// Most trips the target makes.
        limit: u64,
    },
    /// A grid that leaves groups out, or launches some that nothing is there for.
    #[error("{needed} groups are needed, the grid is {launched:?}")]
    Groups {
        /// By the kernel's arguments.
        needed: u64,
        /// By the grid.
        launched: [u32; 3],
    },
    /// Arguments or constants that the kernel's declaration does not allow.
    #[error("{what}")]
    Argument {
        /// Which, and why.
        what: String,
    },
    /// A kernel whose arguments lead elsewhere than the view of its use.
    #[error("{operand}: {why}")]
    Footprint {
        /// Name of the operand, or `slot 3`.
        operand: String,
        /// Where they lead.
        why: String,
    },
    /// A kernel does to an operand what its use does not say.
    #[error("the kernel declares {operand} as {declared:?}, its use says {}", .access.name())]
    OperandAccess {
        /// Name of the operand, or `slot 3`.
        operand: String,
        /// What the kernel does.
        declared: OperandAccess,
        /// What the use says.
        access: Access,
    },
    /// A typed operand whose specialization constant contradicts its view.
    #[error("typed operand {operand} is compiled for storage {stated}, its view has {viewed}")]
    TypedStorage {
        /// Name of the operand.
        operand: String,
        /// Number of the storage in the call.
        stated: u32,
        /// Number of the storage of the view.
        viewed: u32,
    },
    /// An index into the step's uses that is too large.
    #[error("{what} is use {index} of {count}")]
    UseIndex {
        /// Whose.
        what: String,
        /// The index.
        index: u16,
        /// Uses there are.
        count: usize,
    },
    /// A use that steps of this kind cannot have, or that lies where it may not.
    #[error("use {index} ({} {span}): {why}", .access.name())]
    Use {
        /// Which use.
        index: usize,
        /// Its access.
        access: Access,
        /// Its span.
        span: Span,
        /// What is wrong.
        why: String,
    },
    /// The meaning does not fit the uses.
    #[error("meaning: {0}")]
    Meaning(String),
    /// An input of the meaning is not bound once, or there is no such input.
    #[error("meaning: {0}")]
    Input(#[from] InputError),
    /// The frame, its words or its advance program.
    #[error("frame: {0}")]
    Frame(String),
    /// A read that does not find its value.
    #[error("use {index} reads {expected} at {at} and finds {found}")]
    Finds {
        /// Which use.
        index: usize,
        /// The value it expects.
        expected: String,
        /// What is there.
        found: String,
        /// The first bytes that are wrong.
        at: Span,
    },
    /// A read of a value that a later step still writes to.
    #[error("use {index} reads {expected}, which {writer} has yet to write to")]
    Unfinished {
        /// Which use.
        index: usize,
        /// The value.
        expected: String,
        /// The step that still writes.
        writer: StepId,
    },
    /// A write that leaves what no step may leave.
    #[error("use {index} writes {version}, which comes from outside the program")]
    WritesOutside {
        /// Which use.
        index: usize,
        /// The value.
        version: String,
    },
    /// A state written over something that is not its previous version.
    #[error("use {index} writes {version} at {at} over {found}, which is not its previous version")]
    StateVersion {
        /// Which use.
        index: usize,
        /// The version it leaves.
        version: String,
        /// What is there.
        found: String,
        /// The first bytes that are wrong.
        at: Span,
    },
    /// An output or state that does not hold its value at the end.
    #[error("at the end {what} should hold {expected} and holds {found} at {at}")]
    End {
        /// `output logits`, `state kv`.
        what: String,
        /// The value it should hold.
        expected: String,
        /// What is there.
        found: String,
        /// The first bytes that are wrong.
        at: Span,
    },
    /// A derived weight that the load program does not leave.
    #[error("derived weight {name} at {span} is not left there by the load program")]
    Derived {
        /// Its name.
        name: String,
        /// Where the run expects it.
        span: Span,
    },
    /// A value that is touched outside the levels it is said to live in.
    #[error("{name} is touched in level {level}, it is said to live in {live:?}")]
    Live {
        /// Its name.
        name: String,
        /// The level.
        level: u32,
        /// First and last level stated.
        live: Option<(u32, u32)>,
    },
    /// Two steps in conflict with nothing between them that orders them.
    #[error("{} of {} and {} on {}: nothing between them orders them", .0.kind, .0.before, .0.after, .0.span)]
    Hazard(Hazard),
    /// Two steps of one level in conflict.
    #[error("{} of {} and {} on {}, in one level", .0.kind, .0.before, .0.after, .0.span)]
    SameLevel(Hazard),
    /// A step whose own uses conflict.
    #[error("uses {a} and {b} of the step share bytes at {span}")]
    SelfOverlap {
        /// The writing use.
        a: usize,
        /// The other.
        b: usize,
        /// Where the second lies.
        span: Span,
    },
    /// A view that leaves its span for values of the symbols that the run allows.
    #[error("use {index}: the view covers bytes {start}..{end} of {span}")]
    View {
        /// Which use.
        index: usize,
        /// First byte covered, relative to the span.
        start: i128,
        /// One past the last byte covered.
        end: i128,
        /// The span.
        span: Span,
    },
    /// A read behind what is written of a value, for values of the symbols that the run allows.
    #[error("use {index} reads {value} up to byte {end}, of which {written} bytes are written")]
    Unwritten {
        /// Which use.
        index: usize,
        /// The value.
        value: String,
        /// One past the last byte read.
        end: i128,
        /// Bytes of it that are written.
        written: u64,
    },
    /// A value that its writers do not fill, or write twice.
    #[error("{name}: {why}")]
    Coverage {
        /// The value.
        name: String,
        /// Which element, or how many.
        why: String,
    },
    /// An expression without a value for values of the symbols that the run allows.
    #[error("{what} has no value: {why}")]
    Expression {
        /// Where it stands.
        what: String,
        /// Why.
        why: String,
    },
}

pumice_types::debug_as_display!(Fault);

impl fmt::Display for ProgramRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProgramRef::Load => f.write_str("load"),
            ProgramRef::Stream(i) => write!(f, "stream {i}"),
            ProgramRef::Run(i) => write!(f, "run {i}"),
        }
    }
}

impl fmt::Display for CheckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(program) = &self.program {
            write!(f, "{program}: ")?;
        }
        match &self.step {
            Some((id, origin)) if origin.is_empty() => write!(f, "{id}: ")?,
            Some((id, origin)) => write!(f, "{id} ({origin}): ")?,
            None => {}
        }
        self.fault.fmt(f)
    }
}

pumice_types::debug_as_display!(CheckError);

impl std::error::Error for CheckError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        None
    }
}

/// Collects faults; says each of them once.
#[derive(Default)]
pub(super) struct Findings {
    program: Option<ProgramRef>,
    list: Vec<CheckError>,
}

/// More faults than anybody reads.
const MOST: usize = 1000;

impl Findings {
    /// From now on faults belong to this program.
    pub fn begin(&mut self, program: Option<ProgramRef>) {
        self.program = program;
    }

    /// A fault of no single step.
    pub fn add(&mut self, fault: Fault) {
        self.push(CheckError { program: self.program, step: None, fault });
    }

    /// A fault of a step.
    pub fn at(&mut self, step: StepId, origin: &str, fault: Fault) {
        self.push(CheckError { program: self.program, step: Some((step, origin.to_owned())), fault });
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// All of them.
    pub fn into_list(self) -> Vec<CheckError> {
        self.list
    }

    fn push(&mut self, error: CheckError) {
        if self.list.len() < MOST && !self.list.contains(&error) {
            self.list.push(error);
        }
    }
}
