//! Nodes with subgraphs beyond the package's cases: conditions and trip counts that the run knows, outer values, axes
//! backward, and what is refused by name.

use pumice_cpu_ref::RefEval;
use pumice_import::onnx::{self, OnnxAttribute, OnnxError, OnnxGraph, OnnxGraphNode, OnnxInputs, OnnxNode};
use pumice_ir::{ConstEval, GraphBuilder, Value};
use pumice_types::{DType, Tensor};
use std::collections::BTreeMap;

/// Values of a graph by name; the run knows what is hidden, the builder the rest.
struct Around {
    names: Vec<&'static str>,
    tensors: BTreeMap<&'static str, Tensor>,
    hidden: Vec<&'static str>,
    largest: Option<u64>,
}

impl Around {
    fn of(names: &[&'static str], tensors: Vec<(&'static str, Tensor)>) -> Around {
        let tensors = tensors.into_iter().collect();
        Around { names: names.to_vec(), tensors, hidden: Vec::new(), largest: None }
    }
}

impl OnnxInputs for Around {
    fn count(&self) -> usize {
        self.names.len()
    }

    fn value(&mut self, g: &GraphBuilder, place: usize) -> Option<Value> {
        let name = self.names[place];
        self.outer(g, name)
    }

    fn constant(&self, place: usize) -> Option<Tensor> {
        self.outer_constant(self.names[place])
    }

    /// The sum of a value and zero is none that the builder knows.
    fn outer(&mut self, g: &GraphBuilder, name: &str) -> Option<Value> {
        let value = g.constant(self.tensors.get(name)?.clone());
        let zero = || g.cast(g.floor(g.constant_scalar(DType::F32, 0.5)), DType::I64);
        Some(match (self.hidden.contains(&name), g.type_of(value)?.dtype()) {
            (true, DType::Bool) => g.cast(g.add(g.cast(value, DType::I64), zero()), DType::Bool),
            (true, DType::I64) => g.add(value, zero()),
            _ => value,
        })
    }

    fn outer_constant(&self, name: &str) -> Option<Tensor> {
        self.tensors.get(name).filter(|_| !self.hidden.contains(&name)).cloned()
    }

    fn largest_extent(&self) -> Option<u64> {
        self.largest
    }
}

fn node(op: &str, inputs: &[&str], outputs: &[&str]) -> OnnxGraphNode {
    let names = |list: &[&str]| list.iter().map(|&name| name.to_owned()).collect();
    OnnxGraphNode {
        op: op.to_owned(),
        inputs: names(inputs),
        outputs: names(outputs),
        ..OnnxGraphNode::default()
    }
}

fn graph(inputs: &[&str], nodes: Vec<OnnxGraphNode>, outputs: &[&str]) -> OnnxAttribute {
    let names = |list: &[&str]| list.iter().map(|&name| name.to_owned()).collect();
    let initializers = [("one".to_owned(), numbers(&[1.0]))].into();
    OnnxAttribute::Graph(OnnxGraph { inputs: names(inputs), outputs: names(outputs), initializers, nodes })
}

fn numbers(list: &[f32]) -> Tensor {
    Tensor::new(list, &[list.len() as u64]).expect("a list")
}

fn count(n: i64) -> Tensor {
    Tensor::new(&[n], &[]).expect("one")
}

fn truth(b: bool) -> Tensor {
    Tensor::bools(&[b], &[]).expect("one")
}

fn results(
    op: &str,
    attributes: Vec<(&str, OnnxAttribute)>,
    outputs: usize,
    mut around: Around,
) -> Result<Vec<Vec<f32>>, String> {
    let attributes = attributes.into_iter().map(|(name, a)| (name.to_owned(), a)).collect();
    let node = OnnxNode { op: op.to_owned(), opset: 24, attributes, outputs: vec![true; outputs] };
    let g = GraphBuilder::new("node");
    let made = onnx::build(&g, &node, &mut around).map_err(|e: OnnxError| e.to_string())?;
    made.into_iter().enumerate().for_each(|(i, y)| g.output(&format!("y{i}"), y));
    let graph = g.build().map_err(|e| e.to_string())?;
    let values = RefEval.eval(&graph).map_err(|e| e.to_string())?;
    values.iter().map(|t| t.to_vec::<f32>().map_err(|e| e.to_string())).collect()
}

/// Twice an outer value, or one more than it.
fn branches() -> Vec<(&'static str, OnnxAttribute)> {
    let then = graph(&[], vec![node("Add", &["x", "x"], &["y"])], &["y"]);
    let otherwise = graph(&[], vec![node("Add", &["x", "one"], &["y"])], &["y"]);
    vec![("then_branch", then), ("else_branch", otherwise)]
}

#[test]
fn branches_read_outer_values() {
    for (taken, want) in [(true, [6.0, -8.0]), (false, [4.0, -3.0])] {
        for hidden in [vec![], vec!["c"]] {
            let given = vec![("c", truth(taken)), ("x", numbers(&[3.0, -4.0]))];
            let around = Around { hidden, ..Around::of(&["c"], given) };
            assert_eq!(results("If", branches(), 1, around), Ok(vec![want.to_vec()]));
        }
    }
}

/// h + x and a copy of it, while the sum of h is small.
fn body(goes_on: &str) -> Vec<(&'static str, OnnxAttribute)> {
    let nodes = vec![
        node("Add", &["h", "x"], &["next"]),
        node("Less", &["next", "limit"], &["small"]),
        node("Identity", &["c"], &["same"]),
        node("Cast", &["i"], &["turn"]),
        node("Mul", &["next", "one"], &["copy"]),
    ];
    let mut nodes = nodes;
    nodes[3].attributes.insert("to".to_owned(), OnnxAttribute::Int(1));
    vec![("body", graph(&["i", "c", "h"], nodes, &[goes_on, "next", "copy", "turn"]))]
}

fn looped(
    m: i64,
    c: bool,
    hidden: &[&'static str],
    goes_on: &str,
    largest: Option<u64>,
) -> Result<Vec<Vec<f32>>, String> {
    let given = vec![
        ("m", count(m)),
        ("cond", truth(c)),
        ("h0", numbers(&[0.0])),
        ("x", numbers(&[2.0])),
        ("limit", numbers(&[5.0])),
    ];
    let around = Around { hidden: hidden.to_vec(), largest, ..Around::of(&["m", "cond", "h0"], given) };
    results("Loop", body(goes_on), 3, around)
}

/// What n turns leave and give.
fn after(n: usize) -> Result<Vec<Vec<f32>>, String> {
    let sums: Vec<f32> = (1..=n).map(|k| 2.0 * k as f32).collect();
    Ok(vec![vec![2.0 * n as f32], sums, (0..n).map(|i| i as f32).collect()])
}

#[test]
fn loops_take_as_many_turns_as_they_are_asked_for() {
    for n in [0, 1, 3, 20] {
        assert_eq!(looped(n, true, &[], "same", None), after(n as usize), "{n} known turns");
        assert_eq!(looped(n, true, &["m"], "same", Some(32)), after(n as usize), "{n} turns of a run");
    }
    for n in [0, 1, 3, 20, i64::MAX] {
        let taken = n.min(3) as usize;
        assert_eq!(looped(n, true, &[], "small", Some(32)), after(taken), "{n} turns at most");
        assert_eq!(
            looped(n, true, &["m", "cond"], "small", Some(32)),
            after(taken),
            "{n} turns of a run at most"
        );
    }
    for hidden in [&[][..], &["cond"]] {
        assert_eq!(looped(0, true, hidden, "same", Some(32)), after(0));
        assert_eq!(looped(-4, true, hidden, "same", Some(32)), after(0));
    }
    assert_eq!(looped(9, false, &[], "same", None), after(0));
}

/// Differences to the slice before, from the last one on.
fn scanned(extra: Vec<(&'static str, OnnxAttribute)>) -> Result<Vec<Vec<f32>>, String> {
    let body = graph(
        &["h", "s"],
        vec![node("Sub", &["s", "h"], &["d"]), node("Identity", &["s"], &["n"])],
        &["n", "d"],
    );
    let x = Tensor::new(&[1.0f32, 2.0, 4.0, 10.0, 20.0, 40.0], &[2, 3]).expect("six");
    let h = numbers(&[0.0, 0.0]);
    let attributes = [("body", body), ("num_scan_inputs", OnnxAttribute::Int(1))].into_iter().chain(extra);
    results("Scan", attributes.collect(), 2, Around::of(&["h", "x"], vec![("h", h), ("x", x)]))
}

#[test]
fn scans_go_along_any_axis_in_any_direction() {
    let ints = |list: &[i64]| OnnxAttribute::Ints(list.to_vec());
    let forward = vec![("scan_input_axes", ints(&[-1]))];
    assert_eq!(scanned(forward), Ok(vec![vec![4.0, 40.0], vec![1.0, 10.0, 1.0, 10.0, 2.0, 20.0]]));
    let backward = vec![
        ("scan_input_axes", ints(&[1])),
        ("scan_input_directions", ints(&[1])),
        ("scan_output_axes", ints(&[1])),
        ("scan_output_directions", ints(&[1])),
    ];
    assert_eq!(scanned(backward), Ok(vec![vec![1.0, 10.0], vec![-1.0, -2.0, 4.0, -10.0, -20.0, 40.0]]));
}

#[test]
fn what_is_wrong_is_told_by_name() {
    let ints = |list: &[i64]| OnnxAttribute::Ints(list.to_vec());
    let told = |result: Result<Vec<Vec<f32>>, String>, what: &str| {
        let e = result.expect_err("it is refused");
        assert!(e.contains(what), "{e}");
    };
    told(scanned(vec![("scan_input_directions", ints(&[2]))]), "`scan_input_directions` of `Scan`");
    told(scanned(vec![("scan_output_axes", ints(&[0, 0]))]), "`scan_output_axes` of `Scan`");
    told(scanned(vec![("scan_input_axes", ints(&[2]))]), "axis 2");
    told(looped(9, true, &["m"], "same", None), "largest_extent");
    told(looped(9, true, &[], "nothing", None), "`nothing`");
    let of_body = |nodes: Vec<OnnxGraphNode>, n: i64| {
        let given = vec![("m", count(n)), ("h0", numbers(&[1.0]))];
        let body = graph(&["i", "c", "h"], nodes, &["c", "y"]);
        results("Loop", vec![("body", body)], 1, Around::of(&["m", "", "h0"], given))
    };
    told(of_body(vec![node("SequenceInsert", &["h", "h"], &["y"])], 3), "`SequenceInsert`");
    told(of_body(vec![node("Add", &["h", "away"], &["y"])], 3), "`away`");
    let grows = || {
        let mut concat = node("Concat", &["h", "h"], &["y"]);
        concat.attributes.insert("axis".to_owned(), OnnxAttribute::Int(0));
        vec![concat]
    };
    told(of_body(grows(), 3), "what a turn leaves in place 0");
    told(of_body(grows(), 30), "what a turn leaves in place 0");
}
