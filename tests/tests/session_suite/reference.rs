//! Everything together against the evaluator's own session: a cache, a host step, feeds, scalars, symbols, two plans.

use crate::common::*;
use pumice_compile::{OptOptions, Options};
use pumice_cpu_ref::{Array, EvalOptions, RefSession};
use pumice_ir::ops::fft::Fft;
use pumice_ir::ops::kv_append::AppendMode;
use pumice_ir::{FeedKind, Graph, GraphBuilder, f16, f32, i32, sym};
use pumice_plan::Placement;
use pumice_tests::{Fixture, on_every_device};
use pumice_types::{Bindings, DType, DimExpr, SymbolId, Tensor};
use std::sync::Arc;

on_every_device!(a_session_is_what_the_evaluator_says, whatever_the_compiler_does);

/// x\[n, 4\] → rows for a cache (f16), their spectrum on the host, a running mean, the last rows seen.
fn graph() -> Graph {
    let g = GraphBuilder::new("everything");
    let x = g.input("x", f32([sym("n", 1..=6), 4.into()]));
    let (n, w) = (g.dim_of(x, 0), g.param("w", f32([4u64, 4])));
    let at = g.scalar_advancing("at", 0, 40, 0, n.clone());
    let gain = g.scalar("gain", f32::<u64>([]), -2.0, 2.0, 0.5);
    let rows = g.gelu(g.linear(x, w, None));
    let cache = g.cache("cache", f16([16u64, 4]), 0);
    let cached = g.state_read(g.kv_append(cache, g.cast(rows, DType::F16), at, 0, AppendMode::Circular));
    let column = g.reshape_to(rows, vec![n.clone(), DimExpr::constant(4), DimExpr::constant(1)]);
    let spectrum = g.fft(column, Fft { axis: 0, ..Fft::default() });
    let power = g.reduce_sum(g.square(spectrum), &[1, 2], false);
    let mean = g.state("mean", f32([4u64]));
    let old = g.state_read(mean);
    let new = g.add(g.mul(old, gain), g.reduce_mean(rows, &[0], false));
    let (recent, previous) = (g.state("recent", f32([6u64, 4])), g.state("previous", f32([6u64, 4])));
    let count = g.state("count", i32([1u64]));
    g.state_write(count, g.add(g.state_read(count), g.constant_scalar(DType::I32, 1.0)));
    g.output("rows", rows);
    g.output("cached", g.cast(cached, DType::F32));
    g.output("power", power);
    g.output("mean", new);
    g.output("recent", g.state_read(recent));
    g.output("softened", g.softmax(g.add(rows, old), -1));
    g.feed("mean", mean, FeedKind::Whole);
    g.feed("rows", recent, FeedKind::Prefix { axis: 0, len: n });
    g.feed("recent", previous, FeedKind::Whole);
    g.build().expect("sound")
}

fn array(t: &Tensor) -> Arc<Array> {
    Arc::new(Array::from_tensor(t))
}

fn compare(fixture: &Fixture, options: &Options, turns: usize) {
    let graph = graph();
    let exe = fixture.executable(&graph, options);
    let w = tensor(&wave(16, 9), &[4, 4]);
    exe.set_param_view("w", w.view()).expect("set");
    let mut reference =
        RefSession::new(&graph, &|_| Some(array(&w)), EvalOptions::default()).expect("its param is there");
    let mut s = exe.session().expect("a session");
    for turn in 0..turns {
        let n = [1u64, 3, 6, 1, 1, 2, 5, 4][turn % 8];
        if turn % 3 == 2 {
            let gain = [0.25, -1.5, 2.0][turn / 3 % 3];
            s.set_scalar("gain", gain).expect("in range");
            assert!(reference.set_scalar("gain", gain));
        }
        let x = tensor(&wave(4 * n as usize, turn as u32), &[n, 4]);
        let mut bindings = Bindings::new();
        bindings.bind(SymbolId(0), n);
        let want = reference.run(&|_| Some(array(&x)), &bindings).expect("evaluates");
        let got = run(&mut s, &x).expect("runs");
        for ((name, got), want) in got.iter().zip(&want.outputs) {
            close(got, want, &format!("output {name}, turn {turn}"));
        }
        for (slot, want) in exe.plan().states.iter().zip(reference.states()) {
            let got = s.state(&slot.name).expect("there").read().expect("reads");
            close(&got, want, &format!("state {}, turn {turn}", slot.name));
        }
        let at = s.scalar("at").expect("there").as_f64();
        assert_eq!(at, reference.scalars()[0], "turn {turn}");
        if at >= 30.0 {
            s.set_scalar("at", 0).expect("in range");
            assert!(reference.set_scalar("at", 0.0));
        }
    }
}

/// Sums of a handful of terms, rounded in f32; a value in f16 may be rounded the other way.
fn close(got: &Tensor, want: &Array, what: &str) {
    assert_eq!((got.dtype(), got.shape()), (want.dtype, want.shape.as_slice()), "{what}");
    let got = Array::from_tensor(got).to_f64();
    let tolerance = if want.dtype == DType::F16 || what.contains("cached") { 2e-3 } else { 2e-5 };
    for (i, (g, w)) in got.iter().zip(want.to_f64()).enumerate() {
        assert!((g - w).abs() <= tolerance * (1.0 + w.abs()), "{what}: element {i} is {g}, not {w}");
    }
}

pub fn a_session_is_what_the_evaluator_says(fixture: &Fixture) {
    let specializations = vec![("n".to_owned(), vec![1, 4])];
    compare(fixture, &Options::default().specializations(specializations), 24);
}

fn whatever_the_compiler_does(fixture: &Fixture) {
    for placement in [Placement::Packed, Placement::Bump] {
        compare(fixture, &Options::default().placement(placement).opt(OptOptions::none()), 6);
        compare(fixture, &Options::default().placement(placement), 6);
    }
}
