//! `AveragePool`: the mean of the elements under a window; pools over whole axes, which are reductions.

use super::pool::pool;
use super::pool_grad::Windows;
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::ops::elementwise::FLOATS;
use crate::ops::{Grad, GradCx, Grads, NoGrad, Op, ReduceMax, ReduceMean};
use crate::sample::{Fill, Sample};
use crate::shape::tensor;
use pumice_types::DType;

pool! {
    /// The mean of the elements under a window that slides over one to three spatial axes (ONNX AveragePool):
    /// x\[B, C, spatial…\] → \[B, C, positions…\]. The divisor is the number of taps inside, or, with
    /// `count_include_pad`, of taps inside and in pads; what of a last window lies after the end pad counts in neither.
    /// A mean over no taps is NaN. 16-bit floats are added in f32.
    AveragePool average_pool, FLOATS, Fill::Normal, {
        /// Whether taps in pads count as zeros.
        count_include_pad: bool = false
    }, more more_samples(),
    grad Grad::Rule(rule)
}

/// With pads that count, and global pools.
fn more_samples() -> Vec<Sample> {
    let case = |x: &[u64], op: AveragePool| {
        Sample::graph(&format!("{x:?} {op:?}"), |g| {
            let v = g.input("x", tensor(DType::F32, x.iter().copied()));
            g.output("y", g.average_pool(v, AveragePool { count_include_pad: true, ..op.clone() }));
        })
    };
    let of = |kernel: &[u64]| AveragePool { kernel: kernel.to_vec(), ..AveragePool::default() };
    let mut samples = vec![
        case(&[2, 3, 9], AveragePool { pads: vec![1, 2], ..of(&[3]) }),
        case(&[1, 2, 8, 7], AveragePool { pads: vec![1; 4], strides: vec![2, 2], ..of(&[3, 3]) }),
        case(&[1, 2, 4, 5, 6], AveragePool { pads: vec![1; 6], dilations: vec![2, 1, 1], ..of(&[2, 2, 3]) }),
        case(&[1, 2, 1], AveragePool { dilations: vec![2], pads: vec![1, 1], ..of(&[2]) }),
    ];
    samples.extend((6..11).map(|n| {
        let op = AveragePool { strides: vec![3], pads: vec![1, 2], ceil_mode: true, ..of(&[4]) };
        case(&[1, 2, n], op)
    }));
    let shapes: [&[u64]; 4] = [&[2, 3, 5], &[2, 5, 1, 1], &[1, 3, 7, 6], &[2, 2, 3, 4, 5]];
    samples.extend(shapes.map(|shape| {
        Sample::graph(&format!("global pools of {shape:?}"), |g| {
            let x = g.input("x", tensor(DType::F32, shape.iter().copied()));
            g.output("mean", g.global_average_pool(x));
            g.output("most", g.global_max_pool(x));
        })
    }));
    samples
}

/// dx\[n\] = Σ dy\[q\]/divisor\[q\] over the windows q that cover n, with the divisors of the means.
fn rule(op: &AveragePool, cx: &GradCx<'_>) -> Result<Grads, NoGrad> {
    let windows = Windows::of(cx, op.pool())?;
    Ok(vec![cx.wanted(0, || windows.of_means(cx, op.count_include_pad))])
}

impl GraphBuilder {
    /// The mean over all spatial axes (ONNX GlobalAveragePool), as the reduction that it is: x\[B, C, spatial…\] →
    /// \[B, C, 1…\].
    #[track_caller]
    pub fn global_average_pool(&self, x: Value) -> Value {
        let reduction = |axes| ReduceMean { axes, keepdims: true, noop_with_empty_axes: false };
        self.global_pool("global_average_pool", x, reduction)
    }

    /// The largest element over all spatial axes (ONNX GlobalMaxPool), as the reduction that it is: x\[B, C, spatial…\]
    /// → \[B, C, 1…\].
    #[track_caller]
    pub fn global_max_pool(&self, x: Value) -> Value {
        let reduction = |axes| ReduceMax { axes, keepdims: true, noop_with_empty_axes: false };
        self.global_pool("global_max_pool", x, reduction)
    }

    /// A reduction of the axes after batch and channels, called as the method.
    #[track_caller]
    fn global_pool<R: Into<Op>>(
        &self,
        method: &'static str,
        x: Value,
        reduction: impl FnOnce(Vec<i64>) -> R,
    ) -> Value {
        // A value that came out of a mistake has no type, and is passed on by the node itself.
        let rank = self.type_of(x).map_or(3, |ty| ty.rank());
        if rank < 3 {
            let expected = "expected batch, channels and at least one spatial axis".to_owned();
            return self.wrong_call(method, OpError::Rank { operand: "x", rank, expected });
        }
        self.apply_as(method, reduction((2..rank as i64).collect()), &[x])
    }
}
