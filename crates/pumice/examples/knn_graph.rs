//! Points to their nearest neighbours, whole on the device: distances of all pairs, then the k nearest of each point
//! that are not the point itself.

use pumice::ops::distances::Metric;
use pumice::{Device, GraphBuilder, Options, TensorView, f32, sym};
use std::error::Error;

const K: usize = 4;

fn main() -> Result<(), Box<dyn Error>> {
    let g = GraphBuilder::new("knn_graph");
    let points = g.input("points", f32([sym("n", 1 + K as u64..=2000), 3.into()]));
    let distances = g.pairwise_distance(points, points, Metric::Euclidean);
    let (which, near) = g.knn_from_pairwise(distances, K as u64);
    g.output("neighbours", which);
    g.output("distances", near);
    let graph = g.build()?;

    let device = Device::best();
    println!("device: {}", device.name());
    let mut session = pumice::compile(&graph, &device, &Options::default())?.session()?;
    // Points on a helix: the nearest ones are those before and after.
    for n in [100usize, 400] {
        let points: Vec<f32> = (0..n).flat_map(|i| helix(i as f32 * 0.05)).collect();
        session.run(&[("points", TensorView::f32(&points, [n as u64, 3]))])?;
        let which: Vec<i32> = session.output("neighbours")?.to_vec()?;
        let near: Vec<f32> = session.output("distances")?.to_vec()?;
        println!(
            "{n} points: those nearest to point 50 are {:?}, {:.4?} away",
            &which[50 * K..][..K],
            &near[50 * K..][..K]
        );
        for (i, row) in which.chunks(K).enumerate().take(n - 2).skip(2) {
            let mut row = row.to_vec();
            row.sort_unstable();
            let i = i as i32;
            assert_eq!(row, [i - 2, i - 1, i + 1, i + 2]);
        }
        assert!(near.chunks(K).all(|row| row.is_sorted()));
    }
    Ok(())
}

fn helix(t: f32) -> [f32; 3] {
    [t.cos(), t.sin(), 0.3 * t]
}
