//! A perceptron with one hidden layer that computes exclusive or: build a graph, compile it, set params, run.
//!
//! h = relu(x·W₁ᵀ + b₁), y = h·W₂ᵀ with W₁ all ones, b₁ = (0, −1), W₂ = (1, −2): y = (a + b) − 2·max(a + b − 1, 0).

use pumice::{Device, GraphBuilder, Options, TensorView, f32};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let g = GraphBuilder::new("xor");
    let x = g.input("x", f32([4, 2]));
    let h = g.relu(g.linear(x, g.param("w1", f32([2, 2])), Some(g.param("b1", f32([2])))));
    g.output("y", g.linear(h, g.param("w2", f32([1, 2])), None));
    let graph = g.build()?;

    let device = Device::best();
    let exe = pumice::compile(&graph, &device, &Options::default())?;
    println!("device: {}\n{}", device.name(), exe.memory());
    exe.set_param("w1", &[1.0; 4])?;
    exe.set_param("b1", &[0.0, -1.0])?;
    exe.set_param("w2", &[1.0, -2.0])?;

    let pairs = [0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0];
    let mut session = exe.session()?;
    session.run(&[("x", TensorView::f32(&pairs, [4, 2]))])?;
    let y = session.output("y")?.to_vec::<f32>()?;
    for (pair, y) in pairs.chunks(2).zip(&y) {
        println!("{} xor {} = {y}", pair[0], pair[1]);
    }
    assert_eq!(y, [0.0, 1.0, 1.0, 0.0]);
    Ok(())
}
