//! Takes values off the front of a file. A length or count is compared with what is left of the file before anything is
//! allocated for it.

use crate::ENTRIES_LIMIT;
use crate::error::{GgufPlace, GgufProblem};
use crate::kind::LOOKED_AT;
use std::io::{BufRead, BufReader, Read};

/// The most bytes of header, metadata and tensor table that are read: several times what the largest vocabularies take.
pub const HEADER_LIMIT: u64 = 128 << 20;

/// The longest key or tensor name. The format says 65535 for keys; it says 64 for tensors, which some writers pass.
pub const NAME_LIMIT: u64 = 65_535;

/// Why the next value could not be had.
#[derive(Debug)]
pub(super) enum Fault {
    /// The operating system refused.
    Io(std::io::Error),
    /// The file is wrong.
    Problem(GgufProblem),
}

impl From<GgufProblem> for Fault {
    fn from(problem: GgufProblem) -> Fault {
        Fault::Problem(problem)
    }
}

/// A position in a file of known length.
pub(super) struct Cursor<R> {
    reader: BufReader<R>,
    position: u64,
    len: u64,
    /// What is being read, for messages.
    pub place: GgufPlace,
}

impl<R: Read> Cursor<R> {
    /// The start of a file of `len` bytes.
    pub fn new(reader: R, len: u64) -> Cursor<R> {
        // A small file is not worth the usual buffer.
        let capacity = len.clamp(LOOKED_AT as u64, 64 << 10) as usize;
        let reader = BufReader::with_capacity(capacity, reader);
        Cursor { reader, position: 0, len, place: GgufPlace::Header }
    }

    /// The next bytes, without taking them: as many as one read brings.
    pub fn peek(&mut self) -> Result<&[u8], Fault> {
        self.reader.fill_buf().map_err(Fault::Io)
    }

    /// Bytes taken so far.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Checks that `count` things of at least `each` bytes are still ahead, and gives the count as a size in memory.
    pub fn claim(&self, count: u64, each: u64) -> Result<usize, Fault> {
        let needed = count.saturating_mul(each);
        let available = self.len - self.position;
        if needed > available {
            let place = self.place.clone();
            return Err(GgufProblem::Truncated { place, needed, available }.into());
        }
        if needed > HEADER_LIMIT - self.position {
            return Err(GgufProblem::HeaderTooLarge { place: self.place.clone(), limit: HEADER_LIMIT }.into());
        }
        Ok(count as usize)
    }

    /// As [`Cursor::claim`] for entries of the metadata or the tensor table, of which a file has so many at most.
    pub fn claim_entries(&self, count: u64, each: u64) -> Result<usize, Fault> {
        let (place, limit) = (self.place.clone(), ENTRIES_LIMIT as u64);
        let claimed = self.claim(count, each)?;
        if count > limit { Err(GgufProblem::TooMany { place, count, limit }.into()) } else { Ok(claimed) }
    }

    fn fill(&mut self, out: &mut [u8]) -> Result<(), Fault> {
        self.reader.read_exact(out).map_err(Fault::Io)?;
        self.position += out.len() as u64;
        Ok(())
    }

    /// The next `N` bytes.
    pub fn take<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        self.claim(N as u64, 1)?;
        let mut bytes = [0; N];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    /// The next 32-bit number.
    pub fn u32(&mut self) -> Result<u32, Fault> {
        Ok(u32::from_le_bytes(self.take()?))
    }

    /// The next 64-bit number.
    pub fn u64(&mut self) -> Result<u64, Fault> {
        Ok(u64::from_le_bytes(self.take()?))
    }

    /// The next string: a 64-bit length in bytes, then UTF-8.
    pub fn string(&mut self) -> Result<String, Fault> {
        let len = self.u64()?;
        self.string_of(len)
    }

    /// The next string, where it is a key or a name.
    pub fn name(&mut self) -> Result<String, Fault> {
        let bytes = self.u64()?;
        if bytes > NAME_LIMIT {
            let place = self.place.clone();
            return Err(GgufProblem::NameTooLong { place, bytes, limit: NAME_LIMIT }.into());
        }
        self.string_of(bytes)
    }

    fn string_of(&mut self, len: u64) -> Result<String, Fault> {
        let mut bytes = vec![0; self.claim(len, 1)?];
        self.fill(&mut bytes)?;
        String::from_utf8(bytes).map_err(|_| GgufProblem::Utf8 { place: self.place.clone() }.into())
    }

    /// Appends the next string to `text`; `scratch` is working memory.
    pub fn append(&mut self, text: &mut String, scratch: &mut Vec<u8>) -> Result<(), Fault> {
        let len = self.u64()?;
        scratch.resize(self.claim(len, 1)?, 0);
        self.fill(scratch)?;
        match std::str::from_utf8(scratch) {
            Ok(read) => text.push_str(read),
            Err(_) => return Err(GgufProblem::Utf8 { place: self.place.clone() }.into()),
        }
        Ok(())
    }
}
