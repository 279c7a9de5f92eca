//! What is computed once from a plan so that a run looks nothing up twice: names, shape rules, facts about each run.
//!
//! In: a plan. Out: the tables, or an error that says where the plan contradicts itself. After this every span a
//! session touches lies in its region and holds what it must, so that only the caller and the device can fail.

use crate::error::{NameKind, RuntimeError};
use crate::load::LoadIndex;
use crate::scalars;
use indexmap::IndexSet;
use pumice_plan::kernel::status;
use pumice_plan::{Entry, FrameSlot, IoSlot, Plan, RegionKind, Residence, Run, Span, StateInit};
use pumice_types::tensor::byte_count;
use pumice_types::{Bytes, DimExpr, Encoding, ScalarId, SymbolId};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

/// What an axis of an input must be.
#[derive(Clone, Debug)]
pub(crate) enum DimRule {
    /// This extent.
    Const(u64),
    /// Whatever the symbol is; binds it.
    Symbol(SymbolId),
    /// The value of the expression, once every symbol is bound.
    Expr(DimExpr),
}

/// Facts about one run of a plan.
#[derive(Debug)]
pub(crate) struct RunFacts {
    /// Whether a host step is in it.
    pub has_host: bool,
    /// For each input, whether the run writes to its bytes.
    pub overwrites: Vec<bool>,
    /// The words of the frame that say whether a replay stopped the run and how many counted.
    pub stop: Option<(Span, Span)>,
    /// The scalars that something of it follows from.
    pub scalars: BTreeSet<ScalarId>,
}

/// What an entry's own names are.
#[derive(Debug)]
pub(crate) struct EntryNames {
    inputs: IndexSet<String>,
    pub outputs: Arc<IndexSet<String>>,
    /// Its part of the plan's inputs.
    pub own_inputs: Range<usize>,
    /// Its part of the plan's outputs.
    pub own_outputs: Range<usize>,
    /// Whether a scalar advances with its replays.
    pub advances: bool,
    /// States that begin with what is given, of those that its runs read or write.
    pub given: Vec<usize>,
}

impl EntryNames {
    /// Number in the plan of an input.
    pub fn input(&self, name: &str) -> Result<usize, RuntimeError> {
        Ok(self.own_inputs.start + find(&self.inputs, NameKind::Input, name)?)
    }

    fn new(plan: &Plan, (number, entry): (usize, &Entry)) -> Result<EntryNames, RuntimeError> {
        let (inputs, outputs) = (plan.inputs_of(entry), plan.outputs_of(entry));
        let range = |r: &Range<u32>| r.start as usize..r.end as usize;
        let complete = [(&entry.inputs, inputs.len()), (&entry.outputs, outputs.len())];
        if complete.iter().any(|(part, count)| range(part).len() != *count) {
            return Err(RuntimeError::plan(
                plan,
                format!("entry `{}` has slots that are not there", entry.name),
            ));
        }
        Ok(EntryNames {
            inputs: names(plan, NameKind::Input, inputs.iter().map(|s| &s.name))?,
            outputs: Arc::new(names(plan, NameKind::Output, outputs.iter().map(|s| &s.name))?),
            own_inputs: range(&entry.inputs),
            own_outputs: range(&entry.outputs),
            advances: !entry.advancing.is_empty(),
            given: given_states(plan, number),
        })
    }
}

/// Numbers of the states that begin with what is given, of those that the runs of an entry read or write.
fn given_states(plan: &Plan, entry: usize) -> Vec<usize> {
    let steps = plan.runs_of(entry).flat_map(|(_, run)| &run.program.steps);
    let uses = steps.flat_map(|step| &step.uses).map(|u| u.span);
    let touched: BTreeSet<Span> = uses.filter(|span| span.region == RegionKind::States).collect();
    let given = plan.states.iter().enumerate().filter(|(_, slot)| slot.init == StateInit::Given);
    let of_entry = given.filter(|(_, slot)| touched.iter().any(|span| span.overlaps(&slot.span)));
    of_entry.map(|(state, _)| state).collect()
}

/// The tables.
#[derive(Debug)]
pub(crate) struct Tables {
    /// Names of the entries.
    pub entries: IndexSet<String>,
    /// For each entry, its own names.
    pub of_entries: Vec<EntryNames>,
    pub params: IndexSet<String>,
    pub states: IndexSet<String>,
    pub scalars: IndexSet<String>,
    pub symbols: IndexSet<String>,
    /// Per input, per axis.
    pub rules: Vec<Vec<DimRule>>,
    /// Natural bytes of each param.
    pub param_bytes: Vec<u64>,
    /// Per param: the stream it passes through, if it is not kept.
    pub streams: Vec<Option<usize>>,
    /// Per param: itself and the params that share its storage.
    pub tied: Vec<Vec<usize>>,
    /// Natural bytes of each state.
    pub state_bytes: Vec<u64>,
    /// Per state: whether it begins with what is given.
    pub given: Vec<bool>,
    pub runs: Vec<RunFacts>,
    /// The status block, and its bytes before a submission; empty when no op can report.
    pub status: Option<(Span, Vec<u8>)>,
    pub load: LoadIndex,
}

impl Tables {
    /// Of a plan.
    pub fn new(plan: &Plan) -> Result<Tables, RuntimeError> {
        check_constants(plan)?;
        scalars::check_slots(plan)?;
        Ok(Tables {
            entries: names(plan, NameKind::Entry, plan.entries.iter().map(|e| &e.name))?,
            of_entries: of_entries(plan)?,
            params: names(plan, NameKind::Param, plan.params.iter().map(|s| &s.name))?,
            states: names(plan, NameKind::State, plan.states.iter().map(|s| &s.name))?,
            scalars: names(plan, NameKind::Scalar, plan.scalars.iter().map(|s| &s.name))?,
            symbols: names(plan, NameKind::Symbol, plan.symbols.iter().map(|(_, s)| &s.name))?,
            rules: io_rules(plan)?,
            param_bytes: param_bytes(plan)?,
            streams: streams(plan)?,
            tied: tied(plan),
            state_bytes: state_bytes(plan)?,
            given: plan.states.iter().map(|s| s.init == StateInit::Given).collect(),
            runs: plan.runs.iter().map(|r| run_facts(plan, r)).collect::<Result<_, _>>()?,
            status: status_block(plan)?,
            load: LoadIndex::new(plan),
        })
    }
}

fn of_entries(plan: &Plan) -> Result<Vec<EntryNames>, RuntimeError> {
    plan.entries.iter().enumerate().map(|entry| EntryNames::new(plan, entry)).collect()
}

/// The position of a name, or an error that lists the names there are.
pub(crate) fn find(names: &IndexSet<String>, kind: NameKind, name: &str) -> Result<usize, RuntimeError> {
    names.get_index_of(name).ok_or_else(|| RuntimeError::UnknownName {
        kind,
        name: name.to_owned(),
        known: names.iter().cloned().collect(),
    })
}

fn names<'a>(
    plan: &Plan,
    kind: NameKind,
    names: impl Iterator<Item = &'a String>,
) -> Result<IndexSet<String>, RuntimeError> {
    let mut set = IndexSet::new();
    for name in names {
        if !set.insert(name.clone()) {
            return Err(RuntimeError::plan(plan, format!("two {kind}s are named `{name}`")));
        }
    }
    Ok(set)
}

/// Checks that a span lies in the region it should and is large enough.
fn check_span(
    plan: &Plan,
    what: &str,
    span: Span,
    region: RegionKind,
    bytes: u64,
) -> Result<(), RuntimeError> {
    let inside = span.offset.0.checked_add(span.len.0).is_some_and(|end| end <= plan.region_size(region).0);
    if span.region != region || !inside || span.len.0 < bytes {
        return Err(RuntimeError::plan(
            plan,
            format!("{what} is at {span}, needs {bytes} bytes in {region}"),
        ));
    }
    Ok(())
}

fn natural_bytes(
    plan: &Plan,
    what: &str,
    encoding: impl Into<Encoding>,
    shape: &[u64],
) -> Result<u64, RuntimeError> {
    byte_count(encoding, shape).map_err(|e| RuntimeError::plan(plan, format!("{what}: {e}")))
}

fn param_bytes(plan: &Plan) -> Result<Vec<u64>, RuntimeError> {
    let bytes = |slot: &pumice_plan::ParamSlot| {
        let what = format!("param `{}`", slot.name);
        let bytes = natural_bytes(plan, &what, slot.encoding, &slot.shape)?;
        // Where a streamed one lies is looked at with its stream.
        match slot.residence() {
            Residence::Kept => check_span(plan, &what, slot.span, RegionKind::Weights, bytes)?,
            Residence::Streamed => {}
        }
        Ok(bytes)
    };
    plan.params.iter().map(bytes).collect()
}

/// The stream of each param, whose scratch holds it.
fn streams(plan: &Plan) -> Result<Vec<Option<usize>>, RuntimeError> {
    let mut streams = vec![None; plan.params.len()];
    for (i, stream) in plan.streams.iter().enumerate() {
        let param = plan.params.get(stream.param as usize).filter(|p| p.residence() == Residence::Streamed);
        let inside = param.is_some_and(|p| {
            let end = p.span.offset.0.checked_add(p.span.len.0);
            let needed = byte_count(p.encoding, &p.shape).unwrap_or(u64::MAX);
            end.is_some_and(|end| end <= stream.room.size().0) && needed == p.span.len.0
        });
        if !inside {
            return Err(RuntimeError::plan(plan, format!("stream {i} has no room for its param")));
        }
        streams[stream.param as usize] = Some(i);
    }
    let lost =
        plan.params.iter().zip(&streams).find(|(p, s)| p.residence() == Residence::Streamed && s.is_none());
    match lost {
        Some((p, _)) => Err(RuntimeError::plan(plan, format!("param `{}` has no place", p.name))),
        None => Ok(streams),
    }
}

fn check_constants(plan: &Plan) -> Result<(), RuntimeError> {
    plan.constants.iter().enumerate().try_for_each(|(i, c)| {
        let bytes = c.data.bytes().len() as u64;
        check_span(plan, &format!("constant {i}"), c.span, RegionKind::Weights, bytes)
    })
}

/// Params with the same span are one storage under several names.
fn tied(plan: &Plan) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..plan.params.len()).collect();
    order.sort_by_key(|&i| (plan.params[i].span, i));
    let mut tied = vec![Vec::new(); order.len()];
    for group in order.chunk_by(|&a, &b| plan.params[a].span == plan.params[b].span) {
        // Streamed params lie in scratch, each alone.
        let stays = |i: usize| plan.params[i].residence() == Residence::Kept && plan.params[i].span.len.0 > 0;
        let one_storage = group.first().is_some_and(|&i| stays(i));
        for &i in group {
            tied[i] = if one_storage { group.to_vec() } else { vec![i] };
        }
    }
    tied
}

fn state_bytes(plan: &Plan) -> Result<Vec<u64>, RuntimeError> {
    let bytes = |slot: &pumice_plan::StateSlot| {
        let what = format!("state `{}`", slot.name);
        let bytes = natural_bytes(plan, &what, slot.dtype, &slot.shape)?;
        check_span(plan, &what, slot.span, RegionKind::States, bytes)?;
        let fits = match &slot.init {
            StateInit::Zeros | StateInit::Given => true,
            StateInit::Data(data) => data.len() as u64 == bytes,
            StateInit::Param(p) => plan
                .params
                .get(*p as usize)
                .is_some_and(|param| param.encoding == slot.dtype && param.shape == slot.shape),
        };
        if !fits {
            return Err(RuntimeError::plan(
                plan,
                format!("{what} begins with a value of another type or size"),
            ));
        }
        Ok(bytes)
    };
    plan.states.iter().map(bytes).collect()
}

fn io_rules(plan: &Plan) -> Result<Vec<Vec<DimRule>>, RuntimeError> {
    let check = |slot: &IoSlot, kind: NameKind, region: RegionKind| {
        check_span(plan, &format!("{kind} `{}`", slot.name), slot.span, region, 0)
    };
    plan.outputs.iter().try_for_each(|slot| check(slot, NameKind::Output, RegionKind::IoOut))?;
    let rules = |slot: &IoSlot| {
        check(slot, NameKind::Input, RegionKind::IoIn)?;
        Ok(slot.shape.iter().map(rule).collect())
    };
    plan.inputs.iter().map(rules).collect()
}

fn rule(extent: &DimExpr) -> DimRule {
    match (extent.as_extent(), extent.as_symbol()) {
        (Some(value), _) => DimRule::Const(value),
        (None, Some(symbol)) => DimRule::Symbol(symbol),
        (None, None) => DimRule::Expr(extent.clone()),
    }
}

fn run_facts(plan: &Plan, run: &Run) -> Result<RunFacts, RuntimeError> {
    if plan.entry_of(run).is_none() {
        return Err(RuntimeError::plan(plan, "a run is of no entry"));
    }
    if run.ranges.len() != plan.symbols.len() {
        return Err(RuntimeError::plan(plan, "a run has not one range per symbol"));
    }
    let frame = Span::new(RegionKind::Frame, Bytes::ZERO, Bytes(run.frame.len_words() * 4));
    check_span(plan, "the frame", frame, RegionKind::Frame, 0)?;
    let steps = &run.program.steps;
    let writes = || steps.iter().flat_map(|s| &s.uses).filter(|u| u.access.writes()).map(|u| u.span);
    let overwrites = plan.inputs.iter().map(|slot| writes().any(|span| span.overlaps(&slot.span))).collect();
    let word = |slot| {
        let at = run.frame.find(&slot)?;
        Some(Span::new(RegionKind::Frame, Bytes(4 * u64::from(at.0)), Bytes(4)))
    };
    let stop = word(FrameSlot::Stopped).zip(word(FrameSlot::Replays));
    let scalars = Plan::scalars_of(run);
    Ok(RunFacts { has_host: steps.iter().any(|s| s.is_host()), overwrites, stop, scalars })
}

fn status_block(plan: &Plan) -> Result<Option<(Span, Vec<u8>)>, RuntimeError> {
    if plan.status_ops.is_empty() {
        return Ok(None);
    }
    let fresh = status::fresh_block(plan.status_ops.len());
    let fresh: Vec<u8> = fresh.iter().flat_map(|w| w.to_le_bytes()).collect();
    let len = Bytes(fresh.len() as u64);
    let span = Span::new(RegionKind::Status, Bytes::ZERO, len);
    check_span(plan, "the status block", span, RegionKind::Status, len.0)?;
    Ok(Some((span, fresh)))
}

/// `len` bytes of a span, from byte `start` of it on.
pub(crate) fn part(span: Span, start: u64, len: u64) -> Span {
    Span { offset: span.offset + Bytes(start), len: Bytes(len), ..span }
}
