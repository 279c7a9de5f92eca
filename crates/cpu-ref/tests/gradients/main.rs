//! Gradients of every op by its own samples, on the evaluator: unrounded, against differences of the loss (OPS T5).

mod rig;

use pumice_ir::Op;
use pumice_ir::ops::Differentiation;
use rig::{Outcome, judge};
use std::collections::BTreeMap;

/// All samples of some ops are judged; what has a kink there or no float to move is counted.
fn all_right(ops: &[&str]) {
    let mut wrong = Vec::new();
    for op in ops {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for sample in Op::samples(op) {
            let outcome = judge(op, &sample);
            *counts.entry(outcome.word()).or_default() += 1;
            if let Outcome::Wrong(why) = outcome {
                wrong.push(format!("{op}: {}: {why}", sample.label));
            }
        }
        println!("{op}: {counts:?}");
        if !counts.contains_key("right") && !counts.contains_key("wrong") {
            wrong.push(format!("{op}: no sample could be judged"));
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

/// The differentiable ops of a section of the list.
macro_rules! sections {
    ($($section:ident { $($file:ident $Name:ident $text:literal $kind:ident $($boxed:ident)?;)* })*) => {$(
        #[test]
        fn $section() {
            let ops = [$($text),*];
            let moves = |op: &&str| matches!(
                Op::differentiation_of(op),
                Some(Differentiation::Rule | Differentiation::Scalar | Differentiation::Expansion)
            );
            all_right(&ops.into_iter().filter(moves).filter(|op| *op != "elementwise_grad").collect::<Vec<_>>());
        }
    )*};
}
pumice_ir::for_each_op!(sections);

/// Of one op, which the variable names: for who writes a rule.
#[test]
#[ignore = "long: for who writes a rule: GRADIENT_OF=op"]
fn of_one() {
    let op = std::env::var("GRADIENT_OF").expect("GRADIENT_OF=op");
    all_right(&[&op]);
}
