//! From a graph to a plan.
//!
//! [`compile`] reads as a table of contents: passes, one lowering per range of the symbols, the load program, places,
//! figures. Everything is deterministic to the byte: same graph, target and options, same plan. No device here.

mod advice;
pub mod arena;
mod blocks;
mod convolution;
mod cost;
pub mod cx;
pub mod draft;
mod elementwise;
mod ends;
pub mod error;
mod frame;
mod fused_body;
pub mod hazard;
mod hole;
mod index;
mod joined;
mod layout;
mod literals;
mod load;
mod lower;
mod meaning;
pub mod options;
mod order;
mod phases;
mod product;
mod program;
mod residence;
mod rows;
mod scalars;
mod segment;
pub mod select;
mod specialize;
mod stats;
mod step;
mod stop;
mod transposed;
mod turns;
mod views;
mod window;

pub use error::{CompileError, Unsupported};
pub use options::{Barriers, Options};
pub use pumice_opt::OptOptions;

use advice::Kernels;
use cx::{Leaves, LowerCx};
use draft::{Draft, Located};
use indexmap::IndexSet;
use layout::{Layout, region};
use load::{DerivedOf, Loads};
use program::{PlaceCx, PlacedProgram};
use pumice_ir::ops::round_products;
use pumice_ir::{ConstEval, Graph};
use pumice_opt::PassCx;
use pumice_plan::kernel::status::block_words;
use pumice_plan::{Plan, PlanForm, Region, RegionKind, Run, RunCheck, Stats, Stream};
use pumice_types::{Bytes, SymbolTable, Target};
use residence::LoadDraft;
use select::Selection;
use std::collections::BTreeSet;

/// Compiles a graph for a target. `fold` evaluates what is constant.
pub fn compile(
    graph: &Graph,
    target: &Target,
    options: &Options,
    fold: &dyn ConstEval,
) -> Result<Plan, CompileError> {
    check_guard(options, target)?;
    let advice = Kernels { target, selection: &Selection::read(target, options.precision)? };
    let passes = |range| PassCx { target, precision: options.precision, fold, advice: &advice, range };
    let graph = optimized(graph, options, &passes(None))?;
    let ranges = specialize::ranges(&graph, &options.specializations)?;
    let mut layout = Layout::new(&graph, target, options.guard_bytes)?;
    let mut loads = Loads::default();
    let (name, symbols) = (graph.name().to_owned(), graph.symbols().clone());
    let graphs = std::iter::repeat_n(graph, ranges.len()).zip(&ranges).map(|(graph, range)| {
        let graph = pumice_opt::optimize_range(graph, &options.opt, &passes(Some(range)));
        let graph = graph.map_err(pass_error)?;
        layout.is_interface_of(&graph)?;
        Ok(graph.with_symbols(range.clone()))
    });
    let graphs = graphs.collect::<Result<Vec<_>, CompileError>>()?;
    let (drafts, status_ops) = lower_ranges(graphs, &advice, options, &mut layout, &mut loads)?;
    let groups = residence::groups(&loads, drafts.iter().map(|d| &d.0.draft), &layout, options)?;
    let PlacedLoads { spans, load, scratch, streams } =
        place_loads(&mut loads, &groups, &mut layout, target, options)?;
    let status = 4 * block_words(status_ops.len() as u64);
    let (mut sizes, mut runs) = (Sizes { status, scratch, ..Sizes::default() }, Vec::new());
    for ((mut low, derived), symbols) in drafts.into_iter().zip(&ranges) {
        // Only now are all names known that a run's status is read by.
        let derived: Vec<_> = derived.iter().map(|b| b.and_then(|b| spans[b])).collect();
        ends::begin_replay(&mut low.draft, low.status.clone(), status_ops.len() as u32);
        runs.push(place_run(low, &derived, symbols, &layout, target, options, &mut sizes)?);
    }
    let (weights, states) = finish(&mut layout, &streams, sizes.scratch, target)?;
    let mut plan = Plan {
        form: PlanForm::Explain,
        name,
        graph: None,
        target: target.without_table(),
        table: target.table.id(),
        precision: options.precision,
        placement: options.placement,
        symbols,
        scalars: layout.scalars,
        params: layout.params,
        joined: layout.joined,
        constants: layout.constants,
        states: layout.states,
        inputs: layout.inputs,
        outputs: layout.outputs,
        regions: regions(target, weights, states, &sizes),
        status_ops: status_ops.into_iter().collect(),
        load,
        streams,
        runs,
    };
    literals::share(&mut plan);
    note_long_steps(&mut plan, target);
    Ok(plan)
}

/// The graph with its precision written into its products, after the passes that are the same for every range.
fn optimized(graph: &Graph, options: &Options, passes: &PassCx<'_>) -> Result<Graph, CompileError> {
    let rounded = round_products(graph, options.precision);
    pumice_opt::optimize_whole(&rounded, &options.opt, passes).map_err(pass_error)
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

/// Slots and their guards lie inside one allocation, so that no sum of them leaves 64 bits.
fn check_guard(options: &Options, target: &Target) -> Result<(), CompileError> {
    let (guard, most) = (options.guard_bytes, layout::chunk_size(target) / 2);
    if guard <= most {
        return Ok(());
    }
    let what = format!(
        "guard_bytes is {guard}; half of the largest allocation of {}, {most}, is the most",
        target.name
    );
    Err(CompileError::Options(what))
}

fn pass_error(e: pumice_opt::OptError) -> CompileError {
    match e {
        pumice_opt::OptError::Verify { pass, errors } => CompileError::Pass { pass, errors },
        skip @ pumice_opt::OptError::Skip { .. } => CompileError::Options(skip.to_string()),
        other => CompileError::Defect(other.to_string()),
    }
}

/// What lowering made for each range, with the buffers that the load program derives for it.
type Drafts = Vec<(Lowered, DerivedOf)>;

/// Every range lowered, each with the buffers that the load program derives for it, and the names in the status block.
fn lower_ranges(
    graphs: Vec<Graph>,
    advice: &Kernels<'_>,
    options: &Options,
    layout: &mut Layout,
    loads: &mut Loads,
) -> Result<(Drafts, IndexSet<String>), CompileError> {
    let target = advice.target;
    let constants = graphs.iter().map(|g| layout.constants_of(g, target)).collect::<Result<Vec<_>, _>>()?;
    let hidden = layout.graph_constants();
    let (mut drafts, mut status_ops) = (Vec::new(), IndexSet::new());
    for (graph, slots) in graphs.into_iter().zip(constants) {
        let leaves = Leaves { constants: slots, hidden, joined: &layout.joined };
        let mut low = lower_range(&graph, target, advice.selection, leaves, status_ops)?;
        status_ops = std::mem::take(&mut low.status_ops);
        layout.hide_constants(&low.hidden)?;
        let steps = load::split(&mut low.draft);
        layout::check_buffers(&low.draft, target, options.guard_bytes)?;
        let derived = loads.add(&low.draft, steps);
        drafts.push((low, derived));
    }
    Ok((drafts, status_ops))
}

/// Everything lowering made for one range.
struct Lowered {
    draft: Draft,
    frame: pumice_plan::Frame,
    status: Located,
    status_ops: IndexSet<String>,
    checks: Vec<RunCheck>,
    hidden: Vec<pumice_types::Tensor>,
}

fn lower_range(
    graph: &Graph,
    target: &Target,
    selection: &Selection,
    leaves: Leaves<'_>,
    status_ops: IndexSet<String>,
) -> Result<Lowered, CompileError> {
    let mut cx = LowerCx::new(graph, target, selection, leaves, status_ops);
    let (mut refused, mut counted, mut uncounted) = (Vec::new(), index::Counted::new(graph), Ok(()));
    for (id, node) in graph.nodes() {
        cx.begin(id);
        // What depends on a refused node has no place to read from and is not reported again.
        if node.operands().all(|v| cx.is_placed(v))
            && let Err(refusal) = lower::lower(&mut cx, id)
        {
            refused.push(cx.unsupported(id, refusal));
        }
        uncounted = uncounted.and_then(|()| counted.follow(&cx.draft));
    }
    if !refused.is_empty() {
        return Err(CompileError::Unsupported(refused));
    }
    let defect = |r: cx::Refusal| CompileError::Defect(r.0);
    cx.begin_ends();
    cx.draft.states = ends::final_states(&cx).map_err(defect)?;
    ends::feeds(&mut cx).map_err(|r| CompileError::Options(r.0))?;
    ends::outputs(&mut cx).map_err(defect)?;
    ends::advance(&mut cx).map_err(defect)?;
    for c in graph.constraints() {
        let (min, max) = c.allowed();
        let sides = Some(Box::new([c.left.clone(), c.right.clone()]));
        cx.checks.push(RunCheck { value: c.difference(), min, max, what: c.what.clone(), sides });
    }
    turns::check(&cx.draft, cx.frame.frame(), graph.symbols(), target)?;
    uncounted.and_then(|()| counted.follow(&cx.draft))?;
    let status = cx.status();
    Ok(Lowered {
        status,
        draft: cx.draft,
        frame: cx.frame.build(),
        status_ops: cx.status_ops,
        checks: cx.checks,
        hidden: cx.hidden,
    })
}

/// The load program with what is streamed, placed.
struct PlacedLoads {
    /// Where derived weights are, by buffer of the load steps.
    spans: Vec<Option<pumice_plan::Span>>,
    load: pumice_plan::Program,
    /// How much scratch that needs.
    scratch: u64,
    streams: Vec<Stream>,
}

/// Places weights, then the load program and the streams cut from it.
fn place_loads(
    loads: &mut Loads,
    groups: &[residence::Group],
    layout: &mut Layout,
    target: &Target,
    options: &Options,
) -> Result<PlacedLoads, CompileError> {
    let streamed: BTreeSet<u32> = groups.iter().map(|g| g.param).collect();
    layout.place_weights(|param| streamed.contains(&param));
    let spans = loads.place(layout);
    let (rest, streamed) = residence::cut(loads, groups, &spans);
    let (load, scratch) = place_load(rest, layout, target, options)?;
    let streams = groups.iter().zip(streamed).map(|(group, load)| {
        let (program, room) = place_load(load, layout, target, options)?;
        Ok(Stream { param: group.param, program, room: region(RegionKind::Scratch, room, target) })
    });
    let streams = streams.collect::<Result<Vec<_>, CompileError>>()?;
    Ok(PlacedLoads { spans, load, scratch, streams })
}

/// Sizes of weights and states, which fit with the scratch of the runs, and with the room of each stream. Says where
/// streamed params lie: no program is placed after this.
fn finish(
    layout: &mut Layout,
    streams: &[Stream],
    scratch: u64,
    target: &Target,
) -> Result<(u64, u64), CompileError> {
    let (weights, states) = layout.sizes();
    fits(target, weights, states, scratch)?;
    for stream in streams {
        fits(target, weights, 0, stream.room.size().0)?;
        layout.pass(stream)?;
    }
    Ok((weights, states))
}

/// The load program, or part of it, and how much scratch it needs.
fn place_load(
    load: LoadDraft,
    layout: &Layout,
    target: &Target,
    options: &Options,
) -> Result<(pumice_plan::Program, u64), CompileError> {
    let (frame_bytes, status_bytes) = (0, 4);
    let cx = PlaceCx { layout, derived: &load.derived, frame_bytes, status_bytes, target, options };
    let placed = program::place(load.draft, &mut layout.run_io(), &cx)?;
    Ok((placed.program, placed.scratch))
}

/// Region sizes that the runs decide: the largest of any. The status block has room for every name.
#[derive(Default)]
struct Sizes {
    scratch: u64,
    io_in: u64,
    io_out: u64,
    frame: u64,
    status: u64,
}

#[allow(clippy::too_many_arguments)]
fn place_run(
    low: Lowered,
    derived: &[Option<pumice_plan::Span>],
    symbols: &SymbolTable,
    layout: &Layout,
    target: &Target,
    options: &Options,
    sizes: &mut Sizes,
) -> Result<Run, CompileError> {
    let frame_bytes = 4 * low.frame.len_words().max(1);
    let status_bytes = sizes.status;
    let cx = PlaceCx { layout, derived, frame_bytes, status_bytes, target, options };
    let mut io = layout.run_io();
    let ids = |list: &[draft::DraftContent]| list.iter().map(|c| pumice_plan::ContentId(c.0)).collect();
    let (outputs, states) = (ids(&low.draft.outputs), ids(&low.draft.states));
    let PlacedProgram { program, scratch, scratch_lower_bound, barriers_unlimited } =
        program::place(low.draft, &mut io, &cx)?;
    let (io_in, io_out) = io.sizes();
    sizes.scratch = sizes.scratch.max(scratch);
    sizes.io_in = sizes.io_in.max(io_in);
    sizes.io_out = sizes.io_out.max(io_out);
    sizes.frame = sizes.frame.max(frame_bytes);
    let stats = Stats {
        steps: program.steps.len() as u32,
        levels: program.levels.len() as u32,
        barriers: hazard::count(&program.levels),
        barriers_unlimited,
        scratch: Bytes(scratch),
        scratch_lower_bound: Bytes(scratch_lower_bound),
        floor: stats::floor(&program, symbols, target),
        layers: stats::layers(&program),
    };
    let ranges = symbols.iter().map(|(_, s)| (s.min, s.max)).collect();
    Ok(Run { ranges, frame: low.frame, program, checks: low.checks, outputs, states, stats })
}

fn fits(target: &Target, weights: u64, states: u64, scratch: u64) -> Result<(), CompileError> {
    let needed = weights.saturating_add(states).saturating_add(scratch);
    if needed <= target.limits.memory.0 {
        return Ok(());
    }
    Err(CompileError::OutOfMemory {
        needed: Bytes(needed),
        weights: Bytes(weights),
        states: Bytes(states),
        scratch: Bytes(scratch),
        available: target.limits.memory,
        target: target.name.clone(),
    })
}

fn regions(target: &Target, weights: u64, states: u64, sizes: &Sizes) -> Vec<Region> {
    let size = |kind| match kind {
        RegionKind::Weights => weights,
        RegionKind::States => states,
        RegionKind::Scratch => sizes.scratch,
        RegionKind::IoIn => sizes.io_in,
        RegionKind::IoOut => sizes.io_out,
        RegionKind::Frame => sizes.frame,
        RegionKind::Status => sizes.status,
    };
    RegionKind::ALL.iter().map(|&kind| region(kind, size(kind), target)).collect()
}
