//! From a graph to a plan.
//!
//! [`compile_entries`] is a chain of values, each made once from those before it: the graphs of the entries over one
//! set of leaves, the interface, a graph for each entry and range of its symbols, these lowered, the load steps in
//! groups, programs with places, the plan. Everything is deterministic to the byte: same graph, target and options,
//! same plan. No device here.

pub mod arena;
mod blocks;
mod boundary;
mod branches;
mod codes;
mod constants;
mod convolution;
mod cost;
mod cost_model;
pub mod cx;
mod elementwise;
pub mod error;
mod found;
mod frame;
mod fused_body;
pub mod hazard;
mod hole;
mod index;
mod interface;
mod joined;
mod layout;
mod literals;
mod load;
mod loops;
mod lower;
mod lowered;
mod meaning;
mod memory;
pub mod options;
mod order;
mod phases;
mod placed;
mod product;
mod program;
mod residence;
mod reuse;
mod rows;
mod scalars;
mod segment;
pub mod select;
mod slack;
mod specialize;
mod stats;
mod step;
mod stop;
mod transposed;
mod trip_count;
pub mod unplaced;
mod views;
mod weights;
mod window;

pub use error::{CompileError, Unsupported};
pub use options::{Barriers, Options};
pub use pumice_opt::OptOptions;

use cost_model::Kernels;
use interface::{Interface, NamedGraph};
use lowered::Lowered;
use memory::RunRoom;
use placed::Placing;
use pumice_ir::entries::{EntryGraph, over_one_interface};
use pumice_ir::ops::round_products;
use pumice_ir::{ConstEval, Graph};
use pumice_opt::{PassCx, Room};
use pumice_plan::{Entry, Plan, PlanForm};
use pumice_types::{SymbolTable, Target};
use residence::LoadGroups;
use select::Selection;

/// Compiles a graph for a target. `fold` evaluates what is constant.
///
/// # Errors
/// As [`compile_entries`].
pub fn compile(
    graph: &Graph,
    target: &Target,
    options: &Options,
    fold: &dyn ConstEval,
) -> Result<Plan, CompileError> {
    compile_entries(&[(Entry::MAIN, graph)], target, options, fold)
}

/// Compiles several graphs into one plan, each an entry with inputs, outputs and runs of its own. Params, states,
/// scalars and symbols of one name are one; the entries share weights, what is derived from them, states and scratch.
///
/// # Errors
/// [`CompileError::Entries`] where a name is one thing in one graph and another in another; otherwise what is wrong
/// with a graph, the options or the target.
pub fn compile_entries(
    entries: &[(&str, &Graph)],
    target: &Target,
    options: &Options,
    fold: &dyn ConstEval,
) -> Result<Plan, CompileError> {
    layout::check_guard(options, target)?;
    let selection = Selection::read(target, options.precision)?;
    let kept = |selection: &Selection| {
        let kernels = Kernels { target, selection };
        let passes = Passes { options, kernels: &kernels, fold };
        memory::kept(&Compiling { entries, passes: &passes })
    };
    let found = kept(&selection);
    if !matches!(found, Err(CompileError::OutOfMemory { .. })) || !selection.matmul.decodes() {
        return found;
    }
    // Decoded values are scratch that products can do without.
    let matmul = selection.matmul.clone().without_decoding();
    kept(&Selection { matmul, ..selection })
}

/// What is compiled, as often as it takes.
struct Compiling<'a> {
    entries: &'a [(&'a str, &'a Graph)],
    passes: &'a Passes<'a>,
}

impl Compiling<'_> {
    fn options(&self) -> &Options {
        self.passes.options
    }

    fn target(&self) -> &Target {
        self.passes.kernels.target
    }

    /// The plan whose runs compute values again until they need no more than their rooms, if they have one and as far
    /// as that goes. Whether the plan fits in memory is not judged.
    fn plan(&self, rooms: &[Option<RunRoom>]) -> Result<Plan, CompileError> {
        let Passes { options, kernels, .. } = *self.passes;
        let target = kernels.target;
        let entries = self.passes.entries(self.entries)?;
        let interface = Interface::of(&entries, target, options.guard_bytes)?;
        let (name, symbols) = (entries[0].graph.name().to_owned(), entries[0].graph.symbols().clone());
        let graphs = self.passes.ranges(entries, &interface, rooms)?;
        let lowered = Lowered::of(graphs, &interface, kernels, options.guard_bytes)?;
        let loads = LoadGroups::of(&lowered, &interface, options)?;
        let status_ops = lowered.status_ops.iter().cloned().collect();
        let placed = Placing { interface: &interface, target, options }.place(lowered, loads)?;
        let mut plan = Plan {
            form: PlanForm::Explain,
            name,
            graph: None,
            target: target.without_table(),
            table: target.table.id(),
            precision: options.precision,
            placement: options.placement,
            symbols,
            scalars: interface.scalars,
            params: placed.params,
            joined: placed.joined,
            constants: placed.constants,
            states: interface.states,
            entries: interface.entries,
            inputs: interface.inputs,
            outputs: interface.outputs,
            regions: placed.regions,
            status_ops,
            load: placed.load,
            streams: placed.streams,
            runs: placed.runs,
        };
        literals::share(&mut plan);
        note_long_steps(&mut plan, target);
        Ok(plan)
    }
}

/// The graph passes with what they ask.
struct Passes<'a> {
    options: &'a Options,
    kernels: &'a Kernels<'a>,
    fold: &'a dyn ConstEval,
}

impl Passes<'_> {
    fn cx<'c>(&'c self, range: Option<&'c SymbolTable>, room: Option<&'c Room<'c>>) -> PassCx<'c> {
        let (target, precision) = (self.kernels.target, self.options.precision);
        PassCx { target, precision, fold: self.fold, cost_model: self.kernels, range, room }
    }

    /// The graph with its precision written into its products, after the passes that are the same for every range.
    fn whole(&self, graph: &Graph) -> Result<Graph, CompileError> {
        let rounded = round_products(graph, self.options.precision);
        pumice_opt::optimize_whole(&rounded, &self.options.opt, &self.cx(None, None)).map_err(pass_error)
    }

    /// The graphs of the entries over one set of leaves, after those passes.
    fn entries(&self, graphs: &[(&str, &Graph)]) -> Result<Vec<NamedGraph>, CompileError> {
        let mut shared = over_one_interface(graphs).map_err(CompileError::Entries)?;
        for entry in &mut shared {
            entry.graph = self.whole(&entry.graph)?;
        }
        // Passes may find extents, which are symbols of one graph as yet.
        if shared.iter().any(|entry| entry.graph.symbols() != shared[0].graph.symbols()) {
            let named = graphs.iter().zip(&shared).map(|((name, _), entry)| (*name, &entry.graph));
            let named: Vec<(&str, &Graph)> = named.collect();
            shared = over_one_interface(&named).map_err(CompileError::Entries)?;
        }
        let named = graphs.iter().zip(shared).map(|((name, _), EntryGraph { graph, symbols })| NamedGraph {
            name: (*name).to_owned(),
            graph,
            symbols,
        });
        Ok(named.collect())
    }

    /// For each entry a graph for each range of its symbols, with the same interface. Rooms are by run.
    fn ranges(
        &self,
        entries: Vec<NamedGraph>,
        interface: &Interface,
        rooms: &[Option<RunRoom>],
    ) -> Result<Vec<Vec<Graph>>, CompileError> {
        let mut rooms = rooms.iter();
        let mut graphs = Vec::new();
        for (number, entry) in entries.into_iter().enumerate() {
            let ranges = specialize::ranges(&entry, &self.options.specializations)?;
            let copies = std::iter::repeat_n(entry.graph, ranges.len()).zip(ranges);
            let graph = |(graph, range)| {
                let room = rooms.next().and_then(Option::as_ref);
                self.range(graph, range, room, (interface, number))
            };
            graphs.push(copies.map(graph).collect::<Result<Vec<Graph>, _>>()?);
        }
        Ok(graphs)
    }

    /// The graph of a range, which has the interface of the entry of that number.
    fn range(
        &self,
        graph: Graph,
        range: SymbolTable,
        room: Option<&RunRoom>,
        (interface, entry): (&Interface, usize),
    ) -> Result<Graph, CompileError> {
        let room = room.map(|room| Room { bytes: room.bytes, times: &room.times });
        let cx = self.cx(Some(&range), room.as_ref());
        let graph = pumice_opt::optimize_range(graph, &self.options.opt, &cx);
        let graph = graph.map_err(pass_error)?;
        interface.is_of(&graph, entry)?;
        Ok(graph.with_symbols(range))
    }
}

/// Says at each step that alone is predicted to pass the bound of a submission that it does.
fn note_long_steps(plan: &mut Plan, target: &Target) {
    let loads = [&mut plan.load].into_iter().chain(plan.streams.iter_mut().map(|s| &mut s.program));
    loads.for_each(|program| stats::note_long_steps(program, &plan.symbols, target));
    for run in &mut plan.runs {
        let symbols = run.symbols_of(&plan.symbols);
        stats::note_long_steps(&mut run.program, &symbols, target);
    }
}

fn pass_error(e: pumice_opt::OptError) -> CompileError {
    match e {
        pumice_opt::OptError::Verify { pass, errors } => CompileError::Pass { pass, errors },
        skip @ pumice_opt::OptError::Skip { .. } => CompileError::Options(skip.to_string()),
        other => CompileError::Defect(other.to_string()),
    }
}
