//! Params: the three setters, what is stored, ties, which load steps run again, and versions.

use crate::fake::{Call, Log, executable, try_executable};
use crate::sketch::{Sketch, add_bias, n};
use pumice_plan::{ParamSlot, Plan, RegionKind, ScalarSlot};
use pumice_runtime::{DeviceError, RuntimeError};
use pumice_types::{ByteSource, Bytes, DType, Encoding, SourceError, Stored, Tensor, TensorView};
use std::sync::Arc;

#[test]
fn setters_check_names_lengths_and_types() {
    let mut k = Sketch::new();
    k.param("f", DType::F32, &[2, 2]);
    k.param("h", DType::F16, &[3]);
    k.param("b", DType::BF16, &[3]);
    k.param("i", DType::I64, &[2]);
    k.run(&[]);
    let (exe, log) = executable(k.finish());
    log.take();
    assert!(
        matches!(exe.set_param("g", &[]), Err(RuntimeError::UnknownName { known, .. }) if known.len() == 4)
    );
    assert!(matches!(exe.set_param("f", &[1.0; 3]), Err(RuntimeError::Length { expected: 4, given: 3, .. })));
    assert!(matches!(
        exe.set_param("i", &[1.0; 2]),
        Err(RuntimeError::DType { expected: Encoding::Plain(DType::I64), .. })
    ));
    assert!(matches!(
        exe.set_param_bytes("h", &[0; 5]),
        Err(RuntimeError::Length { expected: 6, given: 5, .. })
    ));
    let flat = TensorView::f32(&[1.0; 4], [4]);
    assert!(matches!(exe.set_param_view("f", flat), Err(RuntimeError::Rank { .. })));
    let other = TensorView::f32(&[1.0; 4], [1, 4]);
    assert!(matches!(exe.set_param_view("f", other), Err(RuntimeError::Extent { axis: 0, .. })));
    let short = TensorView::f32(&[1.0; 3], [2, 2]);
    assert!(matches!(exe.set_param_view("f", short), Err(RuntimeError::Tensor { .. })));
    let half = [half::f16::ONE; 4];
    assert!(matches!(
        exe.set_param_view("f", TensorView::f16(&half, [2, 2])),
        Err(RuntimeError::DType { .. })
    ));
    assert!(matches!(exe.param("f"), Err(RuntimeError::MissingParams { .. })));
    assert_eq!(log.take(), [], "nothing was written");

    exe.set_param("f", &[1.0, 2.0, 3.0, 4.0]).expect("four values");
    assert_eq!(exe.param("f").ok(), Tensor::new(&[1f32, 2.0, 3.0, 4.0], &[2, 2]).ok());
    let third = 1f32 / 3.0;
    for name in ["h", "b"] {
        exe.set_param(name, &[third, f32::NAN, 1e30]).expect("three values");
    }
    let h = exe.param("h").expect("set").to_vec::<half::f16>().expect("f16");
    assert!(h[0] == half::f16::from_f32(third) && h[1].is_nan() && h[2] == half::f16::INFINITY);
    let b = exe.param("b").expect("set").to_vec::<half::bf16>().expect("bf16");
    assert!(b[0] == half::bf16::from_f32(third) && b[1].is_nan() && b[2] == half::bf16::from_f32(1e30));
    exe.set_param_view("i", TensorView::i64(&[i64::MIN, -1], [2])).expect("two values");
    exe.set_param_bytes("h", &[1, 2, 3, 4, 5, 6]).expect("six bytes");
    assert_eq!(exe.param("h").expect("set").bytes(), [1, 2, 3, 4, 5, 6]);
    assert_eq!(exe.param("i").expect("set").to_vec::<i64>(), Ok(vec![i64::MIN, -1]));
    assert_eq!(exe.missing_params(), Vec::<String>::new());
}

/// qk = join(q, k); qkv = join(qk, v); o2 = 2·o; c is made of nothing.
fn merged() -> Plan {
    let mut p = Sketch::new();
    let [q, k, v, o] = ["q", "k", "v", "o"].map(|name| p.param(name, DType::F32, &[1]));
    let qk = p.derived("qk", DType::F32, &[2]);
    let qkv = p.derived("qkv", DType::F32, &[3]);
    let o2 = p.derived("o2", DType::F32, &[1]);
    p.step("scale 2", &[&o], &[&o2]);
    p.step("join", &[&q, &k], &[&qk]);
    p.step("join", &[&qk, &v], &[&qkv]);
    let y = p.output("y", DType::F32, &[n(3)]);
    let z = p.output("z", DType::F32, &[n(1)]);
    p.run(&[]);
    p.step("copy", &[&qkv], &[&y]);
    p.step("copy", &[&o2], &[&z]);
    p.finish()
}

#[test]
fn only_load_steps_of_changed_params_run_again() {
    let (exe, log) = executable(merged());
    for (name, value) in [("q", 1.0), ("k", 2.0), ("v", 3.0), ("o", 4.0)] {
        exe.set_param(name, &[value]).expect("one value");
    }
    let mut s = exe.session().expect("a session");
    let mut other = exe.session().expect("a session");
    let loads = || {
        let calls = log.take();
        calls
            .into_iter()
            .filter_map(|c| if let Call::RunLoad(s) = c { Some(s) } else { None })
            .collect::<Vec<_>>()
    };
    assert_eq!(loads(), Vec::<Vec<u32>>::new(), "lazily, at the next run");
    let out = s.run(&[]).expect("a run");
    assert_eq!(out.at(0).expect("y").to_vec::<f32>(), Ok(vec![1.0, 2.0, 3.0]));
    assert_eq!(loads(), [[0, 1, 2]]);
    s.run(&[]).expect("a run");
    assert_eq!(loads(), Vec::<Vec<u32>>::new());
    exe.set_param("v", &[9.0]).expect("one value");
    let out = other.run(&[]).expect("a run");
    assert_eq!(out.at(0).expect("y").to_vec::<f32>(), Ok(vec![1.0, 2.0, 9.0]));
    assert_eq!(loads(), [[2]]);
    assert_eq!(s.run(&[]).expect("a run").at(0).expect("y").to_vec::<f32>(), Ok(vec![1.0, 2.0, 9.0]));
    exe.set_param("q", &[7.0]).expect("one value");
    exe.set_param("o", &[8.0]).expect("one value");
    let out = s.run(&[]).expect("a run");
    assert_eq!(out.at(0).expect("y").to_vec::<f32>(), Ok(vec![7.0, 2.0, 9.0]));
    assert_eq!(out.at(1).expect("z").to_vec::<f32>(), Ok(vec![16.0]));
    assert_eq!(loads(), [[0, 1, 2]]);
    assert_eq!(
        exe.param("o").expect("set").to_vec::<f32>(),
        Ok(vec![8.0]),
        "what was stored, not what was derived"
    );
}

#[test]
fn steps_over_bytes_that_are_used_again_run_together() {
    // t = 2·a, a2 = t + e; then t's bytes hold 3·b, b2 = copy of them; c stands alone.
    let mut k = Sketch::new();
    let [a, b, c, e] = ["a", "b", "c", "e"].map(|name| k.param(name, DType::F32, &[1]));
    let [t, a2, b2, c2] = ["t", "a2", "b2", "c2"].map(|name| k.derived(name, DType::F32, &[1]));
    k.step("scale 2", &[&a], &[&t]);
    k.step("add", &[&t, &e], &[&a2]);
    k.step("scale 3", &[&b], &[&t]);
    k.step("copy", &[&t], &[&b2]);
    k.step("copy", &[&c], &[&c2]);
    let y = k.output("y", DType::F32, &[n(1)]);
    let z = k.output("z", DType::F32, &[n(1)]);
    k.run(&[]);
    k.step("copy", &[&a2], &[&y]);
    k.step("copy", &[&b2], &[&z]);
    let (exe, log) = executable(k.finish());
    exe.set_params(&[
        ("a", TensorView::f32(&[1.0], [1])),
        ("b", TensorView::f32(&[1.0], [1])),
        ("c", TensorView::f32(&[1.0], [1])),
        ("e", TensorView::f32(&[1.0], [1])),
    ])
    .expect("all right");
    let mut s = exe.session().expect("a session");
    s.run(&[]).expect("a run");
    for (name, value) in [("a", 5.0), ("b", 6.0), ("c", 7.0), ("a", 8.0), ("e", 2.0)] {
        exe.set_param(name, &[value]).expect("one value");
        log.take();
        s.run(&[]).expect("a run");
        let ran = log.take().into_iter().find_map(|c| if let Call::RunLoad(s) = c { Some(s) } else { None });
        let ran = ran.expect("a load");
        match name {
            // Step 0 overwrites what step 2 left, so step 2 (and with it 3) follows.
            "a" => assert_eq!(ran, [0, 1, 2, 3]),
            // Step 1 reads what step 2 overwrote, so step 0 comes first and step 2 follows it.
            "e" => assert_eq!(ran, [0, 1, 2, 3]),
            "b" => assert_eq!(ran, [2, 3]),
            _ => assert_eq!(ran, [4]),
        }
    }
    let out = s.outputs().expect("results");
    assert_eq!(out.at(0).expect("y").to_vec::<f32>(), Ok(vec![18.0]));
    assert_eq!(out.at(1).expect("z").to_vec::<f32>(), Ok(vec![18.0]));
}

#[test]
fn tied_params_are_one_storage() {
    let mut k = Sketch::new();
    let w = k.param("w", DType::F32, &[3]);
    k.plan.params.push(ParamSlot { name: "tied".into(), ..k.plan.params[0].clone() });
    let d = k.derived("d", DType::F32, &[3]);
    k.step("scale 10", &[&w], &[&d]);
    let y = k.output("y", DType::F32, &[n(3)]);
    k.run(&[]);
    k.step("copy", &[&d], &[&y]);
    let (exe, _) = executable(k.finish());
    exe.set_param("tied", &[1.0, 2.0, 3.0]).expect("three values");
    assert_eq!(exe.missing_params(), Vec::<String>::new());
    assert_eq!(exe.param("w").expect("set").to_vec::<f32>(), Ok(vec![1.0, 2.0, 3.0]));
    let mut s = exe.session().expect("a session");
    assert_eq!(s.run(&[]).expect("a run").at(0).expect("y").to_vec::<f32>(), Ok(vec![10.0, 20.0, 30.0]));
    exe.set_param("tied", &[2.0; 3]).expect("three values");
    assert_eq!(s.run(&[]).expect("a run").at(0).expect("y").to_vec::<f32>(), Ok(vec![20.0; 3]));
}

#[test]
fn set_params_writes_all_or_nothing() {
    let (exe, log) = executable(merged());
    log.take();
    let v = TensorView::f32(&[1.0], [1]);
    let wrong = TensorView::f32(&[1.0, 2.0], [2]);
    assert!(exe.set_params(&[("q", v), ("k", wrong)]).is_err());
    assert!(matches!(exe.set_params(&[("q", v), ("q", v)]), Err(RuntimeError::Duplicate { .. })));
    assert_eq!(log.take(), []);
    assert_eq!(exe.missing_params().len(), 4);
}

#[test]
fn contradictory_plans_are_refused() {
    let refused = |change: fn(&mut Plan)| {
        let mut plan = add_bias();
        change(&mut plan);
        let log = Arc::new(Log::default());
        log.fail_in(-1);
        let error = try_executable(plan, &log).expect_err("the plan contradicts itself");
        assert_eq!(log.take(), [], "the device saw nothing of it");
        error
    };
    let changes: [fn(&mut Plan); 9] = [
        |p| p.params[0].span.offset = Bytes(u64::MAX),
        |p| p.params[0].shape = vec![u64::MAX, 2],
        |p| p.params.push(p.params[0].clone()),
        |p| p.inputs[0].span.region = RegionKind::Scratch,
        |p| p.outputs[0].span.len = Bytes(1 << 40),
        |p| p.runs[0].ranges.clear(),
        |p| p.status_ops.push("op".into()),
        |p| p.runs[0].frame.words.push(pumice_plan::FrameSlot::Temporary),
        |p| p.scalars.push(half_scalar()),
    ];
    for change in changes {
        assert!(matches!(refused(change), RuntimeError::Plan { .. }));
    }
    let large = refused(|p| p.regions[0].chunks = vec![Bytes(1 << 50)]);
    assert!(matches!(large, RuntimeError::Device(DeviceError::OutOfMemory { .. })));
    assert!(large.to_string().contains("1024.0 TiB"), "{large}");
}

/// A scalar of a dtype that no scalar has.
fn half_scalar() -> ScalarSlot {
    ScalarSlot { name: "s".into(), dtype: DType::F16, min: 0.0, max: 1.0, default: 0.0, advance: None }
}

#[test]
fn constants_are_there_from_the_start() {
    let mut k = Sketch::new();
    let c = k.constant(Tensor::new(&[3f32, 4.0], &[2]).expect("two values"));
    let d = k.derived("d", DType::F32, &[2]);
    k.constant(Tensor::new::<f32>(&[], &[0]).expect("no values"));
    k.step("scale 2", &[&c], &[&d]);
    let y = k.output("y", DType::F32, &[n(2)]);
    k.run(&[]);
    k.step("add", &[&c, &d], &[&y]);
    let (exe, _) = executable(k.finish());
    let mut s = exe.session().expect("a session");
    assert_eq!(s.run(&[]).expect("a run").at(0).expect("y").to_vec::<f32>(), Ok(vec![9.0, 12.0]));
}

/// Tensors that end after so many bytes, and those that were asked for.
struct Source {
    tensors: Vec<(&'static str, Stored, Vec<u8>)>,
    broken: Option<&'static str>,
}

impl Source {
    fn new(tensors: &[(&'static str, DType, &[u64])]) -> Source {
        let tensor = |&(name, dtype, shape): &(&'static str, DType, &[u64])| {
            let encoding = Encoding::Plain(dtype);
            let bytes = encoding.bytes(shape).expect("small").0;
            let bytes = (0..bytes).map(|i| (i * 7 + name.len() as u64) as u8 % 100).collect();
            (name, Stored { encoding, shape: shape.to_vec() }, bytes)
        };
        Source { tensors: tensors.iter().map(tensor).collect(), broken: None }
    }

    fn find(&self, name: &str) -> Result<&(&'static str, Stored, Vec<u8>), SourceError> {
        let missing = || SourceError { name: name.to_owned(), source: Arc::new(std::fmt::Error) };
        self.tensors.iter().find(|t| t.0 == name).ok_or_else(missing)
    }
}

impl ByteSource for Source {
    fn stored(&self, name: &str) -> Result<Stored, SourceError> {
        Ok(self.find(name)?.1.clone())
    }

    fn read_bytes(&self, name: &str, offset: u64, to: &mut [u8]) -> Result<(), SourceError> {
        if self.broken == Some(name) {
            return Err(SourceError { name: name.to_owned(), source: Arc::new(std::fmt::Error) });
        }
        let bytes = &self.find(name)?.2[offset as usize..];
        to.copy_from_slice(&bytes[..to.len()]);
        Ok(())
    }
}

#[test]
fn params_are_read_from_a_source() {
    let mut k = Sketch::new();
    k.param("f", DType::F32, &[300, 1000]);
    k.param("rounded", DType::F16, &[3]);
    k.param("none", DType::F32, &[0]);
    k.param("i", DType::I32, &[5]);
    k.run(&[]);
    let (exe, log) = executable(k.finish());
    log.take();
    let all: [(&str, DType, &[u64]); 4] = [
        ("f", DType::F32, &[300, 1000]),
        ("rounded", DType::F32, &[3]),
        ("none", DType::F32, &[0]),
        ("i", DType::I32, &[5]),
    ];
    let refused = |tensors: &[(&'static str, DType, &[u64])]| {
        let error = exe.read_params(&Source::new(tensors), |_, _| {}).expect_err("it does not fit");
        assert_eq!(log.take(), [], "nothing was written");
        error
    };
    assert!(matches!(refused(&all[..3]), RuntimeError::Source(e) if e.name == "i"));
    let other = |i: usize, dtype, shape: &'static [u64]| {
        let mut tensors = all;
        tensors[i] = (tensors[i].0, dtype, shape);
        refused(&tensors)
    };
    assert!(matches!(other(0, DType::F32, &[1000, 300]), RuntimeError::Extent { axis: 0, .. }));
    assert!(matches!(other(0, DType::F32, &[300_000]), RuntimeError::Rank { .. }));
    assert!(matches!(other(3, DType::F32, &[5]), RuntimeError::DType { .. }));
    assert!(matches!(other(0, DType::F16, &[300, 1000]), RuntimeError::DType { .. }));

    let mut source = Source::new(&all);
    let mut heard = Vec::new();
    exe.read_params(&source, |done, of| heard.push((done, of))).expect("all fit");
    assert_eq!((heard.first(), heard.last()), (Some(&(0, 4)), Some(&(4, 4))));
    assert!(heard.is_sorted());
    assert_eq!(exe.missing_params(), Vec::<String>::new());
    for name in ["f", "i"] {
        assert_eq!(exe.param(name).expect("set").bytes(), source.find(name).expect("there").2);
    }
    let floats: Vec<f32> = Encoding::from(DType::F32).decode(&source.tensors[1].2).expect("floats");
    let rounded: Vec<half::f16> = floats.iter().map(|&x| half::f16::from_f32(x)).collect();
    assert_eq!(exe.param("rounded").expect("set").to_vec(), Ok(rounded));

    source.broken = Some("i");
    let error = exe.read_params(&source, |_, _| {}).expect_err("it breaks off");
    assert!(matches!(&error, RuntimeError::Source(e) if e.name == "i"), "{error}");
    assert!(error.to_string().contains("weight `i`"), "{error}");
    assert!(exe.missing_params().contains(&"i".to_owned()), "what was not written counts as never set");
}

/// y = p' + q + s', where s' = 2 s and p' = 3 p are made while s and p pass through.
fn passing() -> Plan {
    let mut k = Sketch::new();
    let q = k.param("q", DType::F32, &[2]);
    let p = k.streamed("p", DType::F32, &[2], "scale 3");
    let s = k.streamed("s", DType::F32, &[2], "scale 2");
    let h = k.streamed("h", DType::F16, &[3], "copy");
    let t = k.scratch("t", DType::F32, &[n(2)]);
    let y = k.output("y", DType::F32, &[n(2)]);
    let z = k.output("z", DType::F16, &[n(3)]);
    k.run(&[]);
    k.step("add", &[&p, &q], &[&t]);
    k.step("add", &[&t, &s], &[&y]);
    k.step("copy", &[&h], &[&z]);
    k.finish()
}

#[test]
fn streamed_params_pass_through_when_they_are_set() {
    let (exe, log) = executable(passing());
    assert!(matches!(exe.param("p"), Err(RuntimeError::NotKept { name }) if name == "p"));
    let mut session = exe.session().expect("a session");
    log.take();
    for (name, values) in [("p", [1.0, 2.0]), ("q", [10.0, 20.0]), ("s", [100.0, 200.0])] {
        exe.set_param(name, &values).expect("two values");
    }
    let missing = session.run(&[]).expect_err("h was not set");
    assert!(matches!(missing, RuntimeError::MissingParams { names } if names == ["h"]));
    let third = 1f32 / 3.0;
    exe.set_param("h", &[third, -1.0, 1e9]).expect("rounded on the way");
    let calls = log.take();
    let streams = calls.iter().filter_map(|c| if let Call::Stream(s) = c { Some(*s) } else { None });
    assert_eq!(streams.collect::<Vec<_>>(), [0, 1, 2], "each while it is set: {calls:?}");
    let out = session.run(&[]).expect("all set");
    assert_eq!(out.at(0).expect("y").to_vec::<f32>(), Ok(vec![213.0, 426.0]));
    let halves = [third, -1.0, f32::INFINITY].map(half::f16::from_f32);
    assert_eq!(out.at(1).expect("z").to_vec::<half::f16>(), Ok(halves.to_vec()));
    assert!(!log.take().iter().any(|c| matches!(c, Call::RunLoad(_))), "nothing else is to be done");

    // Several at once; a view of another length changes nothing; what was given cannot be read back.
    let (p, s) = (TensorView::f32(&[2.0, 2.0], [2]), TensorView::f32(&[3.0, 3.0], [2]));
    exe.set_params(&[("s", s), ("p", p)]).expect("both");
    assert!(exe.set_param("p", &[0.0; 3]).is_err());
    let out = session.run(&[]).expect("all set");
    assert_eq!(out.at(0).expect("y").to_vec::<f32>(), Ok(vec![22.0, 32.0]));
    let error = exe.param("s").expect_err("it passed through");
    assert!(error.to_string().contains("Options::keep"), "{error}");

    // A failed set leaves the param unset, and the others as they were.
    log.fail_in(0);
    assert!(matches!(exe.set_param("p", &[7.0; 2]), Err(RuntimeError::Device(_))));
    log.fail_in(-1);
    assert_eq!(exe.missing_params(), ["p"]);
    assert!(matches!(session.run(&[]), Err(RuntimeError::MissingParams { .. })));
    exe.set_param("p", &[1.0; 2]).expect("the device is well again");
    let out = session.run(&[]).expect("all set");
    assert_eq!(out.at(0).expect("y").to_vec::<f32>(), Ok(vec![19.0, 29.0]));
    assert_eq!(exe.memory().regions[0].slots, 1, "one of four is kept");
    assert_eq!(exe.memory().stream, Bytes(8));
}

#[test]
fn streamed_params_are_read_from_a_source() {
    let (exe, _) = executable(passing());
    let all: [(&str, DType, &[u64]); 4] =
        [("p", DType::F32, &[2]), ("q", DType::F32, &[2]), ("s", DType::F32, &[2]), ("h", DType::F32, &[3])];
    let mut source = Source::new(&all);
    source.broken = Some("s");
    assert!(matches!(exe.read_params(&source, |_, _| {}), Err(RuntimeError::Source(e)) if e.name == "s"));
    assert!(exe.missing_params().contains(&"s".to_owned()));
    source.broken = None;
    let mut heard = Vec::new();
    exe.read_params(&source, |done, of| heard.push((done, of))).expect("all fit");
    assert!(heard.is_sorted() && heard.last() == Some(&(4, 4)), "{heard:?}");
    assert_eq!(exe.missing_params(), Vec::<String>::new());
    let values =
        |name| Encoding::from(DType::F32).decode(&source.find(name).expect("there").2).expect("floats");
    let (p, q, s) = (values("p"), values("q"), values("s"));
    let y: Vec<f32> = (0..2).map(|i| 3.0 * p[i] + q[i] + 2.0 * s[i]).collect();
    let mut session = exe.session().expect("a session");
    assert_eq!(session.run(&[]).expect("all set").at(0).expect("y").to_vec::<f32>(), Ok(y));
}

#[test]
fn contradictory_streams_are_refused() {
    let changes: [fn(&mut Plan); 4] = [
        |p| p.streams.clear(),
        |p| p.streams[0].param = 0,
        |p| p.streams[0].room.chunks.clear(),
        |p| p.params[1].span.len = Bytes(4),
    ];
    for change in changes {
        let mut plan = passing();
        change(&mut plan);
        let log = Arc::new(Log::default());
        log.fail_in(-1);
        let error = try_executable(plan, &log).expect_err("the plan contradicts itself");
        assert!(matches!(error, RuntimeError::Plan { .. }), "{error}");
    }
}
