//! Standard output. In: text or a value. Out: the text, or the value as JSON. A reader that has seen enough
//! (`| head`) is no error. Never here: messages about progress or failure, which go to standard error.

use std::io::{ErrorKind, Write};
use std::path::Path;

use serde::Serialize;

use crate::failure::{Failure, Outcome};

/// Writes text as it is.
pub fn say(text: &str) -> Outcome {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => Err(Failure::file(Path::new("standard output"))(e)),
        _ => Ok(()),
    }
}

/// Writes a value as indented JSON.
pub fn json<T: Serialize + ?Sized>(value: &T) -> Outcome {
    let text = serde_json::to_string_pretty(value).map_err(|e| Failure::said(e.to_string()))?;
    say(&(text + "\n"))
}
