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

mod declared;
mod order;
mod versions;

use self::declared::declared;
use self::order::{ordered, structure};
use self::versions::{follow, stands_for};
use crate::plan::{Plan, Program, Run, VersionOrigin};
use crate::region::{RegionKind, Span};
use crate::step::VersionId;
use crate::stream::Stream;
use pumice_types::{Bindings, DType, ScalarId, SymbolId};

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

/// What every byte of every region holds: a version, or nothing.
struct Bytes(Vec<Vec<Option<VersionId>>>);

impl Bytes {
    fn new(plan: &Plan) -> Bytes {
        Bytes(RegionKind::ALL.iter().map(|&k| vec![None; plan.region_size(k).0 as usize]).collect())
    }

    fn at(&mut self, span: Span) -> &mut [Option<VersionId>] {
        let region = RegionKind::ALL.iter().position(|&k| k == span.region).expect("ALL lists every kind");
        let all = &mut self.0[region];
        let start = (span.offset.0 as usize).min(all.len());
        let end = (start + span.len.0 as usize).min(all.len());
        &mut all[start..end]
    }
}

/// The run's derived weights that a program left where the run expects them.
fn inherit(program: &Program, load: &mut Bytes, run: &Run, bytes: &mut Bytes) {
    for (c, v) in run.program.values.iter().enumerate().filter(|(_, v)| v.origin == VersionOrigin::Derived) {
        let there = program.values.iter().enumerate().any(|(l, w)| {
            let left = load.at(v.span).iter().all(|b| *b == Some(VersionId(l as u32)));
            w.origin == VersionOrigin::Derived && w.span == v.span && left
        });
        if there {
            bytes.at(v.span).fill(Some(stands_for(&run.program, true, VersionId(c as u32))));
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
