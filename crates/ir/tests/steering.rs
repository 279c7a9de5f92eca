//! Operands that steer, what they are given by samples, and that none is forgotten.
//!
//! Lengths of 2³⁰ and negative positions once crashed a driver and gave wrong rows, while every sample had lengths and
//! positions that people write.

use pumice_ir::{Fill, Graph, Node, Op, Sample, ValueId};
use std::collections::{BTreeMap, BTreeSet};

/// Values that reach operands of one name: as an input, as a scalar.
type Given = BTreeMap<&'static str, [BTreeSet<i64>; 2]>;

fn operand_name(op: &Op, i: usize) -> &'static str {
    op.operand_names().get(i).map_or("", |n| n.trim_end_matches(['?', '*']))
}

/// What a sample feeds a value, if that is an input of integers or a scalar, as it is or moved: which of the two, and
/// the values.
fn fed(sample: &Sample, graph: &Graph, v: ValueId) -> Option<(usize, Vec<i64>)> {
    let def = graph.def(v);
    if let (true, [Some(moved)]) = (def.op.is_movement(), &def.inputs[..]) {
        return fed(sample, graph, *moved);
    }
    let name = &graph.value(v).name;
    match &graph.def(v).op {
        Op::Input(_) => match sample.fill_of(name) {
            Fill::Ints(values) => Some((0, values)),
            _ => None,
        },
        Op::Scalar(_) => {
            let value = sample.scalars.iter().find(|(n, _)| **n == **name)?;
            Some((1, vec![value.1 as i64]))
        }
        _ => None,
    }
}

fn collect(sample: &Sample, graph: &Graph, node: &Node, given: &mut Given) {
    for (i, v) in node.inputs.iter().enumerate() {
        let Some((way, values)) = v.and_then(|v| fed(sample, graph, v)) else { continue };
        given.entry(operand_name(&node.op, i)).or_default()[way].extend(values);
    }
}

/// What is missing among the values of one operand, given in one way.
fn missing(values: &BTreeSet<i64>) -> Vec<String> {
    let always = [i64::from(i32::MIN), -1, 0, 1 << 30, i64::from(i32::MAX)];
    let mut missing: Vec<String> =
        always.iter().filter(|v| !values.contains(v)).map(|v| v.to_string()).collect();
    let bound = |v: &i64| *v > 1 && *v < 1 << 20 && values.contains(&(v + 1));
    if !values.iter().any(bound) {
        missing.push("a bound and the number after it".to_owned());
    }
    missing
}

/// Every operand an op says steers has samples with the values at which comparisons turn and sums wrap, as an input and
/// as a dynamic scalar.
#[test]
fn operands_that_steer_are_tried_at_their_extremes() {
    let (mut wrong, mut steering) = (Vec::new(), 0);
    for name in Op::NAMES {
        let (mut given, mut steers) = (Given::new(), None);
        for sample in Op::samples(name) {
            let Ok(graph) = &sample.graph else { continue };
            for (_, node) in graph.nodes().filter(|(_, n)| n.op.name() == *name) {
                steers = Some(node.op.steering_operands());
                collect(&sample, graph, node, &mut given);
            }
        }
        for operand in steers.unwrap_or_default() {
            steering += 1;
            for (way, values) in ["an input", "a scalar"].iter().zip(given.entry(operand).or_default()) {
                let missing = missing(values);
                if !missing.is_empty() {
                    wrong.push(format!("{name}: `{operand}` as {way} is never {}", missing.join(", ")));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(steering >= 4, "{steering}");
}

/// An integer operand beside a float result steers: nothing else can come of it, but where numbers are drawn, in an op
/// of a user, or where it is what codes are less. An op that has one says so. The first operand is what an op works on:
/// a cast's may be of integers.
#[test]
fn no_operand_that_steers_is_forgotten() {
    let mut wrong = BTreeSet::new();
    for name in Op::NAMES {
        for sample in Op::samples(name) {
            let Ok(graph) = &sample.graph else { continue };
            for (_, node) in graph.nodes().filter(|(_, n)| n.op.name() == *name && !n.op.is_elementwise()) {
                if node.op.stream().is_some() || node.op.user_name().is_some() || node.op.is_scaling() {
                    continue;
                }
                let float = graph.ty(node.output()).dtype().is_float();
                for (i, v) in node.inputs.iter().enumerate().skip(1).filter_map(|(i, v)| Some((i, (*v)?))) {
                    let operand = operand_name(&node.op, i);
                    let steers = node.op.steering_operands().contains(&operand);
                    if float && graph.ty(v).dtype().is_int() && !steers {
                        wrong.insert(format!("{name}: `{operand}`"));
                    }
                }
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "integer operands of ops with float results that STEERS does not name: {wrong:?}"
    );
}
