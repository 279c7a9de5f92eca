//! Regions: where params, constants, states, inputs and outputs live. Shared by every specialization.

use crate::arena::{ArenaRequest, place};
use crate::draft::{BufferId, Draft, DraftContent, Home};
use crate::error::CompileError;
use crate::joined;
use pumice_ir::{Graph, Op, ValueId};
use pumice_plan::{
    ConstantSlot, ContentOrigin, IoSlot, JoinedParams, ParamSlot, Placement, Region, RegionKind,
    SLOT_ALIGNMENT, ScalarSlot, Span, StateInit, StateSlot, Stream,
};
use pumice_types::tensor::byte_count;
use pumice_types::{Bytes, Target};
use std::collections::BTreeMap;

/// Fixed places of the program's interface.
pub struct Layout {
    /// Scalars.
    pub scalars: Vec<ScalarSlot>,
    /// Stored params.
    pub params: Vec<ParamSlot>,
    /// Params that lie side by side.
    pub joined: Vec<JoinedParams>,
    /// Data of the graph.
    pub constants: Vec<ConstantSlot>,
    /// States.
    pub states: Vec<StateSlot>,
    /// Inputs.
    pub inputs: Vec<IoSlot>,
    /// Outputs.
    pub outputs: Vec<IoSlot>,
    graph_constants: usize,
    weights: Cursor,
    io_in: Cursor,
    io_out: Cursor,
    states_end: u64,
}

/// Hands out bytes one slot after the other; no slot crosses a chunk border.
#[derive(Clone, Copy)]
struct Cursor {
    region: RegionKind,
    next: u64,
    chunk: u64,
    guard: u64,
}

impl Cursor {
    fn take(&mut self, bytes: u64) -> Span {
        let request = [ArenaRequest { bytes, first: 0, last: 0 }];
        let rest = self.chunk - self.next % self.chunk;
        let size = place(&request, Placement::Bump, self.chunk, self.guard).size;
        if size > rest {
            self.next += rest;
        }
        let span = Span::new(self.region, Bytes(self.next), Bytes(bytes));
        self.next += size;
        span
    }
}

/// Size of the chunks of a region on that target.
pub fn chunk_size(target: &Target) -> u64 {
    (target.limits.max_allocation.0 / SLOT_ALIGNMENT).max(1) * SLOT_ALIGNMENT
}

/// A region of that many bytes in chunks of the target's size.
pub fn region(kind: RegionKind, size: u64, target: &Target) -> Region {
    let chunk = chunk_size(target);
    let mut chunks = vec![Bytes(chunk); (size / chunk) as usize];
    if !size.is_multiple_of(chunk) {
        chunks.push(Bytes((size % chunk).next_multiple_of(SLOT_ALIGNMENT)));
    }
    Region { kind, chunks }
}

impl Layout {
    /// Lays out the interface of a graph with the full ranges of its symbols, but for its constants.
    pub fn new(graph: &Graph, target: &Target, guard: u64) -> Result<Layout, CompileError> {
        let cursor = |region| Cursor { region, next: 0, chunk: chunk_size(target), guard };
        let mut layout = Layout {
            scalars: scalar_slots(graph),
            params: Vec::new(),
            joined: Vec::new(),
            constants: Vec::new(),
            states: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            graph_constants: 0,
            weights: cursor(RegionKind::Weights),
            io_in: cursor(RegionKind::IoIn),
            io_out: cursor(RegionKind::IoOut),
            states_end: 0,
        };
        let mut states = cursor(RegionKind::States);
        layout.declare_params(graph, target)?;
        let params = graph.params().into_iter().zip(0..).collect();
        for v in graph.states() {
            let (shape, bytes) = fixed(graph, v, target, guard)?;
            let init = state_init(graph, v, &params);
            let Op::State(op) = &graph.def(v).op else { continue };
            let rank = shape.len() as i64;
            let capacity_axis = op.capacity_axis.map(|a| a.rem_euclid(rank.max(1)) as u32);
            let (name, dtype) = (graph.value(v).name.to_string(), graph.ty(v).dtype());
            layout.states.push(StateSlot {
                name,
                dtype,
                shape,
                capacity_axis,
                init,
                span: states.take(bytes),
            });
        }
        layout.states_end = states.next;
        for v in graph.inputs() {
            let slot = io_slot(graph, &graph.value(v).name, v, target, &mut layout.io_in)?;
            layout.inputs.push(slot);
        }
        for o in graph.outputs() {
            let slot = io_slot(graph, &o.name, o.value, target, &mut layout.io_out)?;
            layout.outputs.push(slot);
        }
        Ok(layout)
    }

    /// Params with their bytes, and which of them lie side by side.
    fn declare_params(&mut self, graph: &Graph, target: &Target) -> Result<(), CompileError> {
        let guard = self.weights.guard;
        let sized = |v: ValueId| fixed(graph, v, target, guard);
        let sizes = graph.params().into_iter().map(sized).collect::<Result<Vec<_>, _>>()?;
        let bytes = |i: &u32| sizes[*i as usize].1;
        let room = chunk_size(target).saturating_sub(guard);
        for params in joined::sets(graph, bytes) {
            let total: u64 = params.iter().map(bytes).sum();
            if total <= room {
                self.joined.push(JoinedParams { params, span: unplaced(total) });
            }
        }
        for (v, (shape, bytes)) in graph.params().into_iter().zip(sizes) {
            let (name, encoding) = (graph.value(v).name.to_string(), graph.ty(v).encoding);
            self.params.push(ParamSlot { name, encoding, shape, span: unplaced(bytes) });
        }
        Ok(())
    }

    /// Places params and constants: params side by side first, the others as they come. Streamed ones get no bytes
    /// here.
    pub fn place_weights(&mut self, streamed: impl Fn(u32) -> bool) {
        let mut is_placed = vec![false; self.params.len()];
        for joined in &mut self.joined {
            joined.span = self.weights.take(joined.span.len.0);
            let mut next = joined.span.offset;
            for &i in &joined.params {
                let span = &mut self.params[i as usize].span;
                span.offset = next;
                next += span.len;
                is_placed[i as usize] = true;
            }
        }
        for (i, (param, _)) in (0..).zip(self.params.iter_mut().zip(is_placed)).filter(|(_, (_, done))| !done)
        {
            param.span = match streamed(i) {
                true => Span::new(RegionKind::Scratch, Bytes::ZERO, Bytes::ZERO),
                false => self.weights.take(param.span.len.0),
            };
        }
        for constant in &mut self.constants {
            constant.span = self.weights.take(constant.span.len.0);
        }
    }

    /// Whether a graph has the interface that is laid out, in its order; else a pass for a range is defective.
    pub fn is_interface_of(&self, graph: &Graph) -> Result<(), CompileError> {
        let name = |v: &ValueId| &*graph.value(*v).name;
        let params = graph.params().iter().map(name).eq(self.params.iter().map(|s| s.name.as_str()));
        let states = graph.states().iter().map(name).eq(self.states.iter().map(|s| s.name.as_str()));
        let inputs = graph.inputs().iter().map(name).eq(self.inputs.iter().map(|s| s.name.as_str()));
        let scalars = graph.scalars().iter().map(name).eq(self.scalars.iter().map(|s| s.name.as_str()));
        let outputs = graph.outputs().iter().map(|o| &o.name).eq(self.outputs.iter().map(|s| &s.name));
        if params && states && inputs && scalars && outputs {
            return Ok(());
        }
        Err(CompileError::Defect(
            "a pass for a range of the symbols moved params, states or other leaves".into(),
        ))
    }

    /// The places of a graph's constants, in the order of its leaves, as indices into `constants`. Passes leave ranges
    /// of the symbols different constants of those that the whole graph has: what a fused body holds itself is none.
    pub fn constants_of(&mut self, graph: &Graph, target: &Target) -> Result<Vec<u32>, CompileError> {
        let known = self.constants.len();
        let (mut slots, mut next) = (Vec::new(), 0);
        for v in graph.leaves(|op| matches!(op, Op::Constant(_))) {
            let data = graph
                .constant_data(v)
                .ok_or_else(|| CompileError::Defect("a constant has no data".into()))?;
            // Ranges have mostly the same ones in the same order: the search begins after the last one found.
            let found = (next..known).chain(0..next).find(|&i| self.constants[i].data == *data);
            let slot = match found {
                Some(slot) => {
                    next = slot + 1;
                    slot
                }
                None => {
                    let (_, bytes) = fixed(graph, v, target, self.weights.guard)?;
                    self.constants.push(ConstantSlot { data: data.clone(), span: unplaced(bytes) });
                    self.constants.len() - 1
                }
            };
            slots.push(slot as u32);
        }
        self.graph_constants = self.constants.len();
        Ok(slots)
    }

    /// Says where a streamed param lies in the room of its stream, once every program is placed.
    pub fn pass(&mut self, stream: &Stream) -> Result<(), CompileError> {
        let origin = ContentOrigin::Param(stream.param);
        let value = stream.program.values.iter().find(|v| v.origin == origin);
        match (value, self.params.get_mut(stream.param as usize)) {
            (Some(value), Some(param)) => param.span = value.span,
            _ => return Err(CompileError::Defect("a stream does not read its param".into())),
        }
        Ok(())
    }

    /// How many constants graphs have; those that lowering makes come after them.
    pub fn graph_constants(&self) -> u32 {
        self.graph_constants as u32
    }

    /// Places constants that lowering made. Every range of the symbols makes the same ones, in the same order: they
    /// depend on attributes alone.
    pub fn hide_constants(&mut self, hidden: &[pumice_types::Tensor]) -> Result<(), CompileError> {
        let first = self.graph_constants;
        for (i, data) in hidden.iter().enumerate() {
            match self.constants.get(first + i) {
                Some(known) if known.data == *data => {}
                Some(_) => {
                    return Err(CompileError::Defect(
                        "ranges of the symbols made different constants".into(),
                    ));
                }
                None => {
                    let span = unplaced(data.bytes().len() as u64);
                    self.constants.push(ConstantSlot { data: data.clone(), span });
                }
            }
        }
        Ok(())
    }

    /// Another run's own slots begin after the interface again: host operands and results are not shared.
    pub fn run_io(&self) -> RunIo {
        RunIo { io_in: self.io_in, io_out: self.io_out }
    }

    /// Bytes for a derived weight.
    pub fn take_derived(&mut self, bytes: u64) -> Span {
        self.weights.take(bytes)
    }

    /// Sizes of the regions that the interface alone decides: weights, states.
    pub fn sizes(&self) -> (u64, u64) {
        (self.weights.next, self.states_end)
    }

    /// The fixed span of a home, where it has one.
    pub fn span(&self, home: Home) -> Option<Span> {
        match home {
            Home::Param(i) => self.params.get(i as usize).map(|p| p.span),
            Home::Joined(i) => self.joined.get(i as usize).map(|j| j.span),
            Home::Constant(i) => self.constants.get(i as usize).map(|c| c.span),
            Home::State(i) => self.states.get(i as usize).map(|s| s.span),
            Home::Input(i) => self.inputs.get(i as usize).map(|s| s.span),
            Home::Output(i) => self.outputs.get(i as usize).map(|s| s.span),
            _ => None,
        }
    }
}

/// The io regions while one run's host operands and results are laid out.
#[derive(Clone, Copy)]
pub struct RunIo {
    io_in: Cursor,
    io_out: Cursor,
}

impl RunIo {
    /// Bytes for a host operand or result.
    pub fn take(&mut self, home: Home, bytes: u64) -> Span {
        match home {
            Home::HostOperand => self.io_out.take(bytes),
            _ => self.io_in.take(bytes),
        }
    }

    /// Ends of the two regions.
    pub fn sizes(&self) -> (u64, u64) {
        (self.io_in.next, self.io_out.next)
    }
}

/// Bytes of region `weights` that have no place yet.
fn unplaced(bytes: u64) -> Span {
    Span::new(RegionKind::Weights, Bytes::ZERO, Bytes(bytes))
}

/// A slot with its guard lies in one chunk.
fn fits(bytes: u64, target: &Target, guard: u64, name: impl FnOnce() -> String) -> Result<u64, CompileError> {
    let (needed, available) = (Bytes(bytes.saturating_add(guard)), Bytes(chunk_size(target)));
    if bytes == 0 || needed <= available {
        return Ok(bytes);
    }
    let (name, target) = (name(), target.name.clone());
    Err(CompileError::TooLarge { name, needed, available, target })
}

/// Refuses scratch buffers that no allocation holds.
pub fn check_buffers(draft: &Draft, target: &Target, guard: u64) -> Result<(), CompileError> {
    for (i, b) in (0..).zip(&draft.buffers) {
        fits(b.bytes, target, guard, || draft.name_of(BufferId(i)).to_owned())?;
    }
    Ok(())
}

fn scalar_slots(graph: &Graph) -> Vec<ScalarSlot> {
    let slot = |v: pumice_ir::ValueId| match &graph.def(v).op {
        Op::Scalar(s) => Some(ScalarSlot {
            name: graph.value(v).name.to_string(),
            dtype: s.ty.dtype(),
            min: s.min,
            max: s.max,
            default: s.default,
            advance: s.advance.clone(),
        }),
        _ => None,
    };
    graph.scalars().into_iter().filter_map(slot).collect()
}

fn fixed(graph: &Graph, v: ValueId, target: &Target, guard: u64) -> Result<(Vec<u64>, u64), CompileError> {
    let info = graph.value(v);
    let shape =
        info.ty.static_shape().ok_or_else(|| CompileError::Defect(format!("{} is not static", info.name)))?;
    let bytes = byte_count(info.ty.encoding, &shape).unwrap_or(u64::MAX);
    Ok((shape, fits(bytes, target, guard, || info.name.to_string())?))
}

fn io_slot(
    graph: &Graph,
    name: &str,
    v: ValueId,
    target: &Target,
    cursor: &mut Cursor,
) -> Result<IoSlot, CompileError> {
    let ty = graph.ty(v);
    let upper: Vec<u64> = ty.shape.iter().map(|d| d.upper(graph.symbols())).collect();
    let bytes = byte_count(ty.encoding, &upper).unwrap_or(u64::MAX);
    let span = cursor.take(fits(bytes, target, cursor.guard, || name.to_owned())?);
    Ok(IoSlot { name: name.to_owned(), dtype: ty.dtype(), shape: ty.shape.clone(), span })
}

fn state_init(graph: &Graph, v: ValueId, params: &BTreeMap<ValueId, u32>) -> StateInit {
    let Some(init) = graph.def(v).input(0) else { return StateInit::Zeros };
    match graph.constant_data(init) {
        Some(data) => StateInit::Data(data.bytes().to_vec()),
        None => params.get(&init).map_or(StateInit::Zeros, |&i| StateInit::Param(i)),
    }
}

/// What a content's bytes come from, for the plan's list of values.
pub fn origin(draft: &Draft, content: DraftContent) -> pumice_plan::ContentOrigin {
    use pumice_plan::ContentOrigin as O;
    let c = &draft.contents[content.0 as usize];
    match draft.buffer_of(content).home {
        Home::Param(i) | Home::Streamed(i) => O::Param(i),
        Home::Joined(i) => O::Joined(i),
        Home::Constant(i) => O::Constant(i),
        Home::Derived => O::Derived,
        Home::State(i) if c.replaces.is_none() => O::StateBefore(i),
        Home::State(i) => O::StateAfter(i),
        Home::Input(i) => O::Input(i),
        Home::Frame => O::Frame,
        Home::Status => O::Status,
        Home::Scratch | Home::Output(_) | Home::HostOperand | Home::HostResult => O::Step,
    }
}
