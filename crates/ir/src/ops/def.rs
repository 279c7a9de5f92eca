//! What an op is: the trait that every op's file implements, and what its scalar form sees. Passes and lowerings ask
//! these methods; an op that has nothing to say leaves the common answer.

use super::Op;
use super::Rounding;
use super::gradient::Grad;
use super::reduce::Reduction;
use super::simplify::{NodeCx, Simpler, Untransposed};
use crate::attr::Attrs;
use crate::error::OpError;
use crate::graph::Graph;
use crate::infer::{Infer, Types};
use crate::patch::Patch;
use crate::sample::Sample;
use crate::{NodeId, ValueId};
use pumice_types::scalar::{Reg, ScalarBuilder};
use pumice_types::{DType, DimExpr, Encoding, SymbolId};
use std::fmt;
use std::hash::Hash;
use std::ops::Range;
use std::sync::Arc;

/// What an op is to lowering, as the list of ops says: which file, if any, turns it into steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpKind {
    /// Its value comes from outside or is written in the graph: it has a place and no step.
    Leaf,
    /// Elements to elements: lowered by its scalar form.
    Elementwise,
    /// Defined by other ops, which take its place before lowering.
    Composite,
    /// The host runs it.
    Host,
    /// It has a lowering of its own.
    Lowered,
}

/// What an op is: its declaration. Evaluation, decomposition and lowering are other crates' duties.
pub trait OpDef: Attrs + Clone + Eq + Hash + fmt::Debug + Into<Op> {
    /// Names of the operands, in order. `?` marks an optional one, `*` on the last any number of them.
    const OPERANDS: &'static [&'static str];
    /// Whether its result's type is an attribute, `ty`, which stands before the `=` in `.ir` text.
    const TYPED: bool = false;
    /// Names of the integer operands that steer: their values decide what is read or written. Each has the samples of
    /// [`steering_samples`](super::steering_samples).
    const STEERS: &'static [&'static str] = &[];
    /// How many of the first operands are factors of products, which a precision may round.
    const FACTORS: usize = 0;

    /// How its factors are rounded first.
    fn rounding(&self) -> Rounding {
        Rounding::None
    }

    /// For an op with factors, the same one that rounds them so.
    fn with_rounding(&self, _rounding: Rounding) -> Option<Op> {
        None
    }

    /// How gradients pass it (OPS 3.12).
    const GRAD: Grad<Self>;

    /// Whether its results move with that operand, where they move.
    fn moves_with(&self, _operand: usize) -> bool {
        true
    }

    /// Whether that result moves with that operand, where its results do.
    fn result_moves_with(&self, result: usize, operand: usize) -> bool {
        self.shown_operand(result).is_none_or(|shown| shown == operand)
    }

    /// Types of the results, or what is wrong.
    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError>;

    /// Graphs that every suite runs: every edge case of the op's row in OPS.
    fn samples() -> Vec<Sample>;

    /// The patch that puts the ops in the node's place that it is defined by: always for a composite op, in the cases
    /// that its file names for another. `None` keeps the node.
    fn expand(&self, _graph: &Graph, _id: NodeId) -> Option<Patch> {
        None
    }

    /// The patch of the ops that it is made of, also where its node stays: gradients pass it so, and a pass may take
    /// them where no kernel makes it in one step.
    fn composition(&self, graph: &Graph, id: NodeId) -> Option<Patch> {
        self.expand(graph, id)
    }

    /// For an op that does something else in inference than in training, the patch that puts what it does there in the
    /// node's place, of the same types.
    fn for_inference(&self, _graph: &Graph, _id: NodeId) -> Option<Patch> {
        None
    }

    /// Whether what it makes of a row follows from all rows of its batch, by statistics of them.
    fn has_batch_statistics(&self) -> bool {
        false
    }

    /// What its node is more simply. Rules hold for every value, NaN, −0 and infinities included.
    fn simplify(&self, _cx: &NodeCx<'_>) -> Option<Simpler> {
        None
    }

    /// Its node over operands without the transposes that made them, where it can read them so.
    fn untransposed(&self, _cx: &NodeCx<'_>) -> Option<Untransposed> {
        None
    }

    /// Whether it stretches that operand itself, so that the operand may be `from`, of which an `Expand` made it.
    fn stretches(&self, _cx: &NodeCx<'_>, _operand: usize, _from: ValueId) -> bool {
        self.is_elementwise()
    }

    /// For an elementwise op, its result from its operands' elements, in compute registers (floats as f32, narrow
    /// integers as 32-bit). Rounding to the result's dtype is the caller's.
    fn scalar(&self, _cx: &ScalarCx<'_>) -> Option<Reg> {
        None
    }

    /// Whether `scalar` gives a result: the op maps elements to elements and broadcasts its operands.
    fn is_elementwise(&self) -> bool {
        false
    }

    /// For an elementwise op that divides integers, whether this element's divisor is 0 (Bool): it is reported as
    /// INT_DIV_ZERO (OPS 1.4) under the node's own name. None where that cannot be.
    fn zero_divisor(&self, _cx: &ScalarCx<'_>) -> Option<Reg> {
        None
    }

    /// For an elementwise op that compares extents, whether this element is in one of two axes that must be equal and
    /// not in the other (Bool): it is reported as EXTENT_MISMATCH (OPS 1.6) under the node's own name.
    fn mismatch(&self, _cx: &ScalarCx<'_>) -> Option<Reg> {
        None
    }

    /// The value of a rank-0 integer result where those of the operands are these expressions of symbols and scalars:
    /// the frame can hold it, and no step computes it. None where no such expression is the op.
    fn frame_value(&self, _operands: &[DimExpr]) -> Option<DimExpr> {
        None
    }

    /// As [`frame_value`](OpDef::frame_value), of truth values as well, which are 0 or 1, where no part overflows.
    fn truth_value(&self, operands: &[DimExpr]) -> Option<DimExpr> {
        self.frame_value(operands)
    }

    /// For an operand all of whose elements are indices of one axis of constant extent, which of them are in range.
    fn index_range(&self, _cx: &NodeCx<'_>, _operand: usize) -> Option<IndexRange> {
        None
    }

    /// Whether the op only renames or moves elements: its lowering may be a view.
    fn is_movement(&self) -> bool {
        false
    }

    /// For a result that is elements of an operand where they lie, that operand.
    fn shown_operand(&self, _result: usize) -> Option<usize> {
        self.is_movement().then_some(0)
    }

    /// Whether no pass sees through it, and readers of its results wait for its first operand.
    fn is_barrier(&self) -> bool {
        false
    }

    /// Whether every element of the first result has the bits of an element of an operand: nothing is rounded, and
    /// subnormals and payloads of NaN stay.
    fn moves_bits(&self) -> bool {
        self.is_movement()
    }

    /// For an op that adds to elements of an operand, that operand: over zeros it is what it adds.
    fn adds_onto(&self) -> Option<usize> {
        None
    }

    /// Whether kernels take the operands under any strides, so that part of a wider row costs no copy.
    fn reads_strides(&self) -> bool {
        self.is_elementwise()
    }

    /// Whether operands and results may be in blocks; to every other op they are elements.
    fn handles_blocks(&self) -> bool {
        false
    }

    /// Whether the result has the operands' elements one after the other, in row-major order. `shape` is the result's.
    fn is_joining(&self, _shape: &[DimExpr]) -> bool {
        false
    }

    /// Whether the result's elements are what the only operand's stand for, one for one: a kernel may decode them
    /// while it loads. `operand` is how that is stored.
    fn is_decoding(&self, _operand: Encoding) -> bool {
        false
    }

    /// Whether the result is codes under scales, which products of it read where they lie.
    fn is_scaling(&self) -> bool {
        false
    }

    /// For an op that holds its first operand, a count, between 0 and a largest value, and does nothing to others, that
    /// value.
    fn holds_count(&self) -> Option<i64> {
        None
    }

    /// For an op that finds an extent while a program runs, the symbol that it is.
    fn finds(&self) -> Option<SymbolId> {
        None
    }

    /// For an op whose first operand is needed where an extent is 1 and whose second where it is 0, that extent.
    fn branches(&self) -> Option<&DimExpr> {
        None
    }

    /// For what a turn of a loop begins with, the loop's number and its place there.
    fn carries(&self) -> Option<(i64, usize)> {
        None
    }

    /// For an op that ends the turns of a loop, what it says of it.
    fn loops(&self) -> Option<LoopEnd<'_>> {
        None
    }

    /// For a part of a loop, the same of the loop of another number.
    fn with_loop_number(&self, _number: i64) -> Option<Op> {
        None
    }

    /// For an op that draws random numbers from the source of its last three operands, the stream that it takes them
    /// from. No two nodes of a program take one source's stream, but nodes that are equal up to barriers.
    fn stream(&self) -> Option<u64> {
        None
    }

    /// For such an op, the same one that takes them from another stream.
    fn with_stream(&self, _stream: u64) -> Option<Op> {
        None
    }

    /// For an op that drops elements of a value it makes inside, the op that does so, and the extents of that value. A
    /// gradient drops by the same op again.
    fn drops_inside(&self, _cx: &NodeCx<'_>) -> Option<(Op, Vec<DimExpr>)> {
        None
    }

    /// For an op that writes a state in place, the operand that is the version it consumes.
    fn state_operand(&self) -> Option<usize> {
        None
    }

    /// For an op that makes a value the whole of a state, that operand.
    fn whole_state(&self) -> Option<usize> {
        None
    }

    /// For an op that reads a state as it is at that point, the operand that must be a version of one.
    fn state_read(&self) -> Option<usize> {
        None
    }

    /// For a reduction, what passes ask about it.
    fn as_reduction(&self) -> Option<&dyn Reduction> {
        None
    }

    /// For an op of a user, the name under which its functions are registered.
    fn user_name(&self) -> Option<&str> {
        None
    }

    /// For an op whose meaning is a graph of its own, that graph: its inputs are the operands, its outputs the results.
    fn body(&self) -> Option<&Arc<Graph>> {
        None
    }
}

/// An empty patch for a node that is expanded, labelled with its op and name.
pub(crate) fn expansion(graph: &Graph, id: NodeId) -> Patch {
    Patch::new(format!("decompose {} {}", graph.node(id).op.name(), graph.node_name(id)))
}

/// Which indices of an axis are in range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexRange {
    /// From the first to one past the last.
    pub within: Range<i64>,
    /// One that is in range besides: a target that is ignored.
    pub besides: Option<i64>,
}

impl IndexRange {
    /// Whether an index is in range.
    pub fn has(&self, index: i64) -> bool {
        self.within.contains(&index) || self.besides == Some(index)
    }
}

/// What the end of a loop says of it.
#[derive(Clone, Copy, Debug)]
pub struct LoopEnd<'o> {
    /// The number that what turns begin with has as well.
    pub number: i64,
    /// The symbol that is 1 while it runs.
    pub running: &'o DimExpr,
    /// Turns at most.
    pub most: u64,
    /// How many there are, where the caller's symbols say so.
    pub turns: Option<&'o DimExpr>,
}

/// What an elementwise op sees while its scalar form is made.
pub struct ScalarCx<'a> {
    /// Where instructions go.
    pub b: &'a ScalarBuilder,
    /// Operands in compute registers; `None` where an optional one is absent.
    pub args: &'a [Option<Reg>],
    /// Dtypes of the operands, absent ones as the result's.
    pub dtypes: &'a [DType],
    /// Dtype of the result.
    pub out: DType,
}

impl ScalarCx<'_> {
    /// An operand that the verifier has seen to be there.
    pub fn arg(&self, i: usize) -> Option<Reg> {
        self.args.get(i).copied().flatten()
    }

    /// All operands that are there, in order.
    pub fn present(&self) -> Vec<Reg> {
        self.args.iter().flatten().copied().collect()
    }
}
