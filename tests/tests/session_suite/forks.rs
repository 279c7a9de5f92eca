//! A fork goes on from where its session is and touches it no more.

use crate::floats;
use pumice_compile::Options;
use pumice_ir::{GraphBuilder, f32, sym};
use pumice_tests::{Lab, on_every_device};
use pumice_types::TensorView;

on_every_device!(a_fork_diverges);

fn a_fork_diverges(lab: &Lab) {
    let g = GraphBuilder::new("fork");
    let x = g.input("x", f32([sym("n", 1..=4)]));
    let step = g.scalar_advancing("step", 0, 100, 0, pumice_types::DimExpr::constant(1));
    let s = g.state("s", f32([1u64]));
    let sum = g.add(g.state_read(s), g.reduce_sum(x, &[0], true));
    g.state_write(s, sum);
    g.output("sum", sum);
    g.output("step", g.cast(step, pumice_types::DType::F32));
    let exe = lab.executable(&g.build().expect("sound"), &Options::default());
    let run = |s: &mut pumice_runtime::Session, x: &[f32]| {
        let shape = [x.len() as u64];
        let out = s.run(&[("x", TensorView::f32(x, shape))]).expect("runs");
        [floats(out.at(0).expect("sum"))[0], floats(out.at(1).expect("step"))[0]]
    };
    let mut a = exe.session().expect("a session");
    assert_eq!(run(&mut a, &[1.0, 2.0]), [3.0, 0.0]);
    assert_eq!(run(&mut a, &[4.0]), [7.0, 1.0]);
    let mut b = a.fork().expect("a fork");
    assert!(b.outputs().is_err(), "a fork has no results yet");
    assert_eq!(run(&mut b, &[10.0, 10.0, 10.0]), [37.0, 2.0]);
    assert_eq!(run(&mut a, &[1.0]), [8.0, 2.0], "the fork's run is not seen");
    let mut c = b.fork().expect("a fork of a fork");
    drop(b);
    assert_eq!(run(&mut c, &[1.0]), [38.0, 3.0], "the session it came from is gone");
    a.set_scalar("step", 50).expect("in range");
    assert_eq!(run(&mut a, &[0.0]), [8.0, 50.0]);
    assert_eq!(run(&mut c, &[0.0]), [38.0, 4.0]);
    // Bound inputs go along, and are each session's own afterwards.
    a.bind_input("x", TensorView::f32(&[2.0], [1])).expect("bound");
    let mut d = a.fork().expect("a fork");
    a.unbind_input("x").expect("there");
    assert_eq!(floats(d.run(&[]).expect("x is bound").at(0).expect("sum")), [10.0]);
    assert!(a.run(&[]).is_err());
}
