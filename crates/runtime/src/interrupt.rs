//! The wish to end a run that is under way, from another thread or the handler of a signal.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Ends runs early. Its clones are one and the same: whoever holds one can ask for the end.
///
/// A session that it was given to ([`Session::interrupt_by`](crate::Session::interrupt_by)) looks at it before a run
/// and wherever a run is cut into submissions, so that a run of many seconds ends within the device's bound for one.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<AtomicBool>);

/// Whether both are one and the same.
impl PartialEq for Interrupt {
    fn eq(&self, other: &Interrupt) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Interrupt {}

impl Interrupt {
    /// Asks for the end of what runs, and of what begins to run until [`Interrupt::clear`].
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Takes the wish back. Whether there was one.
    pub fn clear(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }

    /// Whether the end is asked for.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
