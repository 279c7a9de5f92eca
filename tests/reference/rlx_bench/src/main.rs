//! The work of `cargo xtask bench --only S3` with rlx-vulkan 0.2.19. Argument: the largest matrix. Prints a line for
//! each case: `name: TIME ms`, a matmul, a chain or a sum.

use rlx_ir::op::BinaryOp;
use rlx_ir::{DType, Graph, Op, Shape};
use rlx_vulkan::backend::VulkanExecutable;
use std::time::Instant;

/// Dependent matmuls in one run.
const PRODUCTS: usize = 8;
/// Ops of the chain.
const OPS: usize = 2000;
/// Elements of an operand of the chain.
const WIDTH: usize = 1024;
const SAMPLES: usize = 5;

fn main() {
    println!("rlx-vulkan device {:?}", rlx_vulkan::device_name());
    let largest = std::env::args().nth(1).map_or(512, |n| n.parse().expect("the largest matrix"));
    [256, 1024, 2048, 4096].into_iter().filter(|&n| n <= largest).for_each(products);
    chain();
    [1 << 20, 1 << 24].into_iter().for_each(sum);
}

fn f32s(extents: &[usize]) -> Shape {
    Shape::new(extents, DType::F32)
}

/// Median time of a run in milliseconds, after one run.
fn median(mut run: impl FnMut()) -> f64 {
    run();
    let mut times: Vec<f64> = (0..SAMPLES)
        .map(|_| {
            let begin = Instant::now();
            run();
            begin.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[SAMPLES / 2]
}

/// Dependent matmuls; one element of the last is read, so that the copy to the host does not count.
fn products(n: usize) {
    let mut g = Graph::new("products");
    let (a, b) = (g.param("a", f32s(&[n, n])), g.param("b", f32s(&[n, n])));
    let z = g.input("z", f32s(&[1]));
    let mut c = a;
    for _ in 0..PRODUCTS {
        c = g.add_node(Op::MatMul, vec![c, b], f32s(&[n, n]));
    }
    let row = g.add_node(Op::Narrow { axis: 0, start: 0, len: 1 }, vec![c], f32s(&[1, n]));
    let one = g.add_node(Op::Narrow { axis: 1, start: 0, len: 1 }, vec![row], f32s(&[1, 1]));
    let one = g.add_node(Op::Reshape { new_shape: vec![1] }, vec![one], f32s(&[1]));
    let y = g.add_node(Op::Binary(BinaryOp::Add), vec![one, z], f32s(&[1]));
    g.set_outputs(vec![y]);
    let mut exe = VulkanExecutable::compile(g);
    let weights: Vec<f32> =
        (0..n * n).map(|i| ((i * 2_654_435_761) % 1000) as f32 / 1e3 / n as f32).collect();
    exe.set_param("a", &weights);
    exe.set_param("b", &weights);
    let ms = median(|| {
        exe.run(&[("z", &[1.0f32])]);
    }) / PRODUCTS as f64;
    println!("gemm_f32_{n}: {ms:.3} ms/matmul");
}

/// Alternately a sum and a product with a vector.
fn chain() {
    let mut g = Graph::new("chain");
    let (x, w) = (g.input("x", f32s(&[WIDTH])), g.param("w", f32s(&[WIDTH])));
    let mut c = x;
    for i in 0..OPS {
        let op = if i % 2 == 0 { BinaryOp::Add } else { BinaryOp::Mul };
        c = g.add_node(Op::Binary(op), vec![c, w], f32s(&[WIDTH]));
    }
    g.set_outputs(vec![c]);
    let mut exe = VulkanExecutable::compile(g);
    exe.set_param("w", &vec![1.0; WIDTH]);
    let values = vec![0.5f32; WIDTH];
    let ms = median(|| {
        exe.run(&[("x", &values)]);
    });
    println!("chain {OPS} tiny ops: {ms:.3} ms, {:.3} us/op", ms * 1e3 / OPS as f64);
}

/// x + x, of which one element is read.
fn sum(n: usize) {
    let mut g = Graph::new("sum");
    let (x, z) = (g.param("x", f32s(&[n])), g.input("z", f32s(&[1])));
    let y = g.add_node(Op::Binary(BinaryOp::Add), vec![x, x], f32s(&[n]));
    let first = g.add_node(Op::Narrow { axis: 0, start: 0, len: 1 }, vec![y], f32s(&[1]));
    let y = g.add_node(Op::Binary(BinaryOp::Add), vec![first, z], f32s(&[1]));
    g.set_outputs(vec![y]);
    let mut exe = VulkanExecutable::compile(g);
    exe.set_param("x", &vec![1.0; n]);
    let ms = median(|| {
        exe.run(&[("z", &[1.0f32])]);
    });
    println!("add {n} elems: {ms:.3} ms");
}
