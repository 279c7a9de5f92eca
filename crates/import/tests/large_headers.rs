//! Headers of many entries: a header of 6,000,000 keys took twelve times its size. Memory is measured of the process,
//! so each test is to run in one of its own, as nextest has it; in one process they take turns.

use pumice_import::fuzz::within_memory;
use pumice_import::{ENTRIES_LIMIT, FormatProblem, GgufProblem, ImportError, gguf, safetensors};
use std::fmt::Write;
use std::io::Cursor;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// One measurement at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Bytes of memory for each byte of a header, as `Header` of both formats states it.
const MULTIPLE: u64 = 8;

fn safetensors_file(tensors: usize) -> Vec<u8> {
    // Reserved at once, so that making the file has no higher peak than the file.
    let mut text = String::with_capacity(64 * tensors + 16);
    text.push('{');
    for i in 0..tensors {
        let comma = if i == 0 { "" } else { "," };
        write!(text, r#"{comma}"{i:x}":{{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}"#).expect("text");
    }
    text.push('}');
    let mut file = Vec::with_capacity(text.len() + 8);
    file.extend((text.len() as u64).to_le_bytes());
    file.extend(text.as_bytes());
    file
}

fn open_safetensors(file: &[u8]) -> Result<usize, ImportError> {
    let reader =
        safetensors::Reader::new(PathBuf::from("x.safetensors"), Cursor::new(file), file.len() as u64)?;
    Ok(reader.header().entries.len())
}

/// A file of values of one byte and of empty tensors of rank 1, with the shortest names there are.
fn gguf_file(values: usize, tensors: usize) -> Vec<u8> {
    let mut file = Vec::with_capacity(32 + 24 * values + 48 * tensors);
    file.extend(b"GGUF\x03\0\0\0");
    file.extend((tensors as u64).to_le_bytes());
    file.extend((values as u64).to_le_bytes());
    let name = |file: &mut Vec<u8>, i: usize| {
        let name = format!("{i:x}");
        file.extend((name.len() as u64).to_le_bytes());
        file.extend(name.as_bytes());
    };
    for i in 0..values {
        name(&mut file, i);
        file.extend([0, 0, 0, 0, 7]);
    }
    for i in 0..tensors {
        name(&mut file, i);
        file.extend(1u32.to_le_bytes());
        file.extend([0; 8 + 4 + 8]);
    }
    file
}

fn open_gguf(file: &[u8]) -> Result<(usize, usize), ImportError> {
    let reader = gguf::Reader::new(PathBuf::from("x.gguf"), Cursor::new(file), file.len() as u64)?;
    Ok((reader.metadata().len(), reader.tensors().len()))
}

/// Opens within the stated multiple of the file, which is all header.
fn opens_within<T: PartialEq + std::fmt::Debug>(
    file: &[u8],
    open: impl FnOnce(&[u8]) -> Result<T, ImportError>,
    expected: T,
) {
    within_memory(MULTIPLE * file.len() as u64 / 1024, || {
        assert_eq!(open(file).expect("a sound file"), expected);
    });
}

#[test]
fn a_safetensors_header_takes_a_bounded_multiple() {
    let _alone = alone();
    opens_within(&safetensors_file(1_000_000), open_safetensors, 1_000_000);
}

#[test]
fn gguf_metadata_takes_a_bounded_multiple() {
    let _alone = alone();
    opens_within(&gguf_file(1_000_000, 0), open_gguf, (1_000_000, 0));
}

#[test]
fn a_gguf_tensor_table_takes_a_bounded_multiple() {
    let _alone = alone();
    opens_within(&gguf_file(0, 1_000_000), open_gguf, (0, 1_000_000));
}

#[test]
fn more_entries_than_any_model_has_are_refused() {
    let _alone = alone();
    let many = ENTRIES_LIMIT + 1;
    let error = open_safetensors(&safetensors_file(many)).expect_err("refused");
    let expected = FormatProblem::TooMany { count: many, limit: ENTRIES_LIMIT };
    assert!(matches!(&error, ImportError::Safetensors { problem, .. } if *problem == expected), "{error}");
    for (values, tensors) in [(many, 0), (0, many)] {
        let error = open_gguf(&gguf_file(values, tensors)).expect_err("refused");
        let is_too_many = |p: &GgufProblem| {
            matches!(p, GgufProblem::TooMany { count, limit, .. }
                if *count == many as u64 && *limit == ENTRIES_LIMIT as u64)
        };
        assert!(matches!(&error, ImportError::Gguf { problem, .. } if is_too_many(problem)), "{error}");
    }
}
