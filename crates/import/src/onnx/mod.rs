//! ONNX nodes as calls of the graph's builder: what each op of ONNX's default domain is here.
//!
//! In: a node (op, opset, attributes) and its inputs, as values or, where a rule needs the numbers while building
//! (shapes, axes, pads), as constants. Out: the values of its outputs. Every attribute of a node is read by its rule
//! or the node is refused by name: nothing is ignored.

mod attention;
mod body;
mod call;
mod control;
mod elementwise;
mod error;
mod found;
mod loss;
mod movement;
mod node;
mod norm;
mod product;
mod recurrence;
mod reduction;
mod resize;
mod signal;
mod window;

pub use error::OnnxError;
pub use node::{OnnxAttribute, OnnxGraph, OnnxGraphNode, OnnxInputs, OnnxNode};

use body::Subgraphs;
use call::{Call, Node};
use pumice_ir::{GraphBuilder, Value};

/// What a node's rule makes.
type Results = Result<Vec<Value>, OnnxError>;

/// An op of ONNX: its name, the first opset whose meaning the rule has, the rule.
struct Rule {
    op: &'static str,
    since: i64,
    apply: fn(&mut Call<'_>) -> Results,
}

/// A row of a table of rules.
const fn rule(op: &'static str, since: i64, apply: fn(&mut Call<'_>) -> Results) -> Rule {
    Rule { op, since, apply }
}

const TABLES: [&[Rule]; 13] = [
    control::RULES,
    elementwise::RULES,
    movement::RULES,
    found::RULES,
    reduction::RULES,
    product::RULES,
    window::RULES,
    resize::RULES,
    norm::RULES,
    attention::RULES,
    recurrence::RULES,
    signal::RULES,
    loss::RULES,
];

/// Every op that [`build`] has a rule for, with the first opset whose meaning the rule has.
pub fn ops() -> impl Iterator<Item = (&'static str, i64)> {
    TABLES.into_iter().flatten().map(|rule| (rule.op, rule.since))
}

/// The values of a node's outputs, as many as it has names for; those that it leaves out may be any.
///
/// # Errors
/// The op has no rule, an older meaning, an attribute that no rule reads or whose value is none of the op's, an input
/// that is missing or that must be a constant and is none. What the builder refuses, [`GraphBuilder::build`] tells.
pub fn build(g: &GraphBuilder, node: &OnnxNode, inputs: &mut dyn OnnxInputs) -> Results {
    built(g, Node::of(node), inputs, &Subgraphs::default())
}

/// As [`build`], of a node that may stand in a subgraph of another.
fn built(g: &GraphBuilder, node: Node<'_>, inputs: &mut dyn OnnxInputs, subgraphs: &Subgraphs) -> Results {
    let unknown = || OnnxError::UnknownOp { op: node.op.to_owned() };
    let rule = TABLES.into_iter().flatten().find(|rule| rule.op == node.op).ok_or_else(unknown)?;
    if node.opset < rule.since {
        return Err(OnnxError::Opset { op: rule.op, opset: node.opset, since: rule.since });
    }
    let wanted = node.outputs.len();
    let mut call = Call::new(g, node, (inputs, subgraphs), rule.op);
    let results = (rule.apply)(&mut call)?;
    call.expect_all_read()?;
    match results.len() < wanted {
        true => Err(OnnxError::Outputs { op: rule.op, wanted, made: results.len() }),
        false => Ok(results),
    }
}
