//! Keeps the versions of the params apart: runs and reads share them, whoever changes them has them alone.
//!
//! It is a lock for reading and writing of which no mutex is held while code of the user runs: a source of params, its
//! progress, a host step. Such code may use the same executable again. Its own thread never waits for itself:
//! - inside a run it may run and read, and is refused to set ([`RuntimeError::SetInsideRun`]);
//! - while it sets it may read what is set, and is refused to run or to set ([`RuntimeError::InsideSet`]).
//!
//! Who waits to have the params alone goes before those who would share them from then on. Where a run with host steps
//! is under way it does not: a host step may wait for another thread that runs the same executable.

use crate::error::RuntimeError;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;

/// What is known of the params, and who uses them.
#[derive(Debug)]
pub(crate) struct Gate<T> {
    held: Mutex<Held<T>>,
    changed: Condvar,
}

#[derive(Debug)]
struct Held<T> {
    value: T,
    shared: Vec<Sharer>,
    alone: Option<ThreadId>,
    /// How many wait to have it alone.
    waiting: usize,
}

/// A run or a read that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sharer {
    thread: ThreadId,
    /// Whether code of the user may run meanwhile.
    calls_user: bool,
}

impl<T> Held<T> {
    fn is_shared_by(&self, thread: ThreadId) -> bool {
        self.shared.iter().any(|s| s.thread == thread)
    }

    /// Whether somebody new has to wait before sharing.
    fn is_closed_to(&self, thread: ThreadId) -> bool {
        let after_others = self.waiting > 0 && !self.shared.iter().any(|s| s.calls_user);
        self.alone.is_some() || (after_others && !self.is_shared_by(thread))
    }
}

impl<T> Gate<T> {
    pub fn new(value: T) -> Gate<T> {
        let held = Held { value, shared: Vec::new(), alone: None, waiting: 0 };
        Gate { held: Mutex::new(held), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, Held<T>> {
        // Flags are changed before and after device calls and code of the user, never while one of them may panic.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, held: MutexGuard<'a, Held<T>>) -> MutexGuard<'a, Held<T>> {
        self.changed.wait(held).unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at what is known, whoever is changing it. `look` must not call code of the user.
    pub fn look<R>(&self, look: impl FnOnce(&T) -> R) -> R {
        look(&self.lock().value)
    }

    /// Shares the params with other runs, once nobody changes them.
    ///
    /// # Errors
    /// [`RuntimeError::InsideSet`] where this thread is changing them.
    pub fn share(&self, calls_user: bool) -> Result<Shared<'_, T>, RuntimeError> {
        let thread = std::thread::current().id();
        let mut held = self.lock();
        if held.alone == Some(thread) {
            return Err(RuntimeError::InsideSet);
        }
        while held.is_closed_to(thread) {
            held = self.wait(held);
        }
        let sharer = Sharer { thread, calls_user };
        held.shared.push(sharer);
        Ok(Shared { of: self, sharer: Some(sharer) })
    }

    /// As [`Gate::share`], to read what is set; a thread that is changing other params may.
    pub fn share_to_read(&self) -> Shared<'_, T> {
        match self.share(false) {
            Ok(shared) => shared,
            Err(_) => Shared { of: self, sharer: None },
        }
    }

    /// Has the params alone, once nobody shares them.
    ///
    /// # Errors
    /// [`RuntimeError::SetInsideRun`] where this thread shares them, [`RuntimeError::InsideSet`] where it is changing
    /// them.
    pub fn alone(&self) -> Result<Alone<'_, T>, RuntimeError> {
        let thread = std::thread::current().id();
        let mut held = self.lock();
        if held.alone == Some(thread) {
            return Err(RuntimeError::InsideSet);
        }
        if held.is_shared_by(thread) {
            return Err(RuntimeError::SetInsideRun);
        }
        held.waiting += 1;
        while held.alone.is_some() || !held.shared.is_empty() {
            held = self.wait(held);
        }
        held.waiting -= 1;
        held.alone = Some(thread);
        Ok(Alone { of: self })
    }
}

/// As long as it lives nobody changes the params; whoever reads while changing them holds one as well.
#[derive(Debug)]
pub(crate) struct Shared<'a, T> {
    of: &'a Gate<T>,
    /// `None` where the thread has the params alone.
    sharer: Option<Sharer>,
}

impl<T> Shared<'_, T> {
    /// As [`Gate::look`].
    pub fn look<R>(&self, look: impl FnOnce(&T) -> R) -> R {
        self.of.look(look)
    }
}

impl<T> Drop for Shared<'_, T> {
    fn drop(&mut self) {
        let mut held = self.of.lock();
        let at = self.sharer.and_then(|sharer| held.shared.iter().rposition(|s| *s == sharer));
        if let Some(at) = at {
            held.shared.swap_remove(at);
        }
        drop(held);
        self.of.changed.notify_all();
    }
}

/// As long as it lives nobody else uses the params.
#[derive(Debug)]
pub(crate) struct Alone<'a, T> {
    of: &'a Gate<T>,
}

impl<'a, T> Alone<'a, T> {
    /// Changes what is known. `change` must not call code of the user.
    pub fn change<R>(&self, change: impl FnOnce(&mut T) -> R) -> R {
        change(&mut self.of.lock().value)
    }

    /// Shares the params, with nobody in between.
    pub fn downgrade(self, calls_user: bool) -> Shared<'a, T> {
        let sharer = Sharer { thread: std::thread::current().id(), calls_user };
        self.of.lock().shared.push(sharer);
        Shared { of: self.of, sharer: Some(sharer) }
    }
}

impl<T> Drop for Alone<'_, T> {
    fn drop(&mut self) {
        self.of.lock().alone = None;
        self.of.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{RecvTimeoutError, channel};
    use std::time::Duration;

    const SOON: Duration = Duration::from_millis(50);
    const LONG: Duration = Duration::from_secs(20);

    #[test]
    fn one_thread_never_waits_for_itself() {
        let gate = Gate::new(1);
        let run = gate.share(true).expect("nobody sets");
        let inner = gate.share(true).expect("a run inside a run");
        assert!(matches!(gate.alone(), Err(RuntimeError::SetInsideRun)));
        drop((run, inner));
        let set = gate.alone().expect("no run is left");
        set.change(|v| *v = 2);
        assert!(matches!(gate.alone(), Err(RuntimeError::InsideSet)));
        assert!(matches!(gate.share(false), Err(RuntimeError::InsideSet)));
        assert_eq!(gate.share_to_read().look(|v| *v), 2);
        let run = set.downgrade(false);
        assert!(matches!(gate.alone(), Err(RuntimeError::SetInsideRun)));
        drop(run);
        drop(gate.alone().expect("nobody shares"));
    }

    /// Whether another thread shares while `held` is alive and a third waits to have the gate alone.
    fn shares_beside(calls_user: bool) -> bool {
        let gate = Gate::new(());
        let held = gate.share(calls_user).expect("nobody sets");
        std::thread::scope(|scope| {
            scope.spawn(|| drop(gate.alone().expect("in the end")));
            while gate.lock().waiting == 0 {
                std::thread::yield_now();
            }
            let (say, hear) = channel();
            let gate = &gate;
            scope.spawn(move || {
                drop(gate.share(false).expect("in the end"));
                say.send(()).expect("it is heard");
            });
            let early = hear.recv_timeout(SOON);
            drop(held);
            match early {
                Ok(()) => true,
                Err(RecvTimeoutError::Timeout) => {
                    hear.recv_timeout(LONG).expect("after the one that waited");
                    false
                }
                Err(e) => panic!("{e}"),
            }
        })
    }

    #[test]
    fn who_waits_to_set_goes_first_unless_a_host_step_may_wait_for_others() {
        assert!(!shares_beside(false));
        assert!(shares_beside(true));
    }
}
