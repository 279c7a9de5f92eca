//! Products with many terms, either operand along k or across it, for few and for more rows.

use crate::lines::{close, load, run, uniform};
use pumice_compile::{OptOptions, Options, compile};
use pumice_cpu_ref::{RefEval, Tolerance};
use pumice_ir::ops::MatMul;
use pumice_ir::{GraphBuilder, tensor};
use pumice_plan::StepKind;
use pumice_tests::Fixture;
use pumice_types::{DType, Target, TensorView};

/// `b` is [n, k] where `along` says so, else [k, n].
fn product(fixture: &Fixture, m: usize, n: usize, k: usize, along: bool) {
    let shape_a = [m as u64, k as u64];
    let shape_b = if along { [n as u64, k as u64] } else { [k as u64, n as u64] };
    let exe = load(fixture, |g| {
        let (a, b) = (g.input("a", tensor(DType::F32, shape_a)), g.input("b", tensor(DType::F32, shape_b)));
        g.output("y", g.apply(MatMul { trans_b: along, ..MatMul::default() }, &[a, b]));
    });
    let (a, b) = (uniform(m * k), uniform(n * k + 5)[5..].to_vec());
    let out = run(&exe, &[("a", TensorView::f32(&a, shape_a)), ("b", TensorView::f32(&b, shape_b))]);
    let y = out[0].to_vec::<f32>().expect("f32");
    for row in 0..m {
        for column in 0..n {
            let of_b = |i: usize| if along { b[column * k + i] } else { b[i * n + column] };
            let sum: f64 = (0..k).map(|i| f64::from(a[row * k + i]) * f64::from(of_b(i))).sum();
            close(y[row * n + column], sum, sum, Tolerance::of_sum(k as u64), || {
                format!("{m} x {n} x {k}, along k: {along}, {row} {column}")
            });
        }
    }
}

#[test]
fn products_are_right() {
    let fixture = Fixture::vulkan();
    for k in [60_000, 65_534, 65_535, 70_000, 300_000] {
        for along in [false, true] {
            product(&fixture, 1, 3, k, along);
            product(&fixture, 5, 8, k, along);
        }
    }
    product(&fixture, 20, 5, 70_001, false);
    product(&fixture, 20, 5, 70_001, true);
    for along in [false, true] {
        product(&fixture, 1, 2, 3_000_000, along);
        product(&fixture, 1, 1, 1 << 24, along);
    }
}

/// The tile that a GPU would take, with loops in its loop, close to what the driver lets it iterate.
#[test]
fn loops_inside_loops_iterate_as_declared() {
    const K: u64 = 158_080;
    let fixture = Fixture::vulkan();
    let mut target = fixture.device.target().clone();
    target.table = Target::h200().table;
    let g = GraphBuilder::new("tile");
    let (a, b) = (g.input("a", tensor(DType::F32, [32, K])), g.input("b", tensor(DType::F32, [K, 32])));
    g.output("y", g.matmul(a, b));
    let options = Options::default().opt(OptOptions::without("split_products"));
    let plan = compile(&g.build().expect("sound"), &target, &options, &RefEval).expect("compiles");
    let StepKind::Dispatch { call, .. } = &plan.runs[0].program.steps[0].kind else { panic!("no kernel") };
    let trip_count = call.check().expect("fits").trip_count(call, &|_| 0);
    if let Some(limit) = target.limits.loop_turns {
        assert_eq!(call.label(), "matmul_f32.plain");
        assert!(trip_count <= limit && trip_count > limit - 500, "{trip_count}");
    }
    let exe = fixture.load(plan);
    let (a, b) = (uniform(32 * K as usize), uniform(32 * K as usize + 9)[9..].to_vec());
    let out = run(&exe, &[("a", TensorView::f32(&a, [32, K])), ("b", TensorView::f32(&b, [K, 32]))]);
    let y = out[0].to_vec::<f32>().expect("f32");
    for (row, column) in [(0, 0), (5, 31), (31, 7)] {
        let terms =
            (0..K as usize).map(|i| f64::from(a[row * K as usize + i]) * f64::from(b[i * 32 + column]));
        let sum: f64 = terms.sum();
        close(y[row * 32 + column], sum, sum, Tolerance::of_sum(K), || format!("{row} {column}"));
    }
}
