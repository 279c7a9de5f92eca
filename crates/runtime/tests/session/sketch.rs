//! Hand-made plans: slots laid end to end, steps that say what they do in a word (see `fake::compute`).

use pumice_plan::{
    Access, AdvanceKind, AdvanceOp, ConstantSlot, Cost, Entry, Frame, FrameBuilder, FrameSlot, FrameWord,
    Grid, InputUse, IoSlot, KernelCall, Level, Meaning, MeaningGraph, ParamSlot, Plan, PlanValue, Program,
    Region, RegionKind, Run, RunCheck, ScalarSlot, Span, StateInit, StateSlot, Step, StepKind, Storage,
    Stream, Use, VersionId, VersionOrigin, View,
};
use pumice_types::{Bytes, DType, DimExpr, ScalarId, Symbol, SymbolId, Target, Tensor};

/// A place that steps read and write.
#[derive(Clone, Debug)]
pub struct Place {
    pub name: String,
    pub span: Span,
    pub dtype: DType,
    pub storage: Storage,
    pub shape: Vec<DimExpr>,
    pub origin: VersionOrigin,
}

/// A plan under construction. Steps go to the load program until the first `run`.
pub struct Sketch {
    pub plan: Plan,
    used: [u64; 7],
}

/// A constant extent.
pub fn n(value: u64) -> DimExpr {
    value.into()
}

impl Sketch {
    pub fn new() -> Sketch {
        let plan = Plan::empty("sketch", Target::lavapipe());
        Sketch { plan, used: [0; 7] }
    }

    fn take(&mut self, region: RegionKind, len: u64) -> Span {
        let used = &mut self.used[RegionKind::ALL.iter().position(|&k| k == region).expect("listed")];
        let span = Span::new(region, Bytes(*used), Bytes(len));
        *used = span.end().align_up(256).0;
        span
    }

    fn place(
        &mut self,
        name: &str,
        region: RegionKind,
        dtype: DType,
        shape: &[DimExpr],
        origin: VersionOrigin,
    ) -> Place {
        let storage = if region == RegionKind::Scratch { Storage::Arena } else { Storage::Natural };
        let upper: u64 = shape.iter().map(|d| d.upper(&self.plan.symbols)).product();
        let span = self.take(region, upper * storage.unit(dtype).bytes);
        Place { name: name.into(), span, dtype, storage, shape: shape.to_vec(), origin }
    }

    pub fn symbol(&mut self, name: &str, min: u64, max: u64, multiple_of: u64) -> SymbolId {
        self.plan.symbols.push(Symbol { name: name.into(), min, max, multiple_of, found: false })
    }

    pub fn scalar(&mut self, name: &str, dtype: DType, range: (f64, f64), advance: Option<i64>) -> ScalarId {
        let advance = advance.map(DimExpr::constant);
        let (min, max) = range;
        self.plan.scalars.push(ScalarSlot { name: name.into(), dtype, min, max, default: min, advance });
        ScalarId(self.plan.scalars.len() as u32 - 1)
    }

    pub fn param(&mut self, name: &str, dtype: DType, shape: &[u64]) -> Place {
        let dims: Vec<DimExpr> = shape.iter().map(|&d| d.into()).collect();
        let origin = VersionOrigin::Param(self.plan.params.len() as u32);
        let place = self.place(name, RegionKind::Weights, dtype, &dims, origin);
        self.plan.params.push(ParamSlot {
            name: name.into(),
            encoding: dtype.into(),
            shape: shape.to_vec(),
            span: place.span,
        });
        place
    }

    pub fn constant(&mut self, data: Tensor) -> Place {
        let dims: Vec<DimExpr> = data.shape().iter().map(|&d| d.into()).collect();
        let origin = VersionOrigin::Constant(self.plan.constants.len() as u32);
        let place = self.place("constant", RegionKind::Weights, data.dtype(), &dims, origin);
        self.plan.constants.push(ConstantSlot { data, span: place.span });
        place
    }

    /// A param that passes through one step; the place of what that leaves.
    pub fn streamed(&mut self, name: &str, dtype: DType, shape: &[u64], what: &str) -> Place {
        let dims: Vec<DimExpr> = shape.iter().map(|&d| d.into()).collect();
        let bytes = Bytes(shape.iter().product::<u64>() * Storage::Natural.unit(dtype).bytes);
        let span = Span::new(RegionKind::Scratch, Bytes::ZERO, bytes);
        let param = self.plan.params.len() as u32;
        let origin = VersionOrigin::Param(param);
        let place = Place { name: name.into(), span, dtype, storage: Storage::Natural, shape: dims, origin };
        let (name, encoding, shape) = (name.to_owned(), dtype.into(), shape.to_vec());
        let left = self.derived(&format!("{name}'"), dtype, &shape);
        self.plan.params.push(ParamSlot { name, encoding, shape, span });
        let load = std::mem::take(&mut self.plan.load);
        let runs = std::mem::take(&mut self.plan.runs);
        self.step(what, &[&place], &[&left]);
        let program = std::mem::replace(&mut self.plan.load, load);
        self.plan.runs = runs;
        let room = Region { kind: RegionKind::Scratch, chunks: vec![bytes] };
        self.plan.streams.push(Stream { param, program, room });
        left
    }

    pub fn derived(&mut self, name: &str, dtype: DType, shape: &[u64]) -> Place {
        let dims: Vec<DimExpr> = shape.iter().map(|&d| d.into()).collect();
        self.place(name, RegionKind::Weights, dtype, &dims, VersionOrigin::Derived)
    }

    pub fn state(
        &mut self,
        name: &str,
        dtype: DType,
        shape: &[u64],
        axis: Option<u32>,
        init: StateInit,
    ) -> Place {
        let dims: Vec<DimExpr> = shape.iter().map(|&d| d.into()).collect();
        let origin = VersionOrigin::StateBefore(self.plan.states.len() as u32);
        let place = self.place(name, RegionKind::States, dtype, &dims, origin);
        let (shape, span) = (shape.to_vec(), place.span);
        self.plan.states.push(StateSlot { name: name.into(), dtype, shape, capacity_axis: axis, init, span });
        place
    }

    pub fn input(&mut self, name: &str, dtype: DType, shape: &[DimExpr]) -> Place {
        let origin = VersionOrigin::Input(self.plan.inputs.len() as u32);
        let place = self.place(name, RegionKind::IoIn, dtype, shape, origin);
        self.plan.inputs.push(IoSlot { name: name.into(), dtype, shape: shape.into(), span: place.span });
        place
    }

    pub fn output(&mut self, name: &str, dtype: DType, shape: &[DimExpr]) -> Place {
        let place = self.place(name, RegionKind::IoOut, dtype, shape, VersionOrigin::Step);
        self.plan.outputs.push(IoSlot { name: name.into(), dtype, shape: shape.into(), span: place.span });
        place
    }

    pub fn scratch(&mut self, name: &str, dtype: DType, shape: &[DimExpr]) -> Place {
        self.place(name, RegionKind::Scratch, dtype, shape, VersionOrigin::Step)
    }

    /// The status block of these ops.
    pub fn status(&mut self, ops: &[&str]) -> Place {
        self.plan.status_ops = ops.iter().map(|&o| o.to_owned()).collect();
        self.place(
            "status",
            RegionKind::Status,
            DType::U32,
            &[n(1 + 3 * ops.len() as u64)],
            VersionOrigin::Status,
        )
    }

    /// Begins a run for these ranges of the symbols; steps go to it from now on.
    pub fn run(&mut self, ranges: &[(u64, u64)]) -> &mut Run {
        self.plan.runs.push(Run {
            entry: 0,
            ranges: ranges.to_vec(),
            frame: Frame::default(),
            program: Program::default(),
            checks: vec![],
            outputs: vec![],
            states: vec![],
            stats: Default::default(),
        });
        self.plan.runs.last_mut().expect("just pushed")
    }

    /// Adds a condition to the last run.
    pub fn check(&mut self, value: DimExpr, min: i64, max: i64, what: &str) {
        let run = self.plan.runs.last_mut().expect("a run was begun");
        run.checks.push(RunCheck { value, min, max, what: what.into(), sides: None });
    }

    /// Word 0 of the last run's frame is this scalar, which the device advances by `by`.
    pub fn advancing_word(&mut self, scalar: ScalarId, by: u32) {
        let (word, temporary) = (self.word(FrameSlot::Scalar(scalar)), self.word(FrameSlot::Temporary));
        let frame = &mut self.plan.runs.last_mut().expect("a run was begun").frame;
        frame.advance.push(AdvanceOp { op: AdvanceKind::Const, dst: temporary, a: by, b: 0 });
        frame.advance.push(AdvanceOp { op: AdvanceKind::Add, dst: word, a: word.0, b: temporary.0 });
    }

    /// Puts a word into the last run's frame.
    pub fn word(&mut self, slot: FrameSlot) -> FrameWord {
        let frame = &mut self.plan.runs.last_mut().expect("a run was begun").frame;
        let mut builder = FrameBuilder::from(std::mem::take(frame));
        let word = builder.intern(slot);
        *frame = builder.build();
        word
    }

    /// A step of the device.
    pub fn step(&mut self, what: &str, reads: &[&Place], writes: &[&Place]) {
        let call = KernelCall {
            kernel: pumice_plan::kernel::KernelName(what.split(' ').next().unwrap_or("").to_owned().into()),
            variant: "plain".into(),
            spec: vec![],
            args: vec![],
            operands: Default::default(),
            slots: Default::default(),
            holes: vec![],
            literals: vec![],
        };
        self.push(StepKind::Dispatch { call, grid: Grid::Static([1, 1, 1]) }, what, reads, writes);
    }

    /// A step of the host.
    pub fn host(&mut self, what: &str, reads: &[&Place], writes: &[&Place]) {
        self.push(StepKind::Host, what, reads, writes);
    }

    fn push(&mut self, kind: StepKind, what: &str, reads: &[&Place], writes: &[&Place]) {
        let program = match self.plan.runs.last_mut() {
            Some(run) => &mut run.program,
            None => &mut self.plan.load,
        };
        let mut uses = Vec::new();
        for place in reads {
            let found = program.values.iter().rposition(|v| v.span == place.span);
            let content = found.map_or_else(|| value(program, place, place.origin), |i| VersionId(i as u32));
            uses.push(use_of(place, Access::ShaderRead, content));
        }
        let names: Vec<String> = (0..reads.len()).map(|i| format!("i{i}")).collect();
        let graph = MeaningGraph::new(what, &names.iter().map(String::as_str).collect::<Vec<_>>());
        let inputs = names.iter().zip(0..).map(|(n, at)| InputUse { name: n.as_str().into(), at }).collect();
        let outputs = (reads.len()..reads.len() + writes.len()).map(|i| i as u16).collect();
        for place in writes {
            let content = value(program, place, VersionOrigin::Step);
            uses.push(use_of(place, Access::ShaderWrite, content));
        }
        let step = program.steps.len() as u32;
        program.levels.push(Level { steps: step..step + 1, barrier: None, reason: None });
        let meaning = Meaning { graph: graph.into(), inputs, outputs, status: None };
        program.steps.push(Step {
            kind,
            uses,
            origin: format!("node{step}").into(),
            reason: String::new(),
            meaning,
            cost: Cost::default(),
            when: pumice_types::When::ALWAYS,
        });
    }

    pub fn finish(mut self) -> Plan {
        let words = self.plan.runs.iter().map(|r| r.frame.len_words()).max().unwrap_or(0);
        self.take(RegionKind::Frame, 4 * words);
        self.plan.regions = RegionKind::ALL
            .into_iter()
            .zip(self.used)
            .map(|(kind, used)| Region { kind, chunks: if used > 0 { vec![Bytes(used)] } else { vec![] } })
            .collect();
        self.plan.entries = vec![Entry::of_all(&self.plan)];
        self.plan
    }
}

fn value(program: &mut Program, place: &Place, origin: VersionOrigin) -> VersionId {
    program.values.push(PlanValue {
        name: place.name.as_str().into(),
        origin,
        encoding: place.dtype.into(),
        shape: place.shape.as_slice().into(),
        span: place.span,
        live: None,
    });
    VersionId(program.values.len() as u32 - 1)
}

fn use_of(place: &Place, access: Access, content: VersionId) -> Use {
    Use {
        span: place.span,
        access,
        content,
        view: View::dense(place.dtype, place.storage, &place.shape).into(),
    }
}

/// y[s, 3] = x[s, 3] + w[3] for s in 1..=8, as one run.
pub fn add_bias() -> Plan {
    let mut k = Sketch::new();
    let s = k.symbol("s", 1, 8, 1);
    let w = k.param("w", DType::F32, &[3]);
    let x = k.input("x", DType::F32, &[s.into(), n(3)]);
    let y = k.output("y", DType::F32, &[s.into(), n(3)]);
    k.run(&[(1, 8)]);
    k.step("add", &[&x, &w], &[&y]);
    k.finish()
}
