//! The scalar form of every elementwise op, evaluated as a device would, against the op's reference on every sample:
//! within the op's tolerance, with fused and unfused products, with and without subnormals.

use pumice_cpu_ref::array::Data;
use pumice_cpu_ref::bounds::Bound;
use pumice_cpu_ref::eval::EvalCx;
use pumice_cpu_ref::graph::actual_type;
use pumice_cpu_ref::{Array, EvalOptions, Evaluation, Tolerance, ops, sample};
use pumice_ir::ops::ScalarCx;
use pumice_ir::{Graph, Node, Op, Sample};
use pumice_types::scalar::{Arithmetic, Evaluator, RegType, ScalarBuilder, ScalarExpr};
use pumice_types::{Bindings, DType};
use std::borrow::Cow;

/// The op's scalar form on the dtypes of its operands, rounded to the result's.
fn scalar_form(graph: &Graph, node: &Node) -> Result<ScalarExpr, String> {
    let out = graph.ty(node.output()).dtype();
    let dtypes: Vec<DType> = node.inputs.iter().map(|v| v.map_or(out, |v| graph.ty(v).dtype())).collect();
    let inputs: Vec<RegType> = node.operands().map(|v| RegType::from(graph.ty(v).dtype())).collect();
    let b = ScalarBuilder::new(&inputs);
    let mut registers = b.inputs().iter().copied();
    let args: Vec<_> = node.inputs.iter().map(|v| v.and_then(|_| registers.next())).collect();
    let result = node.op.scalar(&ScalarCx { b: &b, args: &args, dtypes: &dtypes, out });
    let result = result.ok_or("no scalar form")?;
    let rounded = b.narrow(result, out);
    b.finish(&[rounded]).map_err(|e| e.to_string())
}

fn to_bits(x: &Array, i: usize) -> u64 {
    match &x.data {
        // As stored: the hardware's conversion would quiet a signaling NaN.
        Data::Float(v) if v[i].is_nan() && x.dtype == DType::F32 => {
            let one = Array { dtype: x.dtype, shape: vec![1], data: Data::Float(vec![v[i]]) };
            let bytes = one.to_tensor().map(|t| t.into_bytes()).unwrap_or_default();
            u64::from(bytes.iter().rev().fold(0u32, |w, &b| w << 8 | u32::from(b)))
        }
        Data::Float(v) => u64::from((v[i] as f32).to_bits()),
        Data::Int(v) if RegType::from(x.dtype).bits() == 64 => v[i] as u64,
        Data::Int(v) => u64::from(v[i] as u32),
    }
}

fn from_bits(dtype: DType, bits: &[u64]) -> Array {
    let shape = [bits.len() as u64];
    if dtype.is_float() {
        return Array::floats(
            dtype,
            &shape,
            bits.iter().map(|&b| f64::from(f32::from_bits(b as u32))).collect(),
        );
    }
    let value = |&b: &u64| match RegType::from(dtype) {
        RegType::I32 => i64::from(b as u32 as i32),
        RegType::U32 => i64::from(b as u32),
        _ => b as i64,
    };
    Array::ints(dtype, &shape, bits.iter().map(value).collect())
}

/// A value that was not rounded by the form itself.
fn unrounded(dtype: DType, got: &Array, bits: &[u64]) -> bool {
    bits.iter().enumerate().any(|(i, &b)| {
        let nan = dtype.is_float() && f32::from_bits(b as u32).is_nan();
        !nan && to_bits(got, i) != b
    })
}

struct Case<'a> {
    graph: &'a Graph,
    node: &'a Node,
    plain: &'a Evaluation,
    flushed: &'a Evaluation,
    bindings: &'a Bindings,
}

impl Case<'_> {
    fn defect(&self) -> Option<String> {
        let expr = match scalar_form(self.graph, self.node) {
            Ok(expr) => expr,
            Err(e) => return Some(e),
        };
        let v = self.node.output();
        let want = self.plain.values[v.index()].as_deref()?;
        let alternative = self.flushed.values[v.index()].as_deref()?;
        let (bound, flushed_bound) = (self.bound(self.plain)?, self.bound(self.flushed)?);
        let operand = |v: &pumice_ir::ValueId| self.plain.values[v.index()].as_deref();
        let operands: Vec<Cow<'_, Array>> = self
            .node
            .inputs
            .iter()
            .flatten()
            .filter_map(operand)
            .map(|a| pumice_cpu_ref::index::expand(a, &want.shape))
            .collect();
        let modes = if want.len() > 2000 { &Arithmetic::ALL[1..3] } else { &Arithmetic::ALL[..] };
        for &mode in modes {
            let mut evaluator = Evaluator::new(&expr, mode);
            // Of a very large sample a part: it is there for the number of groups.
            let bits: Vec<u64> = (0..want.len().min(100_000))
                .map(|i| {
                    let inputs: Vec<u64> = operands.iter().map(|a| to_bits(a, i)).collect();
                    evaluator.run(&inputs);
                    evaluator.output(0)
                })
                .collect();
            let got = from_bits(want.dtype, &bits);
            if unrounded(want.dtype, &got, &bits) {
                return Some("a result is not a value of its dtype".into());
            }
            let far =
                |i: usize| !bound.accepts(want, &got, i) && !flushed_bound.accepts(alternative, &got, i);
            if let Some(i) = (0..bits.len()).find(|&i| far(i)) {
                let show = |a: &Array| match &a.data {
                    Data::Float(v) => format!("{:e}", v[i]),
                    Data::Int(v) => v[i].to_string(),
                };
                let inputs: Vec<String> = operands.iter().map(|a| show(a)).collect();
                return Some(format!(
                    "{mode:?}: f({}) = {}, not {}",
                    inputs.join(", "),
                    show(&got),
                    show(want)
                ));
            }
        }
        None
    }

    fn bound(&self, evaluation: &Evaluation) -> Option<Bound> {
        let inputs: Vec<Option<&Array>> = self
            .node
            .inputs
            .iter()
            .map(|v| v.and_then(|v| evaluation.values[v.index()].as_deref()))
            .collect();
        let types = [actual_type(self.graph, self.node.output(), self.bindings).ok()?];
        let cx = EvalCx::new(&inputs, &types, self.bindings);
        let tolerance = ops::tolerance(&self.node.op, &cx);
        let sums = matches!(tolerance, Tolerance::Sum { .. });
        Some(Bound {
            tolerance,
            magnitude: if sums { ops::magnitude(&self.node.op, &cx) } else { Vec::new() },
        })
    }
}

fn defects(op: &str, sample: &Sample) -> Vec<String> {
    let Ok(graph) = &sample.graph else { return vec!["does not build".into()] };
    let bindings = sample::bindings(sample, graph);
    let run = |flush_subnormals| {
        sample::evaluate(
            sample,
            graph,
            EvalOptions { keep_all: true, flush_subnormals, ..EvalOptions::default() },
        )
    };
    let (Ok(plain), Ok(flushed)) = (run(false), run(true)) else { return vec!["has no value".into()] };
    let mut found = Vec::new();
    for (_, node) in graph.nodes().filter(|(_, n)| n.op.name() == op && n.op.is_elementwise()) {
        let case = Case { graph, node, plain: &plain[0], flushed: &flushed[0], bindings: &bindings };
        found.extend(case.defect().map(|d| format!("{op}: {}: {d}", sample.label)));
    }
    found
}

fn check(first: usize, step: usize) {
    let mut found = Vec::new();
    for op in Op::NAMES.iter().skip(first).step_by(step) {
        for sample in Op::samples(op) {
            found.extend(defects(op, &sample));
        }
    }
    assert!(found.is_empty(), "{} defects:\n{}", found.len(), found.join("\n"));
}

macro_rules! parts {
    ($($name:ident $first:literal),*) => {$(
        #[test]
        fn $name() {
            check($first, 4);
        }
    )*};
}
parts!(scalar_forms_agree_1 0, scalar_forms_agree_2 1, scalar_forms_agree_3 2, scalar_forms_agree_4 3);
