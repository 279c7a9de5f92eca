//! Symbolic versions: which value the bytes hold after every step, followed through the program twice in a row.
//!
//! What a step of a branch writes is there where the branch is taken, and is read by steps of that branch or of one
//! inside of it. Where the steps of both branches of a choice have written one value, it is there wherever the choice
//! is: that is how branches join.

use super::Scope;
use super::error::{Fault, Findings};
use super::intervals::ByteMap;
use super::streams;
use super::touches::Touches;
use super::turns::Turn;
use crate::plan::{PlanValue, Program, VersionOrigin};
use crate::region::{RegionKind, Span};
use crate::step::{Step, StepId, StepKind, Use, VersionId};
use pumice_types::When;
use smallvec::SmallVec;
use std::collections::{BTreeMap, BTreeSet};

/// Where a value is: wherever one of these holds.
type Places = SmallVec<[When; 1]>;

/// The value that bytes hold, and where; `None` for nothing that this replay may read.
type Held = Option<(VersionId, Places)>;

/// A value that is there whatever is chosen.
fn always(id: VersionId) -> Held {
    Some((id, SmallVec::from_elem(When::ALWAYS, 1)))
}

fn is_always(places: &Places) -> bool {
    places.iter().any(When::is_always)
}

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

    /// The next step. Behind the last one of a loop a second turn is followed.
    pub fn follow(&mut self, scope: &Scope<'_>, (id, step): (StepId, &Step), findings: &mut Findings) {
        if let Some(at) = self.facts.turns.iter().position(|turn| turn.steps.start == id.0) {
            self.facts.turns_begin(scope, at, &mut self.memory);
        }
        self.step(scope, (id, step), findings);
        let ends = self.facts.turns.iter().position(|turn| turn.steps.end == id.0 + 1);
        let Some(at) = ends else { return };
        self.facts.turn_ends(scope, at, &mut self.memory);
        let again = self.facts.turns[at].steps.clone();
        for (id, step) in scope.steps().filter(|(id, _)| again.contains(&id.0)) {
            self.step(scope, (id, step), findings);
        }
        self.facts.turn_ends(scope, at, &mut self.memory);
        self.facts.loop_ends(scope, at, &mut self.memory);
    }

    /// A step: its reads, then its writes.
    fn step(&mut self, scope: &Scope<'_>, (id, step): (StepId, &Step), findings: &mut Findings) {
        let (facts, memory) = (&self.facts, &mut self.memory);
        for (index, u) in step.uses.iter().enumerate() {
            if u.access.stores() {
                continue;
            }
            if let Some(fault) = read(scope, facts, memory, (id, step), (index, u)) {
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
    /// For a version of a state that is not the one before it, that one.
    previous: Vec<Option<VersionId>>,
    /// The last step that writes a version; status atomics do not count.
    last_writer: Vec<Option<StepId>>,
    /// For each state, its version when a replay begins.
    before: Vec<Option<VersionId>>,
    /// Whether a version is there before the program begins, and stays.
    persists: Vec<bool>,
    /// The loops.
    turns: Vec<Turn>,
    /// For what turns begin with, the loop that leaves something in its place.
    loop_of: BTreeMap<VersionId, usize>,
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
            turns: Turn::all(scope.program),
            loop_of: BTreeMap::new(),
        };
        facts.loops(values);
        facts.versions(scope.program);
        facts.ties(values);
        facts
    }

    /// Versions of a state are numbered upwards; one that no step writes is the one before it. So is what turns begin
    /// with where they leave nothing.
    fn versions(&mut self, program: &Program) {
        let mut latest: BTreeMap<u32, VersionId> = BTreeMap::new();
        for (i, v) in program.values.iter().enumerate() {
            let Some(state) = program.state_of(v.origin) else { continue };
            let (id, previous) = (VersionId(i as u32), latest.get(&state).copied());
            let is_new = match v.origin {
                VersionOrigin::StateBefore(_) => {
                    if let Some(before) = self.before.get_mut(state as usize) {
                        *before = Some(id);
                    }
                    latest.insert(state, id);
                    continue;
                }
                VersionOrigin::Left(first) => {
                    self.same[i] = self.same(first);
                    latest.insert(state, self.same(first));
                    continue;
                }
                VersionOrigin::StateCarried(_) => self.loop_of.contains_key(&id),
                _ => self.last_writer[i].is_some(),
            };
            match previous.filter(|_| !is_new) {
                Some(previous) => self.same[i] = previous,
                None => {
                    self.previous[i] = previous;
                    latest.insert(state, id);
                }
            }
        }
    }

    /// What is there behind a loop is what a further turn would begin with.
    fn loops(&mut self, values: &[PlanValue]) {
        for (i, v) in values.iter().enumerate() {
            match v.origin {
                VersionOrigin::Left(first) if (first.0 as usize) < values.len() => self.same[i] = first,
                VersionOrigin::Next(first) => {
                    let Some(writer) = self.last_writer[i] else { continue };
                    let at = self.turns.iter().position(|turn| turn.steps.contains(&writer.0));
                    self.loop_of.extend(at.map(|at| (first, at)));
                }
                _ => {}
            }
        }
    }

    /// Before the first turn: a state as it is then is what turns begin with.
    fn turns_begin(&self, scope: &Scope<'_>, at: usize, memory: &mut ByteMap<Held>) {
        let of_turns = self.loop_of.iter().filter(|(_, l)| **l == at).map(|(begins, _)| *begins);
        for begins in of_turns.filter(|begins| self.is_carried_state(scope, *begins)) {
            let (span, previous) =
                (scope.program.values[begins.0 as usize].span, self.previous[begins.0 as usize]);
            memory.visit(span, |_, held| {
                if let Some((id, _)) = held.as_mut().filter(|(id, _)| Some(*id) == previous) {
                    *id = begins;
                }
            });
        }
    }

    fn is_carried_state(&self, scope: &Scope<'_>, version: VersionId) -> bool {
        scope.program.value(version).is_some_and(|v| matches!(v.origin, VersionOrigin::StateCarried(_)))
    }

    /// Between two turns: what a turn left is what the next begins with.
    fn turn_ends(&self, scope: &Scope<'_>, at: usize, memory: &mut ByteMap<Held>) {
        let turn = &self.turns[at];
        memory.visit_all(|held| {
            let Some((id, _)) = held else { return };
            let VersionOrigin::Next(first) = scope.program.values[id.0 as usize].origin else { return };
            // What a branch of the turn alone left is nothing to begin with.
            let places = held.take().map(|(_, places)| places).unwrap_or_default();
            let outer = places.iter().map(|when| turn.outside(when)).collect::<Option<Places>>();
            *held = outer.map(|places| (first, places));
        });
    }

    /// Behind a loop: what a turn makes besides what it leaves is not there, since there may have been no turn.
    fn loop_ends(&self, scope: &Scope<'_>, at: usize, memory: &mut ByteMap<Held>) {
        let turn = &self.turns[at];
        let is_of_turn = |id: VersionId| {
            let made = matches!(
                scope.program.values[id.0 as usize].origin,
                VersionOrigin::Step | VersionOrigin::Found(_)
            );
            made && self.last_writer[id.0 as usize].is_some_and(|writer| turn.steps.contains(&writer.0))
        };
        memory.visit_all(|held| {
            if turn.counted && held.as_ref().is_some_and(|(id, _)| is_of_turn(*id)) {
                *held = None;
            }
        });
    }

    /// Whether a step reads a version of a loop's where it has that value: what turns begin with before and in the
    /// loop, what is there behind it behind it.
    fn is_in_time(&self, origin: VersionOrigin, content: VersionId, id: StepId) -> bool {
        let of = |first: VersionId| self.loop_of.get(&first).map(|&at| &self.turns[at].steps);
        match origin {
            VersionOrigin::Carried | VersionOrigin::StateCarried(_) => {
                of(content).is_none_or(|steps| id.0 < steps.end)
            }
            VersionOrigin::Left(first) => of(first).is_none_or(|steps| id.0 >= steps.end),
            _ => true,
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
                memory.visit(v.span, |_, held| *held = always(self.same(id)));
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
            let Some((id, places)) = held.take() else { return };
            if self.persists[id.0 as usize] {
                *held = Some((id, places));
                return;
            }
            let state =
                scope.program.state_of(scope.program.values[id.0 as usize].origin).map(|i| i as usize);
            let last = state.filter(|&i| states.get(i).is_some_and(|&last| self.same(last) == id));
            *held = last.and_then(|i| self.before.get(i).copied().flatten()).and_then(always);
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
        VersionOrigin::StateBefore(_)
        | VersionOrigin::StateAfter(_)
        | VersionOrigin::StateCarried(_)
        | VersionOrigin::Step
        | VersionOrigin::Carried
        | VersionOrigin::Next(_)
        | VersionOrigin::Left(_)
        | VersionOrigin::Found(_) => false,
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

/// The first part of a span that does not hold a version, whatever is chosen.
fn mismatch(memory: &mut ByteMap<Held>, span: Span, expected: VersionId) -> Option<(Span, Held)> {
    mismatch_but(memory, span, |_, held, places| held == expected && is_always(places))
}

/// The first part of a span whose value is not right.
fn mismatch_but(
    memory: &mut ByteMap<Held>,
    span: Span,
    is_right: impl Fn(Span, VersionId, &Places) -> bool,
) -> Option<(Span, Held)> {
    let mut wrong = None;
    memory.visit(span, |part, held| {
        let right = held.as_ref().is_some_and(|(id, places)| is_right(part, *id, places));
        if !right && wrong.is_none() {
            wrong = Some((part, held.clone()));
        }
    });
    wrong
}

fn named(scope: &Scope<'_>, held: Held) -> String {
    match held {
        Some((id, places)) if is_always(&places) => scope.name(id),
        Some((id, _)) => format!("{}, in a branch", scope.name(id)),
        None => "nothing".to_owned(),
    }
}

fn read(
    scope: &Scope<'_>,
    facts: &Facts,
    memory: &mut ByteMap<Held>,
    (id, step): (StepId, &Step),
    (index, u): (usize, &Use),
) -> Option<Fault> {
    let expected = facts.same(u.content);
    let origin_of = |id: VersionId| scope.program.values[id.0 as usize].origin;
    let in_time = facts.is_in_time(origin_of(u.content), u.content, id);
    let is_right = |at: Span, held: VersionId, places: &Places| {
        let is_it = held == expected || is_part(scope, (held, at), expected);
        in_time && is_it && is_there(step, places)
    };
    if let Some((at, held)) = mismatch_but(memory, u.span, is_right) {
        let (expected, found) = (scope.name(u.content), named(scope, held));
        return Some(Fault::Finds { index, expected, found, at });
    }
    // The frame is advanced by the last step of all, for the next replay.
    let origin = origin_of(u.content);
    let writer = facts.last_writer[expected.0 as usize].filter(|_| origin != VersionOrigin::Frame);
    let last = writer.filter(|&w| w >= id && u.span.len.0 > 0)?;
    let writer = unfinished(scope, facts, (id, step), expected, last)?;
    Some(Fault::Unfinished { index, expected: scope.name(u.content), writer })
}

/// Whether bytes that hold a param are, as they lie, a part of params side by side.
fn is_part(scope: &Scope<'_>, (held, at): (VersionId, Span), of: VersionId) -> bool {
    let value = |id: VersionId| &scope.program.values[id.0 as usize];
    let (VersionOrigin::Joined(set), VersionOrigin::Param(p)) = (value(of).origin, value(held).origin) else {
        return false;
    };
    let is_member = scope.plan.joined.get(set as usize).is_some_and(|j| j.params.contains(&p));
    is_member && value(held).span.contains(&at)
}

/// Whether a value in these places is there where the step runs. The count of a choice in a branch is read wherever it
/// lies: where the branch is not taken, whatever is read there is a value that the choice may have, and what follows
/// from both is 0.
fn is_there(step: &Step, places: &Places) -> bool {
    step.finds_words() || places.iter().any(|when| step.when.is_within(when))
}

/// The last step from this one on that writes a version. What the other branch of a choice will write is not there
/// where this step runs.
fn unfinished(
    scope: &Scope<'_>,
    facts: &Facts,
    (id, step): (StepId, &Step),
    version: VersionId,
    last: StepId,
) -> Option<StepId> {
    let writes = |step: &Step| {
        let mut written = step.uses.iter().filter(|u| u.access.stores());
        written.any(|w| facts.same(w.content) == version)
    };
    (id.0..=last.0).rev().map(StepId).find(|w| {
        let other = &scope.program.steps[w.0 as usize];
        writes(other) && !other.when.excludes(&step.when)
    })
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
        // Which step fills a row is looked at by `found`.
        VersionOrigin::Step
        | VersionOrigin::Carried
        | VersionOrigin::StateAfter(_)
        | VersionOrigin::Status
        | VersionOrigin::Found(_) => true,
        VersionOrigin::Next(_) if scope.program.state_of(origin).is_some() => true,
        // It takes the place of what the turn begins with.
        VersionOrigin::Next(first) => {
            let is_next = |_: Span, held: VersionId, _: &Places| held == first || held == u.content;
            mismatch_but(memory, u.span, is_next).is_none()
        }
        VersionOrigin::Derived => scope.run.is_none(),
        VersionOrigin::Frame => matches!(step.kind, StepKind::Advance { .. }),
        _ => false,
    };
    if !allowed {
        return Some(Fault::WritesOutside { index, version: version() });
    }
    let mut fault = None;
    if let Some(previous) = facts.previous[u.content.0 as usize] {
        // Bytes of the same version are there where another step wrote its part.
        memory.visit(u.span, |at, held| {
            let in_order = held.as_ref().is_some_and(|(id, _)| *id == previous || *id == u.content);
            if !in_order && fault.is_none() {
                let found = named(scope, held.clone());
                fault = Some(Fault::StateVersion { index, version: version(), found, at });
            }
        });
    }
    memory.visit(u.span, |_, held| *held = Some((u.content, joined(held.take(), u.content, &step.when))));
    fault
}

/// Where a value is after a step of these branches wrote it over what bytes held. Where the steps of both branches of a
/// choice have written it, it is wherever the choice is.
fn joined(held: Held, content: VersionId, when: &When) -> Places {
    let mut places = held.filter(|(id, _)| *id == content).map_or_else(Places::new, |(_, places)| places);
    if places.iter().any(|place| when.is_within(place)) {
        return places;
    }
    let mut new = when.clone();
    while let Some(outer) = places.iter().find_map(|place| place.joined_with(&new)) {
        new = outer;
        places.retain(|place| !place.is_within(&new));
    }
    places.retain(|place| !place.is_within(&new));
    places.push(new);
    places
}

/// Outputs and states hold their values.
fn outputs_and_states(scope: &Scope<'_>, facts: &Facts, memory: &mut ByteMap<Held>, findings: &mut Findings) {
    let Some(run) = scope.run else { return };
    let outputs = scope.outputs().iter().zip(&run.outputs).map(|(s, &id)| {
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
