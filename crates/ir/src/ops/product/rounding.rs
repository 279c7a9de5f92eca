//! How the factors of a product are rounded first: what a precision means, written into the ops that multiply.
//!
//! In: a graph as its user wrote it, a precision. Out: the same graph, whose products say how their factors are
//! rounded. Never here: a kernel, a device. Reference and compiler ask the same, so a step's meaning names its
//! precision.

use crate::entity::{NodeId, ValueId};
use crate::graph::Graph;
use crate::ops::Op;
use pumice_types::{DType, Precision};

crate::attr_enum! {
    /// To which dtype the factors of a product are rounded first, each once: to nearest even, subnormals kept, what is
    /// too large infinite, NaN stays NaN. Sums are f32.
    pub enum Rounding {
        /// They are taken as they are.
        None = "none",
        /// f16: from 65,520 on infinite.
        F16 = "f16",
        /// bfloat16.
        Bf16 = "bf16",
    }
}

impl Rounding {
    /// The dtype to which factors are rounded, if they are.
    pub fn dtype(self) -> Option<DType> {
        match self {
            Rounding::None => None,
            Rounding::F16 => Some(DType::F16),
            Rounding::Bf16 => Some(DType::BF16),
        }
    }

    /// The precision whose kernels multiply so; exact ones round what they load.
    pub fn precision(self) -> Precision {
        match self {
            Rounding::None => Precision::Exact,
            Rounding::F16 => Precision::F16,
            Rounding::Bf16 => Precision::Bf16,
        }
    }

    /// Whether factors are taken as they are.
    pub fn is_none(&self) -> bool {
        *self == Rounding::None
    }
}

/// The duties of an op that multiplies its first operands, so many, and has an attribute `rounding`.
#[macro_export]
macro_rules! rounds_factors {
    ($factors:literal) => {
        const FACTORS: usize = $factors;

        fn rounding(&self) -> $crate::ops::Rounding {
            self.rounding
        }

        fn with_rounding(&self, rounding: $crate::ops::Rounding) -> Option<$crate::Op> {
            let mut op = self.clone();
            op.rounding = rounding;
            Some(op.into())
        }
    };
}

/// The graph with every product of it rounding as the precision says; what a product says itself already stays.
/// Products of constants alone stay exact.
///
/// Where the source of a factor, before casts and ops that move elements, is stored as bf16, all factors are rounded to
/// bf16 in either precision: f16 does not have their range.
#[must_use]
pub fn round_products(graph: &Graph, precision: Precision) -> Graph {
    let mut rounded = graph.clone();
    let usual = match precision {
        Precision::F16 => Rounding::F16,
        Precision::Bf16 => Rounding::Bf16,
        Precision::Exact | Precision::Int8 => return rounded,
    };
    let constant = constants(graph);
    for (id, node) in graph.nodes() {
        let factors: Vec<ValueId> = (0..node.op.factors()).filter_map(|i| node.input(i)).collect();
        if !node.op.rounding().is_none() || factors.iter().all(|v| constant[graph.value(*v).def.0.index()]) {
            continue;
        }
        let is_bf16 = factors.iter().any(|v| is_of_bf16(graph, *v));
        let rounding = if is_bf16 { Rounding::Bf16 } else { usual };
        if let Some(op) = node.op.with_rounding(rounding) {
            rounded.nodes[id.index()].op = op;
        }
    }
    rounded
}

/// Which nodes are known when the graph is compiled.
fn constants(graph: &Graph) -> Vec<bool> {
    let mut known = vec![false; graph.nodes().len()];
    for (id, node) in graph.nodes() {
        let known_operand = |v: ValueId| known[graph.value(v).def.0.index()];
        let of_known = node.inputs.iter().any(Option::is_some) && node.operands().all(known_operand);
        known[id.index()] = of_known || matches!(node.op, Op::Constant(_));
    }
    known
}

/// Whether a value is bf16, or was before casts and moves.
fn is_of_bf16(graph: &Graph, mut v: ValueId) -> bool {
    loop {
        if graph.ty(v).dtype() == DType::BF16 {
            return true;
        }
        let (id, _): (NodeId, u16) = graph.value(v).def;
        let node = graph.node(id);
        let passes_on = matches!(node.op, Op::Cast(_) | Op::CastLike(_)) || node.op.is_movement();
        match node.input(0) {
            Some(from) if passes_on => v = from,
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::GraphBuilder;
    use crate::ops::conv::Conv;
    use crate::shape::tensor;

    /// Roundings of the products of a graph, in its order.
    fn roundings(precision: Precision, build: impl Fn(&GraphBuilder)) -> Vec<Rounding> {
        let g = GraphBuilder::new("graph");
        build(&g);
        let graph = round_products(&g.build().expect("sound"), precision);
        crate::verify(&graph, crate::Form::Source).expect("sound");
        let products = graph.nodes().filter(|(_, node)| node.op.factors() > 0);
        products.map(|(_, node)| node.op.rounding()).collect()
    }

    #[test]
    fn every_product_rounds() {
        let build = |g: &GraphBuilder| {
            let x = g.input("x", tensor(DType::F32, [2u64, 3, 5, 5]));
            let w = g.param("w", tensor(DType::F32, [4u64, 3, 3, 3]));
            g.output("y", g.conv(x, w, None, Conv::default()));
            g.output("z", g.matmul(x, x));
        };
        assert_eq!(roundings(Precision::Exact, build), [Rounding::None; 2]);
        assert_eq!(roundings(Precision::F16, build), [Rounding::F16; 2]);
        assert_eq!(roundings(Precision::Bf16, build), [Rounding::Bf16; 2]);
    }

    /// After casts and moves too; what was bf16 for a moment only has its range as well.
    #[test]
    fn factors_stored_as_bf16_round_all_to_bf16() {
        let build = |g: &GraphBuilder| {
            let x = g.input("x", tensor(DType::F32, [5u64, 7]));
            let w = g.cast(g.param("w", tensor(DType::BF16, [3u64, 7])), DType::F32);
            g.output("direct", g.matmul(x, g.transpose(w, &[1, 0])));
            g.output("a sum", g.matmul(x, g.transpose(g.add(w, w), &[1, 0])));
        };
        assert_eq!(roundings(Precision::F16, build), [Rounding::Bf16, Rounding::F16]);
    }

    #[test]
    fn what_is_known_when_compiling_and_what_says_so_itself_stay() {
        use crate::ops::MatMul;
        use pumice_types::Tensor;
        let build = |g: &GraphBuilder| {
            let x = g.input("x", tensor(DType::F32, [2u64, 2]));
            let c = g.constant(Tensor::new(&[1.0f32, 2.0, 3.0, 4.0], &[2, 2]).expect("a tensor"));
            let square = g.matmul(c, g.neg(c));
            let own = MatMul { rounding: Rounding::Bf16, ..MatMul::default() };
            g.output("y", g.apply(own, &[x, square]));
            g.output("z", g.matmul(x, square));
        };
        assert_eq!(roundings(Precision::F16, build), [Rounding::None, Rounding::Bf16, Rounding::F16]);
    }
}
