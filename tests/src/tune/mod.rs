//! Measures kernels on a device and writes a selection table.
//!
//! In: a device, and the table whose classes of shapes are kept. Out: a table in which every row takes what was fastest
//! over the shapes that the row decides. First the times of product tiles (`tiles`); then, row by row, what may stand
//! in its place (`alternatives`) over a grid of shapes (`grid`), all candidates of a shape in turns so that a device
//! that slows down slows all of them. Never here: a file, a terminal.

mod alternatives;
mod grid;
mod tiles;
mod time;

use grid::Case;
use pumice::{DeviceKind, Error, RuntimeError};
use pumice_plan::{Plan, StepKind};
use pumice_types::{Table, TableRow};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use time::Loaded;

/// What ends tuning: a device that fails, a table that the compiler refuses.
#[derive(Debug)]
pub enum TuneError {
    /// A compilation or a run.
    Pumice(Error),
    /// A candidate computed nothing that could be timed.
    NoTime(String),
}

impl From<Error> for TuneError {
    fn from(error: Error) -> TuneError {
        TuneError::Pumice(error)
    }
}

impl From<RuntimeError> for TuneError {
    fn from(error: RuntimeError) -> TuneError {
        TuneError::Pumice(error.into())
    }
}

impl std::fmt::Display for TuneError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            TuneError::Pumice(error) => write!(f, "{error}"),
            TuneError::NoTime(what) => write!(f, "{what}: no time was measured"),
        }
    }
}

impl std::error::Error for TuneError {}

/// Result of a measurement.
pub type Tuned<T> = Result<T, TuneError>;

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// A shape or two a family, few samples: whether it works.
    Tiny,
    /// Small shapes: what a CPU driver does in minutes.
    Quick,
    /// Shapes of models.
    Full,
}

/// What was found for a row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// The row's family.
    pub family: String,
    /// Its class of shapes.
    pub when: BTreeMap<String, String>,
    /// What it took before, with figures.
    pub before: String,
    /// What is fastest.
    pub after: String,
    /// Time of what is fastest as a share of what the row took before, over all shapes.
    pub share: f64,
    /// The shapes.
    pub shapes: Vec<String>,
}

/// Where tuning is.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Rows that are done.
    pub done: usize,
    /// All rows.
    pub total: usize,
    /// The row that is next.
    pub row: String,
}

/// A device that is tuned.
pub struct Tuner<'a> {
    /// The device. Its target's table is where tuning begins.
    pub device: pumice::Device,
    /// How much is measured.
    pub scope: Scope,
    /// Only rows of families that begin with one of these; none: all.
    pub only: Vec<String>,
    /// Told before each row.
    pub observe: &'a mut dyn FnMut(&Progress),
}

/// Gains below this share are noise.
const NOISE: f64 = 0.97;

impl Tuner<'_> {
    /// Measures. `measured` is what the table says of device, driver and date.
    ///
    /// # Errors
    /// Where the device fails or the table it begins with is refused.
    pub fn run(&mut self, class: &str, measured: &str) -> Tuned<(Table, Vec<Finding>)> {
        let mut table = Table::clone(&self.device.target().table);
        (table.class, table.measured) = (class.to_owned(), measured.to_owned());
        let mut findings = Vec::new();
        let total = table.rows.len();
        for at in 0..total {
            let row = table.rows[at].clone();
            (self.observe)(&Progress { done: at, total, row: format!("{} {}", row.family, row.take) });
            if !self.only.is_empty() && !self.only.iter().any(|f| row.family.starts_with(f.as_str())) {
                continue;
            }
            match row.family.as_str() {
                "matmul.tile" => tiles::measure(self, &mut table, at, &mut findings)?,
                _ => self.row(&mut table, at, &mut findings)?,
            }
        }
        (self.observe)(&Progress { done: total, total, row: String::new() });
        Ok((table, findings))
    }

    /// Whether the device computes on the CPU, where large shapes take too long.
    fn is_cpu(&self) -> bool {
        self.device.kind() != DeviceKind::Gpu
    }

    /// The device with another table.
    fn with(&self, table: &Table) -> pumice::Device {
        self.device.clone().with_table(Arc::new(table.clone()))
    }

    /// Replaces a row by the fastest of what may stand in its place.
    fn row(&self, table: &mut Table, at: usize, findings: &mut Vec<Finding>) -> Tuned<()> {
        let before = table.rows[at].clone();
        let others = alternatives::of(self.device.target(), table, at, self.scope);
        if others.is_empty() {
            return Ok(());
        }
        let mut times: Vec<Vec<f64>> = vec![Vec::new(); others.len()];
        let mut shapes = Vec::new();
        for case in grid::of(&before.family, self.scope, self.is_cpu()) {
            let found = self.compare(table, at, &others, &case)?;
            if found.iter().any(Option::is_some) {
                shapes.push(case.name.clone());
                let measured = found.iter().zip(&mut times).filter_map(|(f, t)| f.map(|f| (f, t)));
                measured.for_each(|(f, t)| t.push(f));
            }
        }
        // A candidate that some shape cannot take does not stand for the class.
        let whole = times.iter().zip(&others).filter(|(t, _)| t.len() == shapes.len() && !t.is_empty());
        let shares = whole.map(|(t, other)| (geometric_mean(t), other));
        let best = shares.min_by(|a, b| a.0.total_cmp(&b.0));
        if shapes.is_empty() {
            return Ok(());
        }
        let (share, after) = match best {
            Some((share, row)) if share < NOISE => (share, row.clone()),
            _ => (1.0, before.clone()),
        };
        findings.push(Finding {
            family: before.family.clone(),
            when: before.when.iter().map(|(name, bounds)| (name.clone(), bounds.to_string())).collect(),
            before: words(&before),
            after: words(&after),
            share,
            shapes,
        });
        table.rows[at] = after;
        Ok(())
    }

    /// For each other row in the place of the row: its time as a share of the row's own; none where it makes no other
    /// plan, or one that does not run what it names.
    fn compare(&self, table: &Table, at: usize, others: &[TableRow], case: &Case) -> Tuned<Vec<Option<f64>>> {
        let own = Loaded::new(&self.with(table), case)?;
        let own_code = code(own.plan());
        let mut loaded = vec![own];
        let mut places = Vec::new();
        for other in others {
            let mut changed = table.clone();
            changed.rows[at] = other.clone();
            let device = self.with(&changed);
            let plan = case.plan(&device)?;
            let found = code(&plan);
            let named =
                !other.take.contains('.') || found.iter().any(|c| c.starts_with(&format!("{} ", other.take)));
            if found == own_code || !named {
                places.push(None);
            } else {
                places.push(Some(loaded.len()));
                loaded.push(Loaded::new(&device, case)?);
            }
        }
        if loaded.len() == 1 {
            return Ok(vec![None; others.len()]);
        }
        let times = time::side_by_side(&mut loaded, self.scope)?;
        Ok(places.into_iter().map(|place| place.map(|i| times[i] / times[0])).collect())
    }
}

/// `kernel.variant constants grid` of every dispatch, in order.
fn code(plan: &Plan) -> Vec<String> {
    let steps = plan.runs.iter().flat_map(|r| &r.program.steps);
    let codes = steps.filter_map(|s| match &s.kind {
        StepKind::Dispatch { call, grid } => {
            Some(format!("{}.{} {:?} {grid:?}", call.kernel, call.variant, call.spec))
        }
        _ => None,
    });
    codes.collect()
}

fn geometric_mean(shares: &[f64]) -> f64 {
    (shares.iter().map(|s| s.ln()).sum::<f64>() / shares.len().max(1) as f64).exp()
}

/// What a row takes, with its figures.
fn words(row: &TableRow) -> String {
    let figures = row.figures.iter().map(|(name, value)| format!(" {name}={value}"));
    row.take.clone() + &figures.collect::<String>()
}

/// A figure as tables hold it: three digits, enough for a measurement.
fn three_digits(value: f64) -> f64 {
    format!("{value:.2e}").parse().unwrap_or(value)
}
