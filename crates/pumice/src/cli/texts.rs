//! Texts that commands are given: as an argument, on the standard input, in a file.

use super::CommandError;
use std::io::Read;
use std::path::Path;

/// No prompt comes near this.
const LIMIT: u64 = 64 << 20;

/// The text of `--prompt TEXT|-`, or of `--file FILE`; none where neither is given.
///
/// # Errors
/// A file or an input that cannot be read, is no UTF-8, or is larger than 64 MiB.
pub(crate) fn given(prompt: Option<&str>, file: Option<&Path>) -> Result<Option<String>, CommandError> {
    match (prompt, file) {
        (Some("-"), _) => limited(std::io::stdin().lock(), "the standard input").map(Some),
        (Some(text), _) => Ok(Some(text.to_owned())),
        (None, Some(path)) => read(path).map(Some),
        (None, None) => Ok(None),
    }
}

/// The text of a file.
pub(crate) fn read(path: &Path) -> Result<String, CommandError> {
    let wrong = |e| CommandError::Usage(format!("{}: {e}", path.display()));
    limited(std::fs::File::open(path).map_err(wrong)?, &path.display().to_string())
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
