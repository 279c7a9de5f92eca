//! What can be wrong with a node.

/// Why a node could not be built.
#[derive(Clone, PartialEq, thiserror::Error)]
pub enum OnnxError {
    /// An op that has no rule.
    #[error("ONNX op `{op}` is not supported")]
    UnknownOp {
        /// Its name.
        op: String,
    },
    /// An op in a meaning that is no longer ONNX's.
    #[error("`{op}` of opset {opset}: supported from opset {since} on; convert the model to a newer opset")]
    Opset {
        /// Its name.
        op: &'static str,
        /// The model's opset.
        opset: i64,
        /// The first one whose meaning there is.
        since: i64,
    },
    /// An input that the op needs.
    #[error("`{op}` has no input {input}")]
    MissingInput {
        /// Name of the op.
        op: &'static str,
        /// Place of the input.
        input: usize,
    },
    /// An input whose numbers must be known while building.
    #[error("input {input} of `{op}` must be a constant of {expected}")]
    NotConstant {
        /// Name of the op.
        op: &'static str,
        /// Place of the input.
        input: usize,
        /// What it must hold.
        expected: &'static str,
    },
    /// A result whose extent only the run finds, and may be any.
    #[error(
        "`{op}` of values that only the run knows: say how many elements it has at most (`OnnxInputs::largest_extent`)"
    )]
    NoLargestExtent {
        /// Name of the op.
        op: &'static str,
    },
    /// A name that a subgraph reads, and that neither it nor a graph around it makes before.
    #[error("subgraph of `{op}`: there is no value `{name}`")]
    NoValue {
        /// Name of the op that has the subgraph.
        op: &'static str,
        /// The name.
        name: String,
    },
    /// Subgraphs that stand too deep in one another.
    #[error("subgraph of `{op}`: subgraphs stand in {most} others at most")]
    Depth {
        /// Name of the op that has the innermost.
        op: &'static str,
        /// How many they may stand in.
        most: u32,
    },
    /// Subgraphs that together build too many nodes: turns that are built one after the other multiply.
    #[error(
        "subgraph of `{op}`: with those around it it makes more than {most} nodes; let fewer turns be built one after the \
         other (`GraphBuilder::unroll`)"
    )]
    Nodes {
        /// Name of the op that has the subgraph at which there were too many.
        op: &'static str,
        /// How many nodes the subgraphs of one node may make, those inside of them among them.
        most: u32,
    },
    /// An input whose type is not known, because the builder refused what makes it.
    #[error("input of `{op}`: its type is not known, what makes it was refused")]
    UnknownType {
        /// Name of the op.
        op: &'static str,
    },
    /// An attribute that is missing, of another kind, or of a value that the op does not have.
    #[error("attribute `{name}` of `{op}`: {reason}")]
    Attribute {
        /// Name of the op.
        op: &'static str,
        /// Name of the attribute.
        name: String,
        /// What is wrong.
        reason: String,
    },
    /// Something that ONNX has and pumice does not.
    #[error("`{op}`: {what} is not supported")]
    Unsupported {
        /// Name of the op.
        op: &'static str,
        /// What is asked for.
        what: String,
    },
    /// More outputs than the op has.
    #[error("`{op}` has {made} outputs, {wanted} are named")]
    Outputs {
        /// Name of the op.
        op: &'static str,
        /// How many the node names.
        wanted: usize,
        /// How many there are.
        made: usize,
    },
}

pumice_types::debug_as_display!(OnnxError);
