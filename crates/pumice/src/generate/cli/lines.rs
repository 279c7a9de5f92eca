//! Lines that a person types: an editor with history on a terminal.

use crate::cli::CommandError;
use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;

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
    /// What was typed before, the last of it last.
    history: Vec<String>,
    last: Typed,
}

/// Lines that the history keeps.
const HISTORY: usize = 200;

impl Editor {
    /// Nothing was typed yet.
    pub fn new() -> Editor {
        Editor { history: Vec::new(), last: Typed::End }
    }

    /// An editor with the history. While there is one, it takes Ctrl-C from the program, also between its lines: each
    /// line has its own.
    fn editor(&self) -> Result<DefaultEditor, ReadlineError> {
        let mut editor = DefaultEditor::new()?;
        for line in &self.history {
            editor.add_history_entry(line)?;
        }
        Ok(editor)
    }
}

impl Lines for Editor {
    fn line(&mut self, prompt: &str) -> Result<Typed, CommandError> {
        match self.editor().and_then(|mut editor| editor.readline(prompt)) {
            Ok(line) => {
                self.history.push(line.clone());
                let old = self.history.len().saturating_sub(HISTORY);
                self.history.drain(..old);
                return Ok(Typed::Message(line));
            }
            Err(ReadlineError::Eof) => self.last = Typed::End,
            Err(ReadlineError::Interrupted) => self.last = Typed::Interrupted,
            // What is no UTF-8 is one line, and others follow.
            Err(ReadlineError::Io(error)) if error.kind() == std::io::ErrorKind::InvalidData => {
                self.last = Typed::Unreadable("it is not UTF-8".to_owned());
            }
            Err(ReadlineError::Io(error)) => {
                return Err(CommandError::Usage(format!("the terminal cannot be read: {error}")));
            }
            Err(other) => return Err(CommandError::Usage(other.to_string())),
        }
        Ok(self.last.clone())
    }

    fn last(&self) -> Typed {
        self.last.clone()
    }
}
