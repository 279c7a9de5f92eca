//! What a program shares with its callers: scalars, params, states, inputs and outputs, as the plan lists them.
//!
//! In: the graph with the full ranges of its symbols. Out: its slots; states, inputs and outputs have places, params
//! have bytes alone (`weights` places them). Shared by every specialization.

use crate::error::CompileError;
use crate::joined;
use crate::layout::{Cursor, Wanted, chunk_size, fits, unplaced};
use pumice_ir::ops::Scalar;
use pumice_ir::{Graph, Op, ValueId};
use pumice_plan::{
    Entry, IoSlot, JoinedParams, ParamSlot, RegionKind, ScalarSlot, Span, StateInit, StateSlot,
};
use pumice_types::tensor::byte_count;
use pumice_types::{ScalarId, SymbolId, Target};
use std::collections::BTreeMap;

/// The graph of an entry, over the leaves of all entries.
pub struct NamedGraph {
    /// The entry's name.
    pub name: String,
    /// The graph.
    pub graph: Graph,
    /// The symbols that its runs need values of.
    pub symbols: Vec<SymbolId>,
}

impl NamedGraph {
    fn sizes<'a>(&'a self, target: &'a Target, guard: u64) -> Sizes<'a> {
        Sizes { graph: &self.graph, target, guard }
    }
}

/// The interface of a program.
pub struct Interface {
    /// What it runs.
    pub entries: Vec<Entry>,
    /// Scalars.
    pub scalars: Vec<ScalarSlot>,
    /// Params, without places.
    pub params: Vec<ParamSlot>,
    /// Params that lie side by side, without places.
    pub joined: Vec<JoinedParams>,
    /// States.
    pub states: Vec<StateSlot>,
    /// Inputs, entry by entry.
    pub inputs: Vec<IoSlot>,
    /// Outputs, entry by entry.
    pub outputs: Vec<IoSlot>,
    /// Bytes of region `states`.
    pub states_bytes: u64,
    /// Where a run's own slots begin: host operands and results are not shared.
    pub io: RunIo,
}

/// The io regions while one run's host operands and results are laid out.
#[derive(Clone, Copy)]
pub struct RunIo {
    /// What the host writes.
    pub input: Cursor,
    /// What it reads.
    pub output: Cursor,
}

impl Interface {
    /// Of the entries' graphs with the full ranges of their symbols: one at least. All have the same params, states and
    /// scalars.
    ///
    /// # Errors
    /// A slot that no allocation holds.
    pub fn of(graphs: &[NamedGraph], target: &Target, guard: u64) -> Result<Interface, CompileError> {
        let [first, ..] = graphs else { return Err(CompileError::Defect("there is no entry".into())) };
        let cursor = |region| Cursor::new(region, target, guard);
        let (params, mut joined) = first.sizes(target, guard).params()?;
        for entry in &graphs[1..] {
            let apart =
                |j: &JoinedParams| joined.iter().all(|k| k.params.iter().all(|p| !j.params.contains(p)));
            let more: Vec<JoinedParams> =
                entry.sizes(target, guard).params()?.1.into_iter().filter(apart).collect();
            joined.extend(more);
        }
        let (states, states_bytes) = first.sizes(target, guard).states(cursor(RegionKind::States))?;
        let mut io = RunIo { input: cursor(RegionKind::IoIn), output: cursor(RegionKind::IoOut) };
        let (mut entries, mut inputs, mut outputs) = (Vec::new(), Vec::new(), Vec::new());
        for entry in graphs {
            let (before_inputs, before_outputs) = (inputs.len() as u32, outputs.len() as u32);
            entry.sizes(target, guard).io(&mut io, &mut inputs, &mut outputs)?;
            entries.push(Entry {
                name: entry.name.clone(),
                inputs: before_inputs..inputs.len() as u32,
                outputs: before_outputs..outputs.len() as u32,
                symbols: entry.symbols.clone(),
                advancing: advancing(&entry.graph),
            });
        }
        let scalars = scalar_slots(graphs);
        Ok(Interface { entries, scalars, params, joined, states, inputs, outputs, states_bytes, io })
    }

    /// Whether a graph has the interface of an entry, in its order; else a pass for a range is defective.
    ///
    /// # Errors
    /// Another interface.
    pub fn is_of(&self, graph: &Graph, entry: usize) -> Result<(), CompileError> {
        let Entry { inputs, outputs, .. } = &self.entries[entry];
        let own_inputs = &self.inputs[inputs.start as usize..inputs.end as usize];
        let own_outputs = &self.outputs[outputs.start as usize..outputs.end as usize];
        let named = |leaves: Vec<ValueId>, slots: &mut dyn Iterator<Item = &String>| {
            leaves.iter().map(|v| &*graph.value(*v).name).eq(slots.map(String::as_str))
        };
        let outputs = graph.outputs().iter().map(|o| &o.name).eq(own_outputs.iter().map(|s| &s.name));
        if named(graph.params(), &mut self.params.iter().map(|s| &s.name))
            && named(graph.states(), &mut self.states.iter().map(|s| &s.name))
            && named(graph.inputs(), &mut own_inputs.iter().map(|s| &s.name))
            && named(graph.scalars(), &mut self.scalars.iter().map(|s| &s.name))
            && outputs
        {
            return Ok(());
        }
        Err(CompileError::Defect(
            "a pass for a range of the symbols moved params, states or other leaves".into(),
        ))
    }
}

impl RunIo {
    /// Bytes for a host operand (`to_host`) or result.
    pub fn take(&mut self, to_host: bool, bytes: u64) -> Span {
        if to_host { self.output.take(bytes) } else { self.input.take(bytes) }
    }
}

/// The values of a graph with their bytes, each of which one allocation must hold.
pub struct Sizes<'a> {
    /// The graph.
    pub graph: &'a Graph,
    /// What for.
    pub target: &'a Target,
    /// Free bytes after every slot.
    pub guard: u64,
}

impl Sizes<'_> {
    /// Shape and bytes of a value whose shape is static.
    ///
    /// # Errors
    /// A value that no allocation holds.
    pub fn fixed(&self, v: ValueId) -> Result<(Vec<u64>, u64), CompileError> {
        let info = self.graph.value(v);
        let shape = info.ty.static_shape();
        let shape = shape.ok_or_else(|| CompileError::Defect(format!("{} is not static", info.name)))?;
        let bytes = byte_count(info.ty.encoding, &shape).unwrap_or(u64::MAX);
        Ok((shape, fits(bytes, self.target, self.guard, || self.wanted(&info.name, v))?))
    }

    /// Params with their bytes, and which of them lie side by side.
    fn params(&self) -> Result<(Vec<ParamSlot>, Vec<JoinedParams>), CompileError> {
        let graph = self.graph;
        let sizes = graph.params().into_iter().map(|v| self.fixed(v)).collect::<Result<Vec<_>, _>>()?;
        let bytes = |i: &u32| sizes[*i as usize].1;
        let capacity = chunk_size(self.target).saturating_sub(self.guard);
        let joined = joined::sets(graph, bytes).into_iter().filter_map(|params| {
            let total: u64 = params.iter().map(bytes).sum();
            (total <= capacity).then(|| JoinedParams { params, span: unplaced(total) })
        });
        let joined = joined.collect();
        let slot = |(v, (shape, bytes)): (ValueId, (Vec<u64>, u64))| {
            let (name, encoding) = (graph.value(v).name.to_string(), graph.ty(v).encoding);
            ParamSlot { name, encoding, shape, span: unplaced(bytes) }
        };
        Ok((graph.params().into_iter().zip(sizes).map(slot).collect(), joined))
    }

    /// States with their places, and the bytes of their region.
    fn states(&self, mut region: Cursor) -> Result<(Vec<StateSlot>, u64), CompileError> {
        let graph = self.graph;
        let params = graph.params().into_iter().zip(0..).collect();
        let mut states = Vec::new();
        for v in graph.states() {
            let (shape, bytes) = self.fixed(v)?;
            let Op::State(op) = &graph.def(v).op else { continue };
            let rank = shape.len() as i64;
            states.push(StateSlot {
                name: graph.value(v).name.to_string(),
                dtype: graph.ty(v).dtype(),
                capacity_axis: op.capacity_axis.map(|a| a.rem_euclid(rank.max(1)) as u32),
                shape,
                init: state_init(graph, v, op.given, &params),
                span: region.take(bytes),
            });
        }
        Ok((states, region.end()))
    }

    /// The slots of its inputs and outputs.
    fn io(
        &self,
        io: &mut RunIo,
        inputs: &mut Vec<IoSlot>,
        outputs: &mut Vec<IoSlot>,
    ) -> Result<(), CompileError> {
        for v in self.graph.inputs() {
            inputs.push(self.io_slot(&self.graph.value(v).name, v, &mut io.input)?);
        }
        for o in self.graph.outputs() {
            outputs.push(self.io_slot(&o.name, o.value, &mut io.output)?);
        }
        Ok(())
    }

    /// A value as it is told that it is too large.
    fn wanted(&self, name: &str, v: ValueId) -> Wanted {
        Wanted::of(name, &self.graph.ty(v).shape, self.graph.symbols())
    }

    /// A slot that is large enough for every binding.
    fn io_slot(&self, name: &str, v: ValueId, region: &mut Cursor) -> Result<IoSlot, CompileError> {
        let ty = self.graph.ty(v);
        let upper: Vec<u64> = ty.shape.iter().map(|d| d.upper(self.graph.symbols())).collect();
        let bytes = byte_count(ty.encoding, &upper).unwrap_or(u64::MAX);
        let span = region.take(fits(bytes, self.target, self.guard, || self.wanted(name, v))?);
        Ok(IoSlot { name: name.to_owned(), dtype: ty.dtype(), shape: ty.shape.clone(), span })
    }
}

#[cfg(test)]
impl NamedGraph {
    /// The only entry of a program.
    pub fn main(graph: Graph) -> NamedGraph {
        let symbols = graph.symbols().iter().map(|(id, _)| id).collect();
        NamedGraph { name: Entry::MAIN.to_owned(), graph, symbols }
    }
}

fn scalar_of(graph: &Graph, v: ValueId) -> Option<&Scalar> {
    match &graph.def(v).op {
        Op::Scalar(scalar) => Some(scalar),
        _ => None,
    }
}

/// The scalars that advance with every replay of a graph.
fn advancing(graph: &Graph) -> Vec<ScalarId> {
    let scalars = (0..).map(ScalarId).zip(graph.scalars());
    let advance = |v| scalar_of(graph, v).is_some_and(|s| s.advance.is_some());
    scalars.filter(|(_, v)| advance(*v)).map(|(id, _)| id).collect()
}

/// The scalars, which all entries have; some advance in some of them.
fn scalar_slots(graphs: &[NamedGraph]) -> Vec<ScalarSlot> {
    let numbers = graphs.first().map_or(0, |entry| entry.graph.scalars().len());
    let slot = |number: usize| {
        let of = |entry: &'_ NamedGraph| {
            let v = *entry.graph.scalars().get(number)?;
            let scalar = scalar_of(&entry.graph, v)?;
            Some(ScalarSlot {
                name: entry.graph.value(v).name.to_string(),
                dtype: scalar.ty.dtype(),
                min: scalar.min,
                max: scalar.max,
                default: scalar.default,
                advance: scalar.advance.clone(),
            })
        };
        let slots = graphs.iter().filter_map(of);
        slots.reduce(|a, b| if a.advance.is_some() { a } else { b })
    };
    (0..numbers).filter_map(slot).collect()
}

fn state_init(graph: &Graph, v: ValueId, given: bool, params: &BTreeMap<ValueId, u32>) -> StateInit {
    let Some(init) = graph.def(v).input(0) else {
        return if given { StateInit::Given } else { StateInit::Zeros };
    };
    match graph.constant_data(init) {
        Some(data) => StateInit::Data(data.bytes().to_vec()),
        None => params.get(&init).map_or(StateInit::Zeros, |&i| StateInit::Param(i)),
    }
}
