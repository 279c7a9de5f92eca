//! `TensorScatter`: a cache with new rows in it.

use super::indices::expect_indices;
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types};
use crate::ops::kv_append::AppendMode;
use crate::ops::steering_samples::{steering_list, steering_samples};
use crate::ops::{Grad, OpDef};
use crate::sample::{Fill, Sample};
use crate::shape::{sym, tensor};
use pumice_types::{DType, Tensor};

crate::op! {
    /// y = cache, then y\[b, …, pos_b + t, …\] = update\[b, …, t, …\] (ONNX TensorScatter); without positions 0. What
    /// `KvAppend` does to a state, of any tensor: in linear mode rows past the end are dropped and report
    /// STATE_OVERFLOW; in circular mode a row's place is taken modulo the axis, and of rows that fall on one place the
    /// last wins. A position of more than 32 bits is past the end in both. Bits are moved as they are.
    pub struct TensorScatter {
        /// The axis of the rows.
        axis: i64 = -2,
        /// What happens at the end.
        mode: AppendMode = AppendMode::Linear,
    }
}

impl Default for TensorScatter {
    /// Along the last axis but one, linear.
    fn default() -> TensorScatter {
        TensorScatter { axis: -2, mode: AppendMode::Linear }
    }
}

impl OpDef for TensorScatter {
    const OPERANDS: &'static [&'static str] = &["cache", "update", "pos?"];
    const GRAD: Grad<Self> = Grad::No("it writes rows of a cache");
    const STEERS: &'static [&'static str] = &["pos"];

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        let (cache, update) = (cx.ty(0)?, cx.ty(1)?);
        cx.same_dtype(0, 1)?;
        cx.expect_rank(1, cache.rank())?;
        let axis = cx.axis(self.axis, cache.rank())?;
        for (i, (a, b)) in update.shape.iter().zip(cache.shape.iter()).enumerate() {
            if i != axis {
                cx.equal(a, b, "extents of the rows and the cache")?;
            }
        }
        if cache.shape[axis].lower(cx.symbols()) == 0 && !update.shape[axis].is(0) {
            let message = format!("the cache may have no rows along axis {axis}: every row would be lost");
            return Err(OpError::Invalid(message));
        }
        expect_positions(cx, axis)?;
        Ok(smallvec::smallvec![cache.clone()])
    }

    fn samples() -> Vec<Sample> {
        let (lin, circ) = (AppendMode::Linear, AppendMode::Circular);
        let (f, i32, i64) = (DType::F32, DType::I32, DType::I64);
        let case = |d: DType, rows: u64, (index, pos): (DType, &[i64]), mode: AppendMode| {
            Sample::graph(&format!("{d} {rows} rows at {index} {pos:?} {mode:?}"), |g| {
                let cache = g.param("cache", tensor(d, [2, 3, 8, 5]));
                let update = g.input("update", tensor(d, [2, 3, rows, 5]));
                let batch = if pos.len() == 1 { vec![] } else { vec![pos.len() as u64] };
                let pos = (!pos.is_empty()).then(|| g.input("pos", tensor(index, batch)));
                g.output("y", g.tensor_scatter(cache, update, pos, TensorScatter { axis: -2, mode }));
            })
            .fill("pos", Fill::Ints(pos.to_vec()))
            .fill("cache", Fill::Any)
            .fill("update", Fill::Any)
        };
        let mut samples: Vec<Sample> = DType::ALL.map(|d| case(d, 2, (i64, &[6, 1]), lin)).into();
        samples.extend([
            case(f, 5, (i32, &[]), lin),
            case(f, 8, (i32, &[0]), lin),
            case(f, 0, (i32, &[8]), lin),
            case(f, 3, (i32, &[6]), lin).expect_status(),
            case(f, 3, (i64, &[6, 1 << 32]), lin).expect_status(),
            case(f, 3, (i64, &[6, 1 << 32]), circ).expect_status(),
            case(f, 3, (i32, &[6]), circ),
            case(f, 19, (i64, &[5]), circ),
            case(DType::F16, 5, (i64, &[13, -4]), circ),
            Sample::graph("rows of a matrix", |g| {
                let cache = g.input("cache", tensor(f, [7, 300]));
                let update = g.input("update", tensor(f, [2, 300]));
                let pos = g.input("pos", tensor(i32, [0; 0]));
                g.output(
                    "y",
                    g.tensor_scatter(cache, update, Some(pos), TensorScatter { axis: 0, mode: lin }),
                );
            })
            .fill("pos", Fill::Ints(vec![4])),
        ]);
        samples.extend(AppendMode::ALL.map(|mode| {
            let sample = Sample::graph(&format!("at a constant of 33 bits, {mode:?}"), |g| {
                let cache = g.input("cache", tensor(f, [1, 4, 2]));
                let update = g.input("update", tensor(f, [1, 1, 2]));
                let pos = g.constant(Tensor::new(&[1i64 << 32], &[]).expect("one"));
                g.output("y", g.tensor_scatter(cache, update, Some(pos), TensorScatter { axis: 1, mode }));
            });
            sample.expect_status()
        }));
        samples.extend([0, 1, 9].map(|rows| {
            let sample = Sample::graph(&format!("symbolic, {rows} rows"), |g| {
                let cache = g.input("cache", tensor(f, [sym("b", 1..=3), sym("c", 1..=20), 4.into()]));
                let update = g.input("update", tensor(f, [sym("b", 1..=3), sym("t", 0..=16), 4.into()]));
                let pos = g.input("pos", tensor(i64, [sym("b", 1..=3)]));
                let op = TensorScatter { axis: 1, mode: circ };
                g.output("y", g.tensor_scatter(cache, update, Some(pos), op));
            });
            sample.bind("b", 2).bind("c", 7).bind("t", rows).fill("pos", Fill::Range(-20, 20))
        }));
        samples.extend(extreme_positions());
        samples
    }

    fn moves_bits(&self) -> bool {
        true
    }
}

/// None, one, or one for each batch entry.
fn expect_positions(cx: &Infer<'_>, axis: usize) -> Result<(), OpError> {
    if cx.opt(2).is_none() {
        return Ok(());
    }
    let pos = expect_indices(cx, 2)?;
    match pos.rank() {
        0 => Ok(()),
        1 if axis > 0 => cx.equal(&pos.shape[0], &cx.ty(0)?.shape[0], "positions and batch"),
        rank => {
            let expected = "expected 0, or 1 with one position per batch entry".into();
            Err(OpError::Rank { operand: "pos", rank, expected })
        }
    }
}

/// Positions at their extremes.
fn extreme_positions() -> Vec<Sample> {
    let mut samples = Vec::new();
    for mode in AppendMode::ALL {
        let build = |g: &GraphBuilder, pos: Value| {
            let cache = g.param("cache", tensor(DType::F32, [7, 8, 2]));
            let update = g.input("update", tensor(DType::F32, [7, 3, 2]));
            g.output("y", g.tensor_scatter(cache, update, Some(pos), TensorScatter { axis: 1, mode }));
        };
        let linear = mode == AppendMode::Linear;
        let overflows = |p: i64| linear && !(0..=5).contains(&p);
        samples.extend(steering_samples(&format!("{mode:?}"), 5, overflows, build));
        for index in [DType::I32, DType::I64] {
            let list = steering_list(&format!("{mode:?}"), index, 8, &[7], build);
            samples.push(if linear || index == DType::I64 { list.expect_status() } else { list });
        }
    }
    samples
}

impl GraphBuilder {
    /// A cache with new rows in it (ONNX TensorScatter): cache\[B, …, C, …\], update\[B, …, T, …\], positions i32 or
    /// i64 \[\] or \[B\] or none → the cache's type. For a state that stays on the device see
    /// [`kv_append`](crate::GraphBuilder::kv_append).
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32, i64};
    /// # use pumice_ir::ops::tensor_scatter::TensorScatter;
    /// let g = GraphBuilder::new("g");
    /// let (cache, new) = (g.input("cache", f32([2, 8, 64, 16])), g.input("new", f32([2, 8, 1, 16])));
    /// let filled = g.input("filled", i64([2]));
    /// g.output("y", g.tensor_scatter(cache, new, Some(filled), TensorScatter::default()));
    /// assert_eq!(g.build()?.outputs().len(), 1);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn tensor_scatter(
        &self,
        cache: Value,
        update: Value,
        pos: Option<Value>,
        op: TensorScatter,
    ) -> Value {
        self.apply_all(op, &[Some(cache), Some(update), pos])[0]
    }
}
