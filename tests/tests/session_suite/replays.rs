//! The same recording replayed: right behind itself, again and again, with other scalars; always the same bits.

use crate::{floats, numbers};
use pumice_compile::{Barriers, Options};
use pumice_ir::{Graph, GraphBuilder, f32, i32};
use pumice_plan::Placement;
use pumice_runtime::{RuntimeError, Session};
use pumice_tests::{Lab, on_every_device};
use pumice_types::{DType, DimExpr, Tensor, TensorView};

on_every_device!(several_steps_are_several_runs, options_change_no_bit, advancing_scalars_keep_their_range);

/// s' = tanh(s·w + x) · (1 + t/8), with t counting up; the norm of it goes out.
fn recurrence() -> Graph {
    let g = GraphBuilder::new("recurrence");
    let x = g.input("x", f32([4u64, 16]));
    let t = g.scalar_advancing("t", 0, 1000, 0, DimExpr::constant(2));
    let s = g.state("s", f32([4u64, 16]));
    let h = g.add(g.matmul(g.state_read(s), g.param("w", f32([16u64, 16]))), x);
    let factor = g.add(
        g.mul(g.cast(t, DType::F32), g.constant_scalar(DType::F32, 0.125)),
        g.constant_scalar(DType::F32, 1.0),
    );
    let h = g.mul(g.tanh(h), factor);
    g.state_write(s, h);
    g.output("h", h);
    g.output("p", g.softmax(h, -1));
    g.build().expect("sound")
}

fn session(lab: &Lab, options: &Options) -> Session {
    let exe = lab.executable(&recurrence(), options);
    let w: Vec<f32> = numbers(256, 3).iter().map(|v| v / 16.0).collect();
    exe.set_param("w", &w).expect("set");
    exe.session().expect("a session")
}

fn run(s: &mut Session, steps: u32) -> Vec<Tensor> {
    let x: Vec<f32> = numbers(64, 9).iter().map(|v| v / 4.0).collect();
    s.run_steps(&[("x", TensorView::f32(&x, [4, 16]))], steps).expect("runs").into_tensors()
}

/// 1 + 1 + 1 + 1 + 1 = 4 + 1 = 5 = 2 + 3 steps, to the bit, scalars included.
fn several_steps_are_several_runs(lab: &Lab) {
    let results: Vec<(Vec<Tensor>, Tensor)> = [&[1u32, 1, 1, 1, 1][..], &[4, 1], &[5], &[2, 3]]
        .into_iter()
        .map(|steps| {
            let mut s = session(lab, &Options::default());
            let last = steps.iter().map(|&n| run(&mut s, n)).last().expect("some");
            assert_eq!(s.scalar("t").expect("there").as_i64(), Some(10));
            (last, s.state("s").expect("there").read().expect("whole"))
        })
        .collect();
    assert!(floats(&results[0].0[0]).iter().any(|v| *v != 0.0));
    results.iter().for_each(|r| assert_eq!(r, &results[0]));
    // A session that has run before replays the same bits when it begins anew.
    let mut s = session(lab, &Options::default());
    for _ in 0..3 {
        s.set_scalar("t", 0).expect("in range");
        s.state("s").expect("there").reset().expect("zeros");
        assert_eq!(run(&mut s, 5), results[0].0);
    }
    assert!(matches!(s.run_steps(&[], 0), Err(RuntimeError::NoSteps)));
}

/// Placement and barriers are matters of bytes and time.
fn options_change_no_bit(lab: &Lab) {
    let all = [
        Options::default(),
        Options { placement: Placement::Bump, ..Options::default() },
        Options { barriers: Barriers::Naive, ..Options::default() },
        Options { guard_bytes: 512, ..Options::default() },
    ];
    let results = all.map(|options| run(&mut session(lab, &options), 3));
    results.iter().for_each(|r| assert_eq!(r, &results[0]));
}

/// All steps of a run are checked before the first is submitted.
fn advancing_scalars_keep_their_range(lab: &Lab) {
    let g = GraphBuilder::new("range");
    let t = g.scalar_advancing("t", 0, 5, 0, DimExpr::constant(1));
    let f = g.scalar("f", f32::<u64>([]), -1.0, 1.0, 0.5);
    let u = g.scalar("u", i32::<u64>([]), -3.0, 3.0, -3.0);
    let sum = g.add(g.cast(t, DType::F32), g.cast(u, DType::F32));
    g.output("y", g.add(sum, f));
    let exe = lab.executable(&g.build().expect("sound"), &Options::default());
    let mut s = exe.session().expect("a session");
    assert_eq!(floats(s.run(&[]).expect("runs").at(0).expect("one")), [-2.5]);
    assert!(matches!(s.run_steps(&[], 6), Err(RuntimeError::ScalarRange { .. })), "t would reach 6");
    assert_eq!(s.scalar("t").expect("there").as_i64(), Some(1), "nothing ran");
    assert_eq!(floats(s.run_steps(&[], 5).expect("t goes from 1 to 5").at(0).expect("one")), [2.5]);
    s.set_scalar("t", 0).expect("in range");
    s.set_scalar("u", 3).expect("in range");
    s.set_scalar("f", -1.0).expect("in range");
    assert_eq!(floats(s.run(&[]).expect("runs").at(0).expect("one")), [2.0]);
    assert!(
        s.set_scalar("u", 4).is_err()
            && s.set_scalar("f", f64::NAN).is_err()
            && s.set_scalar("u", 0.5).is_err()
    );
}
