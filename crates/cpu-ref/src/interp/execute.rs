//! One step on the bytes of its uses.

use super::memory::RegionBytes;
use super::prepare::{FrameOf, Work, defect};
use crate::array::Array;
use crate::eval::Status;
use crate::graph::{EvalOptions, StatusEvent, eval_graph};
use crate::machine;
use crate::meaning::ReadMeaning;
use pumice_ir::ValueId;
use pumice_plan::frame::FoundRow;
use pumice_plan::kernel::status;
use pumice_plan::{Access, Grid, RegionKind, Span, Step, StepKind, Use};
use pumice_runtime::device::DeviceError;
use pumice_runtime::values::Window;
use pumice_types::{Bindings, Bytes, SymbolId};
use std::sync::Arc;

/// Bytes that an element takes while it is read: as it lies, twice while its list grows, and as a number of 64 bits.
const BYTES_READ: u64 = 24;

/// That a view's elements fit before any is read: a view that broadcasts may have more of them than there are bytes.
fn check_readable(shape: &[u64]) -> Result<(), DeviceError> {
    let needed = Bytes(shape.iter().fold(BYTES_READ, |n, extent| n.saturating_mul(*extent)));
    machine::check_available(needed).map_err(|available| DeviceError::OutOfMemory {
        what: "an operand of a step".into(),
        needed,
        available,
        remedy: "run the plan on a device, which reads operands where they lie".into(),
    })
}

/// The weights, which only the load program may write.
pub(super) enum Weights<'a> {
    /// Several runs may read them.
    Shared(&'a RegionBytes),
    /// The load program is running.
    Own(&'a mut RegionBytes),
}

/// What a step runs on.
pub(super) struct Machine<'a> {
    /// Region `weights`.
    pub weights: Weights<'a>,
    /// All others.
    pub session: &'a mut RegionBytes,
    /// The frame's words.
    pub frame: FrameOf<'a>,
    /// Symbols, and the integer scalars of this replay.
    pub bindings: &'a Bindings,
}

impl Machine<'_> {
    fn bytes(&self, span: Span) -> Result<&[u8], DeviceError> {
        match (&self.weights, span.region) {
            (Weights::Shared(weights), RegionKind::Weights) => weights.bytes(span),
            (Weights::Own(weights), RegionKind::Weights) => weights.bytes(span),
            _ => self.session.bytes(span),
        }
    }

    fn bytes_mut(&mut self, span: Span) -> Result<&mut [u8], DeviceError> {
        match (&mut self.weights, span.region) {
            (Weights::Shared(_), RegionKind::Weights) => Err(DeviceError::Span(span)),
            (Weights::Own(weights), RegionKind::Weights) => weights.bytes_mut(span),
            _ => self.session.bytes_mut(span),
        }
    }

    /// Runs one step.
    pub fn run(&mut self, step: &Step, work: &Work) -> Result<(), DeviceError> {
        match work {
            _ if self.is_empty(step)? => Ok(()),
            Work::Meaning(meaning, inputs) => self.meaning(step, meaning, inputs),
            Work::Host(_) | Work::Find => Err(defect(step, "it is no work on bytes alone")),
            Work::BeginReplay => self.begin_replay(step),
            Work::Advance => self.advance(step),
            Work::Copy => self.copy(step),
            Work::Fill(word) => {
                let words = self.bytes_mut(only_use(step)?.span)?.as_chunks_mut::<4>().0;
                words.fill(word.to_le_bytes());
                Ok(())
            }
        }
    }

    fn begin_replay(&mut self, step: &Step) -> Result<(), DeviceError> {
        let block = self.bytes_mut(only_use(step)?.span)?;
        let mut all = words(block);
        let ops = all.len().saturating_sub(1) / 3;
        status::begin_replay(&mut all, ops);
        set_words(block, &all);
        Ok(())
    }

    fn copy(&mut self, step: &Step) -> Result<(), DeviceError> {
        let [from, to] = step.uses.as_slice() else {
            return Err(defect(step, "a copy has two uses"));
        };
        let bytes = self.bytes(from.span)?.to_vec();
        if from.span.len != to.span.len {
            return Err(defect(step, "a copy of unequal parts"));
        }
        self.bytes_mut(to.span)?.copy_from_slice(&bytes);
        Ok(())
    }

    /// Whether the frame says that a dispatch has no groups.
    fn is_empty(&self, step: &Step) -> Result<bool, DeviceError> {
        let StepKind::Dispatch { grid: Grid::Frame { word, .. }, .. } = &step.kind else { return Ok(false) };
        let (offset, len) = (Bytes(4 * u64::from(word.0)), Bytes(12));
        let span = Span::new(RegionKind::Frame, offset, len);
        let declared = |u: &Use| u.access == Access::IndirectRead && u.span.contains(&span);
        if !step.uses.iter().any(declared) {
            return Err(defect(step, "it reads a grid that no use declares"));
        }
        Ok(words(self.bytes(span)?).contains(&0))
    }

    fn use_of<'s>(&self, step: &'s Step, index: u16) -> Result<(&'s Use, Window), DeviceError> {
        let u = step
            .uses
            .get(usize::from(index))
            .ok_or_else(|| defect(step, format!("it has no use {index}")))?;
        let window =
            Window::of(&u.view, self.bindings).map_err(|e| defect(step, format!("use {index}: {e}")))?;
        Ok((u, window))
    }

    /// The natural bytes of a use that is read.
    fn read(&self, step: &Step, index: u16) -> Result<(Window, Vec<u8>), DeviceError> {
        let (u, window) = self.use_of(step, index)?;
        if u.access.writes() {
            return Err(defect(step, format!("its meaning reads use {index}, which is {}", u.access.name())));
        }
        check_readable(window.shape())?;
        let bytes =
            window.read(self.bytes(u.span)?, 0).map_err(|e| defect(step, format!("use {index}: {e}")))?;
        Ok((window, bytes))
    }

    fn write(&mut self, step: &Step, index: u16, natural: &[u8]) -> Result<(), DeviceError> {
        let (u, window) = self.use_of(step, index)?;
        if !u.access.writes() {
            return Err(defect(
                step,
                format!("its meaning writes use {index}, which is {}", u.access.name()),
            ));
        }
        let span = u.span;
        let bytes = self.bytes_mut(span)?;
        window.write(natural, bytes, 0).map_err(|e| defect(step, format!("use {index}: {e}")))
    }

    fn meaning(&mut self, step: &Step, meaning: &ReadMeaning, uses: &[u16]) -> Result<(), DeviceError> {
        let graph = &meaning.graph;
        let mut inputs: Vec<Arc<Array>> = Vec::with_capacity(uses.len());
        for &index in uses {
            let (window, bytes) = self.read(step, index)?;
            let dtype = step.uses[usize::from(index)].view.dtype;
            inputs.push(Arc::new(Array::from_natural(dtype, window.shape(), &bytes)));
        }
        let names = graph.inputs();
        if graph.outputs().len() != step.meaning.outputs.len() {
            return Err(defect(step, "its meaning has other outputs than the step"));
        }
        let leaf = |v: ValueId| names.iter().position(|n| *n == v).map(|i| Arc::clone(&inputs[i]));
        let result = eval_graph(graph, &leaf, &self.bindings_of(meaning, &inputs), EvalOptions::default());
        let result = result.map_err(|e| defect(step, e))?;
        self.write_outputs(step, &result.outputs)?;
        self.report(step, &result.status)
    }

    fn write_outputs(&mut self, step: &Step, outputs: &[Arc<Array>]) -> Result<(), DeviceError> {
        for (&index, array) in step.meaning.outputs.iter().zip(outputs) {
            let tensor = array.to_tensor().map_err(|e| defect(step, e))?;
            if tensor.dtype() != step.uses[usize::from(index)].view.dtype {
                return Err(defect(step, format!("use {index} is not {}", tensor.dtype())));
            }
            self.write(step, index, tensor.bytes())?;
        }
        Ok(())
    }

    /// The bindings as a meaning numbers them, with symbols of its own bound by the extents of its inputs.
    fn bindings_of(&self, meaning: &ReadMeaning, inputs: &[Arc<Array>]) -> Bindings {
        let graph = &meaning.graph;
        let mut bindings = meaning.bindings(self.bindings);
        for (&v, array) in graph.inputs().iter().zip(inputs) {
            for (extent, &given) in graph.ty(v).shape.iter().zip(&array.shape) {
                if let Some(own) = extent.as_symbol().filter(|id| bindings.symbol(*id).is_none()) {
                    bindings.bind(own, given);
                }
            }
        }
        bindings
    }

    /// Status events reach the block where the step has a number in it.
    fn report(&mut self, step: &Step, events: &[StatusEvent]) -> Result<(), DeviceError> {
        let Some(number) = step.meaning.status.filter(|_| !events.is_empty()) else { return Ok(()) };
        let block = step.uses.iter().find(|u| u.access == Access::StatusAtomic);
        let span = block.ok_or_else(|| defect(step, "it reports and has no use of the status block"))?.span;
        let words = self.bytes_mut(span)?.as_chunks_mut::<4>().0;
        for event in events {
            let (flag, position) = match event.status {
                Status::IndexOutOfRange(at) => (status::INDEX_OUT_OF_RANGE, at),
                Status::StateOverflow(at) => (status::STATE_OVERFLOW, at),
                Status::IntDivZero(at) => (status::INT_DIV_ZERO, at),
                Status::BadDistribution(at) => (status::BAD_DISTRIBUTION, at),
                Status::FoundExtent(at) => (status::FOUND_EXTENT, at),
                Status::ExtentMismatch(at) => (status::EXTENT_MISMATCH, at),
            };
            let position = u32::try_from(position).unwrap_or(u32::MAX - 1);
            let at = 1 + number as usize;
            if at >= words.len() {
                return Err(defect(step, "its number is outside the status block"));
            }
            words[0] = (u32::from_le_bytes(words[0]) | flag).to_le_bytes();
            words[at] = u32::from_le_bytes(words[at]).min(position).to_le_bytes();
        }
        Ok(())
    }

    /// What a host step gets: natural bytes of its inputs, and room for those of its results.
    pub fn host_operands(&self, step: &Step) -> Result<[Vec<Vec<u8>>; 2], DeviceError> {
        let mut inputs = Vec::with_capacity(step.meaning.inputs.len());
        for input in &step.meaning.inputs {
            inputs.push(self.read(step, input.at)?.1);
        }
        let mut outputs = Vec::with_capacity(step.meaning.outputs.len());
        for &index in &step.meaning.outputs {
            let bytes = Bytes(self.use_of(step, index)?.1.dense_bytes());
            let len = bytes.to_usize().filter(|_| bytes <= step.uses[usize::from(index)].span.len);
            let len = len.ok_or_else(|| defect(step, format!("use {index} has no room for {bytes}")))?;
            outputs.push(vec![0; len]);
        }
        Ok([inputs, outputs])
    }

    /// Puts a host step's results where they belong.
    pub fn write_host_results(&mut self, step: &Step, results: &[Vec<u8>]) -> Result<(), DeviceError> {
        let indices = step.meaning.outputs.iter();
        indices.zip(results).try_for_each(|(&index, bytes)| self.write(step, index, bytes))
    }

    fn advance(&mut self, step: &Step) -> Result<(), DeviceError> {
        let span = only_use(step)?.span;
        let counts = step.uses.get(1).map(|u| self.bytes(u.span).map(words)).transpose()?;
        let count = self.frame.words() as usize;
        let Some(frame) = self.frame.0 else { return Err(defect(step, "there is no frame")) };
        let bytes = self.bytes_mut(span)?;
        if bytes.len() < 4 * count {
            return Err(defect(step, "it does not reach the whole frame"));
        }
        let mut all = words(&bytes[..4 * count]);
        frame.run_advance(&mut all, &counts.unwrap_or_default());
        set_words(bytes, &all);
        Ok(())
    }
}

impl Machine<'_> {
    /// Fills a row of found words; the symbols of the row with their values.
    pub fn find(&mut self, step: &Step) -> Result<Vec<(SymbolId, u64)>, DeviceError> {
        let Some(frame) = self.frame.0 else { return Err(defect(step, "there is no frame")) };
        let (base, to) = (words(self.bytes(operand(step, 0)?.span)?), operand(step, 1)?.span);
        let first = |row: &&FoundRow| Bytes(4 * u64::from(row.first)) == to.offset;
        let row = frame.found.iter().find(first).ok_or_else(|| defect(step, "it fills no row"))?;
        let counts = self.counts(step, row.symbols.len())?;
        let bytes = self.bytes_mut(to)?;
        let mut all = words(bytes);
        row.program.run(&mut all, &base, &counts);
        set_words(bytes, &all);
        Ok(frame.bound(row.first, &all).collect())
    }

    /// The first word of each count of a row.
    fn counts(&self, step: &Step, count: usize) -> Result<Vec<i32>, DeviceError> {
        let one = |k: usize| {
            let word = words(self.bytes(operand(step, 2 + k)?.span)?).first().copied();
            word.map(|w| w as i32).ok_or_else(|| defect(step, "it has no count"))
        };
        (0..count).map(one).collect()
    }
}

/// The use that an operand of a kernel is.
fn operand(step: &Step, k: usize) -> Result<&Use, DeviceError> {
    let at = match &step.kind {
        StepKind::Dispatch { call, .. } => call.operands.get(k).map(|at| usize::from(at.0)),
        _ => None,
    };
    at.and_then(|at| step.uses.get(at)).ok_or_else(|| defect(step, format!("it has no operand {k}")))
}

fn only_use(step: &Step) -> Result<&Use, DeviceError> {
    step.uses.first().ok_or_else(|| defect(step, "it has no use"))
}

/// Writes little-endian words.
fn set_words(bytes: &mut [u8], words: &[u32]) {
    bytes.as_chunks_mut::<4>().0.iter_mut().zip(words).for_each(|(b, w)| *b = w.to_le_bytes());
}

/// Little-endian words.
pub(super) fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.as_chunks::<4>().0.iter().map(|w| u32::from_le_bytes(*w)).collect()
}
