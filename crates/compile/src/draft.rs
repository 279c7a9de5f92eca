//! What lowering makes: steps over buffers that have no place yet.

use pumice_ir::ValueType;
use pumice_plan::{Access, Cost, Meaning, RegionKind, StepKind, View};
use std::sync::Arc;

/// A request for bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BufferId(pub u32);

/// One value that bytes of a buffer can hold. Scratch has one content per buffer; a state has one per version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DraftContent(pub u32);

/// Where a buffer will live.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Home {
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
    /// The status block.
    Status,
}

impl Home {
    /// The region it is in.
    pub fn region(self) -> RegionKind {
        match self {
            Home::Scratch | Home::Streamed(_) => RegionKind::Scratch,
            Home::Param(_) | Home::Joined(_) | Home::Constant(_) | Home::Derived => RegionKind::Weights,
            Home::State(_) => RegionKind::States,
            Home::Input(_) | Home::HostResult => RegionKind::IoIn,
            Home::Output(_) | Home::HostOperand => RegionKind::IoOut,
            Home::Frame => RegionKind::Frame,
            Home::Status => RegionKind::Status,
        }
    }

    /// Whether its content is known when the load program has run.
    pub fn is_load_time(self) -> bool {
        matches!(self, Home::Param(_) | Home::Joined(_) | Home::Constant(_) | Home::Derived)
    }
}

/// A buffer. Its name is that of its first content.
#[derive(Clone, Copy, Debug)]
pub struct Buffer {
    /// Bytes at the upper bounds.
    pub bytes: u64,
    /// Where it will live.
    pub home: Home,
}

/// A content.
#[derive(Clone, Debug)]
pub struct Content {
    /// Name of the graph value.
    pub name: Arc<str>,
    /// The buffer whose bytes hold it.
    pub buffer: BufferId,
    /// Type; of a param how it is stored.
    pub ty: ValueType,
    /// For a state: the content it replaces.
    pub replaces: Option<DraftContent>,
}

/// A value with a place: bytes of a buffer, seen through a view.
#[derive(Clone, Debug, PartialEq)]
pub struct Located {
    /// What the bytes hold.
    pub content: DraftContent,
    /// First byte inside the buffer and number of bytes that the view begins at; `None` is the whole buffer.
    pub part: Option<(u64, u64)>,
    /// How they are seen.
    pub view: Arc<View>,
}

/// A use of a step.
#[derive(Clone, Debug)]
pub struct DraftUse {
    /// The content read or left.
    pub content: DraftContent,
    /// First byte inside the buffer and number of bytes; `None` is the whole buffer.
    pub part: Option<(u64, u64)>,
    /// How.
    pub access: Access,
    /// As a tensor.
    pub view: Arc<View>,
}

/// A step over buffers.
#[derive(Clone, Debug)]
pub struct DraftStep {
    /// What it does.
    pub kind: StepKind,
    /// What it touches.
    pub uses: Vec<DraftUse>,
    /// The label.
    pub origin: Arc<str>,
    /// Why there is such a step, where there might have been none; mostly empty.
    pub reason: String,
    /// What it computes.
    pub meaning: Meaning,
    /// For the floor.
    pub cost: Cost,
}

/// Everything lowering made for one range of the symbols.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    /// Buffers by id.
    pub buffers: Vec<Buffer>,
    /// Contents by id.
    pub contents: Vec<Content>,
    /// Steps; each after those it depends on.
    pub steps: Vec<DraftStep>,
    /// For each output of the graph, the content in its io slot.
    pub outputs: Vec<DraftContent>,
    /// For each state, the content at the end.
    pub states: Vec<DraftContent>,
}

impl Draft {
    /// The buffer of a content.
    pub fn buffer_of(&self, content: DraftContent) -> &Buffer {
        &self.buffers[self.contents[content.0 as usize].buffer.0 as usize]
    }

    /// Name of the graph value that a buffer was made for.
    pub fn name_of(&self, buffer: BufferId) -> &str {
        self.contents.iter().find(|c| c.buffer == buffer).map_or("?", |c| &c.name)
    }

    /// A new buffer with its first content.
    pub fn add(&mut self, name: impl Into<Arc<str>>, home: Home, ty: &ValueType, bytes: u64) -> DraftContent {
        self.buffers.push(Buffer { bytes, home });
        let buffer = BufferId(self.buffers.len() as u32 - 1);
        self.add_content(name, buffer, ty, None)
    }

    /// A new content of a buffer.
    pub fn add_content(
        &mut self,
        name: impl Into<Arc<str>>,
        buffer: BufferId,
        ty: &ValueType,
        replaces: Option<DraftContent>,
    ) -> DraftContent {
        self.contents.push(Content { name: name.into(), buffer, ty: ty.clone(), replaces });
        DraftContent(self.contents.len() as u32 - 1)
    }
}
