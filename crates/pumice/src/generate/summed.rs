//! A sha256 of what goes through a writer or a reader, taken on the way: nothing is held a second time.

use sha2::{Digest, Sha256};
use std::io::{self, Read, Write};

pub(super) struct Summed<T> {
    through: T,
    hash: Sha256,
}

impl<T> Summed<T> {
    pub(super) fn new(through: T) -> Summed<T> {
        Summed { through, hash: Sha256::new() }
    }

    /// What it went through, and the sum of all that did.
    pub(super) fn finish(self) -> (T, [u8; 32]) {
        (self.through, self.hash.finalize().into())
    }
}

impl<T: Write> Write for Summed<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.through.write(bytes)?;
        self.hash.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.through.flush()
    }
}

impl<T: Read> Read for Summed<T> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.through.read(into)?;
        self.hash.update(&into[..read]);
        Ok(read)
    }
}
