//! Plans made by hand: buffers with a place, steps over them with real kernel calls, a barrier before every level.

use pumice_plan::kernel::{ArgValue, HoleFill, HoleInput, KernelCall, KernelDecl, UseIndex};
use pumice_plan::kernels::copy::StatusBegin;
use pumice_plan::kernels::elementwise::ElementwiseFlat;
use pumice_plan::kernels::frame::FrameAdvance;
use pumice_plan::kernels::gather::GatherWords;
use pumice_plan::*;
use pumice_types::scalar::{RegType, ScalarBuilder};
use pumice_types::{Bytes, DType, DimExpr, Target, When};

/// A program under construction; `None` as level border.
pub struct Sketch {
    pub plan: Plan,
    used: [u64; 7],
}

/// A version with its shape.
#[derive(Clone)]
pub struct At {
    pub content: VersionId,
    pub span: Span,
    pub view: View,
}

pub fn n(v: u64) -> DimExpr {
    v.into()
}

impl Sketch {
    pub fn new() -> Sketch {
        let plan = Plan::empty("sketch", Target::lavapipe());
        Sketch { plan, used: [0; 7] }
    }

    /// Fresh bytes in a region.
    pub fn take(&mut self, region: RegionKind, bytes: u64) -> Span {
        let used = &mut self.used[region as usize];
        let span = Span::new(region, Bytes(*used), Bytes(bytes));
        *used = (*used + bytes).next_multiple_of(256);
        span
    }

    /// f32 bytes for a shape at the upper bounds.
    pub fn alloc(&mut self, region: RegionKind, shape: &[DimExpr]) -> Span {
        let upper: u64 = shape.iter().map(|d| d.upper(&self.plan.symbols)).product();
        self.take(region, 4 * upper)
    }

    /// A value of a program at a place.
    pub fn value(
        program: &mut Program,
        name: &str,
        origin: VersionOrigin,
        span: Span,
        dtype: DType,
        shape: &[DimExpr],
    ) -> At {
        let value = PlanValue {
            name: name.into(),
            origin,
            encoding: dtype.into(),
            shape: shape.into(),
            span,
            live: None,
        };
        program.values.push(value);
        let view = View::dense(dtype, Storage::Natural, shape);
        At { content: VersionId(program.values.len() as u32 - 1), span, view }
    }

    /// Regions from what was taken; lives and figures from the steps.
    pub fn finish(mut self) -> Plan {
        let words = self.plan.runs.iter().map(|r| 4 * r.frame.len_words()).max().unwrap_or(0);
        self.used[RegionKind::Frame as usize] = words.next_multiple_of(256);
        self.used[RegionKind::Status as usize] = 256;
        self.plan.regions = RegionKind::ALL
            .into_iter()
            .zip(self.used)
            .map(|(kind, used)| Region { kind, chunks: if used > 0 { vec![Bytes(used)] } else { vec![] } })
            .collect();
        self.plan.entries = vec![Entry::of_all(&self.plan)];
        settle(&mut self.plan.load);
        self.plan.streams.iter_mut().for_each(|s| settle(&mut s.program));
        for run in &mut self.plan.runs {
            settle(&mut run.program);
            run.stats.steps = run.program.steps.len() as u32;
            run.stats.levels = run.program.levels.len() as u32;
            run.stats.barriers = run.program.levels.iter().filter(|l| l.barrier.is_some()).count() as u32;
        }
        self.plan
    }
}

/// Lives, segments, and a barrier before every level that does not begin a segment.
fn settle(program: &mut Program) {
    for (l, level) in program.levels.iter().enumerate() {
        for u in level.steps.clone().flat_map(|s| &program.steps[s as usize].uses) {
            let live = &mut program.values[u.content.0 as usize].live;
            *live = Some((live.map_or(l as u32, |(first, _)| first), l as u32));
        }
    }
    for (i, level) in (0u32..).zip(&mut program.levels) {
        if program.steps[level.steps.start as usize].is_host() {
            program.segments.push(Segment::Host { level: i });
            continue;
        }
        match program.segments.last_mut() {
            Some(Segment::Gpu { levels }) => {
                levels.end = i + 1;
                level.barrier = Some(Barrier {
                    from_shader_write: true,
                    from_shader_read: true,
                    from_transfer: false,
                    to_shader: true,
                    to_transfer: false,
                    to_indirect: true,
                });
            }
            _ => program.segments.push(Segment::Gpu { levels: i..i + 1 }),
        }
    }
}

/// Steps that are in no level yet become one.
pub fn level(program: &mut Program) {
    let start = program.levels.last().map_or(0, |l| l.steps.end);
    let end = program.steps.len() as u32;
    program.levels.push(Level { steps: start..end, barrier: None, reason: None });
}

/// A call of a kernel's first variant: operand k is use k, arguments that are not given are 0.
fn call(decl: &KernelDecl, args: &[(&str, ArgValue)]) -> KernelCall {
    let mut words = Vec::new();
    for a in decl.args {
        let given = args.iter().find(|(name, _)| *name == a.name).map_or(ArgValue::ZERO, |(_, v)| *v);
        words.extend(vec![given; a.words() as usize]);
    }
    KernelCall {
        kernel: pumice_plan::kernel::KernelName(decl.name.into()),
        variant: decl.variants[0].name.into(),
        spec: vec![],
        args: words,
        operands: (0..decl.operands.len() as u16).map(UseIndex).collect(),
        slots: Default::default(),
        holes: vec![],
        literals: vec![],
    }
}

fn used(at: &At, access: Access) -> Use {
    Use { span: at.span, access, content: at.content, view: at.view.clone().into() }
}

/// A step of some kind, its meaning reading the first `reads` uses and writing the next `writes`.
pub fn step(kind: StepKind, uses: Vec<Use>, reads: u16, writes: u16, origin: &str) -> Step {
    let names: Vec<String> = (0..reads).map(|i| format!("i{i}")).collect();
    let inputs = names.iter().zip(0..).map(|(name, at)| InputUse { name: name.as_str().into(), at });
    let meaning = Meaning {
        graph: MeaningGraph::new("graph g {}", &names.iter().map(String::as_str).collect::<Vec<_>>()).into(),
        inputs: inputs.collect(),
        outputs: (reads..reads + writes).collect(),
        status: None,
    };
    Step {
        kind,
        uses,
        origin: origin.into(),
        reason: String::new(),
        meaning,
        cost: Cost::default(),
        when: When::ALWAYS,
    }
}

/// out = sum of ins, element by element, one element for all where there is but one; `words` are frame and grid word,
/// if there is a frame.
pub fn sum(program: &mut Program, ins: &[&At], out: &At, words: Option<(u32, u32, &At)>) {
    let types = vec![RegType::F32; ins.len()];
    let b = ScalarBuilder::new(&types);
    let total = b.inputs().to_vec().into_iter().reduce(|x, y| b.add(x, y)).expect("an operand");
    let expr = b.finish(&[total]).expect("a sum");
    let fill = HoleFill {
        hole: "body".into(),
        expr,
        inputs: (0..ins.len() as u8).map(HoleInput::Slot).collect(),
        result: None,
        stores: [(ins.len() as u8, 0)].into_iter().collect(),
    };
    let count = words.map_or(ArgValue::U32(16), |(w, ..)| ArgValue::Frame(w));
    let mut call = call(&ElementwiseFlat::DECL, &[("n", count)]);
    call.slots = (0..=ins.len() as u16).map(UseIndex).collect();
    call.holes = vec![fill];
    let single = ins.iter().enumerate().filter(|(_, a)| a.view.shape.iter().all(|d| d.is(1)));
    call.spec = vec![(2, single.fold(0, |bits, (i, _)| bits | 1 << i))];
    let mut uses: Vec<Use> = ins.iter().map(|a| used(a, Access::ShaderRead)).collect();
    uses.push(used(out, Access::ShaderWrite));
    let mut grid = Grid::Static([1, 1, 1]);
    if let Some((_, word, frame)) = words {
        uses.push(used(frame, Access::ShaderRead));
        uses.push(used(frame, Access::IndirectRead));
        grid = Grid::Frame { word: FrameWord(word), upper: [1, 1, 1] };
    }
    let kind = StepKind::Dispatch { call, grid };
    program.steps.push(step(kind, uses, ins.len() as u16, 1, "sum"));
}

/// A host step from one place to another.
pub fn host(program: &mut Program, from: &At, to: &At) {
    let uses = vec![used(from, Access::HostRead), used(to, Access::HostWrite)];
    program.steps.push(step(StepKind::Host, uses, 1, 1, "host"));
}

/// out = rows of table; reports to the status block.
pub fn gather(program: &mut Program, table: &At, index: &At, out: &At, status: &At) {
    let call = call(
        &GatherWords::DECL,
        &[("outer", 1u32.into()), ("axis", 16u32.into()), ("inner", 1u32.into()), ("count", 16u32.into())],
    );
    let mut uses = vec![used(table, Access::ShaderRead), used(index, Access::ShaderRead)];
    uses.push(used(out, Access::ShaderWrite));
    uses.push(used(status, Access::StatusAtomic));
    let kind = StepKind::Dispatch { call, grid: Grid::Static([1, 1, 1]) };
    let mut step = step(kind, uses, 2, 1, "gather");
    step.meaning.status = Some(0);
    program.steps.push(step);
}

fn silent(program: &mut Program, kind: StepKind, at: &At, origin: &str) {
    let (uses, meaning) = (vec![used(at, Access::ShaderWrite)], Meaning::none());
    let reason = String::new();
    program.steps.push(Step {
        kind,
        uses,
        origin: origin.into(),
        reason,
        meaning,
        cost: Cost::default(),
        when: When::ALWAYS,
    });
}

/// The replay begins in the status block.
pub fn begin(program: &mut Program, status: &At) {
    let call = call(&StatusBegin::DECL, &[("ops", 1u32.into())]);
    let kind = StepKind::Dispatch { call, grid: Grid::Static([1, 1, 1]) };
    silent(program, kind, status, "status");
}

/// The advance of the frame.
pub fn advance(program: &mut Program, frame: &Frame, at: &At) {
    let (at_word, count) = (frame.words.len() as u32, frame.advance.len() as u32);
    let call = call(&FrameAdvance::DECL, &[("at", at_word.into()), ("count", count.into())]);
    silent(program, StepKind::Advance { call }, at, "io");
}
