//! The plan the suite works on: everything a plan can have, in little.

use crate::sketch::*;
use pumice_plan::*;
use pumice_types::{DType, DimExpr, ScalarId, Symbol};

/// y = gather(w, index) + d and s' = s + d, where d = host(c)[0] + c[0], c = a + b, a = x + derived(w), b = x +
/// derived(t), where t is streamed; for x of 4 n elements, n in 1..=4. A position advances. Bytes of a and b are used
/// again.
pub fn everything() -> Plan {
    let mut k = Sketch::new();
    let symbol =
        k.plan.symbols.push(Symbol { name: "n".into(), min: 1, max: 4, multiple_of: 1, found: false });
    let shape = [DimExpr::symbol(symbol) * n(4)];
    let whole = [n(16)];
    k.plan.scalars.push(ScalarSlot {
        name: "pos".into(),
        dtype: DType::I32,
        min: 0.0,
        max: 100.0,
        default: 0.0,
        advance: Some(n(1)),
    });
    let w = k.alloc(RegionKind::Weights, &whole);
    k.plan.params.push(ParamSlot { name: "w".into(), encoding: DType::F32.into(), shape: vec![16], span: w });
    let derived = k.alloc(RegionKind::Weights, &whole);
    let passed = k.alloc(RegionKind::Weights, &whole);
    let s = k.alloc(RegionKind::States, &whole);
    let state = StateSlot {
        name: "s".into(),
        dtype: DType::F32,
        shape: vec![16],
        capacity_axis: None,
        init: StateInit::Zeros,
        span: s,
    };
    k.plan.states.push(state);
    let x = k.alloc(RegionKind::IoIn, &shape);
    let index = k.alloc(RegionKind::IoIn, &whole);
    let io = |name: &str, dtype, shape: &[DimExpr], span| IoSlot {
        name: name.into(),
        dtype,
        shape: shape.into(),
        span,
    };
    k.plan.inputs.push(io("x", DType::F32, &shape, x));
    k.plan.inputs.push(io("index", DType::I32, &whole, index));
    let y = k.alloc(RegionKind::IoOut, &whole);
    k.plan.outputs.push(io("y", DType::F32, &whole, y));
    k.plan.status_ops.push("gather".into());
    load(&mut k, w, derived);
    stream(&mut k, passed);
    run(&mut k, &shape, [w, derived, passed, s, x, index, y]);
    k.finish()
}

fn load(k: &mut Sketch, w: Span, derived: Span) {
    let whole = [n(16)];
    let mut p = Program::default();
    let w = Sketch::value(&mut p, "w", VersionOrigin::Param(0), w, DType::F32, &whole);
    let d = Sketch::value(&mut p, "wd", VersionOrigin::Derived, derived, DType::F32, &whole);
    sum(&mut p, &[&w], &d, None);
    level(&mut p);
    k.plan.load = p;
}

/// derived = (t + t) + t, in scratch of two slots.
fn stream(k: &mut Sketch, derived: Span) {
    let whole = [n(16)];
    let at = |offset: u64| Span::new(RegionKind::Scratch, offset.into_bytes(), 64u64.into_bytes());
    let mut p = Program::default();
    let t = Sketch::value(&mut p, "t", VersionOrigin::Param(1), at(256), DType::F32, &whole);
    let twice = Sketch::value(&mut p, "twice", VersionOrigin::Step, at(0), DType::F32, &whole);
    let d = Sketch::value(&mut p, "td", VersionOrigin::Derived, derived, DType::F32, &whole);
    sum(&mut p, &[&t, &t], &twice, None);
    level(&mut p);
    sum(&mut p, &[&twice, &t], &d, None);
    level(&mut p);
    let slot = ParamSlot { name: "t".into(), encoding: DType::F32.into(), shape: vec![16], span: t.span };
    k.plan.params.push(slot);
    let room = Region { kind: RegionKind::Scratch, chunks: vec![512u64.into_bytes()] };
    k.plan.streams.push(Stream { param: 1, program: p, room });
}

fn run(k: &mut Sketch, shape: &[DimExpr], [w, derived, passed, s, x, index, y]: [Span; 7]) {
    use VersionOrigin as O;
    let whole = [n(16)];
    let (f32, p) = (DType::F32, &mut Program::default());
    let mut frame = FrameBuilder::new();
    let count = frame.intern(FrameSlot::Expr(shape[0].clone())).0;
    let grid = frame.intern_grid([shape[0].ceil_div(&n(1024)), n(1), n(1)]).0;
    let pos = frame.intern(FrameSlot::Scalar(ScalarId(0)));
    let one = frame.own(FrameSlot::Temporary);
    frame.advance(vec![
        AdvanceOp { op: AdvanceKind::Const, dst: one, a: 1, b: 0 },
        AdvanceOp { op: AdvanceKind::Add, dst: pos, a: pos.0, b: one.0 },
    ]);
    let frame = frame.build();
    let words = Span::new(RegionKind::Frame, 0u64.into_bytes(), (4 * frame.len_words()).into_bytes());
    let bytes = 4 * pumice_plan::kernel::status::block_words(1);
    let block = Span::new(RegionKind::Status, 0u64.into_bytes(), bytes.into_bytes());
    let fr = Sketch::value(p, "frame", O::Frame, words, DType::U32, &[]);
    let st = Sketch::value(p, "status", O::Status, block, DType::U32, &[n(1)]);
    let w = Sketch::value(p, "w", O::Param(0), w, f32, &whole);
    let wd = Sketch::value(p, "wd", O::Derived, derived, f32, &whole);
    let td = Sketch::value(p, "td", O::Derived, passed, f32, &whole);
    let s0 = Sketch::value(p, "s", O::StateBefore(0), s, f32, &whole);
    let s1 = Sketch::value(p, "s'", O::StateAfter(0), s, f32, &whole);
    let x = Sketch::value(p, "x", O::Input(0), x, f32, shape);
    let index = Sketch::value(p, "index", O::Input(1), index, DType::I32, &whole);
    let (ra, rb, rc) = (
        k.alloc(RegionKind::Scratch, shape),
        k.alloc(RegionKind::Scratch, shape),
        k.alloc(RegionKind::Scratch, shape),
    );
    let (ro, ri) = (k.alloc(RegionKind::IoOut, shape), k.alloc(RegionKind::IoIn, shape));
    let a = Sketch::value(p, "a", O::Step, ra, f32, shape);
    let b = Sketch::value(p, "b", O::Step, rb, f32, shape);
    let c = Sketch::value(p, "c", O::Step, rc, f32, shape);
    let sent = Sketch::value(p, "sent", O::Step, ro, f32, shape);
    let back = Sketch::value(p, "back", O::Step, ri, f32, shape);
    let d = Sketch::value(p, "d", O::Step, ra, f32, &whole);
    let e = Sketch::value(p, "e", O::Step, rb, f32, &whole);
    let y = Sketch::value(p, "y", O::Step, y, f32, &whole);
    let dynamic = Some((count, grid, &fr));
    begin(p, &st);
    let part =
        |at: &At, shape: &[DimExpr]| At { view: View::dense(f32, Storage::Natural, shape), ..at.clone() };
    sum(p, &[&x, &part(&wd, shape)], &a, dynamic);
    sum(p, &[&x, &part(&td, shape)], &b, dynamic);
    level(p);
    sum(p, &[&a, &b], &c, dynamic);
    level(p);
    sum(p, &[&c], &sent, dynamic);
    level(p);
    host(p, &sent, &back);
    level(p);
    let first = [n(1)];
    sum(p, &[&part(&back, &first), &part(&c, &first)], &d, None);
    gather(p, &w, &index, &e, &st);
    level(p);
    sum(p, &[&e, &d], &y, None);
    sum(p, &[&s0, &d], &s1, None);
    level(p);
    advance(p, &frame, &fr);
    level(p);
    let run = Run {
        entry: 0,
        ranges: vec![(1, 4)],
        frame,
        program: std::mem::take(p),
        checks: vec![],
        outputs: vec![y.content],
        states: vec![s1.content],
        stats: Stats::default(),
    };
    k.plan.runs.push(run);
}

trait IntoBytes {
    fn into_bytes(self) -> pumice_types::Bytes;
}

impl IntoBytes for u64 {
    fn into_bytes(self) -> pumice_types::Bytes {
        pumice_types::Bytes(self)
    }
}

/// A chain of sums through two buffers in turn, with a frame.
pub fn chain(steps: usize) -> Plan {
    chain_of(steps, 4)
}

/// The same, over 4 n elements for n in 1..=max.
pub fn chain_of(steps: usize, max: u64) -> Plan {
    use VersionOrigin as O;
    let mut k = Sketch::new();
    let symbol = k.plan.symbols.push(Symbol { name: "n".into(), min: 1, max, multiple_of: 1, found: false });
    let shape = [DimExpr::symbol(symbol) * n(4)];
    let (x, y) = (k.alloc(RegionKind::IoIn, &shape), k.alloc(RegionKind::IoOut, &shape));
    let slot =
        |name: &str, span| IoSlot { name: name.into(), dtype: DType::F32, shape: shape.clone().into(), span };
    k.plan.inputs.push(slot("x", x));
    k.plan.outputs.push(slot("y", y));
    let buffers = [k.alloc(RegionKind::Scratch, &shape), k.alloc(RegionKind::Scratch, &shape)];
    let (f32, p) = (DType::F32, &mut Program::default());
    let mut frame = FrameBuilder::new();
    let count = frame.intern(FrameSlot::Expr(shape[0].clone())).0;
    let grid = frame.intern_grid([shape[0].ceil_div(&n(1024)), n(1), n(1)]).0;
    let frame = frame.build();
    let words = Span::new(RegionKind::Frame, 0u64.into_bytes(), (4 * frame.len_words()).into_bytes());
    let fr = Sketch::value(p, "frame", O::Frame, words, DType::U32, &[]);
    let mut last = Sketch::value(p, "x", O::Input(0), x, f32, &shape);
    for i in 0..steps {
        let span = if i + 1 == steps { y } else { buffers[i % 2] };
        let next = Sketch::value(p, "t", O::Step, span, f32, &shape);
        sum(p, &[&last, &last], &next, Some((count, grid, &fr)));
        level(p);
        last = next;
    }
    k.plan.runs.push(Run {
        entry: 0,
        ranges: vec![(1, max)],
        frame,
        program: std::mem::take(p),
        checks: vec![],
        outputs: vec![last.content],
        states: vec![],
        stats: Stats::default(),
    });
    k.finish()
}
