//! Bad input: typed errors that name the thing; the session goes on as if nothing had been asked.

use crate::common::*;
use pumice_ir::{Graph, GraphBuilder, f32, i32, sym};
use pumice_plan::{Lack, Limit};
use pumice_runtime::{DeviceError, NameKind, RunOptions, RuntimeError, ScalarValue, Session};
use pumice_tests::{Fixture, on_every_device};
use pumice_types::{DType, DimExpr, Encoding, Target, Tensor, TensorView};

on_every_device!(
    wrong_inputs,
    wrong_scalars,
    a_missing_param,
    nothing_to_do,
    a_plan_larger_than_the_device,
    a_plan_that_uses_more_than_the_device_has,
);

/// s += x·gain, a counter that advances, ids that must be there.
fn graph() -> Graph {
    let g = GraphBuilder::new("strict");
    let x = g.input("x", f32([sym("n", 1..=4), 3.into()]));
    let ids = g.input("ids", i32([2u64]));
    let gain = g.scalar("gain", f32::<u64>([]), 0.0, 2.0, 1.0);
    let at = g.scalar_advancing("at", 0, 50, 0, DimExpr::constant(1));
    let s = g.state("s", f32([3u64]));
    let sum = g.add(g.state_read(s), g.mul(g.reduce_sum(x, &[0], false), gain));
    g.state_write(s, sum);
    g.output("sum", sum);
    g.output("ids", g.add(ids, at));
    g.build().expect("sound")
}

/// A session with what it must hold.
struct Watched {
    s: Session,
    sum: Vec<f32>,
    at: i32,
    x: Tensor,
}

impl Watched {
    fn new(fixture: &Fixture) -> Watched {
        let s = load(fixture, &graph()).session().expect("a session");
        Watched { s, sum: vec![0.0; 3], at: 0, x: tensor(&wave(6, 1), &[2, 3]) }
    }

    /// States, scalars and results are as they were; and it runs.
    fn goes_on(&mut self, what: &str) {
        let state = floats(&self.s.state("s").expect("there").read().expect("reads"));
        assert_eq!(state, self.sum, "{what}");
        assert_eq!(self.s.scalar("at").expect("there"), ScalarValue::Int(self.at.into()), "{what}");
        if self.at > 0 {
            let last = self.s.outputs().expect("results of the last run");
            assert_eq!(
                (out(&last, "sum"), ints(last.get("ids").expect("there"))),
                (self.sum.clone(), vec![self.at + 4, self.at - 2]),
                "{what}"
            );
        } else {
            refused!(self.s.outputs(), RuntimeError::NoResults, "run");
        }
        let given = [("x", self.x.view()), ("ids", TensorView::i32(&[5, -1], [2]))];
        let y = self.s.run(&given).unwrap_or_else(|e| panic!("{what}: {e}"));
        floats(&self.x).iter().enumerate().for_each(|(i, v)| self.sum[i % 3] += v);
        assert_eq!(out(&y, "sum"), self.sum, "{what}");
        assert_eq!(ints(y.get("ids").expect("there")), [5 + self.at, self.at - 1], "{what}");
        self.at += 1;
    }

    fn run<'a>(
        &mut self,
        x: impl Into<Option<TensorView<'a>>>,
        ids: impl Into<Option<TensorView<'a>>>,
        more: &[(&'a str, TensorView<'a>)],
    ) -> Result<pumice_runtime::Outputs, RuntimeError> {
        let given: Vec<_> = x
            .into()
            .map(|v| ("x", v))
            .into_iter()
            .chain(ids.into().map(|v| ("ids", v)))
            .chain(more.iter().copied())
            .collect();
        self.s.run(&given)
    }
}

fn wrong_inputs(fixture: &Fixture) {
    const INPUT: NameKind = NameKind::Input;
    let mut w = Watched::new(fixture);
    let (values, bits) = ([1f32; 16], [0i32; 16]);
    let x = TensorView::f32(&values[..6], [2, 3]);
    let ids = TensorView::i32(&bits[..2], [2]);
    for _ in 0..2 {
        refused!(
            w.run(x, ids, &[("y", x)]),
            RuntimeError::UnknownName { kind: INPUT, .. },
            "`y`",
            "`x`",
            "`ids`"
        );
        w.goes_on("an unknown name");
        refused!(w.run(x, ids, &[("ids", ids)]), RuntimeError::Duplicate { kind: INPUT, .. }, "`ids`");
        refused!(w.run(None, ids, &[]), RuntimeError::MissingInputs { names } if names == &["x"], "`x`");
        refused!(w.run(x, None, &[]), RuntimeError::MissingInputs { names } if names == &["ids"], "`ids`");
        refused!(w.run(None, None, &[]), RuntimeError::MissingInputs { names } if names.len() == 2, "`x`", "`ids`");
        w.goes_on("given twice, or not at all");
        let flat = TensorView::f32(&values[..6], [6]);
        refused!(w.run(flat, ids, &[]), RuntimeError::Rank { kind: INPUT, expected: 2, given: 1, .. }, "`x`");
        let deep = TensorView::f32(&values[..6], [2, 3, 1]);
        refused!(w.run(deep, ids, &[]), RuntimeError::Rank { expected: 2, given: 3, .. }, "`x`");
        let wide = TensorView::f32(&values[..8], [2, 4]);
        refused!(w.run(wide, ids, &[]), RuntimeError::Extent { axis: 1, given: 4, .. }, "`x`", "3", "4");
        let more = TensorView::i32(&bits[..3], [3]);
        refused!(w.run(x, more, &[]), RuntimeError::Extent { axis: 0, given: 3, .. }, "`ids`");
        let tall = TensorView::f32(&values[..15], [5, 3]);
        refused!(w.run(tall, ids, &[]), RuntimeError::SymbolRange { value: 5, max: 4, .. }, "`n`", "`x`");
        let none = TensorView::f32(&[], [0, 3]);
        refused!(w.run(none, ids, &[]), RuntimeError::SymbolRange { value: 0, .. }, "`n`");
        w.goes_on("wrong extents");
        let short = TensorView::f32(&values[..5], [2, 3]);
        refused!(w.run(short, ids, &[]), RuntimeError::Tensor { kind: INPUT, .. }, "`x`", "24", "20");
        let vast = TensorView::f32(&values, [u64::MAX, u64::MAX]);
        refused!(w.run(vast, ids, &[]), RuntimeError::Tensor { .. } | RuntimeError::Extent { .. }, "`x`");
        let ints = TensorView::i32(&bits[..6], [2, 3]);
        refused!(
            w.run(ints, ids, &[]),
            RuntimeError::DType {
                expected: Encoding::Plain(DType::F32),
                given: Encoding::Plain(DType::I32),
                ..
            },
            "`x`",
            "f32",
            "i32"
        );
        refused!(
            w.run(x, TensorView::f32(&values[..2], [2]), &[]),
            RuntimeError::DType { expected: Encoding::Plain(DType::I32), .. },
            "`ids`"
        );
        w.goes_on("wrong bytes or dtype");
    }
}

fn wrong_scalars(fixture: &Fixture) {
    const SCALAR: NameKind = NameKind::Scalar;
    let mut w = Watched::new(fixture);
    refused!(w.s.set_scalar("none", 1), RuntimeError::UnknownName { kind: SCALAR, .. }, "`none`", "`gain`");
    refused!(w.s.scalar("none"), RuntimeError::UnknownName { kind: SCALAR, .. }, "`none`");
    for bad in [2.5, -0.1, f64::NAN, f64::INFINITY] {
        refused!(w.s.set_scalar("gain", bad), RuntimeError::ScalarRange { .. }, "`gain`");
    }
    refused!(w.s.set_scalar("at", 51), RuntimeError::ScalarRange { max: 50.0, .. }, "`at`", "51");
    refused!(w.s.set_scalar("at", i64::MIN), RuntimeError::ScalarRange { .. }, "`at`");
    refused!(w.s.set_scalar("at", 1.5), RuntimeError::ScalarFraction { .. }, "`at`", "1.5");
    assert_eq!(w.s.scalar("gain").expect("there"), ScalarValue::Float(1.0));
    w.goes_on("scalars that were refused");
    // Both ends of the range, and a number of the other kind that fits.
    for (gain, factor) in [(0.0f64, 0.0f32), (2.0, 2.0)] {
        w.s.set_scalar("gain", gain).expect("in range");
        let y = w.run(w.x.clone().view(), TensorView::i32(&[5, -1], [2]), &[]).expect("runs");
        floats(&w.x).iter().enumerate().for_each(|(i, v)| w.sum[i % 3] += v * factor);
        w.at += 1;
        assert_eq!(out(&y, "sum"), w.sum, "gain {gain}");
    }
    w.s.set_scalar("gain", 1i64).expect("an integer is a float");
    w.s.set_scalar("at", 7.0).expect("a float that is an integer");
    let y = w.run(w.x.clone().view(), TensorView::i32(&[5, -1], [2]), &[]).expect("runs");
    assert_eq!(ints(y.get("ids").expect("there")), [12, 6]);
}

/// A missing param at run: named, all of them, and nothing ran.
fn a_missing_param(fixture: &Fixture) {
    let g = GraphBuilder::new("missing");
    let x = g.input("x", f32([3u64]));
    let s = g.state("s", f32([3u64]));
    let [a, b] = ["a", "b"].map(|n| g.param(n, f32([3u64])));
    let sum = g.add(g.state_read(s), g.mul(g.add(x, a), b));
    g.state_write(s, sum);
    g.output("sum", sum);
    let exe = load(fixture, &g.build().expect("sound"));
    let mut s = exe.session().expect("a session");
    let x = wave(3, 1);
    refused!(s.run(&[("x", row(&x))]), RuntimeError::MissingParams { names } if names == &["a", "b"], "`a`", "`b`", "set_param");
    set(&exe, &[("a", &[0.5; 3])]);
    refused!(s.run_steps(&[("x", row(&x))], 3), RuntimeError::MissingParams { names } if names == &["b"], "`b`");
    refused!(s.profile(&[("x", row(&x))], &RunOptions::default()), RuntimeError::MissingParams { .. }, "`b`");
    refused!(exe.param("b"), RuntimeError::MissingParams { .. }, "`b`");
    refused!(s.outputs(), RuntimeError::NoResults, "run");
    assert_eq!(floats(&s.state("s").expect("there").read().expect("reads")), [0.0; 3]);
    set(&exe, &[("b", &[2.0; 3])]);
    assert_eq!(out(&s.run(&[("x", row(&x))]).expect("runs"), "sum"), map(&x, |v| (v + 0.5) * 2.0));
}

/// A graph without inputs; one without outputs to read.
fn nothing_to_do(fixture: &Fixture) {
    let g = GraphBuilder::new("still");
    let s = g.state("s", f32([2u64]));
    g.state_write(s, g.add(g.state_read(s), g.constant_scalar(DType::F32, 1.0)));
    g.output("empty", g.constant(tensor(&[], &[0, 3])));
    let exe = load(fixture, &g.build().expect("sound"));
    let mut s = exe.session().expect("a session");
    for runs in 1..4 {
        let y = s.run(&[]).expect("runs");
        assert_eq!(y.get("empty").expect("there").shape(), [0, 3]);
        assert_eq!(floats(&s.state("s").expect("there").read().expect("reads")), [runs as f32; 2]);
    }
    refused!(s.run(&[("x", row(&[]))]), RuntimeError::UnknownName { .. }, "`x`", "none");
    refused!(s.state("t"), RuntimeError::UnknownName { kind: NameKind::State, .. }, "`t`");
}

/// Refused before any memory is taken, with what would help; the device is as good as before.
fn a_plan_larger_than_the_device(fixture: &Fixture) {
    let g = GraphBuilder::new("huge");
    let x = g.input("x", f32([3u64]));
    let s = g.state("s", f32([1u64 << 28, 1 << 14]));
    g.output(
        "y",
        g.add(x, g.reshape(g.narrow(g.narrow(g.state_read(s), 0, 0u64, 1u64), 1, 0u64, 3u64), &[3])),
    );
    let target = fixture.device.target();
    let compiled = pumice_compile::compile(
        &g.build().expect("sound"),
        target,
        &Default::default(),
        &pumice_cpu_ref::RefEval,
    );
    let message = match compiled {
        Err(e) => e.to_string(),
        Ok(plan) => {
            let host = std::sync::Arc::new(pumice_cpu_ref::RefHostOps);
            let loaded = pumice_plan::CheckedPlan::new(plan)
                .map_err(pumice_runtime::RuntimeError::from)
                .and_then(|plan| pumice_runtime::Executable::new(fixture.device.clone(), plan, host));
            loaded.expect_err("16 TiB").to_string()
        }
    };
    assert!(message.contains("16") || message.contains("17592"), "{message}");
    let mut w = Watched::new(fixture);
    w.goes_on("the device after it refused");
}

/// A plan made for another device is loaded where this one lacks nothing, whatever the names, and refused with what
/// differs where it does: here loops that iterate more often than this driver lets them.
fn a_plan_that_uses_more_than_the_device_has(fixture: &Fixture) {
    let g = GraphBuilder::new("long");
    let (a, b) = (g.input("a", f32([4u64, 300_000])), g.input("b", f32([300_000u64, 4])));
    g.output("y", g.matmul(a, b));
    let graph = g.build().expect("sound");
    let own = fixture.device.target();
    let load = |target: &Target| {
        let options = pumice_compile::Options::default();
        let plan = pumice_compile::compile(&graph, target, &options, &pumice_cpu_ref::RefEval);
        let plan = pumice_plan::CheckedPlan::new(plan.expect("compiles")).expect("sound");
        let host = std::sync::Arc::new(pumice_cpu_ref::RefHostOps);
        pumice_runtime::Executable::new(fixture.device.clone(), plan, host)
    };
    load(&Target { name: "another name".into(), ..own.clone() }).expect("the same device");
    let mut endless = Target { name: "endless".into(), ..own.clone() };
    endless.limits.loop_turns = None;
    let loaded = load(&endless);
    // The interpreter has no loops that a driver ends.
    let Some(limit) = own.limits.loop_turns.filter(|_| fixture.is_vulkan()) else {
        loaded.expect("lacks nothing");
        return;
    };
    let refused = loaded.expect_err("loops that this driver ends");
    let RuntimeError::Device(DeviceError::Lacks { made_for, lacks }) = &refused else { panic!("{refused}") };
    assert_eq!(made_for, "endless");
    let [Lack::Limit { limit: Limit::LoopTurns, needed, available }] = lacks[..] else { panic!("{lacks:?}") };
    assert!(needed > limit && available == limit, "{needed} of {available}");
    let text = refused.to_string();
    for part in ["endless", "trips of the loops", &needed.to_string(), &limit.to_string()] {
        assert!(text.contains(part), "`{part}` is not in: {text}");
    }
}
