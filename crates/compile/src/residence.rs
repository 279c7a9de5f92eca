//! Which params pass through: nothing but load steps reads their bytes, so only what those made of them has to stay.
//!
//! In: the load steps and runs of all ranges. Out: for every streamed param the part of the load program that it passes
//! through, and what is left of the load program. Kept are params that a run reads, that others meet in what is derived
//! from them, that lie beside others, that begin a state, that nothing reads, that the caller named, or that are small:
//! a stream is a submission of its own. Never here: places.

use crate::draft::{Draft, DraftContent, Home};
use crate::error::CompileError;
use crate::interface::Interface;
use crate::load::Loads;
use crate::lowered::Lowered;
use crate::options::Options;
use pumice_plan::{Span, StateInit};
use std::collections::{BTreeMap, BTreeSet};

/// A streamed param with its steps of the load program.
pub struct Group {
    /// Index into the plan's params.
    pub param: u32,
    /// Indices into the steps of the load program, ascending.
    steps: Vec<usize>,
}

/// The load steps of all ranges, and which params pass through.
pub struct LoadGroups {
    /// The steps.
    pub loads: Loads,
    /// Streamed params with their steps.
    pub groups: Vec<Group>,
}

impl LoadGroups {
    /// Of what lowering made.
    ///
    /// # Errors
    /// A name in the options that no param has.
    pub fn of(
        lowered: &Lowered,
        interface: &Interface,
        options: &Options,
    ) -> Result<LoadGroups, CompileError> {
        let loads = Loads::of(lowered.ranges.iter().map(|r| (&r.draft, &*r.load)));
        let runs = lowered.ranges.iter().map(|r| &r.draft);
        let groups = groups(&loads.draft, runs, interface, options)?;
        Ok(LoadGroups { loads, groups })
    }
}

/// The load program or some steps of it, over buffers of its own.
pub struct LoadDraft {
    /// Steps, contents and buffers.
    pub draft: Draft,
    /// Where derived weights are, by buffer.
    pub derived: Vec<Option<Span>>,
}

/// Params that are kept whatever reads them.
///
/// # Errors
/// A name in the options that no param has.
fn pinned(interface: &Interface, options: &Options) -> Result<BTreeSet<u32>, CompileError> {
    let numbers: BTreeMap<&str, u32> = interface.params.iter().map(|p| p.name.as_str()).zip(0..).collect();
    let mut pinned = BTreeSet::new();
    for name in &options.keep {
        let known = || match &*interface.params {
            [] => "the graph has none".to_owned(),
            all => all.iter().map(|p| format!("`{}`", p.name)).collect::<Vec<_>>().join(", "),
        };
        let unknown =
            || CompileError::Options(format!("keep names `{name}`, which is no param: {}", known()));
        pinned.insert(*numbers.get(name.as_str()).ok_or_else(unknown)?);
    }
    pinned.extend(interface.joined.iter().flat_map(|j| &j.params));
    pinned.extend(interface.states.iter().filter_map(|s| match s.init {
        StateInit::Param(p) => Some(p),
        _ => None,
    }));
    let small = (0..).zip(&interface.params).filter(|(_, p)| p.span.len.0 < options.stream_from.max(1));
    pinned.extend(small.map(|(i, _)| i));
    Ok(pinned)
}

/// The streamed params of a load program, in order.
///
/// # Errors
/// A name in the options that no param has.
fn groups<'d>(
    draft: &Draft,
    runs: impl Iterator<Item = &'d Draft>,
    interface: &Interface,
    options: &Options,
) -> Result<Vec<Group>, CompileError> {
    let mut kept = pinned(interface, options)?;
    if kept.len() == interface.params.len() {
        return Ok(Vec::new());
    }
    runs.for_each(|run| kept.extend(read_by(run)));
    let mut sets = met(draft);
    let mut groups = alone(draft, &mut sets, &kept);
    for (i, step) in draft.steps.iter().enumerate() {
        let mut buffers = step.uses.iter().map(|u| buffer(draft, u.content));
        let set = buffers.find(|&b| meets(draft, b)).map(|b| sets.of(b));
        if let Some(group) = set.and_then(|set| groups.get_mut(&set)) {
            group.steps.push(i);
        }
    }
    let mut groups: Vec<Group> = groups.into_values().collect();
    groups.sort_by_key(|g| g.param);
    Ok(groups)
}

/// Buffers that meet in a step, in sets.
fn met(draft: &Draft) -> Sets {
    let mut sets = Sets((0..draft.buffers.len()).collect());
    for step in &draft.steps {
        let mut buffers = step.uses.iter().map(|u| buffer(draft, u.content)).filter(|&b| meets(draft, b));
        if let Some(first) = buffers.next() {
            buffers.for_each(|b| sets.join(first, b));
        }
    }
    sets
}

/// The params that meet no other and are not kept, by set, without steps as yet.
fn alone(draft: &Draft, sets: &mut Sets, kept: &BTreeSet<u32>) -> BTreeMap<usize, Group> {
    let mut params: BTreeMap<usize, Vec<Home>> = BTreeMap::new();
    for (b, buffer) in draft.buffers.iter().enumerate() {
        if matches!(buffer.home, Home::Param(_) | Home::Joined(_)) {
            params.entry(sets.of(b)).or_default().push(buffer.home);
        }
    }
    let of_one = |(set, homes): (usize, Vec<Home>)| match homes[..] {
        [Home::Param(param)] if !kept.contains(&param) => Some((set, Group { param, steps: Vec::new() })),
        _ => None,
    };
    params.into_iter().filter_map(of_one).collect()
}

/// Params that a run reads, puts out or ends a state with.
fn read_by(run: &Draft) -> impl Iterator<Item = u32> {
    let used = run.steps.iter().flat_map(|s| &s.uses).map(|u| u.content);
    let ends = run.outputs.iter().chain(&run.states).copied();
    used.chain(ends).filter_map(|c| match run.buffer_of(c).home {
        Home::Param(p) => Some(p),
        _ => None,
    })
}

fn buffer(draft: &Draft, content: DraftContent) -> usize {
    draft.contents[content.0 as usize].buffer.0 as usize
}

/// Whether steps that touch a buffer belong together: constants are there for all.
fn meets(draft: &Draft, buffer: usize) -> bool {
    !matches!(draft.buffers[buffer].home, Home::Constant(_))
}

/// Sets that grow together; each has the smallest of its members for a name.
struct Sets(Vec<usize>);

impl Sets {
    fn of(&mut self, mut member: usize) -> usize {
        while self.0[member] != member {
            self.0[member] = self.0[self.0[member]];
            member = self.0[member];
        }
        member
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.of(a), self.of(b));
        let (low, high) = (a.min(b), a.max(b));
        self.0[high] = low;
    }
}

/// The load program cut into what is left and the groups, in their order. `derived` are the places by buffer.
pub fn cut(draft: Draft, groups: &[Group], derived: &[Option<Span>]) -> (LoadDraft, Vec<LoadDraft>) {
    if groups.is_empty() {
        return (LoadDraft { draft, derived: derived.to_vec() }, Vec::new());
    }
    let taken: BTreeSet<usize> = groups.iter().flat_map(|g| g.steps.iter().copied()).collect();
    let rest: Vec<usize> = (0..draft.steps.len()).filter(|i| !taken.contains(i)).collect();
    let of_group = |g: &Group| {
        let mut streamed = subset(&draft, &g.steps, derived);
        for buffer in &mut streamed.draft.buffers {
            if let Home::Param(p) = buffer.home {
                buffer.home = Home::Streamed(p);
            }
        }
        streamed
    };
    (subset(&draft, &rest, derived), groups.iter().map(of_group).collect())
}

/// Some steps of a draft with what they touch.
fn subset(draft: &Draft, steps: &[usize], derived: &[Option<Span>]) -> LoadDraft {
    let uses = || steps.iter().flat_map(|&s| &draft.steps[s].uses);
    let contents: BTreeSet<DraftContent> = uses().map(|u| u.content).collect();
    let buffers: BTreeSet<usize> = contents.iter().map(|&c| buffer(draft, c)).collect();
    let buffer_of: BTreeMap<usize, u32> = buffers.iter().copied().zip(0..).collect();
    let content_of: BTreeMap<DraftContent, u32> = contents.iter().copied().zip(0..).collect();
    let mut some = Draft::default();
    some.buffers.extend(buffers.iter().map(|&b| draft.buffers[b]));
    for &c in &contents {
        let mut content = draft.contents[c.0 as usize].clone();
        content.buffer.0 = buffer_of[&(content.buffer.0 as usize)];
        some.contents.push(content);
    }
    for &s in steps {
        let mut step = draft.steps[s].clone();
        step.uses.iter_mut().for_each(|u| u.content = DraftContent(content_of[&u.content]));
        some.steps.push(step);
    }
    LoadDraft { draft: some, derived: buffers.iter().map(|&b| derived.get(b).copied().flatten()).collect() }
}
