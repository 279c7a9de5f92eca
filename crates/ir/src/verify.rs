//! The verifier: every rule of a graph, every violation. Runs after building, after reading, and after every pass;
//! in the last case what it finds is a defect of the pass.

mod found;
mod loops;
mod states;

pub(crate) use found::unheld_count;

use crate::entity::{NodeId, ValueId};
use crate::error::BuildError;
use crate::form::{Form, verify_form};
use crate::graph::{Graph, Node};
use crate::infer::{infer_types, normalize_axis};
use crate::loops::Loops;
use crate::ops::{NodeCx, Op};
use crate::shape::ValueType;
use crate::state::Feed;
use indexmap::{IndexMap, IndexSet};
use pumice_types::{DType, DimExpr, Encoding, ScalarId, Var};

/// A graph that breaks a rule.
#[derive(Clone, PartialEq, thiserror::Error)]
pub enum VerifyError {
    /// A rule that users can break too.
    #[error(transparent)]
    Program(#[from] BuildError),
    /// An operand is defined after its user.
    #[error("{node} uses {operand} before it is defined")]
    Order {
        /// The user.
        node: String,
        /// The operand.
        operand: ValueId,
    },
    /// A stored type is not what inference gives.
    #[error("{value} is stored as {stored}, inference gives {inferred}")]
    Type {
        /// The value.
        value: String,
        /// The type it has.
        stored: String,
        /// The type it should have.
        inferred: String,
    },
    /// A value does not know its node.
    #[error("{0} does not point back to the node that defines it")]
    Definition(String),
    /// An op that may not occur in this form.
    #[error("{node}: {op} may not be left in this form")]
    Form {
        /// The node.
        node: String,
        /// Its op.
        op: &'static str,
    },
}

pumice_types::debug_as_display!(VerifyError);

/// Every violation of every rule.
pub fn verify(graph: &Graph, form: Form) -> Result<(), Vec<VerifyError>> {
    let mut errors = structure(graph);
    if errors.is_empty() {
        errors.extend(types(graph));
        errors.extend(verify_form(graph, form));
        errors.extend(program_rules(graph).into_iter().map(VerifyError::from));
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

fn structure(graph: &Graph) -> Vec<VerifyError> {
    let mut errors = Vec::new();
    let mut next = 0;
    for (id, node) in graph.nodes() {
        let name = || graph.values.get(node.output().index()).map_or(id.to_string(), |v| v.name.to_string());
        for operand in node.operands().filter(|v| v.index() >= next) {
            errors.push(VerifyError::Order { node: name(), operand });
        }
        for (i, &v) in node.outputs.iter().enumerate() {
            let points_back = graph.values.get(v.index()).is_some_and(|info| info.def == (id, i as u16));
            if v.index() != next || !points_back {
                errors.push(VerifyError::Definition(name()));
            }
            next += 1;
        }
    }
    errors
}

fn types(graph: &Graph) -> Vec<VerifyError> {
    let mut errors = Vec::new();
    for (id, node) in graph.nodes() {
        let name = graph.node_name(id);
        match infer_types(graph, &node.op, &node.inputs) {
            Err(source) => {
                errors.push(BuildError::Op { node: name.to_owned(), op: node.op.name(), source }.into());
            }
            Ok((types, _)) => {
                for (&v, ty) in node.outputs.iter().zip(&types).filter(|&(&v, ty)| graph.ty(v) != ty) {
                    errors.push(VerifyError::Type {
                        value: graph.value(v).name.to_string(),
                        stored: graph.ty(v).display(&graph.symbols),
                        inferred: ty.display(&graph.symbols),
                    });
                }
                if types.len() != node.outputs.len() {
                    errors.push(VerifyError::Definition(name.to_owned()));
                }
            }
        }
    }
    errors
}

/// The rules that hold between nodes and that users can break.
pub(crate) fn program_rules(graph: &Graph) -> Vec<BuildError> {
    let mut errors = Vec::new();
    let mut names = IndexSet::with_capacity(graph.values.len());
    for (_, v) in graph.values() {
        if !names.insert(&*v.name) {
            errors.push(BuildError::DuplicateName(v.name.to_string()));
        }
    }
    if graph.outputs.is_empty() && graph.states().is_empty() {
        errors.push(BuildError::NoOutput);
    }
    for output in &graph.outputs {
        let encoding = graph.ty(output.value).encoding;
        if encoding.plain().is_none() {
            errors.push(BuildError::BlocksOutput { output: output.name.clone(), encoding });
        }
    }
    let loops = Loops::of(graph);
    errors.extend(states::state_rules(graph, &loops));
    errors.extend(feed_rules(graph));
    errors.extend(stop_rule(graph));
    errors.extend(scalar_rules(graph));
    errors.extend(stream_rule(graph));
    errors.extend(found::found_rules(graph));
    errors.extend(loops::loop_rules(graph, &loops));
    errors.extend(loops::nesting_rule(graph, &loops));
    errors
}

fn feed_rules(graph: &Graph) -> Vec<BuildError> {
    let mut errors = Vec::new();
    for feed in &graph.feeds {
        let (Some(output), Some(state)) =
            (graph.outputs.get(feed.output), graph.values.get(feed.state.index()))
        else {
            continue;
        };
        let (from, to) = (graph.ty(output.value), &state.ty);
        errors.extend(wrong_feed(graph, feed, from, to).into_iter().map(|reason| {
            let (output, state) = (output.name.clone(), state.name.to_string());
            BuildError::Feed { output, state, reason }
        }));
    }
    errors
}

/// What is wrong with a feed of a value of type `from` to a state of type `to`.
fn wrong_feed(graph: &Graph, feed: &Feed, from: &ValueType, to: &ValueType) -> Vec<String> {
    if !matches!(graph.def(feed.state).op, Op::State(_)) {
        return vec!["the target is not a state".into()];
    }
    let mut wrong = Vec::new();
    if feed.kind.is_too_large() {
        wrong.push(format!("an expression has more than {} variables and operations", DimExpr::MOST_ATOMS));
    }
    if from.dtype() != to.dtype() {
        wrong.push(format!("the output is {}, the state {}; insert a cast", from.dtype(), to.dtype()));
    }
    let axis = feed.kind.axis();
    if from.rank() != to.rank() || axis.is_some_and(|a| normalize_axis(a as i64, to.rank()).is_err()) {
        wrong.push("ranks differ, or the axis is outside them".into());
        return wrong;
    }
    for (i, (a, b)) in from.shape.iter().zip(to.shape.iter()).enumerate() {
        let (lo, hi) = (a - b).bounds(&graph.symbols);
        if Some(i) != axis && (lo > 0 || hi < 0) {
            wrong.push(format!("axis {i} differs: {a} and {b}"));
        }
    }
    wrong
}

/// What stops is one truth value.
fn stop_rule(graph: &Graph) -> Option<BuildError> {
    let output = graph.outputs.get(graph.stop?)?;
    let ty = graph.ty(output.value);
    let one = ty.shape.iter().all(|d| d.is(1));
    let of = |reason: String| BuildError::Stop { output: output.name.clone(), reason };
    if ty.encoding != Encoding::Plain(DType::Bool) || !one {
        return Some(of(format!("it is {}, not one bool", ty.display(&graph.symbols))));
    }
    let (finder, _) = graph.nodes().find(|(_, node)| node.op.finds().is_some())?;
    let finder = graph.node_name(finder);
    Some(of(format!(
        "`{finder}` finds an extent, a branch or the turns of a loop; a program does that or stops its replays, not both"
    )))
}

/// Two unlike nodes that take one source's stream would have the same numbers: only one may that repeats the other.
fn stream_rule(graph: &Graph) -> Vec<BuildError> {
    let mut errors = Vec::new();
    let mut taken: IndexMap<(u64, [Option<ValueId>; 2]), NodeId> = IndexMap::new();
    for (id, node) in graph.nodes() {
        let Some(stream) = node.op.stream() else { continue };
        let [seed_low, seed_high, _] = source_of(graph, node);
        let first = *taken.entry((stream, [seed_low, seed_high])).or_insert(id);
        if !repeats(graph, graph.node(first), node) && !drops_again(graph, first, node) {
            let [node, other] = [id, first].map(|n| graph.node_name(n).to_owned());
            errors.push(BuildError::Stream { node, other, stream });
        }
    }
    errors
}

/// Where a node draws its numbers, up to barriers.
fn source_of(graph: &Graph, node: &Node) -> [Option<ValueId>; 3] {
    let source = node.inputs.len().saturating_sub(3);
    [0, 1, 2].map(|i| node.input(source + i).map(|v| graph.before_barriers(v)))
}

/// Whether a node that draws again waits for what it draws for: its step is behind a barrier after its first operand.
fn is_ordered(graph: &Graph, again: &Node) -> bool {
    let step = again.inputs.last().copied().flatten();
    let awaited = step.and_then(|v| graph.def(v).op.is_barrier().then(|| graph.def(v).input(0)).flatten());
    awaited.is_some() && awaited == again.input(0)
}

/// Whether a node drops again what another drops of a value that it makes inside: a gradient does.
fn drops_again(graph: &Graph, first: NodeId, again: &Node) -> bool {
    let inside = graph.node(first).op.drops_inside(&NodeCx { graph, id: first });
    inside.is_some_and(|(op, shape)| {
        again.op == op
            && graph.ty(again.output()).shape[..] == shape[..]
            && source_of(graph, graph.node(first)) == source_of(graph, again)
            && is_ordered(graph, again)
    })
}

/// Whether a node draws what another has drawn: its operands are the same up to barriers. A gradient draws again for
/// its own first operand, which it waits for.
fn repeats(graph: &Graph, first: &Node, again: &Node) -> bool {
    let bare = |v: &Option<ValueId>| v.map(|v| graph.before_barriers(v));
    let source = again.inputs.len().saturating_sub(3);
    let ordered = is_ordered(graph, again);
    let types = |node: &Node| node.outputs.iter().map(|&v| graph.ty(v).clone()).collect::<Vec<_>>();
    let mut pairs = again.inputs.iter().zip(&first.inputs).enumerate();
    again.op == first.op
        && again.inputs.len() == first.inputs.len()
        && types(again) == types(first)
        && pairs.all(|(i, (a, b))| bare(a) == bare(b) || (ordered && i < source))
}

/// Attributes name integer scalars that stand before their node.
fn strange_scalars(graph: &Graph, scalars: &[ValueId]) -> Vec<BuildError> {
    let mut errors = Vec::new();
    for (id, node) in graph.nodes().filter(|(_, node)| !matches!(node.op, Op::Scalar(_))) {
        let known = |s: ScalarId| scalars.get(s.0 as usize).filter(|&&v| graph.value(v).def.0 < id);
        let is_int = |s: ScalarId| known(s).is_some_and(|&v| graph.ty(v).dtype() != DType::F32);
        let mut strange = None;
        let is_strange = |v: Var| matches!(v, Var::Scalar(s) if !is_int(s));
        node.op.visit_dims(&mut |e| strange = strange.or(e.find_var(is_strange)));
        if let Some(var) = strange {
            let reason = format!("it names {var:?}, which is no integer scalar before it");
            errors.push(BuildError::Scalar { name: graph.node_name(id).to_owned(), reason });
        }
    }
    errors
}

fn scalar_rules(graph: &Graph) -> Vec<BuildError> {
    let scalars = graph.scalars();
    let is_int = |v: Var| match v {
        Var::Symbol(id) => graph.symbols.get(id).is_some(),
        Var::Scalar(id) => scalars.get(id.0 as usize).is_some_and(|&s| graph.ty(s).dtype() != DType::F32),
    };
    let mut errors = Vec::new();
    for &v in &scalars {
        let Node { op: Op::Scalar(scalar), .. } = graph.def(v) else { continue };
        if let Some(bad) = scalar.advance.iter().find_map(|e| e.find_var(|v| !is_int(v))) {
            let reason = format!("its advance mentions {bad:?}, which is not a symbol or an integer scalar");
            errors.push(BuildError::Scalar { name: graph.value(v).name.to_string(), reason });
        }
    }
    errors.extend(strange_scalars(graph, &scalars));
    for (_, value) in graph.values() {
        if value.ty.shape.iter().any(|d| d.find_var(|v| matches!(v, Var::Scalar(_))).is_some()) {
            let reason = "an extent mentions a dynamic scalar; extents are symbols".to_owned();
            errors.push(BuildError::Scalar { name: value.name.to_string(), reason });
        }
    }
    errors
}
