//! Signals, heard by a thread of their own: Ctrl-C, and the request to terminate.
//!
//! In: signals. Out: what they ask of a command ([`Interrupts`]), or the end of the program: where nothing is to be
//! ended in order, or it did not end yet, it ends at once, and a terminal of Unix is as it was before.

use pumice::generate::cli::Interrupts;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU8, Ordering};
#[cfg(unix)]
use terminal::Terminal;

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
    use nix::sys::signal::{SigSet, Signal, raise};
    let heard: SigSet = [Signal::SIGINT, Signal::SIGTERM].into_iter().collect();
    let terminal = Terminal::now();
    // The line editor hears of a window's size while a line is edited, and no other thread does.
    let resized = SigSet::from(Signal::SIGWINCH);
    if heard.thread_block().and_then(|()| resized.thread_block()).is_err() {
        return &INTERRUPTS;
    }
    let wait = move || {
        while let Ok(signal) = heard.wait() {
            let is_open = INTERRUPTS.is_open.load(Ordering::Relaxed);
            let is_program = terminates == Terminates::Program;
            // Only a conversation changes how the terminal behaves.
            let restore = || terminal.iter().filter(|_| is_open && is_program).for_each(Terminal::restore);
            if signal == Signal::SIGTERM && is_program {
                restore();
                let _ = SigSet::from(signal).thread_unblock().and_then(|()| raise(signal));
            }
            end(128 + signal as u8, is_open, restore);
        }
    };
    // Where nobody waits for them they end the program as they end any other.
    if std::thread::Builder::new().name("signals".to_owned()).spawn(wait).is_err() {
        let _ = heard.thread_unblock();
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
    use nix::unistd::{getpgrp, tcgetpgrp};
    use std::io::{IsTerminal, Write, stdin, stdout};

    /// Whether the program is in the terminal's foreground. A program in the background that sets how the terminal
    /// behaves is stopped, and what it reads is how the shell's line editor has it.
    fn is_ours() -> bool {
        tcgetpgrp(stdin()).is_ok_and(|foreground| foreground == getpgrp())
    }

    /// How the terminal behaves: a line editor changes it while a line is typed.
    pub struct Terminal(Termios);

    impl Terminal {
        /// As it is now, if there is one.
        pub fn now() -> Option<Terminal> {
            tcgetattr(stdin()).ok().filter(|_| is_ours()).map(Terminal)
        }

        /// Makes it behave so again.
        pub fn restore(&self) {
            if !is_ours() || tcgetattr(stdin()).is_ok_and(|now| now == self.0) {
                return;
            }
            let _ = tcsetattr(stdin(), SetArg::TCSANOW, &self.0);
            if stdout().is_terminal() {
                // Pasted text is not put between marks any more (xterm's mode 2004), and the shell has its own line.
                let _ = stdout().write_all(b"\x1b[?2004l\n").and_then(|()| stdout().flush());
            }
        }
    }
}
