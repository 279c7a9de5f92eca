//! Texts of files, as a terminal may show them.

/// The text, with what controls a terminal as an escape such as `\u{1b}`. Characters of `kept` stay as they are.
///
/// ```
/// assert_eq!(pumice::cli::escape::escaped("a\u{7}\n", &['\n']), "a\\u{7}\n");
/// ```
pub fn escaped(text: &str, kept: &[char]) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() && !kept.contains(&c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

/// A message of the program, whose own lines and tabs stay.
pub fn message(text: &str) -> String {
    escaped(text, &['\n', '\t'])
}

/// Writes a line for each note; what a note quotes of a file controls no terminal.
pub(crate) fn notes(notes: &[impl std::fmt::Display], log: &mut dyn std::io::Write) -> std::io::Result<()> {
    notes.iter().try_for_each(|note| writeln!(log, "note: {}", message(&note.to_string())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escapes_and_other_text_is_as_it_was() {
        let raw = "a\u{1b}[2Jb\u{7}c\0d\re\u{7f}f\u{9b}g\nh\ti";
        let lines = "a\\u{1b}[2Jb\\u{7}c\\u{0}d\\re\\u{7f}f\\u{9b}g\nh\ti";
        assert_eq!(message(raw), lines);
        assert_eq!(escaped(raw, &[]), lines.replace('\n', "\\n").replace('\t', "\\t"));
        let plain = "Grüße, 世界: `x\\y` \"z\"";
        assert_eq!(escaped(plain, &[]), plain);
    }
}
