//! Lines that a person types: an editor with history on a terminal.

use crate::cli::CommandError;
use rustyline::error::ReadlineError;
use rustyline::{Behavior, Config, DefaultEditor};
use std::io::{IsTerminal, stdout};

/// What was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Typed {
    /// A message, of several lines where each but the last ended with `\`.
    Message(String),
    /// Ctrl-C with an empty or half a line.
    Interrupted,
    /// A line that is no text, and why.
    Unreadable(String),
    /// There is no more.
    End,
}

/// Whoever gives lines.
pub(super) trait Lines {
    /// The next line, without its end; `prompt` stands before it.
    fn line(&mut self, prompt: &str) -> Result<Typed, CommandError>;

    /// The next message.
    fn message(&mut self) -> Result<Typed, CommandError> {
        let mut message = String::new();
        loop {
            let prompt = if message.is_empty() { "> " } else { "… " };
            let Typed::Message(line) = self.line(prompt)? else { return self.ended(message) };
            match line.strip_suffix('\\') {
                Some(line) => {
                    message.push_str(line);
                    message.push('\n');
                }
                None => return Ok(Typed::Message(message + &line)),
            }
        }
    }

    /// A message whose next line did not come: Ctrl-C takes it back, the end of the input does not.
    fn ended(&mut self, message: String) -> Result<Typed, CommandError> {
        Ok(match self.last() {
            Typed::End if !message.is_empty() => Typed::Message(message),
            last => last,
        })
    }

    /// What ended the lines.
    fn last(&self) -> Typed;
}

/// Lines of a terminal.
pub(super) struct Editor {
    /// One for all lines: it keeps what was typed or pasted after a line that was taken. After one that was not, by
    /// Ctrl-C or because it is no text, that is gone.
    editor: Option<DefaultEditor>,
    last: Typed,
}

/// Lines that the history keeps.
const HISTORY: usize = 200;

impl Editor {
    /// Nothing was typed yet.
    pub fn new() -> Editor {
        Editor { editor: None, last: Typed::End }
    }

    fn read(&mut self, prompt: &str) -> Result<String, ReadlineError> {
        let editor = match &mut self.editor {
            Some(editor) => editor,
            none => {
                // What the editor draws is no part of an output that goes elsewhere.
                let terminal = if stdout().is_terminal() { Behavior::Stdio } else { Behavior::PreferTerm };
                let config = Config::builder().max_history_size(HISTORY)?.auto_add_history(true);
                none.insert(DefaultEditor::with_config(config.behavior(terminal).build())?)
            }
        };
        while_resized(|| editor.readline(prompt))
    }
}

/// Drops what was typed and not read: the editor has dropped the first of it, maybe up to the middle of a line.
#[cfg(unix)]
fn drop_typed() {
    use nix::sys::termios::{FlushArg, tcflush};
    let _ = tcflush(std::io::stdin(), FlushArg::TCIFLUSH);
}

#[cfg(not(unix))]
fn drop_typed() {}

/// Reads while changes of the window's size are heard, and at no other time: the editor's handler writes each to a pipe
/// that nobody reads meanwhile, and waits once it is full.
#[cfg(unix)]
fn while_resized<T>(read: impl FnOnce() -> T) -> T {
    use nix::sys::signal::{SigSet, Signal};
    let resized = SigSet::from(Signal::SIGWINCH);
    let _ = resized.thread_unblock();
    let read = read();
    let _ = resized.thread_block();
    read
}

#[cfg(not(unix))]
fn while_resized<T>(read: impl FnOnce() -> T) -> T {
    read()
}

impl Lines for Editor {
    fn line(&mut self, prompt: &str) -> Result<Typed, CommandError> {
        self.last = match self.read(prompt) {
            Ok(line) => return Ok(Typed::Message(line)),
            Err(ReadlineError::Eof) => Typed::End,
            Err(ReadlineError::Interrupted) => Typed::Interrupted,
            // What is no UTF-8 is one line, and others follow.
            Err(ReadlineError::Io(error)) if error.kind() == std::io::ErrorKind::InvalidData => {
                Typed::Unreadable("it is not UTF-8".to_owned())
            }
            Err(ReadlineError::Io(error)) => {
                return Err(CommandError::Usage(format!("the terminal cannot be read: {error}")));
            }
            Err(other) => return Err(CommandError::Usage(other.to_string())),
        };
        drop_typed();
        Ok(self.last.clone())
    }

    fn last(&self) -> Typed {
        self.last.clone()
    }
}
