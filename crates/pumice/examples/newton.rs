//! Newton's method on Kepler's equation, E − e·sin E = M, for thousands of orbits at once: a loop that ends on the
//! device when no orbit moves any more. How many turns that takes depends on the data; the host submits some turns at
//! once, and those behind the end do nothing.

use pumice::{DType, Device, Graph, GraphBuilder, Options, TensorView, Value, f32, sym};
use std::error::Error;

/// Turns at most: from a good start five are enough, whatever the orbit.
const MOST: u64 = 50;

fn kepler() -> Result<Graph, Box<dyn Error>> {
    let g = GraphBuilder::new("kepler");
    let orbits = || sym("orbits", 1..=100_000);
    let (mean, eccentricity) = (g.input("mean", f32([orbits()])), g.input("eccentricity", f32([orbits()])));
    let one = g.constant_scalar(DType::F32, 1.0);

    let moves = |g: &GraphBuilder, [_, step, _]: [Value; 3]| {
        let farthest = g.reduce_max(g.abs(step), &[0], false);
        g.greater(farthest, g.constant_scalar(DType::F32, 1e-5))
    };
    let turn = |g: &GraphBuilder, [anomaly, _, turns]: [Value; 3]| {
        let error = g.sub(g.sub(anomaly, g.mul(eccentricity, g.sin(anomaly))), mean);
        let slope = g.sub(one, g.mul(eccentricity, g.cos(anomaly)));
        let step = g.div(error, slope);
        [g.sub(anomaly, step), step, g.add(turns, g.constant_scalar(DType::I32, 1.0))]
    };
    // Danby's start, and a first step that is large.
    let start = g.add(mean, g.mul(eccentricity, g.constant_scalar(DType::F32, 0.85)));
    let zero = g.constant_scalar(DType::I32, 0.0);
    let [anomaly, _, turns] = g.while_(MOST, [start, start, zero], moves, turn);
    g.output("anomaly", anomaly);
    g.output("turns", turns);
    Ok(g.build()?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let device = Device::best();
    println!("device: {}", device.name());
    let mut session = pumice::compile(&kepler()?, &device, &Options::default())?.session()?;

    for (orbits, most) in [(10, 0.1f32), (5000, 0.5), (5000, 0.9)] {
        let mean: Vec<f32> = (0..orbits).map(|i| 0.1 + 3.0 * i as f32 / orbits as f32).collect();
        let eccentricity: Vec<f32> = (0..orbits).map(|i| most * ((i * 7) % 11) as f32 / 10.0).collect();
        let out = session.run(&[
            ("mean", TensorView::f32(&mean, [orbits as u64])),
            ("eccentricity", TensorView::f32(&eccentricity, [orbits as u64])),
        ])?;
        let (anomaly, turns) = (out.get("anomaly")?.to_vec::<f32>()?, out.get("turns")?.to_vec::<i32>()?[0]);
        let errors =
            anomaly.iter().zip(&mean).zip(&eccentricity).map(|((a, m), e)| (a - e * a.sin() - m).abs());
        let worst = errors.fold(0.0, f32::max);
        println!("{orbits} orbits of eccentricity up to {most}: {turns} turns, worst error {worst:.1e}");
        assert!((1..MOST as i32).contains(&turns) && worst < 1e-5);
    }
    Ok(())
}
