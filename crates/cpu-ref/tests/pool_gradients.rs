//! Gradients of pools by gathers and by tables are the same numbers. Windows whose numbers are beyond those that
//! kernels count to get tables: here by the stride of an axis more, which has one element and so one position.

use pumice_cpu_ref::{Array, RefEval};
use pumice_ir::ops::{AveragePool, MaxPool, MinPool, SumPool};
use pumice_ir::{ConstEval, GraphBuilder, Value};
use pumice_types::{DType, DimExpr, Tensor};

const FAR: u64 = 1 << 30;
const EXTENTS: [u64; 4] = [2, 2, 9, 8];

/// Lists of a pool over two axes.
struct Lists {
    kernel: [u64; 2],
    strides: [u64; 2],
    dilations: [u64; 2],
    pads: [u64; 4],
    ceil_mode: bool,
}

const CASES: &[Lists] = &[
    Lists { kernel: [3, 3], strides: [1, 1], dilations: [1, 1], pads: [1; 4], ceil_mode: false },
    Lists { kernel: [2, 2], strides: [2, 2], dilations: [1, 1], pads: [0; 4], ceil_mode: false },
    Lists { kernel: [2, 1], strides: [3, 2], dilations: [1, 1], pads: [0; 4], ceil_mode: true },
    Lists { kernel: [3, 2], strides: [2, 1], dilations: [2, 3], pads: [2, 1, 0, 3], ceil_mode: false },
    Lists { kernel: [3, 3], strides: [2, 3], dilations: [1, 2], pads: [2, 2, 1, 0], ceil_mode: true },
];

#[derive(Clone, Copy, Debug)]
enum Kind {
    Max,
    Min,
    Sum,
    Mean,
    PaddedMean,
}

impl Lists {
    /// The pool, with an axis more where it is far.
    fn pool(&self, g: &GraphBuilder, x: Value, kind: Kind, far: bool) -> Value {
        let with = |first: u64, list: &[u64]| [&[first][..usize::from(far)], list].concat();
        let (kernel, strides) = (with(1, &self.kernel), with(FAR, &self.strides));
        let (begins, ends) = self.pads.split_at(2);
        let (pads, dilations) = ([with(0, begins), with(0, ends)].concat(), with(1, &self.dilations));
        let ceil_mode = self.ceil_mode;
        match kind {
            Kind::Max => g.max_pool(x, MaxPool { kernel, strides, pads, dilations, ceil_mode }),
            Kind::Min => g.min_pool(x, MinPool { kernel, strides, pads, dilations, ceil_mode }),
            Kind::Sum => g.sum_pool(x, SumPool { kernel, strides, pads, dilations, ceil_mode }),
            Kind::Mean | Kind::PaddedMean => {
                let count_include_pad = matches!(kind, Kind::PaddedMean);
                g.average_pool(
                    x,
                    AveragePool { kernel, strides, pads, dilations, ceil_mode, count_include_pad },
                )
            }
        }
    }

    /// The gradient, that of its sum with other factors by dy, and how many gathers by kernels there are.
    fn gradients(&self, kind: Kind, x: &[f32], far: bool) -> ([Vec<f64>; 2], usize) {
        let g = GraphBuilder::new("pool");
        let [b, c, h, w] = EXTENTS;
        let shape = if far { vec![b, c, 1, h, w] } else { EXTENTS.to_vec() };
        let x = g.constant(Tensor::new(x, &shape).expect("lengths agree"));
        let y = self.pool(&g, x, kind, far);
        let dy = counted(&g, y);
        let dx = g.grad(g.reduce_sum(g.mul(y, dy), &[], false), &[x])[0];
        let again = g.grad(g.reduce_sum(g.mul(dx, counted(&g, x)), &[], false), &[dy])[0];
        g.output("dx", dx);
        g.output("again", again);
        let graph = g.build().expect("the graph is right");
        let kernels = graph.nodes().filter(|(_, node)| node.op.name() == "pool_spread").count();
        let values = RefEval.eval(&graph).expect("it has values");
        ([0, 1].map(|i| Array::from_tensor(&values[i]).to_f64()), kernels)
    }
}

/// 1, 2, 3, … times a multiple of every divisor, of the extents of a value: quotients are whole numbers, and sums of
/// them exact.
fn counted(g: &GraphBuilder, like: Value) -> Value {
    let shape = g.type_of(like).expect("no mistake was made").shape.to_vec();
    let numbers = g.range(1u64, pumice_ir::shape::product(&shape) + DimExpr::constant(1), 1, DType::F32);
    g.mul(g.reshape_to(numbers, shape), g.constant_scalar(DType::F32, 2520.0))
}

/// Numbers of which many are equal, and zeros of both signs are; with NaN or without.
fn numbers(nan: f32) -> Vec<f32> {
    let few = [1.0, -2.0, 3.0, 0.0, 3.0, -0.0, nan, -2.0, 0.0, 1.5, 3.0];
    let n: u64 = EXTENTS.iter().product();
    (0..n).map(|i| few[(i * i * 7 + i / 5) as usize % few.len()]).collect()
}

#[test]
fn tables_say_what_gathers_say() {
    for (i, lists) in CASES.iter().enumerate() {
        for kind in [Kind::Max, Kind::Min, Kind::Sum, Kind::Mean, Kind::PaddedMean] {
            for nan in [2.0, f32::NAN] {
                let x = numbers(nan);
                let [(gathered, one), (composed, none)] =
                    [false, true].map(|far| lists.gradients(kind, &x, far));
                assert_eq!([one, none], [1, 0], "case {i}, {kind:?}: nodes of `pool_spread`");
                assert_eq!(gathered, composed, "case {i}, {kind:?}, {nan}");
                assert!(
                    gathered.iter().all(|d| d.iter().any(|&d| d != 0.0)),
                    "case {i}, {kind:?}: nothing moves"
                );
            }
        }
    }
}
