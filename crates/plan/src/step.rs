//! Steps: what the device or the host does, and every byte it touches while doing it.

use crate::cost::Cost;
use crate::frame::FrameWord;
use crate::kernel::KernelCall;
use crate::kernels::frame::FrameFind;
use crate::region::Span;
use crate::view::View;
use pumice_types::{SymbolId, When};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::fmt;
use std::sync::Arc;

/// Index of a step in its program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StepId(pub u32);

/// Identity of a value version, which bytes can hold: an index into the run's list of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct VersionId(pub u32);

/// How a step touches a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// A kernel reads.
    ShaderRead,
    /// A kernel writes.
    ShaderWrite,
    /// Atomic or, atomic min on the status block: commutes with itself.
    StatusAtomic,
    /// The device reads a grid.
    IndirectRead,
    /// A copy reads.
    TransferRead,
    /// A copy or fill writes.
    TransferWrite,
    /// A host step reads.
    HostRead,
    /// A host step writes.
    HostWrite,
}

impl Access {
    /// Whether bytes may change.
    pub const fn writes(self) -> bool {
        matches!(self, Access::ShaderWrite | Access::StatusAtomic | Access::TransferWrite | Access::HostWrite)
    }

    /// Whether bytes get another value: a status atomic adds to the one that is there.
    pub const fn stores(self) -> bool {
        self.writes() && !matches!(self, Access::StatusAtomic)
    }

    /// Whether two accesses to one byte need an order: at least one writes, and they are not both status atomics.
    pub const fn conflicts(self, other: Access) -> bool {
        (self.writes() || other.writes())
            && !(matches!(self, Access::StatusAtomic) && matches!(other, Access::StatusAtomic))
    }

    /// The name used in printed plans.
    pub const fn name(self) -> &'static str {
        match self {
            Access::ShaderRead => "shader_read",
            Access::ShaderWrite => "shader_write",
            Access::StatusAtomic => "status_atomic",
            Access::IndirectRead => "indirect_read",
            Access::TransferRead => "transfer_read",
            Access::TransferWrite => "transfer_write",
            Access::HostRead => "host_read",
            Access::HostWrite => "host_write",
        }
    }
}

/// One thing a step touches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Use {
    /// The bytes, sized for the upper bounds of the symbols.
    pub span: Span,
    /// How they are touched.
    pub access: Access,
    /// For a read: the value the bytes must hold. For a write: the value they hold afterwards.
    pub content: VersionId,
    /// The tensor the bytes are. Uses that see a value alike share it.
    pub view: Arc<View>,
}

/// How many workgroups a dispatch has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Grid {
    /// Known when the plan is made.
    Static([u32; 3]),
    /// Read by the device from three consecutive frame words; the upper bound is stated for the target's limits.
    Frame {
        /// First of the three words.
        word: FrameWord,
        /// Largest counts over all bindings.
        upper: [u32; 3],
    },
}

/// What kind of thing a step does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum StepKind {
    /// A kernel.
    Dispatch {
        /// Which, with what arguments and operands.
        call: KernelCall,
        /// How many workgroups.
        grid: Grid,
    },
    /// The built-in kernel that advances scalars on the device; always the last step of its program.
    /// Use 0 is the frame, read and written.
    Advance {
        /// The `frame_advance` kernel.
        call: KernelCall,
    },
    /// A host op: its meaning run on the bytes of its uses.
    Host,
    /// Bytes of use 0 to use 1, equal and static in size. Only at the border of a segment.
    Copy,
    /// Every 32-bit word of use 0 becomes this value. Only at the border of a segment.
    Fill(u32),
}

/// A small graph as `.ir` text. Opaque to everyone but the evaluator.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct MeaningGraph {
    /// The text. It declares the symbols that it uses and no others.
    pub text: Arc<str>,
    /// The symbols of the plan that its first symbols stand for, in order. Those that follow are bound by the extents
    /// of its inputs.
    pub symbols: Arc<[SymbolId]>,
    /// Names of its inputs, each once.
    pub inputs: Arc<[Arc<str>]>,
}

impl MeaningGraph {
    /// A graph without symbols of the plan.
    pub fn new(text: &str, inputs: &[&str]) -> MeaningGraph {
        let inputs = inputs.iter().map(|&name| Arc::from(name)).collect();
        MeaningGraph { text: text.into(), symbols: Arc::default(), inputs }
    }
}

/// A use of a step that is an input of its meaning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputUse {
    /// Name of the input; empty where the meaning has no graph.
    pub name: Arc<str>,
    /// The use that it reads.
    pub at: u16,
}

/// An input of a meaning that a step does not bind once.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
pub enum InputError {
    /// A name that the meaning does not have.
    #[error("it has no input `{0}`")]
    Unknown(Arc<str>),
    /// A name that stands twice.
    #[error("its input `{0}` is bound twice")]
    Twice(Arc<str>),
    /// An input without a use.
    #[error("its input `{0}` is not bound")]
    Missing(Arc<str>),
}

pumice_types::debug_as_display!(InputError);

/// What a step computes, and how its uses take part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meaning {
    /// The graph, which steps that compute the same share. Empty for `Advance`, `Copy` and `Fill`, whose kind says it
    /// all.
    pub graph: Arc<MeaningGraph>,
    /// Uses that are inputs of the graph, by name and in any order.
    pub inputs: Vec<InputUse>,
    /// For each output of the graph, in order, the use it writes.
    pub outputs: SmallVec<[u16; 8]>,
    /// Number of the op in the status block, where its indices can be out of range or its state overflow.
    pub status: Option<u32>,
}

impl Meaning {
    /// Of a step whose kind says it all.
    pub fn none() -> Meaning {
        Meaning { graph: Arc::default(), inputs: Vec::new(), outputs: SmallVec::new(), status: None }
    }

    /// Every use that takes part.
    pub fn uses(&self) -> impl Iterator<Item = u16> {
        self.inputs.iter().map(|i| i.at).chain(self.outputs.iter().copied())
    }

    /// For each of these names its place in `inputs`, so that they can be read in the order of the names.
    ///
    /// # Errors
    /// The first name that is not bound once, or that stands in `inputs` and is none of these.
    pub fn order<'n>(&self, names: impl Iterator<Item = &'n str> + Clone) -> Result<Vec<usize>, InputError> {
        if let Some(stray) = self.inputs.iter().find(|i| !names.clone().any(|n| n == &*i.name)) {
            return Err(InputError::Unknown(Arc::clone(&stray.name)));
        }
        let place = |name: &str| {
            let mut places = self.inputs.iter().enumerate().filter(|(_, i)| &*i.name == name);
            match (places.next(), places.next()) {
                (Some((at, _)), None) => Ok(at),
                (None, _) => Err(InputError::Missing(name.into())),
                (Some((_, i)), Some(_)) => Err(InputError::Twice(Arc::clone(&i.name))),
            }
        };
        names.map(place).collect()
    }
}

/// One step of a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// What it does.
    pub kind: StepKind,
    /// Everything it touches: kernel operands and slots, frame, status.
    pub uses: Vec<Use>,
    /// The label in dumps, profiles and errors: names of the nodes it computes, outermost first.
    pub origin: Arc<str>,
    /// Why there is such a step, for people, where there might have been none; mostly empty.
    #[serde(default)]
    pub reason: String,
    /// What it computes.
    pub meaning: Meaning,
    /// Its work, for the floor and for how long a submission is.
    pub cost: Cost,
    /// The branches that must be taken for it; where one is not, it does nothing.
    #[serde(default)]
    pub when: When,
}

impl Step {
    /// What histograms count and profiles show: `kernel.variant [holes]`, `host`, `copy`, `fill`.
    pub fn label(&self) -> String {
        match &self.kind {
            StepKind::Dispatch { call, .. } | StepKind::Advance { call } => call.label(),
            StepKind::Host => "host".to_owned(),
            StepKind::Copy => "copy".to_owned(),
            StepKind::Fill(_) => "fill".to_owned(),
        }
    }

    /// Whether the host runs it.
    pub fn is_host(&self) -> bool {
        matches!(self.kind, StepKind::Host)
    }

    /// Whether it fills a row of words that the run finds.
    pub fn finds_words(&self) -> bool {
        matches!(&self.kind, StepKind::Dispatch { call, .. } if call.kernel.0 == FrameFind::DECL.name)
    }
}

impl fmt::Display for StepId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s{}", self.0)
    }
}
