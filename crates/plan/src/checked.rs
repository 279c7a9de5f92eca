//! A plan that the checker found sound: what devices load.
//!
//! In: a [`Plan`], from the compiler, a file, or code of a user's. Out: the same plan, which nobody can change any
//! more, or every fault. There is no other way to make one, in any build, and none to change or to deserialize one.

use crate::check::{CheckError, CheckReport, check_with_needs};
use crate::needs::{Lack, Needs};
use crate::plan::Plan;
use pumice_types::Target;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A plan without a fault. Cheap to clone; clones are the same plan.
///
/// ```compile_fail
/// # fn change(checked: &mut pumice_plan::CheckedPlan) {
/// checked.name.clear(); // It cannot be changed.
/// # }
/// ```
///
/// ```compile_fail
/// # fn read(text: &str) -> pumice_plan::CheckedPlan {
/// serde::de::Deserialize::deserialize(text) // It cannot be read from a file: read a `Plan` and check it.
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct CheckedPlan {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    plan: Plan,
    report: CheckReport,
    needs: Needs,
    time: Duration,
}

/// A plan that is wrong: a defect of the compiler, or of what changed the plan after it was made.
#[derive(Clone, PartialEq)]
pub struct Unsound {
    /// Name of the plan.
    pub plan: String,
    /// Every fault (at most a thousand), one at least.
    pub faults: Vec<CheckError>,
}

impl CheckedPlan {
    /// Checks a plan.
    ///
    /// # Errors
    /// Every fault of the plan.
    pub fn new(plan: Plan) -> Result<CheckedPlan, Unsound> {
        let begin = Instant::now();
        match check_with_needs(&plan) {
            Ok((report, needs)) => Ok(CheckedPlan::of(plan, report, needs, begin)),
            Err(faults) => Err(Unsound { plan: plan.name, faults }),
        }
    }

    /// A plan as it is, for tests of what lies below the checker (guards, validation, the interpreter's own nets).
    #[cfg(feature = "unsound")]
    pub fn unsound(plan: Plan) -> CheckedPlan {
        let needs = Needs::of(&plan);
        CheckedPlan::of(plan, CheckReport::default(), needs, Instant::now())
    }

    fn of(plan: Plan, report: CheckReport, needs: Needs, begin: Instant) -> CheckedPlan {
        CheckedPlan { inner: Arc::new(Inner { plan, report, needs, time: begin.elapsed() }) }
    }

    /// What was counted.
    pub fn report(&self) -> &CheckReport {
        &self.inner.report
    }

    /// How long the check took.
    pub fn check_time(&self) -> Duration {
        self.inner.time
    }

    /// Limits and features that the plan uses.
    pub fn needs(&self) -> &Needs {
        &self.inner.needs
    }

    /// Where a device's limits or features fall short of what the plan uses; names of targets do not matter. Memory is
    /// not among it: that is asked for when it is taken.
    pub fn lacks(&self, device: &Target) -> Vec<Lack> {
        self.inner.needs.lacks(device)
    }

    /// The plan, to be changed. It must be checked anew before a device takes it.
    pub fn into_plan(self) -> Plan {
        Arc::try_unwrap(self.inner).map_or_else(|shared| shared.plan.clone(), |inner| inner.plan)
    }
}

impl Deref for CheckedPlan {
    type Target = Plan;

    fn deref(&self) -> &Plan {
        &self.inner.plan
    }
}

/// Equal plans, whatever it took to check them.
impl PartialEq for CheckedPlan {
    fn eq(&self, other: &CheckedPlan) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner) || self.inner.plan == other.inner.plan
    }
}

impl AsRef<Plan> for CheckedPlan {
    fn as_ref(&self) -> &Plan {
        self
    }
}

impl fmt::Display for CheckedPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.inner.plan, f)
    }
}

impl fmt::Display for Unsound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 3;
        let shown: Vec<String> = self.faults.iter().take(SHOWN).map(ToString::to_string).collect();
        write!(f, "the plan `{}` is wrong, {} faults: {}", self.plan, self.faults.len(), shown.join("; "))
    }
}

pumice_types::debug_as_display!(Unsound);

impl std::error::Error for Unsound {}
