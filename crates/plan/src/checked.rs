//! A plan that the checker found sound: what devices load.
//!
//! In: a [`Plan`], from the compiler, a file, or code of a user's. Out: the same plan, which nobody can change any
//! more, or every fault. There is no other way to make one, in any build, and none to change or to deserialize one.

use crate::check::{Allowance, BindingError, BindingLaws, CheckError, CheckReport, check_with_needs};
use crate::needs::{Lack, Needs};
use crate::plan::Plan;
use pumice_types::{Bindings, Target};
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
    /// What is evaluated at each new binding; nothing where the compiler of this process made the plan.
    laws: Option<BindingLaws>,
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
    /// Checks a plan that came from bytes, or from anybody's code. What the checker samples is evaluated again at each
    /// new binding of the plan's symbols, before that binding first runs ([`CheckedPlan::check_replay`]).
    ///
    /// # Errors
    /// Every fault of the plan.
    pub fn new(plan: Plan) -> Result<CheckedPlan, Unsound> {
        let begin = Instant::now();
        let (report, needs) = sound(&plan)?;
        let laws = Some(BindingLaws::of(&plan));
        Ok(CheckedPlan::of(plan, report, needs, (begin, laws)))
    }

    /// Checks a plan just as the compiler of this process made it: what holds at the checker's samples is taken to hold
    /// between them. A plan that was read, or changed since, belongs to [`CheckedPlan::new`].
    ///
    /// # Errors
    /// Every fault of the plan: defects of the compiler.
    pub fn compiled(plan: Plan) -> Result<CheckedPlan, Unsound> {
        let begin = Instant::now();
        let (report, needs) = sound(&plan)?;
        Ok(CheckedPlan::of(plan, report, needs, (begin, None)))
    }

    /// A plan as it is, for tests of what lies below the checker (guards, validation, the interpreter's own nets).
    #[cfg(feature = "unsound")]
    pub fn unsound(plan: Plan) -> CheckedPlan {
        let needs = Needs::of(&plan);
        CheckedPlan::of(plan, CheckReport::default(), needs, (Instant::now(), None))
    }

    fn of(
        plan: Plan,
        report: CheckReport,
        needs: Needs,
        (begin, laws): (Instant, Option<BindingLaws>),
    ) -> CheckedPlan {
        CheckedPlan { inner: Arc::new(Inner { plan, report, needs, time: begin.elapsed(), laws }) }
    }

    /// Asked before so many replays of a run are looked at one by one. Returns what looking at them may take.
    ///
    /// # Errors
    /// [`BindingError::Evaluations`] where looking at them would take more than
    /// [`MOST_EVALUATIONS`](crate::check::MOST_EVALUATIONS) evaluations of rules.
    pub fn begin_replays(&self, run: usize, replays: u32) -> Result<Allowance, BindingError> {
        self.inner.laws.as_ref().map_or_else(|| Ok(Allowance::of_call()), |laws| laws.begin(run, replays))
    }

    /// Asked before a replay of a run at these bindings, whose frame has these words. Evaluates the access rules of
    /// the run where they depend on bindings; nothing for a plan that was just compiled, and nothing at one of the
    /// last [`REMEMBERED`](crate::check::REMEMBERED) bindings.
    ///
    /// # Errors
    /// [`BindingError::Unsound`] with the first law that the plan breaks there, whatever the run finds;
    /// [`BindingError::Found`] with one that is not shown for all that it may find within the allowance.
    pub fn check_replay(
        &self,
        run: usize,
        bindings: &Bindings,
        words: &[u32],
        allowance: &mut Allowance,
    ) -> Result<(), BindingError> {
        let laws = self.inner.laws.as_ref();
        laws.map_or(Ok(()), |laws| laws.check((&self.inner.plan, run), bindings, words, allowance))
    }

    /// How many access rules were evaluated at bindings so far, for all that share this plan.
    pub fn rule_evaluations(&self) -> u64 {
        self.inner.laws.as_ref().map_or(0, BindingLaws::evaluations)
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

/// The checker's verdict over a plan.
fn sound(plan: &Plan) -> Result<(CheckReport, Needs), Unsound> {
    check_with_needs(plan).map_err(|faults| Unsound { plan: plan.name.clone(), faults })
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
