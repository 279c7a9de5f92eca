//! A sum that stays on the device between runs: a state, fed from an output. The host reads it when it wants to.

use pumice::{Device, FeedKind, GraphBuilder, Options, TensorView, f32};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let g = GraphBuilder::new("accumulator");
    let sum = g.state("sum", f32([2, 3]));
    let x = g.input("x", f32([2, 3]));
    g.output("total", g.add(g.state_read(sum), x));
    // After every run the state becomes the output.
    g.feed("total", sum, FeedKind::Whole);
    let graph = g.build()?;

    let device = Device::best();
    let exe = pumice::compile(&graph, &device, &Options::default())?;
    println!("device: {}", device.name());
    let mut session = exe.session()?;
    let ones = [1.0f32; 6];
    let x = [("x", TensorView::f32(&ones, [2, 3]))];
    for _ in 0..3 {
        session.run_read(&x, &[])?; // nothing comes back to the host
    }
    // Two more runs in one submission.
    session.run_steps(&x, 2)?;
    let total = session.state("sum")?.read()?.to_vec::<f32>()?;
    println!("after 5 runs: {total:?}");
    assert_eq!(total, [5.0; 6]);

    // A fork has states of its own, which begin as those it was forked from.
    let mut fork = session.fork()?;
    fork.state("sum")?.write_range(0, 1, TensorView::f32(&[0.0; 3], [1, 3]))?;
    fork.run_read(&x, &[])?;
    println!(
        "fork with its second row set to 0, one run later: {:?}",
        fork.state("sum")?.read()?.to_vec::<f32>()?
    );
    assert_eq!(fork.state("sum")?.read_row(0)?.to_vec::<f32>()?, [6.0; 3]);
    assert_eq!(fork.state("sum")?.read_row(1)?.to_vec::<f32>()?, [1.0; 3]);

    session.state("sum")?.reset()?;
    session.run_read(&x, &[])?;
    let total = session.state("sum")?.read()?.to_vec::<f32>()?;
    println!("reset, one run later: {total:?}");
    assert_eq!(total, ones);
    Ok(())
}
