//! Plans as text for people: what runs, where, and why. Printed, compared in golden files, never parsed.
//!
//! [`Plan`]'s `Display` is everything; [`summary`] is one screen.

use crate::frame::{FrameSlot, FrameWord};
use crate::hist::{Histogram, run_label};
use crate::plan::{Again, Plan, Program, Run, Segment, StateInit, Stats, VersionOrigin};
use crate::region::RegionKind;
use crate::step::{Grid, Step, StepId, StepKind, Use};
use crate::stream::Residence;
use pumice_types::{Branch, DimExpr, SymbolId, Var, When};
use std::fmt::{self, Write};

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        header(f, self)?;
        regions(f, self)?;
        slots(f, self)?;
        if !self.load.steps.is_empty() {
            writeln!(f, "load")?;
            program(f, self, &self.load)?;
        }
        for s in &self.streams {
            let name = self.params.get(s.param as usize).map_or("?", |p| p.name.as_str());
            writeln!(f, "stream of {name}  room {}", s.room.size())?;
            program(f, self, &s.program)?;
        }
        for (i, run) in self.runs.iter().enumerate() {
            writeln!(f, "run {i}  {}", run_label(self, run))?;
            frame(f, self, run)?;
            checks(f, self, run)?;
            program(f, self, &run.program)?;
            stats(f, self, run)?;
        }
        Ok(())
    }
}

/// What a plan is, on one screen: regions, one line per run, the kernels of the longest run.
pub fn summary(plan: &Plan) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = write_summary(&mut out, plan);
    out
}

fn write_summary(f: &mut dyn Write, plan: &Plan) -> fmt::Result {
    header(f, plan)?;
    regions(f, plan)?;
    for run in &plan.runs {
        let s = &run.stats;
        write!(f, "{}  steps {}  levels {}", run_label(plan, run), s.steps, s.levels)?;
        write!(f, "  barriers {}  segments {}", s.barriers, segments(&run.program))?;
        write!(f, "  scratch {} (ratio {:.2})", s.scratch, s.scratch_ratio())?;
        writeln!(f, "  floor {:.0} us{}", s.floor.total_us, per_layer(run).unwrap_or_default())?;
    }
    let longest = plan.runs.iter().max_by_key(|r| r.program.steps.len());
    let Some(run) = longest else { return Ok(()) };
    let histogram = Histogram::of(run_label(plan, run), &run.program, &run.symbols_of(&plan.symbols));
    writeln!(f, "kernels of {}", histogram.range)?;
    for k in histogram.kernels.iter().take(12) {
        writeln!(f, "{:>6}  {:>10}  {}", k.steps, k.bytes.to_string(), k.label)?;
    }
    let rest = histogram.kernels.iter().skip(12).map(|k| k.steps).sum::<u64>();
    if rest > 0 { writeln!(f, "{rest:>6}  {:>10}  others", "") } else { Ok(()) }
}

fn segments(program: &Program) -> String {
    let host = program.segments.iter().filter(|s| matches!(s, Segment::Host { .. })).count();
    match host {
        0 => program.segments.len().to_string(),
        _ => format!("{} ({host} on the host)", program.segments.len()),
    }
}

fn header(f: &mut dyn Write, plan: &Plan) -> fmt::Result {
    let lower = |text: String| text.to_lowercase();
    write!(f, "plan {}  target {}", plan.name, plan.target.name)?;
    let placement = lower(format!("{:?}", plan.placement));
    write!(f, "  precision {}  placement {placement}", plan.precision)?;
    match plan.table.hash.is_empty() {
        true => writeln!(f)?,
        false => writeln!(f, "  table {}", plan.table)?,
    }
    writeln!(f, "figures  {}", plan.target.tuning)?;
    if !plan.symbols.is_empty() {
        let all: Vec<String> = plan.symbols.iter().map(|(_, s)| s.to_string()).collect();
        writeln!(f, "symbols  {}", all.join("  "))?;
    }
    for s in &plan.scalars {
        write!(f, "scalar {}  {}  {}..={}  default {}", s.name, s.dtype, s.min, s.max, s.default)?;
        match &s.advance {
            Some(by) => writeln!(f, "  advances by {}", expr(plan, by))?,
            None => writeln!(f)?,
        }
    }
    Ok(())
}

fn regions(f: &mut dyn Write, plan: &Plan) -> fmt::Result {
    writeln!(f, "regions")?;
    for r in &plan.regions {
        let mut holds = held_in(plan, r.kind);
        if r.chunks.len() > 1 {
            holds.push(format!("{} chunks", r.chunks.len()));
        }
        let line = format!("  {:<8}{:>12}  {}", r.kind.name(), r.size().to_string(), holds.join(", "));
        writeln!(f, "{}", line.trim_end())?;
    }
    Ok(())
}

/// How much of what a region holds.
fn held_in(plan: &Plan, region: RegionKind) -> Vec<String> {
    let one = |count: usize, what: &'static str| vec![(count, what)];
    let counts = match region {
        RegionKind::Weights => {
            let values = plan.load_programs().flat_map(|p| &p.values);
            let derived = values.filter(|v| v.origin == VersionOrigin::Derived).count();
            let kept = plan.params.iter().filter(|p| p.residence() == Residence::Kept).count();
            vec![(kept, "param"), (plan.constants.len(), "constant"), (derived, "derived weight")]
        }
        RegionKind::States => one(plan.states.len(), "state"),
        RegionKind::Scratch => Vec::new(),
        RegionKind::IoIn => one(plan.inputs.len(), "input"),
        RegionKind::IoOut => one(plan.outputs.len(), "output"),
        RegionKind::Frame => one(plan.scalars.len(), "scalar"),
        RegionKind::Status => one(plan.status_ops.len(), "reporting op"),
    };
    let some = counts.into_iter().filter(|(count, _)| *count > 0);
    some.map(|(count, what)| format!("{count} {what}{}", if count == 1 { "" } else { "s" })).collect()
}

fn slots(f: &mut dyn Write, plan: &Plan) -> fmt::Result {
    weights(f, plan)?;
    for s in &plan.states {
        let init = match &s.init {
            StateInit::Zeros => "zeros".to_owned(),
            StateInit::Param(p) => plan.params.get(*p as usize).map_or("?", |p| &p.name).to_owned(),
            StateInit::Data(_) => "data".to_owned(),
            StateInit::Given => "what is given".to_owned(),
        };
        writeln!(f, "state {}  {}{:?}  {}  begins as {init}", s.name, s.dtype, s.shape, s.span)?;
    }
    for entry in &plan.entries {
        if plan.entries.len() > 1 {
            writeln!(f, "entry {}", entry.name)?;
        }
        for (what, list) in [("input", plan.inputs_of(entry)), ("output", plan.outputs_of(entry))] {
            for s in list {
                writeln!(f, "{what} {}  {}[{}]  {}", s.name, s.dtype, shape(plan, &s.shape), s.span)?;
            }
        }
    }
    Ok(())
}

fn weights(f: &mut dyn Write, plan: &Plan) -> fmt::Result {
    for p in &plan.params {
        write!(f, "param {}  {}{:?}  {}", p.name, p.encoding, p.shape, p.span)?;
        match p.residence() {
            Residence::Kept => writeln!(f)?,
            streamed => writeln!(f, "  {streamed}")?,
        }
    }
    for j in &plan.joined {
        let name = |i: &u32| plan.params.get(*i as usize).map_or("?", |p| p.name.as_str());
        let names: Vec<&str> = j.params.iter().map(name).collect();
        writeln!(f, "joined {}  {}", names.join(" "), j.span)?;
    }
    for (i, c) in plan.constants.iter().enumerate() {
        writeln!(f, "constant {i}  {}{:?}  {}", c.data.dtype(), c.data.shape(), c.span)?;
    }
    Ok(())
}

fn shape(plan: &Plan, dims: &[DimExpr]) -> String {
    dims.iter().map(|d| expr(plan, d)).collect::<Vec<_>>().join(", ")
}

fn expr(plan: &Plan, e: &DimExpr) -> String {
    e.display(&|v| match v {
        Var::Symbol(id) => plan.symbols.get(id).map_or_else(|| format!("?{}", id.0), |s| s.name.clone()),
        Var::Scalar(id) => {
            plan.scalars.get(id.0 as usize).map_or_else(|| format!("$?{}", id.0), |s| format!("${}", s.name))
        }
    })
}

/// The choices that must have been taken, the outermost first: `large and not empty`; `always` where there is none.
pub(crate) fn branches(plan: &Plan, when: &When) -> String {
    let one = |b: &Branch| format!("{}{}", if b.otherwise { "not " } else { "" }, expr(plan, &b.taken));
    let all: Vec<String> = when.branches().iter().map(one).collect();
    if all.is_empty() { "always".to_owned() } else { all.join(" and ") }
}

/// How often a loop is replayed: `at most 7 turns while running`, `n turns, at most 7`.
pub(crate) fn turns_of(plan: &Plan, turns: u32, running: SymbolId, count: Option<&DimExpr>) -> String {
    match count {
        Some(count) => format!("{} turns, at most {turns}", expr(plan, count)),
        None => format!("at most {turns} turns while {}", expr(plan, &DimExpr::symbol(running))),
    }
}

fn frame(f: &mut dyn Write, plan: &Plan, run: &Run) -> fmt::Result {
    if run.frame.words.is_empty() {
        return Ok(());
    }
    let words = run.frame.words.iter().enumerate().map(|(i, w)| match w {
        FrameSlot::Bound(id) => format!("{i}:{}", expr(plan, &DimExpr::symbol(*id))),
        FrameSlot::Scalar(id) => format!("{i}:{}", expr(plan, &DimExpr::scalar(*id))),
        FrameSlot::Expr(e) => format!("{i}:{}", expr(plan, e)),
        FrameSlot::Temporary => format!("{i}:_"),
        FrameSlot::Stopped => format!("{i}:stopped"),
        FrameSlot::Replays => format!("{i}:replays"),
    });
    write!(f, "frame  {}", words.collect::<Vec<_>>().join("  "))?;
    match run.frame.advance.len() {
        0 => writeln!(f),
        n => writeln!(f, "  advance of {n} instructions"),
    }
}

/// What must hold before each run.
fn checks(f: &mut dyn Write, plan: &Plan, run: &Run) -> fmt::Result {
    for check in &run.checks {
        let condition = match (check.sides.as_deref(), check.max) {
            (Some([left, right]), 0) => format!("{} = {}", expr(plan, left), expr(plan, right)),
            (Some([left, right]), _) => format!("{} <= {}", expr(plan, left), expr(plan, right)),
            (None, i64::MAX) => format!("{} <= {}", check.min, expr(plan, &check.value)),
            (None, max) => format!("{} <= {} <= {max}", check.min, expr(plan, &check.value)),
        };
        writeln!(f, "check  {condition}  ({})", check.what)?;
    }
    Ok(())
}

fn program(f: &mut dyn Write, plan: &Plan, program: &Program) -> fmt::Result {
    for (s, segment) in program.segments.iter().enumerate() {
        let (levels, border) = match segment {
            Segment::Gpu { levels } => (levels.clone(), format!("segment {s}")),
            Segment::Repeat { levels, turns, running, count } => {
                (levels.clone(), format!("segment {s}, {}", turns_of(plan, *turns, *running, count.as_ref())))
            }
            Segment::Host { level } => (*level..level.saturating_add(1), format!("segment {s} host")),
        };
        for i in levels.clone() {
            let Some(level) = program.levels.get(i as usize) else { continue };
            let n = level.steps.len();
            write!(f, "level {i}  {n} step{}", if n == 1 { "" } else { "s" })?;
            if i == levels.start {
                write!(f, "  {border}")?;
            }
            match (level.barrier, level.reason) {
                (Some(_), Some(r)) => {
                    write!(f, "  1 barrier before ({} {}+{:#x})", r.kind, r.span.region, r.span.offset.0)?
                }
                (Some(_), None) => write!(f, "  1 barrier before")?,
                (None, _) => {}
            }
            writeln!(f)?;
            for (id, step) in program.steps_of(level) {
                self::step(f, plan, program, (id, step))?;
            }
        }
    }
    Ok(())
}

fn step(f: &mut dyn Write, plan: &Plan, program: &Program, (id, step): (StepId, &Step)) -> fmt::Result {
    write!(f, "  {id}  {}", step.label())?;
    let (reads, writes) = (used(program, step, false), used(program, step, true));
    for (mark, text) in [("   ", reads), (" -> ", writes)].iter().filter(|(_, t)| !t.is_empty()) {
        write!(f, "{mark}{text}")?;
    }
    match &step.kind {
        StepKind::Dispatch { grid: Grid::Static([x, y, z]), .. } => write!(f, "   grid {x}x{y}x{z}")?,
        StepKind::Dispatch { grid: Grid::Frame { word: FrameWord(w), .. }, .. } => {
            write!(f, "   grid frame[{w}]")?
        }
        _ => {}
    }
    if step.meaning.status.is_some() {
        f.write_str("  reports")?;
    }
    if !step.when.is_always() {
        write!(f, "  when {}", branches(plan, &step.when))?;
    }
    write!(f, "  origin {}", step.origin)?;
    match step.reason.as_str() {
        "" => writeln!(f),
        why => writeln!(f, "  because {why}"),
    }
}

/// What a step reads, or writes. Frame and status are in many steps; the rest is what it computes on.
fn used(program: &Program, step: &Step, writes: bool) -> String {
    let show = |u: &Use| {
        let name = program.value(u.content).map_or("?", |v| &*v.name);
        format!("{name}@{}", u.span)
    };
    let plain = |u: &&Use| !matches!(u.span.region, RegionKind::Frame | RegionKind::Status);
    let uses = step.uses.iter().filter(|u| u.access.writes() == writes).filter(plain);
    uses.map(show).collect::<Vec<_>>().join("  ")
}

fn stats(f: &mut dyn Write, plan: &Plan, run: &Run) -> fmt::Result {
    let s: &Stats = &run.stats;
    write!(f, "stats  steps {}  levels {}  barriers {}", s.steps, s.levels, s.barriers)?;
    write!(
        f,
        "  scratch {} (lower bound {}, ratio {:.2})",
        s.scratch,
        s.scratch_lower_bound,
        s.scratch_ratio()
    )?;
    if s.scratch_earliest > s.scratch_lower_bound {
        write!(f, "  earliest {}", s.scratch_earliest)?;
    }
    write!(f, "  weights {}", plan.region_size(RegionKind::Weights))?;
    let p = &s.floor;
    write!(
        f,
        "  floor {:.0} us (levels {:.0}, bytes {:.0}, flops {:.0})",
        p.total_us, p.levels_us, p.bytes_us, p.flops_us
    )?;
    writeln!(f, "{}", per_layer(run).unwrap_or_default())?;
    if let Some(again) = &s.again {
        let Again { steps, scratch, floor_us } = again;
        let price = 100.0 * (p.total_us - floor_us) / floor_us.max(f64::MIN_POSITIVE);
        writeln!(
            f,
            "again  {steps} steps more, so that scratch is {} instead of {scratch}; {price:.1} % more time",
            s.scratch
        )?;
    }
    if s.layers.is_empty() {
        return Ok(());
    }
    let each: Vec<String> = s.layers.iter().map(|(name, levels)| format!("{name} {levels}")).collect();
    writeln!(f, "layers  {}", each.join("  "))
}

/// Levels that hold a step of a layer, over the number of layers.
pub fn levels_per_layer(run: &Run) -> Option<f64> {
    let layers = &run.stats.layers;
    let in_layer = |origin: &str| {
        layers
            .iter()
            .any(|(name, _)| origin.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with('.')))
    };
    let inside = |l: &&crate::plan::Level| run.program.steps_of(l).any(|(_, s)| in_layer(&s.origin));
    let levels = run.program.levels.iter().filter(inside).count();
    (!layers.is_empty()).then(|| levels as f64 / layers.len() as f64)
}

fn per_layer(run: &Run) -> Option<String> {
    levels_per_layer(run).map(|l| format!("  levels per layer {l:.2}"))
}
