//! Kernels on large operands: tensors as large as one allocation of the device allows (several GiB on a
//! GPU), whose first, middle and last elements are looked at. Element indices reach 2³⁰ words and, in weights of 16
//! bits, 2³¹; byte offsets reach 2³².
//!
//! In: arguments alone, so that the program can be carried to another machine. Operands are filled by one formula of
//! the element's index ([`data::at`]), so that any result can be checked without the others. Out: a line per case, JSON
//! if asked for; exit code 1 if a result is wrong. A case that the compiler or the device refuses says so. Small sizes
//! (`--elements 65536`, the default on a CPU driver) run in CI, to see that the program itself is right.

mod data;
mod products;
mod rows;
mod streams;

use clap::Parser;
use data::Outcome;
use pumice_compile::Options;
use pumice_cpu_ref::{RefEval, RefHostOps};
use pumice_ir::Graph;
use pumice_plan::CheckedPlan;
use pumice_runtime::{Device, Executable, Outputs};
use pumice_tests::{device, op_suite};
use pumice_types::{DType, Tensor, TensorView};
use pumice_vulkan::{DeviceOptions, VulkanDevice};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

/// Runs every kernel family on operands of several GiB.
#[derive(Parser)]
struct Args {
    /// Elements of 32 bits of the largest operand; without it as many as one allocation holds, on a CPU driver 65536.
    #[arg(long)]
    elements: Option<u64>,
    /// Only cases whose name contains this.
    #[arg(long)]
    only: Option<String>,
    /// Writes the results to this file.
    #[arg(long)]
    json: Option<PathBuf>,
}

/// Extents of the operands.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Elements of a large operand of 32 bits: rows · columns.
    pub elements: u64,
    /// Rows of a large operand.
    pub rows: u64,
    /// Columns of a large operand; a multiple of 64.
    pub columns: u64,
}

/// Looks at the outputs of one run: the worst error, as a part of what is allowed.
type Check = Box<dyn Fn(&Outputs) -> Outcome<f64>>;

/// Name and maker of a case.
pub type Maker = (&'static str, fn(Size) -> Outcome<Case>);

/// A kernel at the far end of an operand.
pub struct Case {
    /// States and params are large and filled by the formula; outputs are small.
    pub graph: Graph,
    /// Inputs by name.
    pub inputs: Vec<(&'static str, Tensor)>,
    /// Elements of the state `x` that are not by the formula: from that one on.
    pub patch: Option<(u64, Vec<f32>)>,
    /// What the outputs must be.
    pub check: Check,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let device = device::open(&DeviceOptions::default());
    let size = size(args.elements, &device);
    println!("{}: {size:?}", device.name());
    let (lines, wrong) = run_all(&device, size, args.only.as_deref().unwrap_or_default());
    let report = serde_json::json!({ "device": device.name(), "elements": size.elements, "cases": lines });
    if let Some(file) = args.json
        && let Err(e) = std::fs::write(&file, report.to_string())
    {
        eprintln!("{}: {e}", file.display());
        return ExitCode::FAILURE;
    }
    println!("{} cases, {wrong} failed", lines.len());
    ExitCode::from(u8::from(wrong > 0 || lines.is_empty()))
}

/// Runs the cases whose name contains `only`: a line of JSON for each, and how many are wrong.
fn run_all(device: &Arc<VulkanDevice>, size: Size, only: &str) -> (Vec<serde_json::Value>, usize) {
    let (mut lines, mut wrong) = (Vec::new(), 0);
    let cases = streams::CASES.iter().chain(rows::CASES).chain(products::CASES);
    for (name, make) in cases.filter(|(name, _)| name.contains(only)) {
        let start = Instant::now();
        let (outcome, detail, kernels) =
            run(device, make(size)).unwrap_or_else(|why| ("failed", why.to_string(), Vec::new()));
        let seconds = start.elapsed().as_secs_f64();
        println!("{outcome:8} {name:28} {seconds:6.1} s  {detail}  {kernels:?}");
        wrong += usize::from(outcome == "failed");
        lines.push(serde_json::json!({
            "case": name, "outcome": outcome, "detail": detail, "seconds": seconds, "kernels": kernels,
        }));
    }
    (lines, wrong)
}

/// As large as one allocation holds beside a little padding, in rows of 4096 (small: 64).
fn size(wanted: Option<u64>, device: &VulkanDevice) -> Size {
    const PADDING: u64 = 16 << 20;
    let target = device.target();
    let fits = match target.features.cpu {
        true => 1 << 16,
        false => (target.limits.max_allocation.0 - PADDING) / 4,
    };
    let wanted = wanted.unwrap_or(fits).max(1 << 14);
    let columns = if wanted >= 1 << 26 { 4096 } else { 64 };
    // Rows are multiples of 64, for cases that cut them up.
    let rows = wanted / columns / 64 * 64;
    Size { elements: rows * columns, rows, columns }
}

type Done = (&'static str, String, Vec<String>);

/// Compiles, fills, runs once and checks.
fn run(device: &Arc<VulkanDevice>, case: Outcome<Case>) -> Outcome<Done> {
    let case = case?;
    let plan = match pumice_compile::compile(&case.graph, device.target(), &Options::default(), &RefEval) {
        Ok(plan) => plan,
        Err(e) => return Ok(("refused", e.to_string(), Vec::new())),
    };
    let plan = CheckedPlan::new(plan).map_err(|e| e.to_string())?;
    let mut kernels = op_suite::kernels(&plan);
    kernels.sort();
    kernels.dedup();
    let exe = match Executable::new(device.clone(), plan, Arc::new(RefHostOps)) {
        Ok(exe) => exe,
        Err(e) => return Ok(("refused", e.to_string(), kernels)),
    };
    for v in case.graph.params() {
        let (bytes, dtype, shape) = filled(&case.graph, v);
        exe.set_param_view(&case.graph.value(v).name, TensorView::new(dtype, &shape, &bytes)?)?;
    }
    let mut session = exe.session()?;
    for v in case.graph.states() {
        let (bytes, dtype, shape) = filled(&case.graph, v);
        session.state(&case.graph.value(v).name)?.write(TensorView::new(dtype, &shape, &bytes)?)?;
    }
    if let Some((start, values)) = &case.patch {
        let view = TensorView::f32(values, [values.len() as u64]);
        session.state("x")?.write_range(0, *start, view)?;
    }
    let inputs: Vec<(&str, TensorView<'_>)> = case.inputs.iter().map(|(n, t)| (*n, t.view())).collect();
    let worst = (case.check)(&session.run(&inputs)?)?;
    Ok(("passed", format!("{worst:.2} of what is allowed"), kernels))
}

/// Natural bytes of a leaf by the formula.
fn filled(graph: &Graph, leaf: pumice_ir::ValueId) -> (Vec<u8>, DType, Vec<u64>) {
    let ty = graph.ty(leaf);
    let shape = ty.static_shape().expect("the extents of these graphs are constants");
    let n = shape.iter().product();
    (if ty.dtype() == DType::BF16 { data::halves(n) } else { data::words(n) }, ty.dtype(), shape)
}

#[cfg(test)]
mod on_device {
    use super::*;

    /// Small sizes: the program and every formula of it are right, and nothing is refused.
    #[test]
    fn every_case_is_right_at_small_sizes() {
        let device = device::open(&DeviceOptions::default());
        let (lines, wrong) = run_all(&device, size(Some(1 << 16), &device), "");
        let refused = lines.iter().filter(|l| l["outcome"] != "passed").count();
        assert!(
            lines.len() >= 25 && wrong == 0 && refused == 0,
            "{wrong} wrong, {refused} not passed: {lines:#?}"
        );
    }
}
