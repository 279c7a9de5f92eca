//! A chain of dependent small ops, alternately c + w and c · w over 1,024 elements: what a level costs, and what fusion
//! saves. Weights are in 0.9..1, so the numbers stay small.

use crate::data;
use crate::rig::{Rig, Spec, size};
use crate::row::{Bar, Outcome, Rate, Row};
use crate::{Case, Spelled};
use pumice::{Graph, GraphBuilder, Outputs, Value, f32};

/// Elements of every operand.
pub const WIDTH: usize = 1024;

/// The cases.
pub fn cases(full: bool) -> Vec<Case> {
    let ops = size(full, 2000, 200);
    [true, false]
        .map(|fused| {
            let name = format!("S1.chain_{ops}_{}", word(fused));
            Case::new(name.clone(), move |rig| Ok(vec![measure(rig, &name, ops, fused)?]))
                .spelled(move || Ok(Spelled { graph: of_states(ops)?, fused }))
        })
        .into()
}

/// `fused` or `unfused`.
pub fn word(fused: bool) -> &'static str {
    if fused { "fused" } else { "unfused" }
}

/// The chain after a start that the caller gives, as a graph of its own, with output `y`.
pub fn graph(ops: usize, start: impl Fn(&GraphBuilder) -> Value) -> Outcome<Graph> {
    let g = GraphBuilder::new("chain");
    let mut c = start(&g);
    let w = g.state_read(g.state("w", f32([WIDTH as u64])));
    for i in 0..ops {
        c = if i % 2 == 0 { g.add(c, w) } else { g.mul(c, w) };
    }
    g.output("y", c);
    Ok(g.build()?)
}

fn of_states(ops: usize) -> Outcome<Graph> {
    graph(ops, |g| g.state_read(g.state("x", f32([WIDTH as u64]))))
}

/// Start and weights.
pub fn numbers() -> (Vec<f32>, Vec<f32>) {
    (data::random(21, WIDTH, -1.0, 1.0), data::random(22, WIDTH, 0.9, 1.0))
}

/// Compares with the chain in f64.
pub fn check(outputs: &Outputs, ops: usize) -> Outcome<String> {
    let (x, w) = numbers();
    let one = |(x, w): (&f32, &f32)| {
        let w = f64::from(*w);
        (0..ops).fold(f64::from(*x), |c, i| if i % 2 == 0 { c + w } else { c * w })
    };
    let want: Vec<f64> = x.iter().zip(&w).map(one).collect();
    let worst = data::worst(&outputs.get("y")?.to_vec::<f32>()?, &want, 1e-4)?;
    Ok(format!("every element against f64: {worst:.1e}"))
}

fn measure(rig: &Rig, name: &str, ops: usize, fused: bool) -> Outcome<Row> {
    let (x, w) = numbers();
    rig.measure(&Spec {
        name: name.to_owned(),
        graph: of_states(ops)?,
        fused,
        fill: vec![("x", &x), ("w", &w)],
        per: 1,
        rate: Rate::None,
        bar: Bar::None,
        check: &|outputs| check(outputs, ops),
    })
}
