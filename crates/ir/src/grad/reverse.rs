//! From the loss back: each entry turns the gradients of its results into those of its operands.
//!
//! In: the way. Out: the sum of the contributions to each value.

use super::sum::sum;
use super::tape::{Entry, Tape, reaches};
use super::{GradError, reason};
use crate::builder::{GraphBuilder, Value};
use crate::entity::{NodeId, ValueId};
use crate::graph::Node;
use crate::ops::gradient::unstretched;
use crate::ops::{Differentiation, ElementwiseGrad, GradCx, Grads, NoGrad};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A walk back.
pub(super) struct Reverse<'a> {
    g: &'a GraphBuilder,
    tape: &'a Tape<'a>,
    loss: ValueId,
    wanted: &'a [ValueId],
    /// Contributions to the gradient of each value, the last node's first.
    parts: BTreeMap<ValueId, Vec<Value>>,
}

impl<'a> Reverse<'a> {
    pub(super) fn new(
        g: &'a GraphBuilder,
        tape: &'a Tape<'a>,
        loss: ValueId,
        wanted: &'a [ValueId],
    ) -> Reverse<'a> {
        let one = g.constant_scalar(g.look(|graph| graph.ty(loss).dtype()), 1.0);
        Reverse { g, tape, loss, wanted, parts: BTreeMap::from([(loss, vec![one])]) }
    }

    pub(super) fn run(&mut self) -> Result<(), GradError> {
        self.pass(self.tape)
    }

    fn pass(&mut self, tape: &Tape<'_>) -> Result<(), GradError> {
        for entry in tape.entries.iter().rev() {
            match *entry {
                Entry::Node(id) => self.node(tape, id)?,
                Entry::Same { outer, inner } => {
                    if let Some(gradient) = self.total(outer) {
                        self.parts.entry(inner).or_default().push(gradient);
                    }
                }
            }
        }
        Ok(())
    }

    /// The gradient of a wanted value.
    pub(super) fn gradient(&mut self, value: ValueId) -> Result<Value, GradError> {
        self.total(value).ok_or_else(|| {
            let [loss, name] = [self.loss, value].map(|v| self.name(v));
            GradError::NotReached { loss, name }
        })
    }

    /// The sum of what was contributed to a value.
    fn total(&mut self, value: ValueId) -> Option<Value> {
        let parts = self.parts.get_mut(&value)?;
        parts.reverse();
        let sum = sum(self.g, parts)?;
        *parts = vec![sum];
        Some(sum)
    }

    fn node(&mut self, tape: &Tape<'_>, id: NodeId) -> Result<(), GradError> {
        let node = self.g.look(|graph| graph.node(id).clone());
        let upstream: Vec<Option<Value>> = node.outputs.iter().map(|&v| self.total(v)).collect();
        if upstream.iter().all(Option::is_none) {
            return Ok(());
        }
        let wanted = tape.moving_operands(&node);
        match self.grads((id, &node), &upstream, &wanted) {
            Ok(grads) => {
                self.contribute(&node, grads, &wanted);
                Ok(())
            }
            Err(NoGrad::Composed) => self.composed(tape, (id, &node), &upstream),
            Err(refusal) => Err(self.refused(&node, reason(refusal))),
        }
    }

    /// Adds the gradients of the operands that are wanted to what there is.
    fn contribute(&mut self, node: &Node, grads: Grads, wanted: &[bool]) {
        let pairs = node.inputs.iter().zip(grads).zip(wanted);
        for ((operand, gradient), _) in pairs.filter(|(_, wanted)| **wanted) {
            let (Some(operand), Some(gradient)) = (*operand, gradient) else { continue };
            let gradient = self.in_shape_of(gradient, operand);
            self.parts.entry(operand).or_default().push(gradient);
        }
    }

    /// The gradients of a node's operands.
    fn grads(
        &self,
        (id, node): (NodeId, &Node),
        upstream: &[Option<Value>],
        wanted: &[bool],
    ) -> Result<Grads, NoGrad> {
        match node.op.differentiation() {
            Differentiation::Scalar => Ok(self.by_scalar_form(node, upstream, wanted)),
            Differentiation::No(why) => Err(NoGrad::Undefined(why)),
            Differentiation::Zero => Ok(Grads::new()),
            Differentiation::Expansion => Err(NoGrad::Composed),
            Differentiation::Rule => {
                let cx = GradCx::new(self.g, (id, node), upstream.to_vec(), wanted.to_vec());
                node.op.grad(&cx).unwrap_or(Err(NoGrad::Composed))
            }
        }
    }

    /// A gradient whose extents are the operand's under other expressions.
    fn in_shape_of(&self, gradient: Value, operand: ValueId) -> Value {
        let shape = self.g.look(|graph| graph.ty(operand).shape.clone());
        match self.g.type_of(gradient) {
            Some(ty) if ty.shape != shape => self.g.reshape_to(gradient, shape.to_vec()),
            _ => gradient,
        }
    }

    /// Of an elementwise op, each at the extents of the result, summed where the operand was stretched.
    fn by_scalar_form(&self, node: &Node, upstream: &[Option<Value>], wanted: &[bool]) -> Grads {
        let Some(dy) = upstream.first().copied().flatten() else { return Grads::new() };
        let of = Arc::new(node.op.clone());
        let given = node.inputs.iter().map(|v| v.map(|v| self.g.value_of(v)));
        let operands: Vec<Option<Value>> = std::iter::once(Some(dy)).chain(given).collect();
        let gradient = |(i, operand): (usize, &Option<ValueId>)| {
            let operand = operand.filter(|_| wanted[i])?;
            let op = ElementwiseGrad { of: of.clone(), operand: i as i64 };
            let at_result = self.g.apply_all(op, &operands)[0];
            let shape = self.g.look(|graph| graph.ty(operand).shape.clone());
            Some(unstretched(self.g, at_result, &shape))
        };
        node.inputs.iter().enumerate().map(gradient).collect()
    }

    /// Passes what a node is made of, where its rule has no formula.
    fn composed(
        &mut self,
        tape: &Tape<'_>,
        (id, node): (NodeId, &Node),
        upstream: &[Option<Value>],
    ) -> Result<(), GradError> {
        let expansion = self.g.look(|graph| node.op.composition(graph, id));
        let Some(patch) = expansion.filter(|patch| patch.found.is_none()) else {
            return Err(self.refused(node, reason(NoGrad::Composed)));
        };
        let inner = Tape::of_expansion(self.g, tape, patch);
        for (&result, gradient) in node.outputs.iter().zip(upstream) {
            self.parts.insert(result, gradient.iter().copied().collect());
        }
        self.pass(&inner)
    }

    fn refused(&self, node: &Node, why: &str) -> GradError {
        let depends =
            |&&v: &&ValueId| self.g.look(|graph| node.outputs.iter().any(|&y| reaches(graph, y, v)));
        let from = self.wanted.iter().find(depends).map(|&v| self.name(v)).unwrap_or_default();
        let (name, loss) = (self.name(node.output()), self.name(self.loss));
        GradError::NotDifferentiable { node: name, op: node.op.name(), why: why.to_owned(), from, loss }
    }

    fn name(&self, value: ValueId) -> String {
        self.g.look(|graph| graph.value(value).name.to_string())
    }
}
