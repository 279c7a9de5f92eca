//! The laws that depend on bindings, evaluated at the bindings of a run before it runs.
//!
//! In: a plan that the checker found sound at its samples. Bytes of a stranger can be right at every sample and wrong
//! between, so of every plan that was not just compiled here the laws are evaluated again at each new binding of its
//! symbols: the rule of every dispatch, every view in its span, values that are written in parts, outputs in their
//! slots. What also varies with scalars is evaluated at each of their new values; an argument that varies with a
//! scalar and is asked by no rule is a value, which kernels clamp. Dispatches that are alike are evaluated once.
//!
//! What does not depend on bindings was followed by `check`; the advance of the frame, grids and loops hold for all
//! bindings. The last [`REMEMBERED`] bindings are not evaluated again.

use super::Scope;
use super::bounds::{self, Corners};
use super::coverage::{Coverage, UseAt, filled};
use super::error::{CheckError, Fault, ProgramRef};
use super::expressions::view_names_scalar;
use super::footprint::{Sample, Samples, Steered, Subject};
use crate::plan::{Plan, Run};
use crate::region::Span;
use crate::step::{Step, StepId, Use, VersionId};
use crate::view::View;
use indexmap::IndexSet;
use pumice_types::{Bindings, DimExpr, ScalarId, SymbolId, Var};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Bindings that are remembered.
pub const REMEMBERED: usize = 1000;
/// Evaluations of rules that one call may take.
pub const MOST_EVALUATIONS: u64 = 1 << 24;
/// Dispatches that a dispatch is compared with: those of one layer stand close to those of the next.
const NEIGHBOURS: usize = 64;

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
}

pumice_types::debug_as_display!(BindingError);

/// The laws of every run that depend on bindings, and where they were found to hold.
#[derive(Debug)]
pub(crate) struct BindingLaws {
    runs: Vec<Laws>,
    known: Mutex<Known>,
}

/// Where laws hold.
#[derive(Debug, Default)]
struct Known {
    /// The run, whether scalars are among it, and the values of symbols and scalars; the oldest first.
    bindings: IndexSet<Box<[u64]>>,
    /// Rules evaluated so far.
    evaluations: u64,
}

/// Of one run.
#[derive(Debug, Default)]
struct Laws {
    by_symbols: Group,
    by_scalars: Group,
    /// Scalars that laws depend on.
    scalars: Vec<ScalarId>,
}

/// Laws that depend on the same.
#[derive(Debug, Default)]
struct Group {
    /// One dispatch of those that are alike.
    dispatches: Vec<StepId>,
    /// Views, each with the shortest span that it is of.
    views: Vec<(UseAt, Arc<View>, Span)>,
    /// Values that are written in parts.
    parts: Vec<(VersionId, Vec<UseAt>)>,
}

impl BindingLaws {
    /// Of a plan that was checked.
    pub(crate) fn of(plan: &Plan) -> BindingLaws {
        let runs = plan.runs.iter().map(|run| Laws::of(&Scope::of_run(plan, run), run)).collect();
        BindingLaws { runs, known: Mutex::default() }
    }

    /// Refuses replays that would take too long to look at.
    pub(crate) fn begin(&self, run: usize, replays: u32) -> Result<(), BindingError> {
        let Some(laws) = self.runs.get(run) else { return Ok(()) };
        let (once, each) = (laws.by_symbols.dispatches.len(), laws.by_scalars.dispatches.len());
        let evaluations = (each as u64).saturating_mul(replays.into()).saturating_add(once as u64);
        if evaluations <= MOST_EVALUATIONS {
            return Ok(());
        }
        Err(BindingError::Evaluations { replays, evaluations, most: MOST_EVALUATIONS })
    }

    /// Evaluates the laws of a run at bindings whose frame has these words, unless it is known that they hold.
    pub(crate) fn check(
        &self,
        plan: &Plan,
        run: usize,
        bindings: &Bindings,
        words: &[u32],
    ) -> Result<(), BindingError> {
        let (Some(laws), Some(of)) = (self.runs.get(run), plan.runs.get(run)) else { return Ok(()) };
        let sample = Sample { bindings, words: words.into() };
        let scope = Scope::of_run(plan, of);
        for (group, scalars) in [(&laws.by_symbols, None), (&laws.by_scalars, Some(&laws.scalars))] {
            if group.is_empty() {
                continue;
            }
            let key = key(plan, run, bindings, scalars);
            if self.known().bindings.contains(&key) {
                continue;
            }
            let steered = if scalars.is_some() { Steered::ByScalars } else { Steered::BySymbols };
            let found = group.fault(&scope, of, &sample, steered);
            let mut known = self.known();
            known.evaluations += group.dispatches.len() as u64;
            if let Some((step, fault)) = found {
                let origin = |id: StepId| (id, scope.program.steps[id.0 as usize].origin.to_string());
                let (program, step) = (Some(ProgramRef::Run(run as u32)), step.map(origin));
                return Err(BindingError::Unsound(Box::new(CheckError { program, step, fault })));
            }
            known.remember(key);
        }
        Ok(())
    }

    /// Rules evaluated so far.
    pub(crate) fn evaluations(&self) -> u64 {
        self.known().evaluations
    }

    fn known(&self) -> std::sync::MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn remember(&mut self, key: Box<[u64]>) {
        if self.bindings.len() >= REMEMBERED {
            self.bindings.shift_remove_index(0);
        }
        self.bindings.insert(key);
    }
}

/// What laws depend on, as numbers.
fn key(plan: &Plan, run: usize, bindings: &Bindings, scalars: Option<&Vec<ScalarId>>) -> Box<[u64]> {
    let symbols = (0..plan.symbols.len() as u32).map(|i| bindings.symbol(SymbolId(i)).unwrap_or(u64::MAX));
    let value = |id: &ScalarId| bindings.get(Var::Scalar(*id)).map_or(u64::MAX, |v| v as u64);
    let scalars_too = u64::from(scalars.is_some());
    [run as u64, scalars_too]
        .into_iter()
        .chain(symbols)
        .chain(scalars.into_iter().flatten().map(value))
        .collect()
}

impl Laws {
    fn of(scope: &Scope<'_>, run: &Run) -> Laws {
        let mut laws = Laws::default();
        laws.dispatches(scope, run);
        laws.views(scope);
        let mut coverage = Coverage::new(scope);
        scope.steps().for_each(|(_, step)| coverage.add(scope, step));
        for (version, uses) in coverage.parts(scope) {
            let by_scalars = uses.iter().any(|at| view_names_scalar(&at.of(scope.program).view));
            laws.group(by_scalars).parts.push((version, uses));
        }
        if !laws.by_scalars.is_empty() {
            laws.scalars = (0..scope.plan.scalars.len() as u32).map(ScalarId).collect();
        }
        laws
    }

    fn group(&mut self, by_scalars: bool) -> &mut Group {
        if by_scalars { &mut self.by_scalars } else { &mut self.by_symbols }
    }

    fn dispatches(&mut self, scope: &Scope<'_>, run: &Run) {
        let corners = Corners::of_program(scope);
        let samples = Samples::of(scope, &corners);
        let mut seen: Vec<Subject<'_>> = Vec::new();
        for (id, step) in scope.steps() {
            let Some(subject) = Subject::of_run(run, step).filter(Subject::varies) else { continue };
            if seen.iter().rev().take(NEIGHBOURS).any(|other| other.is_like(&subject)) {
                continue;
            }
            let by_scalars =
                subject.shown_by_scalars(&run.frame.words) || samples.steered_by_scalars(&subject);
            self.group(by_scalars).dispatches.push(id);
            seen.push(subject);
        }
    }

    fn views(&mut self, scope: &Scope<'_>) {
        // By the place of the shared view: one that is equal and lies elsewhere is looked at again.
        let mut places: BTreeMap<*const View, (bool, usize)> = BTreeMap::new();
        for (step, s) in scope.steps() {
            for (index, u) in s.uses.iter().enumerate().filter(|(_, u)| !u.view.is_static()) {
                let by_scalars = view_names_scalar(&u.view);
                let views = &mut self.group(by_scalars).views;
                match places.get(&Arc::as_ptr(&u.view)) {
                    Some(&(_, at)) if views[at].2.len <= u.span.len => {}
                    Some(&(_, at)) => views[at] = (UseAt { step, index }, Arc::clone(&u.view), u.span),
                    None => {
                        places.insert(Arc::as_ptr(&u.view), (by_scalars, views.len()));
                        views.push((UseAt { step, index }, Arc::clone(&u.view), u.span));
                    }
                }
            }
        }
    }
}

impl Group {
    fn is_empty(&self) -> bool {
        self.dispatches.is_empty() && self.views.is_empty() && self.parts.is_empty()
    }

    /// The first law that is broken.
    fn fault(
        &self,
        scope: &Scope<'_>,
        run: &Run,
        sample: &Sample<'_>,
        steered: Steered,
    ) -> Option<(Option<StepId>, Fault)> {
        let views = self.views.iter().find_map(|(at, view, span)| {
            Some((Some(at.step), bounds::view_at(at.index, view, *span, sample.bindings)?))
        });
        let dispatch = |id: &StepId| {
            let step = &scope.program.steps[id.0 as usize];
            Some((Some(*id), dispatch_fault(run, step, sample, steered)?))
        };
        let parts = |(version, uses): &(VersionId, Vec<UseAt>)| {
            let value = &scope.program.values[version.0 as usize];
            let uses: Vec<&Use> = uses.iter().map(|at| at.of(scope.program)).collect();
            let why = filled(value, &uses, sample.bindings).err()?;
            Some((None, Fault::Coverage { name: scope.name(*version), why }))
        };
        views
            .or_else(|| self.dispatches.iter().find_map(dispatch))
            .or_else(|| self.parts.iter().find_map(parts))
            .or_else(|| outputs(scope, run, sample.bindings))
    }
}

/// What a dispatch does wrong at these bindings.
fn dispatch_fault(run: &Run, step: &Step, sample: &Sample<'_>, steered: Steered) -> Option<Fault> {
    match Subject::of_run(run, step)?.try_at(sample) {
        Err(fault) => Some(fault),
        Ok(Steered::ByScalars) if steered == Steered::BySymbols => {
            Some(Fault::Argument { what: "a value that varies with a scalar steers it".to_owned() })
        }
        Ok(_) => None,
    }
}

/// An output that does not fit its bytes.
fn outputs(scope: &Scope<'_>, run: &Run, bindings: &Bindings) -> Option<(Option<StepId>, Fault)> {
    let varies = |d: &DimExpr| d.as_const().is_none();
    scope.plan.outputs.iter().zip(&run.outputs).filter(|(s, _)| s.shape.iter().any(varies)).find_map(
        |(slot, id)| {
            let value = scope.program.value(*id)?;
            let why = bounds::misfit(slot, value, bindings)?;
            Some((None, Fault::Slot { what: format!("output {}", slot.name), span: value.span, why }))
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Replays are looked at one by one before the first runs: a file that asks for too much is refused before the
    /// work.
    #[test]
    fn more_evaluations_than_are_made_are_refused() {
        let by_scalars = Group { dispatches: vec![StepId(0); 16], ..Group::default() };
        let runs = vec![Laws { by_scalars, ..Laws::default() }];
        let laws = BindingLaws { runs, known: Mutex::default() };
        assert_eq!(laws.begin(0, 1 << 20), Ok(()));
        let refused = laws.begin(0, (1 << 20) + 1).expect_err("one replay too many");
        assert!(refused.to_string().contains("1048577 replays take 16777232 evaluations"), "{refused}");
    }
}
