//! `If`: one of two values, of which only one is computed.

use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types, one};
use crate::ops::{Cast, ExtentOf, Grad, NodeCx, OpDef, Simpler};
use crate::sample::{Fill, Sample};
use crate::shape::{bool_, f32, i32};
use pumice_types::{DType, DimExpr};

crate::op! {
    /// `then` where the extent `taken` is 1, `otherwise` where it is 0, as bits (ONNX If). What only one of them needs
    /// is computed, and reports, where it is the one that is taken ([`Demand`](crate::demand::Demand)).
    pub struct If {
        /// 1 or 0.
        taken: DimExpr,
    }
}

impl OpDef for If {
    const OPERANDS: &'static [&'static str] = &["then", "otherwise"];
    const GRAD: Grad<Self> = Grad::No("which branch runs is decided while it runs");

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        let dtype = cx.same_dtype(0, 1)?;
        let (a, b) = (cx.ty(0)?, cx.ty(1)?);
        cx.expect_rank(1, a.rank())?;
        for (a, b) in a.shape.iter().zip(b.shape.iter()) {
            cx.equal(a, b, "extents of two branches")?;
        }
        let (low, high) = self.taken.bounds(cx.symbols());
        if low < 0 || high > 1 {
            let shown = cx.show(std::slice::from_ref(&self.taken));
            return Err(OpError::Invalid(format!("{shown} is from {low} to {high}; a choice is 0 or 1")));
        }
        one(dtype, a.shape.clone())
    }

    fn branches(&self) -> Option<&DimExpr> {
        Some(&self.taken)
    }

    fn moves_bits(&self) -> bool {
        true
    }

    /// Of a choice that is known, what it chooses; of one between equal values, that.
    fn simplify(&self, cx: &NodeCx<'_>) -> Option<Simpler> {
        let (a, b) = (cx.operand(0)?, cx.operand(1)?);
        match self.taken.as_const() {
            Some(0) => cx.is(b),
            Some(_) => cx.is(a),
            None if a == b => cx.is(a),
            None => None,
        }
    }

    fn samples() -> Vec<Sample> {
        let mut samples: Vec<Sample> = [false, true].into_iter().flat_map(both_ways).collect();
        samples.extend([3, 4, 5].map(by_an_extent));
        samples.extend([0, 1].map(by_a_scalar));
        samples.extend(DType::ALL.map(of_dtype));
        samples.extend([false, true].into_iter().flat_map(unlike));
        samples
    }
}

/// Samples with a condition that is an input.
fn both_ways(taken: bool) -> Vec<Sample> {
    let all = [products(taken), nested(taken), untaken(taken), found_inside(taken)];
    all.map(|sample| sample.fill("c", Fill::Ints(vec![i64::from(taken)]))).to_vec()
}

fn products(taken: bool) -> Sample {
    Sample::graph(&format!("products, {taken}"), |g| {
        let (x, v, w) = (g.input("x", f32([5, 6])), g.param("v", f32([6, 4])), g.param("w", f32([6, 4])));
        let c = g.input("c", bool_::<u64>([]));
        let [y] = g.if_(c, |g| [g.relu(g.matmul(x, v))], |g| [g.tanh(g.matmul(x, w))]);
        g.output("y", g.softmax(y, -1));
    })
}

fn nested(taken: bool) -> Sample {
    Sample::graph(&format!("one in another, {taken}"), |g| {
        let (x, c, d) = (g.input("x", f32([70])), g.input("c", bool_([1, 1])), g.input("d", bool_([1])));
        let then = |g: &GraphBuilder| {
            let sum = g.reduce_sum(x, &[0], true);
            let [inner] = g.if_(d, |g| [g.mul(x, sum)], |g| [g.sub(x, sum)]);
            [inner, g.exp(inner)]
        };
        let [y, z] = g.if_(c, then, |g| [x, g.cum_sum(x, Default::default())]);
        g.output("y", y);
        g.output("z", z);
    })
    .fill("d", Fill::Any)
}

fn untaken(taken: bool) -> Sample {
    let sample = Sample::graph(&format!("what is not taken reports nothing, {taken}"), |g| {
        let (x, i) = (g.input("x", f32([3, 4])), g.input("i", i32([2])));
        let c = g.input("c", bool_::<u64>([]));
        let [y] = g.if_(c, |g| [g.narrow(x, 0, 1u64, 2u64)], |g| [g.gather(x, i, 0)]);
        g.output("y", y);
    });
    let sample = sample.fill("i", Fill::Ints(vec![1, 7]));
    if taken { sample } else { sample.expect_status() }
}

fn found_inside(taken: bool) -> Sample {
    Sample::graph(&format!("an extent that a branch finds, {taken}"), |g| {
        let (x, c) = (g.input("x", f32([33])), g.input("c", bool_::<u64>([])));
        let zero = g.constant_scalar(DType::F32, 0.0);
        let sum = |g: &GraphBuilder| [g.reduce_sum(g.compress(x, g.greater(x, zero), None), &[0], false)];
        let [y] = g.if_(c, sum, |g| [g.reduce_max(x, &[0], false)]);
        g.output("y", y);
    })
}

/// A condition of extents, which the host decides.
fn by_an_extent(n: u64) -> Sample {
    Sample::graph(&format!("{n} of more than 3 rows"), |g| {
        let x = g.input("x", f32([crate::shape::sym("n", 1..=8), 5.into()]));
        let many = g.greater(g.extent(x, 0), g.constant_scalar(DType::I32, 3.0));
        let [y] = g.if_(many, |g| [g.reduce_sum(x, &[0], false)], |g| [g.reduce_max(x, &[0], false)]);
        g.output("y", y);
    })
    .bind("n", n)
}

/// A condition of a scalar.
fn by_a_scalar(greedy: i64) -> Sample {
    Sample::graph(&format!("by a scalar, {greedy}"), |g| {
        let x = g.input("x", f32([40]));
        let greedy = g.scalar("greedy", i32::<u64>([]), 0.0, 1.0, greedy as f64);
        let sure = g.equal(greedy, g.constant_scalar(DType::I32, 1.0));
        let [y] = g.if_(sure, |g| [g.softmax(x, 0)], |g| [g.square(x)]);
        g.output("y", y);
    })
}

/// Values of every dtype.
fn of_dtype(dtype: DType) -> Sample {
    Sample::graph(&format!("{dtype}"), |g| {
        let [a, b] = ["a", "b"].map(|name| g.input(name, crate::shape::tensor(dtype, [3, 5])));
        let [y] = g.if_(g.input("c", bool_::<u64>([])), |_| [a], |_| [b]);
        g.output("y", y);
    })
    .fill("c", Fill::Any)
}

/// Branches whose results are as long as each finds.
fn unlike(taken: bool) -> Vec<Sample> {
    let counts = [[0, 3], [5, 5], [9, 1], [2, 0]];
    let mut samples: Vec<Sample> =
        counts.into_iter().flat_map(|of| [rows_of(taken, of), both_axes(taken, of)]).collect();
    samples.extend([0, 4, 9].map(|n| some_or_all(taken, n)));
    samples.extend([DType::Bool, DType::F16, DType::I64, DType::U8].map(|dtype| kept_or_not(taken, dtype)));
    samples.push(found_by_both(taken));
    samples.into_iter().map(|sample| sample.fill("c", Fill::Ints(vec![i64::from(taken)]))).collect()
}

fn first_of(g: &GraphBuilder, x: Value, axis: i64, count: &str) -> Value {
    let n = g.extent_of(g.input(count, i32::<u64>([])), 0..=9);
    g.narrow(x, axis, 0u64, n)
}

/// Counts of both branches are found before the choice.
fn rows_of(taken: bool, [n, m]: [i64; 2]) -> Sample {
    Sample::graph(&format!("{n} or {m} rows, {taken}"), |g| {
        let (x, w) = (g.input("x", f32([9, 3])), g.param("w", f32([3, 4])));
        let (a, b) = (first_of(g, x, 0, "n"), first_of(g, x, 0, "m"));
        let [y] = g.if_(g.input("c", bool_::<u64>([])), |g| [g.relu(a)], |g| [g.neg(b)]);
        g.output("y", y);
        g.output("product", g.matmul(y, w));
        g.output("sum", g.reduce_sum(y, &[0], false));
    })
    .fill("n", Fill::Ints(vec![n]))
    .fill("m", Fill::Ints(vec![m]))
}

fn both_axes(taken: bool, [n, m]: [i64; 2]) -> Sample {
    Sample::graph(&format!("{n} by {m} or turned, {taken}"), |g| {
        let x = g.input("x", f32([9, 9]));
        let a = first_of(g, first_of(g, x, 0, "n"), 1, "m");
        let [y] = g.if_(g.input("c", bool_::<u64>([])), |g| [g.exp(a)], |g| [g.transpose(a, &[1, 0])]);
        g.output("y", y);
        g.output("rows", g.extent(y, 0));
    })
    .fill("n", Fill::Ints(vec![n]))
    .fill("m", Fill::Ints(vec![m]))
}

/// One branch finds, the other takes all.
fn some_or_all(taken: bool, n: i64) -> Sample {
    Sample::graph(&format!("{n} of 9 or all, {taken}"), |g| {
        let x = g.input("x", f32([4, 9]));
        let c = g.input("c", bool_::<u64>([]));
        let [y, z] = g.if_(c, |g| [first_of(g, x, 1, "n"), g.square(x)], |g| [x, g.neg(x)]);
        g.output("y", y);
        g.output("z", z);
        g.output("sums", g.reduce_sum(y, &[1], true));
    })
    .fill("n", Fill::Ints(vec![n]))
}

/// What only a branch finds, in any dtype.
fn kept_or_not(taken: bool, dtype: DType) -> Sample {
    Sample::graph(&format!("{dtype} kept by one mask or another, {taken}"), |g| {
        let x = g.input("x", crate::shape::tensor(dtype, [33]));
        let [kept, left] = ["kept", "left"].map(|name| g.input(name, bool_([33])));
        let c = g.input("c", bool_::<u64>([]));
        let [y] = g.if_(c, |g| [g.compress(x, kept, None)], |g| [g.compress(x, left, None)]);
        g.output("y", y);
    })
    .fill("kept", Fill::Range(0, 2))
    .fill("left", Fill::Range(0, 2))
}

/// A branch in a branch.
fn found_by_both(taken: bool) -> Sample {
    Sample::graph(&format!("one in another as long as it finds, {taken}"), |g| {
        let (x, c, d) = (g.input("x", f32([9])), g.input("c", bool_::<u64>([])), g.input("d", bool_([1])));
        let zero = g.constant_scalar(DType::F32, 0.0);
        let kept = |g: &GraphBuilder| g.compress(x, g.greater(x, zero), None);
        let inner = |g: &GraphBuilder| g.if_(d, |g| [kept(g)], |g| [g.compress(x, g.less(x, zero), None)]);
        let [y] = g.if_(c, inner, |g| [g.relu(x)]);
        g.output("y", g.cum_sum(y, Default::default()));
    })
    .fill("d", Fill::Any)
}

impl GraphBuilder {
    /// The results of one of two branches: where the condition, bool of one element, is true those of `then`, else
    /// those of `otherwise` (ONNX If). Only the branch that is taken is computed, and only it reports: its steps have
    /// work on the device, those of the other have none, and there is no way through the host. A condition of extents,
    /// integer scalars and constants alone is decided by the host before the run.
    ///
    /// Results of both branches have the same types, but that extents may differ which the run finds: the result is as
    /// long as that of the branch that is taken. A branch reads what was made outside of it; it writes no state,
    /// and a value of a branch may be used outside as any other, which makes it computed always.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, bool_, f32};
    /// let g = GraphBuilder::new("g");
    /// let (x, w) = (g.input("x", f32([4, 8])), g.param("w", f32([8, 8])));
    /// let [y] = g.if_(g.input("deep", bool_::<u64>([])), |g| [g.relu(g.matmul(x, w))], |_| [x]);
    /// g.output("y", y);
    /// g.build()?;
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn if_<const N: usize>(
        &self,
        condition: Value,
        then: impl FnOnce(&GraphBuilder) -> [Value; N],
        otherwise: impl FnOnce(&GraphBuilder) -> [Value; N],
    ) -> [Value; N] {
        if let Some(mistake) = self.no_condition("if", condition) {
            return [mistake; N];
        }
        let g = self.composition("if");
        let taken = g.choice(condition);
        let before = g.written();
        let (a, b) = (then(&g), otherwise(&g));
        let written = g.wrote_since(before);
        let last = g.last();
        match written {
            Some(why) => [last.wrong_call("if", OpError::Invalid(why)); N],
            None => {
                // Not in a closure, whose place would be told instead of the caller's.
                let mut joined = a;
                for (then, otherwise) in joined.iter_mut().zip(b) {
                    *then = last.join_branches(&taken, *then, otherwise);
                }
                joined
            }
        }
    }

    /// The mistake of a value that is no condition of a method.
    #[track_caller]
    pub(super) fn no_condition(&self, method: &'static str, condition: Value) -> Option<Value> {
        self.checked_operands(method, &["condition"], &[condition], is_condition).err()
    }

    /// A condition, bool of one element, as an extent: 1 where it is true, 0 where it is not. Of extents, integer
    /// scalars and constants alone it is an expression that the host evaluates; any other is found by the run. What
    /// is built from here on can be computed in one of two branches ([`join_branches`](GraphBuilder::join_branches)).
    ///
    /// Branches built so write no state and feed none: [`if_`](GraphBuilder::if_) refuses that, here it is the caller's
    /// to see to. A state that is written is needed whatever is chosen.
    #[track_caller]
    pub fn choice(&self, condition: Value) -> DimExpr {
        if self.no_condition("choice", condition).is_some() {
            return DimExpr::constant(1);
        }
        if let Some(known) = self.condition_expr(condition) {
            return known;
        }
        let g = self.composition("choice");
        let one = g.reshape_to(condition, Vec::new());
        let count = g.apply(Cast { to: DType::I32 }, &[one]);
        let taken = g.found_symbol(1);
        g.last().apply(ExtentOf { extent: taken.clone() }, &[count]);
        taken
    }

    /// `then` where a [`choice`](GraphBuilder::choice) is 1, else `otherwise`, of the same type but for extents that
    /// the run finds. What was built since the choice and only one of them needs is computed only where it is the one:
    /// [`if_`](GraphBuilder::if_) for who builds the branches elsewhere, and without its refusal of branches that write
    /// a state: what writes one is computed always.
    #[track_caller]
    pub fn join_branches(&self, taken: &DimExpr, then: Value, otherwise: Value) -> Value {
        match self.unlike_axes([then, otherwise]) {
            Some(axes) => self.join_unlike(taken, [then, otherwise], axes),
            None => self.apply(If { taken: taken.clone() }, &[then, otherwise]),
        }
    }
}

/// A condition is a truth value.
fn is_condition(cx: &Infer<'_>) -> Result<(), OpError> {
    cx.expect_dtype(0, &[DType::Bool])?;
    let one = DimExpr::constant(1);
    cx.ty(0)?.shape.iter().try_for_each(|d| cx.equal(d, &one, "an extent of a condition and one"))
}
