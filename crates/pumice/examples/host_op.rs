//! An op without a kernel in the middle of a program: the Fourier transform runs on the host, all else on the device.
//! The plan is cut into segments there; a session runs them in turn.
//!
//! A low-pass filter: y = gain · F⁻¹(mask · F(x)), where x is a slow wave with a fast one on top.

use pumice::ops::fft::Fft;
use pumice::{Device, GraphBuilder, Options, TensorView, f32};
use std::error::Error;
use std::f32::consts::TAU;

const N: usize = 60;
const BINS: usize = N / 2 + 1;
const SLOW: f32 = 3.0;
const FAST: f32 = 20.0;

fn main() -> Result<(), Box<dyn Error>> {
    let g = GraphBuilder::new("low_pass");
    let x = g.input("x", f32([N as u64, 1]));
    let spectrum = g.fft(x, Fft { onesided: true, ..Fft::default() });
    let kept = g.mul(spectrum, g.param("mask", f32([BINS as u64, 1])));
    let back = Fft { onesided: true, inverse: true, dft_length: Some(N as i64), ..Fft::default() };
    let gain = g.scalar("gain", f32([0u64; 0]), 0.0, 10.0, 1.0);
    g.output("y", g.mul(g.fft(kept, back), gain));
    let graph = g.build()?;

    let device = Device::best();
    let exe = pumice::compile(&graph, &device, &Options::default())?;
    let steps = &exe.plan().runs[0].program.steps;
    let host = steps.iter().filter(|s| s.is_host()).count();
    println!("device: {}; {} steps, {host} of them on the host", device.name(), steps.len());
    assert_eq!(host, 2);
    let mask: Vec<f32> = (0..BINS).map(|k| if k < 10 { 1.0 } else { 0.0 }).collect();
    exe.set_param("mask", &mask)?;

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
