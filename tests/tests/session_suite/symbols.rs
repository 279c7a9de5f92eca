//! Symbols: bound by inputs, by hand, by expressions; contradictions; specializations of one executable in turn.

use crate::common::*;
use pumice_compile::Options;
use pumice_ir::{Graph, GraphBuilder, f32, i32, sym};
use pumice_runtime::{
    Executable, NameKind, OnStatus, OutputBuffer, RunOptions, RuntimeError, Session, SymbolSource,
};
use pumice_tests::{Fixture, on_every_device};
use pumice_types::{DimExpr, Symbol, SymbolTable, Tensor};
use std::collections::BTreeMap;

on_every_device!(
    inputs_bind_and_must_agree,
    expressions_are_compared,
    bound_by_hand,
    specializations_take_turns,
    two_symbols_cut_the_runs,
    a_part_must_be_there_in_every_run,
    what_is_found_changes_from_run_to_run,
    what_is_found_beyond_the_largest_is_reported,
);

fn at(rows: u64, columns: u64, seed: u32) -> Tensor {
    tensor(&wave((rows * columns) as usize, seed), &[rows, columns])
}

/// Twice the first `count` of six numbers.
fn first() -> Graph {
    let g = GraphBuilder::new("first");
    let n = g.extent_of(g.input("count", i32::<u64>([])), 0..=6);
    let x = g.narrow(g.input("x", f32([6])), 0, 0u64, n);
    g.output("y", g.add(x, x));
    g.build().expect("sound")
}

fn what_is_found_changes_from_run_to_run(fixture: &Fixture) {
    let exe = load(fixture, &first());
    let mut s = exe.session().expect("a session");
    let x = tensor(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[6]);
    for n in [2i32, 6, 0, 1, 5] {
        let count = Tensor::new(&[n], &[]).expect("one");
        let inputs = [("count", count.view()), ("x", x.view())];
        let want: Vec<f32> = (1..=n).map(|i| 2.0 * i as f32).collect();
        let y = s.run(&inputs).expect("runs");
        assert_eq!(y.get("y").expect("there"), &tensor(&want, &[n as u64]), "{n}");
        assert_eq!(s.output_shape(0).expect("there"), [n as u64]);
        // A buffer is as large as the largest output.
        let mut buffer = [0f32; 6];
        s.run_into(&inputs, &mut [OutputBuffer::numbers(0, &mut buffer)]).expect("runs");
        assert_eq!(&buffer[..n as usize], &*want);
        assert!(s.run_into(&inputs, &mut [OutputBuffer::numbers(0, &mut buffer[..n as usize / 2])]).is_err());
    }
    let name = exe.plan().symbols.iter().next().expect("one").1.name.clone();
    assert!(matches!(s.bind_symbol(&name, 3), Err(RuntimeError::FoundSymbol { symbol }) if symbol == name));
}

fn what_is_found_beyond_the_largest_is_reported(fixture: &Fixture) {
    let exe = load(fixture, &first());
    let mut s = exe.session().expect("a session");
    let x = tensor(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[6]);
    for (n, rows) in [(7i32, 6), (-1, 0), (i32::MAX, 6), (i32::MIN, 0)] {
        let count = Tensor::new(&[n], &[]).expect("one");
        let inputs = [("count", count.view()), ("x", x.view())];
        let refused = s.run(&inputs).expect_err("no such extent");
        assert!(refused.to_string().contains("above the largest extent"), "{refused}");
        let y = s.run_with(&inputs, &RunOptions::default().on_status(OnStatus::Report)).expect("runs");
        assert_eq!(y.get("y").expect("there").shape(), [rows], "{n}");
    }
}

/// y\[m, n\] = a\[m, k\]·b\[k, n\].
fn product() -> Graph {
    let g = GraphBuilder::new("product");
    let a = g.input("a", f32([sym("m", 1..=7), sym("k", 1..=9).multiple_of(3)]));
    let k = g.dim_of(a, 1);
    let b = g.input("b", f32([k.into(), sym("n", 2..=5)]));
    g.output("y", g.matmul(a, b));
    g.build().expect("sound")
}

fn check_product(s: &mut Session, m: u64, k: u64, n: u64) {
    let (a, b) = (at(m, k, (m * k) as u32), at(k, n, (k * n) as u32));
    let y = s.run(&[("a", a.view()), ("b", b.view())]).expect("runs");
    let (columns, b) = (n as usize, floats(&b));
    let turned: Vec<f32> =
        (0..columns).flat_map(|j| b.iter().skip(j).step_by(columns).copied().collect::<Vec<_>>()).collect();
    let want = tensor(&linear(&floats(&a), &turned, None, k as usize), &[m, n]);
    assert_eq!(y.get("y").expect("there"), &want, "{m}x{k}x{n}");
}

fn inputs_bind_and_must_agree(fixture: &Fixture) {
    let exe = load(fixture, &product());
    let mut s = exe.session().expect("a session");
    for (m, k, n) in [(1, 3, 2), (7, 9, 5), (2, 6, 3), (7, 3, 2), (1, 9, 5)] {
        check_product(&mut s, m, k, n);
    }
    let mut given = |a: [u64; 2], b: [u64; 2]| {
        let (a, b) = (at(a[0], a[1], 1), at(b[0], b[1], 2));
        s.run(&[("a", a.view()), ("b", b.view())])
    };
    let contradiction = given([2, 3], [6, 2]);
    match contradiction.as_ref().expect_err("3 is not 6") {
        RuntimeError::DimConstraint { symbol, first, second } => {
            assert_eq!(symbol, "k");
            assert_eq!(**first, (SymbolSource::Input { name: "a".into(), axis: 1 }, 3));
            assert_eq!(**second, (SymbolSource::Input { name: "b".into(), axis: 0 }, 6));
        }
        other => panic!("{other:?}"),
    }
    refused!(contradiction, RuntimeError::DimConstraint { .. }, "`k`", "`a`", "`b`");
    refused!(given([8, 3], [3, 2]), RuntimeError::SymbolRange { value: 8, max: 7, .. }, "`m`", "`a`");
    refused!(given([0, 3], [3, 2]), RuntimeError::SymbolRange { value: 0, min: 1, .. }, "`m`");
    refused!(given([2, 4], [4, 2]), RuntimeError::SymbolRange { multiple_of: 3, .. }, "`k`");
    refused!(given([2, 3], [3, 1]), RuntimeError::SymbolRange { min: 2, .. }, "`n`", "`b`");
    check_product(&mut s, 2, 3, 2);
}

fn expressions_are_compared(fixture: &Fixture) {
    let g = GraphBuilder::new("expressions");
    let x = g.input("x", f32([sym("n", 1..=6)]));
    let n = g.dim_of(x, 0);
    let longer = g.input("longer", f32([n.clone() * DimExpr::constant(2) + DimExpr::constant(1)]));
    g.output("y", g.concat(&[x, longer], 0));
    let exe = load(fixture, &g.build().expect("sound"));
    let mut s = exe.session().expect("a session");
    for n in [1usize, 6, 3] {
        let (x, longer) = (wave(n, 1), wave(2 * n + 1, 2));
        let y = s.run(&[("longer", row(&longer)), ("x", row(&x))]).expect("runs");
        assert_eq!(out(&y, "y"), [x, longer].concat());
    }
    let (x, longer) = (wave(3, 1), wave(8, 2));
    let wrong = s.run(&[("x", row(&x)), ("longer", row(&longer))]);
    refused!(wrong, RuntimeError::Extent { axis: 0, given: 8, .. }, "`longer`", "7");
    let alone = s.bind_input("longer", row(&wave(14, 1)));
    refused!(alone, RuntimeError::Extent { given: 14, .. }, "`longer`", "13");
}

/// A symbol that no input shows by itself, and one that an input shows as well.
fn bound_by_hand(fixture: &Fixture) {
    let mut symbols = SymbolTable::default();
    let k = symbols.push(Symbol { name: "k".into(), min: 1, max: 4, multiple_of: 1, found: false });
    // One that can have a single value needs nobody to bind it.
    let fixed = symbols.push(Symbol { name: "fixed".into(), min: 5, max: 5, multiple_of: 1, found: false });
    let g = GraphBuilder::with_symbols("by hand", symbols);
    let twice = g.input("twice", f32([DimExpr::symbol(k) * DimExpr::constant(2)]));
    let x = g.input("x", f32([sym("n", 1..=3)]));
    g.output("y", g.narrow(g.mul(twice, twice), 0, DimExpr::symbol(k), DimExpr::symbol(k)));
    g.output("x", g.neg(x));
    let one = g.constant(tensor(&[1.5], &[1]));
    g.output("fixed", g.expand_to(one, vec![DimExpr::symbol(fixed) + DimExpr::symbol(k)]));
    let exe = load(fixture, &g.build().expect("sound"));
    let mut s = exe.session().expect("a session");
    refused!(s.bind_symbol("j", 1), RuntimeError::UnknownName { kind: NameKind::Symbol, .. }, "`j`", "`k`");
    refused!(s.unbind_symbol("j"), RuntimeError::UnknownName { .. }, "`j`");
    refused!(
        s.bind_symbol("k", 5),
        RuntimeError::SymbolRange { value: 5, by: SymbolSource::Bound, .. },
        "`k`"
    );
    let (x, twice) = (wave(2, 1), wave(8, 2));
    let run = |s: &mut Session, k: usize| s.run(&[("x", row(&x)), ("twice", row(&twice[..2 * k]))]);
    refused!(run(&mut s, 3), RuntimeError::UnboundSymbols { names } if names == &["k"], "`k`", "bind_symbol");
    for k in [3usize, 1, 4, 2] {
        s.bind_symbol("k", k as u64).expect("in range");
        let y = run(&mut s, k).expect("bound");
        assert_eq!(out(&y, "y"), map(&twice[k..2 * k], |v| v * v), "k {k}");
        assert_eq!(out(&y, "x"), map(&x, |v| -v));
        assert_eq!(out(&y, "fixed"), vec![1.5; 5 + k]);
    }
    refused!(run(&mut s, 3), RuntimeError::Extent { axis: 0, given: 6, .. }, "`twice`", "4");
    s.bind_symbol("n", 3).expect("in range");
    refused!(run(&mut s, 2), RuntimeError::DimConstraint { .. }, "`n`", "bind_symbol", "`x`");
    s.bind_symbol("n", 2).expect("in range");
    assert_eq!(out(&run(&mut s, 2).expect("they agree"), "y"), map(&twice[2..4], |v| v * v));
    s.bind_symbol("n", 1).expect("in range");
    s.unbind_symbol("n").expect("taken back");
    assert_eq!(out(&run(&mut s, 2).expect("shown by x"), "x"), map(&x, |v| -v));
    s.unbind_symbol("k").expect("taken back");
    refused!(run(&mut s, 2), RuntimeError::UnboundSymbols { .. }, "`k`");
}

/// y\[n, 5\] = x\[n, 4\]·wᵀ, s += Σx, with plans for n = 1, 2..4, 5..12.
fn specialized(fixture: &Fixture) -> Executable {
    let g = GraphBuilder::new("specialized");
    let x = g.input("x", f32([sym("n", 1..=12), 4.into()]));
    g.output("y", g.linear(x, g.param("w", f32([5u64, 4])), None));
    g.output("soft", g.softmax(x, -1));
    let s = g.state("s", f32([4u64]));
    let sum = g.add(g.state_read(s), g.reduce_sum(x, &[0], false));
    g.state_write(s, sum);
    g.output("sum", sum);
    let options = Options::default().specializations(vec![("n".to_owned(), vec![1, 4])]);
    fixture.executable(&g.build().expect("sound"), &options)
}

pub fn specializations_take_turns(fixture: &Fixture) {
    let exe = specialized(fixture);
    let ranges: Vec<_> = exe.plan().runs.iter().map(|r| r.ranges[0]).collect();
    assert_eq!(ranges, [(1, 1), (2, 4), (5, 12)]);
    exe.prepare().expect("pipelines of all runs");
    let mut w = wave(20, 1);
    set(&exe, &[("w", &w)]);
    let mut s = exe.session().expect("a session");
    let (mut sum, mut seen) = (vec![0f32; 4], BTreeMap::new());
    let order = [1, 12, 4, 1, 5, 2, 12, 1, 3, 5, 4, 11, 2, 1];
    for (turn, n) in order.into_iter().enumerate() {
        if turn == 7 {
            w = wave(20, 2);
            set(&exe, &[("w", &w)]);
        }
        let x = at(n, 4, n as u32);
        let y = run(&mut s, &x).expect("runs");
        floats(&x).iter().enumerate().for_each(|(i, v)| sum[i % 4] += v);
        assert_eq!(out(&y, "y"), linear(&floats(&x), &w, None, 4), "turn {turn}, n {n}");
        assert_eq!(out(&y, "sum"), sum, "turn {turn}, n {n}: states are those of all runs");
        let soft = y.get("soft").expect("there").clone();
        let rows = floats(&x);
        let want: Vec<f32> = rows.chunks(4).flat_map(softmax).collect();
        assert_close(&floats(&soft), &want, 1e-6, "softmax");
        assert_eq!(seen.entry(n).or_insert(soft.clone()), &soft, "n {n} again, to the bit");
    }
    // An input kept from one specialization is there for a run with it alone.
    let keep = RunOptions::default().keep(true);
    let y = s.run_with(&[], &keep).expect("n is still 1");
    assert_eq!(out(&y, "y"), linear(&floats(&at(1, 4, 1)), &w, None, 4));
}

fn softmax(row: &[f32]) -> Vec<f32> {
    let e: Vec<f64> = row.iter().map(|v| f64::from(*v).exp()).collect();
    let sum: f64 = e.iter().sum();
    e.iter().map(|v| (v / sum) as f32).collect()
}

fn two_symbols_cut_the_runs(fixture: &Fixture) {
    let cuts = vec![("m".to_owned(), vec![1]), ("n".to_owned(), vec![2, 4])];
    let options = Options::default().specializations(cuts);
    let exe = fixture.executable(&product(), &options);
    assert_eq!(exe.plan().runs.len(), 6);
    let mut s = exe.session().expect("a session");
    for (m, n) in [(1, 2), (7, 5), (1, 3), (2, 2), (1, 5), (6, 4), (1, 2), (7, 3)] {
        check_product(&mut s, m, 6, n);
    }
}

/// Rows 2..5 of x\[n, 2\]: there for n from 5 on, else the run is refused with both extents, before anything runs. They
/// were fewer rows than the type says.
fn a_part_must_be_there_in_every_run(fixture: &Fixture) {
    let g = GraphBuilder::new("part");
    let x = g.input("x", f32([sym("n", 1..=8), 2.into()]));
    g.output("y", g.neg(g.narrow(x, 0, 2u64, 3u64)));
    let exe = load(fixture, &g.build().expect("some n has the rows"));
    let mut s = exe.session().expect("a session");
    for n in [1, 4, 5, 3, 8, 2] {
        let x = at(n, 2, n as u32);
        if n >= 5 {
            let y = run(&mut s, &x).unwrap_or_else(|e| panic!("{n}: {e}"));
            assert_eq!(y.get("y").expect("there").shape(), [3, 2]);
            assert_eq!(out(&y, "y"), map(&floats(&x)[4..10], |v| -v), "{n}");
        } else {
            refused!(run(&mut s, &x), RuntimeError::Extents { .. }, "range inside axis 0");
        }
    }
}
