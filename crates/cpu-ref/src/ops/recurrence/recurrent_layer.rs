//! `RecurrentLayer`: a cell, step by step.

use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::tolerance::Tolerance;
use pumice_ir::ops::RecurrentLayer;
use pumice_ir::ops::recurrent_layer::{Cell, CellActivation};

/// The activation of x.
fn activate(act: CellActivation, x: f64, alpha: f32, beta: f32) -> f64 {
    let (alpha, beta) = (f64::from(alpha), f64::from(beta));
    match act {
        CellActivation::Relu if x < 0.0 => 0.0,
        CellActivation::Relu => x,
        CellActivation::Tanh => x.tanh(),
        CellActivation::Sigmoid => 1.0 / (1.0 + (-x).exp()),
        CellActivation::Softsign if x.is_infinite() => f64::NAN,
        CellActivation::Softsign => x / (1.0 + x.abs()),
        CellActivation::Softplus if x.is_nan() => x,
        CellActivation::Softplus => x.max(0.0) + (-x.abs()).exp().ln_1p(),
        CellActivation::Affine => alpha * x + beta,
        CellActivation::LeakyRelu if x < 0.0 => alpha * x,
        CellActivation::LeakyRelu => x,
        CellActivation::ThresholdedRelu if x > alpha || x.is_nan() => x,
        CellActivation::ThresholdedRelu => 0.0,
        CellActivation::ScaledTanh => alpha * (beta * x).tanh(),
        CellActivation::HardSigmoid => (alpha * x + beta).clamp(0.0, 1.0),
        CellActivation::Elu if x > 0.0 => x,
        CellActivation::Elu => alpha * x.exp_m1(),
    }
}

/// Operands and extents.
struct Layer<'a> {
    op: &'a RecurrentLayer,
    cx: &'a EvalCx<'a>,
    steps: usize,
    batches: usize,
    hidden: usize,
    gates: usize,
}

/// A batch's state.
struct State {
    h: Vec<f64>,
    c: Vec<f64>,
    /// The largest sum of sizes before an activation so far.
    largest: f64,
}

impl<'a> Layer<'a> {
    fn of(op: &'a RecurrentLayer, cx: &'a EvalCx<'a>) -> Layer<'a> {
        let extent = |i: usize, axis: usize| cx.arg(i).shape[axis] as usize;
        let (steps, batches, hidden) = (extent(0, 0), extent(0, 1), extent(1, 0));
        Layer { op, cx, steps, batches, hidden, gates: op.cell.gates() as usize }
    }

    fn clip(&self, x: f64) -> f64 {
        let most = self.op.clip.map_or(f64::INFINITY, f64::from);
        if x.is_nan() { x } else { x.clamp(-most, most) }
    }

    fn f(&self, x: f64) -> f64 {
        activate(self.op.f, self.clip(x), self.op.alpha_f, self.op.beta_f)
    }

    fn g(&self, x: f64) -> f64 {
        activate(self.op.g, self.clip(x), self.op.alpha_g, self.op.beta_g)
    }

    fn h(&self, x: f64) -> f64 {
        activate(self.op.h, self.clip(x), self.op.alpha_h, self.op.beta_h)
    }

    fn input(&self, row: usize, gate: usize, u: usize) -> f64 {
        self.cx.arg(0).as_floats()[(row * self.gates + gate) * self.hidden + u]
    }

    /// Σ state·R of a gate and a unit, and of its terms' sizes.
    fn product(&self, state: &[f64], gate: usize, u: usize) -> (f64, f64) {
        let r = self.cx.arg(1).as_floats();
        let term = |k: usize| state[k] * r[(k * self.gates + gate) * self.hidden + u];
        (0..self.hidden).map(term).fold((0.0, 0.0), |(sum, size), t| (sum + t, size + t.abs()))
    }

    fn before(&self, row: usize, state: &mut State, gate: usize, u: usize) -> f64 {
        let (sum, size) = self.product(&state.h, gate, u);
        let x = self.input(row, gate, u);
        state.largest = state.largest.max(x.abs() + size);
        x + sum
    }

    fn gru(&self, row: usize, state: &mut State) -> Vec<f64> {
        let gate = |state: &mut State, gate: usize| -> Vec<f64> {
            (0..self.hidden).map(|u| self.f(self.before(row, state, gate, u))).collect()
        };
        let (z, r) = (gate(state, 0), gate(state, 1));
        let reset: Vec<f64> = state.h.iter().zip(&r).map(|(h, r)| h * r).collect();
        let fresh = |u: usize| {
            let x = self.input(row, 2, u);
            match self.op.linear_before_reset {
                true => {
                    let bias = self.cx.opt(2).map_or(0.0, |rb| rb.as_floats()[u]);
                    x + r[u] * (self.product(&state.h, 2, u).0 + bias)
                }
                false => x + self.product(&reset, 2, u).0,
            }
        };
        (0..self.hidden).map(|u| (1.0 - z[u]) * self.g(fresh(u)) + z[u] * state.h[u]).collect()
    }

    fn lstm(&self, row: usize, state: &mut State) -> Vec<f64> {
        let peephole = |gate: usize, u: usize, c: f64| {
            self.cx.opt(3).map_or(0.0, |p| p.as_floats()[gate * self.hidden + u] * c)
        };
        let mut next = Vec::with_capacity(self.hidden);
        for u in 0..self.hidden {
            let before = state.c[u];
            let i = self.f(self.before(row, state, 0, u) + peephole(0, u, before));
            let forget = match self.op.input_forget {
                true => 1.0 - i,
                false => self.f(self.before(row, state, 2, u) + peephole(2, u, before)),
            };
            let c = forget * before + i * self.g(self.before(row, state, 3, u));
            let o = self.f(self.before(row, state, 1, u) + peephole(1, u, c));
            state.c[u] = c;
            state.largest = state.largest.max(c.abs());
            next.push(o * self.h(c));
        }
        next
    }

    fn advance(&self, row: usize, state: &mut State) {
        state.h = match self.op.cell {
            Cell::Rnn => (0..self.hidden).map(|u| self.f(self.before(row, state, 0, u))).collect(),
            Cell::Gru => self.gru(row, state),
            Cell::Lstm => self.lstm(row, state),
        };
        if self.op.cell != Cell::Lstm {
            state.c.clone_from(&state.h);
        }
    }

    fn first(&self, b: usize) -> State {
        let of = |operand: usize| match self.cx.opt(operand) {
            Some(x) => x.as_floats()[b * self.hidden..(b + 1) * self.hidden].to_vec(),
            None => vec![0.0; self.hidden],
        };
        let h = of(5);
        let c = if self.op.cell == Cell::Lstm { of(6) } else { h.clone() };
        State { h, c, largest: 0.0 }
    }

    /// A batch from its first step to its last.
    fn sequence(&self, b: usize, y: &mut [f64]) -> State {
        let mut state = self.first(b);
        let length = self.cx.opt(4).map_or(i64::MAX, |lens| lens.as_ints()[b]);
        for i in 0..self.steps {
            let at = if self.op.reverse { self.steps - 1 - i } else { i };
            if at as i64 + self.op.from < length {
                let row = at * self.batches + b;
                self.advance(row, &mut state);
                y[row * self.hidden..(row + 1) * self.hidden].copy_from_slice(&state.h);
            }
        }
        state
    }

    /// Results, and the largest sum of sizes before an activation.
    fn walk(&self) -> ([Vec<f64>; 3], f64) {
        let mut y = vec![0.0; self.steps * self.batches * self.hidden];
        let states: Vec<State> = (0..self.batches).map(|b| self.sequence(b, &mut y)).collect();
        let largest = states.iter().fold(0.0f64, |m, state| m.max(state.largest));
        let h = states.iter().flat_map(|state| state.h.iter().copied()).collect();
        let c = states.iter().flat_map(|state| state.c.iter().copied()).collect();
        ([y, h, c], largest)
    }
}

impl Eval for RecurrentLayer {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let (results, _) = Layer::of(self, cx).walk();
        results.into_iter().zip(cx.outputs).map(|(v, (d, shape))| Array::floats(*d, shape, v)).collect()
    }

    /// The class of a sum over hidden units for each step (OPS 3.8).
    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        let (steps, k) = (cx.arg(0).shape[0].max(1), cx.arg(1).shape[0]);
        Tolerance::Sum { k, more: Tolerance::of_sum(k) * (steps - 1) as f64 }
    }

    /// What is largest before an activation, which makes it less steep than α·β or leaves it; gates are at most 1.
    fn magnitude(&self, cx: &EvalCx<'_>) -> Vec<f64> {
        let (results, largest) = Layer::of(self, cx).walk();
        let steep = [self.alpha_f, self.beta_f, self.alpha_g, self.beta_g, self.alpha_h, self.beta_h];
        let steep = steep.into_iter().fold(1.0, |m: f64, v| m.max(f64::from(v.abs())));
        vec![(1.0 + largest) * steep * steep; results[cx.result].len()]
    }
}
