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

    /// The rows of so many updates from the next one on are there for the entry that the session has selected. Updates
    /// that are left out take no row, so the last of them is the highest that a submission asks for.
    ///
    /// # Errors
    /// A number that is not finite; the device fails.
    pub(super) fn bind(
        &mut self,
        session: &mut Session,
        updates: u64,
        count: usize,
    ) -> Result<(), TrainerError> {
        let asked = count.max(1) as u64;
        let last = updates.saturating_add(asked - 1);
        if self.there.contains(&updates) && self.there.contains(&last) {
            return Ok(());
        }
        let (table, columns) = (self.numbers.table_of(updates, asked), self.numbers.columns() as u64);
        // Rows that no update asks for yet may be wrong: a table of those that are is made before one does.
        let of_asked = (asked * columns) as usize;
        let wrong = table.iter().position(|number| !number.is_finite());
        let known = wrong.map_or(self.numbers.known_rows(asked), |at| at as u64 / columns);
        if let Some(at) = wrong.filter(|&at| at < of_asked) {
            let (row, column) = (at as u64 / columns, at % columns as usize);
            let number = self.numbers.row(updates + row).get(column).copied().unwrap_or(f64::NAN);
            let (update, name) = (updates + 1 + row, self.numbers.name(column));
            return Err(TrainerError::Number { update, name, number });
        }
        session.bind_input(names::NUMBERS, TensorView::f32(&table, [TABLE_ROWS, columns]))?;
        // The count of updates wraps on the device, and its distance to the base with it.
        session.bind_input(names::BASE, TensorView::i32(&[updates as u32 as i32], []))?;
        self.there = updates..updates.saturating_add(known);
        Ok(())
    }
}
