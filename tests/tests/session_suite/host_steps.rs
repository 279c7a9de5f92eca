//! A host step first, in the middle, and last; with states, extents that vary, replays.

use crate::floats;
use pumice_compile::Options;
use pumice_ir::ops::Fft;
use pumice_ir::{Graph, GraphBuilder, Value, f32, sym};
use pumice_plan::{Segment, StepKind};
use pumice_runtime::Session;
use pumice_tests::{Lab, on_every_device};
use pumice_types::{DType, TensorView};

on_every_device!(first, middle, last, everywhere_with_a_state);

const N: usize = 12;

/// The transform of real values, by its definition.
fn dft(x: &[f32]) -> Vec<f64> {
    let n = x.len();
    let term = |k: usize, i: usize| std::f64::consts::TAU * (k * i % n.max(1)) as f64 / n as f64;
    let at = |k: usize| {
        let re: f64 = x.iter().enumerate().map(|(i, v)| f64::from(*v) * term(k, i).cos()).sum();
        let im: f64 = x.iter().enumerate().map(|(i, v)| -f64::from(*v) * term(k, i).sin()).sum();
        [re, im]
    };
    (0..n).flat_map(at).collect()
}

fn transform(g: &GraphBuilder, x: Value) -> Value {
    g.fft(g.unsqueeze(x, &[-1]), Fft::default())
}

fn plus(g: &GraphBuilder, x: Value, v: f64) -> Value {
    g.add(x, g.constant_scalar(DType::F32, v))
}

/// `build` over x f32[n] → output `y`; n is 1 to 12.
fn graph(build: impl FnOnce(&GraphBuilder, Value) -> Value) -> Graph {
    let g = GraphBuilder::new("host");
    let x = g.input("x", f32([sym("n", 1..=N as u64)]));
    g.output("y", build(&g, x));
    g.build().expect("sound")
}

fn session(lab: &Lab, graph: &Graph, hosts: usize) -> Session {
    let exe = lab.executable(graph, &Options::default());
    let program = &exe.plan().runs[0].program;
    let host_steps = program.steps.iter().filter(|s| matches!(s.kind, StepKind::Host)).count();
    assert_eq!(host_steps, hosts, "{}", exe.plan());
    assert!(program.segments.iter().any(|s| matches!(s, Segment::Host { .. })));
    exe.session().expect("a session")
}

fn check(s: &mut Session, expected: impl Fn(&[f32]) -> Vec<f64>) {
    for n in [N, 1, 7, 2, N] {
        let x: Vec<f32> = (0..n).map(|i| (i as f32 * 0.7).sin()).collect();
        let out = s.run(&[("x", TensorView::f32(&x, [n as u64]))]).expect("runs");
        let (got, want) = (floats(out.at(0).expect("one")), expected(&x));
        assert_eq!(got.len(), want.len());
        let close = got.iter().zip(&want).all(|(g, w)| (f64::from(*g) - w).abs() <= 1e-5 * (1.0 + w.abs()));
        assert!(close, "{n}: {got:?} for {want:?}");
    }
}

fn first(lab: &Lab) {
    let graph = graph(|g, x| g.tanh(transform(g, x)));
    let mut s = session(lab, &graph, 1);
    check(&mut s, |x| dft(x).iter().map(|v| v.tanh()).collect());
}

fn middle(lab: &Lab) {
    let graph = graph(|g, x| plus(g, transform(g, plus(g, x, 1.0)), 2.0));
    let mut s = session(lab, &graph, 1);
    check(&mut s, |x| {
        let x: Vec<f32> = x.iter().map(|v| v + 1.0).collect();
        dft(&x).iter().map(|v| v + 2.0).collect()
    });
}

fn last(lab: &Lab) {
    let graph = graph(|g, x| transform(g, g.relu(x)));
    let mut s = session(lab, &graph, 1);
    check(&mut s, |x| dft(&x.iter().map(|v| v.max(0.0)).collect::<Vec<_>>()));
}

/// Host steps at both ends and in the middle, a state that counts, replays behind each other.
fn everywhere_with_a_state(lab: &Lab) {
    let g = GraphBuilder::new("everywhere");
    let x = g.input("x", f32([sym("n", 1..=N as u64)]));
    let s = g.state("s", f32([1u64]));
    let a = g.reduce_sum(transform(&g, x), &[-1], false);
    let b = g.reduce_sum(transform(&g, plus(&g, a, 1.0)), &[-1], false);
    let count = plus(&g, g.state_read(s), 1.0);
    g.state_write(s, count);
    g.output("y", transform(&g, g.add(b, count)));
    g.output("count", count);
    let mut session = session(lab, &g.build().expect("sound"), 3);
    let sums = |v: Vec<f64>| v.chunks(2).map(|c| (c[0] + c[1]) as f32).collect::<Vec<f32>>();
    let mut runs = 0;
    for n in [5usize, 12, 1] {
        let x: Vec<f32> = (0..n).map(|i| 0.5 - i as f32 / 8.0).collect();
        for steps in [1u32, 3] {
            runs += steps;
            let out = session.run_steps(&[("x", TensorView::f32(&x, [n as u64]))], steps).expect("runs");
            assert_eq!(floats(out.get("count").expect("there")), [runs as f32]);
            let a: Vec<f32> = sums(dft(&x)).iter().map(|v| v + 1.0).collect();
            let b: Vec<f32> = sums(dft(&a)).iter().map(|v| v + runs as f32).collect();
            let (got, want) = (floats(out.get("y").expect("there")), dft(&b));
            let close =
                got.iter().zip(&want).all(|(g, w)| (f64::from(*g) - w).abs() <= 1e-4 * (1.0 + w.abs()));
            assert!(close, "{n}: {got:?} for {want:?}");
        }
    }
}
