//! Signals, heard by a thread of their own: Ctrl-C, and the request to terminate.
//!
//! In: signals. Out: what they ask of a command ([`Interrupts`]), or the end of the program: where nothing is to be
//! ended in order, or it did not end yet, it ends at once, and the terminal is as it was before.

use pumice::generate::cli::Interrupts;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU8, Ordering};

static INTERRUPTS: LazyLock<Interrupts> = LazyLock::new(Interrupts::default);
/// The exit code of a command that a signal ends.
static ENDED: AtomicU8 = AtomicU8::new(INTERRUPTED);
const INTERRUPTED: u8 = 130;

/// What a request to terminate ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Terminates {
    /// What is open, in order, as Ctrl-C does.
    WhatIsOpen,
    /// The program: a conversation would go on.
    Program,
}

/// The exit code of a command that a signal ended in order.
pub fn code() -> u8 {
    ENDED.load(Ordering::Relaxed)
}

/// Hears signals from now on. Called while there is one thread, from which the others have what they do not hear.
///
/// The signals are waited for and have no handler: a line editor sets one of its own as long as it is there, and
/// would take Ctrl-C from an answer. SIGHUP is left alone: to wait for it would take it from `nohup`.
#[cfg(unix)]
pub fn hear(terminates: Terminates) -> &'static Interrupts {
    use nix::sys::signal::{SigSet, Signal};
    let heard: SigSet = [Signal::SIGINT, Signal::SIGTERM].into_iter().collect();
    let terminal = terminal::Terminal::now();
    // Where they cannot be waited for they end the program as they end any other.
    if heard.thread_block().is_ok() {
        std::thread::spawn(move || {
            while let Ok(signal) = heard.wait() {
                let is_open = INTERRUPTS.is_open.load(Ordering::Relaxed);
                let at_once = signal == Signal::SIGTERM && terminates == Terminates::Program;
                end(128 + signal as u8, is_open && !at_once, || terminal.restore());
            }
        });
    }
    &INTERRUPTS
}

/// Hears Ctrl-C from now on.
#[cfg(not(unix))]
pub fn hear(_: Terminates) -> &'static Interrupts {
    // Where no handler can be set, Ctrl-C ends the program as it ends any other.
    let _ = ctrlc::set_handler(|| end(INTERRUPTED, INTERRUPTS.is_open.load(Ordering::Relaxed), || {}));
    &INTERRUPTS
}

/// Asks for the end of what is open; ends the program where nothing is, or it was asked before.
fn end(code: u8, is_open: bool, restore: impl FnOnce()) {
    let is_second = INTERRUPTS.stop.is_set();
    ENDED.store(code, Ordering::Relaxed);
    INTERRUPTS.stop.set();
    if is_second || !is_open {
        restore();
        std::process::exit(code.into());
    }
}

#[cfg(unix)]
mod terminal {
    use nix::sys::termios::{SetArg, Termios, tcgetattr, tcsetattr};
    use std::io::{Write, stdin, stdout};

    /// How the terminal behaves, if there is one: a line editor changes it while a line is typed.
    pub struct Terminal(Option<Termios>);

    impl Terminal {
        pub fn now() -> Terminal {
            Terminal(tcgetattr(stdin()).ok())
        }

        /// Makes it behave so again.
        pub fn restore(&self) {
            let (Some(before), Ok(now)) = (&self.0, tcgetattr(stdin())) else { return };
            if *before != now {
                let _ = tcsetattr(stdin(), SetArg::TCSANOW, before);
                // Pasted text is not put between marks any more (xterm's mode 2004), and the shell has its own line.
                let _ = stdout().write_all(b"\x1b[?2004l\n").and_then(|()| stdout().flush());
            }
        }
    }
}
