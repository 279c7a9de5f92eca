//! A file of texts, one per line.

use crate::embed::EmbedError;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Bytes of texts at most: a device or a pipe may go on without end.
const LARGEST: u64 = 1 << 28;

/// The lines of a file in order, blank ones too; `-` is the standard input. A line ends with `\n` or `\r\n`; what
/// stands after the last one is a line if it is not empty.
///
/// # Errors
/// A file that cannot be read or has more than 256 MiB, or a line of it that is not UTF-8, by its number.
pub fn read_lines(path: &Path) -> Result<Vec<String>, EmbedError> {
    let bytes = match path == Path::new("-") {
        true => texts(&mut io::stdin().lock()),
        false => File::open(path).and_then(|mut file| texts(&mut file)),
    };
    let bytes =
        bytes.map_err(|source| EmbedError::Io { path: path.to_owned(), action: "reading", source })?;
    split(&bytes).map_err(|line| EmbedError::NotText { path: path.to_owned(), line })
}

/// All that there is to read, if it is no more than texts may be.
fn texts(from: &mut dyn Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(LARGEST + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > LARGEST {
        true => {
            Err(io::Error::other(format!("there are more than {LARGEST} bytes of texts; give parts of them")))
        }
        false => Ok(bytes),
    }
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

    /// The test runs out of memory where such a file is read to its end.
    #[cfg(unix)]
    #[test]
    fn a_file_without_end_is_refused() {
        let refused = read_lines(Path::new("/dev/zero")).expect_err("it has no end");
        assert!(refused.to_string().contains("more than 268435456 bytes"), "{refused}");
    }
}
