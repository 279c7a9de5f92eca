//! A gradient is a value of the graph: forces are the negative gradient of an energy by positions, and the gradient of
//! a loss of forces, by the weights of the energy, is a gradient of that gradient.

use pumice::{Device, GraphBuilder, Options, TensorView, f32};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let g = GraphBuilder::new("forces");
    let position = g.input("position", f32([6, 3]));
    let measured = g.input("measured", f32([6, 3]));
    let stiffness = g.param("stiffness", f32([3, 3]));
    // E = sum of tanh(x·K)² / 2 over all particles.
    let energy = g.square(g.tanh(g.matmul(position, stiffness)));
    let energy = g.mul(g.reduce_sum(energy, &[], false), g.constant_scalar(pumice::DType::F32, 0.5));
    let force = g.neg(g.grad(energy, &[position])[0]);
    let (loss, _) = g.mse(force, measured, Default::default());
    g.output("force", force);
    g.output("loss", loss);
    g.output("slope", g.grad(loss, &[stiffness])[0]);

    let exe = pumice::compile(&g.build()?, &Device::best(), &Options::default())?;
    let x: Vec<f32> = (0..18).map(|i| (i as f32 * 0.7).sin() * 0.5).collect();
    let zeros = [0.0; 18];
    let inputs = [("position", TensorView::f32(&x, [6, 3])), ("measured", TensorView::f32(&zeros, [6, 3]))];
    let mut k: Vec<f32> = (0..9).map(|i| if i % 4 == 0 { 1.0 } else { 0.1 * i as f32 }).collect();
    exe.set_param("stiffness", &k)?;
    let mut session = exe.session()?;
    let first = session.run(&inputs)?;
    let [loss, slope] = ["loss", "slope"].map(|name| first.get(name).map(|t| t.to_vec::<f32>()));
    let (loss, slope) = (loss??[0], slope??);
    // The slope is that of the loss: a small step against it takes off what it says.
    let square: f32 = slope.iter().map(|s| s * s).sum();
    let step = 1e-3;
    k.iter_mut().zip(&slope).for_each(|(k, s)| *k -= step * s);
    exe.set_param("stiffness", &k)?;
    let after = session.run(&inputs)?.get("loss")?.to_vec::<f32>()?[0];
    println!("loss {loss} -> {after}, predicted {}", loss - step * square);
    assert!(after < loss && (loss - after - step * square).abs() < 0.05 * step * square);
    Ok(())
}
