//! Regions, and the slots that lie in them for all programs: params, constants, states, inputs, outputs, values.

use super::Scope;
use super::error::{Fault, Findings};
use super::joined;
use super::touches::Touches;
use crate::kernel::status::block_words;
use crate::plan::{Placement, Plan, PlanValue, VersionOrigin};
use crate::region::{DeviceIndex, Region, RegionKind, SLOT_ALIGNMENT, Span};
use crate::stream::Residence;
use pumice_types::tensor::byte_count;
use pumice_types::{Bytes, DType, DimExpr};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Checks regions and slots.
pub(super) fn check(plan: &Plan, findings: &mut Findings) {
    regions(plan, findings);
    weights(plan, findings);
    states(plan, findings);
    for (slots, region, what) in
        [(&plan.inputs, RegionKind::IoIn, "input"), (&plan.outputs, RegionKind::IoOut, "output")]
    {
        for s in slots {
            let bytes = upper_bytes(plan, s.dtype, &s.shape);
            slot(plan, format!("{what} {}", s.name), s.span, region, bytes, findings);
        }
        disjoint(slots.iter().map(|s| (format!("{what} {}", s.name), s.span)).collect(), findings);
    }
    status_block(plan, findings);
}

/// Params, constants, and what load programs derive from them.
fn weights(plan: &Plan, findings: &mut Findings) {
    let mut stored = Vec::new();
    let alignments = joined::alignments(plan);
    for (p, alignment) in plan.params.iter().zip(alignments) {
        if p.residence() == Residence::Streamed {
            continue;
        }
        let bytes = byte_count(p.encoding, &p.shape).ok();
        let what = format!("param {}", p.name);
        filled(&what, p.span, bytes, findings);
        aligned_slot(plan, what, p.span, (RegionKind::Weights, alignment), bytes, findings);
        stored.push((format!("param {}", p.name), p.span));
    }
    for (i, c) in plan.constants.iter().enumerate() {
        // A tensor from a file may have other bytes than its shape says.
        let held = c.data.bytes().len() as u64;
        let bytes = byte_count(c.data.encoding(), c.data.shape()).ok().filter(|b| *b == held);
        filled(&format!("constant {i}"), c.span, bytes, findings);
        slot(plan, format!("constant {i}"), c.span, RegionKind::Weights, bytes, findings);
        stored.push((format!("constant {i}"), c.span));
    }
    joined::check(plan, findings);
    // Tied params are one storage under several names.
    stored.sort_by_key(|(_, s)| *s);
    stored.dedup_by_key(|(_, s)| *s);
    let values = plan.load_programs().flat_map(|p| &p.values);
    let derived = values.filter(|v| v.origin == VersionOrigin::Derived);
    stored.extend(derived.map(|v| (format!("derived weight {}", v.name), v.span)));
    disjoint(stored, findings);
}

fn states(plan: &Plan, findings: &mut Findings) {
    for s in &plan.states {
        let bytes = byte_count(s.dtype, &s.shape).ok();
        filled(&format!("state {}", s.name), s.span, bytes, findings);
        slot(plan, format!("state {}", s.name), s.span, RegionKind::States, bytes, findings);
    }
    disjoint(plan.states.iter().map(|s| (format!("state {}", s.name), s.span)).collect(), findings);
}

fn status_block(plan: &Plan, findings: &mut Findings) {
    let status_bytes = 4 * block_words(plan.status_ops.len() as u64);
    if !plan.status_ops.is_empty() && plan.region_size(RegionKind::Status).0 < status_bytes {
        let why = format!("{} ops need {status_bytes} bytes", plan.status_ops.len());
        findings.add(Fault::Region { kind: RegionKind::Status, why });
    }
}

/// Bytes at the upper bounds; `None` where the bound of the extents is not that of a tensor (a wide scalar range).
fn upper_bytes(plan: &Plan, dtype: DType, shape: &[DimExpr]) -> Option<u64> {
    let upper: Vec<u64> = shape.iter().map(|d| d.upper(&plan.symbols)).collect();
    byte_count(dtype, &upper).ok()
}

fn regions(plan: &Plan, findings: &mut Findings) {
    for (i, kind) in RegionKind::ALL.into_iter().enumerate() {
        if plan.regions.get(i).is_none_or(|r| r.kind != kind) {
            findings.add(Fault::Region { kind, why: format!("it should be number {i} of the list") });
        }
    }
    if plan.regions.len() > RegionKind::ALL.len() {
        let kind = plan.regions[RegionKind::ALL.len()].kind;
        findings.add(Fault::Region { kind, why: "the list has too many".into() });
    }
    let limits = &plan.target.limits;
    plan.regions.iter().for_each(|r| chunks(plan, r, findings));
    let size = |kind| plan.region_size(kind);
    let needed = size(RegionKind::Weights) + size(RegionKind::States) + size(RegionKind::Scratch);
    if needed > limits.memory {
        findings.add(Fault::Memory { needed, available: limits.memory });
    }
}

/// Checks that the chunks of a region can be allocated and cut no slot.
pub(super) fn chunks(plan: &Plan, r: &Region, findings: &mut Findings) {
    let most = plan.target.limits.max_allocation;
    for (i, &chunk) in r.chunks.iter().enumerate() {
        if chunk > most {
            let why = format!("chunk {i} has {chunk}, the largest allocation is {most}");
            findings.add(Fault::Region { kind: r.kind, why });
        }
        if chunk.0 == 0 || (i + 1 < r.chunks.len() && chunk.0 % SLOT_ALIGNMENT != 0) {
            let why = format!("chunk {i} of {} bytes is empty or cuts a slot", chunk.0);
            findings.add(Fault::Region { kind: r.kind, why });
        }
    }
}

/// Why a span cannot be where it is in its region, if it cannot.
pub(super) fn misplaced(region: Option<&Region>, span: Span) -> Option<&'static str> {
    if span.device != DeviceIndex::ONLY {
        return Some("it names another device than 0, the only one of a plan");
    }
    let Some(region) = region else { return Some("there is no such region") };
    let Some(end) = span.offset.0.checked_add(span.len.0) else { return Some("its end passes 64 bits") };
    if end > region.size().0 {
        return Some("it ends outside its region");
    }
    if span.len.0 == 0 {
        return None;
    }
    let first = region.locate(span.offset);
    let last = region.locate(Bytes(end - 1));
    match (first, last) {
        (Some((a, _)), Some((b, _))) if a == b => None,
        _ => Some("it crosses a chunk border"),
    }
}

fn slot(
    plan: &Plan,
    what: String,
    span: Span,
    region: RegionKind,
    bytes: Option<u64>,
    findings: &mut Findings,
) {
    aligned_slot(plan, what, span, (region, SLOT_ALIGNMENT), bytes, findings);
}

/// The host writes so many bytes of a slot: its steps read to its end.
fn filled(what: &str, span: Span, bytes: Option<u64>, findings: &mut Findings) {
    if bytes.is_some_and(|b| b < span.len.0) {
        let what = what.to_owned();
        findings.add(Fault::Slot { what, span, why: "it has fewer bytes than its slot" });
    }
}

fn aligned_slot(
    plan: &Plan,
    what: String,
    span: Span,
    (region, alignment): (RegionKind, u64),
    bytes: Option<u64>,
    findings: &mut Findings,
) {
    let why = if span.region != region {
        Some("it belongs in another region")
    } else if bytes.is_none_or(|b| b > span.len.0) {
        Some("it has more bytes than its slot")
    } else if !span.offset.0.is_multiple_of(alignment) {
        Some(misaligned(alignment))
    } else {
        misplaced(plan.region(region), span)
    };
    if let Some(why) = why {
        findings.add(Fault::Slot { what, span, why });
    }
}

fn misaligned(alignment: u64) -> &'static str {
    match alignment {
        SLOT_ALIGNMENT => "a slot begins at a multiple of 256",
        _ => "a param beside another begins at a multiple of 16",
    }
}

/// Reports slots that share bytes.
fn disjoint(mut slots: Vec<(String, Span)>, findings: &mut Findings) {
    slots.retain(|(_, s)| s.len.0 > 0);
    slots.sort_by_key(|(_, s)| (s.region, s.offset));
    let mut open: Option<(String, Span)> = None;
    for (name, span) in slots {
        if let Some((other, before)) = &open
            && before.overlaps(&span)
        {
            findings.add(Fault::Overlap { a: other.clone(), b: name.clone(), span });
        }
        if open.as_ref().is_none_or(|(_, s)| s.region != span.region || s.end() < span.end()) {
            open = Some((name, span));
        }
    }
}

/// Checks where a program's values lie, and that those alive at once are apart.
pub(super) fn check_values(scope: &Scope<'_>, touches: &Touches, findings: &mut Findings) {
    let mut slots: Vec<(&PlanValue, (u32, u32))> = Vec::new();
    for (v, &touched) in scope.program.values.iter().zip(&touches.touched) {
        // A value that nothing touches may have no place.
        if !touched && v.span.len.0 == 0 && v.span.device == DeviceIndex::ONLY {
            continue;
        }
        let what = || format!("value {}", v.name);
        if let Some(why) = value_fault(scope, v) {
            findings.add(Fault::Slot { what: what(), span: v.span, why });
        }
        let temporary = matches!(v.origin, VersionOrigin::Step | VersionOrigin::Carried) && v.span.len.0 > 0;
        if let Some(live) = v.live.filter(|_| temporary && touched) {
            slots.push((v, live));
        }
    }
    apart(scope, slots, findings);
}

fn value_fault(scope: &Scope<'_>, v: &PlanValue) -> Option<&'static str> {
    // Where a param begins is its slot's concern, where a row of the frame does that of `found`.
    let elsewhere = matches!(v.origin, VersionOrigin::Param(_) | VersionOrigin::Found(_));
    let aligned = elsewhere || v.span.offset.0.is_multiple_of(SLOT_ALIGNMENT);
    apart_from_its_slot(scope, v)
        .or_else(|| (!aligned).then_some(misaligned(SLOT_ALIGNMENT)))
        .or_else(|| misplaced(scope.region(v.span.region), v.span))
}

/// Why a value is not where its origin says, if it is not.
fn apart_from_its_slot(scope: &Scope<'_>, v: &PlanValue) -> Option<&'static str> {
    use VersionOrigin as O;
    let plan = scope.plan;
    let same = |span: Option<Span>| (span != Some(v.span)).then_some("it is not where its slot is");
    let front = |span: Option<Span>| {
        let inside = span.is_some_and(|s| s.contains(&v.span) && s.offset == v.span.offset);
        (!inside).then_some("it is not the front of its slot")
    };
    let region =
        |kinds: &[RegionKind]| (!kinds.contains(&v.span.region)).then_some("it belongs in another region");
    match v.origin {
        O::Param(_) | O::Joined(_) | O::Constant(_) => same(own_slot(plan, v.origin)),
        O::StateBefore(_) | O::StateAfter(_) | O::StateCarried(_) => same(own_slot(plan, v.origin)),
        O::Input(i) => foreign(scope, i).or_else(|| front(own_slot(plan, v.origin))),
        O::Derived => region(&[RegionKind::Weights]),
        O::Frame => region(&[RegionKind::Frame]).or_else(|| behind_the_words(scope, v.span)),
        O::Status => region(&[RegionKind::Status]),
        O::Step => region(&[RegionKind::Scratch, RegionKind::IoIn, RegionKind::IoOut]),
        O::Carried => region(&[RegionKind::Scratch]),
        O::Next(_) | O::Left(_) => match scope.program.state_of(v.origin) {
            Some(state) => same(own_slot(plan, O::StateCarried(state))),
            None => region(&[RegionKind::Scratch]),
        },
        // `found` knows the run, and so where its rows are.
        O::Found(_) => region(&[RegionKind::Frame]),
    }
}

/// Why a program may not read an input, if it may not: nobody gives a run the inputs of another entry.
fn foreign(scope: &Scope<'_>, input: u32) -> Option<&'static str> {
    let entry = scope.run.and_then(|run| scope.plan.entry_of(run));
    let own = entry.is_some_and(|entry| entry.inputs.contains(&input));
    (!own).then_some("it is an input of another entry")
}

/// Why a value does not end with the words that the host writes, if it does not. A frame without any has room for one.
fn behind_the_words(scope: &Scope<'_>, span: Span) -> Option<&'static str> {
    let words = scope.run.map_or(0, |run| 4 * run.frame.len_words());
    (span.end().0 > words.max(4)).then_some("it ends behind the words of the frame")
}

/// The slot of the interface that holds a value; nothing for what has none, or where the plan has no such slot.
fn own_slot(plan: &Plan, origin: VersionOrigin) -> Option<Span> {
    use VersionOrigin as O;
    let at = |i: u32| i as usize;
    match origin {
        O::Param(i) => plan.params.get(at(i)).map(|p| p.span),
        O::Joined(i) => plan.joined.get(at(i)).map(|j| j.span),
        O::Constant(i) => plan.constants.get(at(i)).map(|c| c.span),
        O::StateBefore(i) | O::StateAfter(i) | O::StateCarried(i) => plan.states.get(at(i)).map(|s| s.span),
        O::Input(i) => plan.inputs.get(at(i)).map(|s| s.span),
        O::Derived | O::Frame | O::Status | O::Step | O::Found(_) => None,
        O::Carried | O::Next(_) | O::Left(_) => None,
    }
}

/// Reports temporary values that share bytes while both live; with `Bump`, that share bytes at all. One may begin where
/// another ends, in the same place: who reads and writes there is looked at by `hazards` and `versions`.
fn apart(scope: &Scope<'_>, mut slots: Vec<(&PlanValue, (u32, u32))>, findings: &mut Findings) {
    slots.sort_by_key(|(v, _)| (v.span.region, v.span.offset));
    let bump = scope.plan.placement == Placement::Bump;
    let mut open = Open::default();
    for (i, &(v, live)) in slots.iter().enumerate() {
        open.close_before(v);
        let follows = |other: usize| {
            let (before, lived) = slots[other];
            before.span == v.span && (lived.1 == live.0 || live.1 == lived.0)
        };
        for other in open.meeting(live, bump).into_iter().filter(|&other| bump || !follows(other)) {
            let (a, b) = (format!("value {}", slots[other].0.name), format!("value {}", v.name));
            findings.add(Fault::Overlap { a, b, span: v.span });
        }
        open.add(i, v, live);
    }
}

/// Values with bytes at the place that the sweep has come to.
#[derive(Default)]
struct Open {
    region: Option<RegionKind>,
    /// First level and number, with the last level. In a sound plan no two lives meet.
    by_first: BTreeMap<(u32, usize), u32>,
    by_end: BinaryHeap<Reverse<(Bytes, (u32, usize))>>,
}

impl Open {
    /// Forgets those that end where a value begins, or before.
    fn close_before(&mut self, v: &PlanValue) {
        if self.region != Some(v.span.region) {
            *self = Open { region: Some(v.span.region), ..Open::default() };
        }
        while let Some(&Reverse((end, key))) = self.by_end.peek()
            && end <= v.span.offset
        {
            self.by_end.pop();
            self.by_first.remove(&key);
        }
    }

    /// Those whose lives meet `live`, or all of them. Of lives that met before, which is reported, some may be passed
    /// over.
    fn meeting(&self, live: (u32, u32), all: bool) -> Vec<usize> {
        if all {
            return self.by_first.keys().map(|key| key.1).collect();
        }
        let mut meeting = Vec::new();
        for (key, last) in self.by_first.range(..=(live.1, usize::MAX)).rev() {
            if key.0 >= live.0 || *last >= live.0 {
                meeting.push(key.1);
            }
            if key.0 < live.0 {
                break;
            }
        }
        meeting
    }

    fn add(&mut self, i: usize, v: &PlanValue, live: (u32, u32)) {
        self.by_first.insert((live.0, i), live.1);
        self.by_end.push(Reverse((v.span.end(), (live.0, i))));
    }
}
