//! Gradients of every op by its own samples, on the evaluator: unrounded, against differences of the loss (OPS T5).
//!
//! Each sample stands in the middle of a graph: tanh before, the sum of its results times drawn numbers after. Asked
//! are the gradients of each result's loss and of all together, by all operands and by each alone, and where two
//! operands have one type, of the graph in which they are one value.

mod draws;
mod faults;
mod judge;
mod kinks;
mod large_scores;
mod methods;
mod midway;
mod slopes;
mod torch;
mod undefined;

use faults::Fault;
use judge::{Depth, Outcome, Subject};
use pumice_ir::Op;
use pumice_ir::ops::Differentiation;
use std::collections::BTreeMap;

/// What everybody's run asks of a sample: a drawn direction differs wherever a gradient does.
const SHARE: Depth = Depth { directions: 2, tries: 16, elements: 8, most: 3_000 };
/// Every direction and element that OPS T5 asks for.
const ALL: Depth = Depth { directions: 8, tries: 20, elements: 64, most: 3_000 };

/// How many samples ended how.
type Counts = BTreeMap<&'static str, usize>;

/// Samples of some ops are judged; what has a kink there or no float to move is counted.
fn all_right(ops: &[&str], depth: Depth) {
    let (mut wrong, mut total) = (Vec::new(), Counts::new());
    for op in ops {
        let counts = of_op(op, depth, &mut wrong);
        println!("{op}: {counts:?}");
        if !counts.contains_key("right") && !counts.contains_key("wrong") {
            wrong.push(format!("{op}: no sample could be judged"));
        }
        counts.into_iter().for_each(|(word, n)| *total.entry(word).or_default() += n);
    }
    println!("together: {total:?}");
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

fn of_op(op: &str, depth: Depth, wrong: &mut Vec<String>) -> Counts {
    let mut counts = Counts::new();
    for sample in Op::samples(op) {
        let subject = match Subject::of(op, &sample, depth.most) {
            Ok(subject) => subject,
            Err(reason) => {
                *counts.entry(reason).or_default() += 1;
                continue;
            }
        };
        let tied = subject.pair().map(Some);
        for tied in [None].into_iter().chain(tied) {
            let outcome = subject.judge(tied, depth);
            let word =
                if tied.is_some() && outcome == Outcome::Right { "right, one twice" } else { outcome.word() };
            *counts.entry(word).or_default() += 1;
            if matches!(outcome, Outcome::Kinks | Outcome::NotFinite) {
                println!("{op}: {word}: {}", sample.label);
            }
            if let Outcome::Wrong(why) = outcome {
                let twice = if tied.is_some() { " (one twice)" } else { "" };
                wrong.push(format!("{op}: {}{twice}: {why}", sample.label));
            }
        }
    }
    counts
}

/// The ops whose gradients are formulas; those of derivatives are held where derivatives are.
fn differentiable(ops: &[&'static str]) -> Vec<&'static str> {
    let moves = |op: &&str| {
        let how = Op::differentiation_of(op);
        matches!(how, Some(Differentiation::Rule | Differentiation::Scalar | Differentiation::Expansion))
    };
    ops.iter().copied().filter(moves).filter(|op| *op != "elementwise_grad").collect()
}

/// The ops of each section of the list.
macro_rules! sections {
    ($($section:ident { $($file:ident $Name:ident $text:literal $kind:ident $($boxed:ident)?;)* })*) => {
        const SECTIONS: &[(&str, &[&str])] = &[$((stringify!($section), &[$($text),*])),*];

        $(
            #[test]
            fn $section() {
                all_right(&differentiable(&[$($text),*]), SHARE);
            }
        )*
    };
}
pumice_ir::for_each_op!(sections);

/// Samples of an op in which faults are planted, at least and at most.
const PLANTED: (usize, usize) = (3, 24);

/// Faults that the judge found, or did not, in the rules of an op: of each the first sample that shows it counts.
fn faults_of(op: &str) -> BTreeMap<Fault, bool> {
    let mut found = BTreeMap::new();
    let samples = Op::samples(op);
    let subjects = samples.iter().filter_map(|sample| Subject::of(op, sample, SHARE.most).ok());
    for (n, subject) in subjects.take(PLANTED.1).enumerate() {
        let planted =
            faults::planted(op, &subject).unwrap_or_else(|e| panic!("{op}: {}: {e}", subject.sample.label));
        for (fault, is_found) in planted {
            *found.entry(fault).or_default() |= is_found;
        }
        if n + 1 >= PLANTED.0 && !found.is_empty() && found.values().all(|&is_found| is_found) {
            break;
        }
    }
    found
}

#[test]
fn planted_faults_are_found() {
    let mut missed = Vec::new();
    let (mut planted, mut counts) = (0, Counts::new());
    for op in SECTIONS.iter().flat_map(|(_, ops)| differentiable(ops)) {
        let faults = faults_of(op);
        planted += faults.len();
        faults.keys().for_each(|fault| *counts.entry(fault.word()).or_default() += 1);
        missed
            .extend(faults.iter().filter(|(_, found)| !**found).map(|(fault, _)| format!("{op}: {fault:?}")));
        if faults.is_empty() {
            missed.push(format!("{op}: none could be planted"));
        }
    }
    println!("{planted} faults planted, {} found: {counts:?}", planted - missed.len());
    assert!(missed.is_empty(), "{}:\n{}", missed.len(), missed.join("\n"));
}

/// Every element of up to 64, else 8 directions.
#[test]
#[ignore = "long: all directions and elements of every sample"]
fn of_all() {
    for (section, ops) in SECTIONS {
        println!("{section}");
        all_right(&differentiable(ops), ALL);
    }
}

/// Of one op, which the variable names: for who writes a rule.
#[test]
#[ignore = "long: for who writes a rule: GRADIENT_OF=op"]
fn of_one() {
    let op = std::env::var("GRADIENT_OF").expect("GRADIENT_OF=op");
    all_right(&[&op], ALL);
}
