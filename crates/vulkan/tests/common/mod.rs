//! A small plan made by hand, and what the device tests have in common.
//!
//! Over n = 60 floats, with param w, state s, input x, output y and scalar p (advanced by 1 on the device):
//!   load   d = 3 w
//!   run 0  t = x + d;  u = 2 t, s += t;  y = u + s     (the last grid comes from the frame, so does n)
//!   run 1  a = x + d;  b = -a on the host, plus p;  y = a + b
#![allow(dead_code, reason = "not every suite uses everything")]

use pumice_plan::kernels::elementwise::{ElementwiseFlat, ElementwiseStrided};
use pumice_plan::kernels::frame::FrameAdvance;
use pumice_plan::{
    Access, AdvanceKind, AdvanceOp, ArgValue, Barrier, CheckedPlan, Cost, Entry, Frame, FrameBuilder,
    FrameSlot, FrameWord, Grid, HoleFill, HoleInput, InputUse, Level, Meaning, MeaningGraph, Placement, Plan,
    Program, Region, RegionKind, Run, ScalarSlot, Segment, Span, Stats, Step, StepId, StepKind, Storage, Use,
    UseIndex, VersionId, View,
};
use pumice_runtime::HostError;
use pumice_runtime::device::{Device, DeviceError, DeviceSession, HostOps, HostStep, Loaded};
use pumice_types::scalar::{Reg, RegType, ScalarBuilder, ScalarExpr};
use pumice_types::{Bindings, Bytes, DType, DimExpr, ScalarId, Target, Var};
use pumice_vulkan::{DeviceOptions, Pick, VulkanDevice};
use std::sync::Arc;

/// Elements of every value.
pub const N: usize = 60;
const LEN: u64 = 4 * N as u64;

pub fn span(region: RegionKind, slot: u64) -> Span {
    Span::new(region, Bytes(256 * slot), Bytes(LEN))
}

fn used(span: Span, access: Access, storage: Storage) -> Use {
    let view = View::dense(DType::F32, storage, &[(N as u64).into()]);
    Use { span, access, content: VersionId(0), view: view.into() }
}

fn read(span: Span) -> Use {
    used(span, Access::ShaderRead, Storage::Arena)
}

fn write(span: Span) -> Use {
    used(span, Access::ShaderWrite, Storage::Arena)
}

fn step(kind: StepKind, uses: Vec<Use>, origin: &str) -> Step {
    Step {
        kind,
        uses,
        origin: origin.into(),
        reason: String::new(),
        meaning: Meaning::none(),
        cost: Cost::default(),
        when: pumice_types::When::ALWAYS,
    }
}

/// `out = f(ins)`, four elements a thread.
pub fn flat(
    origin: &str,
    ins: &[Span],
    out: Span,
    n: ArgValue,
    grid: Grid,
    f: impl FnOnce(&ScalarBuilder, &[Reg]) -> Reg,
) -> Step {
    let expr = ScalarExpr::build(&vec![RegType::F32; ins.len()], |b, x| vec![f(b, x)]).unwrap();
    let mut uses: Vec<Use> = ins.iter().map(|&s| read(s)).collect();
    uses.push(write(out));
    let fill = HoleFill {
        hole: "body".into(),
        expr,
        inputs: (0..ins.len() as u8).map(HoleInput::Slot).collect(),
        result: None,
        stores: [(ins.len() as u8, 0)].into_iter().collect(),
    };
    let call = ElementwiseFlat {
        variant: ElementwiseFlat::plain,
        kinds0: 0,
        kinds1: 0,
        scalars: 0,
        per: 1,
        tail: 0,
        n,
        status_op: 0.into(),
        slots: (0..uses.len() as u16).map(|at| UseIndex(at).into()).collect(),
        holes: vec![fill],
    };
    step(StepKind::Dispatch { call: call.into_call().fixed().unwrap(), grid }, uses, origin)
}

fn static_flat(origin: &str, ins: &[Span], out: Span, f: impl FnOnce(&ScalarBuilder, &[Reg]) -> Reg) -> Step {
    flat(origin, ins, out, (N as u32).into(), Grid::Static([1, 1, 1]), f)
}

/// `out = f(ins)`, one element a thread, through strides; its arguments lie in a block.
fn strided(origin: &str, ins: &[Span], out: Span, f: impl FnOnce(&ScalarBuilder, &[Reg]) -> Reg) -> Step {
    let mut step = static_flat(origin, ins, out, f);
    let StepKind::Dispatch { call, .. } = &mut step.kind else { unreachable!("it was made a dispatch") };
    let (mut size, mut stride) = ([ArgValue::U32(1); 8], [ArgValue::ZERO; 96]);
    size[0] = (N as u32).into();
    (0..=ins.len()).for_each(|slot| stride[8 * slot] = 1.into());
    *call = ElementwiseStrided {
        variant: ElementwiseStrided::plain,
        kinds0: 0,
        kinds1: 0,
        rank: 1,
        n: (N as u32).into(),
        status_op: 0.into(),
        size,
        offset: [ArgValue::ZERO; 12],
        stride,
        slots: call.slots.iter().map(|&at| at.into()).collect(),
        holes: call.holes.clone(),
    }
    .into_call()
    .fixed()
    .unwrap();
    assert!(call.check().unwrap().layout().block);
    step
}

pub const SHADER_BARRIER: Barrier = Barrier {
    from_shader_write: true,
    from_shader_read: false,
    from_transfer: false,
    to_shader: true,
    to_transfer: false,
    to_indirect: false,
};

/// Levels of steps; a barrier before every level but the first of a segment.
pub fn program(levels: Vec<Vec<Step>>, segments: Vec<Segment>) -> Program {
    let mut p = Program { segments, ..Program::default() };
    for steps in levels {
        let start = p.steps.len() as u32;
        p.steps.extend(steps);
        let barrier = (start > 0).then_some(SHADER_BARRIER);
        p.levels.push(Level { steps: start..p.steps.len() as u32, barrier, reason: None });
    }
    p
}

fn run(frame: Frame, program: Program) -> Run {
    Run {
        entry: 0,
        ranges: Vec::new(),
        frame,
        program,
        checks: Vec::new(),
        outputs: Vec::new(),
        states: Vec::new(),
        stats: Stats::default(),
    }
}

fn gpu_run() -> Run {
    use RegionKind::{IoIn, IoOut, Scratch, States, Weights};
    let mut frame = FrameBuilder::new();
    let n = frame.intern(FrameSlot::Expr((N as u64).into()));
    let grid = frame.intern_grid([1u64.into(), 1u64.into(), 1u64.into()]);
    let p = frame.intern(FrameSlot::Scalar(ScalarId(0)));
    let one = frame.intern(FrameSlot::Expr(DimExpr::constant(1) * 1u64));
    frame.advance(vec![AdvanceOp { op: AdvanceKind::Add, dst: p, a: p.0, b: one.0 }]);
    let frame = frame.build();
    let (x, y, d) = (span(IoIn, 0), span(IoOut, 0), span(Weights, 1));
    let (t, u, s) = (span(Scratch, 0), span(Scratch, 1), span(States, 0));
    let frame_span = Span::new(RegionKind::Frame, Bytes(0), Bytes(4 * frame.len_words()));
    let advance = FrameAdvance {
        variant: FrameAdvance::plain,
        at: (frame.words.len() as u32).into(),
        count: 1.into(),
        words: UseIndex(0).into(),
        slots: Vec::new(),
        holes: Vec::new(),
    };
    let last_grid = Grid::Frame { word: grid, upper: [1, 1, 1] };
    let levels = vec![
        vec![static_flat("t", &[x, d], t, |b, v| b.add(v[0], v[1]))],
        vec![static_flat("u", &[t], u, |b, v| b.mul(v[0], b.f32(2.0))), state_step(s, t)],
        vec![flat("y", &[u, s], y, n.into(), last_grid, |b, v| b.add(v[0], v[1]))],
        vec![step(
            StepKind::Advance { call: advance.into_call().fixed().unwrap() },
            vec![write(frame_span)],
            "advance",
        )],
    ];
    run(frame, program(levels, vec![Segment::Gpu { levels: 0..4 }]))
}

/// s += t: the state is slot 0 read and written.
fn state_step(s: Span, t: Span) -> Step {
    static_flat("s", &[s, t], s, |b, v| b.add(v[0], v[1]))
}

fn host_run() -> Run {
    use RegionKind::{IoIn, IoOut, Weights};
    let (x, a, b, y) = (span(IoIn, 0), span(IoOut, 1), span(IoIn, 1), span(IoOut, 0));
    let host_uses =
        vec![used(a, Access::HostRead, Storage::Natural), used(b, Access::HostWrite, Storage::Natural)];
    let mut host = step(StepKind::Host, host_uses, "b");
    host.meaning = Meaning {
        graph: MeaningGraph::new("negate", &["x"]).into(),
        inputs: vec![InputUse { name: "x".into(), at: 0 }],
        outputs: [1].into_iter().collect(),
        status: None,
    };
    let mut frame = FrameBuilder::new();
    assert_eq!(frame.intern(FrameSlot::Scalar(ScalarId(0))), FrameWord(0));
    let levels = vec![
        vec![static_flat("a", &[x, span(Weights, 1)], a, |b, v| b.add(v[0], v[1]))],
        vec![host],
        vec![strided("y", &[a, b], y, |b, v| b.add(v[0], v[1]))],
    ];
    let segments =
        vec![Segment::Gpu { levels: 0..1 }, Segment::Host { level: 1 }, Segment::Gpu { levels: 2..3 }];
    run(frame.build(), program(levels, segments))
}

/// The plan described above.
pub fn plan() -> Plan {
    let sizes = [512, 256, 512, 512, 512, 256, 256];
    let (w, d) = (span(RegionKind::Weights, 0), span(RegionKind::Weights, 1));
    let load = vec![vec![static_flat("d", &[w], d, |b, v| b.mul(v[0], b.f32(3.0)))]];
    let scalar = ScalarSlot {
        name: "p".into(),
        dtype: DType::I32,
        min: 0.0,
        max: 1000.0,
        default: 0.0,
        advance: Some(1u64.into()),
    };
    let mut plan = Plan {
        placement: Placement::Bump,
        scalars: vec![scalar],
        regions: RegionKind::ALL
            .into_iter()
            .zip(sizes)
            .map(|(kind, size)| Region { kind, chunks: vec![Bytes(size)] })
            .collect(),
        load: program(load, vec![Segment::Gpu { levels: 0..1 }]),
        runs: vec![gpu_run(), host_run()],
        ..Plan::empty("by_hand", Target::lavapipe())
    };
    plan.entries = vec![Entry::of_all(&plan)];
    plan
}

/// Host steps: `negate` computes p - x.
pub struct Host;

struct Negate;

impl HostOps for Host {
    fn prepare(&self, _: &Plan, meaning: &Meaning, _: &[Use]) -> Result<Box<dyn HostStep>, HostError> {
        match &*meaning.graph.text {
            "negate" => Ok(Box::new(Negate)),
            other => Err(format!("no host op {other}").into()),
        }
    }
}

impl HostStep for Negate {
    fn run(&self, bindings: &Bindings, inputs: &[&[u8]], outputs: &mut [&mut [u8]]) -> Result<(), HostError> {
        let p = bindings.get(Var::Scalar(ScalarId(0))).ok_or("p is not bound")? as f32;
        let values: Vec<f32> = floats(inputs[0]).iter().map(|v| p - v).collect();
        outputs[0].copy_from_slice(&bytes(&values));
        Ok(())
    }
}

pub fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|c| f32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect()
}

pub fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

/// The CPU driver, whatever GPUs the machine has; or the device that `PUMICE_TEST_DEVICE` names.
pub fn pick() -> Pick {
    Pick::Name(std::env::var("PUMICE_TEST_DEVICE").unwrap_or_else(|_| "llvmpipe".to_owned()))
}

pub fn open(options: &DeviceOptions) -> VulkanDevice {
    VulkanDevice::open(&pick(), options).expect("these tests need lavapipe (mesa-vulkan-drivers)")
}

pub fn x_values() -> Vec<f32> {
    (0..N).map(|i| i as f32 - 7.5).collect()
}

pub fn w_values() -> Vec<f32> {
    (0..N).map(|i| 0.25 * i as f32).collect()
}

/// Loads the plan, sets w and derives d.
pub fn load(device: &VulkanDevice) -> Result<Arc<dyn Loaded>, DeviceError> {
    let loaded = device.load(CheckedPlan::unsound(plan()), Arc::new(Host))?;
    loaded.write_weights(span(RegionKind::Weights, 0), &bytes(&w_values()))?;
    loaded.run_load(&[StepId(0)])?;
    Ok(loaded)
}

/// A session with x, a zero state and the frame of a run in place.
pub fn session(loaded: &Arc<dyn Loaded>, run: usize, p: i32) -> Result<Box<dyn DeviceSession>, DeviceError> {
    let mut session = loaded.clone().session()?;
    session.write(span(RegionKind::IoIn, 0), &bytes(&x_values()))?;
    session.write(span(RegionKind::States, 0), &[0u8; LEN as usize])?;
    write_frame(session.as_mut(), run, p)?;
    Ok(session)
}

pub fn write_frame(session: &mut dyn DeviceSession, run: usize, p: i32) -> Result<(), DeviceError> {
    let words = plan().runs[run].frame.evaluate(&Bindings::new(), &|_| p as u32).unwrap();
    let words: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    let len = Bytes(words.len() as u64);
    session.write(Span::new(RegionKind::Frame, Bytes(0), len), &words)
}

pub fn read_floats(session: &mut dyn DeviceSession, at: Span) -> Result<Vec<f32>, DeviceError> {
    let mut out = vec![0u8; at.len.0 as usize];
    session.read(at, &mut out)?;
    Ok(floats(&out))
}

/// y of run 0 after the state was updated `times` times.
pub fn expected_y(times: u32) -> Vec<f32> {
    x_values()
        .iter()
        .zip(w_values())
        .map(|(x, w)| {
            let t = x + 3.0 * w;
            2.0 * t + t * times as f32
        })
        .collect()
}

pub fn bindings(p: i64) -> Bindings {
    let mut b = Bindings::new();
    b.bind_scalar(ScalarId(0), p);
    b
}
