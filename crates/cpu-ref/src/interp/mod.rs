//! The interpreter: the other [`Device`]. It runs any plan by what its steps mean, on bytes placed as the plan says.
//!
//! In: a plan, and who prepares host steps. Out: the same sessions that a GPU has. A step sees the bytes of its own
//! uses through their views and nothing else; steps of one level run in an order of their own; whatever a run may not
//! read is filled with a pattern of NaNs before it. So a plan that gets by on luck does not get by here.
//!
//! Never here: kernels, grids beyond "none at all", arguments. What a step computes is its meaning.

mod execute;
mod memory;
mod prepare;
mod program;
mod session;

use crate::machine;
use pumice_plan::CheckedPlan;
use pumice_runtime::device::{Device, DeviceError, HostOps, Loaded};
use pumice_types::Target;
use std::sync::Arc;

/// How plans are interpreted. Nothing here changes the results of a right plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Decides the order of the steps of one level.
    pub seed: u64,
    /// Fills whatever a run may not read: scratch, outputs, results of host steps, the status block, fresh states.
    pub poison: Option<u32>,
}

impl Default for Options {
    /// A fixed seed and a quiet NaN.
    fn default() -> Options {
        Options { seed: 0, poison: Some(0x7fc0_0bad) }
    }
}

/// Runs plans on the CPU with the evaluator's own arithmetic: slow and exact.
///
/// ```
/// use pumice_cpu_ref::interp::Interpreter;
/// use pumice_runtime::Device;
/// use pumice_types::Target;
/// assert_eq!(Interpreter::new(Target::lavapipe()).name(), "interpreter (as lavapipe)");
/// ```
#[derive(Clone, Debug)]
pub struct Interpreter {
    target: Target,
    options: Options,
}

impl Interpreter {
    /// An interpreter that plans for this target run on.
    pub fn new(target: Target) -> Interpreter {
        Interpreter::with(target, Options::default())
    }

    /// An interpreter that takes what this machine has: lavapipe's limits but for the memory, which is the machine's,
    /// and trips of loops, which nothing ends. A single tensor is still limited to lavapipe's largest allocation,
    /// because plans count its elements in 32 bits.
    pub fn of_machine() -> Interpreter {
        let mut target = Target { name: "interpreter".to_owned(), ..Target::lavapipe() };
        target.limits.memory = machine::total_memory().unwrap_or(target.limits.memory);
        target.limits.loop_turns = None;
        Interpreter::new(target)
    }

    /// An interpreter with options.
    pub fn with(target: Target, options: Options) -> Interpreter {
        Interpreter { target, options }
    }
}

impl Device for Interpreter {
    fn name(&self) -> String {
        match self.target.name.as_str() {
            "interpreter" => "interpreter".to_owned(),
            other => format!("interpreter (as {other})"),
        }
    }

    fn target(&self) -> &Target {
        &self.target
    }

    /// Limits of the target do not matter: meanings run on no kernel.
    fn load(&self, plan: CheckedPlan, host: Arc<dyn HostOps>) -> Result<Arc<dyn Loaded>, DeviceError> {
        Ok(Arc::new(session::Interpreted::new(plan, host.as_ref(), self.options)?))
    }
}
