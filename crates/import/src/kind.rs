//! What a file is by its first bytes, so that a file of another kind is reported as what it is.

use std::fmt;

/// A kind of file that users confuse with a model's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A GGUF file.
    Gguf,
    /// A safetensors file.
    Safetensors,
    /// A plan that pumice saved.
    Plan,
    /// The few lines that stand for a file in Git LFS.
    LfsPointer,
    /// A page of the web: a download that was refused.
    Html,
    /// An archive, as checkpoints of PyTorch are.
    Zip,
    /// JSON text.
    Json,
    /// Other text.
    Text,
    /// None of these.
    Unknown,
}

/// How many bytes are looked at.
pub(crate) const LOOKED_AT: usize = 64;

impl FileKind {
    /// The kind of the file that begins with these bytes; 64 are enough.
    pub fn of(begin: &[u8]) -> FileKind {
        let begin = &begin[..begin.len().min(LOOKED_AT)];
        // The marks of plans are those of `pumice_plan::file`, which this crate does not know.
        let marks: [(&[u8], FileKind); 6] = [
            (b"GGUF", FileKind::Gguf),
            (b"\x89plan\r\n", FileKind::Plan),
            (b"version https://git-lfs", FileKind::LfsPointer),
            (b"PK\x03\x04", FileKind::Zip),
            (b"<!", FileKind::Html),
            (b"<html", FileKind::Html),
        ];
        if let Some((_, kind)) = marks.into_iter().find(|(mark, _)| begin.starts_with(mark)) {
            return kind;
        }
        // The length of a header is below 2^32 and its text follows.
        if begin.len() > 8 && begin[4..8] == [0; 4] && begin[8] == b'{' {
            return FileKind::Safetensors;
        }
        if !is_text(begin) {
            return FileKind::Unknown;
        }
        let first = begin.iter().find(|b| !b.is_ascii_whitespace());
        if matches!(first, Some(b'{' | b'[')) { FileKind::Json } else { FileKind::Text }
    }

    /// What the user can do with a file of this kind where one of kind `wanted` is needed.
    pub fn remedy(self, wanted: FileKind) -> &'static str {
        match self {
            FileKind::Plan => "give the model file here; commands that run a plan take it with --plan",
            FileKind::LfsPointer => "get the file itself: git lfs pull",
            FileKind::Html => "the download was answered with a page: get the file again",
            FileKind::Zip => "convert the checkpoint first",
            FileKind::Json if wanted == FileKind::Gguf => {
                "give the GGUF file itself, or the folder where a model's config.json lies"
            }
            FileKind::Safetensors if wanted == FileKind::Gguf => {
                "give the folder of the model, with its config.json, or a GGUF file"
            }
            _ if wanted == FileKind::Gguf => "give a GGUF file",
            _ => "give a safetensors file",
        }
    }
}

/// Whether bytes are UTF-8 without control characters, but for one that is cut at the end.
fn is_text(bytes: &[u8]) -> bool {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(e) if e.error_len().is_none() => {
            std::str::from_utf8(&bytes[..e.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return false,
    };
    !text.is_empty() && text.chars().all(|c| !c.is_control() || c.is_whitespace())
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FileKind::Gguf => "a GGUF file",
            FileKind::Safetensors => "a safetensors file",
            FileKind::Plan => "a plan of pumice",
            FileKind::LfsPointer => "a Git LFS pointer",
            FileKind::Html => "a page of the web",
            FileKind::Zip => "an archive, as PyTorch's checkpoints are",
            FileKind::Json => "JSON text",
            FileKind::Text => "a text file",
            FileKind::Unknown => "a file of an unknown kind",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_told_by_the_first_bytes() {
        let cases: [(&[u8], FileKind); 12] = [
            (b"", FileKind::Unknown),
            (b"GGUF\x03\0\0\0", FileKind::Gguf),
            (b"\x89plan\r\n\x1a\x07\0\0\0", FileKind::Plan),
            (b"version https://git-lfs.github.com/spec/v1\noid sha256:", FileKind::LfsPointer),
            (b"PK\x03\x04\0\0", FileKind::Zip),
            (b"<!doctype html><html>", FileKind::Html),
            (b"\x10\0\0\0\0\0\0\0{\"a\":{}}", FileKind::Safetensors),
            (b" \n{\"model_type\": \"bert\"}", FileKind::Json),
            (b"[1, 2]", FileKind::Json),
            ("graph mlp {\n  größe".as_bytes(), FileKind::Text),
            (b"\x00\x01\x02\xff", FileKind::Unknown),
            (b"text with \x00 zeros", FileKind::Unknown),
        ];
        for (begin, kind) in cases {
            assert_eq!(FileKind::of(begin), kind, "{}", begin.escape_ascii());
        }
        // A character that the 64th byte cuts is still text.
        assert_eq!(FileKind::of(("a".repeat(63) + "é").as_bytes()), FileKind::Text);
    }
}
