//! States: initial values, whole and partial access, reset, fork, and survival of a change of specialization.

use crate::fake::executable;
use crate::sketch::{Sketch, n};
use pumice_plan::{Plan, StateInit};
use pumice_runtime::RuntimeError;
use pumice_types::{DType, TensorView};

/// acc += x; y = acc as it was before.
fn accumulator() -> Plan {
    let mut k = Sketch::new();
    let s = k.symbol("s", 1, 2, 1);
    let x = k.input("x", DType::F32, &[s.into()]);
    let acc = k.state("acc", DType::F32, &[2], None, StateInit::Zeros);
    let y = k.output("y", DType::F32, &[n(2)]);
    for range in [(1, 1), (2, 2)] {
        k.run(&[range]);
        k.step("copy", &[&acc], &[&y]);
        k.step("add", &[&acc, &x], &[&acc]);
    }
    k.finish()
}

#[test]
fn states_live_on_between_runs_and_forks_diverge() {
    let (exe, _) = executable(accumulator());
    let mut s = exe.session().expect("a session");
    let read = |s: &mut pumice_runtime::Session| {
        s.state("acc").expect("a state").read().expect("a value").to_vec::<f32>().expect("f32")
    };
    assert_eq!(read(&mut s), [0.0, 0.0], "before any run");
    let (one, two) = ([("x", TensorView::f32(&[1.0], [1]))], [("x", TensorView::f32(&[1.0, 10.0], [2]))]);
    s.run(&one).expect("a run");
    let out = s.run(&two).expect("a run of the other specialization");
    assert_eq!(out.at(0).expect("y").to_vec::<f32>(), Ok(vec![1.0, 1.0]));
    assert_eq!(read(&mut s), [2.0, 11.0]);
    let mut fork = s.fork().expect("a fork");
    assert!(matches!(fork.outputs(), Err(RuntimeError::NoResults)));
    fork.run(&one).expect("a run");
    assert_eq!((read(&mut s), read(&mut fork)), (vec![2.0, 11.0], vec![3.0, 12.0]));
    fork.state("acc").expect("a state").reset().expect("zeros");
    assert_eq!((read(&mut s), read(&mut fork)), (vec![2.0, 11.0], vec![0.0, 0.0]));
    let mut other = exe.session().expect("a session");
    assert_eq!(read(&mut other), [0.0, 0.0]);
    assert!(matches!(s.state("nope"), Err(RuntimeError::UnknownName { .. })));
}

#[test]
fn initial_values_come_from_zeros_data_or_a_param() {
    let mut k = Sketch::new();
    k.param("w", DType::F32, &[2]);
    k.state("z", DType::I64, &[3], None, StateInit::Zeros);
    k.state("d", DType::U8, &[3], None, StateInit::Data(vec![1, 2, 3]));
    let p = k.state("p", DType::F32, &[2], None, StateInit::Param(0));
    k.state("none", DType::F32, &[0, 4], None, StateInit::Param(0));
    k.plan.states[3].init = StateInit::Zeros;
    let y = k.output("y", DType::F32, &[n(2)]);
    k.run(&[]);
    k.step("copy", &[&p], &[&y]);
    let (exe, _) = executable(k.finish());
    let mut s = exe.session().expect("a session");
    assert_eq!(s.state("z").expect("a state").read().expect("zeros").to_vec::<i64>(), Ok(vec![0; 3]));
    assert_eq!(s.state("d").expect("a state").read().expect("data").bytes(), [1, 2, 3]);
    assert_eq!(s.state("none").expect("a state").read().expect("empty").shape(), [0, 4]);
    let early = s.state("p").expect("a state").read();
    assert!(matches!(early, Err(RuntimeError::MissingParams { names }) if names == ["w"]));
    exe.set_param("w", &[5.0, 6.0]).expect("two values");
    assert_eq!(s.run(&[]).expect("a run").at(0).expect("y").to_vec::<f32>(), Ok(vec![5.0, 6.0]));
    exe.set_param("w", &[7.0, 8.0]).expect("two values");
    assert_eq!(
        s.run(&[]).expect("a run").at(0).expect("y").to_vec::<f32>(),
        Ok(vec![5.0, 6.0]),
        "it was begun"
    );
    s.state("p").expect("a state").reset().expect("the param");
    assert_eq!(s.run(&[]).expect("a run").at(0).expect("y").to_vec::<f32>(), Ok(vec![7.0, 8.0]));
    let mut late = exe.session().expect("a session");
    assert_eq!(
        late.state("p").expect("a state").read().expect("a value").to_vec::<f32>(),
        Ok(vec![7.0, 8.0])
    );
}

#[test]
fn rows_are_read_and_written_along_any_axis() {
    let mut k = Sketch::new();
    k.state("kv", DType::F32, &[2, 3, 2], Some(1), StateInit::Zeros);
    k.state("h", DType::F16, &[2, 2], None, StateInit::Zeros);
    k.state("one", DType::F32, &[], None, StateInit::Zeros);
    k.run(&[]);
    let (exe, _) = executable(k.finish());
    let mut s = exe.session().expect("a session");
    let mut kv = s.state("kv").expect("a state");
    let all: Vec<f32> = (0..12u8).map(f32::from).collect();
    kv.write(TensorView::f32(&all, [2, 3, 2])).expect("twelve values");
    assert_eq!((kv.name(), kv.dtype(), kv.shape(), kv.row_axis()), ("kv", DType::F32, &[2, 3, 2][..], 1));
    let row = kv.read_row(1).expect("a row");
    assert_eq!((row.shape(), row.to_vec::<f32>()), (&[2u64, 2][..], Ok(vec![2.0, 3.0, 8.0, 9.0])));
    assert_eq!(kv.read_rows(1..3).expect("rows").to_vec::<f32>(), Ok(vec![2., 3., 4., 5., 8., 9., 10., 11.]));
    assert_eq!(kv.read_range(0, 1..2).expect("rows").to_vec::<f32>(), Ok(all[6..].to_vec()));
    assert_eq!(kv.read_range(2, 1..2).expect("rows").to_vec::<f32>(), Ok(vec![1., 3., 5., 7., 9., 11.]));
    assert_eq!(kv.read_rows(3..3).expect("none").shape(), [2, 0, 2]);
    assert!(matches!(kv.read_rows(2..4), Err(RuntimeError::Rows { axis: 1, extent: 3, .. })));
    assert!(matches!(kv.read_range(3, 0..1), Err(RuntimeError::Axis { rank: 3, .. })));
    kv.write_range(1, 2, TensorView::f32(&[-1.0, -2.0, -3.0, -4.0], [2, 1, 2])).expect("a row");
    assert_eq!(
        kv.read().expect("all").to_vec::<f32>(),
        Ok(vec![0., 1., 2., 3., -1., -2., 6., 7., 8., 9., -3., -4.])
    );
    let row = TensorView::f32(&[0.0; 4], [2, 1, 2]);
    assert!(matches!(kv.write_range(1, 3, row), Err(RuntimeError::Rows { .. })));
    assert!(kv.write_range(1, u64::MAX, row).is_err());
    assert!(matches!(kv.write_range(2, 0, row), Err(RuntimeError::Extent { axis: 1, .. })));
    assert!(matches!(kv.write_f32(&all[1..]), Err(RuntimeError::Length { .. })));
    assert!(matches!(kv.write_bytes(&[0; 47]), Err(RuntimeError::Length { expected: 48, given: 47, .. })));
    let wrong = TensorView::i32(&[0; 12], [2, 3, 2]);
    assert!(matches!(kv.write(wrong), Err(RuntimeError::DType { .. })));
    assert!(kv.read_into(&mut [0; 4]).is_err());
    let mut h = s.state("h").expect("a state");
    h.write_f32(&[1.0 / 3.0, 2.0, 3.0, 4.0]).expect("four values");
    assert_eq!(
        h.read_row(0).expect("a row").to_vec(),
        Ok(vec![half::f16::from_f32(1.0 / 3.0), half::f16::from_f32(2.0)])
    );
    h.write_range(0, 1, TensorView::f32(&[7.0, 8.0], [1, 2])).expect("a row");
    assert_eq!(
        h.read_row(1).expect("a row").to_vec(),
        Ok(vec![half::f16::from_f32(7.0), half::f16::from_f32(8.0)])
    );
    let mut one = s.state("one").expect("a state");
    assert!(matches!(one.read_row(0), Err(RuntimeError::Axis { rank: 0, .. })));
    assert_eq!(one.read().expect("one value").to_vec::<f32>(), Ok(vec![0.0]));
}
