//! What steps do to each value of a program, found in one pass over the steps.

use crate::step::{StepId, Use};

/// By version.
pub(super) struct Touches {
    /// Whether a step has a use of it.
    pub touched: Vec<bool>,
    /// The last step that writes it; status atomics do not count.
    pub last_writer: Vec<Option<StepId>>,
}

impl Touches {
    /// So many values that nothing touches.
    pub fn none(values: usize) -> Touches {
        Touches { touched: vec![false; values], last_writer: vec![None; values] }
    }

    /// A use of a step; steps come in their order.
    pub fn add(&mut self, step: StepId, u: &Use) {
        let version = u.content.0 as usize;
        self.touched[version] = true;
        if u.access.stores() {
            self.last_writer[version] = Some(step);
        }
    }
}
