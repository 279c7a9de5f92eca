//! A conversation on a terminal: messages and commands in, answers out. Its history stays in the caches.

use super::lines::{Lines, Typed};
use super::report::Reported;
use super::{Interrupts, hearing, text_to};
use crate::apart;
use crate::cli::CommandError;
use crate::cli::escape;
use crate::cli::progress::Progress;
use crate::cli::words::count;
use crate::generate::{Conversation, Generated, Message, Request, saved};
use pumice_models::ModelError;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

const HELP: &str = "\
/reset   forget all turns        /undo   take the last message and its answer back
/regen   another answer          /save F, /load F   keep it in a file, go on from one
/help    this                    /quit   end (or Ctrl-D)
A line that ends with \\ goes on in the next one. Ctrl-C ends an answer.";

/// What a line is.
#[derive(Debug, PartialEq, Eq)]
enum Line {
    Say(String),
    Reset,
    Undo,
    Again,
    Save(PathBuf),
    Load(PathBuf),
    NoFile,
    Help,
    Quit,
    Unknown(String),
}

impl Line {
    fn of(text: String) -> Line {
        let Some(command) = text.strip_prefix('/') else { return Line::Say(text) };
        let (name, rest) = command.trim().split_once(' ').unwrap_or((command.trim(), ""));
        match (name, rest.trim()) {
            ("save", file) if !file.is_empty() => return Line::Save(file.into()),
            ("load", file) if !file.is_empty() => return Line::Load(file.into()),
            ("save" | "load", _) => return Line::NoFile,
            _ => {}
        }
        match command.trim() {
            "reset" => Line::Reset,
            "undo" => Line::Undo,
            "regen" => Line::Again,
            "help" | "?" => Line::Help,
            "quit" | "exit" | "bye" => Line::Quit,
            other => Line::Unknown(other.to_owned()),
        }
    }
}

/// A conversation with what it is told through.
struct Talk<'t> {
    reported: &'t Reported<'t>,
    request: Request,
    progress: &'t Progress,
    interrupts: &'t Interrupts,
    conversation: Conversation,
    out: &'t mut dyn Write,
    log: &'t mut dyn Write,
}

/// Talks until there are no more lines.
///
/// # Errors
/// A model without a chat template; what makes every further answer fail. What one message makes fail is told, and the
/// conversation goes on.
pub(super) fn talk(
    reported: &Reported<'_>,
    request: &Request,
    progress: &Progress,
    interrupts: &Interrupts,
    lines: &mut dyn Lines,
    out: &mut dyn Write,
    log: &mut dyn Write,
) -> Result<bool, CommandError> {
    if !reported.generator.has_chat_template() {
        let why = "the model has no chat template, so that neither a conversation nor --chat is possible: give it a text to \
                   continue with --prompt \"…\", or a template with --template FILE";
        return Err(CommandError::Usage(why.to_owned()));
    }
    let conversation = reported.generator.conversation()?;
    let request = request.clone();
    let mut talk = Talk { reported, request, progress, interrupts, conversation, out, log };
    talk.reset();
    writeln!(talk.log, "{HELP}\n")?;
    talk.interrupts.is_open.store(true, Ordering::Relaxed);
    loop {
        // Only what comes during an answer ends it.
        talk.interrupts.stop.clear();
        let typed = lines.message()?;
        talk.interrupts.stop.clear();
        match typed {
            Typed::End => return Ok(true),
            Typed::Interrupted => writeln!(talk.log, "/quit or Ctrl-D ends the conversation")?,
            Typed::Unreadable(why) => writeln!(talk.log, "the line is left out: {why}")?,
            Typed::Message(text) if text.trim().is_empty() => {}
            Typed::Message(text) => match Line::of(text) {
                Line::Quit => return Ok(true),
                line => talk.line(line)?,
            },
        }
    }
}

impl Talk<'_> {
    fn line(&mut self, line: Line) -> Result<(), CommandError> {
        match line {
            Line::Say(text) => self.answer(Some(text)),
            Line::Again => self.answer(None),
            Line::Undo => {
                let told = if self.conversation.undo() { "taken back" } else { "nothing was said yet" };
                Ok(writeln!(self.log, "{told}")?)
            }
            Line::Reset => {
                self.reset();
                Ok(writeln!(self.log, "all turns are forgotten")?)
            }
            Line::Save(file) => {
                let reads: Vec<&Path> = self.reported.reads.iter().map(PathBuf::as_path).collect();
                if let Err(error) = apart::check(&file, &reads) {
                    return self.say(&error);
                }
                if saved::is_other(&file) {
                    let told = "is there and is no saved conversation that can be read: give another name";
                    return self.say(&format_args!("{} {told}", file.display()));
                }
                let saved = self.conversation.save_file(&file);
                self.tell_of(saved.map(|()| format!("saved to {}", file.display())))
            }
            Line::Load(file) => {
                // What fails leaves the conversation that there is, a device that has no room for both too.
                let told = match self.reported.generator.load_file(&file) {
                    Ok(loaded) => {
                        self.conversation = loaded;
                        let turns = count(self.conversation.messages().len(), "turn");
                        format!("{}: {turns}, {}", file.display(), count(self.conversation.len(), "token"))
                    }
                    Err(error) => error.to_string(),
                };
                self.say(&told)
            }
            Line::NoFile => Ok(writeln!(self.log, "the name of a file is missing: /save talk.pumice")?),
            Line::Unknown(name) => self.say(&format_args!("/{name} is not known\n{HELP}")),
            Line::Help | Line::Quit => Ok(writeln!(self.log, "{HELP}")?),
        }
    }

    /// Says what was done, or why not; a device that fails ends the conversation.
    fn tell_of(&mut self, done: Result<String, crate::Error>) -> Result<(), CommandError> {
        match done {
            Ok(text) => self.say(&text),
            Err(crate::Error::Runtime(e)) => Err(crate::Error::Runtime(e).into()),
            Err(other) => self.say(&other),
        }
    }

    /// Writes a line to the log; what it repeats of a name or a file controls no terminal.
    fn say(&mut self, line: &dyn std::fmt::Display) -> Result<(), CommandError> {
        Ok(writeln!(self.log, "{}", escape::message(&line.to_string()))?)
    }

    fn reset(&mut self) {
        self.conversation.reset();
        self.conversation.set_messages(self.reported.args.system_turn().into_iter().collect());
    }

    /// Answers a message, or the last one again. What is wrong with it is told.
    fn answer(&mut self, text: Option<String>) -> Result<(), CommandError> {
        let is_json = self.reported.args.json;
        let Talk { conversation, request, out, .. } = self;
        let write = text_to(*out, is_json);
        let answer = hearing(&self.interrupts.stop, self.progress, write, |listen| match text {
            Some(text) => conversation.say(Message::new("user", text), request, listen),
            None => conversation.say_again(request, listen),
        });
        match answer {
            Ok(answer) => self.tell(&answer),
            Err(CommandError::Pumice(crate::Error::Model(error))) => {
                let is_full = matches!(error, ModelError::Option { option: "prompt", .. });
                let hint = if is_full { "; /undo and /reset make room" } else { "" };
                self.say(&format_args!("{error}{hint}"))
            }
            Err(other) => Err(other),
        }
    }

    fn tell(&mut self, answer: &Generated) -> Result<(), CommandError> {
        let ids = self.conversation.ids();
        let prompt = &ids[..ids.len() - answer.ids.len().min(ids.len())];
        if self.reported.args.json {
            return Ok(writeln!(self.out, "{}", self.reported.json(prompt, answer)?)?);
        }
        writeln!(self.out)?;
        self.out.flush()?;
        Ok(writeln!(self.log, "{}\n", self.reported.sums(prompt.len(), answer))?)
    }
}

#[cfg(test)]
mod tests;
