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
        Ok(if message.is_empty() { self.last() } else { Typed::Message(message) })
    }

    /// What ended the lines.
    fn last(&self) -> Typed;
}

/// Lines of a terminal.
pub(super) struct Editor {
    editor: DefaultEditor,
    last: Typed,
}

impl Editor {
    /// # Errors
    /// A terminal that cannot be set up.
    pub fn new() -> Result<Editor, CommandError> {
        let editor = DefaultEditor::new().map_err(|e| CommandError::Usage(e.to_string()))?;
        Ok(Editor { editor, last: Typed::End })
    }
}

impl Lines for Editor {
    fn line(&mut self, prompt: &str) -> Result<Typed, CommandError> {
        match self.editor.readline(prompt) {
            Ok(line) => {
                // A history that is full forgets; nothing else can go wrong.
                let _ = self.editor.add_history_entry(&line);
                return Ok(Typed::Message(line));
            }
            Err(ReadlineError::Eof) => self.last = Typed::End,
            Err(ReadlineError::Interrupted) => self.last = Typed::Interrupted,
            Err(ReadlineError::Io(error)) => return Err(CommandError::Write(error)),
            Err(other) => return Err(CommandError::Usage(other.to_string())),
        }
        Ok(self.last.clone())
    }

    fn last(&self) -> Typed {
        self.last.clone()
    }
}
