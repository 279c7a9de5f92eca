//! One executable for every batch from 1 to 64: the extent is a symbol, bound by the input of each run. One row alone
//! gets a plan of its own; every other batch shares a second one.

use pumice::{Device, GraphBuilder, Options, TensorView, f32, sym};
use std::error::Error;

const WIDTH: usize = 16;
const CLASSES: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let g = GraphBuilder::new("classifier");
    let x = g.input("x", f32([sym("batch", 1..=64), (WIDTH as u64).into()]));
    let logits = g.linear(x, g.param("w", f32([CLASSES as u64, WIDTH as u64])), None);
    g.output("p", g.softmax(logits, -1));
    let graph = g.build()?;

    let device = Device::best();
    let options = Options::default().specializations(vec![("batch".to_owned(), vec![1])]);
    let exe = pumice::compile(&graph, &device, &options)?;
    println!("device: {}, {} runs in the plan", device.name(), exe.plan().runs.len());
    assert_eq!(exe.plan().runs.len(), 2);
    let weights: Vec<f32> = (0..CLASSES * WIDTH).map(|i| (i as f32 * 0.37).sin()).collect();
    exe.set_param("w", &weights)?;

    let rows: Vec<f32> = (0..64 * WIDTH).map(|i| (i as f32 * 0.11).cos()).collect();
    let mut session = exe.session()?;
    let mut run = |batch: usize| -> Result<Vec<f32>, Box<dyn Error>> {
        let x = TensorView::f32(&rows[..batch * WIDTH], [batch as u64, WIDTH as u64]);
        session.run(&[("x", x)])?;
        let p = session.output("p")?;
        assert_eq!(p.shape(), [batch as u64, CLASSES as u64]);
        Ok(p.to_vec()?)
    };
    let all = run(64)?;
    for batch in [1, 3, 17, 64] {
        let p = run(batch)?;
        // A row depends on no other row, so it is the same in every batch, up to the order of sums.
        let worst = p.iter().zip(&all).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        println!(
            "batch {batch:2}: first row {:.4?}, largest difference to batch 64: {worst:e}",
            &p[..CLASSES]
        );
        assert!(worst < 1e-5);
        assert!(p.chunks(CLASSES).all(|row| (row.iter().sum::<f32>() - 1.0).abs() < 1e-5));
    }
    // A batch past the bound is refused by name, before anything runs.
    let error = session.run(&[("x", TensorView::f32(&vec![0.0; 65 * WIDTH], [65, WIDTH as u64]))]).err();
    println!("batch 65: {}", error.ok_or("batch 65 must be refused")?);
    Ok(())
}
