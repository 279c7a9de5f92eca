//! State handles: bind, read whole, ranges and rows, reset; initial values; what lies beyond a cache's length.

use crate::{floats, numbers};
use pumice_compile::Options;
use pumice_ir::ops::attention::{Attention, AttentionLayout};
use pumice_ir::ops::kv_append::AppendMode;
use pumice_ir::{GraphBuilder, bf16, f16, f32, i32, sym};
use pumice_runtime::RuntimeError;
use pumice_tests::{Lab, on_every_device};
use pumice_types::{DType, TensorView};

on_every_device!(
    handles_write_read_and_reset,
    initial_values,
    narrow_states,
    beyond_the_length_is_never_seen
);

/// acc += x; the output is what it was before.
fn handles_write_read_and_reset(lab: &Lab) {
    let g = GraphBuilder::new("accumulator");
    let x = g.input("x", f32([3u64, 4]));
    let acc = g.state("acc", f32([3u64, 4]));
    let old = g.state_read(acc);
    g.state_write(acc, g.add(old, x));
    g.output("old", old);
    let exe = lab.executable(&g.build().expect("sound"), &Options::default());
    let mut s = exe.session().expect("a session");
    assert_eq!(floats(&s.state("acc").expect("there").read().expect("before the first run")), [0.0; 12]);
    let start = numbers(12, 1);
    s.state("acc").expect("there").write(TensorView::f32(&start, [3, 4])).expect("bound");
    let x = numbers(12, 2);
    let inputs = [("x", TensorView::f32(&x, [3, 4]))];
    assert_eq!(floats(s.run(&inputs).expect("runs").at(0).expect("one")), start);
    let once: Vec<f32> = start.iter().zip(&x).map(|(a, b)| a + b).collect();
    let mut state = s.state("acc").expect("there");
    assert_eq!((state.name(), state.shape(), state.dtype()), ("acc", &[3, 4][..], DType::F32));
    assert_eq!(floats(&state.read().expect("whole")), once);
    assert_eq!(floats(&state.read_row(1).expect("a row")), once[4..8]);
    assert_eq!(floats(&state.read_rows(1..3).expect("rows")), once[4..]);
    let columns: Vec<f32> = once.chunks(4).flat_map(|r| r[2..].to_vec()).collect();
    assert_eq!(floats(&state.read_range(1, 2..4).expect("columns")), columns);
    assert!(matches!(state.read_row(3), Err(RuntimeError::Rows { .. })));
    assert!(matches!(state.read_range(2, 0..1), Err(RuntimeError::Axis { .. })));
    state.write_range(0, 2, TensorView::f32(&[1.0; 4], [1, 4])).expect("one row");
    let mut changed = once.clone();
    changed[8..].fill(1.0);
    assert_eq!(floats(s.run(&inputs).expect("runs").at(0).expect("one")), changed);
    s.state("acc").expect("there").reset().expect("zeros again");
    assert_eq!(floats(s.run(&inputs).expect("runs").at(0).expect("one")), [0.0; 12]);
    let mut state = s.state("acc").expect("there");
    assert!(matches!(state.write_f32(&[0.0; 11]), Err(RuntimeError::Length { .. })));
    assert!(matches!(state.write(TensorView::f32(&x, [4, 3])), Err(RuntimeError::Extent { .. })));
    assert!(matches!(s.state("cca"), Err(RuntimeError::UnknownName { .. })));
}

/// Zeros, a constant of the graph, a param that is set later; each session has its own.
fn initial_values(lab: &Lab) {
    let g = GraphBuilder::new("initial");
    let p = g.param("p", f32([2u64]));
    let c = g.constant(pumice_types::Tensor::new(&[5f32, 6.0], &[2]).expect("two"));
    let states = [g.state("zeros", f32([2u64])), g.state_from("given", c), g.state_from("param", p)];
    for (i, s) in states.into_iter().enumerate() {
        let old = g.state_read(s);
        g.output(&format!("y{i}"), old);
        g.state_write(s, g.add(old, g.constant_scalar(DType::F32, 1.0)));
    }
    let exe = lab.executable(&g.build().expect("sound"), &Options::default());
    let mut a = exe.session().expect("a session");
    assert!(matches!(a.state("param").expect("there").read(), Err(RuntimeError::MissingParams { .. })));
    exe.set_param("p", &[8.0, 9.0]).expect("set");
    let run = |s: &mut pumice_runtime::Session| {
        let out = s.run(&[]).expect("runs");
        (0..3).map(|i| floats(out.at(i).expect("three"))).collect::<Vec<_>>()
    };
    assert_eq!(run(&mut a), [[0.0, 0.0], [5.0, 6.0], [8.0, 9.0]]);
    assert_eq!(run(&mut a), [[1.0, 1.0], [6.0, 7.0], [9.0, 10.0]]);
    let mut b = exe.session().expect("another");
    assert_eq!(run(&mut b), [[0.0, 0.0], [5.0, 6.0], [8.0, 9.0]]);
    exe.set_param("p", &[1.0, 1.0]).expect("set");
    assert_eq!(run(&mut a)[2], [10.0, 11.0], "a state outlives the value it began with");
    a.state("param").expect("there").reset().expect("the param's present value");
    assert_eq!(run(&mut a), [[3.0, 3.0], [8.0, 9.0], [1.0, 1.0]]);
}

/// f16 and bf16 states meet f32 through casts; rows are appended in their own width.
fn narrow_states(lab: &Lab) {
    let g = GraphBuilder::new("narrow");
    let x = g.input("x", f32([1.into(), sym("t", 1..=3), 2.into()]));
    let pos = g.scalar("pos", i32::<u64>([]), 0.0, 5.0, 0.0);
    for (name, ty) in [("h", f16([1u64, 5, 2])), ("b", bf16([1u64, 5, 2]))] {
        let s = g.cache(name, ty, 1);
        let s = g.kv_append(s, x, pos, 1, AppendMode::Linear);
        g.output(name, g.cast(g.state_read(s), DType::F32));
    }
    let exe = lab.executable(&g.build().expect("sound"), &Options::default());
    let mut s = exe.session().expect("a session");
    let mut want = [0f32; 10];
    for (at, rows) in [(0usize, 2usize), (2, 1), (3, 2), (1, 3)] {
        let x = numbers(2 * rows, at as u64);
        s.set_scalar("pos", at as i64).expect("in range");
        let out = s.run(&[("x", TensorView::f32(&x, [1, rows as u64, 2]))]).expect("runs");
        want[2 * at..2 * (at + rows)].copy_from_slice(&x);
        assert_eq!(
            (floats(out.at(0).expect("h")), floats(out.at(1).expect("b"))),
            (want.to_vec(), want.to_vec())
        );
    }
    assert_eq!(s.state("h").expect("there").row_axis(), 1);
    let row = s.state("b").expect("there").read_row(4).expect("a row");
    let row: Vec<f32> = row.to_vec::<half::bf16>().expect("bf16").iter().map(|v| v.to_f32()).collect();
    assert_eq!(row, want[8..]);
    s.set_scalar("pos", 4).expect("in range");
    let over = s.run(&[("x", TensorView::f32(&[1.0; 4], [1, 2, 2]))]);
    assert!(matches!(over, Err(RuntimeError::Status(_))), "two rows do not fit behind row 4 of 5");
}

/// Attention over caches whose rows beyond the length are NaN: outputs are bit-identical to caches of zeros.
fn beyond_the_length_is_never_seen(lab: &Lab) {
    let g = GraphBuilder::new("caches");
    let x = g.input("x", f32([1.into(), sym("t", 1..=4), 2.into(), 8.into()]));
    let pos = g.scalar_advancing("pos", 0, 12, 0, g.dim_of(x, 1));
    let append = |name: &str| {
        let s = g.cache(name, f32([1u64, 12, 2, 8]), 1);
        g.kv_append(s, x, pos, 1, AppendMode::Linear)
    };
    let (k, v) = (append("k"), append("v"));
    let op = Attention { layout: AttentionLayout::Bshd, causal: true, ..Attention::default() };
    let length = g.add(pos, g.extent(x, 1));
    g.output("y", g.attention(x, k, v, None, Some(length), op));
    let exe = lab.executable(&g.build().expect("sound"), &Options::default());
    let mut sessions = [exe.session().expect("zeros"), exe.session().expect("NaN")];
    for name in ["k", "v"] {
        sessions[1].state(name).expect("there").write_f32(&[f32::NAN; 192]).expect("poisoned");
    }
    for (step, t) in [3u64, 1, 4, 1, 3].into_iter().enumerate() {
        let x: Vec<f32> = numbers(16 * t as usize, step as u64).iter().map(|v| v / 3.0).collect();
        let outs = sessions.each_mut().map(|s| {
            let out = s.run(&[("x", TensorView::f32(&x, [1, t, 2, 8]))]).expect("runs");
            out.at(0).expect("one").clone()
        });
        assert!(floats(&outs[0]).iter().all(|v| v.is_finite()));
        assert_eq!(outs[0], outs[1], "step {step}");
    }
}
