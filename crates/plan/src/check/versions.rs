//! Symbolic versions: which value the bytes hold after every step, followed through the program twice in a row.

use super::Scope;
use super::error::{Fault, Findings};
use super::intervals::ByteMap;
use super::streams;
use super::touches::Touches;
use crate::plan::{PlanValue, VersionOrigin};
use crate::region::{RegionKind, Span};
use crate::step::{Access, Step, StepId, Use, VersionId};
use std::collections::{BTreeMap, BTreeSet};

/// The value that bytes hold; `None` for nothing that this replay may read.
type Held = Option<VersionId>;

/// The versions of all bytes while a program is followed.
pub(super) struct Versions {
    facts: Facts,
    memory: ByteMap<Held>,
}

impl Versions {
    /// Before the first replay. `derived` are spans of derived weights that are there when the program begins.
    pub fn new(
        scope: &Scope<'_>,
        touches: Touches,
        derived: &BTreeSet<Span>,
        findings: &mut Findings,
    ) -> Versions {
        if scope.run.is_some() {
            expect_derived(scope, &touches, derived, findings);
        }
        let facts = Facts::of(scope, touches.last_writer);
        let mut memory = ByteMap::new();
        facts.outside(scope, &mut memory);
        Versions { facts, memory }
    }

    /// The next step: its reads, then its writes.
    pub fn follow(&mut self, scope: &Scope<'_>, (id, step): (StepId, &Step), findings: &mut Findings) {
        let (facts, memory) = (&self.facts, &mut self.memory);
        for (index, u) in step.uses.iter().enumerate() {
            if u.access.writes() && u.access != Access::StatusAtomic {
                continue;
            }
            if let Some(fault) = read(scope, facts, memory, id, (index, u)) {
                findings.at(id, &step.origin, fault);
            }
        }
        for (index, u) in Scope::uses(step, true) {
            if let Some(fault) = write(scope, facts, memory, step, (index, u)) {
                findings.at(id, &step.origin, fault);
            }
        }
    }

    /// After the last step: a second replay. Returns the spans of derived weights that are left intact.
    pub fn finish(mut self, scope: &Scope<'_>, findings: &mut Findings) -> Vec<Span> {
        outputs_and_states(scope, &self.facts, &mut self.memory, findings);
        self.facts.seam(scope, &mut self.memory);
        for step in scope.steps() {
            self.follow(scope, step, findings);
        }
        outputs_and_states(scope, &self.facts, &mut self.memory, findings);
        intact(scope, &self.facts, &mut self.memory)
    }
}

/// What versions are to each other.
struct Facts {
    /// The version whose bytes a version has: itself, unless no step writes it or it shares storage.
    same: Vec<VersionId>,
    /// For a version of a state, the one before it.
    previous: Vec<Option<VersionId>>,
    /// The last step that writes a version; status atomics do not count.
    last_writer: Vec<Option<StepId>>,
    /// For each state, its version when a replay begins.
    before: Vec<Option<VersionId>>,
    /// Whether a version is there before the program begins, and stays.
    persists: Vec<bool>,
}

impl Facts {
    fn of(scope: &Scope<'_>, last_writer: Vec<Option<StepId>>) -> Facts {
        let values = &scope.program.values;
        let mut facts = Facts {
            same: (0..values.len() as u32).map(VersionId).collect(),
            previous: vec![None; values.len()],
            last_writer,
            before: vec![None; scope.plan.states.len()],
            persists: values.iter().map(|v| persists(scope, v.origin)).collect(),
        };
        facts.versions(values);
        facts.ties(values);
        facts
    }

    /// Versions of a state are numbered upwards; one that no step writes is the one before it.
    fn versions(&mut self, values: &[PlanValue]) {
        let mut latest: BTreeMap<u32, VersionId> = BTreeMap::new();
        for (i, v) in values.iter().enumerate() {
            let id = VersionId(i as u32);
            match v.origin {
                VersionOrigin::StateBefore(state) => {
                    if let Some(before) = self.before.get_mut(state as usize) {
                        *before = Some(id);
                    }
                    latest.insert(state, id);
                }
                VersionOrigin::StateAfter(state) => {
                    let previous = latest.get(&state).copied();
                    match (self.last_writer[i], previous) {
                        (None, Some(p)) => self.same[i] = p,
                        _ => {
                            self.previous[i] = previous;
                            latest.insert(state, id);
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// What is stored in one place under several numbers is one version.
    fn ties(&mut self, values: &[PlanValue]) {
        let mut first: BTreeMap<Span, VersionId> = BTreeMap::new();
        for (i, v) in values.iter().enumerate() {
            if self.persists[i] && v.span.region == RegionKind::Weights && v.span.len.0 > 0 {
                self.same[i] = *first.entry(v.span).or_insert(VersionId(i as u32));
            }
        }
    }

    fn same(&self, id: VersionId) -> VersionId {
        self.same[id.0 as usize]
    }

    /// What memory holds before the first replay.
    fn outside(&self, scope: &Scope<'_>, memory: &mut ByteMap<Held>) {
        // A param beside others is itself, and a part of what they are together.
        let whole = |v: &PlanValue| matches!(v.origin, VersionOrigin::Joined(_));
        let values = || scope.program.values.iter().enumerate();
        for (i, v) in values().filter(|(_, v)| whole(v)).chain(values().filter(|(_, v)| !whole(v))) {
            let id = VersionId(i as u32);
            if self.persists[i] || self.is_before(v.origin, id) {
                memory.visit(v.span, |_, held| *held = Some(self.same(id)));
            }
        }
    }

    /// Whether a version of that origin is a state when a replay begins.
    fn is_before(&self, origin: VersionOrigin, id: VersionId) -> bool {
        matches!(origin, VersionOrigin::StateBefore(s) if self.before.get(s as usize) == Some(&Some(id)))
    }

    /// Between two replays: what persists stays, a state at its end is the state at the next beginning, and nothing
    /// else may be read any more.
    fn seam(&self, scope: &Scope<'_>, memory: &mut ByteMap<Held>) {
        let states = scope.run.map_or(&[][..], |r| &r.states);
        memory.visit_all(|held| {
            let Some(id) = *held else { return };
            if self.persists[id.0 as usize] {
                return;
            }
            let state = match scope.program.values[id.0 as usize].origin {
                VersionOrigin::StateBefore(i) | VersionOrigin::StateAfter(i) => Some(i as usize),
                _ => None,
            };
            let last = state.filter(|&i| states.get(i).is_some_and(|&last| self.same(last) == id));
            *held = last.and_then(|i| self.before.get(i).copied().flatten());
        });
    }
}

fn persists(scope: &Scope<'_>, origin: VersionOrigin) -> bool {
    match origin {
        VersionOrigin::Param(p) => streams::is_there(scope, p),
        VersionOrigin::Joined(_) | VersionOrigin::Constant(_) => true,
        VersionOrigin::Input(_) | VersionOrigin::Frame => true,
        VersionOrigin::Derived => scope.run.is_some(),
        // Where no op reports, kernels may still be given the block; they do not touch it.
        VersionOrigin::Status => scope.plan.status_ops.is_empty(),
        VersionOrigin::StateBefore(_) | VersionOrigin::StateAfter(_) | VersionOrigin::Step => false,
    }
}

/// Derived weights that the run reads are left by the load program, each at its place: of two names none at one.
fn expect_derived(scope: &Scope<'_>, touches: &Touches, derived: &BTreeSet<Span>, findings: &mut Findings) {
    let mut taken = BTreeMap::new();
    for (v, _) in scope.program.values.iter().zip(&touches.touched).filter(|(_, touched)| **touched) {
        if v.origin != VersionOrigin::Derived || v.span.len.0 == 0 {
            continue;
        }
        let first = *taken.entry(v.span).or_insert(&v.name);
        if !derived.contains(&v.span) || *first != v.name {
            findings.add(Fault::Derived { name: v.name.to_string(), span: v.span });
        }
    }
}

/// The first part of a span that does not hold a version.
fn mismatch(memory: &mut ByteMap<Held>, span: Span, expected: VersionId) -> Option<(Span, Held)> {
    mismatch_but(memory, span, expected, |_, _| false)
}

/// As [`mismatch`]; parts that hold something else that is `as_good` pass.
fn mismatch_but(
    memory: &mut ByteMap<Held>,
    span: Span,
    expected: VersionId,
    as_good: impl Fn(Span, VersionId) -> bool,
) -> Option<(Span, Held)> {
    let mut wrong = None;
    memory.visit(span, |part, held| {
        let good = held.is_some_and(|h| h == expected || as_good(part, h));
        if !good && wrong.is_none() {
            wrong = Some((part, *held));
        }
    });
    wrong
}

fn named(scope: &Scope<'_>, held: Held) -> String {
    held.map_or_else(|| "nothing".to_owned(), |id| scope.name(id))
}

fn read(
    scope: &Scope<'_>,
    facts: &Facts,
    memory: &mut ByteMap<Held>,
    id: StepId,
    (index, u): (usize, &Use),
) -> Option<Fault> {
    let expected = facts.same(u.content);
    let origin_of = |id: VersionId| scope.program.values[id.0 as usize].origin;
    let part_of_it = |at: Span, held: VersionId| match (origin_of(expected), origin_of(held)) {
        (VersionOrigin::Joined(set), VersionOrigin::Param(p)) => {
            let is_member = scope.plan.joined.get(set as usize).is_some_and(|j| j.params.contains(&p));
            is_member && scope.program.values[held.0 as usize].span.contains(&at)
        }
        _ => false,
    };
    if let Some((at, held)) = mismatch_but(memory, u.span, expected, part_of_it) {
        let (expected, found) = (scope.name(u.content), named(scope, held));
        return Some(Fault::Finds { index, expected, found, at });
    }
    // The frame is advanced by the last step of all, for the next replay.
    let origin = origin_of(u.content);
    let writer = facts.last_writer[expected.0 as usize].filter(|_| origin != VersionOrigin::Frame);
    let writer = writer.filter(|&w| w >= id && u.span.len.0 > 0)?;
    Some(Fault::Unfinished { index, expected: scope.name(u.content), writer })
}

fn write(
    scope: &Scope<'_>,
    facts: &Facts,
    memory: &mut ByteMap<Held>,
    step: &Step,
    (index, u): (usize, &Use),
) -> Option<Fault> {
    let origin = scope.program.values[u.content.0 as usize].origin;
    let version = || scope.name(u.content);
    let allowed = match origin {
        VersionOrigin::Step | VersionOrigin::StateAfter(_) | VersionOrigin::Status => true,
        VersionOrigin::Derived => scope.run.is_none(),
        VersionOrigin::Frame => matches!(step.kind, crate::step::StepKind::Advance { .. }),
        _ => false,
    };
    if !allowed {
        return Some(Fault::WritesOutside { index, version: version() });
    }
    let mut fault = None;
    if let (VersionOrigin::StateAfter(_), Some(previous)) = (origin, facts.previous[u.content.0 as usize]) {
        // Bytes of the same version are there where another step wrote its part.
        memory.visit(u.span, |at, held| {
            let in_order = *held == Some(previous) || *held == Some(u.content);
            if !in_order && fault.is_none() {
                fault =
                    Some(Fault::StateVersion { index, version: version(), found: named(scope, *held), at });
            }
        });
    }
    memory.visit(u.span, |_, held| *held = Some(u.content));
    fault
}

/// Outputs and states hold their values.
fn outputs_and_states(scope: &Scope<'_>, facts: &Facts, memory: &mut ByteMap<Held>, findings: &mut Findings) {
    let Some(run) = scope.run else { return };
    let outputs = scope.plan.outputs.iter().zip(&run.outputs).map(|(s, &id)| {
        // A run may be sized for less than the slot.
        let len = scope.program.values[id.0 as usize].span.len.min(s.span.len);
        (format!("output {}", s.name), Span { len, ..s.span }, id)
    });
    let states = scope.plan.states.iter().zip(&run.states);
    let states = states.map(|(s, &id)| (format!("state {}", s.name), s.span, id));
    for (what, span, id) in outputs.chain(states) {
        if let Some((at, held)) = mismatch(memory, span, facts.same(id)) {
            let (expected, found) = (scope.name(id), named(scope, held));
            findings.add(Fault::End { what, expected, found, at });
        }
    }
}

/// Spans of the derived weights that are complete at the end of the load program.
fn intact(scope: &Scope<'_>, facts: &Facts, memory: &mut ByteMap<Held>) -> Vec<Span> {
    if scope.run.is_some() {
        return Vec::new();
    }
    let values = scope.program.values.iter().enumerate();
    let derived = values.filter(|(_, v)| v.origin == VersionOrigin::Derived);
    let kept = derived.filter(|(i, v)| {
        facts.last_writer[*i].is_some() && mismatch(memory, v.span, VersionId(*i as u32)).is_none()
    });
    kept.map(|(_, v)| v.span).collect()
}
