//! Outputs: all, an asked subset in the asked order, into the caller's buffers, in part, again later.

use crate::common::*;
use pumice_ir::{FeedKind, Graph, GraphBuilder, f16, f32, sym};
use pumice_runtime::{Executable, NameKind, OutputBuffer, RuntimeError, Session};
use pumice_tests::{Fixture, on_every_device};
use pumice_types::{DType, Encoding, Tensor, TensorView};

on_every_device!(
    all_or_an_asked_subset,
    into_the_callers_buffers,
    in_part,
    they_stay_until_the_next_run,
    any_value_may_be_an_output,
);

/// x\[n, 3\] → twice = 2x, sum\[n\], twice again under another name, and a state that counts runs.
fn graph() -> Graph {
    let g = GraphBuilder::new("outputs");
    let x = g.input("x", f32([sym("n", 1..=6), 3.into()]));
    let twice = g.add(x, x);
    g.output("twice", twice);
    g.output("sum", g.reduce_sum(x, &[1], false));
    g.output("again", twice);
    let count = g.state("count", f32([1u64]));
    let next = g.add(g.state_read(count), g.constant_scalar(DType::F32, 1.0));
    g.state_write(count, next);
    g.output("count", next);
    g.build().expect("sound")
}

/// What the outputs are in run `count`, in order.
fn plain(x: &Tensor, count: f32) -> [Tensor; 4] {
    let (values, n) = (floats(x), x.shape()[0]);
    let sums: Vec<f32> = values.chunks(3).map(|r| r.iter().sum()).collect();
    let twice = tensor(&map(&values, |v| 2.0 * v), &[n, 3]);
    [twice.clone(), tensor(&sums, &[n]), twice, tensor(&[count], &[1])]
}

fn session(fixture: &Fixture) -> (Executable, Session) {
    let exe = load(fixture, &graph());
    let s = exe.session().expect("a session");
    (exe, s)
}

fn all_or_an_asked_subset(fixture: &Fixture) {
    let (exe, mut s) = session(fixture);
    assert_eq!(["twice", "sum", "again", "count"].map(|n| exe.output_index(n).expect("there")), [0, 1, 2, 3]);
    refused!(
        exe.output_index("none"),
        RuntimeError::UnknownName { kind: NameKind::Output, .. },
        "`none`",
        "`sum`"
    );
    let x = tensor(&wave(12, 1), &[4, 3]);
    let want = plain(&x, 1.0);
    let all = run(&mut s, &x).expect("runs");
    assert_eq!(all.iter().map(|(n, _)| n).collect::<Vec<_>>(), ["twice", "sum", "again", "count"]);
    assert_eq!((all.len(), all.is_empty()), (4, false));
    assert_eq!(all.at(1).expect("there"), &want[1]);
    refused!(all.at(4), RuntimeError::OutputIndex { index: 4, count: 4 }, "4");
    refused!(all.get("none"), RuntimeError::UnknownName { .. }, "`none`");
    assert_eq!(all.into_tensors(), want);
    for (run, asked) in
        [vec![3, 1], vec![1, 3, 0, 2], vec![2], vec![0, 0, 3, 0], vec![]].into_iter().enumerate()
    {
        let count = run as f32 + 2.0;
        let want: Vec<Tensor> = asked.iter().map(|&o| plain(&x, count)[o].clone()).collect();
        assert_eq!(s.run_read(&[("x", x.view())], &asked).expect("runs"), want, "{asked:?}");
        assert_eq!(s.read_outputs(&[3]).expect("not asked for, but there"), [plain(&x, count)[3].clone()]);
    }
    refused!(s.run_read(&[("x", x.view())], &[0, 4]), RuntimeError::OutputIndex { index: 4, count: 4 }, "4");
    refused!(s.read_outputs(&[9]), RuntimeError::OutputIndex { index: 9, .. }, "9");
    assert_eq!(
        floats(&s.state("count").expect("there").read().expect("reads")),
        [6.0],
        "refused before it ran"
    );
}

fn into_the_callers_buffers(fixture: &Fixture) {
    let (_, mut s) = session(fixture);
    let x = tensor(&wave(6, 2), &[2, 3]);
    let (mut sum, mut twice, mut count) = ([0f32; 2], [0f32; 6], [0u8; 4]);
    let mut buffers = [
        OutputBuffer::numbers(1, &mut sum),
        OutputBuffer::bytes(3, &mut count),
        OutputBuffer::numbers(0, &mut twice),
    ];
    s.run_into(&[("x", x.view())], &mut buffers).expect("runs");
    let want = plain(&x, 1.0);
    assert_eq!((sum.to_vec(), twice.to_vec()), (floats(&want[1]), floats(&want[0])));
    assert_eq!(f32::from_le_bytes(count), 1.0);
    let mut long = [7f32; 3];
    let refusal = s.run_into(&[("x", x.view())], &mut [OutputBuffer::numbers(1, &mut long)]);
    refused!(refusal, RuntimeError::Length { expected: 8, given: 12, .. }, "`sum`");
    let refusal = s.run_into(&[("x", x.view())], &mut [OutputBuffer::numbers(7, &mut long)]);
    refused!(refusal, RuntimeError::OutputIndex { index: 7, .. }, "7");
    assert_eq!(long, [7.0; 3]);
    // As many bytes as the output has, of another dtype: they were filled with the bits of its numbers.
    let (mut one, mut three, mut two) = ([7i64; 1], [7u64; 3], [7i32; 2]);
    for wrong in [
        OutputBuffer::numbers(1, &mut one),
        OutputBuffer::numbers(1, &mut two),
        OutputBuffer::numbers(0, &mut three),
    ] {
        let refusal = s.run_into(&[("x", x.view())], &mut [wrong]);
        refused!(
            refusal,
            RuntimeError::DType { kind: NameKind::Output, expected: Encoding::Plain(DType::F32), .. },
            "f32"
        );
    }
    assert_eq!((one, three, two), ([7; 1], [7; 3], [7; 2]));
    assert_eq!(
        floats(&s.state("count").expect("there").read().expect("reads")),
        [1.0],
        "refused before it ran"
    );
    assert_eq!(s.output("twice").expect("the last results"), want[0]);
    let mut bytes = vec![0; 8];
    s.read_output_into(1, &mut bytes).expect("reads");
    assert_eq!(bytes, want[1].bytes());
    refused!(s.read_output_into(1, &mut [0; 4]), RuntimeError::Length { .. }, "`sum`");
}

fn in_part(fixture: &Fixture) {
    let (_, mut s) = session(fixture);
    refused!(s.output("sum"), RuntimeError::NoResults, "run");
    refused!(s.outputs(), RuntimeError::NoResults, "run");
    refused!(s.output_row("twice", 0), RuntimeError::NoResults, "run");
    for n in [5u64, 1, 6] {
        let x = tensor(&wave(3 * n as usize, n as u32), &[n, 3]);
        s.run_read(&[("x", x.view())], &[]).expect("runs");
        assert_eq!(s.output_shape(0).expect("there"), [n, 3]);
        let twice = floats(&plain(&x, 0.0)[0]);
        assert_eq!(s.output_row("twice", n - 1).expect("the last"), tensor(&twice[twice.len() - 3..], &[3]));
        for (start, end) in [(0, n), (n - 1, n), (0, 1), (n, n)] {
            let want = tensor(&twice[3 * start as usize..3 * end as usize], &[end - start, 3]);
            assert_eq!(
                s.output_range("again", 0, start..end).expect("in range"),
                want,
                "{start}..{end} of {n}"
            );
        }
        let columns: Vec<f32> = twice.chunks(3).flat_map(|r| r[1..].to_vec()).collect();
        assert_eq!(s.output_range("twice", 1, 1..3).expect("columns"), tensor(&columns, &[n, 2]));
        refused!(s.output_row("twice", n), RuntimeError::Rows { axis: 0, .. }, "`twice`");
        refused!(s.output_row("twice", u64::MAX), RuntimeError::Rows { .. }, "`twice`");
        refused!(s.output_range("sum", 1, 0..1), RuntimeError::Axis { axis: 1, rank: 1, .. }, "`sum`");
        refused!(s.output_range("none", 0, 0..1), RuntimeError::UnknownName { .. }, "`none`");
    }
}

fn they_stay_until_the_next_run(fixture: &Fixture) {
    let (exe, mut s) = session(fixture);
    let x = tensor(&wave(9, 3), &[3, 3]);
    let want = plain(&x, 1.0);
    run(&mut s, &x).expect("runs");
    s.state("count").expect("there").write_f32(&[40.0]).expect("written");
    assert_eq!(s.outputs().expect("there").into_tensors(), want, "after a state was written");
    s.state("count").expect("there").reset().expect("reset");
    let other = tensor(&wave(18, 4), &[6, 3]);
    s.bind_input("x", other.view()).expect("bound");
    assert_eq!(s.outputs().expect("there").into_tensors(), want, "after another input was bound");
    assert_eq!(s.output_shape(0).expect("there"), [3, 3]);
    refused!(s.run(&[("y", x.view())]), RuntimeError::UnknownName { .. }, "`y`");
    let mut fork = s.fork().expect("a fork");
    fork.run(&[]).expect("runs on the bound input");
    exe.session().expect("another").run(&[("x", x.view())]).expect("runs");
    assert_eq!(
        s.outputs().expect("there").into_tensors(),
        want,
        "after a refusal, a fork and another session"
    );
    assert_eq!(s.run(&[]).expect("runs").into_tensors(), plain(&other, 1.0));
    assert_eq!(fork.outputs().expect("its own").into_tensors(), plain(&other, 1.0));
}

/// An input, a param, a constant, a state before and after, one value thrice, a cast at the boundary, a fed one.
pub fn any_value_may_be_an_output(fixture: &Fixture) {
    let g = GraphBuilder::new("any");
    let (x, h) = (g.input("x", f32([4u64])), g.input("h", f16([4u64])));
    let (w, c) = (g.param("w", f32([4u64])), g.constant(tensor(&wave(4, 9), &[4])));
    let s = g.state("s", f32([4u64]));
    let before = g.state_read(s);
    let after = g.state_read(g.state_write(s, g.add(before, x)));
    let big = g.greater(x, g.constant_scalar(DType::F32, 0.5));
    for (name, value) in
        [("x", x), ("x again", x), ("h", h), ("w", w), ("c", c), ("before", before), ("after", after)]
    {
        g.output(name, value);
    }
    g.output("half", g.cast(g.mul(x, w), DType::F16));
    g.output("big", big);
    g.output("long", g.cast(x, DType::I64));
    g.output("view", g.reshape(x, &[2, 2]));
    let fed = g.state("fed", f32([4u64]));
    g.output("fed", g.state_read(fed));
    g.feed("after", fed, FeedKind::Whole);
    let exe = load(fixture, &g.build().expect("sound"));
    let w = wave(4, 5);
    set(&exe, &[("w", &w)]);
    let mut s = exe.session().expect("a session");
    let mut sum = vec![0f32; 4];
    for seed in 1..4 {
        let x = map(&wave(4, seed), |v| v * 4.0);
        let h: Vec<half::f16> = x.iter().map(|v| half::f16::from_f32(v * 0.5)).collect();
        let y = s.run(&[("x", row(&x)), ("h", TensorView::f16(&h, [4]))]).expect("runs");
        assert_eq!((out(&y, "x"), out(&y, "x again"), out(&y, "w")), (x.clone(), x.clone(), w.clone()));
        assert_eq!(y.get("h").expect("there").to_vec::<half::f16>().expect("f16"), h);
        assert_eq!(y.get("c").expect("there"), &tensor(&wave(4, 9), &[4]));
        // What was fed at the end of the last run is what the state was after it.
        assert_eq!((out(&y, "before"), out(&y, "fed")), (sum.clone(), sum.clone()));
        sum = zip(&sum, &x, |s, x| s + x);
        assert_eq!(out(&y, "after"), sum);
        let halves = zip(&x, &w, |x, w| half::f16::from_f32(x * w).to_f32());
        let got = y.get("half").expect("there").to_vec::<half::f16>().expect("f16");
        assert_eq!(got.iter().map(|v| v.to_f32()).collect::<Vec<_>>(), halves);
        let bits: Vec<bool> = x.iter().map(|v| *v > 0.5).collect();
        assert_eq!(y.get("big").expect("there"), &Tensor::bools(&bits, &[4]).expect("four"));
        let long: Vec<i64> = x.iter().map(|v| v.trunc() as i64).collect();
        assert_eq!(y.get("long").expect("there").to_vec::<i64>().expect("i64"), long);
        assert_eq!(y.get("view").expect("there"), &tensor(&x, &[2, 2]));
    }
}
