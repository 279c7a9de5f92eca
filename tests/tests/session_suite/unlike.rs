//! Extents that must be equal and are not: the smaller one, and one report, of the run that takes the step alone.

use crate::common::*;
use pumice_compile::Options;
use pumice_ir::{Graph, GraphBuilder, Value, bool_, f32, i32, sym};
use pumice_plan::kernel::status;
use pumice_plan::{Plan, PlanForm};
use pumice_runtime::{OnStatus, Outputs, RunOptions, RuntimeError, Session};
use pumice_tests::{Fixture, on_every_device};
use pumice_types::Tensor;

on_every_device!(
    the_smaller_extent_and_one_report,
    nothing_of_it_is_dead_code,
    a_branch_that_is_not_taken_does_not_report,
    branches_are_as_long_as_they_find,
    texts_and_files_say_it,
    beside_a_symbol_in_every_range,
);

fn first(g: &GraphBuilder, x: Value, count: &str) -> Value {
    let n = g.extent_of(g.input(count, i32::<u64>([])), 0..=9);
    g.narrow(x, 0, 0u64, n)
}

/// y = x\[..n\] + z\[..m\].
fn sum() -> Graph {
    let g = GraphBuilder::new("sum");
    let [x, z] = ["x", "z"].map(|name| g.input(name, f32([9])));
    g.output("y", g.named("total").add(first(&g, x, "n"), first(&g, z, "m")));
    g.build().expect("sound")
}

/// A run with these counts, and with other inputs.
fn run(
    s: &mut Session,
    counts: [i32; 2],
    others: &[(&str, &Tensor)],
    on_status: OnStatus,
) -> Result<Outputs, RuntimeError> {
    let counts = counts.map(|n| Tensor::new(&[n], &[]).expect("one"));
    let named = [("n", &counts[0]), ("m", &counts[1])];
    let given: Vec<_> = named.iter().chain(others).map(|(name, t)| (*name, t.view())).collect();
    s.run_with(&given, &RunOptions::default().on_status(on_status))
}

fn sums(s: &mut Session, counts: [i32; 2], on_status: OnStatus) -> Result<Vec<f32>, RuntimeError> {
    let (x, z) = (tensor(&wave(9, 1), &[9]), tensor(&wave(9, 2), &[9]));
    run(s, counts, &[("x", &x), ("z", &z)], on_status).map(|outputs| out(&outputs, "y"))
}

fn wanted([n, m]: [i32; 2]) -> Vec<f32> {
    let all = zip(&wave(9, 1), &wave(9, 2), |a, b| a + b);
    all[..n.min(m) as usize].to_vec()
}

fn the_smaller_extent_and_one_report(fixture: &Fixture) {
    let exe = load(fixture, &sum());
    let mut s = exe.session().expect("a session");
    for counts in [[4, 4], [3, 7], [0, 0], [9, 2], [5, 0], [9, 9], [8, 9]] {
        let unlike = counts[0] != counts[1];
        assert_eq!(sums(&mut s, counts, OnStatus::Report).expect("runs"), wanted(counts));
        assert_eq!(sums(&mut s, counts, OnStatus::Ignore).expect("runs"), wanted(counts));
        match sums(&mut s, counts, OnStatus::Error) {
            Err(RuntimeError::Status(met)) if unlike => {
                assert_eq!(met.flags, status::EXTENT_MISMATCH);
                assert_eq!(met.first.len(), 1, "{met:?}");
                assert_eq!(met.first[0].op, "total.extents");
                assert_eq!(i64::from(met.first[0].position), i64::from(counts[0].min(counts[1])));
                assert!(met.to_string().contains("must be equal"), "{met}");
            }
            Ok(y) if !unlike => assert_eq!(y, wanted(counts)),
            other => panic!("{counts:?}: {other:?}"),
        }
    }
}

/// The sum of the product needs neither operand's other elements, and a chosen operand not the other operand.
fn nothing_of_it_is_dead_code(fixture: &Fixture) {
    let g = GraphBuilder::new("g");
    let [x, z] = ["x", "z"].map(|name| g.input(name, f32([9])));
    let (x, z) = (first(&g, x, "n"), first(&g, z, "m"));
    let always = g.constant(Tensor::bools(&[true], &[1]).expect("one"));
    g.output("y", g.reduce_max(g.select(always, x, z), &[0], true));
    let exe = load(fixture, &g.build().expect("sound"));
    let mut s = exe.session().expect("a session");
    let most = |n: usize| wave(9, 1)[..n].iter().copied().fold(f32::NEG_INFINITY, f32::max);
    assert_eq!(sums(&mut s, [4, 4], OnStatus::Error).expect("equal"), [most(4)]);
    for counts in [[4, 6], [6, 4]] {
        refused!(sums(&mut s, counts, OnStatus::Error), RuntimeError::Status(_), "must be equal");
        assert_eq!(sums(&mut s, counts, OnStatus::Report).expect("runs"), [most(4)]);
    }
}

fn truth(is: bool) -> Tensor {
    Tensor::from_bytes(pumice_types::DType::Bool, &[], vec![u8::from(is)]).expect("one")
}

/// Where c, the sum of products of x\[..n\] and z\[..m\], else the sum of x\[..n\].
fn products_or_sum() -> Graph {
    let g = GraphBuilder::new("g");
    let [x, z] = ["x", "z"].map(|name| g.input(name, f32([9])));
    let (a, b) = (first(&g, x, "n"), first(&g, z, "m"));
    let then = |g: &GraphBuilder| [g.reduce_sum(g.mul(a, b), &[0], true)];
    let [y] = g.if_(g.input("c", bool_::<u64>([])), then, |g| [g.reduce_sum(a, &[0], true)]);
    g.output("y", y);
    g.build().expect("sound")
}

fn a_branch_that_is_not_taken_does_not_report(fixture: &Fixture) {
    let exe = load(fixture, &products_or_sum());
    let mut s = exe.session().expect("a session");
    let (x, z) = (wave(9, 1), wave(9, 2));
    let (x_in, z_in) = (tensor(&x, &[9]), tensor(&z, &[9]));
    for (c, counts) in [(true, [3, 3]), (false, [3, 5]), (true, [3, 5]), (false, [5, 3]), (true, [5, 3])] {
        let c_in = truth(c);
        let given = [("x", &x_in), ("z", &z_in), ("c", &c_in)];
        let least = counts[0].min(counts[1]) as usize;
        let products: f32 = zip(&x[..least], &z[..least], |a, b| a * b).iter().sum();
        let want = if c { products } else { x[..counts[0] as usize].iter().sum() };
        let y = run(&mut s, counts, &given, OnStatus::Report).expect("runs");
        assert_eq!(out(&y, "y"), [want], "{c}, {counts:?}");
        let told = c && counts[0] != counts[1];
        assert_eq!(run(&mut s, counts, &given, OnStatus::Error).is_err(), told, "{c}, {counts:?}");
    }
}

fn branches_are_as_long_as_they_find(fixture: &Fixture) {
    let g = GraphBuilder::new("g");
    let (x, c) = (g.input("x", f32([9])), g.input("c", bool_::<u64>([])));
    let zero = g.constant_scalar(pumice_types::DType::F32, 0.0);
    let kept = |g: &GraphBuilder, is: Value| [g.compress(x, is, None)];
    let [y] = g.if_(c, |g| kept(g, g.greater(x, zero)), |g| kept(g, g.less(x, zero)));
    g.output("y", g.add(y, y));
    let exe = load(fixture, &g.build().expect("sound"));
    let mut s = exe.session().expect("a session");
    for turn in 0..6 {
        let (values, c) = (wave(9, turn), turn % 3 != 1);
        let (x, c_in) = (tensor(&values, &[9]), truth(c));
        let y = s.run(&[("x", x.view()), ("c", c_in.view())]).expect("runs");
        let of_sign = values.iter().copied().filter(|v| if c { *v > 0.0 } else { *v < 0.0 });
        assert_eq!(out(&y, "y"), of_sign.map(|v| v + v).collect::<Vec<_>>(), "turn {turn}");
    }
}

fn texts_and_files_say_it(fixture: &Fixture) {
    let graph = sum();
    let text = pumice_ir::text::print(&graph);
    let again = pumice_ir::text::read(&text).expect("as it was printed");
    assert_eq!(pumice_ir::text::print(&again), text);
    assert!(text.contains("in_both") && text.contains("after"), "{text}");
    let file = load(fixture, &again).plan().to_bytes(PlanForm::Explain).expect("saved");
    let exe = fixture.load(Plan::load(&file).expect("as it was saved"));
    let mut s = exe.session().expect("a session");
    assert_eq!(sums(&mut s, [3, 7], OnStatus::Report).expect("runs"), wanted([3, 7]));
    refused!(sums(&mut s, [3, 7], OnStatus::Error), RuntimeError::Status(_), "total.extents", "position 3");
}

/// In some ranges of the symbol the smaller extent is known to be the one that is found.
fn beside_a_symbol_in_every_range(fixture: &Fixture) {
    let g = GraphBuilder::new("g");
    let (x, z) = (g.input("x", f32([9])), g.input("z", f32([sym("s", 0..=40)])));
    g.output("y", g.add(first(&g, x, "n"), z));
    let options = Options::default().specializations(vec![("s".to_owned(), vec![4, 12])]);
    let exe = fixture.executable(&g.build().expect("sound"), &options);
    let mut s = exe.session().expect("a session");
    for (n, all) in [(3, 3), (3, 2), (9, 9), (2, 9), (9, 40), (0, 13), (0, 0), (1, 4)] {
        let (x, z, n_in) = (wave(9, 1), wave(all, 2), Tensor::new(&[n as i32], &[]).expect("one"));
        let (x_in, z_in) = (tensor(&x, &[9]), tensor(&z, &[all as u64]));
        let given = [("x", x_in.view()), ("z", z_in.view()), ("n", n_in.view())];
        let least = all.min(n);
        let y = s.run_with(&given, &RunOptions::default().on_status(OnStatus::Report)).expect("runs");
        assert_eq!(out(&y, "y"), zip(&x[..least], &z[..least], |a, b| a + b), "{n}, {all}");
        assert_eq!(s.status().is_clean(), n == all, "{n}, {all}");
    }
}
