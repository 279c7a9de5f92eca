//! Gradients at kinks, to the bit: what OPS 3.12 says of each.

use super::methods::method;
use super::slopes::{Evaluator, Filled};
use pumice_cpu_ref::{Array, Data};
use pumice_ir::ops::distances::Metric;
use pumice_ir::ops::{Differentiation, ElementwiseGrad, ScalarCx};
use pumice_ir::{GraphBuilder, Op, Value, f32, text};
use pumice_types::scalar::{Arithmetic, Evaluator as Evaluator32, RegType, ScalarBuilder};
use pumice_types::{Bindings, DType};
use std::sync::Arc;

/// An operation over operands `a`, `b`, `c`, all of one length or of rank 0, with their gradients where the upstream
/// one is 3.
struct Kink {
    of: &'static str,
    operands: &'static [&'static [f64]],
    gradients: &'static [&'static [f64]],
}

const fn kink(
    of: &'static str,
    operands: &'static [&'static [f64]],
    gradients: &'static [&'static [f64]],
) -> Kink {
    Kink { of, operands, gradients }
}

const INF: f64 = f64::INFINITY;
/// The f32 nearest to the constants of SELU, times 3.
const SELU: f64 = 1.673_263_192_176_818_8 * 1.050_701_022_148_132_3 * 3.0;

/// Functions of elements: a gradient of 0 is +0 whatever the sign of what comes in.
const ELEMENTWISE: &[Kink] = &[
    kink("relu(a)", &[&[0.0, -0.0, 2.0, -2.0]], &[&[0.0, 0.0, 3.0, 0.0]]),
    kink("leaky_relu(a) {alpha = 0.25}", &[&[0.0, -0.0, 1.0]], &[&[0.75, 0.75, 3.0]]),
    kink("p_relu(a, b)", &[&[2.0, -2.0], &[0.5, 0.5]], &[&[3.0, 1.5], &[0.0, -6.0]]),
    kink("thresholded_relu(a) {alpha = 1.0}", &[&[1.0, 1.5, 0.0]], &[&[0.0, 3.0, 0.0]]),
    kink("shrink(a) {lambd = 0.5, bias = 0.25}", &[&[0.5, -0.5, 1.0, 0.0]], &[&[0.0, 0.0, 3.0, 0.0]]),
    kink("elu(a) {alpha = 2.0}", &[&[0.0, 1.0, 100.0]], &[&[6.0, 3.0, 3.0]]),
    kink("celu(a) {alpha = 2.0}", &[&[0.0, 1.0, 100.0]], &[&[3.0, 3.0, 3.0]]),
    kink("selu(a)", &[&[0.0]], &[&[SELU]]),
    kink("hard_sigmoid(a) {alpha = 0.25, beta = 0.5}", &[&[-2.0, 2.0, 0.0]], &[&[0.0, 0.0, 0.75]]),
    kink("abs(a)", &[&[0.0, -0.0, -1.0]], &[&[0.0, 0.0, -3.0]]),
    kink("sqrt(a)", &[&[0.0, 4.0]], &[&[INF, 0.75]]),
    kink(
        "clip(a, b, c)",
        &[&[-1.0, 1.0, -2.0, 0.5], &[-1.0], &[1.0]],
        &[&[3.0, 3.0, 0.0, 3.0], &[3.0], &[0.0]],
    ),
    kink("clip(a, b, c)", &[&[0.0, 1.0, 2.0], &[2.0], &[1.0]], &[&[0.0, 0.0, 0.0], &[0.0], &[9.0]]),
    kink("max(a, b)", &[&[1.0, 2.0, 0.0], &[1.0, 0.0, 5.0]], &[&[1.5, 3.0, 0.0], &[1.5, 0.0, 3.0]]),
    kink("min(a, b)", &[&[1.0, 2.0, 0.0], &[1.0, 0.0, 5.0]], &[&[1.5, 0.0, 3.0], &[1.5, 3.0, 0.0]]),
    kink("max(a, b, c)", &[&[2.0], &[2.0], &[2.0]], &[&[1.0], &[1.0], &[1.0]]),
    kink("mod(a, b)", &[&[7.0, -7.0], &[2.0, 2.0]], &[&[3.0, 3.0], &[-9.0, 12.0]]),
    kink("mod(a, b) {fmod = true}", &[&[7.0, -7.0], &[2.0, 2.0]], &[&[3.0, 3.0], &[-9.0, 9.0]]),
];

/// ln 2 · 3: the exponent of 2 at 0.
const POW: f64 = std::f64::consts::LN_2 * 3.0;

/// Functions that are products: a 0 has the sign of what comes in.
const PRODUCTS: &[Kink] = &[
    kink("hard_swish(a) {alpha = 0.25, beta = 0.5}", &[&[-2.0, 2.0, 0.0]], &[&[0.0, 3.0, 1.5]]),
    kink("p_relu(a, b)", &[&[0.0], &[0.5]], &[&[1.5], &[0.0]]),
    kink(
        "pow(a, b)",
        &[&[2.0, 0.0, 0.0, 0.0], &[0.0, 0.0, 1.0, 2.0]],
        &[&[0.0, 0.0, 3.0, 0.0], &[POW, 0.0, 0.0, 0.0]],
    ),
];

/// Rules made of ops, over the one axis.
const RULES: &[Kink] = &[
    kink("reduce_max(a) {axes = [0]}", &[&[2.0, 1.0, 2.0, 2.0]], &[&[1.0, 0.0, 1.0, 1.0]]),
    kink("reduce_min(a) {axes = [0]}", &[&[2.0, 1.0, 1.0]], &[&[0.0, 1.5, 1.5]]),
    kink("reduce_prod(a) {axes = [0]}", &[&[2.0, 0.0, 3.0]], &[&[0.0, 18.0, 0.0]]),
    kink("reduce_prod(a) {axes = [0]}", &[&[2.0, 0.0, 0.0]], &[&[0.0, 0.0, 0.0]]),
    kink("lp_normalization(a)", &[&[0.0, 0.0]], &[&[0.0, 0.0]]),
    kink("lp_normalization(a) {p = \"l1\"}", &[&[0.0, 0.0]], &[&[0.0, 0.0]]),
];

fn arrays(kink: &Kink) -> Vec<(String, Arc<Array>)> {
    let array = |(name, values): (&str, &&[f64])| {
        let shape = if values.len() == 1 { vec![] } else { vec![values.len() as u64] };
        let array = Array { dtype: DType::F32, shape, data: Data::Float(values.to_vec()) };
        (name.to_owned(), Arc::new(array))
    };
    ["a", "b", "c"].into_iter().zip(kink.operands).map(array).collect()
}

fn source(kink: &Kink) -> String {
    let leaves = arrays(kink).into_iter().map(|(name, array)| {
        let shape = array.shape.first().map(u64::to_string).unwrap_or_default();
        format!("  {name}: f32[{shape}] = input()\n")
    });
    let leaves: String = leaves.collect();
    format!("graph kink {{\n{leaves}  y = {}\n  output y = y\n}}\n", kink.of)
}

/// The gradients of the sum of a node's results times `dy`.
fn gradients(kink: &Kink, dy: f64) -> Vec<Vec<f64>> {
    let (arrays, source) = (arrays(kink), source(kink));
    let graph = text::read(&source).unwrap_or_else(|e| panic!("{e}:\n{source}"));
    let g = graph.edit();
    let y = g.find("y").expect("the result");
    evaluated(g, y, dy, arrays)
}

fn evaluated(g: GraphBuilder, y: Value, dy: f64, arrays: Vec<(String, Arc<Array>)>) -> Vec<Vec<f64>> {
    let loss = g.reduce_sum(g.mul(y, g.constant_scalar(DType::F32, dy)), &[], false);
    let wanted: Vec<Value> = arrays.iter().map(|(name, _)| g.find(name).expect("an operand")).collect();
    let results = g.grad(loss, &wanted);
    for (i, &gradient) in results.iter().enumerate() {
        g.output(&format!("gradient {i}"), gradient);
    }
    let graph = g.build().expect("a graph");
    let filled: Filled = arrays.into_iter().collect();
    let evaluator = Evaluator { graph: &graph, bindings: &Bindings::new(), filled: &filled };
    let mut outputs = evaluator.outputs(None).expect("a value");
    outputs.split_off(outputs.len() - wanted.len())
}

/// The derivative of a node by an operand as a device computes it, of each element: its scalar form in f32.
fn by_scalar_form(kink: &Kink, by: usize, dy: f32) -> Vec<f32> {
    let graph = text::read(&source(kink)).expect("a graph");
    let node = graph.def(graph.find("y").expect("the result"));
    let op = ElementwiseGrad { of: Arc::new(node.op.clone()), operand: by as i64 };
    let count = kink.operands.len() + 1;
    let b = ScalarBuilder::new(&vec![RegType::F32; count]);
    let args: Vec<_> = b.inputs().iter().map(|&r| Some(r)).collect();
    let cx = ScalarCx { b: &b, args: &args, dtypes: &vec![DType::F32; count], out: DType::F32 };
    let result = Op::from(op).scalar(&cx).expect("a scalar form");
    let form = b.finish(&[result]).expect("a form");
    let mut evaluator = Evaluator32::new(&form, Arithmetic::ALL[0]);
    let length = kink.operands.iter().map(|v| v.len()).max().unwrap_or(0);
    let element = |i: usize| {
        let of = |values: &&[f64]| values[if values.len() == 1 { 0 } else { i }] as f32;
        let inputs = std::iter::once(dy).chain(kink.operands.iter().map(of));
        evaluator.run(&inputs.map(|x| u64::from(x.to_bits())).collect::<Vec<_>>());
        f32::from_bits(evaluator.output(0) as u32)
    };
    (0..length).map(element).collect()
}

/// Equal, but for the sign of 0; what has no such float within its rounding.
fn is(found: f64, wanted: f64) -> bool {
    let exact = f64::from(wanted as f32) == wanted;
    found == wanted || !exact && (found - wanted).abs() <= 1e-6 * wanted.abs()
}

/// Elements of an operand, where it is no single number; those of others add up.
fn has_each(kink: &Kink, by: usize) -> bool {
    kink.operands.iter().all(|v| v.len() <= kink.operands[by].len())
}

fn is_scalar(kink: &Kink) -> bool {
    let name = kink.of.split('(').next().unwrap_or_default();
    Op::differentiation_of(name) == Some(Differentiation::Scalar)
}

#[test]
fn of_functions_of_elements() {
    for kink in ELEMENTWISE.iter().chain(PRODUCTS) {
        for sign in [1.0, -1.0] {
            let found = gradients(kink, 3.0 * sign);
            let pairs = found.iter().flatten().zip(kink.gradients.iter().flat_map(|g| g.iter()));
            let same = pairs.clone().all(|(&found, wanted)| is(found, sign * wanted));
            assert!(same, "{}: {found:?}, not {sign} times {:?}", kink.of, kink.gradients);
        }
    }
}

/// Whether a derivative, where 3 comes in, is this one; a 0 that is `chosen` is +0 whatever comes in, NaN and
/// infinities too.
fn is_right(found: f32, wanted: f64, dy: f32, chosen: bool) -> bool {
    match (wanted, chosen) {
        (0.0, true) => found.to_bits() == 0,
        _ => !dy.is_finite() || is(f64::from(found), wanted * f64::from(dy) / 3.0),
    }
}

/// As kernels compute it.
#[test]
fn of_scalar_forms() {
    let all = ELEMENTWISE.iter().map(|kink| (kink, true)).chain(PRODUCTS.iter().map(|kink| (kink, false)));
    for (kink, chosen) in all.filter(|(kink, _)| is_scalar(kink)) {
        for by in (0..kink.operands.len()).filter(|&by| has_each(kink, by)) {
            for dy in [3.0, -3.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
                let found = by_scalar_form(kink, by, dy);
                let mut pairs = found.iter().zip(kink.gradients[by]);
                let right = pairs.all(|(&found, &wanted)| is_right(found, wanted, dy, chosen));
                assert!(right, "{} by {by}: {found:?} where {dy} comes in", kink.of);
            }
        }
    }
}

#[test]
fn of_rules() {
    for kink in RULES {
        let wanted: Vec<Vec<f64>> = kink.gradients.iter().map(|g| g.to_vec()).collect();
        assert_eq!(gradients(kink, 3.0), wanted, "{}", kink.of);
    }
}

/// Lengths, deviations and distances at 0 pass nothing, as in PyTorch.
#[test]
fn of_methods() {
    let rows = [("reduce_l1", 0.0), ("reduce_l2", 0.0), ("std_dev", 5.0)].map(|(n, v)| (n, v, vec![1, 4]));
    for (name, values, shape) in rows.into_iter().chain([("lp_pool", 0.0, vec![1, 1, 4])]) {
        let g = GraphBuilder::new("kink");
        let y = method(name, &g, &[g.input("a", f32(shape.clone()))]);
        let array = Array { dtype: DType::F32, shape, data: Data::Float(vec![values; 4]) };
        let found = evaluated(g, y, 3.0, vec![("a".to_owned(), Arc::new(array))]);
        assert_eq!(found, [[0.0; 4]], "{name}");
    }
}

/// Rows that are equal are no distance apart, and push each other nowhere.
#[test]
fn of_distances() {
    let g = GraphBuilder::new("kink");
    let (x, y) = (g.input("x", f32([1, 2])), g.input("y", f32([2, 2])));
    let d = g.pairwise_distance(x, y, Metric::Euclidean);
    let array = |shape: [u64; 2], values: &[f64]| {
        Arc::new(Array { dtype: DType::F32, shape: shape.to_vec(), data: Data::Float(values.to_vec()) })
    };
    let arrays = vec![
        ("x".to_owned(), array([1, 2], &[1.0, 2.0])),
        ("y".to_owned(), array([2, 2], &[1.0, 2.0, 4.0, 6.0])),
    ];
    let found = evaluated(g, d, 5.0, arrays);
    assert_eq!(found, [vec![-3.0, -4.0], vec![0.0, 0.0, 3.0, 4.0]]);
}

/// What a `select` does not choose gets nothing, though what comes in be NaN.
#[test]
fn what_is_not_chosen() {
    let g = GraphBuilder::new("kink");
    let (x, y) = (g.input("x", f32([2])), g.input("y", f32([2])));
    let chosen = g.select(g.greater(x, y), x, y);
    let array = |values: [f64; 2]| {
        Arc::new(Array { dtype: DType::F32, shape: vec![2], data: Data::Float(values.to_vec()) })
    };
    let arrays = vec![("x".to_owned(), array([1.0, 0.0])), ("y".to_owned(), array([0.0, 1.0]))];
    let found = evaluated(g, chosen, f64::NAN, arrays);
    assert!(found[0][0].is_nan() && found[1][1].is_nan(), "{found:?}");
    assert_eq!((found[0][1].to_bits(), found[1][0].to_bits()), (0, 0));
}
