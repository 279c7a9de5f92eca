//! An op without a kernel in the middle of a program: the Fourier transform of a symbolic length runs on the host, all
//! else on the device. The plan is cut into segments there; a session runs them in turn.
//!
//! A low-pass filter: y = gain · F⁻¹(mask · F(x)), where x is a slow wave with a fast one on top.

use pumice::ops::fft::Fft;
use pumice::{DType, Device, GraphBuilder, Options, TensorView, f32, sym};
use std::error::Error;
use std::f32::consts::TAU;

const N: usize = 60;
const SLOW: f32 = 3.0;
const FAST: f32 = 20.0;

fn main() -> Result<(), Box<dyn Error>> {
    let g = GraphBuilder::new("low_pass");
    let x = g.input("x", f32([sym("n", 2..=1000), 1.into()]));
    let spectrum = g.fft(x, Fft::default());
    // Frequency k and its negative, n − k, pass below the cutoff.
    let n = g.dim_of(x, 0);
    let up = g.unsqueeze(g.range(0, n.clone(), 1, DType::F32), &[1]);
    let down = g.sub(g.cast(g.extent(x, 0), DType::F32), up);
    let passes = g.less(g.min(&[up, down]), g.param("cutoff", f32([1u64])));
    let kept = g.select(passes, spectrum, g.constant_scalar(DType::F32, 0.0));
    let back = Fft { inverse: true, ..Fft::default() };
    let gain = g.scalar("gain", f32([0u64; 0]), 0.0, 10.0, 1.0);
    let y = g.narrow(g.fft(kept, back), 1, 0, 1);
    g.output("y", g.mul(y, gain));
    let graph = g.build()?;

    let device = Device::best();
    let exe = pumice::compile(&graph, &device, &Options::default())?;
    let steps = &exe.plan().runs[0].program.steps;
    let host = steps.iter().filter(|s| s.is_host()).count();
    println!("device: {}; {} steps, {host} of them on the host", device.name(), steps.len());
    assert_eq!(host, 2);
    exe.set_param("cutoff", &[10.0])?;

    let wave = |cycles: f32, i: usize| (TAU * cycles * i as f32 / N as f32).sin();
    let x: Vec<f32> = (0..N).map(|i| wave(SLOW, i) + 0.5 * wave(FAST, i)).collect();
    let mut session = exe.session()?;
    session.set_scalar("gain", 2.0)?;
    session.run(&[("x", TensorView::f32(&x, [N as u64, 1]))])?;
    let y = session.output("y")?.to_vec::<f32>()?;
    println!("  i        x        y");
    for i in (0..N).step_by(6) {
        println!("{i:3} {:8.4} {:8.4}", x[i], y[i]);
    }
    let worst = y.iter().enumerate().map(|(i, y)| (y - 2.0 * wave(SLOW, i)).abs()).fold(0.0, f32::max);
    println!("largest difference to twice the slow wave alone: {worst:e}");
    assert!(worst < 1e-5);
    Ok(())
}
