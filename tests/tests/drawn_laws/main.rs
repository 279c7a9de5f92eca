//! Laws over drawn cases, with fixed seeds, on the interpreter and on the device, each beside the evaluator: sorts are
//! stable and permutations, top-k is their beginning, scatters with equal indices give the same bits twice, a resize of
//! symbolic extents is that of the same extents as constants; and ten million words of random numbers are the
//! generator's; what is found is what a plain loop finds.

/// Tests that a law holds on the interpreter and on the device, in all cases: `|seed, runner|` tries one.
macro_rules! kept_everywhere {
    ($law:expr) => {
        #[test]
        fn the_interpreter_keeps_them() {
            (0..crate::CASES).for_each(|seed| $law(seed, &crate::interpreter()));
        }

        mod on_device {
            use super::*;

            #[test]
            fn the_device_keeps_them() {
                let runner = crate::on_device();
                (0..crate::CASES).for_each(|seed| $law(seed, &runner));
            }
        }
    };
}

mod found;
mod order;
mod resizes;
mod scatters;
mod words;

use pumice_cpu_ref::sample::{bindings, evaluate, leaf_tensor};
use pumice_cpu_ref::{Array, EvalOptions};
use pumice_ir::{Graph, Sample};
use pumice_plan::CheckedPlan;
use pumice_tests::device;
use pumice_tests::op_suite::{Case, Outcome, Runner};
use pumice_types::Tensor;
use pumice_vulkan::DeviceOptions;

/// Cases of each law.
const CASES: u64 = 200;

/// A sample that is drawn, and its graph.
struct Drawn {
    case: Case,
}

impl Drawn {
    fn new(law: &'static str, sample: Sample) -> Drawn {
        if let Err(e) = &sample.graph {
            panic!("{law}: {}: {e}", sample.label);
        }
        Drawn { case: Case::new(law, sample) }
    }

    fn name(&self) -> String {
        self.case.name()
    }

    fn graph(&self) -> &Graph {
        self.case.sample.graph.as_ref().unwrap_or_else(|e| panic!("{}: {e}", self.name()))
    }

    fn plan(&self, runner: &Runner) -> CheckedPlan {
        runner.plan(self.graph()).unwrap_or_else(|e| panic!("{}: {e}", self.name()))
    }

    fn outputs(&self, runner: &Runner, plan: CheckedPlan) -> Vec<Tensor> {
        runner.outputs(&self.case, plan).unwrap_or_else(|e| panic!("{}: {e}", self.name()))
    }

    /// What the evaluator gives.
    fn evaluated(&self) -> Vec<Tensor> {
        let runs = evaluate(&self.case.sample, self.graph(), EvalOptions::default());
        let runs = runs.unwrap_or_else(|e| panic!("{}: {e}", self.name()));
        runs.iter().flat_map(|run| &run.outputs).map(|a| a.to_tensor().expect("fits")).collect()
    }

    /// The data of an input.
    fn input(&self, name: &str) -> Array {
        let (sample, graph) = (&self.case.sample, self.graph());
        let leaf = graph.find(name).expect("an input");
        let tensor = leaf_tensor(sample, graph, leaf, &bindings(sample, graph), 0);
        Array::from_tensor(&tensor.expect("it has data"))
    }

    /// Within the tolerance of its ops.
    fn is_as_evaluated(&self, runner: &Runner) {
        match runner.run(&self.case) {
            Outcome::Passed => {}
            Outcome::Excluded(why) | Outcome::Failed(why) => panic!("{}: {why}", self.name()),
        }
    }
}

fn interpreter() -> Runner {
    Runner::interpreter(1 << 22)
}

fn on_device() -> Runner {
    Runner::new(device::open(&DeviceOptions::default()), 1 << 24)
}
