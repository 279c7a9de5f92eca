//! State handles: write, read all, a range, one row, reset; every stored dtype; at any time between runs.

use crate::common::*;
use half::{bf16, f16};
use pumice_ir::{GraphBuilder, f32, sym, tensor as of};
use pumice_runtime::{Executable, NameKind, RuntimeError, Session};
use pumice_tests::{Fixture, on_every_device};
use pumice_types::{DType, Encoding, Tensor, TensorView};

on_every_device!(
    whole_ranges_and_rows,
    every_stored_dtype,
    runs_and_handles_take_turns,
    initial_values_come_back,
    wrong_values_change_nothing,
);

/// A cache \[2, 4, 3\] with capacity axis 1, and y = all of it.
fn cache(fixture: &Fixture) -> Executable {
    let g = GraphBuilder::new("cache");
    let s = g.cache("s", f32([2u64, 4, 3]), 1);
    g.output("y", g.state_read(s));
    load(fixture, &g.build().expect("sound"))
}

/// Rows `range` of axis `axis` of a \[2, 4, 3\] tensor, in plain Rust.
fn part(all: &[f32], axis: usize, range: std::ops::Range<u64>) -> Tensor {
    let shape = [2usize, 4, 3];
    let index = |i: usize| [i / 12, i / 3 % 4, i % 3][axis] as u64;
    let values: Vec<f32> = (0..24).filter(|i| range.contains(&index(*i))).map(|i| all[i]).collect();
    let mut shape = shape.map(|d| d as u64);
    shape[axis] = range.end - range.start;
    tensor(&values, &shape)
}

fn whole_ranges_and_rows(fixture: &Fixture) {
    let exe = cache(fixture);
    let mut session = exe.session().expect("a session");
    let mut all = vec![0f32; 24];
    let mut s = session.state("s").expect("there");
    assert_eq!((s.name(), s.dtype(), s.shape(), s.row_axis()), ("s", DType::F32, &[2, 4, 3][..], 1));
    assert_eq!(s.read().expect("before any run"), tensor(&all, &[2, 4, 3]));
    let mut write = |s: &mut pumice_runtime::StateHandle<'_>, turn: u32| match turn {
        0 => {
            all = wave(24, 1);
            s.write(TensorView::f32(&all, [2, 4, 3])).expect("a view");
            all.clone()
        }
        1 => {
            all = wave(24, 2);
            s.write_f32(&all).expect("floats");
            all.clone()
        }
        2 => {
            all = wave(24, 3);
            let bytes: Vec<u8> = all.iter().flat_map(|v| v.to_le_bytes()).collect();
            s.write_bytes(&bytes).expect("bytes");
            all.clone()
        }
        turn => {
            let (axis, start, count) =
                [(1, 1, 2), (0, 1, 1), (2, 0, 2), (1, 3, 1), (1, 4, 0)][turn as usize - 3];
            let rows = part(&wave(24, turn), axis, start..start + count);
            s.write_range(axis, start, rows.view()).expect("rows");
            let mut new = floats(&rows).into_iter();
            let inside =
                |i: &usize| (start..start + count).contains(&([i / 12, i / 3 % 4, i % 3][axis] as u64));
            (0..24).filter(inside).for_each(|i| all[i] = new.next().expect("one per element"));
            all.clone()
        }
    };
    for turn in 0..8 {
        let mut s = session.state("s").expect("there");
        let all = write(&mut s, turn);
        assert_eq!(s.read().expect("all"), tensor(&all, &[2, 4, 3]), "turn {turn}");
        let ranges = [(0, 0..1), (0, 0..2), (1, 1..3), (1, 0..4), (1, 2..2), (2, 0..1), (2, 1..3)];
        for (axis, range) in ranges {
            assert_eq!(s.read_range(axis, range.clone()).expect("a range"), part(&all, axis, range));
        }
        assert_eq!(s.read_rows(1..4).expect("rows of the capacity axis"), part(&all, 1, 1..4));
        for row in 0..4 {
            let one = part(&all, 1, row..row + 1);
            assert_eq!(s.read_row(row).expect("one row"), tensor(&floats(&one), &[2, 3]));
        }
        let y = session.run(&[]).expect("runs");
        assert_eq!(y.get("y").expect("there"), &tensor(&all, &[2, 4, 3]), "turn {turn}");
    }
}

fn every_stored_dtype(fixture: &Fixture) {
    use DType::*;
    let dtypes = [F32, F16, BF16, I8, U8, I16, U16, I32, U32, I64, U64];
    let g = GraphBuilder::new("dtypes");
    for d in dtypes {
        g.output(&format!("{d}"), g.state_read(g.state(&format!("{d}"), of(d, [5u64]))));
    }
    let exe = load(fixture, &g.build().expect("sound"));
    let mut session = exe.session().expect("a session");
    let mut want = Vec::new();
    for d in dtypes {
        let width = d.natural_bytes() as usize;
        let bytes: Vec<u8> = (0..5 * width).map(|i| (i * 11 + 1) as u8).collect();
        let mut s = session.state(&format!("{d}")).expect("there");
        s.write_bytes(&bytes).expect("bytes");
        want.push(Tensor::from_bytes(d, &[5], bytes.clone()).expect("five"));
        assert_eq!(s.read().expect("reads").bytes(), bytes);
        assert_eq!(s.read_row(3).expect("reads").bytes(), &bytes[3 * width..4 * width]);
        let view = TensorView::new(d, &[2], &bytes[width..3 * width]).expect("two");
        s.write_range(0, 3, view).expect("typed rows");
        let moved = [&bytes[..3 * width], &bytes[width..3 * width]].concat();
        s.write(TensorView::new(d, &[5], &moved).expect("five")).expect("typed");
        *want.last_mut().expect("pushed") = Tensor::from_bytes(d, &[5], moved).expect("five");
    }
    assert_eq!(session.run(&[]).expect("runs").into_tensors(), want);
    // F32 is rounded to nearest even on its way into narrower floats, whole and in rows.
    let values = [0.1f32, -7.3, 1.0 + 1.0 / 256.0, 65504.0, 3e-6];
    for d in [F16, BF16] {
        let round = |v: &f32| {
            if d == F16 { f16::from_f32(*v).to_le_bytes() } else { bf16::from_f32(*v).to_le_bytes() }
        };
        let bytes: Vec<u8> = values.iter().flat_map(round).collect();
        let mut s = session.state(&format!("{d}")).expect("there");
        s.write_f32(&values).expect("floats");
        assert_eq!(s.read().expect("reads").bytes(), bytes, "{d}");
        s.reset().expect("reset");
        s.write_range(0, 1, row(&values[1..3])).expect("rows");
        let part = [&[0; 2], &bytes[2..6], &[0; 4]].concat();
        assert_eq!(s.read().expect("reads").bytes(), part, "{d}");
    }
    refused!(session.state("i8").expect("there").write_f32(&values), RuntimeError::DType { .. }, "`i8`");
}

/// s += column sums of x\[n, 3\].
fn accumulator(fixture: &Fixture) -> Executable {
    let g = GraphBuilder::new("sum");
    let x = g.input("x", f32([sym("n", 1..=4), 3.into()]));
    let s = g.state("s", f32([3u64]));
    let sum = g.add(g.state_read(s), g.reduce_sum(x, &[0], false));
    g.state_write(s, sum);
    g.output("sum", sum);
    load(fixture, &g.build().expect("sound"))
}

fn runs_and_handles_take_turns(fixture: &Fixture) {
    let exe = accumulator(fixture);
    let mut session = exe.session().expect("a session");
    let mut sum = vec![0f32; 3];
    for turn in 0..12u32 {
        match turn % 4 {
            1 => {
                sum = wave(3, 100 + turn);
                session.state("s").expect("there").write_f32(&sum).expect("written");
            }
            2 => {
                sum[1] = 5.0 + turn as f32;
                session.state("s").expect("there").write_range(0, 1, row(&[sum[1]])).expect("written");
            }
            3 if turn == 7 => {
                sum = vec![0.0; 3];
                session.state("s").expect("there").reset().expect("reset");
            }
            _ => {}
        }
        let n = 1 + turn as usize % 4;
        let x = tensor(&wave(3 * n, turn), &[n as u64, 3]);
        floats(&x).iter().enumerate().for_each(|(i, v)| sum[i % 3] += v);
        assert_eq!(out(&run(&mut session, &x).expect("runs"), "sum"), sum, "turn {turn}");
        assert_eq!(floats(&session.state("s").expect("there").read().expect("reads")), sum, "turn {turn}");
    }
}

/// Zeros, a constant and a param, each reset alone after runs changed all of them.
fn initial_values_come_back(fixture: &Fixture) {
    let g = GraphBuilder::new("initial");
    let x = g.input("x", f32([3u64]));
    let (c, w) = (g.constant(tensor(&wave(3, 7), &[3])), g.param("w", f32([3u64])));
    for (name, s) in [
        ("zeros", g.state("zeros", f32([3u64]))),
        ("data", g.state_from("data", c)),
        ("param", g.state_from("param", w)),
    ] {
        let sum = g.add(g.state_read(s), x);
        g.state_write(s, sum);
        g.output(name, sum);
    }
    let exe = load(fixture, &g.build().expect("sound"));
    set(&exe, &[("w", &wave(3, 8))]);
    let initial = [vec![0f32; 3], wave(3, 7), wave(3, 8)];
    let names = ["zeros", "data", "param"];
    let mut session = exe.session().expect("a session");
    let read = |session: &mut Session, name: &str| {
        floats(&session.state(name).expect("there").read().expect("reads"))
    };
    assert_eq!(names.map(|n| read(&mut session, n)), initial);
    let mut now = initial.clone();
    let x = wave(3, 1);
    for reset in 0..3 {
        let y = session.run(&[("x", row(&x))]).expect("runs");
        now = now.map(|s| zip(&s, &x, |s, x| s + x));
        assert_eq!(names.map(|n| out(&y, n)), now);
        session.state(names[reset]).expect("there").reset().expect("reset");
        now[reset] = initial[reset].clone();
        assert_eq!(names.map(|n| read(&mut session, n)), now, "reset {}", names[reset]);
    }
    let mut other = exe.session().expect("another session");
    assert_eq!(names.map(|n| read(&mut other, n)), initial, "with states of its own");
}

fn wrong_values_change_nothing(fixture: &Fixture) {
    const STATE: NameKind = NameKind::State;
    let exe = cache(fixture);
    let mut session = exe.session().expect("a session");
    let all = wave(24, 5);
    session.state("s").expect("there").write_f32(&all).expect("written");
    refused!(session.state("t"), RuntimeError::UnknownName { kind: STATE, .. }, "`t`", "`s`");
    let mut s = session.state("s").expect("there");
    refused!(s.write_f32(&all[1..]), RuntimeError::Length { expected: 24, given: 23, .. }, "`s`", "elements");
    refused!(s.write_bytes(&[0; 95]), RuntimeError::Length { expected: 96, given: 95, .. }, "`s`", "bytes");
    refused!(s.write(TensorView::f32(&all, [24])), RuntimeError::Rank { expected: 3, given: 1, .. }, "`s`");
    refused!(
        s.write(TensorView::f32(&all, [2, 3, 4])),
        RuntimeError::Extent { axis: 1, given: 3, .. },
        "`s`"
    );
    refused!(s.write(TensorView::f32(&all[1..], [2, 4, 3])), RuntimeError::Tensor { kind: STATE, .. }, "`s`");
    let bits = [0i32; 24];
    refused!(
        s.write(TensorView::i32(&bits, [2, 4, 3])),
        RuntimeError::DType { given: Encoding::Plain(DType::I32), .. },
        "`s`"
    );
    let rows = TensorView::f32(&all[..12], [2, 2, 3]);
    refused!(s.write_range(1, 3, rows), RuntimeError::Rows { start: 3, end: 5, extent: 4, .. }, "`s`");
    refused!(s.write_range(1, u64::MAX, rows), RuntimeError::Rows { .. }, "`s`");
    refused!(s.write_range(0, 0, rows), RuntimeError::Extent { axis: 1, given: 2, .. }, "`s`");
    refused!(s.write_range(3, 0, rows), RuntimeError::Axis { axis: 3, rank: 3, .. }, "`s`");
    let flat = TensorView::f32(&all[..12], [4, 3]);
    refused!(s.write_range(0, 0, flat), RuntimeError::Rows { .. } | RuntimeError::Rank { .. }, "`s`");
    refused!(s.read_row(4), RuntimeError::Rows { axis: 1, start: 4, extent: 4, .. }, "`s`");
    refused!(s.read_row(u64::MAX), RuntimeError::Rows { .. }, "`s`");
    refused!(s.read_range(2, 1..4), RuntimeError::Rows { axis: 2, extent: 3, .. }, "`s`");
    refused!(s.read_range(3, 0..0), RuntimeError::Axis { axis: 3, .. }, "`s`");
    refused!(s.read_into(&mut [0; 8]), RuntimeError::Length { expected: 96, .. }, "`s`");
    assert_eq!(floats(&s.read().expect("as it was")), all);
}
