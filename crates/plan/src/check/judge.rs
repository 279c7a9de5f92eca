//! Whether a small plan is right, by brute force: byte by byte, over all pairs of uses. It decides which mutants of
//! [`mutate`](super::mutate) are wrong, so that the checker is not its own judge: it shares no code with it.
//!
//! In: a plan with sound indices (a mutant of a checked one) whose regions are small. Out: the first thing that goes
//! wrong. Slow; for tests alone.
//!
//! Wrong is: bytes outside a region or across chunks; an operand or slot that is not aligned; bytes that a kernel or a
//! meaning touches and no use declares; two conflicting uses that nothing orders, where order follows from chains of
//! barriers between stages; a byte that is read and does not hold the value expected; an output or state that does
//! not hold its value. Views are enumerated element by element where the symbols are smallest and largest.

use crate::frame::FrameSlot;
use crate::kernel::{ArgValue, HoleInput, KernelCall, OperandAccess};
use crate::plan::{ContentOrigin, Level, Plan, Program, Run, Segment};
use crate::region::{RegionKind, Span};
use crate::step::{Access, ContentId, Grid, Step, StepKind, Use, View};
use crate::stream::Stream;
use pumice_types::tensor::byte_count;
use pumice_types::{Bindings, DType, DimExpr, ScalarId, SymbolId};

/// `Err` says what goes wrong.
pub fn brute_force(plan: &Plan) -> Result<(), String> {
    let mut load = Bytes::new(plan);
    one_program(plan, &plan.load, None, &mut load).map_err(|e| format!("load: {e}"))?;
    let mut left = vec![(&plan.load, load)];
    for stream in &plan.streams {
        let alone = alone(plan, stream);
        let mut bytes = Bytes::new(&alone);
        one_program(&alone, &alone.load, None, &mut bytes)
            .map_err(|e| format!("stream of {}: {e}", stream.param))?;
        left.push((&stream.program, bytes));
    }
    for (i, run) in plan.runs.iter().enumerate() {
        let mut bytes = Bytes::new(plan);
        left.iter_mut().for_each(|(program, there)| inherit(program, there, run, &mut bytes));
        one_program(plan, &run.program, Some(run), &mut bytes).map_err(|e| format!("run {i}: {e}"))?;
    }
    Ok(())
}

/// A plan of which a stream is the load program, and all there is.
fn alone(plan: &Plan, stream: &Stream) -> Plan {
    let regions = plan.regions.iter().map(|r| if r.kind == RegionKind::Scratch { &stream.room } else { r });
    Plan {
        regions: regions.cloned().collect(),
        load: stream.program.clone(),
        streams: Vec::new(),
        runs: Vec::new(),
        ..plan.clone()
    }
}

/// Whether a param is there while a program of the plan runs that is no stream, or while a stream runs alone.
fn is_there(plan: &Plan, param: u32) -> bool {
    plan.streams.iter().all(|s| s.param != param)
}

/// What every byte of every region holds: a content, or nothing.
struct Bytes(Vec<Vec<Option<ContentId>>>);

impl Bytes {
    fn new(plan: &Plan) -> Bytes {
        Bytes(RegionKind::ALL.iter().map(|&k| vec![None; plan.region_size(k).0 as usize]).collect())
    }

    fn at(&mut self, span: Span) -> &mut [Option<ContentId>] {
        let region = RegionKind::ALL.iter().position(|&k| k == span.region).expect("ALL lists every kind");
        let all = &mut self.0[region];
        let start = (span.offset.0 as usize).min(all.len());
        let end = (start + span.len.0 as usize).min(all.len());
        &mut all[start..end]
    }
}

/// The run's derived weights that a program left where the run expects them.
fn inherit(program: &Program, load: &mut Bytes, run: &Run, bytes: &mut Bytes) {
    for (c, v) in run.program.values.iter().enumerate().filter(|(_, v)| v.origin == ContentOrigin::Derived) {
        let there = program.values.iter().enumerate().any(|(l, w)| {
            let left = load.at(v.span).iter().all(|b| *b == Some(ContentId(l as u32)));
            w.origin == ContentOrigin::Derived && w.span == v.span && left
        });
        if there {
            bytes.at(v.span).fill(Some(stands_for(&run.program, true, ContentId(c as u32))));
        }
    }
}

fn one_program(plan: &Plan, program: &Program, run: Option<&Run>, bytes: &mut Bytes) -> Result<(), String> {
    for v in program.values.iter().filter(|v| v.span.len.0 > 0) {
        inside(plan, v.span)?;
        if v.span.offset.0 % 256 != 0 {
            return Err(format!("value {} at {}", v.name, v.span));
        }
    }
    for (s, step) in program.steps.iter().enumerate() {
        declared(plan, run, step).map_err(|e| format!("s{s}: {e}"))?;
    }
    structure(program)?;
    ordered(program)?;
    for bindings in corners(plan, run) {
        let mut memory = Bytes(bytes.0.clone());
        follow(plan, program, run, &bindings, &mut memory)?;
        if run.is_none() {
            bytes.0 = memory.0;
        }
    }
    Ok(())
}

fn inside(plan: &Plan, span: Span) -> Result<(), String> {
    let mut start = 0;
    for chunk in plan.region(span.region).map_or(&[][..], |r| &r.chunks) {
        if span.offset.0 >= start && span.offset.0 + span.len.0 <= start + chunk.0 {
            return Ok(());
        }
        start += chunk.0;
    }
    Err(format!("{span} is in no chunk"))
}

/// Everything a step really does is declared by its uses.
fn declared(plan: &Plan, run: Option<&Run>, step: &Step) -> Result<(), String> {
    for u in &step.uses {
        inside(plan, u.span)?;
    }
    for i in step.meaning.inputs.iter().map(|i| i.at) {
        let access = step.uses[usize::from(i)].access;
        if access.writes() || access == Access::IndirectRead {
            return Err(format!("the meaning reads use {i}, {access:?}"));
        }
    }
    for &o in &step.meaning.outputs {
        let access = step.uses[usize::from(o)].access;
        if !access.writes() || access == Access::StatusAtomic {
            return Err(format!("the meaning writes use {o}, {access:?}"));
        }
    }
    if let StepKind::Dispatch { call, .. } | StepKind::Advance { call } = &step.kind {
        kernel(step, call)?;
        let words = call.args.iter().filter_map(|a| match a {
            ArgValue::Frame(w) => Some(*w),
            ArgValue::U32(_) => None,
        });
        for w in words {
            frame_use(run, step, Access::ShaderRead, w)?;
        }
    }
    if let StepKind::Dispatch { grid: Grid::Frame { word, .. }, .. } = &step.kind {
        for w in word.0..word.0 + 3 {
            frame_use(run, step, Access::IndirectRead, w)?;
        }
    }
    if let (StepKind::Advance { .. }, Some(run)) = (&step.kind, run)
        && step.uses[0].span.len.0 < 4 * run.frame.len_words()
    {
        return Err("the advance writes more than it says".into());
    }
    match (&step.kind, step.uses.as_slice()) {
        (StepKind::Copy, [a, b]) if a.span.len == b.span.len => Ok(()),
        (StepKind::Copy, _) => Err("a copy of two unequal parts".into()),
        _ => Ok(()),
    }
}

fn kernel(step: &Step, call: &KernelCall) -> Result<(), String> {
    let decl = call.check().map_err(|e| e.to_string())?;
    let mut touches: Vec<(u16, OperandAccess)> = Vec::new();
    for (operand, at) in decl.operands.iter().zip(&call.operands) {
        touches.push((at.0, operand.access));
    }
    for fill in &call.holes {
        for (slot, _) in &fill.stores {
            touches.push((call.slots[usize::from(*slot)].0, OperandAccess::Write));
        }
        for input in &fill.inputs {
            if let HoleInput::Slot(slot) = input {
                touches.push((call.slots[usize::from(*slot)].0, OperandAccess::Read));
            }
        }
    }
    for (at, does) in touches {
        let u = &step.uses[usize::from(at)];
        if !u.span.offset.0.is_multiple_of(16) {
            return Err(format!("operand at {}", u.span));
        }
        let says = match does {
            OperandAccess::Read => u.access == Access::ShaderRead,
            OperandAccess::Write => matches!(u.access, Access::ShaderWrite),
            OperandAccess::ReadWrite => u.access == Access::ShaderWrite,
            OperandAccess::Status => u.access == Access::StatusAtomic,
        };
        if !says {
            return Err(format!("the kernel does {does:?} to use {at}, which says {:?}", u.access));
        }
    }
    Ok(())
}

fn frame_use(run: Option<&Run>, step: &Step, access: Access, word: u32) -> Result<(), String> {
    let exists = run
        .is_some_and(|r| matches!(r.frame.words.get(word as usize), Some(w) if *w != FrameSlot::Temporary));
    let at = 4 * u64::from(word);
    let covers = |u: &Use| {
        let (start, end) = (u.span.offset.0, u.span.offset.0 + u.span.len.0);
        u.span.region == RegionKind::Frame && u.access == access && start <= at && at + 4 <= end
    };
    if exists && step.uses.iter().any(covers) {
        Ok(())
    } else {
        Err(format!("frame word {word} is not declared"))
    }
}

fn structure(program: &Program) -> Result<(), String> {
    for segment in &program.segments {
        let (levels, host) = match segment {
            Segment::Gpu { levels } => (levels.clone(), false),
            Segment::Host { level } => (*level..*level + 1, true),
        };
        for step in levels.flat_map(|l| steps_of(program, &program.levels[l as usize])) {
            if program.steps[step].is_host() != host {
                return Err(format!("s{step} is in a segment of another kind"));
            }
        }
    }
    let advance = program.steps.iter().position(|s| matches!(s.kind, StepKind::Advance { .. }));
    match advance {
        Some(i) if i + 1 != program.steps.len() => Err("the frame advances too early".into()),
        _ => Ok(()),
    }
}

fn steps_of(_: &Program, level: &Level) -> Vec<usize> {
    (level.steps.start as usize..level.steps.end as usize).collect()
}

/// Every pair of uses in conflict is ordered.
fn ordered(program: &Program) -> Result<(), String> {
    let mut place = vec![(0, 0); program.steps.len()]; // Segment and level of every step.
    for (s, segment) in program.segments.iter().enumerate() {
        let levels = match segment {
            Segment::Gpu { levels } => levels.clone(),
            Segment::Host { level } => *level..*level + 1,
        };
        for l in levels {
            for i in steps_of(program, &program.levels[l as usize]) {
                place[i] = (s, l);
            }
        }
    }
    for j in 0..program.steps.len() {
        for i in 0..=j {
            for (a, u) in program.steps[i].uses.iter().enumerate() {
                for (b, v) in program.steps[j].uses.iter().enumerate().filter(|(b, _)| i != j || *b > a) {
                    let clash = u.access.conflicts(v.access) && shares_bytes(u.span, v.span);
                    if clash && !pair_is_ordered(program, (i, u), (j, v), &place) {
                        return Err(format!("s{i} use {a} and s{j} use {b} race on {}", v.span));
                    }
                }
            }
        }
    }
    Ok(())
}

fn shares_bytes(a: Span, b: Span) -> bool {
    let (first, last) = (a.offset.0.max(b.offset.0), (a.offset.0 + a.len.0).min(b.offset.0 + b.len.0));
    a.region == b.region && first < last
}

fn pair_is_ordered(program: &Program, a: (usize, &Use), b: (usize, &Use), place: &[(usize, u32)]) -> bool {
    let ((i, u), (j, v)) = (a, b);
    if i == j {
        // One kernel may read a state where it writes its next version.
        let state = |u: &Use| match program.values[u.content.0 as usize].origin {
            ContentOrigin::StateBefore(s) | ContentOrigin::StateAfter(s) => Some(s),
            _ => None,
        };
        return u.span == v.span
            && u.access.writes() != v.access.writes()
            && state(u).is_some()
            && state(u) == state(v);
    }
    if place[i].0 != place[j].0 {
        return true;
    }
    // Stages that wait for the first use: kernels, grids, transfers.
    let mut waiting = [false; 3];
    for level in place[i].1 + 1..=place[j].1 {
        let Some(barrier) = program.levels[level as usize].barrier else { continue };
        let holds_first = match u.access {
            Access::ShaderWrite | Access::StatusAtomic => barrier.from_shader_write,
            Access::ShaderRead | Access::IndirectRead => {
                barrier.from_shader_write || barrier.from_shader_read
            }
            Access::TransferRead | Access::TransferWrite => barrier.from_transfer,
            Access::HostRead | Access::HostWrite => false,
        };
        let kernels = barrier.from_shader_write || barrier.from_shader_read;
        let holds_waiting = (waiting[0] || waiting[1]) && kernels || waiting[2] && barrier.from_transfer;
        if holds_first || holds_waiting {
            waiting[0] |= barrier.to_shader;
            waiting[1] |= barrier.to_indirect;
            waiting[2] |= barrier.to_transfer;
        }
    }
    match v.access {
        Access::ShaderRead | Access::ShaderWrite | Access::StatusAtomic => waiting[0],
        Access::IndirectRead => waiting[1],
        Access::TransferRead | Access::TransferWrite => waiting[2],
        Access::HostRead | Access::HostWrite => false,
    }
}

/// Bindings where symbols are largest and smallest, scalars at their defaults.
fn corners(plan: &Plan, run: Option<&Run>) -> Vec<Bindings> {
    let Some(run) = run else { return vec![Bindings::new()] };
    let mut all = Vec::new();
    for largest in [true, false] {
        let mut b = Bindings::new();
        for (i, (_, symbol)) in plan.symbols.iter().enumerate() {
            let (lo, hi) = run.ranges[i];
            let of = symbol.multiple_of.max(1);
            b.bind(SymbolId(i as u32), if largest { hi / of * of } else { lo.div_ceil(of) * of });
        }
        for (i, s) in plan.scalars.iter().enumerate().filter(|(_, s)| s.dtype != DType::F32) {
            b.bind_scalar(ScalarId(i as u32), s.default as i64);
        }
        let refused = run.checks.iter().any(|c| c.value.eval(&b).map_or(true, |v| v < c.min || v > c.max));
        if !refused {
            all.push(b);
        }
    }
    all
}

/// The bytes that the elements of a view cover, relative to its span.
fn elements(view: &View, bindings: &Bindings) -> Result<Vec<i64>, String> {
    let eval = |e: &DimExpr| e.eval(bindings).map_err(|e| e.to_string());
    let mut starts = vec![eval(&view.offset)?];
    for (extent, stride) in view.shape.iter().zip(&view.strides) {
        let (extent, stride) = (eval(extent)?, eval(stride)?);
        starts = starts.iter().flat_map(|s| (0..extent).map(move |i| s + i * stride)).collect();
    }
    // A block is touched as a whole, by whichever of its elements.
    let unit = view.storage.unit(view.dtype);
    let (elements, width) = (unit.elements as i64, unit.bytes as i64);
    let mut units: Vec<i64> = starts.iter().map(|s| s.div_euclid(elements)).collect();
    if elements > 1 {
        units.sort_unstable();
        units.dedup();
    }
    Ok(units.iter().flat_map(|s| (0..width).map(move |k| s * width + k)).collect())
}

/// The content whose bytes a content has.
fn stands_for(program: &Program, is_run: bool, id: ContentId) -> ContentId {
    let v = &program.values[id.0 as usize];
    let stored = |o: ContentOrigin| match o {
        ContentOrigin::Param(_) | ContentOrigin::Constant(_) => true,
        ContentOrigin::Derived => is_run,
        _ => false,
    };
    if stored(v.origin) {
        let twin = program.values.iter().position(|w| stored(w.origin) && w.span == v.span);
        return ContentId(twin.unwrap_or(id.0 as usize) as u32);
    }
    let written = program.steps.iter().flat_map(|s| &s.uses).any(|u| u.access.writes() && u.content == id);
    match (v.origin, version_before(program, id)) {
        (ContentOrigin::StateAfter(_), Some(before)) if !written => stands_for(program, is_run, before),
        _ => id,
    }
}

fn version_before(program: &Program, id: ContentId) -> Option<ContentId> {
    let ContentOrigin::StateAfter(state) = program.values[id.0 as usize].origin else { return None };
    let of_state =
        |o: ContentOrigin| o == ContentOrigin::StateBefore(state) || o == ContentOrigin::StateAfter(state);
    let before = (0..id.0 as usize).rev().find(|&i| of_state(program.values[i].origin));
    before.map(|i| ContentId(i as u32))
}

/// Two replays, byte by byte.
fn follow(
    plan: &Plan,
    program: &Program,
    run: Option<&Run>,
    bindings: &Bindings,
    memory: &mut Bytes,
) -> Result<(), String> {
    let is_run = run.is_some();
    let stays = |o: ContentOrigin| match o {
        ContentOrigin::Param(p) => is_there(plan, p),
        ContentOrigin::Joined(_)
        | ContentOrigin::Constant(_)
        | ContentOrigin::Input(_)
        | ContentOrigin::Frame => true,
        ContentOrigin::Derived => is_run,
        ContentOrigin::Status => plan.status_ops.is_empty(),
        _ => false,
    };
    let mut from_outside: Vec<_> =
        program.values.iter().enumerate().filter(|(_, v)| v.origin != ContentOrigin::Derived).collect();
    // Params that lie side by side are each themselves.
    from_outside.sort_by_key(|(_, v)| !matches!(v.origin, ContentOrigin::Joined(_)));
    for (i, v) in from_outside {
        if stays(v.origin) || matches!(v.origin, ContentOrigin::StateBefore(_)) {
            let id = stands_for(program, is_run, ContentId(i as u32));
            memory.at(v.span).fill(Some(id));
        }
    }
    for replay in 0..2 {
        for (i, step) in program.steps.iter().enumerate() {
            one_step(plan, program, is_run, step, bindings, memory)
                .map_err(|e| format!("replay {replay}, s{i}: {e}"))?;
        }
        let Some(run) = run else { continue };
        ends(plan, run, bindings, memory).map_err(|e| format!("replay {replay}: {e}"))?;
        for byte in memory.0.iter_mut().flatten() {
            *byte = byte
                .and_then(|id| next_replay(program, run, id, stays(program.values[id.0 as usize].origin)));
        }
    }
    Ok(())
}

fn next_replay(program: &Program, run: &Run, id: ContentId, stays: bool) -> Option<ContentId> {
    match program.values[id.0 as usize].origin {
        _ if stays => Some(id),
        ContentOrigin::StateBefore(s) | ContentOrigin::StateAfter(s) => {
            let last = stands_for(program, true, *run.states.get(s as usize)?);
            let before = program.values.iter().position(|v| v.origin == ContentOrigin::StateBefore(s))?;
            (last == id).then_some(ContentId(before as u32))
        }
        _ => None,
    }
}

fn one_step(
    plan: &Plan,
    program: &Program,
    is_run: bool,
    step: &Step,
    bindings: &Bindings,
    memory: &mut Bytes,
) -> Result<(), String> {
    let origin_of = |id: ContentId| program.values[id.0 as usize].origin;
    for writes in [false, true] {
        for (i, u) in step.uses.iter().enumerate().filter(|(_, u)| u.access.writes() == writes) {
            let whole =
                matches!(u.access, Access::StatusAtomic | Access::TransferRead | Access::TransferWrite)
                    || step.meaning.graph.text.is_empty();
            // Words of the frame that arguments and grids read were looked at already.
            let spoken = step.meaning.uses().any(|m| usize::from(m) == i);
            let touched: Vec<i64> = match (whole, spoken) {
                (true, _) => (0..u.span.len.0 as i64).collect(),
                (false, true) => elements(&u.view, bindings)?,
                (false, false) => continue,
            };
            if touched.iter().any(|&b| b < 0 || b >= u.span.len.0 as i64) {
                return Err(format!("use {i} leaves {}", u.span));
            }
            let bytes = memory.at(u.span);
            let expected = stands_for(program, is_run, u.content);
            if !writes || u.access == Access::StatusAtomic {
                let is_part = |held: ContentId| match (origin_of(expected), origin_of(held)) {
                    (ContentOrigin::Joined(set), ContentOrigin::Param(p)) => {
                        plan.joined[set as usize].params.contains(&p)
                    }
                    _ => false,
                };
                let good = |held: Option<ContentId>| held.is_some_and(|h| h == expected || is_part(h));
                if let Some(&b) = touched.iter().find(|&&b| !good(bytes[b as usize])) {
                    return Err(format!(
                        "use {i} wants {:?} at byte {b}, finds {:?}",
                        expected, bytes[b as usize]
                    ));
                }
                continue;
            }
            let origin = origin_of(u.content);
            if from_outside(origin, is_run, step) {
                return Err(format!("use {i} overwrites {origin:?}"));
            }
            if let Some(before) = version_before(program, u.content) {
                let before = stands_for(program, is_run, before);
                if bytes.iter().any(|b| *b != Some(before) && *b != Some(u.content)) {
                    return Err(format!("use {i} writes a state over something else"));
                }
                bytes.fill(Some(u.content));
            }
            touched.iter().for_each(|&b| bytes[b as usize] = Some(u.content));
        }
    }
    Ok(())
}

/// Whether a step may not write a content: it is there before the program begins.
fn from_outside(origin: ContentOrigin, is_run: bool, step: &Step) -> bool {
    match origin {
        ContentOrigin::Param(_) | ContentOrigin::Joined(_) | ContentOrigin::Constant(_) => true,
        ContentOrigin::Input(_) | ContentOrigin::StateBefore(_) => true,
        ContentOrigin::Derived => is_run,
        ContentOrigin::Frame => !matches!(step.kind, StepKind::Advance { .. }),
        _ => false,
    }
}

fn ends(plan: &Plan, run: &Run, bindings: &Bindings, memory: &mut Bytes) -> Result<(), String> {
    for (slot, &id) in plan.outputs.iter().zip(&run.outputs) {
        let extents: Result<Vec<u64>, _> = slot.shape.iter().map(|d| d.eval_extent(bindings)).collect();
        let bytes =
            byte_count(slot.dtype, &extents.map_err(|e| e.to_string())?).map_err(|e| e.to_string())?;
        let there = memory.at(slot.span);
        if bytes as usize > there.len() || there[..bytes as usize].iter().any(|b| *b != Some(id)) {
            return Err(format!("output {} is not there", slot.name));
        }
    }
    for (slot, &id) in plan.states.iter().zip(&run.states) {
        let id = stands_for(&run.program, true, id);
        if memory.at(slot.span).iter().any(|b| *b != Some(id)) {
            return Err(format!("state {} is not there", slot.name));
        }
    }
    Ok(())
}
