//! A recurrent layer of many steps, or of as many as symbols say, as a loop: a turn is a product and the cell. Beside
//! them it writes the last turn's row of the result in its place and fetches the next turn's input.

use super::recurrent_layer::RecurrentLayer;
use super::unrolled::{MOST_STEPS, State, Steps};
use crate::loops::Loops;
use crate::ops::elementwise::min::Min;
use crate::ops::kv_append::AppendMode;
use crate::ops::loop_::MOST_TURNS;
use crate::ops::{
    Add, Carry, Expand, Extent, ExtentOf, Gather, Less, Loop, Reshape, Sub, TensorScatter, Where,
};
use crate::{Graph, NodeId, Patch, PatchRef};
use pumice_types::{DimExpr, Tensor};

/// Units from which on a turn of a few levels is better than a group for each batch entry that reads the weights again
/// in every step; not measured yet.
const LEAST_UNITS: u64 = 256;

/// The loop of a layer; `None` where its steps are few, small, or in a loop already: loops do not stand in one another.
pub(super) fn expand(op: &RecurrentLayer, graph: &Graph, id: NodeId) -> Option<Patch> {
    let node = graph.node(id);
    let steps = &graph.ty(node.input(0)?).shape[0];
    let hidden = graph.ty(node.input(1)?).shape[0].as_extent()?;
    let symbols = graph.symbols();
    let many = steps.as_extent().is_none_or(|steps| steps > MOST_STEPS) && steps.lower(symbols) > 0;
    // A turn for each step. Numbers of steps, `from` on, are i32.
    let end = steps.upper(symbols).saturating_add(op.from.unsigned_abs());
    if !(many && end < MOST_TURNS.unsigned_abs() && hidden >= LEAST_UNITS)
        || symbols.names_found(steps)
        || Loops::of(graph).inside(id).is_some()
    {
        return None;
    }
    let mut steps = Looped { steps: Steps::of(op, graph, id)?, count: steps.clone() };
    let running = steps.steps.patch.find_symbol(graph, &format!("{}.running", graph.node_name(id)), 1);
    steps.replaced(graph, id, running)
}

struct Looped<'a> {
    steps: Steps<'a>,
    count: DimExpr,
}

/// What turns carry besides whether there is one, in this order. A turn works on what the one before it has fetched and
/// puts away what that one has made: so a product and a cell are all that wait for each other.
struct Carried {
    /// The number of the next turn.
    ahead: PatchRef,
    /// The step that the turn before has taken, where its row goes; before the first one the last step, whose row
    /// comes at the end. It and `ahead` follow from themselves alone, so that neither waits for a reader of the other.
    place: PatchRef,
    /// The input's part of this step: \[B, gates·H\].
    xw: PatchRef,
    /// All rows of the result: \[1, T, B·H\].
    rows: PatchRef,
    /// The row that the turn before has made, where that is not h.
    row: Option<PatchRef>,
    state: State,
}

impl Carried {
    fn list(&self) -> Vec<PatchRef> {
        let fixed = [self.ahead, self.place, self.xw, self.rows];
        let others = [self.row, Some(self.state.h), self.state.c];
        fixed.into_iter().chain(others.into_iter().flatten()).collect()
    }

    /// From a list as the other was made.
    fn like(&self, list: &[PatchRef]) -> Option<Carried> {
        let mut next = list.iter().copied();
        let mut one = || next.next();
        let (ahead, place, xw, rows) = (one()?, one()?, one()?, one()?);
        let row = if self.row.is_some() { Some(one()?) } else { None };
        Some(Carried { ahead, place, xw, rows, row, state: State { h: one()?, c: one() } })
    }

    /// The row that the turn before has made.
    fn made(&self) -> PatchRef {
        self.row.unwrap_or(self.state.h)
    }
}

impl Looped<'_> {
    fn i32s(&mut self, values: &[i32], shape: &[u64]) -> Option<PatchRef> {
        self.steps.constant(Tensor::new(values, shape).ok())
    }

    /// Units of a row of the result.
    fn of_row(&self) -> DimExpr {
        &self.steps.batch * DimExpr::from(self.steps.hidden)
    }

    /// The input's part of the step that turn `i` takes; of a turn behind the last it is the last one's, which nobody
    /// reads.
    fn xw_of(&mut self, i: PatchRef, count: PatchRef) -> Option<PatchRef> {
        let last = self.last(count)?;
        let i = self.steps.add(Min {}, &[i, last]);
        let step = if self.steps.op.reverse { self.steps.add(Sub {}, &[last, i]) } else { i };
        Some(self.steps.add(Gather { axis: 0 }, &[self.steps.operands[0]?, step]))
    }

    fn last(&mut self, count: PatchRef) -> Option<PatchRef> {
        let one = self.i32s(&[1], &[])?;
        Some(self.steps.add(Sub {}, &[count, one]))
    }

    /// The step after a step; after the last one the first.
    fn step_after(&mut self, step: PatchRef, count: PatchRef) -> Option<PatchRef> {
        let [zero, one] = [self.i32s(&[0], &[])?, self.i32s(&[1], &[])?];
        if self.steps.op.reverse {
            let (back, last) = (self.steps.add(Sub {}, &[step, one]), self.last(count)?);
            let is_before = self.steps.add(Less {}, &[back, zero]);
            return Some(self.steps.add(Where {}, &[is_before, last, back]));
        }
        let next = self.steps.add(Add {}, &[step, one]);
        let is_one = self.steps.add(Less {}, &[next, count]);
        Some(self.steps.add(Where {}, &[is_one, next, zero]))
    }

    fn first(&mut self, count: PatchRef) -> Option<Carried> {
        let [zero, ahead] = [self.i32s(&[0], &[])?, self.i32s(&[1], &[])?];
        let (state, nothing) = (self.steps.first()?, self.steps.number(0.0)?);
        let place = if self.steps.op.reverse { zero } else { self.last(count)? };
        let shape = vec![1.into(), self.count.clone(), self.of_row()];
        let rows = self.steps.add(Expand { shape }, &[nothing]);
        let row = self.steps.operands[4].map(|_| state.h);
        Some(Carried { ahead, place, xw: self.xw_of(zero, count)?, rows, row, state })
    }

    /// All rows with the one that was made last.
    fn put(&mut self, at: &Carried) -> PatchRef {
        let shape = vec![1.into(), 1.into(), self.of_row()];
        let row = self.steps.add(Reshape { shape }, &[at.made()]);
        let place = self.steps.add(Reshape { shape: vec![1.into()] }, &[at.place]);
        self.steps.add(TensorScatter { axis: 1, mode: AppendMode::Linear }, &[at.rows, row, place])
    }

    /// What a turn leaves of what it begins with.
    fn turn(&mut self, at: &Carried, count: PatchRef) -> Option<Carried> {
        let one = self.i32s(&[1], &[])?;
        let (rows, place) = (self.put(at), self.step_after(at.place, count)?);
        let next = self.steps.step(at.xw, at.state)?;
        // Behind its reader, so that it takes its place.
        let xw = self.xw_of(at.ahead, count)?;
        let ahead = self.steps.add(Add {}, &[at.ahead, one]);
        let Some(lens) = self.steps.operands[4] else {
            return Some(Carried { ahead, place, xw, rows, row: None, state: next });
        };
        let from = self.i32s(&[i32::try_from(self.steps.op.from).ok()?], &[])?;
        let step = self.steps.add(Add {}, &[place, from]);
        let counts = self.steps.add(Less {}, &[step, lens]);
        let shape = vec![self.steps.batch.clone(), 1.into()];
        let counts = self.steps.add(Reshape { shape }, &[counts]);
        let (state, row) = self.steps.where_counted(counts, (next, at.state))?;
        Some(Carried { ahead, place, xw, rows, row: Some(row), state })
    }

    /// The loop; what its last turn leaves.
    fn turns(&mut self, count: PatchRef, (most, running): (i64, DimExpr)) -> Option<Carried> {
        // The symbol is of this loop alone, and builders count upwards.
        let number = -1 - i64::from(running.as_symbol()?.0);
        let (first, flag) = (self.first(count)?, self.i32s(&[1], &[])?);
        let mut begins = Vec::new();
        for (place, init) in (0..).zip([flag].into_iter().chain(first.list())) {
            begins.push(self.steps.add(Carry { number, place }, &[init]));
        }
        self.steps.add(ExtentOf { extent: running.clone() }, &[begins[0]]);
        let at = first.like(&begins[1..])?;
        let next = self.turn(&at, count)?;
        // Nobody looks at the flag of counted turns.
        let ends: Vec<PatchRef> = [begins[0]].into_iter().chain(next.list()).chain(begins).collect();
        let turns = Some(self.count.clone());
        let end = self.steps.add(Loop { number, running, most, turns }, &ends);
        let results = (1..=next.list().len() as u16).map(|k| end.result(k));
        first.like(&results.collect::<Option<Vec<_>>>()?)
    }

    fn replaced(&mut self, graph: &Graph, id: NodeId, running: DimExpr) -> Option<Patch> {
        let most = i64::try_from(self.count.upper(graph.symbols())).ok()?;
        let count = self.steps.add(Extent { axis: 0 }, &[self.steps.operands[0]?]);
        let left = self.turns(count, (most, running))?;
        let rows = self.put(&left);
        let shape = vec![self.count.clone(), self.steps.batch.clone(), self.steps.hidden.into()];
        let y = self.steps.add(Reshape { shape }, &[rows]);
        let outputs = &graph.node(id).outputs;
        let patch = &mut self.steps.patch;
        patch.replace(outputs[0], y);
        patch.replace(outputs[1], left.state.h);
        patch.replace(outputs[2], left.state.c.unwrap_or(left.state.h));
        Some(std::mem::take(patch))
    }
}
