//! The bytes of a plan's file from a reader, without a byte beyond what its header states.
//!
//! In: a reader, the length of what it reads where that is known. Out: the bytes of a header and a body of the stated
//! length, or why there are none. Never here: what the body says, whether its checksum is right.

use super::error::PlanFileError;
use super::{HEADER, stated};
use std::io::Read;

/// Bytes of a plan at most, where only its header says how many there are. A plan has no weights; that of a model with
/// ranges for long prompts has a few megabytes, beside its constants.
const LARGEST: u64 = 1 << 30;

/// Reads the file of a plan, for [`Plan::load`](crate::Plan::load): its header first, then as many bytes as that
/// states. `length` is the length of a regular file, which must be the stated one; what else is read, such as a pipe,
/// states at most 1 GiB, and what follows the stated bytes is left.
///
/// # Errors
/// Bytes that do not begin as a plan, another format version, another length than the stated one, a reader that fails.
pub fn read_plan_file(reader: &mut dyn Read, length: Option<u64>) -> Result<Vec<u8>, PlanFileError> {
    let mut file = Vec::with_capacity(HEADER);
    reader.take(HEADER as u64).read_to_end(&mut file)?;
    let expected = stated(&file)?;
    match length {
        Some(given) if given != expected => return Err(PlanFileError::Length { expected, given }),
        None if expected > LARGEST => return Err(PlanFileError::TooLong { expected, most: LARGEST }),
        _ => {}
    }
    // The buffer grows with what is there, whatever the header states.
    reader.take(expected - file.len() as u64).read_to_end(&mut file)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::{FORMAT_VERSION, MAGIC};
    use std::io::{Cursor, repeat};

    /// A header that states so many bytes after it.
    fn header(body: u64) -> Vec<u8> {
        let words = [&MAGIC[..], &FORMAT_VERSION.to_le_bytes(), &body.to_le_bytes(), &[0; 32]];
        words.concat()
    }

    /// A reader without end: the test runs out of memory where it is read to its end.
    #[test]
    fn what_does_not_begin_as_a_plan_is_read_no_further_than_its_header() {
        for byte in [0, 0x89] {
            assert!(matches!(read_plan_file(&mut repeat(byte), None), Err(PlanFileError::NotAPlan)));
        }
        let mut other = header(1);
        other[MAGIC.len()] ^= 0x40;
        let read = read_plan_file(&mut Cursor::new(other).chain(repeat(0)), None);
        assert!(matches!(read, Err(PlanFileError::Version { .. })));
    }

    #[test]
    fn no_byte_beyond_the_stated_ones_is_read() {
        let mut endless = Cursor::new(header(5)).chain(repeat(7));
        let file = read_plan_file(&mut endless, None).expect("as long as it states");
        assert_eq!(file, [header(5), vec![7; 5]].concat());
        let mut short = Cursor::new(header(5));
        let file = read_plan_file(&mut short, None).expect("who loads it compares its length");
        assert_eq!(file.len(), HEADER);
    }

    #[test]
    fn what_no_plan_is_as_long_as_is_not_begun() {
        for body in [LARGEST, u64::MAX] {
            let read = read_plan_file(&mut Cursor::new(header(body)).chain(repeat(7)), None);
            assert!(matches!(read, Err(PlanFileError::TooLong { .. })));
        }
        let read = read_plan_file(&mut Cursor::new(header(1 << 40)), Some(HEADER as u64));
        assert!(matches!(read, Err(PlanFileError::Length { expected, .. }) if expected > 1 << 40));
    }
}
