//! `pumice selftest`: every op's samples on this device against the reference.

use super::Outcome;
use crate::device::Device;
use pumice_compile::Options;
use pumice_cpu_ref::Array;
use pumice_cpu_ref::reference::Reference;
use pumice_cpu_ref::sample as data;
use pumice_ir::{Graph, Op, Sample};
use pumice_runtime::{OnStatus, RunOptions};
use pumice_types::TensorView;
use std::io::Write;

/// Arguments of `pumice selftest`.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    /// Only ops whose name contains this
    #[arg(long)]
    pub only: Option<String>,
    /// Run on the CPU interpreter
    #[arg(long)]
    pub cpu: bool,
    /// Leave out samples with a value of more elements
    #[arg(long, default_value_t = 1 << 20)]
    pub max_elements: u64,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Runs the samples and prints a table: op, samples, failures. All is well if there are none.
///
/// # Errors
/// Where the output cannot be written.
pub fn run(args: &Args, out: &mut dyn Write) -> Outcome {
    let device = if args.cpu { Device::cpu() } else { Device::best() };
    let write = |out: &mut dyn Write, text: String| writeln!(out, "{text}").map_err(|e| e.to_string());
    if !args.json {
        write(out, format!("device {}", device.name()))?;
    }
    let (mut all, mut failures, mut rows) = (0usize, Vec::new(), Vec::new());
    for &op in Op::NAMES.iter().filter(|op| args.only.as_ref().is_none_or(|o| op.contains(o.as_str()))) {
        let samples: Vec<Sample> = Op::samples(op);
        let mut failed = 0;
        let mut ran = 0;
        for sample in &samples {
            let Ok(graph) = &sample.graph else { continue };
            if largest(graph, sample) > args.max_elements {
                continue;
            }
            ran += 1;
            if let Err(why) = check(&device, sample, graph) {
                failed += 1;
                failures.push(format!("{op}: {}: {why}", sample.label));
            }
        }
        all += ran;
        rows.push(
            serde_json::json!({"op": op, "samples": ran, "failed": failed, "left_out": samples.len() - ran}),
        );
        if !args.json {
            write(
                out,
                format!("{op:24} {ran:5} samples  {failed:4} failed  {:4} left out", samples.len() - ran),
            )?;
        }
    }
    if args.json {
        write(
            out,
            serde_json::json!({"device": device.name(), "ops": rows, "failures": failures}).to_string(),
        )?;
    } else {
        failures.iter().try_for_each(|f| write(out, format!("FAILED {f}")))?;
        write(out, format!("{} passed, {} failed", all - failures.len(), failures.len()))?;
    }
    Ok(failures.is_empty())
}

fn largest(graph: &Graph, sample: &Sample) -> u64 {
    let bindings = data::bindings(sample, graph);
    let count = |v: &pumice_ir::ValueInfo| {
        v.ty.shape
            .iter()
            .map(|d| d.eval_extent(&bindings).unwrap_or(u64::MAX))
            .fold(1u64, u64::saturating_mul)
    };
    graph.values().map(|(_, v)| count(v)).max().unwrap_or(0)
}

fn check(device: &Device, sample: &Sample, graph: &Graph) -> Result<(), String> {
    let reference = Reference::new(sample, graph).map_err(|e| e.to_string())?;
    let bindings = data::bindings(sample, graph);
    let text = |e: pumice_runtime::RuntimeError| e.to_string();
    let exe = crate::compile(graph, device, &Options::default()).map_err(|e| e.to_string())?;
    for p in graph.params() {
        let tensor = data::leaf_tensor(sample, graph, p, &bindings, 0).map_err(|e| e.to_string())?;
        exe.set_param_view(&graph.value(p).name, tensor.view()).map_err(text)?;
    }
    let mut session = exe.session().map_err(text)?;
    for (name, value) in &sample.scalars {
        session.set_scalar(name, *value).map_err(text)?;
    }
    for (id, symbol) in graph.symbols().iter() {
        session.bind_symbol(&symbol.name, bindings.symbol(id).unwrap_or(symbol.max)).map_err(text)?;
    }
    let options = RunOptions { on_status: OnStatus::Report, ..RunOptions::default() };
    for run in 0..sample.runs {
        let mut inputs = Vec::new();
        for v in graph.inputs() {
            let tensor = data::leaf_tensor(sample, graph, v, &bindings, run).map_err(|e| e.to_string())?;
            inputs.push((graph.value(v).name.clone(), tensor));
        }
        let views: Vec<(&str, TensorView<'_>)> = inputs.iter().map(|(n, t)| (n.as_str(), t.view())).collect();
        let outputs = session.run_with(&views, &options).map_err(text)?;
        for (i, output) in graph.outputs().iter().enumerate() {
            let got = outputs.at(i).map_err(text)?;
            if let Some(difference) = reference.difference(run as usize, i, &Array::from_tensor(got)) {
                return Err(format!("run {run}, output {}: {difference}", output.name));
            }
        }
    }
    Ok(())
}
