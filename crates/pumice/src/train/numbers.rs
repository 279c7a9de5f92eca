//! The rows of numbers on the device: bound once, and again when the count of updates leaves them.

use super::error::TrainerError;
use pumice_runtime::Session;
use pumice_train::{Numbers, TABLE_ROWS, names};
use pumice_types::TensorView;

/// Which rows lie on the device.
pub(super) struct Rows {
    pub numbers: Numbers,
    /// The count of updates of the first one; nothing is there yet without it.
    base: Option<u64>,
}

impl Rows {
    pub(super) fn new(numbers: Numbers) -> Rows {
        Rows { numbers, base: None }
    }

    /// Other numbers from the next update on.
    pub(super) fn replace(&mut self, numbers: Numbers) {
        *self = Rows::new(numbers);
    }

    /// Nothing is known to be on the device.
    pub(super) fn forget(&mut self) {
        self.base = None;
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
        let last = updates.saturating_add(count.max(1) as u64 - 1);
        let has = |base: u64, updates: u64| (base..base.saturating_add(TABLE_ROWS)).contains(&updates);
        if self.base.is_some_and(|base| has(base, updates) && has(base, last)) {
            return Ok(());
        }
        let (table, columns) = (self.numbers.table(updates), self.numbers.columns() as u64);
        if let Some(at) = table.iter().position(|number| !number.is_finite()) {
            let (update, number) = (updates + 1 + at as u64 / columns, table[at]);
            return Err(TrainerError::Number { update, number });
        }
        session.bind_input(names::NUMBERS, TensorView::f32(&table, [TABLE_ROWS, columns]))?;
        // The count of updates wraps on the device, and its distance to the base with it.
        session.bind_input(names::BASE, TensorView::i32(&[updates as u32 as i32], []))?;
        self.base = Some(updates);
        Ok(())
    }
}
