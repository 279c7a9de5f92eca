//! Inputs: by name in any order, kept, bound once for many runs, passed through, of every boundary dtype.

use crate::common::*;
use pumice_ir::{Graph, GraphBuilder, f32, i32, sym};
use pumice_runtime::{NameKind, RunOptions, RuntimeError, Session};
use pumice_tests::{Fixture, on_every_device};
use pumice_types::{DType, Tensor, TensorView};

on_every_device!(
    names_decide_not_positions,
    kept_values_need_not_be_given,
    bound_values_stay_until_given,
    rows_are_written_one_by_one,
    every_dtype_passes_the_boundary,
    empty_and_rank_0_inputs,
);

/// y = a·4 − b + c, which tells the three apart.
fn graph() -> Graph {
    let g = GraphBuilder::new("three");
    let n = sym("n", 1..=5);
    let [a, b, c] = ["a", "b", "c"].map(|name| g.input(name, f32([n.clone()])));
    let a = g.mul(a, g.constant_scalar(DType::F32, 4.0));
    g.output("y", g.add(g.sub(a, b), c));
    g.build().expect("sound")
}

fn plain([a, b, c]: [&[f32]; 3]) -> Vec<f32> {
    zip(&zip(a, b, |a, b| a * 4.0 - b), c, |ab, c| ab + c)
}

fn names_decide_not_positions(fixture: &Fixture) {
    let exe = load(fixture, &graph());
    let mut s = exe.session().expect("a session");
    let values = [wave(4, 1), wave(4, 2), wave(4, 3)];
    let [a, b, c] = values.each_ref().map(|v| row(v));
    let want = plain(values.each_ref().map(Vec::as_slice));
    for given in
        [[("a", a), ("b", b), ("c", c)], [("c", c), ("a", a), ("b", b)], [("b", b), ("c", c), ("a", a)]]
    {
        assert_eq!(out(&s.run(&given).expect("runs"), "y"), want);
    }
    // One tensor for all three.
    assert_eq!(
        out(&s.run(&[("a", a), ("b", a), ("c", a)]).expect("runs"), "y"),
        map(&values[0], |v| v * 4.0)
    );
}

fn kept_values_need_not_be_given(fixture: &Fixture) {
    let exe = load(fixture, &graph());
    let mut s = exe.session().expect("a session");
    let keep = RunOptions::default().keep(true);
    let v = [wave(3, 1), wave(3, 2), wave(3, 3), wave(3, 4)];
    refused!(s.run_with(&[], &keep), RuntimeError::MissingInputs { names } if names.len() == 3, "`a`", "`c`");
    s.run(&[("a", row(&v[0])), ("b", row(&v[1])), ("c", row(&v[2]))]).expect("runs");
    refused!(s.run(&[("b", row(&v[3]))]), RuntimeError::MissingInputs { names } if names == &["a", "c"], "keep");
    for _ in 0..2 {
        let y = s.run_with(&[("b", row(&v[3]))], &keep).expect("a and c are kept");
        assert_eq!(out(&y, "y"), plain([&v[0], &v[3], &v[2]]));
    }
    assert_eq!(out(&s.run_with(&[], &keep).expect("all kept"), "y"), plain([&v[0], &v[3], &v[2]]));
    // Kept values keep their extents too.
    let long = wave(4, 5);
    refused!(
        s.run_with(&[("a", row(&long))], &keep),
        RuntimeError::DimConstraint { .. },
        "`n`",
        "`a`",
        "`b`"
    );
    assert_eq!(out(&s.run_with(&[], &keep).expect("as before"), "y"), plain([&v[0], &v[3], &v[2]]));
}

/// y = x[row]·2 of x [4, n], and row goes on by one.
fn rows_are_written_one_by_one(fixture: &Fixture) {
    let g = GraphBuilder::new("rows");
    let x = g.input("x", f32([4.into(), sym("n", 1..=5)]));
    let at = g.scalar_advancing("row", 0, 3, 0, 1.into());
    let of_row = g.gather(x, at, 0);
    g.output("y", g.add(of_row, of_row));
    let exe = load(fixture, &g.build().expect("sound"));
    let mut s = exe.session().expect("a session");
    let rows: Vec<Vec<f32>> = (1..=4).map(|seed| wave(3, seed)).collect();
    for (i, values) in (0..).zip(&rows) {
        s.bind_input_row("x", (i, 4), row(values)).expect("a row");
    }
    for (steps, last) in [(1, 0), (3, 3)] {
        assert_eq!(out(&s.run_steps(&[], steps).expect("runs"), "y"), map(&rows[last], |v| v * 2.0));
    }
    // One row is another one from here on; the others stay.
    let other = wave(3, 9);
    s.bind_input_row("x", (2, 4), row(&other)).expect("a row");
    for (at, values) in [(2, &other), (1, &rows[1]), (3, &rows[3])] {
        s.set_scalar("row", at).expect("in range");
        assert_eq!(out(&s.run(&[]).expect("runs"), "y"), map(values, |v| v * 2.0));
    }
    refused!(
        s.bind_input_row("x", (4, 4), row(&other)),
        RuntimeError::Rows { start: 4, extent: 4, .. },
        "`x`"
    );
    refused!(
        s.bind_input_row("x", (0, 3), row(&other)),
        RuntimeError::Extent { axis: 0, given: 3, .. },
        "`x`"
    );
    let six = wave(6, 1);
    refused!(s.bind_input_row("x", (0, 4), row(&six)), RuntimeError::SymbolRange { value: 6, .. }, "`n`");
    let bits = [0i32; 3];
    refused!(s.bind_input_row("x", (0, 4), TensorView::i32(&bits, [3])), RuntimeError::DType { .. }, "`x`");
    s.unbind_input("x").expect("unbound");
    s.set_scalar("row", 0).expect("in range");
    refused!(s.run(&[]), RuntimeError::MissingInputs { .. }, "`x`");
}

fn bound_values_stay_until_given(fixture: &Fixture) {
    let exe = load(fixture, &graph());
    let mut s = exe.session().expect("a session");
    let v = [wave(2, 1), wave(2, 2), wave(2, 3), wave(2, 4)];
    s.bind_input("c", row(&v[2])).expect("bound");
    let check = |s: &mut Session, a: usize, c: usize| {
        let y = s.run(&[("a", row(&v[a])), ("b", row(&v[1]))]).expect("c is bound");
        assert_eq!(out(&y, "y"), plain([&v[a], &v[1], &v[c]]));
    };
    check(&mut s, 0, 2);
    check(&mut s, 3, 2);
    s.bind_input("c", row(&v[3])).expect("bound again");
    check(&mut s, 0, 3);
    let y = s.run(&[("a", row(&v[0])), ("b", row(&v[1])), ("c", row(&v[0]))]).expect("given");
    assert_eq!(out(&y, "y"), plain([&v[0], &v[1], &v[0]]));
    let missing = s.run(&[("a", row(&v[0])), ("b", row(&v[1]))]);
    refused!(missing, RuntimeError::MissingInputs { names } if names == &["c"], "`c`");
    s.bind_input("c", row(&v[2])).expect("bound");
    s.unbind_input("c").expect("unbound");
    let missing = s.run(&[("a", row(&v[0])), ("b", row(&v[1]))]);
    refused!(missing, RuntimeError::MissingInputs { .. }, "`c`");
    const INPUT: NameKind = NameKind::Input;
    refused!(s.bind_input("d", row(&v[0])), RuntimeError::UnknownName { kind: INPUT, .. }, "`d`");
    refused!(s.unbind_input("d"), RuntimeError::UnknownName { kind: INPUT, .. }, "`d`");
    let six = wave(6, 1);
    refused!(s.bind_input("c", row(&six)), RuntimeError::SymbolRange { value: 6, max: 5, .. }, "`n`", "`c`");
    let bits = [0i32; 2];
    refused!(s.bind_input("c", TensorView::i32(&bits, [2])), RuntimeError::DType { .. }, "`c`");
    s.bind_input("c", row(&v[2])).expect("bound");
    check(&mut s, 0, 2);
}

/// Every dtype in, the same bits out, beside a computation that keeps the device busy.
fn every_dtype_passes_the_boundary(fixture: &Fixture) {
    use DType::*;
    const DTYPES: [DType; 12] = [F32, F16, BF16, I8, U8, I16, U16, I32, U32, I64, U64, Bool];
    let g = GraphBuilder::new("boundary");
    for d in DTYPES {
        let x = g.input(&format!("{d}"), pumice_ir::tensor(d, [sym("n", 0..=9)]));
        g.output(&format!("same {d}"), x);
        g.output(&format!("turned {d}"), g.slice(x, &[-1], &[i64::MIN], &[0], &[-1]));
    }
    let exe = load(fixture, &g.build().expect("sound"));
    let mut s = exe.session().expect("a session");
    for n in [9u64, 1, 0, 4] {
        let bytes = |d: DType, i: u64, b: u64| match d {
            Bool => (i % 2) as u8,
            // No NaNs of two bytes: their payload may change where they are computed with.
            F16 | BF16 if b == 1 => (i * 7 + 0x38) as u8,
            F32 if b == 3 => (i * 5 + 0x3c) as u8,
            _ => (i * 37 + b * 101 + 3) as u8,
        };
        let element =
            |d: DType, i: u64| (0..d.natural_bytes()).map(move |b| bytes(d, i, b)).collect::<Vec<u8>>();
        let tensors = DTYPES.map(|d| {
            let all = (0..n).flat_map(|i| element(d, i)).collect();
            Tensor::from_bytes(d, &[n], all).expect("n elements")
        });
        let names = DTYPES.map(|d| format!("{d}"));
        let given: Vec<(&str, TensorView<'_>)> =
            names.iter().map(String::as_str).zip(tensors.iter().map(Tensor::view)).collect();
        let y = s.run(&given).expect("runs");
        for (d, tensor) in DTYPES.iter().zip(&tensors) {
            assert_eq!(y.get(&format!("same {d}")).expect("there"), tensor, "{d} of {n}");
            let turned: Vec<u8> = (0..n).rev().flat_map(|i| element(*d, i)).collect();
            assert_eq!(y.get(&format!("turned {d}")).expect("there").bytes(), turned, "{d} of {n}");
        }
    }
}

fn empty_and_rank_0_inputs(fixture: &Fixture) {
    let g = GraphBuilder::new("edges");
    let x = g.input("x", f32([sym("n", 0..=3), 2.into()]));
    let (c, i) = (g.input("c", f32::<u64>([])), g.input("i", i32::<u64>([])));
    g.output("y", g.mul(x, c));
    g.output("sum", g.reduce_sum(x, &[0], false));
    g.output("i", g.add(i, i));
    let exe = load(fixture, &g.build().expect("sound"));
    let mut s = exe.session().expect("a session");
    for n in [2usize, 0, 3] {
        let x = wave(2 * n, n as u32);
        let (c, i) = ([0.5f32], [n as i32]);
        let x = tensor(&x, &[n as u64, 2]);
        let given = [("x", x.view()), ("c", TensorView::f32(&c, [])), ("i", TensorView::i32(&i, []))];
        let y = s.run(&given).expect("runs");
        assert_eq!(y.get("y").expect("there").shape(), [n as u64, 2]);
        assert_eq!(out(&y, "y"), map(&floats(&x), |v| v * 0.5));
        let column = |j: usize| floats(&x).chunks(2).map(|r| r[j]).sum::<f32>();
        assert_eq!(out(&y, "sum"), [column(0), column(1)]);
        assert_eq!(ints(y.get("i").expect("there")), [2 * n as i32]);
    }
}
