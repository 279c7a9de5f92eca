//! The graphs of all ranges, lowered: steps over buffers without places.
//!
//! In: one graph for each range of the symbols, the interface. Out: for each range its run and load steps, its frame
//! and what a binding must keep; constants and names of the status block, which ranges share.

use crate::constants::{Constants, Hidden};
use crate::cost_model::Kernels;
use crate::cx::{Leaves, LowerCx, Refusal};
use crate::error::CompileError;
use crate::interface::Interface;
use crate::unplaced::{StorageClass, UnplacedProgram, UnplacedStep};
use crate::{boundary, branches, found, index, layout, load, lower, trip_count};
use indexmap::IndexSet;
use pumice_ir::Graph;
use pumice_plan::{Entry, Frame, RunCheck};
use pumice_types::{SymbolTable, Tensor};

/// All ranges.
pub struct Lowered {
    /// One for each.
    pub ranges: Vec<LoweredRange>,
    /// Names of the ops in the status block.
    pub status_ops: IndexSet<String>,
    /// Data of the constants.
    pub constants: Vec<Tensor>,
}

/// What lowering made for one range of an entry.
pub struct LoweredRange {
    /// The entry's number.
    pub entry: u32,
    /// Values of the symbols.
    pub symbols: SymbolTable,
    /// Steps of the run.
    pub unplaced: UnplacedProgram,
    /// Steps that need only what is known when loading.
    pub load: Vec<UnplacedStep>,
    /// What varies.
    pub frame: Frame,
    /// What a binding must keep.
    pub checks: Vec<RunCheck>,
}

impl Lowered {
    /// Of the graphs of all entries and their ranges.
    ///
    /// # Errors
    /// Nodes that no kernel computes, extents that kernels do not count to, feeds and outputs that do not fit.
    pub fn of(
        entries: Vec<Vec<Graph>>,
        interface: &Interface,
        kernels: &Kernels<'_>,
        guard: u64,
    ) -> Result<Lowered, CompileError> {
        let target = kernels.target;
        let (of_entries, graphs) = numbered(entries);
        let mut constants = Constants::of(&graphs, target, guard)?;
        let (mut ranges, mut blocks, mut hidden) = (Vec::new(), Vec::new(), Hidden::after(constants.count()));
        let mut status_ops = IndexSet::new();
        let slots = std::mem::take(&mut constants.of_graphs);
        for ((entry, graph), slots) in of_entries.into_iter().zip(graphs).zip(slots) {
            let leaves =
                Leaves { constants: slots, hidden: hidden.first_of(entry), joined: &interface.joined };
            let mut cx = LowerCx::new(&graph, target, kernels.selection, leaves, status_ops);
            lower_range(&mut cx)?;
            let made = cx.finish();
            status_ops = made.status_ops;
            hidden.add(made.hidden)?;
            blocks.push(made.status);
            let mut unplaced = made.unplaced;
            number_by_plan(&mut unplaced, &interface.entries[entry as usize]);
            let load = load::split(&mut unplaced);
            layout::check_buffers(&unplaced, graph.symbols(), target, guard)?;
            let (frame, checks, symbols) = (made.frame, made.checks, graph.symbols().clone());
            ranges.push(LoweredRange { entry, symbols, unplaced, load, frame, checks });
        }
        // Only now are all names known that a run's status is read by.
        let names = status_ops.len() as u32;
        let blocks = ranges.iter_mut().zip(blocks);
        blocks.for_each(|(range, block)| boundary::begin_replay(&mut range.unplaced, block, names));
        let constants = constants.with_hidden(hidden);
        Ok(Lowered { ranges, status_ops, constants })
    }
}

/// All graphs, and for each the number of its entry.
fn numbered(entries: Vec<Vec<Graph>>) -> (Vec<u32>, Vec<Graph>) {
    let of_entry = |(entry, graphs): (u32, Vec<Graph>)| graphs.into_iter().map(move |graph| (entry, graph));
    (0u32..).zip(entries).flat_map(of_entry).unzip()
}

/// From here on inputs and outputs have their numbers in the plan.
fn number_by_plan(unplaced: &mut UnplacedProgram, entry: &Entry) {
    for buffer in &mut unplaced.buffers {
        match &mut buffer.class {
            StorageClass::Input(i) => *i += entry.inputs.start,
            StorageClass::Output(i) => *i += entry.outputs.start,
            _ => {}
        }
    }
}

/// Everything that a run does: its nodes, then outputs, feeds and what advances.
fn lower_range(cx: &mut LowerCx<'_>) -> Result<(), CompileError> {
    let mut counted = index::Counted::new(cx.graph);
    cx.join_branches();
    lower_nodes(cx, &mut counted)?;
    let defect = |r: Refusal| CompileError::Defect(r.0);
    cx.begin_ends();
    cx.unplaced.states = boundary::final_states(cx).map_err(defect)?;
    boundary::feeds(cx).map_err(|r| CompileError::Options(r.0))?;
    boundary::outputs(cx).map_err(defect)?;
    branches::settle(cx)?;
    found::tell_host(cx);
    found::fill(cx)?;
    boundary::advance(cx).map_err(defect)?;
    cx.flat = found::flatten(cx);
    let conditions = cx.graph.constraints().iter().map(|c| {
        let (min, max) = c.allowed();
        let sides = Some(Box::new([c.left.clone(), c.right.clone()]));
        RunCheck { value: c.difference(), min, max, what: c.what_and_where().into(), sides }
    });
    cx.checks.extend(conditions);
    let frame = cx.flat.as_ref().unwrap_or(cx.frame.frame());
    trip_count::check(&cx.unplaced, frame, cx.graph.symbols(), cx.target)?;
    // Reported after what cannot be lowered at all.
    counted.follow(&cx.unplaced);
    counted.result()
}

/// The nodes in their order.
fn lower_nodes(cx: &mut LowerCx<'_>, counted: &mut index::Counted<'_>) -> Result<(), CompileError> {
    let mut refused = Vec::new();
    for (id, node) in cx.graph.nodes() {
        let first = cx.begin(id);
        // What depends on a refused node has no place to read from and is not reported again.
        if node.operands().all(|v| cx.is_placed(v))
            && let Err(refusal) = lower::lower(cx, id)
        {
            refused.push(cx.unsupported(id, refusal));
        }
        cx.end(id, first);
        counted.follow(&cx.unplaced);
    }
    if refused.is_empty() { Ok(()) } else { Err(CompileError::Unsupported(refused)) }
}
