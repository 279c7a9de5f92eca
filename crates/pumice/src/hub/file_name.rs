//! Names that a server gives: which may become a path. In: a name. Out: nothing, or why not. Never here: a file.

use super::error::HubError;
use std::path::{Path, PathBuf};

/// Bytes of one part of a name, as file systems have it.
const LONGEST_PART: usize = 200;
/// Bytes of a name.
const LONGEST: usize = 600;
/// Devices of Windows, with any ending and in any case.
const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "conin$", "conout$"];

/// Refuses a name that leads out of the folder that it stands in: absolute, with `..`, or made of what separates
/// names on some system.
///
/// # Errors
/// [`HubError::FileName`].
pub(super) fn check_inside(repository: &str, name: &str) -> Result<(), HubError> {
    let problem = if name.is_empty() {
        "is empty"
    } else if name.starts_with('/') {
        "is absolute"
    } else if name.contains(['\\', ':']) || name.contains(char::is_control) {
        "has characters that no name of a file may have"
    } else if name.split('/').any(|part| part.is_empty() || part == "." || part == "..") {
        "leads out of the model's folder"
    } else {
        return Ok(());
    };
    Err(HubError::FileName { repository: repository.to_owned(), name: name.to_owned(), problem })
}

/// As [`check_inside`], and refuses what some system cannot store.
///
/// # Errors
/// [`HubError::FileName`].
pub(super) fn check_stored(repository: &str, name: &str) -> Result<(), HubError> {
    check_inside(repository, name)?;
    let problem = if name.len() > LONGEST || name.split('/').any(|part| part.len() > LONGEST_PART) {
        "is too long"
    } else if name.split('/').any(is_device) {
        "is a device of Windows"
    } else if name
        .split('/')
        .any(|part| part.ends_with(['.', ' ']) || part.contains(['<', '>', '"', '|', '?', '*']))
    {
        "has characters that Windows does not store"
    } else {
        return Ok(());
    };
    Err(HubError::FileName { repository: repository.to_owned(), name: name.to_owned(), problem })
}

fn is_device(part: &str) -> bool {
    let base = part.split('.').next().unwrap_or(part).trim_end().to_ascii_lowercase();
    let numbered = |prefix: &str| {
        let rest = base.strip_prefix(prefix).map(str::chars);
        rest.is_some_and(|mut rest| {
            rest.next().is_some_and(|c| "0123456789¹²³".contains(c)) && rest.next().is_none()
        })
    };
    DEVICES.contains(&base.as_str()) || numbered("com") || numbered("lpt")
}

/// The path of a name that was checked.
pub(super) fn path_in(folder: &Path, name: &str) -> PathBuf {
    name.split('/').fold(folder.to_owned(), |path, part| path.join(part))
}

/// Whether a text is a commit: 40 digits of sha1, or 64 of sha256.
pub(super) fn is_commit(text: &str) -> bool {
    is_hex(text, 40) || is_hex(text, 64)
}

/// Whether a text is `digits` hexadecimal digits in lower case.
pub(super) fn is_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_out_are_refused() {
        for name in [
            "", "/x", "../x", "a/../x", "a//x", "./x", "a/", "C:\\x", "c:x", "a\\..\\x", "a\nb", "a\0b",
            "..", "\u{85}",
        ] {
            assert!(matches!(check_inside("o/r", name), Err(HubError::FileName { .. })), "{name:?}");
        }
        for name in ["x", "a/b.gguf", "..a", "a..b/c", "é.json"] {
            assert!(check_stored("o/r", name).is_ok(), "{name:?}");
        }
    }

    #[test]
    fn names_that_a_system_cannot_store_are_refused() {
        let long = format!("{}.gguf", "x".repeat(200));
        for name in
            ["con", "a/NUL.json", "COM1.gguf", "lpt9", "a./x", "x ", "a|b", "aux .gguf", "com¹", &long]
        {
            assert!(check_stored("o/r", name).is_err(), "{name:?}");
        }
        for name in ["console", "com10", "com", "null.json"] {
            assert!(check_stored("o/r", name).is_ok(), "{name:?}");
        }
    }
}
