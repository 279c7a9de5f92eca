//! Where the time of a run goes: every step with its time, and the times added up by kernel. Times come from the
//! device; this only names and adds them.

use crate::error::RuntimeError;
use crate::outcome::RunOptions;
use crate::run::Clock;
use crate::session::Session;
use indexmap::IndexMap;
use pumice_plan::StepId;
use pumice_types::TensorView;
use std::fmt;
use std::sync::Arc;

/// One step of a profiled run.
#[derive(Clone, Debug, PartialEq)]
pub struct StepProfile {
    /// Which step.
    pub step: StepId,
    /// Its dependency level.
    pub level: u32,
    /// Kernel, variant and holes; `host`, `copy`, `fill`.
    pub label: String,
    /// Names of the nodes it computes.
    pub origin: String,
    /// Its time in microseconds.
    pub us: f64,
}

/// One line of the histogram.
#[derive(Clone, Debug, PartialEq)]
pub struct HistogramRow {
    /// Kernel, variant and holes; `host`, `copy`, `fill`.
    pub label: String,
    /// Steps with that label.
    pub steps: usize,
    /// Their time in microseconds.
    pub us: f64,
}

/// Times of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Which run of the plan it was.
    pub run: usize,
    /// Every step the device timed, in order.
    pub steps: Vec<StepProfile>,
}

impl Profile {
    /// The steps' times added up, in microseconds. Steps of one level may overlap on the device, so the run itself
    /// may have taken less.
    pub fn total_us(&self) -> f64 {
        self.steps.iter().map(|s| s.us).sum()
    }

    /// Steps by label, the longest time first.
    pub fn histogram(&self) -> Vec<HistogramRow> {
        let mut rows: IndexMap<&str, (usize, f64)> = IndexMap::new();
        for step in &self.steps {
            let row = rows.entry(&step.label).or_default();
            *row = (row.0 + 1, row.1 + step.us);
        }
        let row =
            |(label, (steps, us)): (&str, (usize, f64))| HistogramRow { label: label.to_owned(), steps, us };
        let mut rows: Vec<HistogramRow> = rows.into_iter().map(row).collect();
        rows.sort_by(|a, b| b.us.total_cmp(&a.us));
        rows
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = self.total_us();
        writeln!(f, "{:>10} {:>6} {:>6}  kernel", "us", "%", "steps")?;
        for row in self.histogram() {
            let share = if total > 0.0 { 100.0 * row.us / total } else { 0.0 };
            writeln!(f, "{:>10.1} {share:>6.1} {:>6}  {}", row.us, row.steps, row.label)?;
        }
        writeln!(f, "{total:>10.1} {:>6} {:>6}  all", "", self.steps.len())
    }
}

impl Session {
    /// Runs as `run_with` does and returns the device's time of all replays together, in microseconds: from the first
    /// step's begin to the last one's end, what lies between them included, the submission left out. Runs with host
    /// steps or loops, and the interpreter, are timed on the host, submissions included. Results are there afterwards.
    ///
    /// # Errors
    /// As [`Session::execute`]; [`RuntimeError::Device`] also where the device has no timestamps.
    pub fn time(
        &mut self,
        inputs: &[(&str, TensorView<'_>)],
        options: &RunOptions,
    ) -> Result<f64, RuntimeError> {
        let inner = Arc::clone(&self.inner);
        let run = self.prepare(&inner, inputs, options)?;
        self.work.device_us = 0.0;
        self.submit(&inner, run, inputs, options, Clock::Run)?;
        Ok(self.work.device_us)
    }

    /// Runs once, as `run` does, and returns the time of every step that ran; of a loop's steps that of the first
    /// turn. Results are there afterwards.
    ///
    /// # Errors
    /// As [`Session::time`], without [`RuntimeError::NoSteps`].
    pub fn profile(
        &mut self,
        inputs: &[(&str, TensorView<'_>)],
        options: &RunOptions,
    ) -> Result<Profile, RuntimeError> {
        let inner = Arc::clone(&self.inner);
        let options = options.clone().steps(1);
        let run = self.prepare(&inner, inputs, &options)?;
        self.submit(&inner, run, inputs, &options, Clock::Steps)?;
        let program = &inner.plan.runs[run].program;
        let level_of = |step: u32| program.levels.partition_point(|l| l.steps.end <= step) as u32;
        let timed = self.work.times.iter().filter_map(|time| {
            let step = program.steps.get(time.step.0 as usize)?;
            let (label, origin) = (step.label(), step.origin.to_string());
            Some(StepProfile { step: time.step, level: level_of(time.step.0), label, origin, us: time.us })
        });
        Ok(Profile { run, steps: timed.collect() })
    }
}
