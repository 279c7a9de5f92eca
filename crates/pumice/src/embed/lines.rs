//! A file of texts, one per line.

use crate::embed::EmbedError;
use std::io::Read;
use std::path::Path;

/// The lines of a file in order, blank ones too; `-` is the standard input. A line ends with `\n` or `\r\n`; what
/// stands after the last one is a line if it is not empty.
///
/// # Errors
/// A file that cannot be read, or a line of it that is not UTF-8, by its number.
pub fn read_lines(path: &Path) -> Result<Vec<String>, EmbedError> {
    let mut bytes = Vec::new();
    let read = if path == Path::new("-") {
        std::io::stdin().lock().read_to_end(&mut bytes).map(drop)
    } else {
        std::fs::read(path).map(|read| bytes = read)
    };
    read.map_err(|source| EmbedError::Io { path: path.to_owned(), action: "reading", source })?;
    split(&bytes).map_err(|line| EmbedError::NotText { path: path.to_owned(), line })
}

/// The lines, or the number of the first that is not UTF-8.
fn split(bytes: &[u8]) -> Result<Vec<String>, usize> {
    // Editors of one system begin UTF-8 files with a byte order mark; it is no part of the first text.
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    if bytes.is_empty() {
        return Ok(Vec::new());
    }
    let body = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let line = |(i, line): (usize, &[u8])| {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        std::str::from_utf8(line).map(str::to_owned).map_err(|_| i + 1)
    };
    body.split(|&b| b == b'\n').enumerate().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_row() {
        let lines = |text: &[u8]| split(text);
        assert_eq!(lines(b""), Ok(vec![]));
        assert_eq!(lines(b"\n"), Ok(vec!["".to_owned()]));
        assert_eq!(lines(b"a\n\nb"), Ok(vec!["a".to_owned(), "".to_owned(), "b".to_owned()]));
        assert_eq!(lines(b"a\r\nb\n"), Ok(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(lines(b"\xEF\xBB\xBFa\n\n"), Ok(vec!["a".to_owned(), "".to_owned()]));
        assert_eq!(lines(b"a\n\xFF\n"), Err(2));
    }
}
