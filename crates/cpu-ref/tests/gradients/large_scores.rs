//! Attention whose scores are large and close to each other: a scale that is off by a part of 10⁸ makes probabilities
//! off by a part of 10⁵. Widths are no powers of 4, of which 1/√D is no f32.

use super::SHARE;
use super::judge::{Outcome, Subject};
use pumice_ir::ops::Attention;
use pumice_ir::ops::attention_operands::AttentionOperands;
use pumice_ir::shape::DimSpec;
use pumice_ir::{Fill, Sample, f32, sym};

/// What is judged.
#[derive(Clone, Copy, PartialEq)]
enum Asked {
    Result,
    Gradients,
}

/// Scores of some 900·√`width`.
fn sample(asked: Asked, op: &Attention, width: u64, of_width: DimSpec) -> Sample {
    let sample = Sample::graph(&format!("{width} {op:?}"), |g| {
        let shape = || f32([1.into(), 2.into(), 5.into(), of_width.clone()]);
        let [q, k] = ["q", "k"].map(|name| g.input(name, shape()));
        let v = g.input("v", f32([1, 2, 5, 3]));
        let (y, lse) = g.attention_with([q, k, v], AttentionOperands::default(), op.clone());
        g.output("y", y);
        g.output("lse", lse);
        if asked == Asked::Gradients {
            let loss = g.reduce_sum(g.square(y), &[], false);
            for (name, gradient) in ["q", "k", "v"].into_iter().zip(g.grad(loss, &[q, k, v])) {
                g.output(&format!("gradient by {name}"), gradient);
            }
        }
    });
    let around = Fill::Uniform(29.98, 30.02);
    sample.fill("q", around.clone()).fill("k", around).bind("width", width)
}

fn judge(sample: &Sample) {
    let label = &sample.label;
    sample.graph.as_ref().unwrap_or_else(|e| panic!("{label}: {e}"));
    let subject = Subject::of("attention", sample, SHARE.most).unwrap_or_else(|e| panic!("{label}: {e}"));
    match subject.judge(None, SHARE) {
        Outcome::Right => (),
        Outcome::Wrong(why) => panic!("{label}: {why}"),
        other => panic!("{label}: {}", other.word()),
    }
}

#[test]
fn probabilities_are_those_of_the_forward_op() {
    let causal = Attention { causal: true, ..Attention::default() };
    let capped = Attention { softcap: 5_000.0, ..Attention::default() };
    for width in [2, 3, 24] {
        for op in [&Attention::default(), &causal, &capped] {
            judge(&sample(Asked::Result, op, width, width.into()));
        }
        judge(&sample(Asked::Result, &causal, width, sym("width", 1..=32)));
        judge(&sample(Asked::Gradients, &causal, width, width.into()));
    }
}
