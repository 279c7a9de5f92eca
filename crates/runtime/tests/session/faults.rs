//! The device fails at its n-th call, for every n: a typed error each time, no panic, and the next attempt works.

use crate::fake::executable;
use crate::sketch::{Sketch, n};
use pumice_plan::{Plan, StateInit};
use pumice_runtime::{RuntimeError, Session};
use pumice_types::{DType, TensorView};

fn plan() -> Plan {
    let mut k = Sketch::new();
    let w = k.param("w", DType::BF16, &[2]);
    let d = k.derived("d", DType::BF16, &[2]);
    k.step("copy", &[&w], &[&d]);
    let p = k.streamed("p", DType::BF16, &[2], "copy");
    let pos = k.scalar("pos", DType::U32, (0.0, 100.0), Some(1));
    let x = k.input("x", DType::F32, &[n(2)]);
    let acc = k.state("acc", DType::F32, &[2], None, StateInit::Zeros);
    let status = k.status(&["op"]);
    let y = k.output("y", DType::F32, &[n(2)]);
    let q = k.output("q", DType::BF16, &[n(2)]);
    k.run(&[]);
    k.advancing_word(pos, 1);
    k.step("add", &[&acc, &x], &[&acc]);
    k.step("copy", &[&acc], &[&y]);
    k.step("copy", &[&p], &[&q]);
    let _ = status;
    k.finish()
}

#[test]
fn every_call_may_fail() {
    let mut failures = 0;
    for at in 0.. {
        let (exe, log) = executable(plan());
        log.fail_in(at);
        let run = |s: &mut Session| s.run(&[("x", TensorView::f32(&[1.0, 2.0], [2]))]);
        let attempt = || -> Result<(), RuntimeError> {
            exe.set_param("w", &[1.0, 2.0])?;
            exe.set_param("p", &[3.0, 4.0])?;
            exe.param("w")?;
            let mut s = exe.session()?;
            s.bind_input("x", TensorView::f32(&[1.0, 2.0], [2]))?;
            s.run(&[])?;
            run(&mut s)?;
            let mut fork = s.fork()?;
            run(&mut fork)?;
            s.state("acc")?.reset()?;
            s.output_row("y", 0)?;
            Ok(())
        };
        let result = attempt();
        log.fail_in(-1);
        exe.set_param("w", &[1.0, 2.0]).expect("the device is well again");
        exe.set_param("p", &[5.0, 6.0]).expect("the device is well again");
        let mut s = exe.session().expect("a session");
        let out = run(&mut s).expect("a run");
        assert_eq!(out.at(0).expect("y").to_vec::<f32>(), Ok(vec![1.0, 2.0]));
        let q = out.at(1).expect("q").to_vec::<half::bf16>().expect("bf16");
        assert_eq!(q, [5.0, 6.0].map(half::bf16::from_f32));
        match result {
            Err(RuntimeError::Device(_)) => failures += 1,
            Err(other) => panic!("call {at}: {other}"),
            Ok(()) => break,
        }
    }
    assert!(failures > 20, "{failures} calls were failed");
}

#[test]
fn a_failed_run_leaves_scalars_and_says_that_results_are_gone() {
    let (exe, log) = executable(plan());
    exe.set_param("w", &[1.0, 2.0]).expect("two values");
    exe.set_param("p", &[1.0, 2.0]).expect("two values");
    let mut s = exe.session().expect("a session");
    let x = [("x", TensorView::f32(&[1.0, 2.0], [2]))];
    s.run(&x).expect("a run");
    // Input, frame, run: the third call of the run fails.
    log.fail_in(2);
    assert!(matches!(s.run(&x), Err(RuntimeError::Device(_))));
    assert_eq!(s.scalar("pos").ok().and_then(|v| v.as_i64()), Some(1));
    assert!(matches!(s.outputs(), Err(RuntimeError::NoResults)));
    s.run(&x).expect("the next run writes everything again");
    assert_eq!(s.scalar("pos").ok().and_then(|v| v.as_i64()), Some(2));
}
