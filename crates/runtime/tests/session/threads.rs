//! Two sessions of one executable in two threads, with params set between: every run sees one version.

use crate::fake::executable;
use crate::sketch::{Sketch, n};
use pumice_runtime::{Executable, Session};
use pumice_types::{DType, TensorView};

fn is_send<T: Send>() {}
fn is_sync<T: Sync>() {}

#[test]
fn handles_may_cross_threads() {
    is_send::<Executable>();
    is_sync::<Executable>();
    is_send::<Session>();
}

#[test]
fn every_run_sees_one_version() {
    let mut k = Sketch::new();
    let [a, b] = ["a", "b"].map(|name| k.param(name, DType::F32, &[1]));
    let [a2, b2] = ["a2", "b2"].map(|name| k.derived(name, DType::F32, &[1]));
    k.step("scale 1", &[&a], &[&a2]);
    k.step("scale 2", &[&b], &[&b2]);
    let y = k.output("y", DType::F32, &[n(2)]);
    k.run(&[]);
    k.step("join", &[&a2, &b2], &[&y]);
    let (exe, _) = executable(k.finish());
    let set = |v: f32| {
        let v = [v];
        exe.set_params(&[("a", TensorView::f32(&v, [1])), ("b", TensorView::f32(&v, [1]))])
            .expect("two params");
    };
    set(0.0);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let mut s = exe.session().expect("a session");
                scope.spawn(move || {
                    let mut last = 0.0;
                    for _ in 0..300 {
                        let y = s.run(&[]).expect("a run").at(0).expect("y").to_vec::<f32>().expect("f32");
                        assert_eq!(y[1], 2.0 * y[0], "both params of one version");
                        assert!(y[0] >= last, "versions do not go back");
                        last = y[0];
                    }
                })
            })
            .collect();
        (1..200u8).for_each(|v| set(f32::from(v)));
        threads.into_iter().for_each(|t| t.join().expect("the thread's checks hold"));
    });
    let mut s = exe.session().expect("a session");
    assert_eq!(s.run(&[]).expect("a run").at(0).expect("y").to_vec::<f32>(), Ok(vec![199.0, 398.0]));
}
