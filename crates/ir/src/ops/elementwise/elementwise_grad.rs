//! `ElementwiseGrad`: the gradient of an elementwise op by one of its operands.

use crate::error::OpError;
use crate::infer::{Infer, Types, one};
use crate::ops::{Differentiation, Grad, NodeCx, Op, OpDef, ScalarCx, Simpler};
use crate::sample::{Fill, Sample};
use crate::shape::{ValueType, tensor};
use crate::{Graph, Node, ValueId};
use pumice_types::scalar::{Reg, RegType, ScalarBuilder, ScalarExpr};
use pumice_types::{DType, DimExpr};
use std::collections::BTreeSet;
use std::sync::Arc;

crate::op! {
    /// dy·∂y/∂x for y = of(…, x, …): the gradient of an elementwise op, at the extents of its result and in the dtype
    /// of the operand (OPS 3.12). It is made of the op's scalar form, in which dy is pushed forward from the operand:
    /// for one number, forward and back are one product. Who stretched the operand sums over what it was stretched
    /// along. Its own gradients are made the same way.
    pub struct ElementwiseGrad {
        /// The op.
        of: Arc<Op>,
        /// The number of the operand.
        operand: i64,
    }
}

impl ElementwiseGrad {
    fn by(&self) -> usize {
        usize::try_from(self.operand).unwrap_or(usize::MAX)
    }

    fn wrong(&self, reason: &str) -> OpError {
        OpError::Invalid(format!("{} {reason}", self.of.name()))
    }

    /// The type of what the op makes of its operands.
    fn result_of(&self, cx: &Infer<'_>) -> Result<ValueType, OpError> {
        let by_scalar = self.of.is_elementwise() && self.of.differentiation() == Differentiation::Scalar;
        if !by_scalar {
            return Err(self.wrong("has no gradient that is made of its scalar form"));
        }
        cx.result_of(&self.of, 1)
    }
}

impl OpDef for ElementwiseGrad {
    const OPERANDS: &'static [&'static str] = &["dy", "xs*"];
    const GRAD: Grad<Self> = Grad::Scalar;

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        let result = self.result_of(cx)?;
        let by = self.by().checked_add(1).and_then(|i| cx.opt(i));
        let by = by.ok_or_else(|| self.wrong(&format!("has no operand {}", self.operand)))?.dtype();
        if !by.is_float() || !result.dtype().is_float() {
            return Err(self.wrong(&format!("makes {} of {by}; gradients are floats", result.dtype())));
        }
        if cx.ty(0)?.dtype() != result.dtype() {
            let (dy, dtype) = (cx.ty(0)?.dtype(), result.dtype());
            return Err(OpError::DTypeMismatch { a: "dy", a_dtype: dy, b: "the result", b_dtype: dtype });
        }
        cx.expect_rank(0, result.rank())?;
        for (a, b) in cx.ty(0)?.shape.iter().zip(result.shape.iter()) {
            cx.equal(a, b, "extents of a result and its gradient")?;
        }
        one(by, result.shape.clone())
    }

    /// Every setting of every elementwise op that its own samples have, by every float operand.
    fn samples() -> Vec<Sample> {
        let differentiable = |name: &&&str| Op::differentiation_of(name) == Some(Differentiation::Scalar);
        let names = Op::NAMES.iter().filter(differentiable).filter(|name| **name != "elementwise_grad");
        names.flat_map(|name| of_op(name)).collect()
    }

    fn scalar(&self, cx: &ScalarCx<'_>) -> Option<Reg> {
        let operands = cx.args.get(1..)?;
        let present: Vec<Reg> = operands.iter().flatten().copied().collect();
        let place = operands.iter().take(self.by()).flatten().count();
        let dtypes = cx.dtypes.get(1..)?;
        cx.b.tangent(&present, (place, cx.arg(0)?), |b, regs| {
            let mut regs = regs.iter().copied();
            let args: Vec<Option<Reg>> = operands.iter().map(|a| a.and_then(|_| regs.next())).collect();
            self.of.scalar(&ScalarCx { b, args: &args, dtypes, out: *cx.dtypes.first()? })
        })
    }

    fn is_elementwise(&self) -> bool {
        true
    }

    /// dy, where the result moves by as much as the operand: that of a sum. Else dy in place of each operand that the
    /// gradient does not depend on, as of a product the factor whose gradient it is: who makes it need not keep it.
    fn simplify(&self, cx: &NodeCx<'_>) -> Option<Simpler> {
        let (graph, node) = (cx.graph, cx.node());
        let out = graph.ty(node.output()).dtype();
        let dtypes: Vec<DType> = node.inputs.iter().map(|v| v.map_or(out, |v| graph.ty(v).dtype())).collect();
        let (b, args) = registers(node, &dtypes);
        let made = self.scalar(&ScalarCx { b: &b, args: &args, dtypes: &dtypes, out })?;
        if Some(made) == args[0] {
            return cx.is_operand();
        }
        without_unread(cx, &b.finish(&[made]).ok()?)
    }
}

/// A builder over registers of these types, and the registers of the operands that are there.
fn registers(node: &Node, dtypes: &[DType]) -> (ScalarBuilder, Vec<Option<Reg>>) {
    let b = ScalarBuilder::new(&dtypes.iter().map(|&d| RegType::from(d)).collect::<Vec<_>>());
    let args = node.inputs.iter().zip(b.inputs()).map(|(v, &reg)| v.map(|_| reg)).collect();
    (b, args)
}

/// A value, and what it was stretched from.
fn stretched_to(graph: &Graph, v: ValueId) -> Vec<ValueId> {
    let before = |v: &ValueId| match graph.def(*v) {
        node if matches!(node.op, Op::Expand(_)) => node.input(0),
        _ => None,
    };
    std::iter::successors(Some(v), before).collect()
}

/// dy in place of every operand of its dtype that is not read, unless that is what dy was stretched from: it costs no
/// more, and who takes stretches away would take dy's.
fn without_unread(cx: &NodeCx<'_>, made: &ScalarExpr) -> Option<Simpler> {
    let (graph, inputs) = (cx.graph, &cx.node().inputs);
    let dy = cx.operand(0).filter(|dy| !graph.is_state_version(*dy))?;
    let stretched = stretched_to(graph, dy);
    let is_unread = |i: usize, v: ValueId| {
        !made.reads(i) && graph.ty(v).dtype() == graph.ty(dy).dtype() && !stretched.contains(&v)
    };
    let read = |(i, v): (usize, &Option<ValueId>)| v.map(|v| if is_unread(i, v) { dy } else { v });
    let operands = inputs.iter().enumerate().map(read).collect();
    (operands != *inputs).then_some(Simpler::Operands(operands))
}

/// Elements of the largest value of a sample that is taken.
const MOST: u64 = 600;

/// One sample for each setting of an op and each of its float operands, and for each derivative of that by a float
/// operand.
fn of_op(name: &str) -> Vec<Sample> {
    let mut seen: BTreeSet<String> = BTreeSet::new();
    let mut samples = Vec::new();
    for case in Op::samples(name).iter().filter_map(Case::of) {
        for by in case.floats() {
            let label = case.label(by);
            if seen.insert(label.clone()) {
                samples.push(case.sample(&label, by));
                samples.extend(case.seconds(&label, by));
            }
        }
    }
    samples
}

/// Places of second derivatives: kinks of functions and of their gradients, what lies between them, and infinities.
const PLACES: [f64; 13] =
    [0.0, -1.5, 2.5, -2.5, 0.5, 1.5, 1.0, -1.0, 7.0, 3.0, -3.0, f64::INFINITY, f64::NEG_INFINITY];
/// Those of operands after the first: no poles of quotients, and powers of 0 that have slopes.
const OTHERS: [f64; 4] = [1.5, 2.5, 3.0, 2.0];

/// Those of float operand `i` of so many: beside others none is infinite. Their counts have no divisor in common, so
/// that all of them meet.
fn places(i: usize, count: usize) -> Vec<f64> {
    match (i, count) {
        (_, 1) => PLACES.to_vec(),
        (0, _) => PLACES[..11].to_vec(),
        _ => OTHERS[..5usize.saturating_sub(i).clamp(1, 4)].to_vec(),
    }
}

/// An op over operands of these types.
struct Case {
    op: Op,
    operands: Vec<Option<ValueType>>,
    result: ValueType,
}

impl Case {
    /// What makes the first output of a sample, if it is an elementwise op of a few floats of 32 bits (of any width for
    /// casts).
    fn of(sample: &Sample) -> Option<Case> {
        let graph = sample.graph.as_ref().ok()?;
        let node = graph.def(graph.outputs().first()?.value);
        let op = node.op.clone();
        let operands = node.inputs.iter().map(|v| v.map(|v| graph.ty(v).clone())).collect();
        let case = Case { op, operands, result: graph.ty(node.output()).clone() };
        case.is_taken().then_some(case)
    }

    fn is_taken(&self) -> bool {
        let by_scalar = self.op.is_elementwise() && self.op.differentiation() == Differentiation::Scalar;
        let elements = self.result.shape.iter().map(DimExpr::as_extent).product::<Option<u64>>();
        let is_small = elements.is_some_and(|n| (2..=MOST).contains(&n));
        let types = || self.operands.iter().flatten().chain([&self.result]);
        let narrow = |ty: &ValueType| ty.dtype().is_float() && ty.dtype() != DType::F32;
        let any_width = matches!(self.op, Op::Cast(_));
        let plain = types().all(|ty| ty.encoding.plain().is_some());
        by_scalar
            && is_small
            && plain
            && self.result.dtype().is_float()
            && (any_width || !types().any(narrow))
    }

    fn is_float(&self, by: usize) -> bool {
        self.operands[by].as_ref().is_some_and(|ty| ty.dtype().is_float())
    }

    fn label(&self, by: usize) -> String {
        let operand = self.operands[by].as_ref();
        let how = if operand.is_some_and(|ty| ty.shape == self.result.shape) { "" } else { ", stretched" };
        format!("{:?} {} by {by}{how}", self.op, operand.map_or(DType::F32, ValueType::dtype))
    }

    /// The numbers of the float operands.
    fn floats(&self) -> impl Iterator<Item = usize> {
        (0..self.operands.len()).filter(|&by| self.is_float(by))
    }

    /// That of the gradient by an operand by each operand, at [`PLACES`].
    fn seconds(&self, label: &str, by: usize) -> Vec<Sample> {
        let of = ElementwiseGrad { of: Arc::new(self.op.clone()), operand: by as i64 };
        let at_result = |dtype: DType| ValueType::new(dtype, self.result.shape.clone());
        let dy = Some(at_result(self.result.dtype()));
        let dtype = self.operands[by].as_ref().map_or(DType::F32, ValueType::dtype);
        let operands = std::iter::once(dy).chain(self.operands.clone()).collect();
        let case = Case { op: of.into(), operands, result: at_result(dtype) };
        let count = self.floats().count();
        let sample = |then: usize| {
            let sample = case.sample(&format!("{label}, then by {then}"), then + 1);
            let small = Fill::Uniform(-0.5, 0.5);
            let sample = sample.fill("dy", small.clone()).fill("x0", small);
            self.floats().enumerate().fold(sample, |sample, (i, at)| {
                sample.fill(&format!("x{}", at + 1), Fill::Floats(places(i, count)))
            })
        };
        self.floats().map(sample).collect()
    }

    fn sample(&self, label: &str, by: usize) -> Sample {
        let input = |ty: &ValueType| tensor(ty.dtype(), ty.shape.iter().cloned());
        let sample = Sample::graph(label, |g| {
            let mut operands = vec![Some(g.input("dy", input(&self.result)))];
            for (i, ty) in self.operands.iter().enumerate() {
                operands.push(ty.as_ref().map(|ty| g.input(&format!("x{i}"), input(ty))));
            }
            let op = ElementwiseGrad { of: Arc::new(self.op.clone()), operand: by as i64 };
            g.output("dx", g.apply_all(op, &operands)[0]);
        });
        let dtypes = self.operands.iter().enumerate().filter_map(|(i, ty)| Some((i, ty.as_ref()?.dtype())));
        dtypes.fold(sample.fill("dy", Fill::Any), |sample, (i, dtype)| {
            let any = dtype == DType::Bool || dtype.is_float();
            sample.fill(&format!("x{i}"), if any { Fill::Any } else { Fill::Range(-3, 4) })
        })
    }
}
