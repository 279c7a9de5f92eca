//! The op suite: every sample of every op on a device, against the evaluator.
//!
//! In: cases and runners. Out: per case whether every output of every run is close, what was left out and why. The
//! reference of a case is evaluated once, whatever the number of runners.

use crate::known::Known;
use pumice_compile::{CompileError, Options};
use pumice_cpu_ref::{Array, Interpreter, RefEval, RefHostOps, Reference, sample as data};
use pumice_ir::ops::round_products;
use pumice_ir::{Graph, Op, Sample};
use pumice_plan::{CheckedPlan, KernelCall, Plan, StepKind};
use pumice_runtime::{Device, Executable, HostOps, RuntimeError, Session};
use pumice_types::{Bindings, Precision, Target, Tensor};
use pumice_vulkan::codegen::FloatControls;
use pumice_vulkan::{Addressing, CheckedInKernels, KernelSource};
use std::cell::OnceCell;
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
    /// What its products do with their factors.
    pub precision: Precision,
    reference: OnceCell<Result<Reference, String>>,
}

impl Case {
    /// A case of an op.
    pub fn new(op: &'static str, sample: Sample) -> Case {
        Case { op, sample, precision: Precision::Exact, reference: OnceCell::new() }
    }

    /// The same in another precision.
    pub fn in_precision(self, precision: Precision) -> Case {
        Case { precision, reference: OnceCell::new(), ..self }
    }

    /// Whether its graph multiplies.
    pub fn has_products(&self) -> bool {
        let multiplies = |graph: &Graph| graph.nodes().any(|(_, node)| node.op.factors() > 0);
        self.sample.graph.as_ref().is_ok_and(multiplies)
    }

    /// `op: label`.
    pub fn name(&self) -> String {
        format!("{}: {}", self.op, self.sample.label)
    }

    /// Elements of the largest value; 0 for what is no graph.
    pub fn elements(&self) -> u64 {
        let Ok(graph) = &self.sample.graph else { return 0 };
        largest(graph, &data::bindings(&self.sample, graph))
    }

    fn reference(&self, graph: &Graph) -> Result<&Reference, String> {
        let evaluate = || {
            let rounded = round_products(graph, self.precision);
            Reference::new(&self.sample, &rounded).map_err(|e| format!("the evaluator: {e}"))
        };
        self.reference.get_or_init(evaluate).as_ref().map_err(Clone::clone)
    }
}

/// Every sample of every op, or of those whose name contains `only`.
pub fn cases(only: Option<&str>) -> Vec<Case> {
    cases_of(|op| only.is_none_or(|o| op.contains(o)))
}

/// Every sample of the ops that are wanted.
pub fn cases_of(wanted: impl Fn(&str) -> bool) -> Vec<Case> {
    let ops = Op::NAMES.iter().copied().filter(|op| wanted(op));
    ops.flat_map(|op| Op::samples(op).into_iter().map(move |s| Case::new(op, s))).collect()
}

/// Part `part` of `parts`: neighbouring ops, about as many samples in each part.
pub fn part_of_cases(part: usize, parts: usize) -> Vec<Case> {
    let counts: Vec<usize> = Op::NAMES.iter().map(|op| Op::samples(op).len()).collect();
    let total: usize = counts.iter().sum();
    let mut before = 0;
    let mut mine = Vec::new();
    for (op, count) in Op::NAMES.iter().zip(counts) {
        if before * parts / total.max(1) == part {
            mine.push(*op);
        }
        before += count;
    }
    cases_of(|op| mine.contains(&op))
}

pub use pumice_cpu_ref::sample::largest;

/// A device with what the suite needs to know of it.
pub struct Runner {
    /// The device.
    pub device: Arc<dyn Device>,
    /// Its host ops.
    pub host: Arc<dyn HostOps>,
    /// What is compiled for: the device's own, or one that allows less.
    pub target: Target,
    /// Samples with a larger value are excluded and counted.
    pub max_elements: u64,
    /// Options of every compilation.
    pub options: Options,
}

impl Runner {
    /// A device as it comes, taking values of up to `max_elements`.
    pub fn new(device: Arc<dyn Device>, max_elements: u64) -> Runner {
        let (host, target) = (Arc::new(RefHostOps), device.target().clone());
        Runner { device, host, target, max_elements, options: Options::default() }
    }

    /// The interpreter.
    pub fn interpreter(max_elements: u64) -> Runner {
        let device = Arc::new(Interpreter::new(Target::lavapipe()));
        Runner::new(device, max_elements)
    }

    /// A device whose kernels reach operands through descriptors, opened with [`PlainTwins`].
    pub fn descriptor(device: Arc<dyn Device>, max_elements: u64) -> Runner {
        let runner = Runner::new(device, max_elements);
        Runner { target: PlainTwins::target(&runner.target), ..runner }
    }

    /// A device all of whose grids are folded: no more than 3 workgroups along x and y. So every kernel is seen in a
    /// grid of three dimensions, which sizes that a CPU can compute do not reach otherwise.
    pub fn folded(device: Arc<dyn Device>, max_elements: u64) -> Runner {
        let mut runner = Runner::new(device, max_elements);
        runner.target.limits.max_workgroup_count = [3, 3, 65_535];
        runner
    }

    /// A device that runs the kernels which another one's figures and table select, as far as its limits allow.
    pub fn selecting_as(device: Arc<dyn Device>, other: &Target, max_elements: u64) -> Runner {
        let runner = Runner::new(device, max_elements);
        Runner { target: runner.target.selecting_as(other), ..runner }
    }

    /// Runs one case.
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
        self.compared(case, graph, &bindings, case.precision)
    }

    /// Runs one case in another precision than that of its reference.
    pub fn run_against(&self, case: &Case, graph: &Graph, precision: Precision) -> Outcome {
        self.compared(case, graph, &data::bindings(&case.sample, graph), precision)
    }

    fn compared(&self, case: &Case, graph: &Graph, bindings: &Bindings, precision: Precision) -> Outcome {
        match self.compare(case, graph, bindings, precision) {
            Ok(()) => Outcome::Passed,
            Err(e) => Outcome::Failed(e),
        }
    }

    /// The plan of a graph for this runner.
    pub fn plan(&self, graph: &Graph) -> Result<CheckedPlan, String> {
        self.plan_in(self.options.precision, graph)
    }

    fn plan_in(&self, precision: Precision, graph: &Graph) -> Result<CheckedPlan, String> {
        let options = self.options.clone().precision(precision);
        let plan = match pumice_compile::compile(graph, &self.target, &options, &RefEval) {
            Ok(plan) => plan,
            Err(e @ CompileError::Unsupported(_)) => return Err(format!("not compiled: {e}")),
            Err(e) => return Err(e.to_string()),
        };
        CheckedPlan::new(plan).map_err(|e| e.to_string())
    }

    /// A session over a sample's graph under a plan of it, with its params, scalars and symbols in place.
    fn session(
        &self,
        plan: CheckedPlan,
        sample: &Sample,
        graph: &Graph,
        bindings: &Bindings,
    ) -> Result<Session, String> {
        let text = |e: RuntimeError| e.to_string();
        let exe = Executable::new(self.device.clone(), plan, self.host.clone()).map_err(text)?;
        data::session(&exe, sample, graph, bindings).map_err(|e| e.to_string())
    }

    /// Every output of every run of a case, under a plan of its graph.
    pub fn outputs(&self, case: &Case, plan: CheckedPlan) -> Result<Vec<Tensor>, String> {
        let sample = &case.sample;
        let graph = sample.graph.as_ref().map_err(ToString::to_string)?;
        let bindings = data::bindings(sample, graph);
        let mut session = self.session(plan, sample, graph, &bindings)?;
        let mut all = Vec::new();
        for run in 0..sample.runs {
            data::execute(&mut session, sample, graph, &bindings, run)
                .map_err(|e| format!("run {run}: {e}"))?;
            for i in 0..graph.outputs().len() {
                all.push(session.read_output(i).map_err(|e| e.to_string())?);
            }
        }
        Ok(all)
    }

    fn compare(
        &self,
        case: &Case,
        graph: &Graph,
        bindings: &Bindings,
        precision: Precision,
    ) -> Result<(), String> {
        let sample = &case.sample;
        let mut session = self.session(self.plan_in(precision, graph)?, sample, graph, bindings)?;
        for run in 0..sample.runs {
            data::execute(&mut session, sample, graph, bindings, run)
                .map_err(|e| format!("run {run}: {e}"))?;
            let reference = case.reference(graph)?;
            compare_run(&mut session, sample, graph, reference, run as usize)
                .map_err(|e| format!("run {run}: {e}"))?;
        }
        Ok(())
    }
}

/// The checked-in kernels, with the plain twin wherever a plan asks for a variant that keeps rows in registers: both
/// have the same grid, and descriptor forms are made of plain twins alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlainTwins;

impl PlainTwins {
    /// A target that gets plain kernels and such as have a twin: those of a CPU driver with the floor's features.
    pub fn target(own: &Target) -> Target {
        let mut target = own.clone().with_table(Target::lavapipe().table);
        (target.features.int64, target.features.subgroup_shuffle) = (false, false);
        target
    }
}

impl KernelSource for PlainTwins {
    fn spirv(
        &self,
        call: &KernelCall,
        form: Addressing,
        controls: FloatControls,
    ) -> Result<Vec<u32>, String> {
        let row_kernel =
            ["layer_norm", "norm_grad", "rms_norm", "softmax_rows"].contains(&call.kernel.0.as_ref());
        if row_kernel && call.variant.starts_with("fast") {
            let plain = KernelCall { variant: "plain".into(), ..call.clone() };
            return CheckedInKernels.spirv(&plain, form, controls);
        }
        CheckedInKernels.spirv(call, form, controls)
    }

    fn identity(&self) -> [u8; 32] {
        CheckedInKernels.identity().map(|b| b ^ 0x70)
    }
}

/// `kernel.variant` of every dispatch of a plan, those of the load programs first.
pub fn kernels(plan: &Plan) -> Vec<String> {
    let calls = plan.programs().flat_map(|p| &p.steps).filter_map(|s| match &s.kind {
        StepKind::Dispatch { call, .. } => Some(format!("{}.{}", call.kernel, call.variant)),
        _ => None,
    });
    calls.collect()
}

/// The plan has no fault that the checker knows.
pub fn checked(plan: &Plan) -> Result<(), String> {
    CheckedPlan::new(plan.clone()).map(drop).map_err(|e| e.to_string())
}

fn compare_run(
    session: &mut Session,
    sample: &Sample,
    graph: &Graph,
    reference: &Reference,
    run: usize,
) -> Result<(), String> {
    let reported = !session.status().is_clean();
    let expected = reference.run(run).is_some_and(|e| !e.status.is_empty());
    if reported != expected {
        return Err(format!("status reported: {reported}, by the evaluator: {expected}"));
    }
    if sample.status && !reported {
        return Err("the sample expects a status and there is none".to_owned());
    }
    let outputs = session.outputs().map_err(|e| e.to_string())?;
    for (i, output) in graph.outputs().iter().enumerate() {
        let got = outputs.at(i).map_err(|e| e.to_string())?;
        if let Some(difference) = reference.difference(run, i, &Array::from_tensor(got)) {
            return Err(format!("output {}: {difference}", output.name));
        }
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

impl Summary {
    /// Takes up how a case ended.
    pub fn add(&mut self, case: &Case, outcome: Outcome) {
        match outcome {
            Outcome::Passed => self.passed += 1,
            Outcome::Excluded(why) => self.excluded.push((case.name(), why)),
            Outcome::Failed(why) => self.failed.push((case.name(), why)),
        }
    }

    /// Prints the counts and every exclusion.
    pub fn print(&self, runner: &str) {
        let (passed, failed, excluded) = (self.passed, self.failed.len(), self.excluded.len());
        println!("{runner}: {passed} passed, {failed} failed, {excluded} excluded");
        self.excluded.iter().for_each(|(name, why)| println!("  excluded {name}: {why}"));
    }

    /// Panics with everything that is not as the list says.
    pub fn assert_as_known(&self, runner: &str, known: &Known) {
        self.print(runner);
        let lines = known.unexpected(self);
        assert!(lines.is_empty(), "{runner}: {} unexpected:\n{}", lines.len(), lines.join("\n"));
    }
}

/// Runs all cases on a runner; `heard` is called for every case before and after it ran.
pub fn run_all<'a>(
    runner: &Runner,
    cases: impl IntoIterator<Item = &'a Case>,
    mut heard: impl FnMut(&Case, Option<&Outcome>),
) -> Summary {
    let mut summary = Summary::default();
    for case in cases {
        heard(case, None);
        let outcome = runner.run(case);
        heard(case, Some(&outcome));
        summary.add(case, outcome);
    }
    summary
}
