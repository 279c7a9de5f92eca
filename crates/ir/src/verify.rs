//! The verifier: every rule of a graph, every violation. Runs after building, after reading, and after every pass;
//! in the last case what it finds is a defect of the pass.

use crate::entity::{NodeId, ValueId};
use crate::error::BuildError;
use crate::form::{Form, verify_form};
use crate::graph::{Graph, Node};
use crate::infer::{infer_types, normalize_axis};
use crate::ops::Op;
use crate::shape::ValueType;
use crate::state::Feed;
use indexmap::{IndexMap, IndexSet};
use pumice_types::{DType, DimExpr, Encoding, Var};
use std::collections::BTreeSet;

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
    errors.extend(state_rules(graph));
    errors.extend(feed_rules(graph));
    errors.extend(stop_rule(graph));
    errors.extend(scalar_rules(graph));
    errors.extend(stream_rule(graph));
    errors
}

fn state_rules(graph: &Graph) -> Vec<BuildError> {
    let mut errors = Vec::new();
    let mut wrong = |(v, reason): (ValueId, &str)| {
        let state = graph.value(v).name.to_string();
        errors.push(BuildError::State { state, reason: reason.to_owned() });
    };
    let mut written = BTreeSet::new();
    for (_, node) in graph.nodes() {
        wrong_leaf(graph, node).into_iter().for_each(&mut wrong);
        wrong_write(graph, node, &mut written).into_iter().for_each(&mut wrong);
        if let Some(read) = node.op.state_read().and_then(|i| node.input(i)) {
            let is_input = matches!(graph.def(read).op, Op::Input(_));
            if graph.state_of(read).is_none() && !is_input {
                wrong((read, "it is read as a state but is not a version of one"));
            }
        }
    }
    errors.extend(late_readers(graph));
    errors
}

/// What is wrong with a node that declares a state.
fn wrong_leaf(graph: &Graph, node: &Node) -> Vec<(ValueId, &'static str)> {
    let Op::State(state) = &node.op else { return Vec::new() };
    let mut wrong = Vec::new();
    let stored = state.ty.dtype().is_float() || state.ty.dtype().is_int();
    if !stored {
        wrong.push((node.output(), "a state is a float or integer tensor"));
    }
    if let Some(init) = node.input(0)
        && !matches!(graph.def(init).op, Op::Param(_) | Op::Constant(_))
    {
        wrong.push((node.output(), "its initial value must be a param or a constant"));
    }
    wrong
}

/// What is wrong with a node that writes a state. `written` are the versions that nodes before it wrote.
fn wrong_write(
    graph: &Graph,
    node: &Node,
    written: &mut BTreeSet<ValueId>,
) -> Option<(ValueId, &'static str)> {
    let previous = node.op.state_operand().and_then(|i| node.input(i))?;
    if graph.state_of(previous).is_none() {
        // A meaning has an input in the place of the state; lowering refuses that in a program.
        let functional = matches!(graph.def(previous).op, Op::Input(_));
        let reason = "it is written through a value that is not a version of a state";
        return (!functional).then(|| (node.output(), reason));
    }
    let reason = "two ops write the same version; chain them, so that their order is explicit";
    (!written.insert(previous)).then_some((previous, reason))
}

/// A reader of a version that itself depends on a later version could only be served by a copy of the whole state.
fn late_readers(graph: &Graph) -> Vec<BuildError> {
    let mut errors = Vec::new();
    let users = graph.users();
    for (id, writer) in graph.nodes() {
        let Some(previous) = writer.op.state_operand().and_then(|i| writer.input(i)) else { continue };
        let mut later: Vec<NodeId> = users[previous.index()].iter().copied().filter(|&u| u > id).collect();
        later.dedup();
        for reader in later.into_iter().filter(|&reader| depends(graph, reader, id)) {
            errors.push(BuildError::State {
                state: graph.value(previous).name.to_string(),
                reason: format!(
                    "{} reads this version but also depends on the next one; read it through state_read before the write",
                    graph.node_name(reader)
                ),
            });
        }
    }
    errors
}

/// Whether a node depends on an earlier one. Operands come before their users, so only nodes between the two are looked
/// at.
fn depends(graph: &Graph, node: NodeId, earlier: NodeId) -> bool {
    let (mut seen, mut open) = (BTreeSet::new(), vec![node]);
    while let Some(next) = open.pop() {
        let defined_by = graph.node(next).operands().map(|v| graph.value(v).def.0);
        for def in defined_by.filter(|&def| def >= earlier) {
            if def == earlier {
                return true;
            }
            if seen.insert(def) {
                open.push(def);
            }
        }
    }
    false
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
    (ty.encoding != Encoding::Plain(DType::Bool) || !one).then(|| BuildError::Stop {
        output: output.name.clone(),
        reason: format!("it is {}, not one bool", ty.display(&graph.symbols)),
    })
}

/// Two unlike nodes that take one source's stream would have the same numbers.
fn stream_rule(graph: &Graph) -> Vec<BuildError> {
    let mut errors = Vec::new();
    let mut taken: IndexMap<(u64, [Option<ValueId>; 2]), NodeId> = IndexMap::new();
    for (id, node) in graph.nodes() {
        let Some(stream) = node.op.stream() else { continue };
        let source = node.inputs.len().saturating_sub(3);
        let seed = [node.input(source), node.input(source + 1)];
        let first = *taken.entry((stream, seed)).or_insert(id);
        let other = graph.node(first);
        if node.op != other.op || node.inputs != other.inputs {
            let [node, other] = [id, first].map(|n| graph.node_name(n).to_owned());
            errors.push(BuildError::Stream { node, other, stream });
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
    for (_, value) in graph.values() {
        if value.ty.shape.iter().any(|d| d.find_var(|v| matches!(v, Var::Scalar(_))).is_some()) {
            let reason = "an extent mentions a dynamic scalar; extents are symbols".to_owned();
            errors.push(BuildError::Scalar { name: value.name.to_string(), reason });
        }
    }
    errors
}
