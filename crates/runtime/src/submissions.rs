//! Decides which lists make a submission, of one replay or of several, when it is submitted.
//!
//! A submission ends before the list that would pass the bound. What a list is predicted to last is its cost at the
//! binding, scaled by what it took when it last ran; until it was measured, by the ratio of what was measured before it
//! in the same call. Until every list of a submission was measured a call begins with one list and at most doubles. A
//! call in which the program stopped teaches nothing: replays after a stop do nothing. Of a list whose length a run
//! decides no call teaches that it is faster than predicted, which is for the longest there may be: the next run may
//! take the other branch, find as much as there can be, or still be in its loop.
//!
//! What is predicted and was measured below an eighth of the bound is one submission, decided without looking at any
//! cost. No device here, and no clock: whoever submits says how long it took.

use crate::lists::{List, PARTS_OF_BOUND};
use pumice_types::target::Tuning;
use pumice_types::{Bindings, Target};
use std::ops::Range;
use std::sync::Arc;

/// Lists of one submission at most: what a driver is given at once stays small.
const SUBMISSION_LISTS: u64 = 4096;

/// Costs that vary with scalars are looked at anew once in so many replays.
const REPLAYS_OF_A_COST: u32 = 4;

/// Ratios of times to predictions lie between these, so that products of them are finite.
const RATIOS: (f64, f64) = (1e-9, 1e9);

/// The lists of a segment, with what was measured of them.
#[derive(Debug)]
pub struct SubmissionPlanner {
    lists: Arc<[List]>,
    known: Vec<Known>,
    tuning: Tuning,
    bound_us: f64,
    varies_with_scalars: bool,
    /// The last short call, which no prediction was made for.
    short: Option<Short>,
    /// Its bindings.
    short_bindings: Bindings,
}

/// What is known of a list.
#[derive(Clone, Copy, Debug)]
struct Known {
    /// What it took over what its cost says.
    ratio: f64,
    measured: bool,
    /// The least that `ratio` may be.
    least: f64,
}

impl Known {
    /// Nothing was measured of the list.
    fn nothing(list: &List) -> Known {
        Known { ratio: 1.0, measured: false, least: if list.is_decided { 1.0 } else { RATIOS.0 } }
    }

    fn measure(&mut self, ratio: f64) {
        (self.ratio, self.measured) = (ratio.min(RATIOS.1).max(self.least), true);
    }
}

#[derive(Clone, Copy, Debug)]
struct Short {
    us: f64,
    replays: u32,
}

impl SubmissionPlanner {
    /// Nothing is measured yet.
    pub fn new(lists: Vec<List>, target: &Target) -> SubmissionPlanner {
        SubmissionPlanner {
            known: lists.iter().map(Known::nothing).collect(),
            varies_with_scalars: lists.iter().any(List::varies_with_scalars),
            lists: lists.into(),
            tuning: target.tuning.clone(),
            bound_us: target.submission_bound.as_secs_f64() * 1e6,
            short: None,
            short_bindings: Bindings::new(),
        }
    }

    /// The lists, in order.
    pub fn lists(&self) -> &Arc<[List]> {
        &self.lists
    }

    /// Whether so many replays are one submission, whatever the binding.
    pub fn is_short(&self, replays: u32) -> bool {
        let measured = self.known.iter().all(|k| k.measured);
        let single = self.lists.len() == 1 && replays == 1;
        let pairs = self.lists.iter().zip(&self.known);
        let us: f64 = pairs.map(|(list, known)| list.upper_us * known.ratio).sum();
        (measured || single)
            && self.lists.len() as u64 * u64::from(replays) <= SUBMISSION_LISTS
            && us * f64::from(replays) <= self.bound_us / PARTS_OF_BOUND
    }

    /// A short call lasted so long. What that says of the lists is worked out when a longer call asks, unless it lasted
    /// longer than short calls may.
    pub fn short_ended(&mut self, bindings: &Bindings, replays: u32, us: f64) {
        self.short = Some(Short { us, replays });
        self.short_bindings.clone_from(bindings);
        self.known.iter_mut().for_each(|k| k.measured = true);
        if us > self.bound_us / PARTS_OF_BOUND {
            self.learn_from_short();
        }
    }

    fn learn_from_short(&mut self) {
        let Some(Short { us, replays }) = self.short.take() else { return };
        let predicted: f64 =
            self.lists.iter().map(|l| l.predicted_us(&self.short_bindings, &self.tuning)).sum();
        let ratio = ratio(us, predicted * f64::from(replays));
        self.known.iter_mut().for_each(|k| k.measure(ratio));
    }

    /// A call of so many replays, the first of them with these bindings; `advance` makes those of the next.
    pub fn call<'p>(
        &'p mut self,
        replays: u32,
        bindings: &Bindings,
        advance: &'p dyn Fn(&mut Bindings),
    ) -> CallPlan<'p> {
        self.learn_from_short();
        let mut call = CallPlan {
            known: self.known.clone(),
            costs: Vec::with_capacity(self.lists.len()),
            costs_of: 0,
            bindings: bindings.clone(),
            advance,
            next: 0,
            end: self.lists.len() as u64 * u64::from(replays),
            allowed: 1,
            guess: 1.0,
            submitted: 0..0,
            predicted_us: 0.0,
            planner: self,
        };
        call.cost();
        call
    }
}

/// A call under way. Its lists are counted through all replays: number i is list i mod n of replay i / n.
pub struct CallPlan<'p> {
    planner: &'p mut SubmissionPlanner,
    /// As the planner's will be, if the call teaches.
    known: Vec<Known>,
    /// What costs say of each list at the replay `costs_of`.
    costs: Vec<f64>,
    costs_of: u64,
    bindings: Bindings,
    advance: &'p dyn Fn(&mut Bindings),
    next: u64,
    end: u64,
    /// Lists of the next submission, if one of them was never measured.
    allowed: u64,
    /// The ratio of a list that was never measured.
    guess: f64,
    submitted: Range<u64>,
    predicted_us: f64,
}

impl CallPlan<'_> {
    /// The lists of the next submission; `None` after the last one.
    pub fn submission(&mut self) -> Option<Range<u64>> {
        let (begin, n) = (self.next, self.planner.lists.len() as u64);
        let (mut us, mut all_measured) = (0.0, true);
        while self.next < self.end {
            let at = (self.next % n) as usize;
            self.look_at(self.next / n);
            let known = self.known[at];
            let predicted = self.costs[at] * if known.measured { known.ratio } else { self.guess };
            let count = self.next - begin;
            let measured = all_measured && known.measured;
            let too_many = count >= SUBMISSION_LISTS || (!measured && count >= self.allowed);
            if count > 0 && (too_many || us + predicted > self.planner.bound_us) {
                break;
            }
            (us, all_measured, self.next) = (us + predicted, measured, self.next + 1);
        }
        (self.submitted, self.predicted_us) = (begin..self.next, us);
        (begin < self.next).then_some(begin..self.next)
    }

    /// Whether there is no further submission.
    pub fn is_last(&self) -> bool {
        self.next == self.end
    }

    /// The last submission lasted so long.
    pub fn ended(&mut self, us: f64) {
        let (n, over) = (self.planner.lists.len() as u64, ratio(us, self.predicted_us));
        let guess = self.guess;
        let last = self.submitted.end.min(self.submitted.start + n);
        for i in self.submitted.start..last {
            let known = &mut self.known[(i % n) as usize];
            let before = if known.measured { known.ratio } else { guess };
            known.measure(before * over);
            self.guess = known.ratio.max(1.0);
        }
        self.allowed = self.allowed.saturating_mul(2);
    }

    /// The call is over, and the program did not stop.
    pub fn teach(self) {
        self.planner.known.clone_from(&self.known);
    }

    /// Makes costs those of a replay, or of one shortly before it.
    fn look_at(&mut self, replay: u64) {
        if !self.planner.varies_with_scalars || replay < self.costs_of + u64::from(REPLAYS_OF_A_COST) {
            return;
        }
        while self.costs_of < replay {
            (self.advance)(&mut self.bindings);
            self.costs_of += 1;
        }
        self.cost();
    }

    fn cost(&mut self) {
        let (bindings, tuning) = (&self.bindings, &self.planner.tuning);
        self.costs.clear();
        self.costs.extend(self.planner.lists.iter().map(|l| l.predicted_us(bindings, tuning)));
    }
}

/// What was measured over what was predicted.
fn ratio(us: f64, predicted_us: f64) -> f64 {
    // Of what is no number the minimum is the other one.
    (us / predicted_us).min(RATIOS.1).max(RATIOS.0)
}

#[cfg(test)]
mod tests;
