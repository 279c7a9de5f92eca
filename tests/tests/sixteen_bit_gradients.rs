//! Gradients of 16-bit values whose counts, products and sums on the way are beyond what 16 bits hold.

use half::f16;
use pumice::{Device, GraphBuilder, Options, Tensor, Value, f16 as halves};
use pumice_types::DType;

/// The gradient of the sum of what is built of an input, at these numbers.
fn gradient(x: &[f32], build: impl Fn(&GraphBuilder, Value) -> Value) -> Vec<f32> {
    let g = GraphBuilder::new("g");
    let input = g.input("x", halves([x.len() as u64]));
    let loss = g.reduce_sum(g.cast(build(&g, input), DType::F32), &[], false);
    g.output("dx", g.cast(g.grad(loss, &[input])[0], DType::F32));
    let graph = g.build().expect("the graph is sound");
    let exe = pumice::compile(&graph, &Device::cpu(), &Options::default()).expect("it compiles");
    let given: Vec<f16> = x.iter().map(|&x| f16::from_f32(x)).collect();
    let given = Tensor::new(&given, &[x.len() as u64]).expect("as many as the shape says");
    let out = exe.session().expect("a session").run(&[("x", given.view())]).expect("it runs");
    out.get("dx").expect("an output").to_vec::<f32>().expect("floats")
}

#[test]
fn more_elements_than_16_bits_count_share_a_gradient() {
    let many = 70_000;
    let share = f16::from_f32(1.0 / many as f32).to_f32();
    assert!(share > 0.0);
    let ones = vec![1.0; many];
    assert_eq!(gradient(&ones, |g, x| g.reduce_mean(x, &[], false)), vec![share; many]);
    assert_eq!(gradient(&ones, |g, x| g.reduce_max(x, &[], false)), vec![share; many]);
    assert_eq!(gradient(&ones, |g, x| g.reduce_min(x, &[], false)), vec![share; many]);
}

#[test]
fn products_of_some_elements_may_be_beyond_the_range() {
    let x = [300.0, 300.0, 0.01, 0.01].map(|x| f16::from_f32(x).to_f32());
    let others = |i: usize| (0..4).filter(|&k| k != i).map(|k| x[k]).product::<f32>();
    let found = gradient(&x, |g, x| g.reduce_prod(x, &[], false));
    assert_eq!(found, [0, 1, 2, 3].map(|i| f16::from_f32(others(i)).to_f32()));
}

/// What lies inside has no influence on the gradient of the value outside, infinity included, and takes no digit of it.
#[test]
fn the_value_of_a_pad_is_summed_outside_alone() {
    use pumice_ir::ops::pad::Pad;
    let of_value = |inside: f32| {
        gradient(&[2.0], |g, value| {
            let image = g.constant(Tensor::new(&[f16::ONE; 10_000], &[100, 100]).expect("an image"));
            let value = g.reshape(value, &[]);
            let padded = g.pad(image, Some(value), Pad { pads: vec![1; 4], ..Pad::default() });
            // 1 outside, where the value lies.
            let [one, inside] = [1.0, f64::from(inside)].map(|v| g.constant_scalar(DType::F16, v));
            let is_image = g.equal(padded, one);
            g.mul(padded, g.select(is_image, inside, one))
        })
    };
    assert_eq!(of_value(1.0), [404.0]);
    assert_eq!(of_value(f32::INFINITY), [404.0]);
}
