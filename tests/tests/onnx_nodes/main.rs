//! The node cases of the onnx package (`tests/reference/onnx_nodes.py`), each built by the importer's rule of its op,
//! on evaluator, interpreter and device: inputs, outputs and their meaning are by another hand.
//!
//! `data/onnx_nodes_known.txt` lists what fails and why; it is strict both ways.

mod case;
mod subgraphs;

use case::{NodeCase, NodeCases};
use pumice_cpu_ref::{Interpreter, RefEval, RefHostOps};
use pumice_ir::{ConstEval, Graph};
use pumice_runtime::{Device, Executable};
use pumice_tests::known::Known;
use pumice_tests::op_suite::{Runner, Summary};
use pumice_tests::share::Share;
use pumice_types::{Target, Tensor};
use std::sync::Arc;

/// What must pass at least.
const PASSED: usize = 1_000;

/// Every case of a share through `outputs`, against its own results and the list.
fn all_as_listed(share: Share, outputs: impl Fn(&NodeCase<'_>) -> Result<Vec<Tensor>, String>) {
    let cases = NodeCases::committed();
    let cases: Vec<NodeCase<'_>> =
        cases.iter().enumerate().filter(|(i, _)| share.has_of_few(*i)).map(|(_, case)| case).collect();
    let mut summary = Summary::default();
    for case in &cases {
        match outputs(case).and_then(|outputs| case.compare(&outputs)) {
            Ok(()) => summary.passed += 1,
            Err(why) => summary.failed.push((case.name().to_owned(), why)),
        }
    }
    println!("{} passed, {} failed", summary.passed, summary.failed.len());
    let known = Known::parse(include_str!("../../data/onnx_nodes_known.txt"));
    let known = known.only(|name| share.is_all() || cases.iter().any(|case| case.name() == name));
    let unexpected = known.unexpected(&summary);
    assert!(unexpected.is_empty(), "{} unexpected:\n{}", unexpected.len(), unexpected.join("\n"));
    let promised = if share.is_all() { PASSED } else { PASSED / 5 };
    assert!(summary.passed >= promised, "{} passed, {promised} are promised", summary.passed);
}

fn by_device(device: &Arc<dyn Device>, share: Share) {
    let runner = Runner::new(device.clone(), u64::MAX);
    all_as_listed(share, |case| {
        let (graph, inputs) = case.graph(false)?;
        run(&runner, &graph, &inputs)
    });
}

fn run(runner: &Runner, graph: &Graph, inputs: &[(String, Tensor)]) -> Result<Vec<Tensor>, String> {
    let plan = runner.plan(graph)?;
    let exe =
        Executable::new(runner.device.clone(), plan, Arc::new(RefHostOps)).map_err(|e| e.to_string())?;
    let mut session = exe.session().map_err(|e| e.to_string())?;
    let views: Vec<_> = inputs.iter().map(|(name, tensor)| (name.as_str(), tensor.view())).collect();
    session.run(&views).map_err(|e| e.to_string())?;
    let read = |i| session.read_output(i).map_err(|e| e.to_string());
    (0..graph.outputs().len()).map(read).collect()
}

#[test]
fn the_evaluator_agrees() {
    all_as_listed(Share::ALL, |case| {
        let (graph, _) = case.graph(true)?;
        RefEval.eval(&graph).map_err(|e| e.to_string())
    });
}

#[test]
fn the_interpreter_agrees() {
    let device: Arc<dyn Device> = Arc::new(Interpreter::new(Target::lavapipe()));
    by_device(&device, Share::ALL);
}

mod on_device {
    use super::{Arc, Device};

    #[test]
    fn the_device_agrees() {
        let device: Arc<dyn Device> = pumice_tests::device::open(&pumice_vulkan::DeviceOptions::default());
        super::by_device(&device, pumice_tests::share::Share::of_environment());
    }
}
