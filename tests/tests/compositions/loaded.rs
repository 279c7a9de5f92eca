//! Reductions of what elementwise nodes make for them alone: their kernels compute it while they load, or it is a step
//! of its own where they cannot walk what it reads.

use super::all_pass;
use pumice_ir::sample::Fill;
use pumice_ir::shape::DimSpec;
use pumice_ir::{GraphBuilder, Sample, Value, sym, tensor};
use pumice_tests::op_suite::Runner;
use pumice_types::DType;

/// One of the reductions by number.
fn reduced(g: &GraphBuilder, number: usize, x: Value, axes: &[i64]) -> Value {
    match number % 4 {
        0 => g.reduce_sum(x, axes, false),
        1 => g.reduce_mean(x, axes, false),
        2 => g.reduce_max(x, axes, false),
        _ => g.reduce_prod(x, axes, false),
    }
}

/// One number for each row, for each column, for all; whole; stretched along some of the reduced axes alone.
fn beside(g: &GraphBuilder, d: DType, shape: &[DimSpec]) -> Vec<Value> {
    let ones = || vec![DimSpec::from(1u64); shape.len()];
    let mut shapes = vec![shape.to_vec(), ones()];
    for axis in 0..shape.len() {
        let mut own = ones();
        own[axis] = shape[axis].clone();
        shapes.push(own);
        let mut others = shape.to_vec();
        others[axis] = 1u64.into();
        shapes.push(others);
    }
    (0..).zip(shapes).map(|(i, shape): (usize, _)| g.input(&format!("beside{i}"), tensor(d, shape))).collect()
}

/// One output for each reduction of each of: x² + b; x·b − b; a value that is an output, too.
fn sample(label: &str, d: DType, shape: Vec<DimSpec>, axes: &[i64]) -> Sample {
    let sample = Sample::graph(&format!("{d} {label} over {axes:?}"), |g| {
        let x = g.input("x", tensor(d, shape.clone()));
        for (i, b) in beside(g, d, &shape).into_iter().enumerate() {
            let squares = g.add(g.square(x), b);
            g.output(&format!("squares{i}"), reduced(g, i, squares, axes));
            g.output(&format!("products{i}"), reduced(g, i, g.sub(g.mul(x, b), b), axes));
            let seen = g.mul(g.affine(x, 0.5, 1.0), b);
            g.output(&format!("seen{i}"), reduced(g, i, seen, axes));
            g.output(&format!("itself{i}"), seen);
        }
    });
    (0..2 + 2 * shape.len()).fold(sample.fill("x", Fill::Uniform(-1.0, 1.0)), |sample, i| {
        sample.fill(&format!("beside{i}"), Fill::Uniform(-1.0, 1.0))
    })
}

pub fn loaded_reductions(runner: &Runner) {
    let fixed = |d: DType, shape: &[u64], axes: &[i64]| {
        sample(&format!("{shape:?}"), d, shape.iter().map(|&n| n.into()).collect(), axes)
    };
    let f = DType::F32;
    let mut samples: Vec<Sample> = [&[0i64][..], &[1], &[0, 1]]
        .into_iter()
        .flat_map(|axes| [fixed(f, &[3, 33], axes), fixed(f, &[5, 64], axes)])
        .collect();
    samples.extend([&[1i64][..], &[0, 1], &[1, 2], &[0, 2]].map(|axes| fixed(f, &[3, 6, 20], axes)));
    samples.extend([
        fixed(DType::F16, &[4, 40], &[1]),
        fixed(DType::BF16, &[40, 12], &[0]),
        fixed(f, &[4, 1], &[1]),
    ]);
    // Cut into parts: what the kernel loads is seen in parts, too.
    samples.extend([fixed(f, &[1, 9000], &[0, 1]), fixed(f, &[2, 8192], &[1]), fixed(f, &[3000, 4], &[0])]);
    samples.extend([fixed(f, &[0, 3], &[0]), fixed(f, &[3, 0], &[0])]);
    samples.extend(
        [1, 5, 50].map(|n| sample("symbolic rows", f, vec![sym("n", 1..=50), 24.into()], &[0]).bind("n", n)),
    );
    samples.extend(
        [1, 5, 50]
            .map(|n| sample("symbolic columns", f, vec![6.into(), sym("n", 1..=50)], &[1]).bind("n", n)),
    );
    all_pass(runner, "loaded reductions", samples);
}
