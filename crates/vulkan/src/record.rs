//! Records the steps of a plan as they stand in it.
//!
//! In: a program, the lists that it is cut into, places for its spans, pipelines. Out: command lists. Nothing is
//! decided here: order, barriers, grids, addresses and argument values come from the plan, and a list begins with the
//! [seam](Seam), because a segment may be replayed directly after itself, and lists may be submitted apart.

use crate::error::device_error;
use crate::gpu::{EVERYTHING_AFTER, EVERYTHING_BEFORE, Gpu};
use crate::memory::{Place, Regions};
use crate::pipelines::{PipelineRequest, Ready};
use crate::profile::Timing;
use crate::raw::{Buffer, BufferUsage, Commands, DescriptorSet, DispatchTarget, Masks, Recorder};
use crate::seam::Seam;
use pumice_plan::kernel::interface::Addressing;
use pumice_plan::{
    Access, ArgValue, Barrier, Frame, FrameWord, Grid, KernelCall, Level, Program, RegionKind, Span, Step,
    StepId, StepKind, Use,
};
use pumice_runtime::device::DeviceError;
use pumice_runtime::lists::List;
use pumice_types::Bytes;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

/// Argument blocks lie at multiples of this.
const BLOCK_ALIGNMENT: u64 = 64;

/// What a segment is recorded from.
pub(crate) struct RecordScope<'a> {
    pub(crate) gpu: &'a Gpu,
    pub(crate) program: &'a Program,
    pub(crate) frame: Option<&'a Frame>,
    /// The executable's regions (weights).
    pub(crate) weights: &'a Arc<Regions>,
    /// The session's regions.
    pub(crate) session: &'a Arc<Regions>,
    /// Steps to record; `None`: all.
    pub(crate) only: Option<&'a BTreeSet<StepId>>,
}

impl RecordScope<'_> {
    /// Whether a step is to be recorded.
    pub(crate) fn wants(&self, id: StepId) -> bool {
        self.only.is_none_or(|only| only.contains(&id))
    }

    /// The barrier at the head of the lists of a segment.
    pub(crate) fn seam(&self, levels: Range<u32>) -> Seam {
        Seam::of(self.program, levels, self.frame)
    }

    fn locate(&self, span: Span) -> Result<Place, DeviceError> {
        let regions = if self.weights.has(span.region) { self.weights } else { self.session };
        regions.locate(span)
    }

    /// Where the frame lies, and its bytes; the spare buffer for programs without one.
    fn frame(&self) -> Result<(Place, u64), DeviceError> {
        let bytes = self.frame.map_or(0, |f| 4 * f.len_words());
        if bytes == 0 {
            return Ok((self.session.spare(), 16));
        }
        let span = Span::new(RegionKind::Frame, Bytes::ZERO, Bytes(bytes));
        Ok((self.locate(span)?, bytes))
    }

    fn levels(&self, list: &List) -> &[Level] {
        let range = list.levels.start as usize..list.levels.end as usize;
        self.program.levels.get(range).unwrap_or(&[])
    }

    /// Steps of a level that are in a list.
    fn steps(&self, list: &List, level: &Level) -> impl Iterator<Item = (StepId, &Step)> {
        let of_level = self.program.steps_of(level);
        of_level.filter(|(id, _)| list.steps.contains(&id.0) && self.wants(*id))
    }
}

/// The kernel call of a step, if it has one.
pub(crate) fn call_of(step: &Step) -> Option<&KernelCall> {
    match &step.kind {
        StepKind::Dispatch { call, .. } | StepKind::Advance { call } => Some(call),
        StepKind::Host | StepKind::Copy | StepKind::Fill(_) => None,
    }
}

/// Records a list. It begins with the seam, which stands in the place of its first level's barrier.
pub(crate) fn record(
    scope: &RecordScope<'_>,
    list: &List,
    seam: Seam,
    mut timing: Option<&mut Timing>,
) -> Result<Commands, DeviceError> {
    let mut segment = Segment::new(scope, list)?;
    if let Some(timing) = timing.as_deref_mut() {
        timing.begin(&mut segment.list);
    }
    let first = scope.levels(list).first().and_then(|level| level.barrier.as_ref());
    let (from, to) = seam.at(first);
    segment.list.barrier(from, to);
    for (i, level) in scope.levels(list).iter().enumerate() {
        if let Some(barrier) = level.barrier.as_ref().filter(|_| i > 0) {
            let (from, to) = masks(barrier);
            segment.list.barrier(from, to);
        }
        for (id, step) in scope.steps(list, level) {
            match timing.as_deref_mut() {
                None => segment.step(step)?,
                Some(timing) => {
                    timing.before(&mut segment.list, id)?;
                    segment.step(step)?;
                    timing.after(&mut segment.list)?;
                    segment.list.barrier(EVERYTHING_BEFORE, EVERYTHING_AFTER);
                }
            }
        }
    }
    segment.list.finish().map_err(device_error)
}

/// The plan's barrier as stages and accesses.
fn masks(b: &Barrier) -> (Masks, Masks) {
    let from = Masks {
        shader: b.from_shader_write,
        shader_reads_only: b.from_shader_read,
        transfer: b.from_transfer,
        ..Masks::default()
    };
    let to =
        Masks { shader: b.to_shader, transfer: b.to_transfer, indirect: b.to_indirect, ..Masks::default() };
    (from, to)
}

/// A list being recorded.
struct Segment<'a> {
    scope: &'a RecordScope<'a>,
    list: Recorder,
    frame: (Place, u64),
    blocks: Blocks,
    sets: Option<Sets>,
}

impl<'a> Segment<'a> {
    fn new(scope: &'a RecordScope<'a>, list: &List) -> Result<Segment<'a>, DeviceError> {
        let gpu = scope.gpu;
        let (mut block_bytes, mut calls) = (0, 0);
        for (_, step) in scope.levels(list).iter().flat_map(|level| scope.steps(list, level)) {
            let Some(call) = call_of(step) else { continue };
            let ready = gpu.pipelines.get(PipelineRequest { call, uses: &step.uses })?;
            if ready.layout.block {
                block_bytes += u64::from(ready.layout.size).next_multiple_of(BLOCK_ALIGNMENT);
            }
            calls += 1;
        }
        let mut list = Recorder::new(&gpu.queue).map_err(device_error)?;
        list.keep(scope.weights);
        list.keep(scope.session);
        let sets = match gpu.pipelines.addressing() {
            Addressing::Address => None,
            Addressing::Descriptor => Some(Sets::new(gpu, calls)?),
        };
        let blocks = Blocks::new(gpu, block_bytes)?;
        if let Some(buffer) = &blocks.buffer {
            list.keep(buffer);
        }
        Ok(Segment { scope, list, frame: scope.frame()?, blocks, sets })
    }

    fn step(&mut self, step: &Step) -> Result<(), DeviceError> {
        match &step.kind {
            StepKind::Dispatch { call, grid } => {
                let target = self.grid(grid)?;
                self.dispatch(call, &step.uses, &target)
            }
            StepKind::Advance { call } => self.dispatch(call, &step.uses, &DispatchTarget::Direct([1; 3])),
            StepKind::Copy => {
                let [from, to] = step.uses.as_slice() else { return Err(defect(step, "a copy of two uses")) };
                if from.span.len != to.span.len {
                    return Err(DeviceError::Span(to.span));
                }
                let (a, b) = (self.scope.locate(from.span)?, self.scope.locate(to.span)?);
                let copied = self.list.copy((&a.buffer, a.offset), (&b.buffer, b.offset), from.span.len.0);
                copied.map_err(device_error)
            }
            StepKind::Fill(word) => {
                let [to] = step.uses.as_slice() else { return Err(defect(step, "a fill of one use")) };
                let place = self.scope.locate(to.span)?;
                self.list.fill(&place.buffer, place.offset, to.span.len.0, *word).map_err(device_error)
            }
            StepKind::Host => Err(defect(step, "host steps outside GPU segments")),
        }
    }

    fn grid(&self, grid: &Grid) -> Result<DispatchTarget, DeviceError> {
        match grid {
            Grid::Static(counts) => Ok(DispatchTarget::Direct(*counts)),
            Grid::Frame { word: FrameWord(word), .. } => {
                let span = Span::new(RegionKind::Frame, Bytes(4 * u64::from(*word)), Bytes(12));
                let place = self.scope.locate(span)?;
                Ok(DispatchTarget::Indirect(place.buffer, place.offset))
            }
        }
    }

    fn dispatch(
        &mut self,
        call: &KernelCall,
        uses: &[Use],
        target: &DispatchTarget,
    ) -> Result<(), DeviceError> {
        let ready = self.scope.gpu.pipelines.get(PipelineRequest { call, uses })?;
        let spans = operand_spans(call, uses)?;
        let places = spans.iter().map(|s| self.scope.locate(*s)).collect::<Result<Vec<_>, _>>()?;
        let shown = match &self.sets {
            None => 0..0,
            Some(_) => words_read(call, uses, &self.frame, self.scope.gpu.storage_alignment),
        };
        let words = self.argument_words(&ready, call, &places, shown.start);
        let push = self.blocks.push(ready.layout.block, &words)?;
        let set = match &mut self.sets {
            None => None,
            Some(sets) => {
                let ranges = places.into_iter().zip(spans.iter().map(|s| s.len.0)).collect();
                let (mut place, _) = self.frame.clone();
                place.offset += 4 * u64::from(shown.start);
                let frame = (!shown.is_empty()).then_some((place, 4 * shown.len() as u64));
                let bound = Bound { operands: ranges, frame, block: push.block };
                Some(sets.bind(self.scope.gpu, &ready, call, bound)?)
            }
        };
        self.list.dispatch(&ready.pipeline, &push.bytes, set.as_ref(), target).map_err(device_error)
    }

    /// What a call passes: addresses, arguments, literals. Words of the frame are counted from `first` on.
    fn argument_words(&self, ready: &Ready, call: &KernelCall, places: &[Place], first: u32) -> Vec<u32> {
        let addresses: Vec<u64> = places.iter().map(Place::address).collect();
        let from_first = |arg: &ArgValue| match *arg {
            ArgValue::Frame(word) => ArgValue::Frame(word.saturating_sub(first)),
            bits => bits,
        };
        let args: Vec<ArgValue> = call.args.iter().map(from_first).collect();
        let mut words = ready.layout.pack(self.frame.0.address(), &addresses, &args);
        for (k, &literal) in call.literals.iter().enumerate() {
            // The call was checked when its pipeline was made: its literals fit.
            if let Some(word) = ready.layout.literal(k).and_then(|at| words.get_mut(at)) {
                *word = literal;
            }
        }
        words
    }
}

fn defect(step: &Step, rule: &str) -> DeviceError {
    DeviceError::Unsupported(format!("step {} against the rule: {rule}", step.origin))
}

/// The words of the frame that a descriptor shows to a call: from the first to the last one that its arguments name,
/// none for a call that reads none. Synchronization validation takes what a kernel could read as read, and would see a
/// hazard with steps that find or advance other words beside it.
fn words_read(call: &KernelCall, uses: &[Use], frame: &(Place, u64), alignment: u64) -> Range<u32> {
    let named = || {
        call.args.iter().filter_map(|arg| match arg {
            ArgValue::Frame(word) => Some(*word),
            ArgValue::U32(_) => None,
        })
    };
    if let (Some(first), Some(last)) = (named().min(), named().max()) {
        let step = (alignment / 4).max(1) as u32;
        return first - first % step..last + 1;
    }
    // What an operand shows is bound as that operand.
    let is_operand = |at: usize| call.operands.iter().chain(&call.slots).any(|u| usize::from(u.0) == at);
    let reads = |u: &Use| u.span.region == RegionKind::Frame && u.access == Access::ShaderRead;
    let others = uses.iter().enumerate().any(|(at, u)| reads(u) && !is_operand(at));
    0..if others { (frame.1 / 4) as u32 } else { 0 }
}

/// Spans of the operands, then of the slots.
fn operand_spans(call: &KernelCall, uses: &[Use]) -> Result<Vec<Span>, DeviceError> {
    let all = call.operands.iter().chain(&call.slots);
    all.map(|u| {
        let found = uses.get(usize::from(u.0)).map(|u| u.span);
        found.ok_or_else(|| {
            DeviceError::Unsupported(format!("{} with use {} of {}", call.label(), u.0, uses.len()))
        })
    })
    .collect()
}

/// What is pushed with a dispatch.
pub(crate) struct Push {
    pub(crate) bytes: Vec<u8>,
    /// The argument block whose address it is, and its bytes.
    block: Option<(Place, u64)>,
}

/// Argument blocks of a segment, in one buffer.
pub(crate) struct Blocks {
    pub(crate) buffer: Option<Arc<Buffer>>,
    next: u64,
}

impl Blocks {
    pub(crate) fn new(gpu: &Gpu, bytes: u64) -> Result<Blocks, DeviceError> {
        if bytes == 0 {
            return Ok(Blocks { buffer: None, next: 0 });
        }
        let types = gpu.plan.memory_types(RegionKind::Frame);
        let made = Buffer::new(&gpu.shared, BufferUsage::Host, bytes, types).map_err(device_error)?;
        Ok(Blocks { buffer: Some(Arc::new(made)), next: 0 })
    }

    /// What is pushed for these words: they themselves, or the address of a block that they are put in.
    pub(crate) fn push(&mut self, in_block: bool, words: &[u32]) -> Result<Push, DeviceError> {
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_ne_bytes()).collect();
        if !in_block {
            return Ok(Push { bytes, block: None });
        }
        let block = self.put(&bytes)?;
        let address = block.address().to_ne_bytes().to_vec();
        Ok(Push { bytes: address, block: Some((block, bytes.len() as u64)) })
    }

    fn put(&mut self, bytes: &[u8]) -> Result<Place, DeviceError> {
        let missing = || DeviceError::Unsupported("an argument block that was not counted".to_owned());
        let buffer = self.buffer.clone().ok_or_else(missing)?;
        let place = Place { buffer, offset: self.next };
        place.buffer.write(place.offset, bytes).map_err(device_error)?;
        self.next = (self.next + bytes.len() as u64).next_multiple_of(BLOCK_ALIGNMENT);
        Ok(place)
    }
}

/// What a dispatch binds in descriptor form.
struct Bound {
    operands: Vec<(Place, u64)>,
    /// `None` for a call that reads no word of it.
    frame: Option<(Place, u64)>,
    block: Option<(Place, u64)>,
}

/// Descriptor sets of a segment: one per dispatch, each binding tight ranges.
struct Sets {
    /// Stands in unbound slots, one piece per dispatch so that no two dispatches share it.
    spare: Arc<Buffer>,
    spare_next: u64,
}

const SPARE_BYTES: u64 = 256;

impl Sets {
    fn new(gpu: &Gpu, calls: u64) -> Result<Sets, DeviceError> {
        let types = gpu.plan.memory_types(RegionKind::Scratch);
        let bytes = calls.max(1) * SPARE_BYTES;
        let spare = Buffer::new(&gpu.shared, BufferUsage::Kernel, bytes, types).map_err(device_error)?;
        Ok(Sets { spare: Arc::new(spare), spare_next: 0 })
    }

    fn bind(
        &mut self,
        gpu: &Gpu,
        ready: &Ready,
        call: &KernelCall,
        bound: Bound,
    ) -> Result<Arc<DescriptorSet>, DeviceError> {
        let layout = ready.pipeline.layout().set().cloned();
        let layout = layout.ok_or_else(|| DeviceError::Unsupported("a set without a layout".to_owned()))?;
        if layout.bindings() > gpu.storage_buffers {
            let (n, most) = (layout.bindings(), gpu.storage_buffers);
            return Err(DeviceError::Unsupported(format!(
                "{n} storage buffers in {}, at most {most}",
                call.label()
            )));
        }
        let spare = (Place { buffer: self.spare.clone(), offset: self.spare_next }, SPARE_BYTES);
        self.spare_next += SPARE_BYTES;
        let unbound = ready.decl.slots as usize - call.slots.len().min(ready.decl.slots as usize);
        let frame = bound.frame.unwrap_or_else(|| spare.clone());
        // An operand without elements lies where others lie; as no range is empty, it would show bytes of theirs.
        let operands: Vec<_> = bound
            .operands
            .into_iter()
            .map(|(place, bytes)| if bytes == 0 { spare.clone() } else { (place, bytes) })
            .collect();
        let slots = std::iter::repeat_n(spare, unbound);
        let all = operands.into_iter().chain(slots).chain([frame]).chain(bound.block);
        let ranges =
            all.map(|(place, bytes)| range(gpu, call, place, bytes)).collect::<Result<Vec<_>, _>>()?;
        DescriptorSet::new(&gpu.shared, &layout, &ranges).map(Arc::new).map_err(device_error)
    }
}

/// What a descriptor names.
fn range(
    gpu: &Gpu,
    call: &KernelCall,
    place: Place,
    bytes: u64,
) -> Result<(Arc<Buffer>, u64, u64), DeviceError> {
    if !place.offset.is_multiple_of(gpu.storage_alignment) {
        let what = format!("an operand of {} at offset {:#x}", call.label(), place.offset);
        return Err(DeviceError::Unsupported(what));
    }
    // Kernels touch whole words; a range is never empty.
    Ok((place.buffer, place.offset, bytes.next_multiple_of(4).max(4)))
}
