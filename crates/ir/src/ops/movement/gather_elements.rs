//! `GatherElements`: elements of a tensor picked one by one along an axis.

use super::indices::{check_constant, expect_indices};
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types, one};
use crate::ops::scatter::ScatterReduction;
use crate::ops::steering_samples::{steering_list, steering_samples};
use crate::ops::{Grad, GradCx, Grads, NoGrad, OpDef};
use crate::sample::{Fill, Sample};
use crate::shape::{sym, tensor};
use pumice_types::{DType, Tensor};

crate::op! {
    /// y\[i₀, …, iₐ, …\] = data\[i₀, …, indices\[i₀, …, iₐ, …\], …\] (ONNX GatherElements): along one axis each element
    /// of the result has an index of its own. The result has the shape of `indices`, whose rank is data's and whose
    /// extents off the axis are data's or less. A negative index counts from the end; one that is still outside reads 0
    /// and reports INDEX_OUT_OF_RANGE at run time, or is an error where the index is a constant. Bits are moved as they
    /// are.
    pub struct GatherElements {
        /// The axis of data.
        axis: i64 = 0,
    }
}

impl OpDef for GatherElements {
    const OPERANDS: &'static [&'static str] = &["data", "indices"];
    const GRAD: Grad<Self> = Grad::Rule(rule);
    const STEERS: &'static [&'static str] = &["indices"];

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        let (data, indices) = (cx.ty(0)?, expect_indices(cx, 1)?);
        let axis = cx.axis(self.axis, data.rank())?;
        cx.expect_rank(1, data.rank())?;
        for (_, (own, of_data)) in
            indices.shape.iter().zip(data.shape.iter()).enumerate().filter(|(a, _)| *a != axis)
        {
            cx.at_most(own, of_data, "extent of the indices off the axis")?;
        }
        check_constant(cx, 1, &data.shape[axis..=axis])?;
        one(data.dtype(), indices.shape.clone())
    }

    fn samples() -> Vec<Sample> {
        let case = |d: DType, data: &[u64], index: DType, idx: &[u64], axis: i64, fill: Fill| {
            Sample::graph(&format!("{d} {data:?} by {index} {idx:?} along {axis} {fill:?}"), |g| {
                let x = g.param("data", tensor(d, data.iter().copied()));
                let i = g.input("indices", tensor(index, idx.iter().copied()));
                g.output("y", g.gather_elements(x, i, axis));
            })
            .fill("data", Fill::Any)
            .fill("indices", fill)
        };
        let (f, i32, i64) = (DType::F32, DType::I32, DType::I64);
        let mut samples = vec![
            case(f, &[7], i32, &[5], 0, Fill::Range(-7, 7)),
            case(f, &[7], i64, &[0], 0, Fill::Any),
            case(f, &[1], i32, &[65], 0, Fill::Constant(-1.0)),
            case(f, &[7, 3], i32, &[4, 3], 0, Fill::Range(-7, 7)),
            case(f, &[7, 33], i64, &[7, 257], -1, Fill::Range(-33, 33)),
            case(f, &[5, 7, 3], i32, &[5, 9, 3], 1, Fill::Range(-7, 7)),
            case(f, &[5, 7, 3], i32, &[2, 9, 3], 1, Fill::Range(-7, 7)),
            case(f, &[5, 7, 3], i64, &[5, 4, 2], -2, Fill::Range(0, 7)),
            case(f, &[5, 7, 3], i32, &[3, 5, 1], 0, Fill::Range(0, 5)),
            case(f, &[5, 7, 3], i32, &[0, 4, 3], 1, Fill::Any),
            case(f, &[5, 0, 3], i32, &[5, 0, 3], 1, Fill::Any),
            case(f, &[2, 3, 2, 2, 2], i32, &[1, 3, 2, 4, 2], 3, Fill::Range(-2, 2)),
            case(f, &[1, 2, 1, 3, 2, 5, 2, 2], i64, &[1, 2, 1, 3, 2, 4, 2, 2], 5, Fill::Range(-5, 5)),
            case(f, &[2, 2, 2, 2, 2, 2, 2, 3], i32, &[1, 2, 2, 1, 2, 1, 2, 5], 7, Fill::Range(-3, 3)),
            case(f, &[1000, 65], i32, &[300, 65], 0, Fill::Range(0, 1000)),
            case(f, &[3, 5], i32, &[3, 70_000], 1, Fill::Range(0, 5)),
            case(f, &[5, 0], i32, &[3, 0], 0, Fill::Range(0, 5)),
            case(f, &[0], i32, &[3], 0, Fill::Range(0, 5)).expect_status(),
            case(f, &[7, 3], i32, &[2, 3], 0, Fill::Ints(vec![0, 7, -8, 6, -7, i64::from(i32::MAX)]))
                .expect_status(),
            case(f, &[3, 7], i64, &[3, 2], 1, Fill::Ints(vec![1, i64::MAX, i64::MIN, (1 << 32) + 1, -1, 6]))
                .expect_status(),
            case(i64, &[7, 3], i64, &[2, 3], 0, Fill::Ints(vec![2, 7, 0])).expect_status(),
        ];
        samples.extend(DType::ALL.map(|d| case(d, &[9, 6], i32, &[4, 6], 0, Fill::Range(-9, 9))));
        samples.extend(DType::ALL.map(|d| case(d, &[4, 9], i64, &[3, 5], 1, Fill::Range(-9, 9))));
        samples.extend(of_views());
        samples.extend(symbolic());
        samples.extend(extreme_indices());
        samples
    }

    fn moves_bits(&self) -> bool {
        true
    }
}

/// Data that lie apart or in another order, and indices that are a constant.
fn of_views() -> Vec<Sample> {
    let indices = |g: &GraphBuilder, shape: [u64; 2]| g.input("indices", tensor(DType::I32, shape));
    vec![
        Sample::graph("transposed data", |g| {
            let x = g.input("data", tensor(DType::F32, [6u64, 5]));
            g.output("y", g.gather_elements(g.transpose(x, &[]), indices(g, [5, 4]), 1));
        })
        .fill("indices", Fill::Range(-6, 6)),
        Sample::graph("a part of the data", |g| {
            let x = g.slice(g.input("data", tensor(DType::F32, [6u64, 5])), &[1, 1], &[5, 4], &[], &[]);
            g.output("y", g.gather_elements(x, indices(g, [7, 2]), 0));
        })
        .fill("indices", Fill::Range(-4, 4)),
        Sample::graph("transposed indices", |g| {
            let (x, i) = (g.input("data", tensor(DType::F32, [5u64, 6])), indices(g, [4, 5]));
            g.output("y", g.gather_elements(x, g.transpose(i, &[]), 1));
        })
        .fill("indices", Fill::Range(-6, 6)),
        Sample::graph("constant indices", |g| {
            let x = g.input("data", tensor(DType::F32, [5u64, 3]));
            let i = g.constant(Tensor::new(&[4i64, -5, 2, 0, 0, 1], &[2, 3]).expect("six indices"));
            g.output("y", g.gather_elements(x, i, 0));
        }),
    ]
}

fn symbolic() -> Vec<Sample> {
    let rows = |n: u64| {
        Sample::graph(&format!("symbolic rows, {n}"), |g| {
            let x = g.input("data", tensor(DType::F32, [sym("n", 0..=20), 12.into()]));
            let i = g.input("indices", tensor(DType::I32, [sym("n", 0..=20), 5.into()]));
            g.output("y", g.gather_elements(x, i, 1));
        })
        .fill("indices", Fill::Range(-12, 12))
        .bind("n", n)
    };
    // The axis, and how much of the data there are indices for, vary.
    let parts = |n: u64, m: u64| {
        Sample::graph(&format!("symbolic axis of {n}, {m} rows of it"), |g| {
            let x = g.input("data", tensor(DType::F32, [9.into(), sym("n", 4..=20)]));
            let i = g.input("indices", tensor(DType::I64, [sym("m", 0..=9), 5.into()]));
            g.output("y", g.gather_elements(x, i, 1));
        })
        .fill("indices", Fill::Range(-4, 4))
        .bind("n", n)
        .bind("m", m)
    };
    vec![rows(0), rows(1), rows(7), rows(20), parts(4, 9), parts(11, 0), parts(20, 6)]
}

fn extreme_indices() -> Vec<Sample> {
    let outside = |i: i64| !(-5..5).contains(&i);
    let mut samples = Vec::new();
    for d in [DType::F32, DType::F16, DType::I64] {
        let data = move |g: &GraphBuilder, shape: &[u64]| g.param("data", tensor(d, shape.iter().copied()));
        samples.extend(steering_samples(&format!("an element of {d}"), 5, outside, |g, i| {
            g.output("y", g.gather_elements(data(g, &[5]), g.reshape(i, &[1]), 0));
        }));
        for index in [DType::I32, DType::I64] {
            let along = |g: &GraphBuilder, i| g.output("y", g.gather_elements(data(g, &[3, 5]), i, 1));
            samples
                .push(steering_list(&format!("elements of {d}"), index, 5, &[1, 7], along).expect_status());
        }
    }
    samples
}

/// Each element of dy added where it was read.
fn rule(op: &GatherElements, cx: &GradCx<'_>) -> Result<Grads, NoGrad> {
    let zeros = cx.zeros(cx.x(0));
    Ok(vec![Some(cx.g.scatter_elements(zeros, cx.x(1), cx.dy(), op.axis, ScatterReduction::Add))])
}

impl GraphBuilder {
    /// Elements picked one by one along an axis (ONNX GatherElements): data\[a…, n, c…\], indices i32 or i64
    /// \[a'…, j, c'…\] with a' ≤ a and c' ≤ c → \[a'…, j, c'…\].
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, ValueType, f32, i32};
    /// # use pumice_types::DType;
    /// let g = GraphBuilder::new("g");
    /// // The probability of each row's label.
    /// let (rows, labels) = (g.input("rows", f32([8, 10])), g.input("labels", i32([8, 1])));
    /// g.output("y", g.gather_elements(rows, labels, 1));
    /// let graph = g.build()?;
    /// assert_eq!(graph.ty(graph.outputs()[0].value), &ValueType::fixed(DType::F32, &[8, 1]));
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn gather_elements(&self, data: Value, indices: Value, axis: i64) -> Value {
        self.apply(GatherElements { axis }, &[data, indices])
    }
}
