//! Forks: a copy of states, scalars, bound symbols and bound inputs that lives on by itself.

use crate::common::*;
use pumice_ir::{GraphBuilder, f32, sym};
use pumice_runtime::{Executable, RuntimeError, ScalarValue, Session, StateRows};
use pumice_tests::{Fixture, on_every_device};
use pumice_types::{DimExpr, Symbol, SymbolTable};

on_every_device!(
    forks_diverge,
    what_was_bound_comes_along,
    a_fork_before_anything_ran,
    forks_outlive_what_they_came_from,
    some_rows_come_along,
);

/// s += gain·x, and at row `at` (which advances) of `log` goes s.
fn executable(fixture: &Fixture) -> Executable {
    let g = GraphBuilder::new("forked");
    let x = g.input("x", f32([3u64]));
    let gain = g.scalar("gain", f32::<u64>([]), -8.0, 8.0, 1.0);
    let at = g.scalar_advancing("at", 0, 15, 0, DimExpr::constant(1));
    let (s, log) = (g.state("s", f32([3u64])), g.state("log", f32([16u64, 3])));
    let sum = g.add(g.state_read(s), g.mul(x, gain));
    g.state_write(s, sum);
    g.output("row", g.reshape(sum, &[1, 3]));
    let (zero, one, dst) = (DimExpr::constant(0), DimExpr::constant(1), g.scalar_expr(at));
    g.feed("row", log, pumice_ir::FeedKind::Row { axis: 0, src: zero, dst, count: one });
    load(fixture, &g.build().expect("sound"))
}

/// What a session of that executable must hold.
#[derive(Clone)]
struct Plain {
    s: Vec<f32>,
    log: Vec<f32>,
    at: usize,
    gain: f32,
}

impl Plain {
    fn new() -> Plain {
        Plain { s: vec![0.0; 3], log: vec![0.0; 48], at: 0, gain: 1.0 }
    }

    fn step(&mut self, session: &mut Session, seed: u32) {
        let x = wave(3, seed);
        let y = session.run(&[("x", row(&x))]).expect("runs");
        self.s = zip(&self.s, &x, |s, x| s + self.gain * x);
        self.log[3 * self.at..3 * self.at + 3].copy_from_slice(&self.s);
        self.at += 1;
        assert_eq!(out(&y, "row"), self.s, "at {}", self.at);
        self.check(session);
    }

    fn check(&self, session: &mut Session) {
        assert_eq!(floats(&session.state("s").expect("there").read().expect("reads")), self.s);
        assert_eq!(floats(&session.state("log").expect("there").read().expect("reads")), self.log);
        assert_eq!(session.scalar("at").expect("there"), ScalarValue::Int(self.at as i64));
        assert_eq!(session.scalar("gain").expect("there"), ScalarValue::Float(f64::from(self.gain)));
    }
}

pub fn forks_diverge(fixture: &Fixture) {
    let exe = executable(fixture);
    let (mut a, mut pa) = (exe.session().expect("a session"), Plain::new());
    a.set_scalar("gain", 0.5).expect("in range");
    pa.gain = 0.5;
    (0..3).for_each(|i| pa.step(&mut a, i));
    let (mut b, mut pb) = (a.fork().expect("a fork"), pa.clone());
    pb.check(&mut b);
    refused!(b.outputs(), RuntimeError::NoResults, "run");
    assert_eq!(floats(&a.output("row").expect("its results are untouched")), pa.s);
    b.set_scalar("gain", -2.0).expect("in range");
    pb.gain = -2.0;
    let (mut c, mut pc) = (b.fork().expect("a fork of a fork"), pb.clone());
    c.state("s").expect("there").write_f32(&[7.0; 3]).expect("written");
    pc.s = vec![7.0; 3];
    for i in 0..4 {
        pa.step(&mut a, 10 + i);
        pb.step(&mut b, 20 + i);
        pc.step(&mut c, 30 + i);
    }
    c.state("s").expect("there").reset().expect("reset");
    pc.s = vec![0.0; 3];
    for (s, plain) in [(&mut a, &pa), (&mut b, &pb), (&mut c, &pc)] {
        plain.check(s);
    }
}

/// y = x + bias + table\[k\], where no input shows k.
fn bound(fixture: &Fixture) -> Executable {
    let mut symbols = SymbolTable::default();
    let k = symbols.push(Symbol { name: "k".into(), min: 0, max: 9, multiple_of: 1, found: false });
    let g = GraphBuilder::with_symbols("bound", symbols);
    let x = g.input("x", f32([sym("n", 1..=5)]));
    let bias = g.input("bias", f32([g.dim_of(x, 0)]));
    let table = g.constant(tensor(&wave(10, 3), &[10]));
    g.output("y", g.add(g.add(x, bias), g.narrow(table, 0, DimExpr::symbol(k), 1u64)));
    load(fixture, &g.build().expect("sound"))
}

fn what_was_bound_comes_along(fixture: &Fixture) {
    let exe = bound(fixture);
    let mut a = exe.session().expect("a session");
    let (bias, x) = (wave(4, 1), wave(4, 2));
    a.bind_input("bias", row(&bias)).expect("bound");
    refused!(a.run(&[("x", row(&x))]), RuntimeError::UnboundSymbols { .. }, "`k`", "bind_symbol");
    a.bind_symbol("k", 6).expect("in range");
    let want = |x: &[f32], bias: &[f32], k: usize| zip(x, bias, |x, b| x + b + wave(10, 3)[k]);
    let mut b = a.fork().expect("a fork");
    for s in [&mut a, &mut b] {
        assert_eq!(out(&s.run(&[("x", row(&x))]).expect("runs"), "y"), want(&x, &bias, 6));
    }
    let other = wave(4, 5);
    b.bind_input("bias", row(&other)).expect("bound");
    b.bind_symbol("k", 2).expect("in range");
    assert_eq!(out(&b.run(&[("x", row(&x))]).expect("runs"), "y"), want(&x, &other, 2));
    assert_eq!(out(&a.run(&[("x", row(&x))]).expect("runs"), "y"), want(&x, &bias, 6));
    b.unbind_input("bias").expect("unbound");
    refused!(b.run(&[("x", row(&x))]), RuntimeError::MissingInputs { .. }, "`bias`");
    assert_eq!(out(&a.run(&[("x", row(&x))]).expect("runs"), "y"), want(&x, &bias, 6));
}

/// Initial values that wait for a param wait in the fork as well.
fn a_fork_before_anything_ran(fixture: &Fixture) {
    let g = GraphBuilder::new("early");
    let w = g.param("w", f32([2u64]));
    let s = g.state_from("s", w);
    let next = g.add(g.state_read(s), g.state_read(s));
    g.state_write(s, next);
    g.output("y", next);
    let exe = load(fixture, &g.build().expect("sound"));
    let mut a = exe.session().expect("a session");
    let mut b = a.fork().expect("a fork");
    refused!(b.run(&[]), RuntimeError::MissingParams { .. }, "`w`");
    set(&exe, &[("w", &[1.0, -3.0])]);
    assert_eq!(out(&a.run(&[]).expect("runs"), "y"), [2.0, -6.0]);
    set(&exe, &[("w", &[5.0, 0.5])]);
    assert_eq!(out(&b.run(&[]).expect("runs"), "y"), [10.0, 1.0], "began when it first ran");
    assert_eq!(out(&a.run(&[]).expect("runs"), "y"), [4.0, -12.0]);
}

fn forks_outlive_what_they_came_from(fixture: &Fixture) {
    let exe = executable(fixture);
    let (mut s, mut plain) = (exe.session().expect("a session"), Plain::new());
    drop(exe);
    for i in 0..10 {
        plain.step(&mut s, i);
        s = s.fork().expect("a fork of a fork of a fork");
    }
    plain.check(&mut s);
    assert_eq!(s.executable().plan().name, "forked");
}

/// Of a state whose rows lie in two pieces some rows are copied; the others are zeros, and other states come whole.
pub fn some_rows_come_along(fixture: &Fixture) {
    let g = GraphBuilder::new("rows");
    let (s, t) = (g.state("s", f32([2u64, 5, 3])), g.state("t", f32([4u64])));
    g.output("y", g.state_read(s));
    g.output("z", g.state_read(t));
    let exe = load(fixture, &g.build().expect("sound"));
    let mut session = exe.session().expect("a session");
    let (values, others) = (wave(30, 3), wave(4, 5));
    session.state("s").expect("there").write_f32(&values).expect("written");
    session.state("t").expect("there").write_f32(&others).expect("written");
    for rows in [0..5, 1..3, 0..1, 4..5, 2..2] {
        let kept = StateRows { state: "s", axis: 1, rows: rows.clone() };
        let mut fork = session.fork_rows(&[kept]).expect("a fork");
        let is_kept = |i: usize| rows.contains(&(i as u64 / 3 % 5));
        let want: Vec<f32> =
            values.iter().enumerate().map(|(i, v)| if is_kept(i) { *v } else { 0.0 }).collect();
        assert_eq!(floats(&fork.state("s").expect("there").read().expect("reads")), want, "{rows:?}");
        let run = fork.run(&[]).expect("runs");
        assert_eq!((out(&run, "y"), out(&run, "z")), (want, others.clone()), "{rows:?}");
    }
    let kept = |state, axis, rows| StateRows { state, axis, rows };
    refused!(session.fork_rows(&[kept("u", 0, 0..1)]), RuntimeError::UnknownName { .. }, "`u`");
    refused!(session.fork_rows(&[kept("s", 3, 0..1)]), RuntimeError::Axis { .. }, "`s`");
    refused!(session.fork_rows(&[kept("s", 1, 4..6)]), RuntimeError::Rows { .. }, "`s`");
    let twice = [kept("s", 1, 0..1), kept("s", 1, 2..3)];
    refused!(session.fork_rows(&twice), RuntimeError::Duplicate { .. }, "`s`", "once");
}
