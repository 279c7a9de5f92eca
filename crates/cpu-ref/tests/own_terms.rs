//! Tolerances judge each element by its own terms: results that a bound for the whole tensor, or one by the mere number
//! of terms, would take for close are not.

use pumice_cpu_ref::{Array, Reference, sample};
use pumice_ir::{Fill, Graph, GraphBuilder, Sample, Value, f32};
use pumice_types::DType;

/// Terms that a loop of 65,535 trips leaves out are the last of these.
const TERMS: u64 = 70_000;
const LIMIT: usize = 65_535;

fn case(build: impl FnOnce(&GraphBuilder) -> Value) -> Sample {
    Sample::graph("own terms", |g| {
        let y = build(g);
        g.output("y", y);
    })
}

fn graph(sample: &Sample) -> &Graph {
    sample.graph.as_ref().expect("sound")
}

/// The values of a leaf.
fn leaf(sample: &Sample, name: &str) -> Vec<f64> {
    let graph = graph(sample);
    let leaf = graph.find(name).expect("a leaf");
    let tensor = sample::leaf_tensor(sample, graph, leaf, &sample::bindings(sample, graph), 0);
    Array::from_tensor(&tensor.expect("small")).to_f64()
}

/// Whether these results are close to the reference.
fn is_close(sample: &Sample, got: Vec<f64>) -> bool {
    let reference = Reference::new(sample, graph(sample)).expect("it has a value");
    let shape = reference.run(0).expect("one run").outputs[0].shape.clone();
    reference.difference(0, 0, &Array::floats(DType::F32, &shape, got)).is_none()
}

/// The tail is 1 but for a few factors whose product is 1.005. By the number of factors alone 2.2 % were allowed.
#[test]
fn a_product_that_leaves_out_its_last_factors_is_not_close() {
    let mut factors = vec![1.0; TERMS as usize];
    (0..40).for_each(|i| factors[i * 1000] = if i % 2 == 0 { 1.25 } else { 0.8 });
    (0..5).for_each(|i| factors[LIMIT + 100 * i] = 1.001);
    let sample =
        case(|g| g.reduce_prod(g.input("x", f32([1, TERMS])), &[1], false)).fill("x", Fill::Floats(factors));
    let x = leaf(&sample, "x");
    let product = |x: &[f64]| vec![x.iter().product::<f64>()];
    assert!(is_close(&sample, product(&x)));
    let short = product(&x[..LIMIT]);
    let off = 1.0 - short[0] / product(&x)[0];
    assert!(off > 4e-3 && off < 0.022, "{off}: the old bound would have shown it");
    assert!(!is_close(&sample, short));
}

#[test]
fn a_matrix_product_that_leaves_out_its_last_terms_is_not_close() {
    let sample = case(|g| g.matmul(g.input("a", f32([1, TERMS])), g.input("b", f32([TERMS, 2]))));
    let (a, b) = (leaf(&sample, "a"), leaf(&sample, "b"));
    let row = |n: usize| -> Vec<f64> { (0..2).map(|c| (0..n).map(|k| a[k] * b[2 * k + c]).sum()).collect() };
    assert!(is_close(&sample, row(TERMS as usize)));
    assert!(!is_close(&sample, row(LIMIT)));
}

/// A thousandth of the largest element is far too much for a small one.
#[test]
fn one_wrong_element_is_not_close() {
    let sizes = [1e4, 1.0, 1e-2];
    let rows: Vec<f64> =
        sizes.iter().flat_map(|s| (0..512).map(move |i| s * (0.1 + f64::from(i * 37 % 101)))).collect();
    let builds: [fn(&GraphBuilder, Value) -> Value; 3] = [
        |g, x| g.reduce_sum(x, &[1], false),
        |g, x| g.reduce_mean(x, &[1], false),
        |g, x| g.reduce_max(x, &[1], false),
    ];
    for build in builds {
        let sample = case(|g| build(g, g.input("x", f32([3, 512])))).fill("x", Fill::Floats(rows.clone()));
        let want = sample::evaluate(&sample, graph(&sample), Default::default()).expect("it has a value");
        let want = want[0].outputs[0].to_f64();
        assert!(is_close(&sample, want.clone()));
        for row in 1..3 {
            let mut wrong = want.clone();
            wrong[row] += 1e-3 * want[0];
            assert!(!is_close(&sample, wrong), "row {row}");
        }
    }
}
