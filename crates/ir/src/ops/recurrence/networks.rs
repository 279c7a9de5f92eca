//! RNN, GRU and LSTM, as compositions.

use super::recurrent_layer::{Cell, CellActivation, RecurrentLayer};
use super::sequence::expect_optional;
use crate::attr::{AttrError, FloatRange};
use crate::builder::{Composition, GraphBuilder, Value, in_range};
use crate::error::OpError;
use crate::infer::Infer;
use crate::ops::elementwise::FLOATS;
use crate::ops::{Cast, Identity};
use pumice_types::{DType, DimExpr};

/// Which way steps are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the first to the last.
    #[default]
    Forward,
    /// From the last of each sequence to the first.
    Reverse,
    /// Both, by weights of their own.
    Bidirectional,
}

impl Direction {
    /// All of them.
    pub const ALL: [Direction; 3] = [Direction::Forward, Direction::Reverse, Direction::Bidirectional];

    /// How many directions it is.
    pub fn count(self) -> u64 {
        if self == Direction::Bidirectional { 2 } else { 1 }
    }
}

/// Which axis of a network's operands and results is first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SequenceLayout {
    /// X\[T, B, I\], states \[D, B, H\], Y\[T, D, B, H\] (ONNX layout 0).
    #[default]
    StepsFirst,
    /// X\[B, T, I\], states \[B, D, H\], Y\[B, T, D, H\] (ONNX layout 1).
    BatchFirst,
}

/// An activation with its α and β.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Activation {
    /// Which one.
    pub kind: CellActivation,
    /// α.
    pub alpha: f32,
    /// β.
    pub beta: f32,
}

impl From<CellActivation> for Activation {
    /// With the α and β that ONNX has for it.
    fn from(kind: CellActivation) -> Activation {
        let (alpha, beta) = match kind {
            CellActivation::LeakyRelu => (0.01, 0.0),
            CellActivation::HardSigmoid => (0.2, 0.5),
            CellActivation::ScaledTanh => (1.0, 1.0),
            _ => (1.0, 0.0),
        };
        Activation { kind, alpha, beta }
    }
}

/// What all networks have: attributes of [`GraphBuilder::rnn`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rnn {
    /// Which way steps are taken.
    pub direction: Direction,
    /// Activations: of an RNN f (tanh), of a GRU f and g (σ, tanh), of an LSTM f, g and h (σ, tanh, tanh), for each
    /// direction; the usual ones if empty.
    pub activations: Vec<Activation>,
    /// What activations are given is brought within −clip and clip.
    pub clip: Option<f32>,
    /// Which axis is first.
    pub layout: SequenceLayout,
}

/// Attributes of [`GraphBuilder::gru`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gru {
    /// What all networks have.
    pub base: Rnn,
    /// Whether the reset gate is applied to hRᵀ + Rb, not to h.
    pub linear_before_reset: bool,
}

/// Attributes of [`GraphBuilder::lstm`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lstm {
    /// What all networks have.
    pub base: Rnn,
    /// Whether the forget gate is 1 − i.
    pub input_forget: bool,
}

/// Operands of a network that may be absent.
#[derive(Clone, Copy, Debug, Default)]
pub struct NetworkOperands {
    /// Wb, then Rb: \[D, 2·gates·H\].
    pub bias: Option<Value>,
    /// Lengths, i32\[B\].
    pub lens: Option<Value>,
    /// h before the first step.
    pub h0: Option<Value>,
    /// c before the first step: of an LSTM.
    pub c0: Option<Value>,
    /// Peepholes of i, o and f, \[D, 3·H\]: of an LSTM.
    pub peepholes: Option<Value>,
}

const NAMES: &[&str] = &["x", "w", "r", "bias", "lens", "h0", "c0", "peepholes"];

impl GraphBuilder {
    /// An RNN (ONNX RNN): h = f(X·Wᵀ + h·Rᵀ + Wb + Rb) for each step. X\[T, B, I\], W\[D, H, I\], R\[D, H, H\] →
    /// Y\[T, D, B, H\] and h after the last step, \[D, B, H\]; with the batch first see [`SequenceLayout`].
    ///
    /// From its length on Y of a sequence is 0 and its state stays; backward it begins at its last step. A length of T
    /// and more is T, a negative one 0. X·Wᵀ of all steps is one product. T and B may be symbols; D, H and I are
    /// constants. 16-bit floats are computed in f32 and rounded once.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// # use pumice_ir::ops::networks::{NetworkOperands, Rnn};
    /// let g = GraphBuilder::new("g");
    /// let (x, w, r) = (g.input("x", f32([20, 1, 8])), g.param("w", f32([1, 16, 8])), g.param("r", f32([1, 16, 16])));
    /// let (y, h) = g.rnn([x, w, r], NetworkOperands::default(), Rnn::default());
    /// g.output("y", y);
    /// g.output("h", h);
    /// assert_eq!(g.build()?.outputs().len(), 2);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn rnn(&self, main: [Value; 3], operands: NetworkOperands, op: Rnn) -> (Value, Value) {
        let network = Network { method: "rnn", cell: Cell::Rnn, base: op, before: false, coupled: false };
        let [y, h, _] = self.network(main, operands, &network);
        (y, h)
    }

    /// A GRU (ONNX GRU), gates in the order z, r, h: z and r = f(X·Wᵀ + h·Rᵀ + Wb + Rb),
    /// n = g(X·Wᵀ + (r⊙h)·Rᵀ + Rb + Wb), or with `linear_before_reset` g(X·Wᵀ + r⊙(h·Rᵀ + Rb) + Wb),
    /// h = (1 − z)⊙n + z⊙h. Operands and results as those of [`GraphBuilder::rnn`], with three gates in W, R and bias.
    #[track_caller]
    pub fn gru(&self, main: [Value; 3], operands: NetworkOperands, op: Gru) -> (Value, Value) {
        let Gru { base, linear_before_reset: before } = op;
        let network = Network { method: "gru", cell: Cell::Gru, base, before, coupled: false };
        let [y, h, _] = self.network(main, operands, &network);
        (y, h)
    }

    /// An LSTM (ONNX LSTM), gates in the order i, o, f, c: i and f = f(X·Wᵀ + h·Rᵀ + P⊙c + Wb + Rb) of the c before,
    /// c = f⊙c + i⊙g(X·Wᵀ + h·Rᵀ + Wb + Rb), o = f(… + P⊙c) of the new c, h = o⊙h(c). Operands and results as those of
    /// [`GraphBuilder::rnn`], with four gates in W, R and bias; the third result is c after the last step.
    #[track_caller]
    pub fn lstm(&self, main: [Value; 3], operands: NetworkOperands, op: Lstm) -> (Value, Value, Value) {
        let Lstm { base, input_forget: coupled } = op;
        let network = Network { method: "lstm", cell: Cell::Lstm, base, before: false, coupled };
        let [y, h, c] = self.network(main, operands, &network);
        (y, h, c)
    }

    #[track_caller]
    fn network(&self, main: [Value; 3], operands: NetworkOperands, network: &Network) -> [Value; 3] {
        let [x, w, r] = main.map(Some);
        let NetworkOperands { bias, lens, h0, c0, peepholes } = operands;
        let given = [x, w, r, bias, lens, h0, c0, peepholes];
        let types = match self.checked_options(network.method, NAMES, &given, |cx| network.check(cx)) {
            Ok(types) => types,
            Err(mistake) => return [mistake; 3],
        };
        let [Some(of_x), _, Some(of_r), ..] = &types[..] else { return main };
        let (dtype, hidden) = (of_x.dtype(), of_r.shape[2].as_extent().unwrap_or(1));
        self.composition(network.method).network_of((main, operands), network, (dtype, hidden))
    }
}

impl Composition {
    #[track_caller]
    fn network_of(
        self,
        operands: ([Value; 3], NetworkOperands),
        network: &Network,
        (dtype, hidden): (DType, u64),
    ) -> [Value; 3] {
        let parts = Parts::new(&self, operands, network, (dtype, hidden));
        let mut all: Vec<[Value; 3]> = Vec::new();
        for direction in 0..network.base.direction.count() {
            all.push(self.one_direction(network, &parts, direction));
        }
        let narrowed = |v: Value| if dtype == DType::F32 { v } else { self.cast(v, dtype) };
        let [h, c] = [1, 2].map(|i| narrowed(parts.turned(&self, self.side_by_side(&all, i, 0))));
        let y = self.side_by_side(&all, 0, 1);
        let y = if parts.steps_first { y } else { self.transpose(y, &[2, 0, 1, 3]) };
        let y = match dtype {
            DType::F32 => self.last().apply(Identity {}, &[y]),
            to => self.last().apply(Cast { to }, &[y]),
        };
        [y, h, c]
    }
}

/// Operands in f32, steps first.
struct Parts {
    x: Value,
    w: Value,
    r: Value,
    others: NetworkOperands,
    hidden: u64,
    /// Whether they were so.
    steps_first: bool,
}

impl Parts {
    #[track_caller]
    fn new(
        g: &Composition,
        (main, others): ([Value; 3], NetworkOperands),
        network: &Network,
        (dtype, hidden): (DType, u64),
    ) -> Parts {
        let [x, w, r] = main.map(|v| g.widened(v, dtype));
        let steps_first = network.base.layout == SequenceLayout::StepsFirst;
        let mut parts = Parts { x, w, r, others, hidden, steps_first };
        parts.x = parts.turned(g, x);
        let all = &mut parts.others;
        for v in [&mut all.bias, &mut all.peepholes, &mut all.h0, &mut all.c0] {
            *v = v.map(|v| g.widened(v, dtype));
        }
        let states = [parts.others.h0, parts.others.c0].map(|state| state.map(|v| parts.turned(g, v)));
        [parts.others.h0, parts.others.c0] = states;
        parts
    }

    /// With the first two axes exchanged, where the batch is the first.
    #[track_caller]
    fn turned(&self, g: &Composition, v: Value) -> Value {
        if self.steps_first { v } else { g.transpose(v, &[1, 0, 2]) }
    }
}

impl Composition {
    /// Result i of all directions, along a new axis.
    #[track_caller]
    fn side_by_side(&self, all: &[[Value; 3]], i: usize, axis: i64) -> Value {
        let all: Vec<Value> = all.iter().map(|of| self.unsqueeze(of[i], &[axis])).collect();
        if all.len() == 1 { all[0] } else { self.concat(&all, axis) }
    }

    /// Weights of a direction, transposed.
    #[track_caller]
    fn weights(&self, v: Value, d: u64) -> Value {
        self.transpose(self.of_direction(v, d), &[1, 0])
    }

    /// The part of a direction, without that axis.
    #[track_caller]
    fn of_direction(&self, v: Value, d: u64) -> Value {
        self.squeeze(self.narrow(v, 0, d, 1), &[0])
    }

    #[track_caller]
    fn one_direction(&self, network: &Network, parts: &Parts, d: u64) -> [Value; 3] {
        let of = |v: Value| self.of_direction(v, d);
        let products = self.matmul(parts.x, self.weights(parts.w, d));
        let NetworkOperands { bias, lens, h0, c0, peepholes } = parts.others;
        let (xw, rb) = match bias {
            Some(bias) => self.biased(products, of(bias), network, parts.hidden),
            None => (products, None),
        };
        let p = peepholes.map(|p| self.reshape(of(p), &[3, parts.hidden as i64]));
        self.recurrent_layer(
            [xw, self.weights(parts.r, d)],
            [rb, p, lens, h0.map(of), c0.map(of)],
            network.layer(d as usize),
        )
    }

    /// X·Wᵀ with all biases that do not depend on the state, and the one that a reset gate is applied to.
    #[track_caller]
    fn biased(&self, xw: Value, bias: Value, network: &Network, hidden: u64) -> (Value, Option<Value>) {
        let half = network.cell.gates() * hidden;
        let [wb, of_r] = [0, half].map(|at| self.narrow(bias, 0, at, half));
        let added = self.add(wb, of_r);
        if !network.before {
            return (self.add(xw, added), None);
        }
        let last = |v: Value| self.narrow(v, 0, 2 * hidden, hidden);
        let added = self.concat(&[self.narrow(added, 0, 0, 2 * hidden), last(wb)], 0);
        (self.add(xw, added), Some(last(of_r)))
    }
}

/// A network of some cell.
struct Network {
    method: &'static str,
    cell: Cell,
    base: Rnn,
    /// `linear_before_reset`.
    before: bool,
    /// `input_forget`.
    coupled: bool,
}

impl Network {
    /// Activations of each direction.
    fn per_direction(&self) -> usize {
        [1, 2, 3][self.cell as usize]
    }

    /// Activations of a direction: those given, or the usual ones.
    fn activations(&self, d: usize) -> [Activation; 3] {
        let first = if self.cell == Cell::Rnn { CellActivation::Tanh } else { CellActivation::Sigmoid };
        let usual = [first, CellActivation::Tanh, CellActivation::Tanh].map(Activation::from);
        let n = self.per_direction();
        let given = self.base.activations.get(d * n..(d + 1) * n).unwrap_or(&[]);
        [0, 1, 2].map(|i| given.get(i).copied().unwrap_or(usual[i]))
    }

    /// The layer of a direction.
    fn layer(&self, d: usize) -> RecurrentLayer {
        let [f, g, h] = self.activations(d);
        RecurrentLayer {
            cell: self.cell,
            reverse: self.base.direction == Direction::Reverse || d == 1,
            linear_before_reset: self.before,
            input_forget: self.coupled,
            clip: self.base.clip,
            from: 0,
            f: f.kind,
            g: g.kind,
            h: h.kind,
            alpha_f: f.alpha,
            beta_f: f.beta,
            alpha_g: g.alpha,
            beta_g: g.beta,
            alpha_h: h.alpha,
            beta_h: h.beta,
        }
    }

    fn check(&self, cx: &Infer<'_>) -> Result<(), OpError> {
        self.check_attributes()?;
        self.check_dtypes(cx)?;
        (0..3).try_for_each(|i| cx.expect_rank(i, 3))?;
        let hidden = &cx.ty(2)?.shape[2];
        cx.constant_extent(&cx.ty(0)?.shape[2], "the elements of a step")?;
        if cx.constant_extent(hidden, "the hidden units")? == 0 {
            return Err(OpError::Invalid("no hidden unit".into()));
        }
        self.check_shapes(cx, hidden)
    }

    /// One float dtype but for lengths, and what only an LSTM has.
    fn check_dtypes(&self, cx: &Infer<'_>) -> Result<(), OpError> {
        cx.expect_dtype(0, FLOATS)?;
        for i in (1..8).filter(|&i| cx.opt(i).is_some()) {
            match i {
                4 => cx.expect_dtype(i, &[DType::I32])?,
                6 | 7 if self.cell != Cell::Lstm => {
                    return Err(OpError::Invalid(format!(
                        "`{}` is given, which only `lstm` takes",
                        cx.name(i)
                    )));
                }
                _ => cx.same_dtype(0, i)?,
            };
        }
        Ok(())
    }

    fn check_shapes(&self, cx: &Infer<'_>, h: &DimExpr) -> Result<(), OpError> {
        let x = &cx.ty(0)?.shape;
        let steps_first = self.base.layout == SequenceLayout::StepsFirst;
        let (b, i, d) = (&x[usize::from(steps_first)], &x[2], &DimExpr::from(self.base.direction.count()));
        let width = &(h * self.cell.gates());
        let (biases, peepholes) = (&(width * 2), &(h * 3));
        let state: &[&DimExpr] = if steps_first { &[d, b, h] } else { &[b, d, h] };
        let shapes: [&[&DimExpr]; 7] =
            [&[d, width, i], &[d, width, h], &[d, biases], &[b], state, state, &[d, peepholes]];
        (1..).zip(shapes).try_for_each(|(operand, shape)| expect_optional(cx, operand, shape))
    }

    fn check_attributes(&self) -> Result<(), OpError> {
        let (given, wanted) =
            (self.base.activations.len(), self.per_direction() * self.base.direction.count() as usize);
        if given != 0 && given != wanted {
            let reason = format!("{given} are given, {wanted} are needed");
            return Err(AttrError::Value { name: "activations", reason }.into());
        }
        if let Some(clip) = self.base.clip {
            in_range("clip", clip, FloatRange::POSITIVE)?;
        }
        for act in &self.base.activations {
            in_range("alpha", act.alpha, FloatRange::FINITE)?;
            in_range("beta", act.beta, FloatRange::FINITE)?;
        }
        Ok(())
    }
}
