//! Keeps the making of pipelines and submissions apart, on drivers that mix them up.
//!
//! A quirk (`docs/quirks.md`, "pipelines beside submissions"): a submission that begins while another thread makes a
//! pipeline waits half a second inside the driver, then the device never ends it. Pipelines may be made beside each
//! other, and beside kernels that run.

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Open, unless the driver needs it.
pub(super) struct Gate {
    lock: Option<RwLock<()>>,
}

impl Gate {
    /// For a driver that needs it or not.
    pub(super) fn new(needed: bool) -> Gate {
        Gate { lock: needed.then(RwLock::default) }
    }

    /// Held while a pipeline is made.
    pub(super) fn make(&self) -> Option<RwLockReadGuard<'_, ()>> {
        self.lock.as_ref().map(|lock| lock.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Held while something is submitted.
    pub(super) fn submit(&self) -> Option<RwLockWriteGuard<'_, ()>> {
        self.lock.as_ref().map(|lock| lock.write().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_make_and_one_submits() {
        let gate = Gate::new(true);
        let (_one, _other) = (gate.make(), gate.make());
        assert!(gate.lock.as_ref().is_some_and(|lock| lock.try_write().is_err()));
        drop((_one, _other));
        let _submitting = gate.submit();
        assert!(gate.lock.as_ref().is_some_and(|lock| lock.try_read().is_err()));
    }

    #[test]
    fn a_driver_that_needs_none_is_not_held_up() {
        let gate = Gate::new(false);
        assert!(gate.make().is_none() && gate.submit().is_none());
    }
}
