//! A recurrent layer of few steps as nodes of their own: a product and the cell for each. Products of a step take the
//! whole device; one kernel for all steps takes a group for each batch. What a step is serves `looped.rs` as well.

use super::recurrent_layer::{Cell, CellActivation, RecurrentLayer};
use crate::ops::def::expansion;
use crate::ops::{
    Add, Affine, Clip, Concat, Constant, Elu, HardSigmoid, LeakyRelu, Less, MatMul, Mul, Op, Relu, Reshape,
    Sigmoid, Slice, Softplus, Softsign, Sub, Tanh, ThresholdedRelu, Where,
};
use crate::{Graph, NodeId, Patch, PatchRef};
use pumice_types::{DimExpr, Tensor};
use std::sync::Arc;

/// The most steps that become nodes of their own.
pub(super) const MOST_STEPS: u64 = 512;

/// Units of all gates from which on they do, beyond the hidden units of which a group holds the weights
/// (`kept.glsl`): fewer are as fast as two levels are.
const LEAST_UNITS: u64 = 256;
const MOST_KEPT: u64 = 128;

/// The steps of a layer, one by one; `None` where one kernel takes them all.
pub(super) fn expand(op: &RecurrentLayer, graph: &Graph, id: NodeId) -> Option<Patch> {
    let node = graph.node(id);
    let (of_xw, of_r) = (graph.ty(node.input(0)?), graph.ty(node.input(1)?));
    let hidden = of_r.shape[0].as_extent()?;
    let steps = of_xw.shape[0].as_extent()?;
    let many_units = hidden > MOST_KEPT && hidden * op.cell.gates() >= LEAST_UNITS;
    if !((1..=MOST_STEPS).contains(&steps) && many_units) {
        return None;
    }
    Steps::of(op, graph, id)?.replaced(graph, id, steps)
}

/// Steps of a layer as nodes.
pub(super) struct Steps<'a> {
    pub op: &'a RecurrentLayer,
    pub patch: Patch,
    name: &'a str,
    pub operands: Vec<Option<PatchRef>>,
    pub batch: DimExpr,
    pub hidden: u64,
}

/// What goes from step to step.
#[derive(Clone, Copy)]
pub(super) struct State {
    pub h: PatchRef,
    /// Of an LSTM alone.
    pub c: Option<PatchRef>,
}

impl<'a> Steps<'a> {
    /// None yet.
    pub fn of(op: &'a RecurrentLayer, graph: &'a Graph, id: NodeId) -> Option<Steps<'a>> {
        let node = graph.node(id);
        let operands = (0..7).map(|i| node.input(i).map(PatchRef::Old)).collect();
        let (batch, hidden) =
            (graph.ty(node.input(0)?).shape[1].clone(), graph.ty(node.input(1)?).shape[0].as_extent()?);
        Some(Steps { op, patch: expansion(graph, id), name: graph.node_name(id), operands, batch, hidden })
    }

    pub fn add(&mut self, op: impl Into<Op>, inputs: &[PatchRef]) -> PatchRef {
        let name = format!("{}.step", self.name);
        self.patch.add(op, name, inputs)
    }

    pub fn constant(&mut self, data: Option<Tensor>) -> Option<PatchRef> {
        let data = Arc::new(data?);
        Some(self.add(Constant { data }, &[]))
    }

    pub fn number(&mut self, v: f32) -> Option<PatchRef> {
        self.constant(Tensor::new(&[v], &[]).ok())
    }

    /// `count` units of the last axis from `from` on.
    fn units(&mut self, x: PatchRef, from: u64, count: u64) -> PatchRef {
        let [starts, ends] = [from, from + count].map(|at| vec![DimExpr::from(at)]);
        self.add(Slice { starts, ends, axes: vec![-1], steps: Vec::new(), exact: true }, &[x])
    }

    /// One gate of what lies for all of them side by side.
    fn gate(&mut self, x: PatchRef, gate: u64) -> PatchRef {
        if self.op.cell.gates() == 1 { x } else { self.units(x, gate * self.hidden, self.hidden) }
    }

    /// Row `t` of x\[T, B, width\], as \[B, width\].
    fn at(&mut self, x: PatchRef, t: u64, width: u64) -> PatchRef {
        let [starts, ends] = [t, t + 1].map(|at| vec![DimExpr::from(at)]);
        let row = self.add(Slice { starts, ends, axes: vec![0], steps: Vec::new(), exact: true }, &[x]);
        let shape = vec![self.batch.clone(), width.into()];
        self.add(Reshape { shape }, &[row])
    }

    fn matmul(&mut self, a: PatchRef, b: PatchRef) -> PatchRef {
        self.add(MatMul::default(), &[a, b])
    }

    /// One of the cell's three activations: of gates, of what is new, of c.
    fn activated(&mut self, which: usize, x: PatchRef) -> Option<PatchRef> {
        let op = self.op;
        let kind = [op.f, op.g, op.h][which];
        let (alpha, beta) =
            [(op.alpha_f, op.beta_f), (op.alpha_g, op.beta_g), (op.alpha_h, op.beta_h)][which];
        let x = match op.clip {
            Some(clip) => {
                let bounds = [self.number(-clip)?, self.number(clip)?];
                self.add(Clip {}, &[x, bounds[0], bounds[1]])
            }
            None => x,
        };
        if kind == CellActivation::ScaledTanh {
            let scaled = |mul| Affine { mul, add: 0.0 };
            let inner = self.add(scaled(beta), &[x]);
            let tanh = self.add(Tanh {}, &[inner]);
            return Some(self.add(scaled(alpha), &[tanh]));
        }
        Some(self.add(one_op(kind, alpha, beta), &[x]))
    }

    /// The state after a step of which `xw` is the input's part.
    pub fn step(&mut self, xw: PatchRef, state: State) -> Option<State> {
        match self.op.cell {
            Cell::Rnn => {
                let (r, h) = (self.operands[1]?, state.h);
                let by_h = self.matmul(h, r);
                let sum = self.add(Add {}, &[xw, by_h]);
                Some(State { h: self.activated(0, sum)?, c: None })
            }
            Cell::Gru => Some(State { h: self.gru(xw, state.h)?, c: None }),
            Cell::Lstm => self.lstm(xw, state),
        }
    }

    /// (1 − z)⊙n + z⊙h.
    fn gru(&mut self, xw: PatchRef, h: PatchRef) -> Option<PatchRef> {
        let (z, n) =
            if self.op.linear_before_reset { self.reset_after(xw, h)? } else { self.reset_before(xw, h)? };
        let n = self.activated(1, n)?;
        let one = self.number(1.0)?;
        let rest = self.add(Sub {}, &[one, z]);
        let [new, old] = [self.add(Mul {}, &[rest, n]), self.add(Mul {}, &[z, h])];
        Some(self.add(Add {}, &[new, old]))
    }

    /// z, and what n is of, where r resets hR + rb.
    fn reset_after(&mut self, xw: PatchRef, h: PatchRef) -> Option<(PatchRef, PatchRef)> {
        let by_h = self.matmul(h, self.operands[1]?);
        let gates = [0, 1].map(|gate| (self.gate(xw, gate), self.gate(by_h, gate)));
        let [z, reset] = self.gates_of(gates)?;
        let mut fresh = self.gate(by_h, 2);
        if let Some(rb) = self.operands[2] {
            fresh = self.add(Add {}, &[fresh, rb]);
        }
        let kept = self.add(Mul {}, &[reset, fresh]);
        let last = self.gate(xw, 2);
        Some((z, self.add(Add {}, &[last, kept])))
    }

    /// The same where r resets h.
    fn reset_before(&mut self, xw: PatchRef, h: PatchRef) -> Option<(PatchRef, PatchRef)> {
        let (r, units) = (self.operands[1]?, self.hidden);
        let [first, last] = [(0, 2 * units), (2 * units, units)].map(|(from, n)| self.units(r, from, n));
        let by_h = self.matmul(h, first);
        let gates = [0, 1].map(|gate| (self.gate(xw, gate), self.units(by_h, gate * units, units)));
        let [z, reset] = self.gates_of(gates)?;
        let kept = self.add(Mul {}, &[reset, h]);
        let fresh = self.matmul(kept, last);
        let part = self.gate(xw, 2);
        Some((z, self.add(Add {}, &[part, fresh])))
    }

    /// Gates of their two parts.
    fn gates_of(&mut self, parts: [(PatchRef, PatchRef); 2]) -> Option<[PatchRef; 2]> {
        let sums = parts.map(|(a, b)| self.add(Add {}, &[a, b]));
        Some([self.activated(0, sums[0])?, self.activated(0, sums[1])?])
    }

    fn lstm(&mut self, xw: PatchRef, State { h, c }: State) -> Option<State> {
        let (r, before) = (self.operands[1]?, c?);
        let by_h = self.matmul(h, r);
        let all = self.add(Add {}, &[xw, by_h]);
        let i = self.peeped(all, 0, before)?;
        let forget = self.forget(all, i, before)?;
        let new = self.gate(all, 3);
        let new = self.activated(1, new)?;
        let [kept, new] = [self.add(Mul {}, &[forget, before]), self.add(Mul {}, &[i, new])];
        let c = self.add(Add {}, &[kept, new]);
        let o = self.peeped(all, 1, c)?;
        let out = self.activated(2, c)?;
        Some(State { h: self.add(Mul {}, &[o, out]), c: Some(c) })
    }

    /// How much of c stays, of which i is what comes.
    fn forget(&mut self, all: PatchRef, i: PatchRef, c: PatchRef) -> Option<PatchRef> {
        if !self.op.input_forget {
            return self.peeped(all, 2, c);
        }
        let one = self.number(1.0)?;
        Some(self.add(Sub {}, &[one, i]))
    }

    /// A gate of an LSTM with its peephole to c, if there is one.
    fn peeped(&mut self, all: PatchRef, which: u64, c: PatchRef) -> Option<PatchRef> {
        let mut gate = self.gate(all, which);
        if let Some(p) = self.operands[3] {
            let [starts, ends] = [which, which + 1].map(|at| vec![DimExpr::from(at)]);
            let p = self.add(Slice { starts, ends, axes: vec![0], steps: Vec::new(), exact: true }, &[p]);
            let seen = self.add(Mul {}, &[p, c]);
            gate = self.add(Add {}, &[gate, seen]);
        }
        self.activated(0, gate)
    }

    /// For every step and batch, whether the step counts: \[T, B, 1\].
    fn counted(&mut self, count: u64) -> Option<PatchRef> {
        let lens = self.operands[4]?;
        let from = self.op.from;
        let steps: Vec<i32> = (0..count as i64).map(|t| (from + t) as i32).collect();
        let steps = self.constant(Tensor::new(&steps, &[count, 1, 1]).ok())?;
        let lens = self.add(Reshape { shape: vec![1.into(), self.batch.clone(), 1.into()] }, &[lens]);
        Some(self.add(Less {}, &[steps, lens]))
    }

    /// A state that is not given: zeros, as many as the batch.
    fn zeros(&mut self) -> Option<PatchRef> {
        let zero = self.number(0.0)?;
        let shape = vec![self.batch.clone(), self.hidden.into()];
        Some(self.add(crate::ops::Expand { shape }, &[zero]))
    }

    /// The state before the first step.
    pub fn first(&mut self) -> Option<State> {
        let h = self.operands[5].or_else(|| self.zeros())?;
        let lstm = self.op.cell == Cell::Lstm;
        Some(State { h, c: if lstm { Some(self.operands[6].or_else(|| self.zeros())?) } else { None } })
    }

    /// Every step, results at their places, and the state after the last one.
    fn all_steps(&mut self, count: u64) -> Option<(Vec<PatchRef>, State)> {
        let (counted, mut state) = (self.counted(count), self.first()?);
        let mut rows = vec![None; count as usize];
        for i in 0..count {
            let t = if self.op.reverse { count - 1 - i } else { i };
            let xw = self.at(self.operands[0]?, t, self.hidden * self.op.cell.gates());
            let next = self.step(xw, state)?;
            let (next, row) = match counted {
                Some(all) => {
                    let counts = self.at(all, t, 1);
                    self.where_counted(counts, (next, state))?
                }
                None => (next, next.h),
            };
            (state, rows[t as usize]) = (next, Some(row));
        }
        Some((rows.into_iter().collect::<Option<Vec<_>>>()?, state))
    }

    /// A step that does not count leaves the state, and its result is 0.
    pub fn where_counted(
        &mut self,
        counts: PatchRef,
        (next, before): (State, State),
    ) -> Option<(State, PatchRef)> {
        let h = self.add(Where {}, &[counts, next.h, before.h]);
        let c = next.c.zip(before.c).map(|(new, old)| self.add(Where {}, &[counts, new, old]));
        let zero = self.number(0.0)?;
        Some((State { h, c }, self.add(Where {}, &[counts, next.h, zero])))
    }

    fn replaced(mut self, graph: &Graph, id: NodeId, count: u64) -> Option<Patch> {
        let node = graph.node(id);
        let (rows, state) = self.all_steps(count)?;
        let (batch, hidden) = (self.batch.clone(), DimExpr::from(self.hidden));
        let row = vec![DimExpr::constant(1), batch, hidden];
        let rows: Vec<PatchRef> =
            rows.into_iter().map(|y| self.add(Reshape { shape: row.clone() }, &[y])).collect();
        let y = if rows.len() == 1 { rows[0] } else { self.add(Concat { axis: 0 }, &rows) };
        self.patch.replace(node.outputs[0], y);
        self.patch.replace(node.outputs[1], state.h);
        self.patch.replace(node.outputs[2], state.c.unwrap_or(state.h));
        Some(self.patch)
    }
}

/// The op that an activation is; that of a scaled tanh is its tanh.
fn one_op(kind: CellActivation, alpha: f32, beta: f32) -> Op {
    match kind {
        CellActivation::Relu => Relu {}.into(),
        CellActivation::Tanh | CellActivation::ScaledTanh => Tanh {}.into(),
        CellActivation::Sigmoid => Sigmoid {}.into(),
        CellActivation::Softsign => Softsign {}.into(),
        CellActivation::Softplus => Softplus {}.into(),
        CellActivation::Affine => Affine { mul: alpha, add: beta }.into(),
        CellActivation::LeakyRelu => LeakyRelu { alpha }.into(),
        CellActivation::ThresholdedRelu => ThresholdedRelu { alpha }.into(),
        CellActivation::HardSigmoid => HardSigmoid { alpha, beta }.into(),
        CellActivation::Elu => Elu { alpha }.into(),
    }
}
