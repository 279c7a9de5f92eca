//! The table that `pumice tune` keeps for a device in the program's cache folder: where it lies, and that commands
//! compile with it.
//!
//! In: a folder, a device. Out: the table, or why it is not used; a file that cannot be read is left aside, and
//! reported. Libraries are given a table by their program.

use crate::device::DeviceChoice;
use crate::opened;
use pumice_compile::select::Selection;
use pumice_types::{Escaped, Precision, Table, Target};
use std::fs;
use std::io::{self, ErrorKind, Read};
use std::path::Path;
use std::sync::Arc;

/// What the file's name ends in.
pub const ENDING: &str = "table.json";

/// Bytes of a table's text at most; the largest that pumice comes with has 11 KB.
const LARGEST: u64 = 1 << 24;

/// The table in a file, if it is there and one that this build can compile with for the target.
pub fn read(file: &Path, target: &Target) -> Option<Result<Arc<Table>, String>> {
    let text = match fs::metadata(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => return None,
        known => known.and_then(|_| text(file)),
    };
    let text = text.map_err(|error| error.to_string());
    let table = text.and_then(|text| Table::from_json(&text).map_err(|error| error.to_string()));
    let sound = |table: Arc<Table>| {
        let read = Selection::read(&target.clone().with_table(table.clone()), Precision::Exact);
        read.map(|_| table).map_err(|error| error.to_string())
    };
    Some(table.map(Arc::new).and_then(sound))
}

/// The text of a table's file, if it is a regular one and no longer than a table can be.
pub(super) fn text(file: &Path) -> io::Result<String> {
    let mut text = String::new();
    let bytes = opened::file(file)?.take(LARGEST + 1).read_to_string(&mut text)?;
    if bytes as u64 > LARGEST {
        return Err(io::Error::other(format!("it has more than {LARGEST} bytes, which no table has")));
    }
    Ok(text)
}

/// The choice with the table that is kept for its device in the folder, and with word of that.
pub fn used(choice: DeviceChoice, folder: Option<&Path>) -> DeviceChoice {
    let file = folder.and_then(|folder| Some(folder.join(choice.device.table_file()?)));
    let Some(found) = file.as_deref().and_then(|file| read(file, choice.device.target())) else {
        return choice;
    };
    let file = file.unwrap_or_default();
    match found {
        Ok(table) => {
            let measured = Escaped(&table.measured);
            let why = format!("{}; kernels by the table that was tuned here ({measured})", choice.why);
            DeviceChoice { device: choice.device.with_table(table), why, ..choice }
        }
        Err(error) => {
            let why = format!("{}; table {} is not used: {error}", choice.why, file.display());
            DeviceChoice { why, ..choice }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn a_table_is_used_where_it_can_be_and_told_where_it_cannot() {
        let folder = std::env::temp_dir().join(format!("pumice-kept-table-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let (file, target) = (folder.join("a.table.json"), Target::h200());
        assert!(read(&file, &target).is_none(), "there is none");
        let text = target.table.to_json().expect("JSON");
        fs::write(&file, &text).expect("written");
        assert_eq!(read(&file, &target).expect("it is there"), Ok(target.table.clone()));
        fs::write(&file, &text[..100]).expect("written");
        assert!(read(&file, &target).expect("it is there").is_err(), "half a file");
        fs::write(&file, text.replace("matmul_f32.t128", "matmul_f32.t129")).expect("written");
        let why = read(&file, &target).expect("it is there").expect_err("no such kernel");
        assert!(why.contains("t129"), "{why}");
        File::create(&file).and_then(|file| file.set_len(1 << 40)).expect("as long, and of no bytes");
        let why = read(&file, &target).expect("it is there").expect_err("too long");
        assert!(why.contains("more than 16777216 bytes"), "{why}");
        fs::remove_dir_all(&folder).expect("removed");
    }

    /// The test hangs where it is opened.
    #[cfg(unix)]
    #[test]
    fn a_pipe_in_the_place_of_a_table_is_not_opened() {
        let file = std::env::temp_dir().join(format!("pumice-kept-pipe-{}", std::process::id()));
        assert!(std::process::Command::new("mkfifo").arg(&file).status().expect("mkfifo is there").success());
        let why = read(&file, &Target::h200()).expect("it is there").expect_err("no table");
        assert_eq!(why, "it is no regular file");
        fs::remove_file(&file).expect("removed");
    }
}
