//! The rows of numbers on the device: bound once, and again when the count of updates leaves them.

use super::error::TrainerError;
use pumice_runtime::Session;
use pumice_train::{Numbers, TABLE_ROWS, names};
use pumice_types::TensorView;
use std::ops::Range;

/// Which rows lie on the device.
pub(super) struct Rows {
    pub numbers: Numbers,
    /// The counts of updates whose rows they are; nothing is there yet without any.
    there: Range<u64>,
}

impl Rows {
    pub(super) fn new(numbers: Numbers) -> Rows {
        Rows { numbers, there: 0..0 }
    }

    /// Other numbers from the next update on.
    pub(super) fn replace(&mut self, numbers: Numbers) {
        *self = Rows::new(numbers);
    }

    /// Nothing is known to be on the device.
    pub(super) fn forget(&mut self) {
        self.there = 0..0;
    }

    /// The rows of updates from the next one on are there for the entry that the session has selected, and how many
    /// are: `count`, at least one, or those before the first with a number that is wrong. Updates that are left out
    /// take no row, so the last of them is the highest that a submission asks for.
    ///
    /// # Errors
    /// A wrong number of the next update: a rate below 0, or what is not finite; the device fails.
    pub(super) fn bind(
        &mut self,
        session: &mut Session,
        updates: u64,
        count: usize,
    ) -> Result<usize, TrainerError> {
        let asked = count.max(1) as u64;
        let last = updates.saturating_add(asked - 1);
        if self.there.contains(&updates) && self.there.contains(&last) {
            return Ok(asked as usize);
        }
        let (table, columns) = (self.numbers.table_of(updates, asked), self.numbers.columns());
        let rates = self.numbers.rates();
        // Rows that no update asks for yet may be wrong: a table of those that are is made before one does.
        let wrong = (0..).zip(&table).find(|&(at, number)| {
            let is_rate = at % columns < rates;
            !number.is_finite() || (is_rate && *number < 0.0)
        });
        let sound = wrong.map_or(self.numbers.known_rows(asked), |(at, _)| (at / columns) as u64);
        if let Some((column, _)) = wrong.filter(|_| sound == 0) {
            let number = self.numbers.row(updates).get(column).copied().unwrap_or(f64::NAN);
            let (update, name) = (updates.saturating_add(1), self.numbers.name(column));
            return Err(TrainerError::Number { update, name, number });
        }
        session.bind_input(names::NUMBERS, TensorView::f32(&table, [TABLE_ROWS, columns as u64]))?;
        // The count of updates wraps on the device, and its distance to the base with it.
        session.bind_input(names::BASE, TensorView::i32(&[updates as u32 as i32], []))?;
        self.there = updates..updates.saturating_add(sound);
        Ok(sound.min(asked) as usize)
    }
}
