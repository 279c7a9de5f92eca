//! `KvAppend`: new rows into a cache, in place.

use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types};
use crate::ops::steering_samples::{steering_list, steering_samples};
use crate::ops::{Grad, OpDef};
use crate::sample::{Fill, Sample};
use crate::shape::{bool_, f32, i32, sym, tensor};
use pumice_types::DType;

crate::attr_enum! {
    /// Where rows go that pass the end.
    pub enum AppendMode {
        /// Rows past the capacity are dropped and the run reports `STATE_OVERFLOW`.
        Linear = "linear",
        /// Row index modulo capacity; of rows that fall on one place the last wins.
        Circular = "circular",
    }
}

crate::op! {
    /// Writes x's rows into the state after position `pos` (ONNX TensorScatter on a state):
    /// s'\[b, …, pos_b + t, …\] = x\[b, …, t, …\]; all other rows stay.
    pub struct KvAppend {
        /// The capacity axis.
        axis: i64 = -2,
        /// What happens at the end.
        mode: AppendMode = AppendMode::Linear,
    }
}

impl OpDef for KvAppend {
    const OPERANDS: &'static [&'static str] = &["state", "x", "pos"];
    const GRAD: Grad<Self> = Grad::No("a state is read and written in turn");
    const STEERS: &'static [&'static str] = &["pos"];

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        let (state, x, pos) = (cx.ty(0)?, cx.ty(1)?, cx.ty(2)?);
        if !x.dtype().is_float() && x.dtype() != state.dtype()
            || x.dtype().is_float() && !state.dtype().is_float()
        {
            cx.same_dtype(0, 1)?;
        }
        cx.expect_dtype(2, &[DType::I32])?;
        cx.expect_rank(1, state.rank())?;
        let axis = cx.axis(self.axis, state.rank())?;
        if state.shape[axis].is(0) && !x.shape[axis].is(0) {
            return Err(OpError::Invalid(format!(
                "the state has no rows along axis {axis}: every row would be lost"
            )));
        }
        for (i, (a, b)) in x.shape.iter().zip(state.shape.iter()).enumerate() {
            if i != axis {
                cx.equal(a, b, "extents of the rows and the state")?;
            }
        }
        match pos.rank() {
            0 => {}
            1 if axis > 0 => cx.equal(&pos.shape[0], &state.shape[0], "positions and batch")?,
            rank => {
                let expected = "expected 0, or 1 with one position per batch entry".into();
                return Err(OpError::Rank { operand: "pos", rank, expected });
            }
        }
        Ok(smallvec::smallvec![state.clone()])
    }

    fn samples() -> Vec<Sample> {
        let case = |label: &str, dtype: DType, t: u64, pos: &[i64], mode: AppendMode| {
            let pos = pos.to_vec();
            Sample::graph(&format!("{label}: {dtype} {t} rows at {pos:?}"), |g| {
                let s = g.state("s", tensor(dtype, [2, 3, 8, 5]));
                let x = g.input("x", f32([2, 3, t, 5]));
                let p = g.input("pos", i32(if pos.len() == 1 { vec![] } else { vec![pos.len() as u64] }));
                let s = g.kv_append(s, x, p, -2, mode);
                g.output("y", g.state_read(s));
            })
            .fill("pos", Fill::Ints(pos.clone()))
            .runs(2)
        };
        let (lin, circ) = (AppendMode::Linear, AppendMode::Circular);
        let mut samples = extreme_positions();
        samples.extend(found_rows());
        samples.extend([
            case("first row", DType::F32, 1, &[0], lin),
            case("last row", DType::F32, 1, &[7], lin),
            case("prefill", DType::F32, 5, &[2], lin),
            case("per batch", DType::F32, 2, &[6, 1], lin),
            case("f16", DType::F16, 3, &[1], lin),
            case("bf16", DType::BF16, 2, &[3, 4], lin),
            case("overflow is dropped", DType::F32, 3, &[6], lin).expect_status(),
            case("no rows", DType::F32, 0, &[8], lin),
            case("wraps", DType::F32, 3, &[6], circ),
            case("wraps twice", DType::F32, 19, &[5], circ),
            case("per batch, wraps", DType::F16, 5, &[13, 4], circ),
            Sample::graph("symbolic rows", |g| {
                let s = g.state("s", f32([1, 16, 4]));
                let x = g.input("x", f32([1.into(), sym("t", 0..=16), 4.into()]));
                let p = g.scalar("pos", i32::<u64>([]), 0.0, 16.0, 0.0);
                let s = g.kv_append(s, x, p, 1, lin);
                g.output("y", g.state_read(s));
            })
            .bind("t", 5)
            .scalar("pos", 3.0),
        ]);
        samples
    }

    fn state_operand(&self) -> Option<usize> {
        Some(0)
    }

    fn reads_strides(&self) -> bool {
        true
    }
}

/// Three rows at every place where sums may wrap, into words, pairs of halves, and pairs that lie in two rows.
fn extreme_positions() -> Vec<Sample> {
    let append = |g: &GraphBuilder, pos: Value, dtype: DType, inner: u64, mode| {
        let s = g.state("s", tensor(dtype, [7, 8, inner]));
        let x = g.input("x", f32([7, 3, inner]));
        g.output("y", g.state_read(g.kv_append(s, x, pos, 1, mode)));
    };
    let mut samples = Vec::new();
    for mode in [AppendMode::Linear, AppendMode::Circular] {
        for (dtype, inner) in [(DType::F32, 2), (DType::F16, 4), (DType::BF16, 3)] {
            let overflows = |p: i64| mode == AppendMode::Linear && !(0..=5).contains(&p);
            let what = format!("{mode:?} {dtype} rows of {inner}");
            samples.extend(steering_samples(&what, 5, overflows, |g, p| append(g, p, dtype, inner, mode)));
            let list = steering_list(&what, DType::I32, 8, &[7], |g, p| append(g, p, dtype, inner, mode));
            let raises = mode == AppendMode::Linear;
            samples.push(if raises { list.expect_status() } else { list });
        }
    }
    samples
}

/// As many rows as the run finds: none, some of nine, and more than fit.
fn found_rows() -> Vec<Sample> {
    let case = |what: &str, dtype: DType, inner: u64, (pos, kept): (i64, Fill), mode: AppendMode| {
        let sample = Sample::graph(&format!("{what} rows that are found: {dtype}, {mode:?}"), |g| {
            let s = g.state("s", tensor(dtype, [2, 11, inner]));
            let (x, kept) = (g.input("x", f32([2, 9, inner])), g.input("kept", bool_([9])));
            let rows = g.compress(x, kept, Some(1));
            let pos = g.input("pos", i32::<u64>([]));
            g.output("y", g.state_read(g.kv_append(s, rows, pos, 1, mode)));
        });
        sample.fill("pos", Fill::Ints(vec![pos])).fill("kept", kept).runs(2)
    };
    let some = || Fill::Ints(vec![1, 0, 0, 1, 1]);
    let (lin, circ) = (AppendMode::Linear, AppendMode::Circular);
    vec![
        case("no", DType::F32, 4, (2, Fill::Constant(0.0)), lin),
        case("some", DType::F32, 4, (5, some()), lin),
        case("some", DType::BF16, 3, (8, some()), circ),
        case("all", DType::F16, 4, (10, Fill::Constant(1.0)), circ),
        case("too many", DType::F16, 4, (7, Fill::Constant(1.0)), lin).expect_status(),
    ]
}

impl GraphBuilder {
    /// Rows into a cache: state\[B, …, C, …\], x\[B, …, T, …\], pos i32\[\] or i32\[B\] → the version after the write.
    #[track_caller]
    pub fn kv_append(&self, state: Value, x: Value, pos: Value, axis: i64, mode: AppendMode) -> Value {
        self.apply(KvAppend { axis, mode }, &[state, x, pos])
    }
}
