//! Text of a file as people are shown it: what is in it moves no cursor, changes no colour and begins no line.

use std::fmt;

/// Shows a text with every character escaped that is not printed as itself: `\u{1b}` for escape, `\n` for a new line.
/// Quotes and backslashes stay as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Escaped<'a>(pub &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|c| match c {
            '\'' | '"' | '\\' => write!(f, "{c}"),
            c => write!(f, "{}", c.escape_debug()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_escaped() {
        let text = "GPU \"Größe\" \\ 'a'\u{1b}[2J\r\n\u{9b}1m\u{202e}";
        let shown = r#"GPU "Größe" \ 'a'\u{1b}[2J\r\n\u{9b}1m\u{202e}"#;
        assert_eq!(Escaped(text).to_string(), shown);
    }
}
