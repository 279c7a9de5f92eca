//! Which params pass through: nothing but load steps reads their bytes, so only what those made of them has to stay.
//!
//! In: the load steps and runs of all ranges. Out: for every streamed param the part of the load program that it passes
//! through, and what is left of the load program. Kept are params that a run reads, that others meet in what is derived
//! from them, that lie beside others, that begin a state, that nothing reads, that the caller named, or that are small:
//! a stream is a submission of its own. Never here: places.

use crate::error::CompileError;
use crate::interface::Interface;
use crate::load::Loads;
use crate::lowered::Lowered;
use crate::options::Options;
use crate::unplaced::{StorageClass, UnplacedProgram, UnplacedVersion};
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
        let loads = Loads::of(lowered.ranges.iter().map(|r| (&r.unplaced, &*r.load)));
        let runs = lowered.ranges.iter().map(|r| &r.unplaced);
        let groups = groups(&loads.unplaced, runs, interface, options)?;
        Ok(LoadGroups { loads, groups })
    }
}

/// The load program or some steps of it, over buffers of its own.
pub struct UnplacedLoad {
    /// Steps, versions and buffers.
    pub unplaced: UnplacedProgram,
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
    unplaced: &UnplacedProgram,
    runs: impl Iterator<Item = &'d UnplacedProgram>,
    interface: &Interface,
    options: &Options,
) -> Result<Vec<Group>, CompileError> {
    let mut kept = pinned(interface, options)?;
    if kept.len() == interface.params.len() {
        return Ok(Vec::new());
    }
    runs.for_each(|run| kept.extend(read_by(run)));
    let mut sets = met(unplaced);
    let mut groups = alone(unplaced, &mut sets, &kept);
    for (i, step) in unplaced.steps.iter().enumerate() {
        let mut buffers = step.uses.iter().map(|u| buffer(unplaced, u.version));
        let set = buffers.find(|&b| meets(unplaced, b)).map(|b| sets.of(b));
        if let Some(group) = set.and_then(|set| groups.get_mut(&set)) {
            group.steps.push(i);
        }
    }
    let mut groups: Vec<Group> = groups.into_values().collect();
    groups.sort_by_key(|g| g.param);
    Ok(groups)
}

/// Buffers that meet in a step, in sets.
fn met(unplaced: &UnplacedProgram) -> Sets {
    let mut sets = Sets((0..unplaced.buffers.len()).collect());
    for step in &unplaced.steps {
        let mut buffers =
            step.uses.iter().map(|u| buffer(unplaced, u.version)).filter(|&b| meets(unplaced, b));
        if let Some(first) = buffers.next() {
            buffers.for_each(|b| sets.join(first, b));
        }
    }
    sets
}

/// The params that meet no other and are not kept, by set, without steps as yet.
fn alone(unplaced: &UnplacedProgram, sets: &mut Sets, kept: &BTreeSet<u32>) -> BTreeMap<usize, Group> {
    let mut params: BTreeMap<usize, Vec<StorageClass>> = BTreeMap::new();
    for (b, buffer) in unplaced.buffers.iter().enumerate() {
        if matches!(buffer.class, StorageClass::Param(_) | StorageClass::Joined(_)) {
            params.entry(sets.of(b)).or_default().push(buffer.class);
        }
    }
    let of_one = |(set, classes): (usize, Vec<StorageClass>)| match classes[..] {
        [StorageClass::Param(param)] if !kept.contains(&param) => {
            Some((set, Group { param, steps: Vec::new() }))
        }
        _ => None,
    };
    params.into_iter().filter_map(of_one).collect()
}

/// Params that a run reads, puts out or ends a state with.
fn read_by(run: &UnplacedProgram) -> impl Iterator<Item = u32> {
    let used = run.steps.iter().flat_map(|s| &s.uses).map(|u| u.version);
    let last = run.outputs.iter().chain(&run.states).copied();
    used.chain(last).filter_map(|c| match run.buffer_of(c).class {
        StorageClass::Param(p) => Some(p),
        _ => None,
    })
}

fn buffer(unplaced: &UnplacedProgram, version: UnplacedVersion) -> usize {
    unplaced.versions[version.0 as usize].buffer.0 as usize
}

/// Whether steps that touch a buffer belong together: constants are there for all.
fn meets(unplaced: &UnplacedProgram, buffer: usize) -> bool {
    !matches!(unplaced.buffers[buffer].class, StorageClass::Constant(_))
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
pub fn cut(
    unplaced: UnplacedProgram,
    groups: &[Group],
    derived: &[Option<Span>],
) -> (UnplacedLoad, Vec<UnplacedLoad>) {
    if groups.is_empty() {
        return (UnplacedLoad { unplaced, derived: derived.to_vec() }, Vec::new());
    }
    let taken: BTreeSet<usize> = groups.iter().flat_map(|g| g.steps.iter().copied()).collect();
    let rest: Vec<usize> = (0..unplaced.steps.len()).filter(|i| !taken.contains(i)).collect();
    let of_group = |g: &Group| {
        let mut streamed = subset(&unplaced, &g.steps, derived);
        for buffer in &mut streamed.unplaced.buffers {
            if let StorageClass::Param(p) = buffer.class {
                buffer.class = StorageClass::Streamed(p);
            }
        }
        streamed
    };
    (subset(&unplaced, &rest, derived), groups.iter().map(of_group).collect())
}

/// Some steps of an unplaced program with what they touch.
fn subset(unplaced: &UnplacedProgram, steps: &[usize], derived: &[Option<Span>]) -> UnplacedLoad {
    let uses = || steps.iter().flat_map(|&s| &unplaced.steps[s].uses);
    let versions: BTreeSet<UnplacedVersion> = uses().map(|u| u.version).collect();
    let buffers: BTreeSet<usize> = versions.iter().map(|&c| buffer(unplaced, c)).collect();
    let buffer_of: BTreeMap<usize, u32> = buffers.iter().copied().zip(0..).collect();
    let version_of: BTreeMap<UnplacedVersion, u32> = versions.iter().copied().zip(0..).collect();
    let mut some = UnplacedProgram::default();
    some.buffers.extend(buffers.iter().map(|&b| unplaced.buffers[b]));
    for &c in &versions {
        let mut version = unplaced.versions[c.0 as usize].clone();
        version.buffer.0 = buffer_of[&(version.buffer.0 as usize)];
        some.versions.push(version);
    }
    for &s in steps {
        let mut step = unplaced.steps[s].clone();
        step.uses.iter_mut().for_each(|u| u.version = UnplacedVersion(version_of[&u.version]));
        some.steps.push(step);
    }
    UnplacedLoad {
        unplaced: some,
        derived: buffers.iter().map(|&b| derived.get(b).copied().flatten()).collect(),
    }
}
