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

/// Characters of a folded line, as many as a window on half a screen has.
#[cfg_attr(not(feature = "libraries"), allow(dead_code))]
pub const WIDTH: usize = 120;

/// Text with its long lines folded between words; what continues a line stands eight columns further in. A word that is
/// longer than a line stays whole.
#[cfg_attr(not(feature = "libraries"), allow(dead_code))]
pub fn folded(text: &str, width: usize) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let indent = " ".repeat(line.len() - line.trim_start().len());
        let (mut column, mut first) = (0, true);
        // Gaps between words are columns of a table: they stay, but where the line is folded.
        for piece in line.trim_start().split_inclusive(' ') {
            let length = piece.trim_end().chars().count();
            if first {
                out.push_str(&indent);
                column = indent.len();
            } else if length > 0 && column + length > width && column > indent.len() + 8 {
                out.truncate(out.trim_end().len());
                out.push('\n');
                out.push_str(&indent);
                out.push_str("        ");
                column = indent.len() + 8;
            }
            out.push_str(piece);
            column += piece.chars().count();
            first = false;
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::folded;

    /// Lines of 654 characters came out of plans.
    #[test]
    fn long_lines_are_folded_and_nothing_is_lost() {
        let line =
            format!("  s7  matmul  {}", (0..120).map(|i| format!("x@{i}")).collect::<Vec<_>>().join(" "));
        let text = format!("level 3\n{line}\n");
        let narrow = folded(&text, 100);
        assert!(narrow.lines().all(|l| l.chars().count() <= 100), "{narrow}");
        assert!(narrow.lines().skip(2).all(|l| l.starts_with("          x@")), "{narrow}");
        assert_eq!(
            narrow.split_whitespace().collect::<Vec<_>>(),
            text.split_whitespace().collect::<Vec<_>>()
        );
        assert_eq!(folded("a  b   c\n\n d\n", 100), "a  b   c\n\n d\n");
    }
}
