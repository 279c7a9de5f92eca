//! Symbols bound by inputs or by hand; ranges with plans of their own share states and weights.

use crate::{floats, numbers, product};
use pumice_compile::Options;
use pumice_ir::{GraphBuilder, f32, sym};
use pumice_runtime::RuntimeError;
use pumice_tests::{Lab, on_every_device};
use pumice_types::{DType, TensorView};

on_every_device!(bound_by_inputs_and_checked, specializations_share_everything, without_an_input);

fn bound_by_inputs_and_checked(lab: &Lab) {
    let g = GraphBuilder::new("symbols");
    let a = g.input("a", f32([sym("m", 1..=4), sym("k", 2..=8).multiple_of(2)]));
    let b = g.input("b", f32([sym("k", 2..=8).multiple_of(2), 3.into()]));
    g.output("y", g.matmul(a, b));
    let exe = lab.executable(&g.build().expect("sound"), &Options::default());
    let mut s = exe.session().expect("a session");
    for (m, k) in [(4usize, 8usize), (1, 2), (3, 6), (4, 4)] {
        let (x, y) = (numbers(m * k, 1), numbers(3 * k, 2));
        let inputs =
            [("a", TensorView::f32(&x, [m as u64, k as u64])), ("b", TensorView::f32(&y, [k as u64, 3]))];
        let out = s.run(&inputs).expect("runs");
        assert_eq!(out.at(0).expect("one").shape(), [m as u64, 3]);
        assert_eq!(floats(out.at(0).expect("one")), product(&x, &y, k, 3));
    }
    let data = [0f32; 64];
    let mut try_shapes = |a: [u64; 2], b: [u64; 2]| {
        let n = |s: [u64; 2]| &data[..(s[0] * s[1]) as usize];
        s.run(&[("a", TensorView::f32(n(a), a)), ("b", TensorView::f32(n(b), b))]).expect_err("refused")
    };
    assert!(
        matches!(try_shapes([2, 4], [6, 3]), RuntimeError::DimConstraint { symbol, .. } if symbol == "k")
    );
    assert!(matches!(try_shapes([5, 4], [4, 3]), RuntimeError::SymbolRange { value: 5, max: 4, .. }));
    assert!(matches!(try_shapes([2, 3], [3, 3]), RuntimeError::SymbolRange { value: 3, multiple_of: 2, .. }));
    assert!(matches!(try_shapes([2, 4], [4, 4]), RuntimeError::Extent { axis: 1, given: 4, .. }));
}

/// A session goes from range to range; one state sums up what all of them saw.
fn specializations_share_everything(lab: &Lab) {
    let g = GraphBuilder::new("ranges");
    let x = g.input("x", f32([sym("n", 1..=40), 6.into()]));
    let w = g.param("w", f32([6u64, 4]));
    let s = g.state("s", f32([4u64]));
    let y = g.matmul(x, w);
    let sum = g.add(g.state_read(s), g.reduce_sum(y, &[0], false));
    g.state_write(s, sum);
    g.output("y", y);
    g.output("sum", sum);
    let options = Options { specializations: vec![("n".into(), vec![1, 8])], ..Options::default() };
    let exe = lab.executable(&g.build().expect("sound"), &options);
    assert_eq!(exe.plan().runs.len(), 3);
    let mut w = numbers(24, 1);
    exe.set_param("w", &w).expect("set");
    let mut session = exe.session().expect("a session");
    let mut total = [0f32; 4];
    for (i, n) in [40usize, 1, 8, 9, 1, 2, 39].into_iter().enumerate() {
        let x = numbers(6 * n, i as u64);
        if i == 4 {
            w = numbers(24, 77);
            exe.set_param("w", &w).expect("seen by every range");
        }
        let out = session.run(&[("x", TensorView::f32(&x, [n as u64, 6]))]).expect("runs");
        let y = product(&x, &w, 6, 4);
        y.chunks(4).for_each(|r| r.iter().zip(&mut total).for_each(|(v, t)| *t += v));
        assert_eq!(floats(out.get("y").expect("there")), y, "n = {n}");
        assert_eq!(floats(out.get("sum").expect("there")), total);
    }
}

/// A symbol that no input has as an extent of its own is bound by hand; one with a single value needs nothing.
fn without_an_input(lab: &Lab) {
    let g = GraphBuilder::new("by_hand");
    let x = g.input("x", f32([1u64]));
    let like = g.input("like", f32([sym("n", 1..=5), sym("one", 3..=3)]));
    let n = g.dim_of(like, 0);
    let wide = g.expand_to(x, vec![n.clone() * pumice_types::DimExpr::constant(2)]);
    g.output("y", g.mul(wide, g.constant_scalar(DType::F32, 3.0)));
    let exe = lab.executable(&g.build().expect("sound"), &Options::default());
    let mut s = exe.session().expect("a session");
    s.bind_symbol("n", 4).expect("in range");
    let like = [0f32; 15];
    let x = TensorView::f32(&[2.0], [1]);
    let out = s.run(&[("x", x), ("like", TensorView::f32(&like[..12], [4, 3]))]).expect("agrees");
    assert_eq!(floats(out.at(0).expect("one")), [6.0; 8]);
    let other = s.run(&[("x", x), ("like", TensorView::f32(&like, [5, 3]))]);
    assert!(matches!(other, Err(RuntimeError::DimConstraint { .. })));
    s.unbind_symbol("n").expect("there");
    let out = s.run(&[("x", x), ("like", TensorView::f32(&like, [5, 3]))]).expect("by the input");
    assert_eq!(floats(out.at(0).expect("one")), [6.0; 10]);
    assert!(matches!(s.bind_symbol("n", 6), Err(RuntimeError::SymbolRange { .. })));
}
