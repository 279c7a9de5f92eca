//! One file from the server into the cache. In: what the hub says of it, its part. Out: contents that are whole, with
//! the announced length and, where the etag is one, the announced sha256. Never here: names that point to contents.
//!
//! A part is named by its etag, which was asked for just before, so the rest belongs to the same contents. It is
//! asked for by `Range` alone: behind a redirect another server answers, whose etags are its own, and `If-Range`
//! would ask it for the whole file. The answer must say that it begins where the part ends, and that the whole is as
//! long as announced.

use super::cache::{Repository, failed};
use super::client::{Answer, Asked, Client, header};
use super::error::HubError;
use super::progress::Watched;
use super::remote::Remote;
use sha2::{Digest, Sha256};
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::path::PathBuf;

/// Bytes that are read at once; after each the listener hears.
const PIECE: usize = 256 << 10;

/// A file on its way.
struct Part<'a> {
    remote: &'a Remote,
    asked: Asked<'a>,
    path: PathBuf,
    file: File,
    /// Bytes that are there.
    bytes: u64,
    /// Of these bytes, where contents have a sha256.
    hash: Option<Sha256>,
}

/// Fetches a file's contents, unless they are there.
///
/// # Errors
/// [`HubError::Connection`] and [`HubError::Stopped`], which keep the part; [`HubError::Range`],
/// [`HubError::Length`], [`HubError::Hash`], [`HubError::Io`], and everything of a request.
pub(super) fn fetch(
    client: &Client,
    repository: &Repository,
    remote: &Remote,
    asked: Asked<'_>,
    watched: &mut Watched<'_>,
) -> Result<(), HubError> {
    let _lock = repository.lock(&remote.etag, || watched.waits(&remote.name))?;
    let blob = repository.blob(&remote.etag);
    if is_whole(&blob, remote) {
        return watched.more(&remote.name, remote.bytes);
    }
    let mut part = Part::open(repository.part(&remote.etag), remote, asked)?;
    part.hash_what_is_there()?;
    watched.more(&remote.name, part.bytes)?;
    if part.bytes < remote.bytes {
        let answer = client.get(&remote.url, part.bytes, asked)?;
        part.check_answer(&answer)?;
        part.take(answer, watched)?;
    }
    part.finish(&blob)
}

/// Whether contents lie there already.
pub(super) fn is_whole(blob: &std::path::Path, remote: &Remote) -> bool {
    fs::metadata(blob).is_ok_and(|known| known.is_file() && known.len() == remote.bytes)
}

impl<'a> Part<'a> {
    fn open(path: PathBuf, remote: &'a Remote, asked: Asked<'a>) -> Result<Part<'a>, HubError> {
        let file = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(&path);
        let file = file.map_err(|e| failed(&path, "opening", e))?;
        let mut bytes = file.metadata().map_err(|e| failed(&path, "opening", e))?.len();
        if bytes > remote.bytes {
            file.set_len(0).map_err(|e| failed(&path, "writing", e))?;
            bytes = 0;
        }
        Ok(Part { remote, asked, path, file, bytes, hash: remote.sha256().map(|_| Sha256::new()) })
    }

    /// Reads the part, which leaves the file at its end.
    fn hash_what_is_there(&mut self) -> Result<(), HubError> {
        let (mut piece, mut read) = (vec![0; PIECE], 0);
        while read < self.bytes {
            let n = self.file.read(&mut piece).map_err(|e| failed(&self.path, "reading", e))?;
            if n == 0 {
                return Err(failed(&self.path, "reading", std::io::ErrorKind::UnexpectedEof.into()));
            }
            read += n as u64;
            if let Some(hash) = &mut self.hash {
                hash.update(&piece[..n]);
            }
        }
        self.bytes = read;
        Ok(())
    }

    /// Whether the answer is the rest of this file.
    fn check_answer(&self, answer: &Answer) -> Result<(), HubError> {
        let (length, range) =
            (header(answer.headers(), "content-length"), header(answer.headers(), "content-range"));
        let of = |text: Option<&str>| text.and_then(|text| text.parse::<u64>().ok());
        if answer.status().as_u16() == 200 {
            if self.bytes > 0 {
                return Err(self.other_range("it is the whole file"));
            }
            return self.check_length(of(length).unwrap_or(self.remote.bytes));
        }
        let span = range.and_then(|text| text.strip_prefix("bytes ")).and_then(|text| text.split_once('/'));
        let begin = of(span.and_then(|(span, _)| span.split_once('-')).map(|(begin, _)| begin));
        let total = of(span.map(|(_, total)| total));
        let rest = of(length).unwrap_or(self.remote.bytes - self.bytes);
        match begin {
            Some(begin) if begin == self.bytes => {
                self.check_length(total.unwrap_or(self.bytes.saturating_add(rest)))
            }
            Some(begin) => {
                Err(self.other_range(&format!("it begins at byte {begin}, the part has {}", self.bytes)))
            }
            None => Err(self.other_range("it does not say where it begins")),
        }
    }

    fn other_range(&self, problem: &str) -> HubError {
        HubError::Range {
            what: self.asked.what.to_owned(),
            problem: problem.to_owned(),
            part: self.path.clone(),
        }
    }

    fn check_length(&self, got: u64) -> Result<(), HubError> {
        let expected = self.remote.bytes;
        if got == expected { Ok(()) } else { Err(self.wrong_length(got)) }
    }

    fn wrong_length(&self, got: u64) -> HubError {
        HubError::Length { what: self.asked.what.to_owned(), expected: self.remote.bytes, got }
    }

    /// Writes what comes, as it comes: what ends here goes on with the next call.
    fn take(&mut self, answer: Answer, watched: &mut Watched<'_>) -> Result<(), HubError> {
        let (mut body, mut piece) = (answer.into_body().into_reader(), vec![0; PIECE]);
        loop {
            let n = body.read(&mut piece).map_err(|e| self.asked.broken(e.to_string()))?;
            if n == 0 {
                break;
            }
            if self.bytes + n as u64 > self.remote.bytes {
                let got = self.bytes + n as u64;
                self.remove()?;
                return Err(self.wrong_length(got));
            }
            self.file.write_all(&piece[..n]).map_err(|e| failed(&self.path, "writing", e))?;
            self.bytes += n as u64;
            if let Some(hash) = &mut self.hash {
                hash.update(&piece[..n]);
            }
            watched.more(&self.remote.name, n as u64)?;
        }
        if self.bytes == self.remote.bytes {
            return Ok(());
        }
        Err(self.asked.broken(format!("{} of {} bytes came", self.bytes, self.remote.bytes)))
    }

    /// Makes the part the contents, if they are what was announced.
    fn finish(self, blob: &std::path::Path) -> Result<(), HubError> {
        if let (Some(hash), Some(expected)) = (&self.hash, self.remote.sha256()) {
            let got: String = hash.clone().finalize().iter().map(|byte| format!("{byte:02x}")).collect();
            if got != expected {
                self.remove()?;
                let (what, expected) = (self.asked.what.to_owned(), expected.to_owned());
                return Err(HubError::Hash { what, expected, got });
            }
        }
        self.file.sync_all().map_err(|e| failed(&self.path, "writing", e))?;
        fs::rename(&self.path, blob).map_err(|e| failed(&self.path, "renaming", e))
    }

    fn remove(&self) -> Result<(), HubError> {
        fs::remove_file(&self.path).map_err(|e| failed(&self.path, "removing", e))
    }
}
