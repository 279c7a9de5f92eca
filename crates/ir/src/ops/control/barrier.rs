//! `Barrier`: values that no pass sees through, and whose readers wait for another value.

use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::graph::Graph;
use crate::infer::{Infer, Types};
use crate::ops::{Grad, GradCx, Grads, NoGrad, OpDef};
use crate::sample::{Fill, Sample};
use crate::shape::{f32, sym, tensor};
use crate::{NodeId, ValueId};
use pumice_types::DType;

crate::op! {
    /// The xs themselves, bit for bit, in their order. What is computed from a result is another value than what is
    /// computed from its x: no pass merges, moves, folds or fuses one with the other; two barriers of the same operands
    /// are one. No step that depends on a result runs before `after` is there. When running it is nothing.
    pub struct Barrier {}
}

impl OpDef for Barrier {
    const OPERANDS: &'static [&'static str] = &["after?", "xs*"];
    const GRAD: Grad<Self> = Grad::Rule(rule);

    fn moves_with(&self, operand: usize) -> bool {
        operand > 0
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        if cx.len() < 2 {
            return Err(OpError::Invalid("it has no value to give back".into()));
        }
        (1..cx.len()).map(|i| cx.ty(i).cloned()).collect()
    }

    fn moves_bits(&self) -> bool {
        true
    }

    fn shown_operand(&self, result: usize) -> Option<usize> {
        Some(result + 1)
    }

    fn is_barrier(&self) -> bool {
        true
    }

    fn samples() -> Vec<Sample> {
        let case = |dtype: DType, shape: &[u64]| {
            Sample::graph(&format!("{dtype} {shape:?} of an input, as an output"), |g| {
                let x = g.input("x", tensor(dtype, shape.iter().copied()));
                g.output("y", g.barrier(&[x], Some(g.neg(g.input("z", f32([2])))))[0]);
            })
            .fill("x", Fill::Special)
        };
        let mut samples: Vec<Sample> = DType::ALL.iter().map(|&d| case(d, &[3, 7])).collect();
        samples.extend([case(DType::F32, &[]), case(DType::F32, &[0, 4])]);
        let between = Sample::graph("of two, between symbolic nodes", |g| {
            let x = g.input("x", f32([sym("n", 0..=70), 5.into()]));
            // Nothing here rounds: a barrier's results are its operands to the bit.
            let (y, z) = (g.neg(x), g.abs(x));
            let [a, b] = g.barrier(&[y, z], Some(g.exp(x)))[..] else { return };
            g.output("y", g.max(&[x, a]));
            g.output("z", g.neg(b));
        });
        samples.push(between.bind("n", 33));
        samples.push(Sample::graph("of a scalar, a constant and a param, after nothing", |g| {
            let s = g.scalar("s", f32::<u64>([]), -9.0, 9.0, 2.0);
            let (c, w) = (g.constant_scalar(DType::F32, 3.0), g.param("w", f32([6])));
            let [s, c, w] = g.barrier(&[s, c, w], None)[..] else { return };
            g.output("y", g.mul(g.add(g.transpose(g.reshape(w, &[2, 3]), &[1, 0]), s), c));
        }));
        samples.push(of_state("before it is written", false).runs(2));
        samples.push(of_state("after it is written", true).runs(2));
        samples
    }
}

/// A state as it was at the beginning of a run, read after another value, which may follow from what is written.
fn of_state(what: &str, written: bool) -> Sample {
    Sample::graph(&format!("of a state, {what}"), |g| {
        let (x, s) = (g.input("x", f32([3, 4])), g.state("s", f32([3, 4])));
        let next = g.state_write(s, g.add(s, x));
        let after = g.abs(if written { g.state_read(next) } else { x });
        let old = g.barrier(&[g.state_read(s)], Some(after))[0];
        g.output("y", g.max(&[g.neg(old), after]));
    })
}

/// The gradients of the results.
fn rule(_: &Barrier, cx: &GradCx<'_>) -> Result<Grads, NoGrad> {
    Ok(std::iter::once(None).chain((0..cx.node.outputs.len()).map(|i| cx.upstream(i))).collect())
}

impl Graph {
    /// The value itself, or what the barriers before it were given.
    pub fn before_barriers(&self, mut value: ValueId) -> ValueId {
        loop {
            let (id, place): (NodeId, u16) = self.value(value).def;
            let node = self.node(id);
            let x = node.op.shown_operand(place.into()).filter(|_| node.op.is_barrier());
            match x.and_then(|i| node.input(i)) {
                Some(x) => value = x,
                None => return value,
            }
        }
    }
}

impl GraphBuilder {
    /// The values themselves, x → x each. No pass merges, moves, folds or fuses what is computed from them with what
    /// is computed from the `xs`, and nothing that depends on them is computed before `after` is there: so a value can
    /// be computed a second time, late, instead of being kept. Gradients cross it.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// let g = GraphBuilder::new("g");
    /// let x = g.input("x", f32([4]));
    /// let first = g.exp(x);
    /// let again = g.exp(g.barrier(&[x], Some(first))[0]);
    /// g.output("y", g.mul(first, again));
    /// assert_eq!(g.build()?.nodes().filter(|(_, node)| node.op.name() == "exp").count(), 2);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn barrier(&self, xs: &[Value], after: Option<Value>) -> Vec<Value> {
        let operands: Vec<Option<Value>> =
            std::iter::once(after).chain(xs.iter().copied().map(Some)).collect();
        let mut results = self.apply_all(Barrier {}, &operands);
        // A mistake yields one invalid value; callers take one for each.
        if let Some(&first) = results.first() {
            results.resize(xs.len(), first);
        }
        results
    }
}
