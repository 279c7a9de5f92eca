//! Mistakes in a user's program, with everything needed to find them.

use crate::GradError;
use crate::attr::AttrError;
use pumice_types::{DType, Encoding};

/// Why an op cannot be applied to its operands.
#[derive(Clone, PartialEq, thiserror::Error)]
pub enum OpError {
    /// An operand is absent.
    #[error("operand `{0}` is missing")]
    MissingOperand(&'static str),
    /// More operands than the op has.
    #[error("{given} operands given, the op takes at most {most}")]
    TooManyOperands {
        /// Most it takes.
        most: usize,
        /// How many were given.
        given: usize,
    },
    /// An operand's dtype is not one the op takes.
    #[error("operand `{operand}` is {dtype}; {expected}")]
    DType {
        /// Which operand.
        operand: &'static str,
        /// What it is.
        dtype: DType,
        /// What it should be.
        expected: String,
    },
    /// A value in blocks where the op computes with elements.
    #[error("{value} is {encoding}, which {op} does not take; take its values with {}", .encoding.decoder())]
    Blocks {
        /// The operand or result.
        value: String,
        /// How it is stored.
        encoding: Encoding,
        /// The op.
        op: &'static str,
    },
    /// Rows that are no whole number of blocks.
    #[error("axis {axis} has {extent} elements: a row of {encoding} is a multiple of {}", .encoding.block().0)]
    CutBlock {
        /// The last axis, along which blocks lie.
        axis: usize,
        /// Its extent.
        extent: u64,
        /// How the elements are stored.
        encoding: Encoding,
    },
    /// A range that begins or ends inside a block, or steps over some of its elements.
    #[error(
        "a range of axis {axis} ({len} elements from {start} on) cuts blocks of {encoding}, which are {} elements each; cut \
         the values of dequantize instead", .encoding.block().0
    )]
    InsideBlock {
        /// The last axis, along which blocks lie.
        axis: usize,
        /// The first element taken.
        start: String,
        /// How many are taken.
        len: String,
        /// How the elements are stored.
        encoding: Encoding,
    },
    /// Two operands differ in dtype; there is no implicit promotion.
    #[error("operands `{a}` ({a_dtype}) and `{b}` ({b_dtype}) must have one dtype; insert a cast")]
    DTypeMismatch {
        /// One operand.
        a: &'static str,
        /// Its dtype.
        a_dtype: DType,
        /// The other operand.
        b: &'static str,
        /// Its dtype.
        b_dtype: DType,
    },
    /// Shapes that do not broadcast (OPS 1.1).
    #[error("shapes {a} and {b} do not broadcast")]
    BroadcastMismatch {
        /// One shape.
        a: String,
        /// The other.
        b: String,
    },
    /// An extent that is 1 in some runs and not in others, beside one that is not.
    #[error(
        "extents {a} and {b}: {symbolic} may be 1, and would stretch in such a run only; which axis stretches is part of \
         the plan: let both be one symbol, give the symbol a range without 1, make the extent 1 and expand it, or, where \
         both are always equal, reshape one to the other"
    )]
    MayStretch {
        /// One extent.
        a: String,
        /// The other.
        b: String,
        /// The one that may be 1.
        symbolic: String,
    },
    /// An axis outside [−rank, rank − 1].
    #[error("axis {axis} is outside a tensor of rank {rank}")]
    AxisOutOfRange {
        /// The axis given.
        axis: i64,
        /// The rank.
        rank: usize,
    },
    /// The same axis twice.
    #[error("axis {0} is named twice")]
    DuplicateAxis(i64),
    /// A rank the op does not take.
    #[error("operand `{operand}` has rank {rank}; {expected}")]
    Rank {
        /// Which operand.
        operand: &'static str,
        /// Its rank.
        rank: usize,
        /// What it should be.
        expected: String,
    },
    /// More than eight axes that do not coalesce.
    #[error("rank {0} is more than the 8 axes that are supported")]
    RankTooHigh(usize),
    /// An expression over a symbol of another graph.
    #[error(
        "an expression uses symbol {0}, which this graph does not have; take it from this graph's builder"
    )]
    UnknownSymbol(u32),
    /// An extent that is negative whatever the symbols are.
    #[error("axis {axis} has the extent {extent}, which is negative")]
    NegativeExtent {
        /// Which axis.
        axis: usize,
        /// The extent.
        extent: String,
    },
    /// Extents that are expressions beyond the limit.
    #[error(
        "{what} has more than {most} variables and operations, or divides 0 by 0; make it a symbol of its own"
    )]
    ExtentTooLarge {
        /// Which expression: an extent, the product of a value's extents, an attribute.
        what: String,
        /// [`DimExpr::MOST_ATOMS`](pumice_types::DimExpr::MOST_ATOMS).
        most: usize,
    },
    /// An extent that must not exceed another and does.
    #[error("{what}: {a} is more than {b}")]
    ExtentExceeds {
        /// What they are.
        what: String,
        /// The extent that is larger.
        a: String,
        /// The other.
        b: String,
    },
    /// Two extents that must be equal and are not.
    #[error("{what}: {a} is not {b}")]
    ExtentMismatch {
        /// What they are.
        what: String,
        /// One extent.
        a: String,
        /// The other.
        b: String,
    },
    /// A range that does not lie inside its axis.
    #[error("{what} goes from {start} to {end}, the axis has {extent}")]
    OutsideAxis {
        /// Which range.
        what: String,
        /// First index.
        start: String,
        /// The index that is not reached.
        end: String,
        /// The axis's extent.
        extent: String,
    },
    /// An index known when compiling lies outside its axis.
    #[error("index {value} at position {position} is outside an axis of {size}")]
    IndexOutOfRange {
        /// Linear position in the index tensor.
        position: u64,
        /// The index.
        value: i64,
        /// The axis's extent.
        size: u64,
    },
    /// Indices must be integers.
    #[error("the indices `{operand}` are {dtype}; use i32 or i64")]
    IndexDType {
        /// The operand's name.
        operand: &'static str,
        /// Its dtype.
        dtype: DType,
    },
    /// An attribute is missing, unknown, of the wrong kind or out of range.
    #[error(transparent)]
    Attr(#[from] AttrError),
    /// The op needs an extent to be constant.
    #[error("{what} is symbolic ({extent}); this op needs it constant")]
    ExtentUnsupported {
        /// Which extent.
        what: String,
        /// The expression.
        extent: String,
    },
    /// A condition on extents that only the run finds: nobody could look before it does.
    #[error("{what}: {condition}, which only the run finds")]
    OnlyFound {
        /// What they are.
        what: String,
        /// How they must stand to each other.
        condition: String,
    },
    /// An extent that only the run finds, where it must be known before.
    #[error("{what} is {extent}, which only the run finds; it must be known before")]
    FoundLate {
        /// Which extent, or what follows from it.
        what: String,
        /// The expression.
        extent: String,
    },
    /// Any other rule of the op.
    #[error("{0}")]
    Invalid(String),
}

pumice_types::debug_as_display!(OpError);

/// A node as messages name it: `fc1 (matmul)`, or `matmul` alone where the node has the name of its op.
pub fn node_and_op(node: &str, op: &str) -> String {
    if node.rsplit('.').next() == Some(op) { node.to_owned() } else { format!("{node} ({op})") }
}

/// One mistake in a graph.
#[derive(Clone, PartialEq, thiserror::Error)]
pub enum BuildError {
    /// An op cannot be applied.
    #[error("{}: {source}", node_and_op(.node, .op))]
    Op {
        /// Name of the node.
        node: String,
        /// Name of the op.
        op: &'static str,
        /// Why.
        source: OpError,
    },
    /// A loss has no gradient by what is wanted.
    #[error(transparent)]
    Grad(#[from] crate::grad::GradError),
    /// A name is used twice.
    #[error("the name `{0}` is used twice")]
    DuplicateName(String),
    /// A name that is empty.
    #[error("{0} needs a name")]
    EmptyName(&'static str),
    /// A symbol is declared with two ranges, or with an empty one.
    #[error("symbol `{name}`: {reason}")]
    Symbol {
        /// Its name.
        name: String,
        /// What is wrong.
        reason: String,
    },
    /// A condition of the graph on extents that only the run finds.
    #[error("{what}: {condition}, which only the run finds")]
    OnlyFound {
        /// The node that needs it, which extents they are, and where that was made.
        what: String,
        /// How they must stand to each other.
        condition: String,
    },
    /// An extent that is found in a way that loses what the run should report.
    #[error("{node}: {reason}")]
    Count {
        /// Name of the node that finds it.
        node: String,
        /// What is wrong.
        reason: String,
    },
    /// A value of another builder was used.
    #[error("{node}: operand {operand} belongs to another graph")]
    ForeignValue {
        /// The node that used it.
        node: String,
        /// Which operand.
        operand: usize,
    },
    /// The graph has no output.
    #[error("the graph has no output and no state, so it computes nothing")]
    NoOutput,
    /// A loop is used against its rules.
    #[error("{node}: {reason}")]
    Loop {
        /// Name of the node.
        node: String,
        /// What is wrong.
        reason: String,
    },
    /// A state is used against its rules.
    #[error("state `{state}`: {reason}")]
    State {
        /// Its name.
        state: String,
        /// What is wrong.
        reason: String,
    },
    /// An output in blocks.
    #[error("output `{output}` is {encoding}; outputs are elements: take its values with {}", .encoding.decoder())]
    BlocksOutput {
        /// The output.
        output: String,
        /// How the value is stored.
        encoding: Encoding,
    },
    /// A feed that does not fit.
    #[error("feed of output `{output}` into state `{state}`: {reason}")]
    Feed {
        /// The output.
        output: String,
        /// The state.
        state: String,
        /// What is wrong.
        reason: String,
    },
    /// An output that cannot stop replays.
    #[error("output `{output}` stops nothing: {reason}")]
    Stop {
        /// The output.
        output: String,
        /// What is wrong.
        reason: String,
    },
    /// Two nodes would draw the same random numbers.
    #[error(
        "{node}: it takes stream {stream} of the seed that {other} takes it of; give one of them another stream"
    )]
    Stream {
        /// The later node.
        node: String,
        /// The earlier one.
        other: String,
        /// The stream.
        stream: u64,
    },
    /// A dynamic scalar is declared against its rules.
    #[error("scalar `{name}`: {reason}")]
    Scalar {
        /// Its name.
        name: String,
        /// What is wrong.
        reason: String,
    },
}

impl BuildError {
    /// The node, or the leaf, that it is about, by its name; none of what is about several, or about the graph.
    pub fn node(&self) -> Option<&str> {
        match self {
            BuildError::Op { node, .. }
            | BuildError::Count { node, .. }
            | BuildError::ForeignValue { node, .. }
            | BuildError::Loop { node, .. }
            | BuildError::Stream { node, .. }
            | BuildError::Grad(GradError::NotDifferentiable { node, .. }) => Some(node),
            BuildError::DuplicateName(name)
            | BuildError::State { state: name, .. }
            | BuildError::Scalar { name, .. }
            | BuildError::Grad(GradError::NotReached { name, .. }) => Some(name),
            _ => None,
        }
    }
}

pumice_types::debug_as_display!(BuildError);
