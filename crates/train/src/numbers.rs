//! The numbers that the host computes for each update: learning rates and what the optimizer asks for.

use crate::error::{TrainError, TrainErrors};
use crate::held::{lost, shown};
use crate::optimizer::Optimizer;
use crate::schedule::Schedule;
use std::sync::Arc;

/// Rows of the table that entries read: so many updates may be made before the host fills the next one.
pub const TABLE_ROWS: u64 = 64;

/// The table of numbers: a row for each count of updates that were made, a column for the learning rate of every group
/// (that of params in none first), then the optimizer's. Rows are computed in f64; the device rounds nothing else.
#[derive(Clone)]
pub struct Numbers {
    optimizer: Arc<dyn Optimizer>,
    schedule: Schedule,
    /// By group what the schedule's rate is multiplied by.
    factors: Vec<f64>,
}

impl Numbers {
    pub(crate) fn new(optimizer: Arc<dyn Optimizer>, schedule: Schedule, factors: Vec<f64>) -> Numbers {
        Numbers { optimizer, schedule, factors }
    }

    /// The same of another schedule: entries stay as they are.
    ///
    /// # Errors
    /// [`TrainError::Recipe`] for a schedule that a recipe must not have.
    pub fn with_schedule(&self, schedule: Schedule) -> Result<Numbers, TrainErrors> {
        let numbers = Numbers { schedule, ..self.clone() };
        let wrong: Vec<String> = match numbers.schedule.mistake() {
            Some(reason) => vec![reason],
            None => lost_rates(&numbers.schedule, &numbers.factors),
        };
        let wrong: Vec<TrainError> = wrong.into_iter().map(TrainError::Recipe).collect();
        if wrong.is_empty() { Ok(numbers) } else { Err(TrainErrors(wrong)) }
    }

    /// How many numbers a row has.
    pub fn columns(&self) -> usize {
        self.factors.len() + self.optimizer.numbers(1).len()
    }

    /// How many of them are learning rates, the first ones, which are not below 0.
    pub fn rates(&self) -> usize {
        self.factors.len()
    }

    /// What a number of a row is, in words.
    pub fn name(&self, column: usize) -> String {
        match column.checked_sub(self.factors.len()) {
            None if column == 0 => "rate".to_owned(),
            None => format!("rate of group {column}"),
            Some(own) => {
                let name = self.optimizer.numbers(1).get(own).map_or("number", |(name, _)| name);
                format!("`{name}` of {}", self.optimizer.name())
            }
        }
    }

    /// The row of the update before which so many were made.
    pub fn row(&self, updates: u64) -> Vec<f64> {
        let rate = self.schedule.rate(updates);
        let numbers = self.optimizer.numbers(updates.saturating_add(1));
        let rates = self.factors.iter().map(|factor| rate * factor);
        rates.chain(numbers.into_iter().map(|(_, number)| number)).collect()
    }

    /// What the input [`NUMBERS`](crate::names::NUMBERS) is where [`BASE`](crate::names::BASE) is this count of
    /// updates: [`TABLE_ROWS`] rows one after the other. Runs from that count on, and before as many more updates as
    /// there are [known rows](Numbers::known_rows), find their row in it.
    pub fn table(&self, base: u64) -> Vec<f32> {
        self.table_of(base, TABLE_ROWS)
    }

    /// As [`Numbers::table`], where a run asks for so many rows: those that are not known ahead are like the last one.
    pub fn table_of(&self, base: u64, asked: u64) -> Vec<f32> {
        let known = base..base.saturating_add(self.known_rows(asked));
        let rows: Vec<Vec<f64>> = known.map(|updates| self.row(updates)).collect();
        let table = (0..TABLE_ROWS as usize).filter_map(|row| rows.get(row).or(rows.last()));
        table.flatten().map(|&number| number as f32).collect()
    }

    /// How many rows of a table are those of their updates, where a run asks for so many: all, but of a schedule that
    /// is a function of one's own no more than are asked for.
    pub fn known_rows(&self, asked: u64) -> u64 {
        if self.schedule.is_known_ahead() { TABLE_ROWS } else { asked.clamp(1, TABLE_ROWS) }
    }
}

/// Rates of a schedule that f32 does not hold, by themselves or as a group has them; `factors` are those of
/// [`Numbers`]. What a form falls to before its end may be as small as it is.
pub(crate) fn lost_rates(schedule: &Schedule, factors: &[f64]) -> Vec<String> {
    let stated = schedule.stated();
    let said = |(group, factor): (usize, &f64)| {
        let of_group = if group == 0 { String::new() } else { format!(" of group {group}") };
        let rates = stated.iter().map(|&(name, rate)| (name, rate * factor));
        let said = rates.filter_map(move |(name, rate)| {
            Some(format!("{name}{of_group} is {}, which is {} in f32", shown(rate), lost(rate)?))
        });
        said.collect::<Vec<_>>()
    };
    factors.iter().enumerate().flat_map(said).collect()
}
