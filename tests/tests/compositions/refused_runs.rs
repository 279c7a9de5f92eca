//! What a composition asks of extents that symbols decide: a run that does not keep it is refused, and one that does is
//! not.

use pumice_compile::Options;
use pumice_ir::ops::nll_loss::NllLoss;
use pumice_ir::ops::random_uniform::RandomUniform;
use pumice_ir::ops::softmax_cross_entropy::SoftmaxCrossEntropy;
use pumice_ir::{GraphBuilder, Value, f32, i32, sym};
use pumice_runtime::Session;
use pumice_tests::Fixture;
use pumice_types::{DType, Tensor};

/// A session of what is built from x\[n, 3\] and t\[m\].
fn session(build: impl Fn(&GraphBuilder, [Value; 2]) -> Value) -> Session {
    let g = GraphBuilder::new("g");
    let x = g.input("x", f32([sym("n", 1..=8), 3.into()]));
    let t = g.input("t", i32([sym("m", 1..=8)]));
    let y = build(&g, [x, t]);
    g.output("y", y);
    g.output("rows", g.add(g.reduce_sum(x, &[], false), g.cast(g.reduce_sum(t, &[], false), DType::F32)));
    let graph = g.build().expect("sound");
    Fixture::interpreter().executable(&graph, &Options::default()).session().expect("a session")
}

/// Elements of y in a run of so many rows of x and elements of t, or why there is none.
fn run(session: &mut Session, n: u64, m: u64) -> Result<u64, String> {
    let x = Tensor::new(&vec![0.25f32; 3 * n as usize], &[n, 3]).expect("as many");
    let t = Tensor::new(&vec![0i32; m as usize], &[m]).expect("as many");
    let outputs = session.run(&[("x", x.view()), ("t", t.view())]).map_err(|e| e.to_string())?;
    outputs.get("y").map(|y| y.shape().iter().product()).map_err(|e| e.to_string())
}

fn refuses(session: &mut Session, [n, m]: [u64; 2], reason: &str) {
    let why = run(session, n, m).expect_err("refused");
    assert!(why.contains(reason), "{why}");
}

/// A gather reads fewer targets than there are cases without a word.
#[test]
fn losses_of_fewer_targets_than_cases() {
    let by_index = session(|g, [x, t]| g.nll_loss(x, t, None, NllLoss::default()).0);
    let of_scores = session(|g, [x, t]| {
        g.softmax_cross_entropy(
            x,
            t,
            None,
            SoftmaxCrossEntropy { ignore_index: Some(7), ..Default::default() },
        )
        .0
    });
    for mut session in [by_index, of_scores] {
        assert_eq!(run(&mut session, 5, 5), Ok(1));
        refuses(&mut session, [5, 3], "and of `target`");
        refuses(&mut session, [3, 5], "and of `target`");
    }
}

/// Such plans were unsound: a run at the least extent had a negative one.
#[test]
fn stated_extents_below_zero() {
    let filled = session(|g, [x, _]| g.fill(g.constant_scalar(DType::F32, 1.0), vec![g.dim_of(x, 0) - 3]));
    let drawn = session(|g, [x, _]| g.random_uniform([g.dim_of(x, 0) - 3], None, RandomUniform::default()));
    let counted = session(|g, [x, t]| g.token_counts(g.unsqueeze(t, &[0]), g.dim_of(x, 0) - 3));
    let woven = session(|g, [x, _]| g.custom("pumice.weave", "1", &[x], [f32([g.dim_of(x, 0) - 3])])[0]);
    for mut session in [filled, drawn, counted, woven] {
        assert_eq!([5, 4].map(|n| run(&mut session, n, 1)), [Ok(2), Ok(1)]);
        refuses(&mut session, [1, 1], "-2");
    }
}

/// Where one condition makes two extents equal, neither stretches in a step: such plans were refused.
#[test]
fn extents_that_a_condition_makes_equal() {
    let mut session = session(|g, [x, t]| {
        let (loss, _) = g.nll_loss(x, t, None, NllLoss::default());
        let sums = g.reduce_sum(x, &[1], false);
        g.sqrt(g.mul(g.add(sums, g.cast(t, DType::F32)), loss))
    });
    assert_eq!([(5, 5), (1, 1)].map(|(n, m)| run(&mut session, n, m)), [Ok(5), Ok(1)]);
    refuses(&mut session, [1, 4], "and of `target`");
}
