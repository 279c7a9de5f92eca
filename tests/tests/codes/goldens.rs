//! Values by others' code (`tests/reference/goldens_codes.py`), on the evaluator, the interpreter and the device.

use pumice_cpu_ref::Array;
use pumice_ir::ops::DequantizeLinear;
use pumice_ir::{Fill, Sample, tensor};
use pumice_tests::op_suite::{Case, Runner};
use pumice_types::{DType, Encoding};
use serde::Deserialize;
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};

const GOLDENS: &str = include_str!("../../data/op_goldens_codes.json");

#[derive(Deserialize)]
struct Goldens {
    cases: Vec<Golden>,
}

#[derive(Deserialize)]
struct Golden {
    attributes: BTreeMap<String, Json>,
    operands: Vec<Operand>,
    results: Vec<Operand>,
}

#[derive(Clone, Deserialize)]
struct Operand {
    dtype: String,
    shape: Vec<u64>,
    elements: Vec<Json>,
}

impl Operand {
    fn encoding(&self) -> Encoding {
        self.dtype.parse().expect("an encoding")
    }

    fn floats(&self) -> Vec<f64> {
        let number = |v: &Json| match v.as_str() {
            Some("inf") => f64::INFINITY,
            Some("-inf") => f64::NEG_INFINITY,
            Some(_) => f64::NAN,
            None => v.as_f64().expect("a number"),
        };
        self.elements.iter().map(number).collect()
    }

    /// Numbers, or the bits of codes.
    fn fill(&self) -> Fill {
        if self.encoding().plain().is_some_and(DType::is_float) {
            return Fill::Floats(self.floats());
        }
        Fill::Ints(self.elements.iter().map(|v| v.as_i64().expect("an integer")).collect())
    }
}

impl Golden {
    fn op(&self) -> DequantizeLinear {
        let int = |name: &str| self.attributes[name].as_i64().expect("an integer");
        let output_dtype = self.attributes["output_dtype"].as_str().and_then(|name| name.parse().ok());
        DequantizeLinear { axis: int("axis"), block_size: int("block_size") as u64, output_dtype }
    }

    fn sample(&self) -> Sample {
        let names = ["q", "scale", "zero"];
        let label =
            format!("{:?} of {} {:?}", self.attributes, self.operands[0].dtype, self.operands[0].shape);
        let sample = Sample::graph(&label, |g| {
            let leaves = names.iter().zip(&self.operands);
            let leaves = leaves.map(|(name, o)| g.param(name, tensor(o.encoding(), o.shape.iter().copied())));
            let x: Vec<_> = leaves.collect();
            g.output("y", g.dequantize_linear(x[0], x[1], x.get(2).copied(), self.op()));
        });
        names.iter().zip(&self.operands).fold(sample, |sample, (name, o)| sample.fill(name, o.fill()))
    }

    /// What differs from the golden values, if anything.
    fn difference(&self, got: &Array) -> Option<String> {
        let want = &self.results[0];
        if want.encoding() != got.dtype || got.shape != want.shape {
            return Some(format!("it is {} {:?}, not {} {:?}", got.dtype, got.shape, want.dtype, want.shape));
        }
        let (got, want) = (got.to_f64(), want.floats());
        // The file's digits name an f32.
        let same = |a: f64, b: f64| a as f32 == b as f32 || a.is_nan() && b.is_nan();
        let at = got.iter().zip(&want).position(|(&a, &b)| !same(a, b))?;
        Some(format!("element {at} is {}, not {}", got[at], want[at]))
    }
}

fn goldens() -> Vec<Golden> {
    serde_json::from_str::<Goldens>(GOLDENS).expect("the committed form").cases
}

/// Panics with every case that differs.
fn all_agree(outputs: impl Fn(Sample) -> Result<Array, String>) {
    let cases = goldens();
    let told = cases.iter().filter_map(|case| {
        let sample = case.sample();
        let label = sample.label.clone();
        let why = match outputs(sample) {
            Ok(y) => case.difference(&y),
            Err(why) => Some(why),
        };
        why.map(|why| format!("{label}: {why}"))
    });
    let told: Vec<String> = told.collect();
    assert!(told.is_empty(), "{} of {}:\n{}", told.len(), cases.len(), told.join("\n"));
}

fn by_runner(runner: &Runner) {
    all_agree(|sample| {
        let plan = runner.plan(&sample.graph.clone().map_err(|e| e.to_string())?)?;
        let outputs = runner.outputs(&Case::new("dequantize_linear", sample), plan)?;
        Ok(Array::from_tensor(&outputs[0]))
    });
}

#[test]
fn the_interpreter_agrees() {
    by_runner(&Runner::interpreter(1 << 16));
}

mod on_device {
    #[test]
    fn the_device_agrees() {
        let device = pumice_tests::device::open(&pumice_vulkan::DeviceOptions::default());
        super::by_runner(&super::Runner::new(device, 1 << 16));
    }
}

/// At least eight cases of each type of codes, and two values of every attribute.
#[test]
fn attributes_vary() {
    let mut types: BTreeMap<String, usize> = BTreeMap::new();
    let mut values: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for case in goldens() {
        *types.entry(case.operands[0].dtype.clone()).or_default() += 1;
        for (name, value) in case.attributes {
            values.entry(name).or_default().insert(value.to_string());
        }
    }
    assert!(types.len() == 9 && types.values().all(|n| *n >= 8), "{types:?}");
    assert!(values.values().all(|v| v.len() >= 2), "{values:?}");
}
