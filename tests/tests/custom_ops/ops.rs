//! The ops of these tests, and how graphs with them are compiled and run.

use pumice_compile::Options;
use pumice_cpu_ref::{CustomCall, CustomFailure, CustomOp, CustomOps, CustomTypes};
use pumice_ir::{Graph, ValueType};
use pumice_plan::CheckedPlan;
use pumice_runtime::{Executable, RuntimeError};
use pumice_tests::Fixture;
use pumice_types::{DType, Tensor};
use std::sync::{Arc, Mutex};

/// `a·x + b` of each element, and the sum of all elements of all operands. Attributes: `a b`.
pub struct Affine;

fn factors(attributes: &str) -> Result<[f64; 2], CustomFailure> {
    let (a, b) = attributes.split_once(' ').ok_or("two numbers are wanted")?;
    Ok([a.parse()?, b.parse()?])
}

impl CustomOp for Affine {
    fn types(&self, call: &CustomTypes<'_>) -> Result<Vec<ValueType>, CustomFailure> {
        factors(call.attributes)?;
        let first = call.operands.first().ok_or("it takes one operand or more")?;
        Ok(vec![first.clone(), ValueType::fixed(DType::F32, &[1])])
    }

    fn run(&self, call: &CustomCall<'_>) -> Result<Vec<Tensor>, CustomFailure> {
        let [a, b] = factors(call.attributes)?.map(|v| v as f32);
        let y: Vec<f32> = call.values::<f32>(0)?.iter().map(|x| a * x + b).collect();
        let mut sum = 0.0;
        for i in 0..call.operands.len() {
            sum += call.values::<f32>(i)?.iter().sum::<f32>();
        }
        Ok(vec![call.result(0, &y)?, call.result(1, &[sum])?])
    }

    /// Backwards and in f64: eighths give the same bits.
    fn reference(&self, call: &CustomCall<'_>) -> Result<Vec<Tensor>, CustomFailure> {
        let [a, b] = factors(call.attributes)?;
        let x = call.values::<f32>(0)?;
        let y: Vec<f32> = x.iter().map(|x| (a * f64::from(*x) + b) as f32).collect();
        let all = (0..call.operands.len()).rev().map(|i| call.values::<f32>(i));
        let sums = all.map(|v| v.map(|v| v.iter().rev().fold(0.0, |sum, v| sum + f64::from(*v))));
        let sum = sums.sum::<Result<f64, _>>()? as f32 + 0.0;
        Ok(vec![call.result(0, &y)?, call.result(1, &[sum])?])
    }
}

/// What [`Naughty`] does, and what it calls.
pub type Call = Arc<Mutex<Option<Box<dyn Fn() -> Result<(), String> + Send + Sync>>>>;

/// The operand itself, but for what its attribute says.
pub struct Naughty(pub Call);

impl CustomOp for Naughty {
    fn types(&self, call: &CustomTypes<'_>) -> Result<Vec<ValueType>, CustomFailure> {
        match call.attributes {
            "panicking rule" => panic!("no rule of mine"),
            "refusing rule" => Err("not of these".into()),
            _ => Ok(call.operands.to_vec()),
        }
    }

    fn run(&self, call: &CustomCall<'_>) -> Result<Vec<Tensor>, CustomFailure> {
        let x = call.values::<f32>(0)?;
        let shape = call.operands[0].shape();
        match call.attributes {
            "panic" => panic!("of element {}", x[0]),
            "panic with a value" => std::panic::panic_any(Bomb),
            "error" => return Err("out of paint".into()),
            "short" => return Ok(vec![Tensor::new(&x[1..], &[x.len() as u64 - 1])?]),
            "long" => return Ok(vec![Tensor::new(&[x.clone(), x.clone()].concat(), &[2 * x.len() as u64])?]),
            "dtype" => return Ok(vec![Tensor::new(&vec![0i32; x.len()], shape)?]),
            "count" => return Ok(Vec::new()),
            _ => {}
        }
        let calls = self.0.lock().map_err(|e| e.to_string())?.take();
        if let Some(calls) = calls {
            calls()?;
        }
        Ok(vec![call.result(0, &x)?])
    }
}

/// Nobody may drop it.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("dropped");
    }
}

/// Both ops, and what the second calls.
pub fn ops() -> (CustomOps, Call) {
    let call = Call::default();
    let ops = CustomOps::new().with("test.affine", Affine).expect("free");
    (ops.with("test.naughty", Naughty(call.clone())).expect("free"), call)
}

/// The graph on a device with these ops.
pub fn load(fixture: &Fixture, graph: &Graph, ops: &CustomOps) -> Result<Executable, RuntimeError> {
    let plan = CheckedPlan::new(fixture.plan(graph, &Options::default())).expect("sound");
    Executable::new(fixture.device.clone(), plan, Arc::new(ops.clone()))
}

/// Multiples of an eighth between -4 and 4.
pub fn eighths(n: usize, seed: u32) -> Vec<f32> {
    (0..n as u32).map(|i| (i.wrapping_mul(7).wrapping_add(seed * 5) % 65) as f32 / 8.0 - 4.0).collect()
}
