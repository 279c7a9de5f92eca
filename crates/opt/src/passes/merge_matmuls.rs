//! Products (`MatMul`) of one left operand with several weights become one product with the weights side by side (OPS
//! F3: queries, keys and values; gate and up).
//!
//! x·W₁, x·W₂, … == slices of x·[W₁ W₂ …], and (x·Wᵢ + bᵢ) == slices of x·[W₁ W₂ …] + [b₁ b₂ …]. A product without a
//! bias among others with one gets −0, since x + −0 == x. Sums have the same terms in the same order, so values are the
//! same to the bit. The weights are known when loading: they are joined there, and reading a param still gives what was
//! stored.
//!
//! Weights in blocks are merged with those of the same scheme where they can lie side by side: blocks are not copied.
//! Left alone: weights that vary or have batch axes, products whose readers would copy a slice (norms, reductions: they
//! want dense rows), left operands known when loading. Before: transposes are folded into flags. Runs once: a merged
//! product is not merged again. Ops besides: biases are `Add`, weights may be results of a `Cast`, those in blocks are
//! `Param`s, and a `Reshape` that splits the columns is a view.

use crate::pipeline::PassCx;
use crate::rewrite::{Facts, decoded, range_of, stored};
use pumice_ir::builder::scalar_tensor;
use pumice_ir::ops::{Add, Cast, Concat, Constant, MatMul};
use pumice_ir::{Graph, Node, NodeId, Op, Patch, PatchRef, ValueId};
use pumice_types::slots::LOAD_BYTES;
use pumice_types::tensor::byte_count;
use pumice_types::{DType, DimExpr, Encoding, Tensor, When};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Products merged into one at most: enough for queries, keys, values, gate and up; more would keep values alive for
/// layers.
const MOST: usize = 6;

/// One patch for every set of products that are merged.
pub fn merge_matmuls(graph: &Graph, _: &PassCx<'_>) -> Vec<Patch> {
    let facts = Facts::new(graph);
    let mut sets: BTreeMap<Key, Vec<Member>> = BTreeMap::new();
    for (id, node) in graph.nodes() {
        if let Some((key, member)) = member(graph, &facts, id, node) {
            sets.entry(key).or_default().push(member);
        }
    }
    let mut sets: Vec<Vec<Member>> = sets.into_values().collect();
    sets.sort_by_key(|members| members[0].product);
    sets.iter()
        .flat_map(|members| members.chunks(MOST))
        .filter(|p| p.len() > 1)
        .map(|p| merge(graph, p))
        .collect()
}

/// What products must share: left operand, attributes, how the weight is stored, the branches that they stand in. K
/// agrees because the left operand does.
type Key = (ValueId, [bool; 2], Option<DType>, Encoding, When);

struct Member {
    product: NodeId,
    op: MatMul,
    x: ValueId,
    weight: ValueId,
    columns: u64,
    /// The addition of a bias known when loading, and the bias.
    bias: Option<(NodeId, ValueId)>,
}

impl Member {
    /// The value that a slice of the merged product replaces.
    fn result(&self, graph: &Graph) -> ValueId {
        graph.node(self.bias.map_or(self.product, |(add, _)| add)).output()
    }
}

fn member(graph: &Graph, facts: &Facts, product: NodeId, node: &Node) -> Option<(Key, Member)> {
    let Op::MatMul(op) = &node.op else { return None };
    let (x, weight) = (node.input(0)?, node.input(1)?);
    let known = |v: ValueId| facts.is_load_time(graph.value(v).def.0);
    let shape = graph.ty(weight).static_shape().filter(|s| s.len() == 2)?;
    if !known(weight) || known(x) || !may_lie_beside(graph, facts, op, weight) {
        return None;
    }
    let columns = if op.trans_b { shape[0] } else { shape[1] };
    let bias = bias(graph, facts, node, columns);
    let member = Member { product, op: op.clone(), x, weight, columns, bias };
    let result = member.result(graph);
    let fits = columns > 0 && reads_strides(graph, facts, result, columns);
    let (order, stored) = ([op.trans_a, op.trans_b], stored(graph, weight));
    fits.then(|| ((x, order, op.rounding.dtype(), stored, facts.when(product)), member))
}

/// Whether blocks can stay as they are beside others: whole rows of a param that nothing else wants.
fn may_lie_beside(graph: &Graph, facts: &Facts, op: &MatMul, weight: ValueId) -> bool {
    if graph.def(weight).op.is_scaling() {
        return false; // Codes are read where they lie.
    }
    if stored(graph, weight).scheme().is_none() {
        return true;
    }
    let Some(param) = decoded(graph, weight) else { return false };
    let bytes = graph.ty(param).static_shape().and_then(|s| byte_count(graph.ty(param).encoding, &s).ok());
    let alone = facts.only_user(param).is_some() && facts.only_user(weight).is_some();
    let is_param = matches!(graph.def(param).op, Op::Param(_));
    op.trans_b && alone && is_param && bytes.is_some_and(|b| b.is_multiple_of(LOAD_BYTES))
}

/// The addition of a vector along the columns that alone uses the product.
fn bias(graph: &Graph, facts: &Facts, product: &Node, columns: u64) -> Option<(NodeId, ValueId)> {
    let y = product.output();
    let add = facts.only_user(y)?;
    let node = graph.node(add);
    let other = match (&node.op, node.input(0)?, node.input(1)?) {
        (Op::Add(_), a, b) if a == y => b,
        (Op::Add(_), a, b) if b == y => a,
        _ => return None,
    };
    let vector = graph.ty(other).static_shape() == Some(vec![columns]);
    (vector && facts.is_load_time(graph.value(other).def.0)).then_some((add, other))
}

/// Whether every reader can walk a slice of wider rows, so that cutting costs no copy. After a transpose a copy is
/// made, or not made, with and without the slice.
fn reads_strides(graph: &Graph, facts: &Facts, v: ValueId, columns: u64) -> bool {
    facts.users(v).iter().all(|&user| {
        let node = graph.node(user);
        match &node.op {
            op if op.reads_strides() => true,
            // A view if the columns are split among themselves.
            Op::Reshape(_) => {
                splits_last(&graph.ty(node.output()).shape, columns)
                    && reads_strides(graph, facts, node.output(), columns)
            }
            _ => false,
        }
    })
}

/// Whether the last axes of a shape hold so many elements together.
fn splits_last(shape: &[DimExpr], columns: u64) -> bool {
    let mut count = 1u64;
    for d in shape.iter().rev() {
        if count == columns {
            return true;
        }
        match d.as_extent().and_then(|d| count.checked_mul(d)) {
            Some(n) if n <= columns => count = n,
            _ => return false,
        }
    }
    count == columns
}

fn merge(graph: &Graph, members: &[Member]) -> Patch {
    let first = &members[0];
    let name = graph.node_name(first.product);
    let names: Vec<&str> = members.iter().map(|p| graph.node_name(p.product)).collect();
    let mut patch = Patch::new(format!("merge {}", names.join(", ")));
    let axis = if first.op.trans_b { 0 } else { 1 };
    let weights: Vec<ValueId> = members.iter().map(|p| p.weight).collect();
    let weight = joined(&mut patch, graph, &weights, axis, &format!("{name}.weights"));
    let mut y = patch.add(first.op.clone(), format!("{name}.merged"), &[PatchRef::Old(first.x), weight]);
    if members.iter().any(|p| p.bias.is_some()) {
        let bias = biases(&mut patch, graph, members, name);
        y = patch.add(Add {}, format!("{name}.biased"), &[y, bias]);
    }
    let mut start = 0;
    for member in members {
        let end = start + member.columns;
        let result = member.result(graph);
        let piece = patch.add(range_of(-1, start..end), graph.value(result).name.clone(), &[y]);
        patch.replace(result, piece);
        start = end;
    }
    patch
}

/// The biases one after the other, −0 where there is none.
fn biases(patch: &mut Patch, graph: &Graph, members: &[Member], name: &str) -> PatchRef {
    if let Some(all) = members.iter().map(|p| p.bias.map(|(_, b)| b)).collect::<Option<Vec<ValueId>>>() {
        return joined(patch, graph, &all, 0, &format!("{name}.biases"));
    }
    let mut pieces = Vec::new();
    for member in members {
        let dtype = graph.ty(member.weight).dtype();
        pieces.push(match member.bias {
            Some((_, b)) => PatchRef::Old(b),
            None => {
                let data = Arc::new(negative_zeros(dtype, member.columns));
                patch.add(Constant { data }, format!("{}.no_bias", graph.node_name(member.product)), &[])
            }
        });
    }
    patch.add(Concat { axis: 0 }, format!("{name}.biases"), &pieces)
}

fn negative_zeros(dtype: DType, n: u64) -> Tensor {
    let one = scalar_tensor(dtype, -0.0);
    let bytes = one.bytes().repeat(n as usize);
    Tensor::from_bytes(dtype, &[n], bytes).expect("n elements of the dtype were made")
}

/// concat(cast(a), cast(b), …) == cast(concat(a, b, …)): the narrow form is joined, so that a kernel may still read it.
fn joined(patch: &mut Patch, graph: &Graph, values: &[ValueId], axis: i64, name: &str) -> PatchRef {
    let stored = |&v: &ValueId| match &graph.def(v).op {
        Op::Cast(_) => graph.def(v).input(0).map(|x| (x, graph.ty(x).dtype())),
        _ => None,
    };
    let concat = |patch: &mut Patch, vs: &[ValueId], name: &str| {
        let operands: Vec<PatchRef> = vs.iter().copied().map(PatchRef::Old).collect();
        patch.add(Concat { axis }, name, &operands)
    };
    let sources: Option<Vec<(ValueId, DType)>> = values.iter().map(stored).collect();
    match sources {
        Some(s) if s.iter().all(|(_, d)| *d == s[0].1) => {
            let narrow: Vec<ValueId> = s.iter().map(|(v, _)| *v).collect();
            let together = concat(patch, &narrow, &format!("{name}.stored"));
            patch.add(Cast { to: graph.ty(values[0]).dtype() }, name, &[together])
        }
        _ => concat(patch, values, name),
    }
}
