//! `RecurrentLayer`: a cell taken from step to step, in one direction. What recurrent networks are made of.

use super::parts::{Parts, result};
use super::recurrent_layer_samples;
use super::sequence::expect_optional;
use crate::builder::{GraphBuilder, Value, all_or_mistake};
use crate::error::OpError;
use crate::infer::{Infer, Types};
use crate::ops::def::expansion;
use crate::ops::{Grad, OpDef};
use crate::sample::Sample;
use crate::shape::ValueType;
use crate::{Graph, NodeId, Patch, PatchRef};
use pumice_types::{DType, DimExpr};

/// Trips of loops that drivers let one step of a plan make, with room.
const TURNS: u64 = 50_000;

crate::attr_enum! {
    /// What a step computes of the input's part and the hidden state before it.
    pub enum Cell {
        /// h = f(xw + hR).
        Rnn = "rnn",
        /// Gates z, r, h: z = f(..), r = f(..), n = g(xw + (r⊙h)R), h = (1 − z)⊙n + z⊙h.
        Gru = "gru",
        /// Gates i, o, f, c: c = f⊙c + i⊙g(..), h = o⊙h(c).
        Lstm = "lstm",
    }
}

impl Cell {
    /// Gates side by side in inputs and weights.
    pub fn gates(self) -> u64 {
        [1, 3, 4][self as usize]
    }

    /// Its place in the list.
    pub fn number(self) -> u32 {
        self as u32
    }
}

crate::attr_enum! {
    /// An activation of a cell, of α and β.
    pub enum CellActivation {
        /// max(x, 0).
        Relu = "relu",
        /// tanh x.
        Tanh = "tanh",
        /// 1/(1 + e^−x).
        Sigmoid = "sigmoid",
        /// x/(1 + |x|).
        Softsign = "softsign",
        /// ln(1 + e^x).
        Softplus = "softplus",
        /// αx + β.
        Affine = "affine",
        /// x, αx below 0.
        LeakyRelu = "leaky_relu",
        /// x above α, else 0.
        ThresholdedRelu = "thresholded_relu",
        /// α·tanh(βx).
        ScaledTanh = "scaled_tanh",
        /// αx + β within 0 and 1.
        HardSigmoid = "hard_sigmoid",
        /// x, α(e^x − 1) below 0.
        Elu = "elu",
    }
}

impl CellActivation {
    /// Its place in the list.
    pub fn number(self) -> u32 {
        self as u32
    }
}

crate::op! {
    /// A cell for each batch, from the first step to the last or back: xw\[T, B, gates·H\], the input's part of what
    /// gates add up with all that does not depend on the state; r\[H, gates·H\], rb\[H\] added to the last gate of a
    /// GRU before its reset, peepholes p\[3, H\] of i, o and f, lens i32\[B\], h0 and c0 \[B, H\], 0 if not given →
    /// y\[T, B, H\], h and c after the last step, \[B, H\] (a cell without c gives h again). f32. A step at or after
    /// its batch's length leaves the state, and its y is 0; a length of T and more is T, a negative one 0. NaN
    /// propagates.
    pub struct RecurrentLayer {
        /// What a step computes.
        cell: Cell = Cell::Rnn,
        /// Whether steps go from the last to the first.
        reverse: bool = false,
        /// Whether a GRU resets hR + rb, not h.
        linear_before_reset: bool = false,
        /// Whether an LSTM forgets 1 − i.
        input_forget: bool = false,
        /// Before an activation numbers are brought within −clip and clip.
        clip: Option<f32> = None => POSITIVE,
        /// Which step of the whole the first one is: of lengths.
        from: i64 = 0,
        /// The activation of gates, of an RNN the only one.
        f: CellActivation = CellActivation::Tanh,
        /// That of what is new.
        g: CellActivation = CellActivation::Tanh,
        /// That of c.
        h: CellActivation = CellActivation::Tanh,
        /// α of f.
        alpha_f: f32 = 1.0 => FINITE,
        /// β of f.
        beta_f: f32 = 0.0 => FINITE,
        /// α of g.
        alpha_g: f32 = 1.0 => FINITE,
        /// β of g.
        beta_g: f32 = 0.0 => FINITE,
        /// α of h.
        alpha_h: f32 = 1.0 => FINITE,
        /// β of h.
        beta_h: f32 = 0.0 => FINITE,
    }
}

impl Default for RecurrentLayer {
    fn default() -> RecurrentLayer {
        let tanh = CellActivation::Tanh;
        RecurrentLayer {
            cell: Cell::Rnn,
            reverse: false,
            linear_before_reset: false,
            input_forget: false,
            clip: None,
            from: 0,
            f: tanh,
            g: tanh,
            h: tanh,
            alpha_f: 1.0,
            beta_f: 0.0,
            alpha_g: 1.0,
            beta_g: 0.0,
            alpha_h: 1.0,
            beta_h: 0.0,
        }
    }
}

impl OpDef for RecurrentLayer {
    const OPERANDS: &'static [&'static str] = &["xw", "r", "rb?", "p?", "lens?", "h0?", "c0?"];
    const GRAD: Grad<Self> = Grad::No("recurrent networks have none yet");
    const STEERS: &'static [&'static str] = &["lens"];

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        self.check_operands(cx)?;
        self.check_shapes(cx)?;
        let [t, b, h] = [&cx.ty(0)?.shape[0], &cx.ty(0)?.shape[1], &cx.ty(1)?.shape[0]];
        let state = ValueType::new(DType::F32, [b.clone(), h.clone()]);
        let y = ValueType::new(DType::F32, [t.clone(), b.clone(), h.clone()]);
        Ok(smallvec::smallvec![y, state.clone(), state])
    }

    fn samples() -> Vec<Sample> {
        recurrent_layer_samples::samples()
    }

    fn expand(&self, graph: &Graph, id: NodeId) -> Option<Patch> {
        if let Some(steps) = super::unrolled::expand(self, graph, id) {
            return Some(steps);
        }
        if let Some(turns) = super::looped::expand(self, graph, id) {
            return Some(turns);
        }
        let node = graph.node(id);
        let hidden = graph.ty(node.input(1)?).shape[0].as_extent()?;
        let units = hidden.div_ceil(256) + 1;
        let of_step = units * (4 * (hidden.div_ceil(16) + 1) + 8) + 2;
        let span = (TURNS / of_step).max(1);
        let parts = Parts::of(graph, 0, &graph.ty(node.input(0)?).shape[0], span)?;
        Some(self.in_parts(graph, id, (span, &parts)))
    }
}

impl RecurrentLayer {
    fn check_shapes(&self, cx: &Infer<'_>) -> Result<(), OpError> {
        let (b, h) = (&cx.ty(0)?.shape[1], &cx.ty(1)?.shape[0]);
        if cx.constant_extent(h, "the hidden units")? == 0 {
            return Err(OpError::Invalid("no hidden unit".into()));
        }
        let width = &(h * self.cell.gates());
        cx.equal(&cx.ty(1)?.shape[1], width, "columns of `r` and units of all gates")?;
        cx.equal(&cx.ty(0)?.shape[2], width, "columns of `xw` and units of all gates")?;
        let three = &DimExpr::constant(3);
        let shapes: [&[&DimExpr]; 5] = [&[h], &[three, h], &[b], &[b, h], &[b, h]];
        (2..).zip(shapes).try_for_each(|(i, shape)| expect_optional(cx, i, shape))
    }

    /// Which operands a cell has.
    fn check_operands(&self, cx: &Infer<'_>) -> Result<(), OpError> {
        for i in (0..cx.len()).filter(|&i| cx.opt(i).is_some()) {
            cx.expect_dtype(i, &[if i == 4 { DType::I32 } else { DType::F32 }])?;
        }
        cx.expect_rank(0, 3)?;
        cx.expect_rank(1, 2)?;
        if !(0..1 << 31).contains(&self.from) {
            return Err(OpError::Invalid(format!("its first step is {}", self.from)));
        }
        self.check_parts(cx)
    }

    fn check_parts(&self, cx: &Infer<'_>) -> Result<(), OpError> {
        let of_gru = self.cell == Cell::Gru && self.linear_before_reset;
        let of_lstm = self.cell == Cell::Lstm;
        for (i, takes) in [(2, of_gru), (3, of_lstm), (6, of_lstm)] {
            if cx.opt(i).is_some() && !takes {
                let why = format!("a cell {:?} of this kind has no `{}`", self.cell, cx.name(i));
                return Err(OpError::Invalid(why));
            }
        }
        Ok(())
    }

    /// Steps in parts, each of which begins with the state that the one before it leaves.
    fn in_parts(&self, graph: &Graph, id: NodeId, (span, parts): (u64, &Parts)) -> Patch {
        let (node, name) = (graph.node(id), graph.node_name(id));
        let mut patch = expansion(graph, id);
        let mut inputs: Vec<Option<PatchRef>> = (0..7).map(|i| node.input(i).map(PatchRef::Old)).collect();
        let split = inputs[0].map_or_else(Vec::new, |x| parts.split(&mut patch, name, x));
        let mut outputs = split.clone();
        let mut order: Vec<usize> = (0..split.len()).collect();
        if self.reverse {
            order.reverse();
        }
        for part in order {
            inputs[0] = Some(split[part]);
            let op = RecurrentLayer { from: self.from + (part as u64 * span) as i64, ..self.clone() };
            let y = patch.add_opt(op, format!("{name}.steps"), inputs.clone());
            outputs[part] = y;
            inputs[5] = result(y, 1);
            inputs[6] = result(y, 2).filter(|_| self.cell == Cell::Lstm);
        }
        parts.join((graph, id), patch, &outputs, &[inputs[5], inputs[6].or(inputs[5])])
    }
}

impl GraphBuilder {
    /// A cell taken from step to step: xw\[T, B, gates·H\], r\[H, gates·H\], then rb, p, lens, h0, c0 or none →
    /// y\[T, B, H\], h\[B, H\], c\[B, H\]. Networks call [`GraphBuilder::rnn`], [`GraphBuilder::gru`] or
    /// [`GraphBuilder::lstm`], which are made of it.
    #[track_caller]
    pub fn recurrent_layer(
        &self,
        [xw, r]: [Value; 2],
        [rb, p, lens, h0, c0]: [Option<Value>; 5],
        op: RecurrentLayer,
    ) -> [Value; 3] {
        all_or_mistake(&self.apply_all(op, &[Some(xw), Some(r), rb, p, lens, h0, c0]))
    }
}
