//! Files that a killed process left in the cache folder: what was being written when it ended, under a name of its own.
//!
//! In: a folder. Out: nothing; what cannot be removed stays. Never here: files that are used.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// Whoever writes a file is done with it sooner.
const AGE: Duration = Duration::from_secs(24 * 60 * 60);
/// Hexadecimal digits of an identity in the name of a cache file.
const DIGITS: usize = 24;

/// Removes files of that kind that nobody has written to for a day before `now`.
pub(crate) fn remove(folder: &Path, now: SystemTime) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_ours = entry.file_name().to_str().is_some_and(is_temporary);
        // Of a link this is what is known of the link.
        let is_old = |known: fs::Metadata| {
            let age = known.modified().ok().and_then(|written| now.duration_since(written).ok());
            known.is_file() && age.is_some_and(|age| age > AGE)
        };
        if is_ours && entry.metadata().is_ok_and(is_old) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Whether a file has the name of one that is being written beside a file of the cache: a dot, that one's name, a dot,
/// what makes it unique.
fn is_temporary(name: &str) -> bool {
    let Some((digits, rest)) = name.strip_prefix(".pumice-").and_then(|rest| rest.split_at_checked(DIGITS))
    else {
        return false;
    };
    let has_two_endings = rest.strip_prefix('.').is_some_and(|rest| rest.contains('.'));
    digits.bytes().all(|digit| digit.is_ascii_hexdigit()) && has_two_endings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_left_a_day_ago_is_removed() {
        let folder = std::env::temp_dir().join(format!("pumice-abandoned-{}", std::process::id()));
        fs::create_dir_all(folder.join(".pumice-0123456789abcdef01234567.figures.folder")).expect("a folder");
        let left = [
            ".pumice-0123456789abcdef01234567.pipelines.4711-1764067000000000000",
            ".pumice-0123456789abcdef01234567.table.json.00112233aabbccdd.new",
        ];
        let others = [
            "pumice-0123456789abcdef01234567.pipelines",
            ".pumice-0123456789abcdef01234567.pipelines",
            ".pumice-settings.of.another",
            ".pumice-über",
        ];
        for name in left.iter().chain(&others) {
            fs::write(folder.join(name), "x").expect("written");
        }
        let is_there = |name: &&str| folder.join(name).exists();
        let now = SystemTime::now();
        remove(&folder, now + AGE / 2);
        assert!(left.iter().chain(&others).all(is_there), "they may be in use");
        remove(&folder, now + 2 * AGE);
        assert!(!left.iter().any(is_there) && others.iter().all(is_there));
        assert!(folder.join(".pumice-0123456789abcdef01234567.figures.folder").is_dir());
        remove(&folder.join("gone"), now);
        fs::remove_dir_all(&folder).expect("removed");
    }
}
