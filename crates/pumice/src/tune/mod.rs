//! Measures kernels on a device and makes a selection table, for [`Device::with_table`] and `DeviceOptions::table`.
//!
//! In: a device, and the table whose classes of shapes are kept. Out: a table in which every row takes what was fastest
//! over the shapes that the row decides. First the times of product tiles (`tiles`); then, row by row, what may stand
//! in its place (`alternatives`) over a grid of shapes (`grid`), all candidates of a shape in turns so that a device
//! that slows down slows all of them. At last families whose new rows make a shape slower get their old rows back
//! (`slower`). Never here: a file, a terminal.

mod alternatives;
mod grid;
mod slower;
mod tiles;
mod time;

use crate::device::{Device, DeviceKind};
use crate::error::Error;
use grid::Case;
use pumice_plan::{Plan, StepKind};
use pumice_runtime::RuntimeError;
use pumice_types::{Table, TableRow};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
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
    /// Shapes of models, short samples: what a GPU does in minutes.
    Brief,
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

impl Finding {
    fn of(before: &TableRow, after: &TableRow, share: f64, shapes: Vec<String>) -> Finding {
        let when = before.when.iter().map(|(name, bounds)| (name.clone(), bounds.to_string()));
        Finding {
            family: before.family.clone(),
            when: when.collect(),
            before: words(before),
            after: words(after),
            share,
            shapes,
        }
    }
}

/// What tuning made.
#[derive(Clone, Debug)]
pub struct Report {
    /// The table.
    pub table: Table,
    /// What was found, row by row.
    pub findings: Vec<Finding>,
    /// Families that got their old rows back: some shape was slower with the new ones, or there was no time to see.
    pub put_back: Vec<String>,
    /// Rows that stay as they were because the time was over.
    pub left: usize,
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
    pub device: Device,
    /// How much is measured.
    pub scope: Scope,
    /// Only rows of families that begin with one of these; none: all.
    pub only: Vec<String>,
    /// How long it may last; none: as long as it takes.
    pub time: Option<Duration>,
    /// Called before each row.
    pub observe: &'a mut dyn FnMut(&Progress),
}

/// The share of the time in which rows are measured.
const MEASURING: f64 = 0.75;

/// When a time is over; none: never.
type Until = Option<Instant>;

fn is_over(until: Until) -> bool {
    until.is_some_and(|until| Instant::now() > until)
}

fn is_tile(row: &TableRow) -> bool {
    row.family == "matmul.tile"
}

/// When the rows of a family are measured: tiles first, by whose times products are compared; what has many shapes and
/// candidates last, so that a time that is short is not over before the others had theirs.
fn turn(family: &str) -> u8 {
    match family {
        "matmul.tile" => 0,
        _ if family.starts_with("matmul") => 3,
        _ if family.starts_with("attention") => 2,
        _ => 1,
    }
}

/// Gains below this share are noise.
const NOISE: f64 = 0.97;

/// Other rows in the place of one.
struct Compared {
    /// Of each other row, its times as shares of the row's own.
    times: Vec<Vec<f64>>,
    /// Shapes that the row decides.
    shapes: Vec<String>,
}

/// The candidate of least time, with its share; one that some shape cannot take does not stand for the class.
fn fastest<'r>(times: &[Vec<f64>], others: &'r [TableRow], shapes: usize) -> Option<(f64, &'r TableRow)> {
    let whole = times.iter().zip(others).filter(|(t, _)| t.len() == shapes && !t.is_empty());
    let shares = whole.map(|(t, other)| (geometric_mean(t), other));
    shares.min_by(|a, b| a.0.total_cmp(&b.0))
}

impl Tuner<'_> {
    /// Measures. `measured` is what the table says of device, driver and date.
    ///
    /// # Errors
    /// Where the device fails or the table it begins with is refused.
    pub fn run(&mut self, class: &str, measured: &str) -> Tuned<Report> {
        let begin = Instant::now();
        let before = Table::clone(&self.device.target().table);
        let mut table = before.clone();
        (table.class, table.measured) = (class.to_owned(), measured.to_owned());
        let (mut findings, mut left) = (Vec::new(), 0);
        // The rest is for seeing whether a shape has become slower.
        let measuring = self.time.map(|time| begin + time.mul_f64(MEASURING));
        let total = table.rows.len();
        let mut order: Vec<usize> = (0..total).collect();
        order.sort_by_key(|&at| turn(&table.rows[at].family));
        for (done, at) in order.into_iter().enumerate() {
            let row = &table.rows[at];
            (self.observe)(&Progress { done, total, row: format!("{} {}", row.family, row.take) });
            let measured =
                !self.is_asked_for(row) || self.measure_row(&mut table, at, &mut findings, measuring)?;
            left += usize::from(!measured);
        }
        (self.observe)(&Progress { done: total, total, row: "comparing".into() });
        let until = self.time.map(|time| begin + time);
        let put_back = slower::put_back(self, &before, &mut table, until)?;
        Ok(Report { table, findings, put_back, left })
    }

    /// Whether a row is measured at all. Other arithmetic is not what cases are compiled for.
    fn is_asked_for(&self, row: &TableRow) -> bool {
        let named = self.only.is_empty() || self.only.iter().any(|f| row.family.starts_with(f.as_str()));
        named && row.precision.is_exact()
    }

    /// Measures a row; false where the time is over.
    fn measure_row(
        &self,
        table: &mut Table,
        at: usize,
        findings: &mut Vec<Finding>,
        until: Until,
    ) -> Tuned<bool> {
        match is_tile(&table.rows[at]) {
            _ if is_over(until) => Ok(false),
            true => tiles::measure(self, table, at, findings),
            false => self.row(table, at, findings, until),
        }
    }

    /// Whether the device computes on the CPU, where large shapes take too long.
    fn is_cpu(&self) -> bool {
        self.device.kind() != DeviceKind::Gpu
    }

    /// The device with another table.
    fn with(&self, table: &Table) -> Device {
        self.device.clone().with_table(Arc::new(table.clone()))
    }

    /// Replaces a row by the fastest of what may stand in its place; false where there is no time to see which that is.
    fn row(&self, table: &mut Table, at: usize, findings: &mut Vec<Finding>, until: Until) -> Tuned<bool> {
        let before = table.rows[at].clone();
        let others = alternatives::of(self.device.target(), table, at, self.scope);
        if others.is_empty() {
            return Ok(true);
        }
        let Some(Compared { times, shapes }) = self.compare_all(table, at, &others, until)? else {
            return Ok(false);
        };
        if shapes.is_empty() {
            return Ok(true);
        }
        let (share, after) = match fastest(&times, &others, shapes.len()) {
            Some((share, row)) if share < NOISE => (share, row.clone()),
            _ => (1.0, before.clone()),
        };
        findings.push(Finding::of(&before, &after, share, shapes));
        table.rows[at] = after;
        Ok(true)
    }

    /// Compares other rows with a row over the shapes that the row decides; nothing where there is no time for all.
    fn compare_all(
        &self,
        table: &Table,
        at: usize,
        others: &[TableRow],
        until: Until,
    ) -> Tuned<Option<Compared>> {
        let mut all = Compared { times: vec![Vec::new(); others.len()], shapes: Vec::new() };
        for case in grid::of(&table.rows[at].family, self.scope, self.is_cpu()) {
            if is_over(until) {
                return Ok(None);
            }
            let found = self.compare(table, at, others, &case)?;
            if found.iter().any(Option::is_some) {
                all.shapes.push(case.name.clone());
                let measured = found.iter().zip(&mut all.times).filter_map(|(f, t)| f.map(|f| (f, t)));
                measured.for_each(|(f, t)| t.push(f));
            }
        }
        Ok(Some(all))
    }

    /// For each other row in the place of the row: its time as a share of the row's own; none where it makes no other
    /// plan, or one that does not run what it names.
    fn compare(&self, table: &Table, at: usize, others: &[TableRow], case: &Case) -> Tuned<Vec<Option<f64>>> {
        let device = self.with(table);
        let own_code = code(&*case.plan(&device)?);
        // Loading is what takes long: most rows decide few of the cases.
        let mut loaded = Vec::new();
        let mut places = Vec::new();
        for other in others {
            let mut changed = table.clone();
            changed.rows[at] = other.clone();
            let device = self.with(&changed);
            let found = code(&*case.plan(&device)?);
            let named = !other.take.contains('.') || has(&found, &other.take);
            let runs = found != own_code && named;
            places.push(runs.then_some(loaded.len()));
            if runs {
                loaded.push(Loaded::new(&device, case)?);
            }
        }
        if loaded.is_empty() {
            return Ok(vec![None; others.len()]);
        }
        loaded.push(Loaded::new(&device, case)?);
        let times = time::side_by_side(&mut loaded, self.scope)?;
        let own = times[times.len() - 1];
        Ok(places.into_iter().map(|place| place.map(|i| times[i] / own)).collect())
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

/// Whether a kernel and variant is among dispatches.
fn has(code: &[String], take: &str) -> bool {
    code.iter().any(|dispatch| dispatch.starts_with(&format!("{take} ")))
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
