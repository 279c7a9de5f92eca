//! What an op sees when a pass asks how its node is said more simply: what it is under another name, without a
//! transpose of an operand, without an operand that was stretched for it. Ops answer in their own files, each rule
//! beside its equation; passes drive (`eliminate_identities`, `fold_transposes`).

use super::{Op, Transpose};
use crate::builder::scalar_tensor;
use crate::infer::normalize_axis;
use crate::{Graph, Node, NodeId, ValueId};
use smallvec::SmallVec;

/// What a node is more simply.
#[derive(Clone, Debug, PartialEq)]
pub enum Simpler {
    /// Another value of the same type.
    Value(ValueId),
    /// One op over one value.
    Node(Op, ValueId),
    /// The same op over other operands.
    Operands(SmallVec<[Option<ValueId>; 4]>),
}

/// A node that takes values without the transposes that made its operands.
#[derive(Clone, Debug, PartialEq)]
pub struct Untransposed {
    /// The op that means the same over them.
    pub op: Op,
    /// Operands that change, with the values before their transposes.
    pub operands: SmallVec<[(usize, ValueId); 3]>,
    /// The permutation that makes the old first result of the new one; none where they are alike. Further results are
    /// as they were.
    pub after: Option<Transpose>,
}

/// A node in its graph.
#[derive(Clone, Copy)]
pub struct NodeCx<'g> {
    /// The graph.
    pub graph: &'g Graph,
    /// The node.
    pub id: NodeId,
}

impl<'g> NodeCx<'g> {
    /// The node itself.
    pub fn node(&self) -> &'g Node {
        self.graph.node(self.id)
    }

    /// An operand that is there.
    pub fn operand(&self, i: usize) -> Option<ValueId> {
        self.node().input(i)
    }

    /// The node that makes the first operand.
    pub fn before(&self) -> Option<&'g Node> {
        Some(self.graph.def(self.operand(0)?))
    }

    /// The value, if it has the type of the node's result. A value is never replaced by a version of a state, because a
    /// state is read where it is read and not where its value is used.
    pub fn is(&self, x: ValueId) -> Option<Simpler> {
        let same = self.graph.ty(x) == self.graph.ty(self.node().output());
        (same && !self.graph.is_state_version(x)).then_some(Simpler::Value(x))
    }

    /// The first operand, if it has the type of the result.
    pub fn is_operand(&self) -> Option<Simpler> {
        self.is(self.operand(0)?)
    }

    /// f(f(x)) == x: what the operand is made of by the same op.
    pub fn undoes(&self) -> Option<Simpler> {
        let inner = self.before()?;
        if inner.op == self.node().op { self.is(inner.input(0)?) } else { None }
    }

    /// Another op over the operand of the node before, unless that is a version of a state.
    pub fn skips(&self, op: impl Into<Op>) -> Option<Simpler> {
        let x = self.before()?.input(0)?;
        (!self.graph.is_state_version(x)).then(|| Simpler::Node(op.into(), x))
    }

    /// a∘e == a == e∘a: the other one of two operands, if one is neutral.
    pub fn beside_neutral(&self, is_neutral: impl Fn(ValueId) -> bool) -> Option<Simpler> {
        let (a, b) = (self.operand(0)?, self.operand(1)?);
        match (is_neutral(a), is_neutral(b)) {
            (_, true) => self.is(a),
            (true, false) => self.is(b),
            (false, false) => None,
        }
    }

    /// a∘e == a: the first operand, if the second one is neutral.
    pub fn before_neutral(&self, is_neutral: impl Fn(ValueId) -> bool) -> Option<Simpler> {
        if is_neutral(self.operand(1)?) { self.is_operand() } else { None }
    }

    /// Whether a value is a constant of the operands' dtype, every element of which has the bits of `value`.
    pub fn is_all(&self, v: ValueId, value: f64) -> bool {
        let data = self.graph.constant_data(v).filter(|t| !t.bytes().is_empty());
        let dtype = self.operand(0).map(|a| self.graph.ty(a).dtype());
        let Some(data) = data.filter(|t| Some(t.dtype()) == dtype) else { return false };
        let one = scalar_tensor(data.dtype(), value);
        data.bytes().chunks(one.bytes().len()).all(|element| element == one.bytes())
    }

    /// Whether a value is a constant, all of whose bytes are so.
    pub fn has_bytes(&self, v: ValueId, are: impl Fn(u8) -> bool) -> bool {
        self.graph.constant_data(v).is_some_and(|t| t.bytes().iter().all(|&b| are(b)))
    }

    /// The value whose axes `a` and `b`, and no others, are exchanged to make operand `i`.
    pub fn exchanged(&self, i: usize, a: i64, b: i64) -> Option<ValueId> {
        let node = self.graph.def(self.operand(i)?);
        let Op::Transpose(t) = &node.op else { return None };
        let x = node.input(0)?;
        exchanges(t, self.graph.ty(x).rank(), a, b).then_some(x)
    }
}

/// Whether a permutation exchanges two axes and nothing else.
fn exchanges(t: &Transpose, rank: usize, a: i64, b: i64) -> bool {
    let (Ok(a), Ok(b)) = (normalize_axis(a, rank), normalize_axis(b, rank)) else { return false };
    let other = |i: usize| match i {
        _ if i == a => b,
        _ if i == b => a,
        _ => i,
    };
    t.permutation(rank).is_ok_and(|perm| perm.iter().enumerate().all(|(i, &p)| p == other(i)))
}
