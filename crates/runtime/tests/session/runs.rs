//! Runs: outputs asked for, replays, scalars, conditions, status, specializations, and what a run costs.

use crate::fake::{Call, executable};
use crate::sketch::{Sketch, add_bias, n};
use pumice_plan::{FrameSlot, Plan, RegionKind, StateInit};
use pumice_runtime::{OnStatus, OpReport, OutputBuffer, RunOptions, RuntimeError, ScalarValue};
use pumice_types::{DType, DimExpr, TensorView};

fn doubled() -> Plan {
    let mut k = Sketch::new();
    let s = k.symbol("s", 0, 4, 1);
    let x = k.input("x", DType::F32, &[s.into(), n(2)]);
    let a = k.output("a", DType::F32, &[s.into(), n(2)]);
    let b = k.output("b", DType::F32, &[s.into(), n(2)]);
    let mid = k.scratch("mid", DType::F32, &[s.into(), n(2)]);
    k.run(&[(0, 1)]);
    k.step("scale 2", &[&x], &[&a]);
    k.step("scale 3", &[&x], &[&b]);
    k.run(&[(2, 4)]);
    k.step("scale 2", &[&x], &[&mid]);
    k.host("copy", &[&mid], &[&a]);
    k.step("scale -3", &[&x], &[&b]);
    k.finish()
}

#[test]
fn outputs_come_in_the_order_asked_for() {
    let (exe, log) = executable(doubled());
    let mut s = exe.session().expect("a session");
    assert!(matches!(s.outputs(), Err(RuntimeError::NoResults)));
    assert!(matches!(s.output_row("a", 0), Err(RuntimeError::NoResults)));
    let x = [("x", TensorView::f32(&[1.0, 2.0, 3.0, 4.0], [2, 2]))];
    log.take();
    assert!(matches!(s.run_read(&x, &[2]), Err(RuntimeError::OutputIndex { index: 2, count: 2 })));
    assert_eq!(log.take(), []);
    let out = s.run_read(&x, &[1, 0, 1]).expect("a run");
    let values: Vec<Vec<f32>> = out.iter().map(|t| t.to_vec().expect("f32")).collect();
    assert_eq!(values, [[-3.0, -6.0, -9.0, -12.0], [2.0, 4.0, 6.0, 8.0], [-3.0, -6.0, -9.0, -12.0]]);
    log.take();
    assert_eq!(s.run_read(&x, &[]).expect("a run").len(), 0);
    let read =
        log.take().iter().filter(|c| matches!(c, Call::Read(s) if s.region == RegionKind::IoOut)).count();
    assert_eq!(read, 0, "what is not asked for is not read");
    assert_eq!(s.output_row("b", 1).expect("a row").to_vec::<f32>(), Ok(vec![-9.0, -12.0]));
    assert_eq!(s.output_range("b", 1, 0..1).expect("a column").to_vec::<f32>(), Ok(vec![-3.0, -9.0]));
    assert!(
        matches!(s.output_row("b", 2), Err(RuntimeError::Rows { extent: 2, .. })),
        "the actual extent counts"
    );
    assert!(s.output_row("b", u64::MAX).is_err());
    assert_eq!(exe.output_index("b").ok(), Some(1));
    let good = s.output("a").expect("results").to_vec::<f32>();
    assert!(s.run(&[]).is_err());
    assert_eq!(
        s.output("a").expect("results").to_vec::<f32>(),
        good,
        "an error before the run leaves the results"
    );
}

#[test]
fn buffers_are_checked_before_the_run() {
    let (exe, log) = executable(doubled());
    let mut s = exe.session().expect("a session");
    let x = [("x", TensorView::f32(&[1.0, 2.0], [1, 2]))];
    let (mut a, mut b) = ([0f32; 2], [0f32; 3]);
    log.take();
    let wrong = s.run_into(&x, &mut [OutputBuffer::numbers(0, &mut a), OutputBuffer::numbers(1, &mut b)]);
    assert!(matches!(wrong, Err(RuntimeError::Length { expected: 8, given: 12, .. })));
    assert_eq!(log.take(), []);
    s.run_into(&x, &mut [OutputBuffer::numbers(1, &mut b[1..]), OutputBuffer::numbers(0, &mut a)])
        .expect("a run");
    assert_eq!((a, b), ([2.0, 4.0], [0.0, 3.0, 6.0]));
    assert_eq!(s.output_shape(0).ok(), Some(&[1u64, 2][..]));
    assert!(log.runs() == 1);
}

#[test]
fn the_run_is_chosen_by_the_symbols() {
    let (exe, log) = executable(doubled());
    let mut s = exe.session().expect("a session");
    log.take();
    let data = [1f32; 8];
    for (rows, run) in [(0u64, 0), (2, 1), (1, 0), (4, 1), (0, 0)] {
        let view = TensorView::f32(&data[..2 * rows as usize], [rows, 2]);
        let out = s.run(&[("x", view)]).expect("a run");
        assert_eq!(out.at(0).expect("a").shape(), [rows, 2]);
        assert!(log.take().contains(&Call::Run { run, repeats: 1 }));
    }
}

/// A state row and a word written each step: pos advances by 2 on the device.
fn decode(host: bool) -> Plan {
    let mut k = Sketch::new();
    let pos = k.scalar("pos", DType::U32, (0.0, 6.0), Some(2));
    k.scalar("temp", DType::F32, (0.0, 2.0), None);
    let x = k.input("x", DType::F32, &[n(1)]);
    let kv = k.state("kv", DType::F32, &[8, 1], Some(0), StateInit::Zeros);
    let y = k.output("y", DType::U32, &[n(1)]);
    k.run(&[]);
    k.advancing_word(pos, 2);
    k.word(FrameSlot::Expr(DimExpr::scalar(pos) * n(10)));
    k.plan.runs[0].frame.advance.push(pumice_plan::AdvanceOp {
        op: pumice_plan::AdvanceKind::Const,
        dst: pumice_plan::FrameWord(1),
        a: 10,
        b: 0,
    });
    k.plan.runs[0].frame.advance.push(pumice_plan::AdvanceOp {
        op: pumice_plan::AdvanceKind::Mul,
        dst: pumice_plan::FrameWord(2),
        a: 0,
        b: 1,
    });
    k.check(DimExpr::scalar(pos) + n(1), 1, 5, "row of state kv");
    k.step("put_row", &[&x], &[&kv]);
    if host {
        k.host("word 2", &[], &[&y]);
    } else {
        k.step("word 2", &[], &[&y]);
    }
    k.finish()
}

#[test]
fn replays_advance_and_are_all_validated_first() {
    for host in [false, true] {
        let (exe, log) = executable(decode(host));
        let mut s = exe.session().expect("a session");
        let x = [("x", TensorView::f32(&[1.0], [1]))];
        log.take();
        // Rows 0, 2, 4 are fine; the fourth replay would have pos 6, inside its range, and row 7 outside the check.
        let error = s.run_steps(&x, 4).expect_err("the fourth is refused");
        assert!(
            matches!(&error, RuntimeError::RunCheck { what, value: 7, max: 5, replay: 3, .. } if what == "row of state kv")
        );
        assert!(matches!(s.run_steps(&x, 0), Err(RuntimeError::NoSteps)));
        assert_eq!(log.take(), [], "not one replay was submitted");
        assert_eq!(s.scalar("pos").ok(), Some(ScalarValue::Int(0)));
        let out = s.run_steps(&x, 3).expect("three replays");
        assert_eq!(out.at(0).expect("y").to_vec::<u32>(), Ok(vec![40]));
        let expected: Vec<Call> = match host {
            false => vec![Call::Run { run: 0, repeats: 3 }],
            true => vec![Call::Run { run: 0, repeats: 1 }; 3],
        };
        let runs: Vec<Call> = log.take().into_iter().filter(|c| matches!(c, Call::Run { .. })).collect();
        assert_eq!(runs, expected);
        assert_eq!(s.scalar("pos").ok(), Some(ScalarValue::Int(6)));
        let kv = s.state("kv").expect("a state").read().expect("results").to_vec::<f32>();
        assert_eq!(kv, Ok(vec![1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0]));
        assert!(s.run(&x).is_err());
        s.set_scalar("pos", 1).expect("in range");
        assert_eq!(s.run(&x).expect("a run").at(0).expect("y").to_vec::<u32>(), Ok(vec![10]));
        assert_eq!(s.run(&x).expect("a run").at(0).expect("y").to_vec::<u32>(), Ok(vec![30]));
        assert_eq!(s.scalar("pos").ok(), Some(ScalarValue::Int(5)));
    }
}

#[test]
fn a_frame_that_advances_otherwise_than_the_host_is_found() {
    let mut plan = decode(false);
    plan.runs[0].frame.advance[0].a = 3;
    let (exe, log) = executable(plan);
    let mut s = exe.session().expect("a session");
    let x = [("x", TensorView::f32(&[1.0], [1]))];
    assert!(matches!(s.run_steps(&x, 2), Err(RuntimeError::Plan { .. })));
    assert_eq!(log.runs(), 0);
}

#[test]
fn scalars_are_checked_and_take_effect_at_the_next_run() {
    let mut k = Sketch::new();
    let i = k.scalar("i", DType::I32, (-8.0, 8.0), None);
    let f = k.scalar("f", DType::F32, (0.0, 1.0), None);
    let y = k.output("y", DType::I32, &[n(1)]);
    let z = k.output("z", DType::F32, &[n(1)]);
    k.run(&[]);
    k.word(FrameSlot::Scalar(i));
    k.word(FrameSlot::Scalar(f));
    k.step("word 0", &[], &[&y]);
    k.step("word 1", &[], &[&z]);
    let (exe, log) = executable(k.finish());
    let mut s = exe.session().expect("a session");
    let read = |s: &mut pumice_runtime::Session| {
        let out = s.run(&[]).expect("a run");
        (
            out.at(0).expect("y").to_vec::<i32>().expect("i32")[0],
            out.at(1).expect("z").to_vec::<f32>().expect("f32")[0],
        )
    };
    assert_eq!(read(&mut s), (-8, 0.0));
    for v in [-8, 8, 3] {
        s.set_scalar("i", v).expect("in range");
        s.set_scalar("f", f64::from(v + 8) / 16.0).expect("in range");
        assert_eq!(read(&mut s), (v, (v + 8) as f32 / 16.0));
    }
    assert!(matches!(s.set_scalar("i", 9), Err(RuntimeError::ScalarRange { .. })));
    assert!(matches!(s.set_scalar("i", 0.5), Err(RuntimeError::ScalarFraction { .. })));
    assert!(matches!(s.set_scalar("f", f64::NAN), Err(RuntimeError::ScalarRange { .. })));
    assert!(matches!(s.set_scalar("g", 1), Err(RuntimeError::UnknownName { .. })));
    assert_eq!(read(&mut s), (3, 11.0 / 16.0));
    log.take();
    assert_eq!(read(&mut s), (3, 11.0 / 16.0));
    let frames =
        log.take().iter().filter(|c| matches!(c, Call::Write(s) if s.region == RegionKind::Frame)).count();
    assert_eq!(frames, 0, "the words are there already");
    // −0 and 0 are equal and have other bits.
    s.set_scalar("f", 0.0).expect("in range");
    assert_eq!(read(&mut s).1.to_bits(), 0);
    s.set_scalar("f", -0.0).expect("in range");
    assert_eq!(read(&mut s).1.to_bits(), 1 << 31);
}

#[test]
fn status_is_an_error_a_report_or_nothing() {
    let mut k = Sketch::new();
    let status = k.status(&["embed", "append"]);
    let y = k.output("y", DType::F32, &[n(1)]);
    let w = k.param("w", DType::F32, &[1]);
    k.run(&[]);
    k.step("report 1", &[], &[&status]);
    k.step("copy", &[&w], &[&y]);
    let (exe, log) = executable(k.finish());
    exe.set_param("w", &[4.0]).expect("one value");
    let mut s = exe.session().expect("a session");
    let error = s.run(&[]).expect_err("append reported");
    assert!(error.to_string().contains("`append` first at position 5"), "{error}");
    assert!(
        matches!(error, RuntimeError::Status(status) if status.first == [OpReport { op: "append".to_owned(), position: 5, replay: 0 }])
    );
    assert_eq!(s.output("y").expect("the run ended").to_vec::<f32>(), Ok(vec![4.0]));
    let report = RunOptions::default().on_status(OnStatus::Report);
    s.run_with(&[], &report).expect("a run");
    assert_eq!((s.status().flags, s.status().first.len()), (1, 1));
    log.take();
    s.run_with(&[], &report.on_status(OnStatus::Ignore)).expect("a run");
    assert!(s.status().is_clean());
    assert!(!log.take().iter().any(|c| matches!(c, Call::Read(s) if s.region == RegionKind::Status)));
}

#[test]
fn a_steady_run_writes_its_inputs_and_nothing_else() {
    let (exe, log) = executable(add_bias());
    exe.set_param("w", &[1.0; 3]).expect("three values");
    let mut s = exe.session().expect("a session");
    let x = [("x", TensorView::f32(&[1.0; 3], [1, 3]))];
    let mut y = [0f32; 3];
    for round in 0..3 {
        log.take();
        s.run_into(&x, &mut [OutputBuffer::numbers(0, &mut y)]).expect("a run");
        let calls = log.take();
        if round > 0 {
            assert_eq!(calls.len(), 3, "input, run, output: {calls:?}");
        }
    }
    assert_eq!(y, [2.0; 3]);
}
