//! The op suite: every sample of every op on a device, against the evaluator.

use crate::compare::Expected;
use pumice_compile::{CompileError, Options};
use pumice_cpu_ref::{RefEval, sample as data};
use pumice_ir::{Graph, Op, Sample};
use pumice_runtime::{Device, Executable, HostOps, OnStatus, RunOptions, RuntimeError, Session};
use pumice_types::{Bindings, TensorView};
use std::sync::Arc;

/// How one sample ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Every output of every run is close.
    Passed,
    /// Not run, for a reason that is counted and printed.
    Excluded(String),
    /// What is wrong.
    Failed(String),
}

/// A sample with the op it belongs to.
pub struct Case {
    /// Name of the op.
    pub op: &'static str,
    /// The sample.
    pub sample: Sample,
}

impl Case {
    /// `op: label`.
    pub fn name(&self) -> String {
        format!("{}: {}", self.op, self.sample.label)
    }
}

/// Every sample of every op, or of those whose name contains `only`.
pub fn cases(only: Option<&str>) -> Vec<Case> {
    let wanted = |op: &&&str| only.is_none_or(|o| op.contains(o));
    Op::NAMES
        .iter()
        .filter(wanted)
        .flat_map(|&op| Op::samples(op).into_iter().map(move |sample| Case { op, sample }))
        .collect()
}

/// Elements of the largest value, for runners with limits.
pub fn largest(graph: &Graph, bindings: &Bindings) -> u64 {
    let count = |v: &pumice_ir::ValueInfo| {
        v.ty.shape.iter().map(|d| d.eval_extent(bindings).unwrap_or(u64::MAX)).fold(1u64, u64::saturating_mul)
    };
    graph.values().map(|(_, v)| count(v)).max().unwrap_or(0)
}

/// A device with what the suite needs to know of it.
pub struct Runner {
    /// The device.
    pub device: Arc<dyn Device>,
    /// Its host ops.
    pub host: Arc<dyn HostOps>,
    /// Samples with a larger value are excluded and counted.
    pub max_elements: u64,
    /// Options of every compilation.
    pub options: Options,
}

impl Runner {
    /// Runs one sample.
    pub fn run(&self, case: &Case) -> Outcome {
        let graph = match &case.sample.graph {
            Ok(graph) => graph,
            Err(e) => return Outcome::Failed(format!("the sample is no graph: {e}")),
        };
        let bindings = data::bindings(&case.sample, graph);
        let size = largest(graph, &bindings);
        if size > self.max_elements {
            return Outcome::Excluded(format!("{size} elements, this runner takes {}", self.max_elements));
        }
        match self.compare(&case.sample, graph, &bindings) {
            Ok(outcome) => outcome,
            Err(e) => Outcome::Failed(e),
        }
    }

    fn compare(&self, sample: &Sample, graph: &Graph, bindings: &Bindings) -> Result<Outcome, String> {
        let expected = Expected::of(sample, graph, bindings)?;
        let plan = match pumice_compile::compile(graph, self.device.target(), &self.options, &RefEval) {
            Ok(plan) => plan,
            Err(e @ CompileError::Unsupported(_)) => return Err(format!("not compiled: {e}")),
            Err(e) => return Err(e.to_string()),
        };
        let text = |e: RuntimeError| e.to_string();
        let exe = Executable::new(self.device.clone(), plan, self.host.clone()).map_err(text)?;
        for p in graph.params() {
            let tensor = data::leaf_tensor(sample, graph, p, bindings, 0).map_err(|e| e.to_string())?;
            exe.set_param_view(&graph.value(p).name, tensor.view()).map_err(text)?;
        }
        let mut session = exe.session().map_err(text)?;
        for (name, value) in &sample.scalars {
            session.set_scalar(name, *value).map_err(text)?;
        }
        for (id, symbol) in graph.symbols().iter() {
            session.bind_symbol(&symbol.name, bindings.symbol(id).unwrap_or(symbol.max)).map_err(text)?;
        }
        for run in 0..sample.runs {
            run_once(&mut session, sample, graph, bindings, run, &expected)?;
        }
        Ok(Outcome::Passed)
    }
}

fn run_once(
    session: &mut Session,
    sample: &Sample,
    graph: &Graph,
    bindings: &Bindings,
    run: u32,
    expected: &Expected,
) -> Result<(), String> {
    let inputs = graph
        .inputs()
        .into_iter()
        .map(|v| {
            let tensor = data::leaf_tensor(sample, graph, v, bindings, run).map_err(|e| e.to_string())?;
            Ok((graph.value(v).name.clone(), tensor))
        })
        .collect::<Result<Vec<_>, String>>()?;
    let views: Vec<(&str, TensorView<'_>)> = inputs.iter().map(|(n, t)| (n.as_str(), t.view())).collect();
    let options = RunOptions { on_status: OnStatus::Report, ..RunOptions::default() };
    let outputs = session.run_with(&views, &options).map_err(|e| format!("run {run}: {e}"))?;
    let reported = session.status().flags != 0;
    if reported != expected.has_status(run as usize) {
        return Err(format!("run {run}: status reported: {reported}, expected {}", !reported));
    }
    if sample.status && !reported {
        return Err(format!("run {run}: the sample expects a status and there is none"));
    }
    for (i, output) in graph.outputs().iter().enumerate() {
        let got = outputs.at(i).map_err(|e| format!("run {run}: output {}: {e}", output.name))?;
        expected.check(run as usize, i, got).map_err(|e| format!("run {run}: output {} {e}", output.name))?;
    }
    Ok(())
}

/// Counts of a whole suite, with the failures.
#[derive(Default)]
pub struct Summary {
    /// How many passed.
    pub passed: usize,
    /// What was excluded, with the reason.
    pub excluded: Vec<(String, String)>,
    /// What failed, with the reason.
    pub failed: Vec<(String, String)>,
}

/// Runs all cases on a runner; `heard` is told of every case before and after it ran.
pub fn run_all(runner: &Runner, cases: &[Case], mut heard: impl FnMut(&Case, Option<&Outcome>)) -> Summary {
    let mut summary = Summary::default();
    for case in cases {
        heard(case, None);
        let outcome = runner.run(case);
        heard(case, Some(&outcome));
        match outcome {
            Outcome::Passed => summary.passed += 1,
            Outcome::Excluded(why) => summary.excluded.push((case.name(), why)),
            Outcome::Failed(why) => summary.failed.push((case.name(), why)),
        }
    }
    summary
}
