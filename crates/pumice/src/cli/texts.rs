//! Texts that commands are given: as an argument, on the standard input, in a file.

use super::CommandError;
use crate::opened;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// No prompt comes near this.
const LIMIT: u64 = 64 << 20;

/// The text of `--prompt TEXT|-`, or of `--file FILE`, which may be a pipe; none where neither is given.
///
/// # Errors
/// A file or an input that cannot be read, is no UTF-8, or is larger than 64 MiB; a device.
pub(crate) fn given(prompt: Option<&str>, file: Option<&Path>) -> Result<Option<String>, CommandError> {
    match (prompt, file) {
        (Some("-"), _) => limited(std::io::stdin().lock(), "the standard input").map(Some),
        (Some(text), _) => Ok(Some(text.to_owned())),
        (None, Some(path)) => opened(path, opened::file_or_pipe).map(Some),
        (None, None) => Ok(None),
    }
}

/// The text of a regular file.
///
/// # Errors
/// As [`given`], and of what is no regular file.
pub(crate) fn read(path: &Path) -> Result<String, CommandError> {
    opened(path, opened::file)
}

fn opened(path: &Path, open: fn(&Path) -> std::io::Result<File>) -> Result<String, CommandError> {
    let wrong = |e| CommandError::Usage(format!("{}: {e}", path.display()));
    limited(open(path).map_err(wrong)?, &path.display().to_string())
}

fn limited(source: impl Read, name: &str) -> Result<String, CommandError> {
    let mut text = String::new();
    let read = source.take(LIMIT + 1).read_to_string(&mut text);
    match read {
        Ok(n) if n as u64 <= LIMIT => Ok(text),
        Ok(_) => Err(CommandError::Usage(format!("{name}: more than {} MiB of text", LIMIT >> 20))),
        Err(e) => Err(CommandError::Usage(format!("{name}: {e}"))),
    }
}
