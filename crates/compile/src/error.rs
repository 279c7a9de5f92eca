//! Why a graph does not become a plan.

use pumice_ir::VerifyError;
use pumice_types::{Bytes, Escaped, Precision};

/// One node that cannot be lowered.
#[derive(Clone, Debug, PartialEq)]
pub struct Unsupported {
    /// Its name.
    pub node: String,
    /// Its op.
    pub op: &'static str,
    /// Types of its operands and results.
    pub types: String,
    /// Why.
    pub reason: String,
}

/// A graph that does not become a plan.
#[derive(Clone, PartialEq, thiserror::Error)]
pub enum CompileError {
    /// Nodes that nothing can run; all of them, not the first.
    #[error("{} node(s) cannot be compiled:{}", .0.len(), list(.0))]
    Unsupported(Vec<Unsupported>),
    /// Graphs that are no entries of one program: every name that is one thing here and another there.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Entries(Vec<pumice_ir::EntryError>),
    /// A value is larger than one allocation of the target.
    #[error(
        "{name} needs {needed}{}, the largest allocation of {target} is {available}; {}", at(.bounds),
        if .bounds.is_empty() { "split it" } else { "bound its symbols lower, or split it" }
    )]
    TooLarge {
        /// The value.
        name: String,
        /// Bytes it needs.
        needed: Bytes,
        /// The symbols of its extents at their upper bounds.
        bounds: Vec<(String, u64)>,
        /// Largest allocation.
        available: Bytes,
        /// The target.
        target: String,
    },
    /// An operand with more elements than kernels count in 32 bits.
    #[error(
        "{node}: `{operand}` reaches element {index}, kernels count to {most}; split the operand, or bound its symbols lower"
    )]
    Index {
        /// Names of the nodes that the step computes.
        node: String,
        /// The value it reads or writes.
        operand: String,
        /// Index of its last element at the upper bounds of the symbols.
        index: u64,
        /// Largest index of an element in a kernel.
        most: u64,
    },
    /// A kernel would loop longer than the target's driver lets it, and there is no other for the shape.
    #[error(
        "{node}: the loops of kernel {kernel} make up to {turns} trips in one invocation; {target} ends them without a word after {limit}; shorten the axis, reduce it in parts, or use another device"
    )]
    LoopTurns {
        /// Names of the nodes that the step computes.
        node: String,
        /// The kernel with its variant.
        kernel: String,
        /// Most trips at the upper bounds of the symbols.
        turns: u64,
        /// Most trips the target makes.
        limit: u64,
        /// The target.
        target: String,
    },
    /// Everything together is larger than the device.
    #[error(
        "the program needs {needed} (weights {weights}, states {states}, scratch {scratch}), {target} has {available}; use narrower params, a smaller upper bound of a symbol, or a smaller model"
    )]
    OutOfMemory {
        /// Of weights, states and scratch together, in the smallest plan that was found: so much is enough. Where a
        /// param that passes through is too large with its scratch, no plan was looked for.
        needed: Bytes,
        /// Of weights.
        weights: Bytes,
        /// Of states.
        states: Bytes,
        /// Of scratch.
        scratch: Bytes,
        /// Of inputs, outputs and frames, which the limit does not count; 0 where weights alone are too large.
        besides: Bytes,
        /// What there is.
        available: Bytes,
        /// The target.
        target: String,
    },
    /// An arithmetic that no kernel has yet.
    #[error("no kernels compute in precision {asked} yet; `Precision::Exact`, `F16` and `Bf16` have some")]
    Precision {
        /// What was asked for.
        asked: Precision,
    },
    /// A selection table that names what does not exist, or lacks what is needed.
    #[error("selection table `{}`: {}", Escaped(.class), Escaped(.why))]
    Table {
        /// The table's class.
        class: String,
        /// The row and what is wrong with it.
        why: String,
    },
    /// Options that contradict the graph.
    #[error("{0}")]
    Options(String),
    /// A pass broke the graph: a defect of pumice.
    #[error("pass `{pass}` broke the graph (a defect of pumice): {}", first(.errors))]
    Pass {
        /// The pass.
        pass: String,
        /// What the verifier says.
        errors: Vec<VerifyError>,
    },
    /// Anything else that is a defect of pumice.
    #[error("{0} (a defect of pumice)")]
    Defect(String),
}

pumice_types::debug_as_display!(CompileError);

/// Values of symbols, if there are any.
fn at(bounds: &[(String, u64)]) -> String {
    let shown: Vec<String> = bounds.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    if shown.is_empty() { String::new() } else { format!(" at {}", shown.join(", ")) }
}

fn list(nodes: &[Unsupported]) -> String {
    // An unnamed node has the name of its op: one word is enough.
    let op = |u: &Unsupported| match u.node.rsplit('.').next() == Some(u.op) {
        true => String::new(),
        false => format!("{} ", u.op),
    };
    nodes.iter().map(|u| format!("\n  {} ({}{}): {}", u.node, op(u), u.types, u.reason)).collect()
}

fn first(errors: &[VerifyError]) -> String {
    errors.first().map_or(String::new(), ToString::to_string)
}
