//! The file that remembers which tests of matrix units have passed: a line for each test with each table, so that
//! variants that only another table takes are tested, too.
//!
//! In: a file, lines. Out: lines. A file that cannot be read says nothing, one that cannot be written is not there:
//! tests are made again.

use super::Trial;
use pumice_types::TableId;
use std::fs;
use std::path::Path;

/// Bytes of the file at most: those of some hundred tables.
const LARGEST: u64 = 1 << 16;

/// What says that a test has passed with a table. A damaged line is another one.
pub(super) fn line(table: &TableId, trial: Trial) -> String {
    format!("{} {:?} {} {} passed", table.hash, table.class, trial.precision, trial.subject.name())
}

/// The lines of a file. What cannot be one is not opened: a pipe would wait for whoever writes into it.
pub(super) fn read(file: &Path) -> Vec<String> {
    let may_be_one = |known: fs::Metadata| known.is_file() && known.len() <= LARGEST;
    if !fs::symlink_metadata(file).is_ok_and(may_be_one) {
        return Vec::new();
    }
    fs::read_to_string(file).map_or_else(|_| Vec::new(), |text| text.lines().map(str::to_owned).collect())
}

/// Adds lines to those that the file has, which are dropped where the file would become too long. What stands there and
/// is no regular file is not ours, and stays.
pub(super) fn add(file: &Path, known: Vec<String>, new: impl Iterator<Item = String>) {
    if !fs::symlink_metadata(file).map_or(true, |known| known.is_file()) {
        return;
    }
    let text = |lines: &[String]| -> String { lines.iter().map(|line| format!("{line}\n")).collect() };
    let new = text(&new.collect::<Vec<_>>());
    let mut all = text(&known) + &new;
    if all.len() as u64 > LARGEST {
        all = new;
    }
    let _ = file.parent().map(fs::create_dir_all);
    let _ = fs::write(file, all);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn place(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("pumice-units-{name}-{}", std::process::id()))
    }

    #[test]
    fn lines_are_added_until_the_file_is_long() {
        let file = place("lines");
        assert_eq!(read(&file), [""; 0], "there is none");
        add(&file, Vec::new(), ["a".to_owned()].into_iter());
        add(&file, read(&file), ["b".to_owned()].into_iter());
        assert_eq!(read(&file), ["a", "b"]);
        add(&file, vec!["x".repeat(LARGEST as usize)], ["c".to_owned()].into_iter());
        assert_eq!(read(&file), ["c"]);
        fs::remove_file(&file).expect("removed");
    }

    /// The test hangs where it is opened.
    #[cfg(unix)]
    #[test]
    fn a_pipe_in_the_place_of_what_is_remembered_says_nothing() {
        let file = place("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&file).status().expect("mkfifo is there").success());
        assert_eq!(read(&file), [""; 0]);
        add(&file, Vec::new(), ["a".to_owned()].into_iter());
        assert!(fs::symlink_metadata(&file).is_ok_and(|known| !known.is_file()), "it stays");
        fs::remove_file(&file).expect("removed");
    }
}
