//! Gradients of PyTorch in f64, which `tests/data/gradients.py` writes, against those of the same graphs here.

use super::draws::Draws;
use super::methods::method;
use super::slopes::{Evaluator, Filled};
use pumice_cpu_ref::{Array, Data};
use pumice_ir::{GraphBuilder, Value, ValueType, text};
use pumice_types::{Bindings, DType};
use serde_json::Value as Json;
use std::sync::Arc;

const GOLDENS: &str = include_str!("../data/gradients.json");
/// Of the sum of a gradient's sizes.
const CLOSE: f64 = 1e-9;
/// How many cases there must be.
const CASES: usize = 150;

/// What an operand of a golden holds.
struct Operand {
    name: String,
    dtype: DType,
    shape: Vec<u64>,
    data: Data,
}

fn numbers(json: &Json) -> Vec<f64> {
    json.as_array().expect("a list").iter().map(|v| v.as_f64().expect("a number")).collect()
}

/// Numbers of [0, 1) with 24 bits, as the script draws them.
fn drawn(seed: usize, count: u64) -> Vec<f64> {
    let mut draws = Draws::new(seed as u64);
    (0..count).map(|_| (draws.next() >> 40) as f64 / f64::from(1u32 << 24)).collect()
}

impl Operand {
    fn read(json: &Json, seed: usize) -> Operand {
        let shape: Vec<u64> = numbers(&json["shape"]).iter().map(|&n| n as u64).collect();
        let dtype = match json["dtype"].as_str() {
            Some("i32") => DType::I32,
            Some("bool") => DType::Bool,
            _ => DType::F32,
        };
        let values = match (json["low"].as_f64(), json["width"].as_f64()) {
            (Some(low), Some(width)) => {
                drawn(seed, shape.iter().product()).iter().map(|u| low + width * u).collect()
            }
            _ => numbers(&json["values"]),
        };
        let data = match dtype.is_float() {
            true => Data::Float(values),
            false => Data::Int(values.iter().map(|&v| v as i64).collect()),
        };
        Operand { name: json["name"].as_str().expect("a name").to_owned(), dtype, shape, data }
    }
}

/// The case's graph, open, and its results; a method is asked for by its name.
fn open(case: &Json, operands: &[Operand]) -> (GraphBuilder, Vec<Value>) {
    if let Some(source) = case["graph"].as_str() {
        let graph = text::read(source).unwrap_or_else(|e| panic!("{e}:\n{source}"));
        let g = graph.edit();
        let find = |o: &pumice_ir::Output| g.find(&graph.value(o.value).name).expect("a value");
        let results = graph.outputs().iter().map(find).collect();
        return (g, results);
    }
    let g = GraphBuilder::new("golden");
    let input = |o: &Operand| {
        let shape: Vec<_> = o.shape.iter().map(|&n| pumice_types::DimExpr::constant(n as i64)).collect();
        g.input(&o.name, ValueType::new(o.dtype, shape))
    };
    let values: Vec<Value> = operands.iter().map(input).collect();
    let results = vec![method(case["method"].as_str().expect("a graph or a method"), &g, &values)];
    (g, results)
}

/// The sum of the results times drawn numbers, which are inputs that are filled here.
fn weighed(g: &GraphBuilder, results: &[Value], number: usize, filled: &mut Filled) -> Option<Value> {
    let mut loss = None;
    for (i, &y) in results.iter().enumerate() {
        let (name, ty) = (format!("weights of result {i}"), g.type_of(y)?);
        let shape: Vec<u64> = ty.shape.iter().filter_map(|d| d.as_extent()).collect();
        let values = drawn(1000 * number + 500 + i, shape.iter().product());
        let data = Data::Float(values.iter().map(|u| 4.0 * u - 2.0).collect());
        let part = g.reduce_sum(g.mul(y, g.input(&name, ty)), &[], false);
        filled.insert(name, Arc::new(Array { dtype: DType::F32, shape, data }));
        loss = Some(loss.map_or(part, |loss| g.add(loss, part)));
    }
    loss
}

/// The gradients of a case by its float operands, evaluated here.
fn gradients(number: usize, case: &Json, operands: Vec<Operand>) -> Result<Vec<Vec<f64>>, String> {
    let (g, results) = open(case, &operands);
    let mut filled = Filled::new();
    let loss = weighed(&g, &results, number, &mut filled).ok_or("no result")?;
    let floats = operands.iter().filter(|o| o.dtype.is_float());
    let wanted: Vec<Value> = floats.map(|o| g.find(&o.name).expect("an operand")).collect();
    for (i, gradient) in g.grad(loss, &wanted).into_iter().enumerate() {
        g.output(&format!("gradient {i}"), gradient);
    }
    let graph = g.build().map_err(|e| e.to_string())?;
    filled.extend(operands.into_iter().map(|o| {
        let array = Array { dtype: o.dtype, shape: o.shape, data: o.data };
        (o.name, Arc::new(array))
    }));
    let evaluator = Evaluator { graph: &graph, bindings: &Bindings::new(), filled: &filled };
    let mut outputs = evaluator.outputs(None)?;
    Ok(outputs.split_off(outputs.len() - wanted.len()))
}

/// Why a case differs.
fn differs(number: usize, case: &Json) -> Result<(), String> {
    let read = |(i, json)| Operand::read(json, 1000 * number + i);
    let operands: Vec<Operand> =
        case["operands"].as_array().expect("operands").iter().enumerate().map(read).collect();
    let floats = operands.iter().filter(|o| o.dtype.is_float());
    let names: Vec<String> = floats.map(|o| o.name.clone()).collect();
    let found = gradients(number, case, operands)?;
    let goldens = case["gradients"].as_array().expect("gradients");
    for ((name, found), golden) in names.iter().zip(&found).zip(goldens) {
        compare(found, &numbers(golden)).map_err(|why| format!("by {name}: {why}"))?;
    }
    Ok(())
}

fn compare(found: &[f64], golden: &[f64]) -> Result<(), String> {
    let size: f64 = golden.iter().map(|g| g.abs()).sum();
    let close = |(a, b): (&f64, &f64)| (a - b).abs() <= CLOSE * size;
    match found.len() == golden.len() && found.iter().zip(golden).all(close) {
        true => Ok(()),
        false => Err(format!("{found:?}, PyTorch has {golden:?}")),
    }
}

#[test]
fn as_pytorch_has_them() {
    let goldens: Json = serde_json::from_str(GOLDENS).expect("the goldens are JSON");
    let cases = goldens["cases"].as_array().expect("cases");
    let told = cases.iter().enumerate().filter_map(|(number, case)| {
        let name = case["name"].as_str().expect("a name");
        differs(number, case).err().map(|why| format!("{name}: {why}"))
    });
    let told: Vec<String> = told.collect();
    println!("{} of {} cases are PyTorch {}'s", cases.len() - told.len(), cases.len(), goldens["torch"]);
    assert!(told.is_empty(), "{}:\n{}", told.len(), told.join("\n"));
    assert!(cases.len() >= CASES, "{} cases", cases.len());
}
