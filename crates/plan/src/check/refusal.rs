//! Why a plan does not run at some bindings: a law that it breaks there, or one that would take too long to look at.

use super::Scope;
use super::error::{CheckError, ProgramRef};
use super::search::Doubt;
use crate::step::{StepId, VersionId};
use pumice_types::SymbolId;

/// Evaluations of rules that one call may take.
pub const MOST_EVALUATIONS: u64 = 1 << 24;

/// Bindings at which a plan does not run.
#[derive(Clone, PartialEq, thiserror::Error)]
pub enum BindingError {
    /// A law that the plan breaks there.
    #[error("the plan is wrong for these extents and scalars, so it was changed after it was made: {0}")]
    Unsound(Box<CheckError>),
    /// Replays whose rules are too many to evaluate before they run.
    #[error(
        "{replays} replays take {evaluations} evaluations of rules before they run, at most {most} are made"
    )]
    Evaluations {
        /// Replays asked for.
        replays: u32,
        /// Evaluations that they take.
        evaluations: u64,
        /// The most there are.
        most: u64,
    },
    /// A law of the plan that is not shown to hold for all that a run may find.
    #[error(
        "to see that {law} is right for everything that may be found of {symbols} takes more than {most} evaluations of rules"
    )]
    Found {
        /// What the law is about.
        law: String,
        /// The found symbols that it depends on.
        symbols: String,
        /// Evaluations that one call may take.
        most: u64,
    },
}

pumice_types::debug_as_display!(BindingError);

/// Evaluations that the replays of one call may still take.
#[derive(Clone, Debug)]
pub struct Allowance {
    pub(super) left: u64,
}

impl Allowance {
    /// Of the replays of one call.
    pub(crate) fn of_call() -> Allowance {
        Allowance { left: MOST_EVALUATIONS }
    }
}

/// What a law is about.
pub(super) enum About {
    /// A view of the step.
    View(StepId),
    /// What the step accesses.
    Step(StepId),
    /// A value that is written in parts.
    Value(VersionId),
    /// The words of a row of what is found.
    Row(usize),
    /// The sizes of outputs.
    Outputs,
}

/// A law that is not believed.
pub(super) struct Unsure {
    pub doubt: Doubt,
    pub about: About,
    pub found: Vec<(SymbolId, u64)>,
}

impl Unsure {
    /// With the names of what it is about, in the run of this number.
    pub fn named(self, scope: &Scope<'_>, run: usize) -> BindingError {
        let named = |id: StepId| (id, scope.program.steps[id.0 as usize].origin.to_string());
        let (step, fault) = match self.doubt {
            Doubt::Broken(broken) => *broken,
            Doubt::TooMany => {
                let step = |what: &str, id| format!("{what} of s{} ({})", named(id).0.0, named(id).1);
                let law = match self.about {
                    About::View(id) => step("a view", id),
                    About::Step(id) => step("the access", id),
                    About::Value(id) => scope.name(id),
                    About::Row(row) => format!("row {row} of the frame"),
                    About::Outputs => "the size of an output".to_owned(),
                };
                let symbols = self.found.iter().filter_map(|(id, _)| scope.plan.symbols.get(*id));
                let symbols = symbols.map(|s| s.name.clone()).collect::<Vec<_>>().join(", ");
                return BindingError::Found { law, symbols, most: MOST_EVALUATIONS };
            }
        };
        let (program, step) = (Some(ProgramRef::Run(run as u32)), step.map(named));
        BindingError::Unsound(Box::new(CheckError { program, step, fault }))
    }
}
