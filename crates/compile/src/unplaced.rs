//! What lowering makes: an unplaced program, steps over buffers that have no place yet.

use pumice_ir::ValueType;
use pumice_ir::infer::normalize_axis;
use pumice_plan::{Access, Cost, Meaning, RegionKind, StepKind, View};
use pumice_types::{DimExpr, SymbolId, When};
use smallvec::SmallVec;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A request for bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BufferId(pub u32);

/// A value version: what bytes of a buffer can hold. Scratch has one per buffer; a state has one more after each write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UnplacedVersion(pub u32);

/// Where a buffer will live, and whose bytes it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StorageClass {
    /// The arena.
    Scratch,
    /// A stored param.
    Param(u32),
    /// A param that passes through, in the arena.
    Streamed(u32),
    /// Stored params that lie side by side.
    Joined(u32),
    /// Data of the graph.
    Constant(u32),
    /// Derived from params by the load program.
    Derived,
    /// A state.
    State(u32),
    /// An input of the program.
    Input(u32),
    /// An output of the program.
    Output(u32),
    /// An operand of a host step, in `io_out`.
    HostOperand,
    /// A result of a host step, in `io_in`.
    HostResult,
    /// The frame.
    Frame,
    /// A row of found words of the frame.
    Found(u32),
    /// The status block.
    Status,
}

impl StorageClass {
    /// The region it is in.
    pub fn region(self) -> RegionKind {
        match self {
            StorageClass::Scratch | StorageClass::Streamed(_) => RegionKind::Scratch,
            StorageClass::Param(_)
            | StorageClass::Joined(_)
            | StorageClass::Constant(_)
            | StorageClass::Derived => RegionKind::Weights,
            StorageClass::State(_) => RegionKind::States,
            StorageClass::Input(_) | StorageClass::HostResult => RegionKind::IoIn,
            StorageClass::Output(_) | StorageClass::HostOperand => RegionKind::IoOut,
            StorageClass::Frame | StorageClass::Found(_) => RegionKind::Frame,
            StorageClass::Status => RegionKind::Status,
        }
    }

    /// Whether its value is known when the load program has run.
    pub fn is_load_time(self) -> bool {
        matches!(
            self,
            StorageClass::Param(_)
                | StorageClass::Joined(_)
                | StorageClass::Constant(_)
                | StorageClass::Derived
        )
    }
}

/// A buffer. Its name is that of its first version.
#[derive(Clone, Copy, Debug)]
pub struct Buffer {
    /// Bytes at the upper bounds.
    pub bytes: u64,
    /// Where it will live.
    pub class: StorageClass,
}

/// A value version.
#[derive(Clone, Debug)]
pub struct ValueVersion {
    /// Name of the graph value.
    pub name: Arc<str>,
    /// The buffer whose bytes hold it.
    pub buffer: BufferId,
    /// Type; of a param how it is stored.
    pub ty: ValueType,
    /// For a state: the version it replaces.
    pub replaces: Option<UnplacedVersion>,
}

/// A placed view: bytes of a buffer as a tensor. Where the buffer will lie is not known yet.
#[derive(Clone, Debug, PartialEq)]
pub struct PlacedView {
    /// What the bytes hold.
    pub version: UnplacedVersion,
    /// First byte inside the buffer and number of bytes that the view begins at; `None` is the whole buffer.
    pub part: Option<(u64, u64)>,
    /// How they are seen.
    pub view: Arc<View>,
}

impl PlacedView {
    /// Whether it has no element, whatever symbols are.
    pub fn is_empty(&self) -> bool {
        self.view.shape.iter().any(|d| d.is(0))
    }

    /// 32-bit words of an element in the arena.
    pub fn words_of_element(&self) -> u64 {
        if self.view.dtype.arena_bytes() == 8 { 2 } else { 1 }
    }

    /// An axis of it as an index.
    pub fn axis(&self, axis: i64) -> Result<usize, String> {
        normalize_axis(axis, self.view.shape.len()).map_err(|e| e.to_string())
    }
}

/// A use of a step.
#[derive(Clone, Debug)]
pub struct UnplacedUse {
    /// The version read or left.
    pub version: UnplacedVersion,
    /// First byte inside the buffer and number of bytes; `None` is the whole buffer.
    pub part: Option<(u64, u64)>,
    /// How.
    pub access: Access,
    /// As a tensor.
    pub view: Arc<View>,
}

/// A step over buffers.
#[derive(Clone, Debug)]
pub struct UnplacedStep {
    /// What it does.
    pub kind: StepKind,
    /// What it touches.
    pub uses: Vec<UnplacedUse>,
    /// The label.
    pub origin: Arc<str>,
    /// Why there is such a step, where there might have been none; mostly empty.
    pub reason: String,
    /// What it waits for besides: versions whose last writers come before it.
    pub waits: SmallVec<[UnplacedVersion; 1]>,
    /// What it computes.
    pub meaning: Meaning,
    /// For the floor.
    pub cost: Cost,
    /// The branches that must be taken for it.
    pub when: When,
    /// The loop of counted turns that it is of, whose every turn is taken: `when` does not name it.
    pub counted: Option<u32>,
}

/// Everything lowering made for one range of the symbols.
#[derive(Clone, Debug, Default)]
pub struct UnplacedProgram {
    /// Buffers by id.
    pub buffers: Vec<Buffer>,
    /// Versions by id.
    pub versions: Vec<ValueVersion>,
    /// Steps; each after those it depends on.
    pub steps: Vec<UnplacedStep>,
    /// For each output of the graph, the version in its io slot.
    pub outputs: Vec<UnplacedVersion>,
    /// For each state, the version at the end.
    pub states: Vec<UnplacedVersion>,
    /// What both branches of a choice write.
    pub joins: BTreeSet<UnplacedVersion>,
    /// What turns begin with.
    pub carried: BTreeSet<UnplacedVersion>,
    /// What each run makes anew although loading could make it: kept, it would take its bytes for good.
    pub made_anew: BTreeSet<UnplacedVersion>,
    /// The loops.
    pub loops: Vec<UnplacedLoop>,
}

/// A loop.
#[derive(Clone, Debug)]
pub struct UnplacedLoop {
    /// 1 while it runs.
    pub symbol: SymbolId,
    /// Turns at most.
    pub most: u64,
    /// How many there are, where the caller's symbols say so.
    pub turns: Option<DimExpr>,
    /// What a turn begins with, what it leaves for the next, and what is there behind the loop, all in one buffer.
    pub carried: Vec<[UnplacedVersion; 3]>,
}

impl UnplacedProgram {
    /// The buffer of a version.
    pub fn buffer_of(&self, version: UnplacedVersion) -> &Buffer {
        &self.buffers[self.versions[version.0 as usize].buffer.0 as usize]
    }

    /// A version, the one that it replaces, and so on.
    pub fn back_from(&self, version: UnplacedVersion) -> impl Iterator<Item = UnplacedVersion> + '_ {
        std::iter::successors(Some(version), |v| self.versions[v.0 as usize].replaces)
    }

    /// Name of the graph value that a buffer was made for.
    pub fn name_of(&self, buffer: BufferId) -> &str {
        self.versions.iter().find(|c| c.buffer == buffer).map_or("?", |c| &c.name)
    }

    /// A new buffer with its first version.
    pub fn add(
        &mut self,
        name: impl Into<Arc<str>>,
        class: StorageClass,
        ty: &ValueType,
        bytes: u64,
    ) -> UnplacedVersion {
        self.buffers.push(Buffer { bytes, class });
        let buffer = BufferId(self.buffers.len() as u32 - 1);
        self.add_version(name, buffer, ty, None)
    }

    /// A new version of a buffer.
    pub fn add_version(
        &mut self,
        name: impl Into<Arc<str>>,
        buffer: BufferId,
        ty: &ValueType,
        replaces: Option<UnplacedVersion>,
    ) -> UnplacedVersion {
        self.versions.push(ValueVersion { name: name.into(), buffer, ty: ty.clone(), replaces });
        UnplacedVersion(self.versions.len() as u32 - 1)
    }
}
