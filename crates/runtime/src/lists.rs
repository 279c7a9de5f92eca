//! Cuts the steps of a GPU segment into *lists*: what is recorded together and never parted again.
//!
//! In: the levels of a segment with the costs of their steps, the figures and the bound of a device. Out: lists, in
//! order. A list is whole levels, or some steps of a level that alone is too long. It is predicted to last at most an
//! eighth of the bound at the upper bounds of the symbols, one step at least; so predictions may be wrong several
//! times over before a submission lasts too long. A bound of zero makes each level a list.
//!
//! Costs may come from a file and be anything: they choose how long lists are, at most [`LIST_STEPS`] steps, and
//! nothing else. No device here.

use pumice_plan::{Cost, Program, Step, StepId};
use pumice_types::target::{LevelTime, Tuning};
use pumice_types::{Bindings, DimExpr, SymbolTable, Target, Var};
use std::ops::Range;
use std::time::Duration;

/// Steps of a list at most, whatever they say that they cost.
pub const LIST_STEPS: usize = 256;

/// A list is predicted to last at most this part of the bound.
pub(crate) const PARTS_OF_BOUND: f64 = 8.0;

/// Predictions lie between these, in microseconds: sums and ratios of them are finite and no division is by 0.
const PREDICTED_US: (f64, f64) = (1e-2, 1e12);

/// What is recorded together.
#[derive(Clone, Debug, PartialEq)]
pub struct List {
    /// Numbers of its steps; those between them that are not wanted belong to no list.
    pub steps: Range<u32>,
    /// Its levels; of the first and the last it may have some steps only.
    pub levels: Range<u32>,
    /// Prediction at the upper bounds of the symbols, in microseconds.
    pub upper_us: f64,
    /// Whether a run decides how long it lasts: a step of it stands under a choice, or is as long as was found. Then
    /// one run says nothing of the next.
    pub is_decided: bool,
    cost: ListCost,
}

/// What lists are cut by.
pub struct CutBy<'a> {
    /// The symbols, in the ranges that the program is for.
    pub symbols: &'a SymbolTable,
    /// The device: its figures and its bound.
    pub target: &'a Target,
    /// Which steps will be recorded.
    pub wants: &'a dyn Fn(StepId) -> bool,
}

/// Time of a list, in what is known of it and what depends on the binding.
#[derive(Clone, Debug, Default, PartialEq)]
struct ListCost {
    /// Levels whose costs are the same at every binding, in microseconds.
    static_us: f64,
    varying: Vec<LevelCost>,
}

/// Time of a level of which some costs vary.
#[derive(Clone, Debug, PartialEq)]
struct LevelCost {
    /// Of the dispatches and of the steps that do not vary.
    base: LevelTime,
    steps: Vec<Cost>,
}

impl List {
    /// Prediction under the bindings, in microseconds.
    pub fn predicted_us(&self, bindings: &Bindings, tuning: &Tuning) -> f64 {
        let varying: f64 = self.cost.varying.iter().map(|level| level.us(bindings, tuning)).sum();
        within_range(self.cost.static_us + varying)
    }

    /// Whether the prediction depends on scalars, which may advance from replay to replay.
    pub fn varies_with_scalars(&self) -> bool {
        let scalar = |v: Var| v.symbol().is_none();
        let varies = |c: &Cost| c.bytes.find_var(scalar).is_some() || c.flops.find_var(scalar).is_some();
        self.cost.varying.iter().flat_map(|level| &level.steps).any(varies)
    }
}

impl LevelCost {
    fn us(&self, bindings: &Bindings, tuning: &Tuning) -> f64 {
        let mut time = self.base;
        for cost in &self.steps {
            let work = cost.at(bindings);
            time.bytes_us += work.bytes.0 as f64 / tuning.bytes_per_us;
            time.flops_us += work.flops as f64 / tuning.flops_per_us(cost.precision);
        }
        time.total_us()
    }
}

/// Cuts the levels of a segment into lists.
pub fn cut(program: &Program, levels: Range<u32>, by: &CutBy<'_>) -> Vec<List> {
    let mut cut = Cutter { by, list_us: list_us(by.target.submission_bound), lists: Vec::new(), open: None };
    for number in levels {
        let Some(level) = program.levels.get(number as usize) else { break };
        let steps: Vec<(StepId, &Step)> = program.steps_of(level).filter(|(id, _)| (by.wants)(*id)).collect();
        cut.level(number, &steps);
    }
    cut.close();
    cut.lists
}

/// The longest prediction of a list, in microseconds; `None`: each level is one.
fn list_us(bound: Duration) -> Option<f64> {
    (!bound.is_zero()).then(|| bound.as_secs_f64() * 1e6 / PARTS_OF_BOUND)
}

/// The lists so far, and the one that further levels may join.
struct Cutter<'a> {
    by: &'a CutBy<'a>,
    list_us: Option<f64>,
    lists: Vec<List>,
    open: Option<(List, usize)>,
}

impl Cutter<'_> {
    fn level(&mut self, number: u32, steps: &[(StepId, &Step)]) {
        let (Some(&(first, _)), Some(&(last, _))) = (steps.first(), steps.last()) else { return };
        let upper_us = self.upper_us(steps);
        if !self.fits(upper_us, steps.len()) {
            self.close();
            return self.parts(number, steps);
        }
        let joins = self.open.as_ref().is_some_and(|(open, count)| {
            self.list_us.is_some() && self.fits(open.upper_us + upper_us, count + steps.len())
        });
        if !joins {
            self.close();
            let cost = ListCost::default();
            let (steps, levels) = (first.0..first.0, number..number + 1);
            self.open = Some((List { steps, levels, upper_us: 0.0, is_decided: false, cost }, 0));
        }
        let is_decided = self.is_decided(steps);
        if let Some((open, count)) = &mut self.open {
            open.steps.end = last.0.saturating_add(1);
            open.levels.end = number + 1;
            open.upper_us = within_range(open.upper_us + upper_us);
            open.is_decided |= is_decided;
            open.cost.add(steps, &self.by.target.tuning);
            *count += steps.len();
        }
    }

    /// Cuts a level that is too long for one list.
    fn parts(&mut self, number: u32, steps: &[(StepId, &Step)]) {
        let mut rest = steps;
        while let (false, Some(&(first, _))) = (rest.is_empty(), rest.first()) {
            let mut count = 1;
            while count < rest.len() && self.fits(self.upper_us(&rest[..=count]), count + 1) {
                count += 1;
            }
            let (part, after) = rest.split_at(count);
            rest = after;
            let mut cost = ListCost::default();
            cost.add(part, &self.by.target.tuning);
            let end = part.last().map_or(first.0, |(id, _)| id.0).saturating_add(1);
            let (steps, levels) = (first.0..end, number..number + 1);
            let (upper_us, is_decided) = (self.upper_us(part), self.is_decided(part));
            self.lists.push(List { steps, levels, upper_us, is_decided, cost });
        }
    }

    fn fits(&self, us: f64, steps: usize) -> bool {
        steps <= LIST_STEPS && self.list_us.is_none_or(|most| us <= most)
    }

    fn close(&mut self) {
        self.lists.extend(self.open.take().map(|(list, _)| list));
    }

    fn is_decided(&self, steps: &[(StepId, &Step)]) -> bool {
        let found = |e: &DimExpr| self.by.symbols.names_found(e);
        let decided =
            |step: &Step| !step.when.is_always() || found(&step.cost.bytes) || found(&step.cost.flops);
        steps.iter().any(|(_, step)| decided(step))
    }

    /// Time of steps of one level at the upper bounds.
    fn upper_us(&self, steps: &[(StepId, &Step)]) -> f64 {
        let tuning = &self.by.target.tuning;
        let (mut bytes, mut flops_us) = (0.0, 0.0);
        for (_, step) in steps {
            let work = step.cost.upper(self.by.symbols);
            bytes += work.bytes.0 as f64;
            flops_us += work.flops as f64 / tuning.flops_per_us(step.cost.precision);
        }
        within_range(tuning.level(steps.len(), bytes, flops_us).total_us())
    }
}

impl ListCost {
    /// Adds steps of one level.
    fn add(&mut self, steps: &[(StepId, &Step)], tuning: &Tuning) {
        let (mut bytes, mut flops_us, mut varying) = (0.0, 0.0, Vec::new());
        for (_, step) in steps {
            if step.cost.is_static() {
                let work = step.cost.at(&Bindings::new());
                bytes += work.bytes.0 as f64;
                flops_us += work.flops as f64 / tuning.flops_per_us(step.cost.precision);
            } else {
                varying.push(step.cost.clone());
            }
        }
        let base = tuning.level(steps.len(), bytes, flops_us);
        if varying.is_empty() {
            self.static_us += base.total_us();
        } else {
            self.varying.push(LevelCost { base, steps: varying });
        }
    }
}

/// What is no number counts as the most.
fn within_range(us: f64) -> f64 {
    us.min(PREDICTED_US.1).max(PREDICTED_US.0)
}

#[cfg(test)]
mod tests;
