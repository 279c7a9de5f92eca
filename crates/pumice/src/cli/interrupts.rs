//! What a signal asks of a command, between the program, which hears it, and the command, which ends in order.

use pumice_runtime::Interrupt;
use std::sync::atomic::AtomicBool;

/// What Ctrl-C, or the request to terminate, asks for, and what it may.
#[derive(Debug, Default)]
pub struct Interrupts {
    /// Set by either: the answer that is made ends after the submission that is under way, and files that are written
    /// beside their places are removed.
    pub stop: Interrupt,
    /// Whether there is something to end in order: a conversation is open, which goes on after that, or files are
    /// written. Otherwise either may end the program at once.
    pub is_open: AtomicBool,
}
