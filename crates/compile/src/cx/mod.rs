//! What a lowering sees: where values are (`values`), copies of them (`copies`), what readers wait for besides
//! (`ordered`), words of calls (`args`), and here the steps that are added.

mod args;
mod copies;
mod ordered;
mod values;

use crate::codes::Scales;
use crate::error::{CompileError, Unsupported};
use crate::found::Found;
use crate::lower;
use crate::meaning::{Meanings, StepMeaning};
use crate::scalars::Bodies;
use crate::select::Selection;
use crate::unplaced::{PlacedView, StorageClass, UnplacedProgram, UnplacedStep, UnplacedVersion};
use copies::Copies;
use indexmap::IndexSet;
use ordered::Ordered;
use pumice_ir::{Demand, Graph, LoopInfo, Loops, NodeId, ValueId, ValueType};
use pumice_plan::{Frame, FrameBuilder, FrameWord, JoinedParams, Storage, View};
use pumice_types::{Branch, DType, DimExpr, SymbolId, Target, When};
use std::collections::BTreeMap;
use std::sync::Arc;
use values::Values;

/// Why one node cannot be lowered.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal(pub String);

impl<S: Into<String>> From<S> for Refusal {
    fn from(reason: S) -> Refusal {
        Refusal(reason.into())
    }
}

/// Result of lowering a node.
pub type LowerResult<T = ()> = Result<T, Refusal>;

/// What the plan's layout says of a graph's leaves.
#[derive(Clone, Debug)]
pub struct Leaves<'g> {
    /// For each constant of the graph, in the order of its leaves, its index in the plan.
    pub constants: Vec<u32>,
    /// Index of the first constant that lowering makes.
    pub hidden: u32,
    /// Params that lie side by side.
    pub joined: &'g [JoinedParams],
}

/// How often steps read and write a version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Touched {
    /// Uses that read.
    pub reads: u32,
    /// Uses that write.
    pub writes: u32,
}

/// What lowering made for one range of the symbols.
pub struct Made {
    /// Steps and buffers.
    pub unplaced: UnplacedProgram,
    /// The frame.
    pub frame: Frame,
    /// Where the status block is.
    pub status: PlacedView,
    /// Names of the ops in the status block.
    pub status_ops: IndexSet<String>,
    /// Conditions of bindings.
    pub checks: Vec<pumice_plan::RunCheck>,
    /// Constants that lowerings made.
    pub hidden: Vec<pumice_types::Tensor>,
}

/// Lowering in progress, for one range of the symbols.
pub struct LowerCx<'g> {
    /// The graph.
    pub graph: &'g Graph,
    /// What for.
    pub target: &'g Target,
    /// Which kernels are best on it.
    pub selection: &'g Selection,
    /// Steps and buffers so far.
    pub unplaced: UnplacedProgram,
    /// The frame so far.
    pub frame: FrameBuilder,
    /// Words that follow from what the program finds.
    pub found: Found,
    /// The frame with its rows, once all words have their places.
    pub flat: Option<Frame>,
    /// Names of the ops in the status block.
    pub status_ops: IndexSet<String>,
    /// Bindings conditions found by lowering.
    pub checks: Vec<pumice_plan::RunCheck>,
    /// Params that lie side by side.
    pub joined: &'g [JoinedParams],
    values: Values,
    copies: Copies,
    ordered: Ordered,
    /// By version, of the steps so far.
    touched: Vec<Touched>,
    frame_version: UnplacedVersion,
    status_version: UnplacedVersion,
    meanings: Meanings<'g>,
    /// What makes values of params of codes, by the version of the codes.
    pub scales: BTreeMap<UnplacedVersion, Scales>,
    /// The expressions of elementwise nodes.
    pub bodies: Bodies<'g>,
    node: Option<NodeId>,
    demand: Demand,
    loops: Loops,
    branch: Option<Branch>,
}

impl<'g> LowerCx<'g> {
    /// Nothing lowered yet. `status_ops` are the names that earlier ranges gave the status block: all ranges share
    /// them.
    pub fn new(
        graph: &'g Graph,
        target: &'g Target,
        selection: &'g Selection,
        leaves: Leaves<'g>,
        status_ops: IndexSet<String>,
    ) -> LowerCx<'g> {
        let mut unplaced = UnplacedProgram::default();
        // Sizes of frame and status are known at the end; spans are fixed then.
        let word = ValueType::fixed(DType::U32, &[]);
        let frame_version = unplaced.add("frame", StorageClass::Frame, &word, 0);
        let status_version = unplaced.add("status", StorageClass::Status, &word, 0);
        LowerCx {
            graph,
            target,
            selection,
            unplaced,
            frame: FrameBuilder::new(),
            found: Found::default(),
            flat: None,
            scales: BTreeMap::new(),
            status_ops,
            checks: Vec::new(),
            joined: leaves.joined,
            values: Values::of(graph, leaves),
            copies: Copies::default(),
            ordered: Ordered::default(),
            touched: Vec::new(),
            frame_version,
            status_version,
            meanings: Meanings::default(),
            bodies: Bodies::default(),
            node: None,
            demand: Demand::of(graph),
            loops: Loops::of(graph),
            branch: None,
        }
    }

    /// What was made.
    pub fn finish(self) -> Made {
        Made {
            status: self.status(),
            unplaced: self.unplaced,
            frame: self.flat.unwrap_or_else(|| self.frame.build()),
            status_ops: self.status_ops,
            checks: self.checks,
            hidden: self.values.hidden,
        }
    }

    /// From now on steps are made for this node: the number of the first one.
    pub fn begin(&mut self, node: NodeId) -> usize {
        self.node = Some(node);
        self.begin_ordered(node);
        self.unplaced.steps.len()
    }

    /// From now on steps belong to no node: outputs, feeds.
    pub fn begin_ends(&mut self) {
        self.node = None;
    }

    /// The branches in which the steps that are made now run.
    pub fn when(&self) -> When {
        let of_node = self.node.map_or(When::ALWAYS, |node| self.demand.when(node));
        self.branch.clone().map_or(of_node.clone(), |branch| of_node.and(branch))
    }

    /// When a node is computed.
    pub fn when_of(&self, id: NodeId) -> When {
        self.demand.when(id)
    }

    /// Whether a later node finds an extent, of the same loop where the node is in one.
    pub fn finds_after(&self, id: NodeId) -> bool {
        let inside = self.loops.inside(id);
        let is_near = |later: NodeId| inside.is_none() || self.loops.inside(later) == inside;
        let mut finders = self.graph.nodes().filter(|(_, node)| node.op.finds().is_some());
        finders.any(|(later, _)| later > id && is_near(later))
    }

    /// The loop that a node ends.
    pub fn loop_ended_by(&self, id: NodeId) -> Option<LoopInfo> {
        self.loops.ended_by(id).map(|l| self.loops.all[l].clone())
    }

    /// Whether a symbol says of each turn of a loop that it is there, and how many there are is known before the run.
    pub fn is_counted(&self, symbol: SymbolId) -> bool {
        let running = DimExpr::symbol(symbol);
        self.loops.all.iter().any(|l| l.running == running && l.turns.is_some())
    }

    /// Gives what branches make the places where they join, before anything is lowered.
    pub fn join_branches(&mut self) {
        let made = lower::made_in_place(self.graph, &self.demand, &self.loops);
        made.into_iter().for_each(|(value, join)| self.make_in(value, join));
    }

    /// Makes steps that run in a branch as well.
    pub fn inside<R>(&mut self, branch: Branch, make: impl FnOnce(&mut Self) -> R) -> R {
        self.branch = Some(branch);
        let made = make(self);
        self.branch = None;
        made
    }

    /// The label of steps that are made now.
    pub fn origin(&self) -> Arc<str> {
        self.node
            .map_or_else(|| "io".into(), |n| Arc::clone(&self.graph.value(self.graph.node(n).output()).name))
    }

    /// A refusal with everything an error needs.
    pub fn unsupported(&self, id: NodeId, refusal: Refusal) -> Unsupported {
        let node = self.graph.node(id);
        let show = |v: ValueId| self.graph.ty(v).display(self.graph.symbols());
        let operands: Vec<String> = node.operands().map(show).collect();
        let results: Vec<String> = node.outputs.iter().map(|&v| show(v)).collect();
        Unsupported {
            node: self.graph.node_name(id).to_owned(),
            op: node.op.name(),
            types: format!("({}) -> {}", operands.join(", "), results.join(", ")),
            reason: refusal.0,
        }
    }

    /// A refusal of what a run needs for a step of this label, once its nodes are lowered.
    pub fn unsupported_run(&self, origin: &str, refusal: Refusal) -> CompileError {
        let mut ids = self.graph.nodes().map(|(id, _)| id);
        let refused = match ids.find(|&id| self.graph.node_name(id) == origin) {
            Some(id) => self.unsupported(id, refusal),
            None => {
                let types = "of the run".to_owned();
                Unsupported { node: origin.to_owned(), op: "step", types, reason: refusal.0 }
            }
        };
        CompileError::Unsupported(vec![refused])
    }

    /// The number of the current node in the status block.
    pub fn status_number(&mut self) -> u32 {
        self.status_ops.insert_full(self.origin().to_string()).0 as u32
    }

    /// Where the status block is.
    pub fn status(&self) -> PlacedView {
        let shape = [DimExpr::constant(1)];
        PlacedView {
            version: self.status_version,
            part: None,
            view: View::dense(DType::U32, Storage::Arena, &shape).into(),
        }
    }

    /// Where the frame is, for steps that read or write words of it.
    pub fn frame_words(&self) -> PlacedView {
        let view = View::dense(DType::U32, Storage::Arena, &[]);
        PlacedView { version: self.frame_version, part: None, view: view.into() }
    }

    /// The version of the words that a word is among.
    pub fn version_of_word(&self, word: FrameWord) -> UnplacedVersion {
        self.found.in_row(word).map_or(self.frame_version, |(_, version)| version)
    }

    /// Adds a finished step.
    pub fn push(&mut self, step: UnplacedStep) {
        self.touched.resize(self.unplaced.versions.len(), Touched::default());
        for u in &step.uses {
            let touched = &mut self.touched[u.version.0 as usize];
            *(if u.access.writes() { &mut touched.writes } else { &mut touched.reads }) += 1;
        }
        self.unplaced.steps.push(step);
    }

    /// How often the steps so far read and write a version.
    pub fn touched(&self, version: UnplacedVersion) -> Touched {
        self.touched.get(version.0 as usize).copied().unwrap_or_default()
    }
}

/// Meaning of a node whose step reads every operand.
pub fn node_meaning(cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult<StepMeaning> {
    meaning_of(cx, id, false)
}

/// Meaning of a node whose step reads no constant of one element.
pub fn meaning_with_literals(cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult<StepMeaning> {
    meaning_of(cx, id, true)
}

fn meaning_of(cx: &mut LowerCx<'_>, id: NodeId, literals: bool) -> LowerResult<StepMeaning> {
    cx.meanings
        .of_node(cx.graph, cx.graph.node(id), literals)
        .map_err(|e| Refusal(format!("its meaning is not a graph: {e}")))
}
