//! The laws that depend on bindings, evaluated at the bindings of a run before it runs.
//!
//! In: a plan that the checker found sound at its samples. Bytes of a stranger can be right at every sample and wrong
//! between, so of every plan that was not just compiled here the laws are evaluated again at each new binding of its
//! symbols: the rule of every dispatch, every view in its span and in what is written of its value, values that are
//! written in parts, outputs. What also varies with scalars is evaluated at each of their new values; an argument that
//! varies with a scalar and is asked by no rule is a value, which kernels clamp. Of alike dispatches one is evaluated
//! once.
//!
//! What does not depend on bindings was followed by `check`; the advance of the frame, grids and loops hold for all
//! bindings. The last [`REMEMBERED`] bindings are not evaluated again.

use super::Scope;
use super::bounds::{self, Corners};
use super::coverage::{Coverage, UseAt, filled_at};
use super::error::Fault;
use super::expressions::{names_scalar, view_names_scalar};
use super::footprint::{Alike, Sample, Samples, Steered, Subject};
use super::numbers::{At, Number};
use super::refusal::{About, Allowance, BindingError, MOST_EVALUATIONS, Unsure};
use super::search::{Broken, Search};
use super::written::{Written, elements_of};
use crate::frame::FrameSlot;
use crate::kernel::ArgValue;
use crate::plan::{Plan, Run};
use crate::region::Span;
use crate::step::{Grid, Step, StepId, StepKind, Use, VersionId};
use crate::view::View;
use indexmap::IndexSet;
use pumice_types::{Bindings, DimExpr, ScalarId, SymbolId, Var};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Bindings that are remembered.
pub const REMEMBERED: usize = 1000;

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
    by_symbols: Vec<Group>,
    by_scalars: Vec<Group>,
    /// Scalars that laws depend on.
    scalars: Vec<ScalarId>,
    /// What is written of values.
    written: Written,
}

/// Laws that depend on the same.
#[derive(Debug, Default)]
struct Group {
    /// Symbols that the run finds, each with its largest value: what they will be nobody knows before, so the laws are
    /// shown for all that they may be.
    found: Vec<(SymbolId, u64)>,
    /// One dispatch of those that are alike.
    dispatches: Vec<StepId>,
    /// Views, each with the shortest span that it is of.
    views: Vec<(UseAt, Arc<View>, Span)>,
    /// Reads of what may be shorter.
    reads: Vec<UseAt>,
    /// Values that are written in parts.
    parts: Vec<(VersionId, Vec<UseAt>)>,
    /// Rows of found words.
    rows: Vec<usize>,
    /// Whether outputs follow from what is found.
    has_outputs: bool,
}

impl BindingLaws {
    /// Of a plan that was checked.
    pub(crate) fn of(plan: &Plan) -> BindingLaws {
        let runs = plan.runs.iter().map(|run| Laws::of(&Scope::of_run(plan, run), run)).collect();
        BindingLaws { runs, known: Mutex::default() }
    }

    /// Refuses replays that would take too long to look at.
    pub(crate) fn begin(&self, run: usize, replays: u32) -> Result<Allowance, BindingError> {
        let Some(laws) = self.runs.get(run) else { return Ok(Allowance::of_call()) };
        let all = |groups: &[Group]| groups.iter().fold(0u64, |n, g| n.saturating_add(g.evaluations()));
        let (once, each) = (all(&laws.by_symbols), all(&laws.by_scalars));
        let evaluations = each.saturating_mul(replays.into()).saturating_add(once);
        if evaluations <= MOST_EVALUATIONS {
            return Ok(Allowance::of_call());
        }
        Err(BindingError::Evaluations { replays, evaluations, most: MOST_EVALUATIONS })
    }

    /// Evaluates the laws of a run at bindings whose frame has these words, unless it is known that they hold.
    pub(crate) fn check(
        &self,
        (plan, run): (&Plan, usize),
        bindings: &Bindings,
        words: &[u32],
        allowance: &mut Allowance,
    ) -> Result<(), BindingError> {
        let (Some(laws), Some(of)) = (self.runs.get(run), plan.runs.get(run)) else { return Ok(()) };
        let scope = Scope::of_run(plan, of);
        for (groups, scalars) in [(&laws.by_symbols, None), (&laws.by_scalars, Some(&laws.scalars))] {
            if groups.iter().all(Group::is_empty) {
                continue;
            }
            let key = key(plan, run, bindings, scalars);
            if self.known().bindings.contains(&key) {
                continue;
            }
            let steered = if scalars.is_some() { Steered::ByScalars } else { Steered::BySymbols };
            let before = allowance.left;
            let mut search = Search::new(of, &plan.symbols, (bindings, words), before);
            let held = groups
                .iter()
                .try_for_each(|group| group.hold((&scope, of, &laws.written), &mut search, steered));
            allowance.left = search.left();
            let mut known = self.known();
            known.evaluations += before - allowance.left;
            held.map_err(|doubt| doubt.named(&scope, run))?;
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
        let mut laws = Laws { written: Written::of(scope), ..Laws::default() };
        laws.dispatches(scope, run);
        laws.views(scope);
        laws.reads(scope);
        laws.parts(scope);
        laws.rows(scope, run);
        laws.outputs(scope, run);
        if !laws.by_scalars.iter().all(Group::is_empty) {
            laws.scalars = (0..scope.plan.scalars.len() as u32).map(ScalarId).collect();
        }
        laws
    }

    fn parts(&mut self, scope: &Scope<'_>) {
        let mut coverage = Coverage::new(scope);
        scope.steps().for_each(|(_, step)| coverage.add(scope, step));
        for (version, uses) in coverage.parts(scope) {
            let views = || uses.iter().map(|at| &*at.of(scope.program).view);
            let choices =
                || uses.iter().flat_map(|at| scope.program.steps[at.step.0 as usize].when.branches());
            let by_scalars = views().any(view_names_scalar) || choices().any(|b| names_scalar(&b.taken));
            let of_views = views().flat_map(View::expressions);
            let found = Found(scope).of_expressions(of_views.chain(choices().map(|b| &b.taken)));
            self.group(by_scalars, found).parts.push((version, uses));
        }
    }

    fn rows(&mut self, scope: &Scope<'_>, run: &Run) {
        for (i, row) in run.frame.found.iter().enumerate() {
            let symbols: Vec<DimExpr> = row.symbols.iter().map(|id| DimExpr::symbol(*id)).collect();
            self.group(false, Found(scope).of_expressions(&symbols)).rows.push(i);
        }
    }

    fn outputs(&mut self, scope: &Scope<'_>, run: &Run) {
        let values = run.outputs.iter().filter_map(|id| elements_of(scope, scope.program.value(*id)?));
        let slots = scope.outputs().iter().map(|slot| &*slot.shape);
        let extents: Vec<&DimExpr> = slots.chain(values).flatten().collect();
        if extents.iter().any(|e| e.as_const().is_none()) {
            let found = Found(scope).of_expressions(extents.iter().copied());
            self.group(extents.iter().any(|e| names_scalar(e)), found).has_outputs = true;
        }
    }

    fn groups(&mut self, by_scalars: bool) -> &mut Vec<Group> {
        if by_scalars { &mut self.by_scalars } else { &mut self.by_symbols }
    }

    /// Which of the groups has laws that depend on these found symbols.
    fn place(&mut self, by_scalars: bool, found: Vec<(SymbolId, u64)>) -> usize {
        let groups = self.groups(by_scalars);
        groups.iter().position(|g| g.found == found).unwrap_or_else(|| {
            groups.push(Group { found, ..Group::default() });
            groups.len() - 1
        })
    }

    fn group(&mut self, by_scalars: bool, found: Vec<(SymbolId, u64)>) -> &mut Group {
        let at = self.place(by_scalars, found);
        &mut self.groups(by_scalars)[at]
    }

    fn dispatches(&mut self, scope: &Scope<'_>, run: &Run) {
        let corners = Corners::of_program(scope);
        let samples = Samples::of(scope, &corners);
        let mut seen = Alike::default();
        for (id, step) in scope.steps() {
            let Some(subject) = Subject::of_run(run, step).filter(Subject::varies) else { continue };
            if seen.knows(&subject) {
                continue;
            }
            let by_scalars =
                subject.shown_by_scalars(&run.frame.words) || samples.steered_by_scalars(&subject);
            let found = Found(scope).of_step(step, &run.frame.words);
            self.group(by_scalars, found).dispatches.push(id);
            seen.add(subject);
        }
    }

    fn reads(&mut self, scope: &Scope<'_>) {
        let mut seen: IndexSet<(*const View, VersionId, Span)> = IndexSet::new();
        for (step, s) in scope.steps() {
            for (index, u) in s.uses.iter().enumerate() {
                if self.written.is_within(scope, s, u)
                    || !seen.insert((Arc::as_ptr(&u.view), u.content, u.span))
                {
                    continue;
                }
                self.read(scope, u, UseAt { step, index });
            }
        }
    }

    fn read(&mut self, scope: &Scope<'_>, u: &Use, at: UseAt) {
        let value = scope.program.value(u.content).and_then(|v| elements_of(scope, v));
        let extents = || value.into_iter().flatten();
        let found = Found(scope).of_expressions(u.view.expressions().chain(extents()));
        let by_scalars = view_names_scalar(&u.view) || extents().any(names_scalar);
        self.group(by_scalars, found).reads.push(at);
    }

    fn views(&mut self, scope: &Scope<'_>) {
        // By the place of the shared view: one that is equal and lies elsewhere is looked at again.
        let mut places: BTreeMap<*const View, (bool, usize, usize)> = BTreeMap::new();
        for (step, s) in scope.steps() {
            for (index, u) in s.uses.iter().enumerate().filter(|(_, u)| !u.view.is_static()) {
                let shown = (UseAt { step, index }, Arc::clone(&u.view), u.span);
                if let Some(&(by_scalars, group, at)) = places.get(&Arc::as_ptr(&u.view)) {
                    let known = &mut self.groups(by_scalars)[group].views[at];
                    if u.span.len < known.2.len {
                        *known = shown;
                    }
                    continue;
                }
                let by_scalars = view_names_scalar(&u.view);
                let group = self.place(by_scalars, Found(scope).of_views([&*u.view]));
                let views = &mut self.groups(by_scalars)[group].views;
                places.insert(Arc::as_ptr(&u.view), (by_scalars, group, views.len()));
                views.push(shown);
            }
        }
    }
}

/// Which symbols that the run finds something follows from, each with its largest value.
struct Found<'s>(&'s Scope<'s>);

impl Found<'_> {
    fn of_expressions<'e>(&self, all: impl IntoIterator<Item = &'e DimExpr>) -> Vec<(SymbolId, u64)> {
        let symbols = &self.0.plan.symbols;
        let mut found = Vec::new();
        let largest = |v: Var| {
            let id = v.symbol()?;
            symbols.get(id).filter(|s| s.found).map(|s| (id, s.max))
        };
        all.into_iter().for_each(|e| e.visit_vars(|v| found.extend(largest(v))));
        found.sort_unstable();
        found.dedup();
        found
    }

    fn of_views<'v>(&self, views: impl IntoIterator<Item = &'v View>) -> Vec<(SymbolId, u64)> {
        self.of_expressions(views.into_iter().flat_map(View::expressions))
    }

    /// Of the views of a step, its arguments and its grid.
    fn of_step(&self, step: &Step, words: &[FrameSlot]) -> Vec<(SymbolId, u64)> {
        let StepKind::Dispatch { call, grid } = &step.kind else { return Vec::new() };
        let args = call.args.iter().filter_map(|a| match a {
            ArgValue::Frame(word) => Some(*word..word.saturating_add(1)),
            ArgValue::U32(_) => None,
        });
        let grid = match grid {
            Grid::Frame { word, .. } => Some(word.0..word.0.saturating_add(3)),
            Grid::Static(_) => None,
        };
        let slots = args.chain(grid).flatten().filter_map(|word| words.get(word as usize));
        let of_words: Vec<DimExpr> = slots.filter_map(FrameSlot::expression).collect();
        let of_views = step.uses.iter().flat_map(|u| u.view.expressions());
        let choices = step.when.branches().iter().map(|b| &b.taken);
        self.of_expressions(of_views.chain(&of_words).chain(choices))
    }
}

impl Group {
    fn is_empty(&self) -> bool {
        let has_none = self.dispatches.is_empty() && self.views.is_empty() && self.parts.is_empty();
        has_none && self.reads.is_empty() && self.rows.is_empty() && !self.has_outputs
    }

    /// Evaluations at one binding, at least.
    fn evaluations(&self) -> u64 {
        let lists = [self.views.len(), self.reads.len(), self.parts.len(), self.rows.len(), 1];
        let all: usize = if self.found.is_empty() { 0 } else { lists.iter().sum() };
        (self.dispatches.len() + all) as u64
    }

    /// Asks a law, whatever is found.
    fn ask(
        &self,
        search: &mut Search<'_>,
        about: About,
        law: impl Fn(&Sample<'_>) -> Option<Broken>,
    ) -> Result<(), Unsure> {
        let answer = match (self.found.is_empty(), &about) {
            (false, _) => search.ask_all(&self.found, law),
            (true, About::Step(_)) => search.ask(law, 1),
            (true, _) => search.ask(law, 0),
        };
        answer.map_err(|doubt| Unsure { doubt, about, found: self.found.clone() })
    }

    /// Asks every law.
    fn hold(
        &self,
        of: (&Scope<'_>, &Run, &Written),
        search: &mut Search<'_>,
        steered: Steered,
    ) -> Result<(), Unsure> {
        self.hold_views(of, search)?;
        let (scope, run, _) = of;
        for &id in &self.dispatches {
            let step = &scope.program.steps[id.0 as usize];
            let fault = |sample: &Sample<'_>| Some((Some(id), dispatch_fault(run, step, sample, steered)?));
            self.ask(search, About::Step(id), fault)?;
        }
        for (version, uses) in &self.parts {
            let value = &scope.program.values[version.0 as usize];
            self.ask(search, About::Value(*version), |sample| {
                let why = filled_at(scope, value, uses, sample.at()).err()?;
                Some((None, Fault::Coverage { name: scope.name(*version), why }))
            })?;
        }
        if self.has_outputs {
            return self.ask(search, About::Outputs, |sample| outputs(of, sample.at()));
        }
        Ok(())
    }

    /// Asks the laws of found words, of views and of what is read.
    fn hold_views(
        &self,
        (scope, run, written): (&Scope<'_>, &Run, &Written),
        search: &mut Search<'_>,
    ) -> Result<(), Unsure> {
        for &row in &self.rows {
            let fault = |sample: &Sample<'_>| Some((None, Fault::Frame(row_fault(run, row, sample)?)));
            self.ask(search, About::Row(row), fault)?;
        }
        for (at, view, span) in &self.views {
            self.ask(search, About::View(at.step), |sample| {
                Some((Some(at.step), bounds::view_at(at.index, view, *span, sample.at())?))
            })?;
        }
        for at in &self.reads {
            let step = &scope.program.steps[at.step.0 as usize];
            let u = (at.index, &step.uses[at.index]);
            self.ask(search, About::View(at.step), |sample| {
                Some((Some(at.step), written.fault_at(scope, step, u, sample.at())?))
            })?;
        }
        Ok(())
    }
}

/// A word of a row that has no value of 32 bits.
fn row_fault(run: &Run, row: usize, sample: &Sample<'_>) -> Option<String> {
    let row = run.frame.found.get(row)?;
    let words = run.frame.words.iter().enumerate().skip(row.first as usize).take(row.len as usize);
    words.filter_map(|(at, slot)| Some((at, slot.expression()?))).find_map(|(at, e)| {
        let wide = |n: Number<'_>| Some(format!("word {at} is {n}, which does not fit in 32 bits"));
        match sample.at().number(&e) {
            Ok(n) if n < i32::MIN => wide(n),
            Ok(n) if n > u32::MAX => wide(n),
            Ok(_) => None,
            Err(e) => Some(format!("word {at}: {e}")),
        }
    })
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
fn outputs((scope, run, written): (&Scope<'_>, &Run, &Written), at: At<'_>) -> Option<Broken> {
    let mut outputs = scope.outputs().iter().zip(&run.outputs);
    outputs.find_map(|(slot, id)| Some((None, written.misfit(scope, (slot, *id), at)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Replays are looked at one by one before the first runs: a file that asks for too much is refused before the
    /// work.
    #[test]
    fn more_evaluations_than_are_made_are_refused() {
        let by_scalars = Group { dispatches: vec![StepId(0); 16], ..Group::default() };
        let runs = vec![Laws { by_scalars: vec![by_scalars], ..Laws::default() }];
        let laws = BindingLaws { runs, known: Mutex::default() };
        assert!(laws.begin(0, 1 << 20).is_ok());
        let refused = laws.begin(0, (1 << 20) + 1).expect_err("one replay too many");
        assert!(refused.to_string().contains("1048577 replays take 16777232 evaluations"), "{refused}");
    }
}
