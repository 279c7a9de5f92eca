//! Removes nodes that give one of their operands back, and copies of extents that the consumer would make anyway.
//!
//! Every rule holds for every value, NaN, −0 and infinities included; it stands beside its code as an equation. A value
//! is never replaced by a version of a state, because a state is read where it is read and not where its value is used; what
//! was written whole may be used where it is read back, so that fusion does not stop at the state.
//! Before: any verified graph. After: none of the patterns is left.
//!
//! Ops that have rules: `Identity`; `Reshape`, `Cast`, `Expand`, `Transpose`, `Slice`, `Concat`, `Max` and `Min` of one; `Neg`,
//! `Not` and `BitwiseNot` twice; `Add`, `Sub`, `Mul`, `Div`, `And`, `Or`, `Xor`, `BitwiseAnd`, `BitwiseOr` and `BitwiseXor` with
//! their neutral elements. `MatMul` and `Attention` broadcast some of their operands themselves.

use crate::pipeline::PassCx;
use crate::rewrite::retype::keeps_types;
use pumice_ir::builder::scalar_tensor;
use pumice_ir::infer::normalize_axis;
use pumice_ir::ops::{Cast, Expand, Reshape, Transpose};
use pumice_ir::{Conditions, Graph, Node, NodeId, Op, Patch, PatchRef, ValueId};
use pumice_types::{DType, DimExpr};
use std::cell::LazyCell;

/// The graph's conditions, put together when a rule first asks for them.
type Known<'g> = LazyCell<Conditions, Box<dyn FnOnce() -> Conditions + 'g>>;

/// One patch for every node that a rule removes or shortens.
pub fn eliminate_identities(graph: &Graph, _: &PassCx<'_>) -> Vec<Patch> {
    let known: Known<'_> = LazyCell::new(Box::new(|| Conditions::of(graph.constraints())));
    graph.nodes().filter_map(|(id, node)| eliminate(graph, &known, id, node)).collect()
}

fn eliminate(graph: &Graph, known: &Known<'_>, id: NodeId, node: &Node) -> Option<Patch> {
    let x =
        given_back(graph, node).filter(|&x| graph.ty(x) == graph.ty(node.output()) && !is_version(graph, x));
    if let Some(x) = x {
        let mut patch = Patch::new(format!("{} is {}", graph.node_name(id), graph.value(x).name));
        patch.replace(node.output(), PatchRef::Old(x));
        return Some(patch);
    }
    shortened(graph, id, node).or_else(|| unexpanded(graph, known, id, node))
}

/// Whether a value is a version of a state.
fn is_version(graph: &Graph, v: ValueId) -> bool {
    matches!(graph.def(v).op, Op::State(_)) || graph.def(v).op.state_operand().is_some()
}

/// Whether a value is the bytes of a version of a state, possibly under a view: it must be read before they are overwritten.
fn shows_version(graph: &Graph, mut v: ValueId) -> bool {
    loop {
        let node = graph.def(v);
        match node.input(0).filter(|_| node.op.is_movement()) {
            _ if is_version(graph, v) => return true,
            Some(x) => v = x,
            None => return false,
        }
    }
}

/// The operand (or operand's operand) that the node's value is, if its type agrees; the caller compares types.
fn given_back(graph: &Graph, node: &Node) -> Option<ValueId> {
    let x = node.input(0)?;
    let same_type = graph.ty(x) == graph.ty(node.output());
    match &node.op {
        // id(x) == x
        Op::Identity(_) => Some(x),
        // what is read of a state that was written whole == what was written
        op if op.state_read().is_some() => {
            let write = graph.def(node.input(op.state_read()?)?);
            write.input(write.op.whole_state()?).filter(|&v| !shows_version(graph, v))
        }
        // reshape(x, shape of x) == x; cast(x, dtype of x) == x; expand(x, shape of x) == x
        Op::Reshape(_) | Op::Cast(_) | Op::Expand(_) if same_type => Some(x),
        // cast(cast(x, wide), dtype of x) == x
        Op::Cast(_) => lossless_source(graph, node),
        // transpose(x, identity) == x
        Op::Transpose(t) => {
            let perm = t.permutation(graph.ty(x).rank()).ok()?;
            perm.iter().enumerate().all(|(i, &p)| i == p).then_some(x)
        }
        // x[0.., step 1] == x where the extents are x's
        Op::Slice(s) if same_type => {
            let ranges = s.ranges(&graph.ty(x).shape, graph.symbols()).ok()?;
            ranges.iter().all(|r| r.step == 1 && r.start.is(0)).then_some(x)
        }
        // concat(x) == x; max(x) == x; min(x) == x
        Op::Concat(_) | Op::Max(_) | Op::Min(_) if node.inputs.len() == 1 => Some(x),
        // -(-x) == x; !(!x) == x
        Op::Neg(_) | Op::Not(_) | Op::BitwiseNot(_) => {
            let inner = graph.def(x);
            (inner.op == node.op).then(|| inner.input(0)).flatten()
        }
        _ => neutral(graph, node),
    }
}

/// The operand that an operation with its neutral element gives back.
fn neutral(graph: &Graph, node: &Node) -> Option<ValueId> {
    let (a, b) = (node.input(0)?, node.input(1)?);
    let dtype = graph.ty(a).dtype();
    let is = |v: ValueId, value: f64| graph.ty(v).dtype() == dtype && is_all(graph, v, value);
    // x + 0 is not x for x = -0: of the zeros only -0 is neutral. x - 0 == x + -0.
    let zero = if dtype.is_float() { -0.0 } else { 0.0 };
    match &node.op {
        // x + -0 == x == -0 + x; for integers x + 0 == x
        Op::Add(_) => either(a, b, |v| is(v, zero)),
        // x - 0 == x
        Op::Sub(_) => is(b, 0.0).then_some(a),
        // x * 1 == x == 1 * x
        Op::Mul(_) => either(a, b, |v| is(v, 1.0)),
        // x / 1 == x
        Op::Div(_) => is(b, 1.0).then_some(a),
        // x | 0 == x; x ^ 0 == x
        Op::BitwiseOr(_) | Op::BitwiseXor(_) => either(a, b, |v| is(v, 0.0)),
        // x & -1 == x
        Op::BitwiseAnd(_) => {
            either(a, b, |v| graph.constant_data(v).is_some_and(|t| t.bytes().iter().all(|&b| b == 255)))
        }
        // x and true == x
        Op::And(_) => {
            either(a, b, |v| graph.constant_data(v).is_some_and(|t| t.bytes().iter().all(|&b| b != 0)))
        }
        // x or false == x; x xor false == x
        Op::Or(_) | Op::Xor(_) => either(a, b, |v| is(v, 0.0)),
        _ => None,
    }
}

/// The other one of two operands, if one is neutral.
fn either(a: ValueId, b: ValueId, is_neutral: impl Fn(ValueId) -> bool) -> Option<ValueId> {
    match (is_neutral(a), is_neutral(b)) {
        (_, true) => Some(a),
        (true, false) => Some(b),
        (false, false) => None,
    }
}

/// Whether a value is a constant, every element of which has the bits of `value`.
fn is_all(graph: &Graph, v: ValueId, value: f64) -> bool {
    let Some(data) = graph.constant_data(v).filter(|t| !t.bytes().is_empty()) else { return false };
    let one = scalar_tensor(data.dtype(), value);
    data.bytes().chunks(one.bytes().len()).all(|element| element == one.bytes())
}

/// x of cast(cast(x, wide), dtype of x), where no value of x is lost on the way.
fn lossless_source(graph: &Graph, node: &Node) -> Option<ValueId> {
    let (x, wide) = cast_source(graph, node)?;
    let from = graph.ty(x).dtype();
    (from == graph.ty(node.output()).dtype() && is_lossless(from, wide)).then_some(x)
}

/// The operand of a cast of a cast, and the dtype between.
fn cast_source(graph: &Graph, node: &Node) -> Option<(ValueId, DType)> {
    let between = node.input(0)?;
    let inner = graph.def(between);
    matches!(inner.op, Op::Cast(_)).then(|| inner.input(0)).flatten().map(|x| (x, graph.ty(between).dtype()))
}

/// Whether every value of `from` is one of `to`, of the same kind of number.
fn is_lossless(from: DType, to: DType) -> bool {
    match (from, to) {
        _ if from == to => true,
        (DType::F16 | DType::BF16, DType::F32) => true,
        _ if from.is_float() || to.is_float() || to == DType::Bool => false,
        (DType::Bool, _) => true,
        _ => {
            let (signed, wide_signed) = (is_signed(from), is_signed(to));
            to.natural_bytes() > from.natural_bytes() && (wide_signed || !signed)
        }
    }
}

fn is_signed(dtype: DType) -> bool {
    matches!(dtype, DType::I8 | DType::I16 | DType::I32 | DType::I64)
}

/// Two movements as one.
fn shortened(graph: &Graph, id: NodeId, node: &Node) -> Option<Patch> {
    let between = node.input(0)?;
    let inner = graph.def(between);
    let (op, x): (Op, ValueId) = match (&node.op, &inner.op) {
        // reshape(reshape(x, s), t) == reshape(x, t)
        (Op::Reshape(_), Op::Reshape(_)) => {
            (Reshape { shape: graph.ty(node.output()).shape.to_vec() }.into(), inner.input(0)?)
        }
        // transpose(transpose(x, p), q)[i] has axis p[q[i]] of x
        (Op::Transpose(q), Op::Transpose(p)) => {
            let x = inner.input(0)?;
            let rank = graph.ty(x).rank();
            let (p, q) = (p.permutation(rank).ok()?, q.permutation(rank).ok()?);
            (Transpose { perm: q.iter().map(|&i| p[i] as i64).collect() }.into(), x)
        }
        // expand(expand(x, s), t) == expand(x, broadcast(s, t))
        (Op::Expand(_), Op::Expand(_)) => {
            (Expand { shape: graph.ty(node.output()).shape.to_vec() }.into(), inner.input(0)?)
        }
        // cast(cast(x, wide), to) == cast(x, to) where wide holds every value of x's dtype and is of its kind
        (Op::Cast(c), Op::Cast(_)) => {
            let (x, wide) = cast_source(graph, node)?;
            (is_lossless(graph.ty(x).dtype(), wide) && graph.ty(x).dtype() != DType::Bool)
                .then_some((Cast { to: c.to }.into(), x))?
        }
        _ => return None,
    };
    if is_version(graph, x) {
        return None;
    }
    let name = graph.node_name(id);
    let mut patch = Patch::new(format!("{name} skips {}", graph.value(between).name));
    let y = patch.add(op, name, &[PatchRef::Old(x)]);
    patch.replace(node.output(), y);
    Some(patch)
}

/// op(…, expand(x), …) == op(…, x, …) where the op broadcasts x to the same extents: elementwise ops, batch axes of a
/// product, the mask of attention.
fn unexpanded(graph: &Graph, known: &Known<'_>, id: NodeId, node: &Node) -> Option<Patch> {
    let mut inputs: Vec<Option<ValueId>> = node.inputs.to_vec();
    let mut changed = Vec::new();
    for i in 0..inputs.len() {
        let Some(v) = inputs[i] else { continue };
        let Some(x) = matches!(graph.def(v).op, Op::Expand(_)).then(|| graph.def(v).input(0)).flatten()
        else {
            continue;
        };
        if !broadcasts(graph, node, i, x) {
            continue;
        }
        inputs[i] = Some(x);
        if keeps_types(graph, known, id, &inputs) {
            changed.push(&*graph.value(v).name);
        } else {
            inputs[i] = Some(v);
        }
    }
    if changed.is_empty() {
        return None;
    }
    let name = graph.node_name(id);
    let mut patch = Patch::new(format!("{name} broadcasts without {}", changed.join(", ")));
    let y = patch.add_opt(node.op.clone(), name, inputs.into_iter().map(|v| v.map(PatchRef::Old)).collect());
    patch.replace(node.output(), y);
    Some(patch)
}

/// Whether operand `i` of the op is broadcast to the extents that the others give, `x` being its source.
fn broadcasts(graph: &Graph, node: &Node, i: usize, x: ValueId) -> bool {
    let last = |v: ValueId| graph.ty(v).shape.last().cloned().unwrap_or(DimExpr::constant(1));
    match &node.op {
        Op::MatMul(_) => graph.ty(x).rank() >= 2,
        // A last axis that is shorter means that the keys beyond it are not allowed.
        Op::Attention(_) => {
            i == 3 && graph.ty(x).rank() >= 2 && node.input(3).is_some_and(|v| last(v) == last(x))
        }
        op => op.is_elementwise(),
    }
}

/// Whether a permutation exchanges two axes and nothing else.
pub(super) fn exchanges(t: &Transpose, rank: usize, a: i64, b: i64) -> bool {
    let (Ok(a), Ok(b)) = (normalize_axis(a, rank), normalize_axis(b, rank)) else { return false };
    let other = |i: usize| {
        if i == a {
            b
        } else if i == b {
            a
        } else {
            i
        }
    };
    t.permutation(rank).is_ok_and(|perm| perm.iter().enumerate().all(|(i, &p)| p == other(i)))
}
