//! Two sessions of one executable in two threads, and params set by a third.

use crate::{floats, numbers, product};
use pumice_compile::Options;
use pumice_ir::{GraphBuilder, f32, sym};
use pumice_tests::{Lab, on_every_device};
use pumice_types::TensorView;

on_every_device!(two_sessions_in_two_threads, a_run_sees_one_version);

const RUNS: usize = 20;

fn two_sessions_in_two_threads(lab: &Lab) {
    let g = GraphBuilder::new("threads");
    let x = g.input("x", f32([sym("n", 1..=9), 8.into()]));
    let s = g.state("s", f32([5u64]));
    let y = g.matmul(x, g.param("w", f32([8u64, 5])));
    let sum = g.add(g.state_read(s), g.reduce_sum(y, &[0], false));
    g.state_write(s, sum);
    g.output("sum", sum);
    let exe = lab.executable(&g.build().expect("sound"), &Options::default());
    let w = numbers(40, 1);
    exe.set_param("w", &w).expect("set");
    std::thread::scope(|scope| {
        for thread in 0..2u64 {
            let (exe, w) = (exe.clone(), &w);
            scope.spawn(move || {
                let mut session = exe.session().expect("a session");
                let mut total = [0f32; 5];
                for run in 0..RUNS {
                    let n = 1 + (run + 4 * thread as usize) % 9;
                    let x = numbers(8 * n, 100 * thread + run as u64);
                    let out = session.run(&[("x", TensorView::f32(&x, [n as u64, 8]))]).expect("runs");
                    let y = product(&x, w, 8, 5);
                    y.chunks(5).for_each(|r| r.iter().zip(&mut total).for_each(|(v, t)| *t += v));
                    assert_eq!(floats(out.at(0).expect("one")), total, "thread {thread}, run {run}");
                }
            });
        }
    });
}

/// Two params that are always set together are never seen apart.
fn a_run_sees_one_version(lab: &Lab) {
    let g = GraphBuilder::new("versions");
    let (a, b) = (g.param("a", f32([64u64])), g.param("b", f32([64u64])));
    g.output("y", g.sub(a, b));
    let exe = lab.executable(&g.build().expect("sound"), &Options::default());
    let set = |v: f32| {
        let v = [v; 64];
        exe.set_params(&[("a", TensorView::f32(&v, [64])), ("b", TensorView::f32(&v, [64]))]).expect("set");
    };
    set(0.0);
    std::thread::scope(|scope| {
        let mut session = exe.session().expect("a session");
        let reader = scope.spawn(move || {
            for _ in 0..RUNS {
                let out = session.run(&[]).expect("runs");
                assert_eq!(floats(out.at(0).expect("one")), [0.0; 64]);
            }
        });
        let mut version = 0.0;
        while !reader.is_finished() {
            version += 1.0;
            set(version);
        }
    });
}
