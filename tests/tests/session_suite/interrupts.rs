//! Runs that another thread ends: before they begin, and between two submissions. The session goes on.

use crate::common::*;
use pumice_ir::{GraphBuilder, f32};
use pumice_runtime::{DeviceError, Executable, Interrupt, RunOptions, RuntimeError, Session};
use pumice_tests::{Fixture, on_every_device};
use std::time::Duration;

on_every_device!(before_a_run_begins, between_two_submissions);

/// s += x.
fn executable(fixture: &Fixture) -> Executable {
    let g = GraphBuilder::new("counted");
    let s = g.state("s", f32([3u64]));
    let sum = g.add(g.state_read(s), g.input("x", f32([3u64])));
    g.state_write(s, sum);
    g.output("sum", sum);
    load(fixture, &g.build().expect("sound"))
}

fn counted(session: &mut Session) -> Vec<f32> {
    floats(&session.state("s").expect("there").read().expect("reads"))
}

const ONES: [f32; 3] = [1.0; 3];

fn before_a_run_begins(fixture: &Fixture) {
    let mut session = executable(fixture).session().expect("a session");
    let interrupt = Interrupt::default();
    session.interrupt_by(interrupt.clone());
    session.run(&[("x", row(&ONES))]).expect("nobody wants it to end");
    interrupt.set();
    let mut fork = session.fork().expect("a fork");
    for session in [&mut session, &mut fork] {
        let run = session.run(&[("x", row(&ONES))]);
        refused!(run, RuntimeError::Device(DeviceError::Interrupted), "interrupted");
        refused!(session.outputs(), RuntimeError::NoResults, "run");
        assert_eq!(counted(session), [1.0; 3]);
    }
    assert!(interrupt.clear());
    for session in [&mut session, &mut fork] {
        assert_eq!(out(&session.run(&[("x", row(&ONES))]).expect("runs"), "sum"), [2.0; 3]);
    }
}

fn between_two_submissions(fixture: &Fixture) {
    /// More than one submission holds.
    const STEPS: u32 = 50_000;
    let mut session = executable(fixture).session().expect("a session");
    let interrupt = Interrupt::default();
    session.interrupt_by(interrupt.clone());
    let mut is_ended = false;
    for wait in [0, 1, 2, 3, 5, 8, 13, 20, 30, 50, 80, 130, 200, 300, 500] {
        session.state("s").expect("there").reset().expect("reset");
        let ran = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(wait));
                interrupt.set();
            });
            session.execute(&[("x", row(&ONES))], &RunOptions::default().steps(STEPS))
        });
        interrupt.clear();
        let steps = counted(&mut session)[0];
        assert_eq!(counted(&mut session), [steps; 3]);
        match ran {
            Ok(()) => assert_eq!(steps, STEPS as f32),
            Err(RuntimeError::Device(DeviceError::Interrupted)) => {
                is_ended |= steps > 0.0;
                assert!(steps < STEPS as f32, "all {steps} were taken");
            }
            Err(other) => panic!("{other}"),
        }
        assert_eq!(out(&session.run(&[("x", row(&ONES))]).expect("runs"), "sum"), [steps + 1.0; 3]);
    }
    assert!(is_ended, "no run was ended in its middle");
}
