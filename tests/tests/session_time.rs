//! `Session::time`: the device's time of replays, whose effects are those of the same replays untimed.

use pumice_compile::Options;
use pumice_ir::{GraphBuilder, f32};
use pumice_runtime::RunOptions;
use pumice_tests::{Fixture, on_every_device};
use pumice_types::TensorView;

/// A state that grows by x in every replay, after work that takes a while.
fn timed_replays_do_what_untimed_ones_do(fixture: &Fixture) {
    let g = GraphBuilder::new("accumulate");
    let (s, x) = (g.state("s", f32([64, 64])), g.input("x", f32([64, 64])));
    let w = g.param("w", f32([64, 64]));
    let y = (0..4).fold(x, |y, _| g.matmul(y, w));
    let sum = g.add(g.state_read(s), y);
    g.state_write(s, sum);
    g.output("sum", sum);
    let exe = fixture.executable(&g.build().expect("a graph"), &Options::default());
    let w: Vec<f32> = (0..64 * 64).map(|i| if i % 65 == 0 { 1.0 } else { 0.0 }).collect();
    exe.set_param("w", &w).expect("a param");
    let values: Vec<f32> = (0..64 * 64).map(|i| (i % 7) as f32).collect();
    let inputs = [("x", TensorView::f32(&values, [64, 64]))];
    let (mut timed, mut plain) = (exe.session().expect("a session"), exe.session().expect("a session"));
    let options = |steps| RunOptions::default().steps(steps);
    // A driver may finish its kernels when they first run.
    timed.time(&inputs, &options(1)).expect("a time");
    let once = timed.time(&inputs, &options(1)).expect("a time");
    let often = timed.time(&inputs, &options(20)).expect("a time");
    assert!(once > 0.0 && once.is_finite(), "{once} us");
    assert!(often > once, "20 replays take {often} us, one takes {once} us");
    let outputs = timed.outputs().expect("outputs");
    let want = plain.run_steps(&inputs, 22).expect("runs");
    assert_eq!(outputs.at(0).expect("one").bytes(), want.at(0).expect("one").bytes());
    assert_eq!(outputs.at(0).expect("one").to_vec::<f32>().expect("f32")[6], 22.0 * 6.0);
}

on_every_device!(timed_replays_do_what_untimed_ones_do);
