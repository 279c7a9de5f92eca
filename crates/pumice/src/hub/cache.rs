//! The cache on disk, laid out as huggingface_hub does it, so that each finds what the other has fetched.
//!
//! In: a repository, etags, commits, names that were checked. Out: paths, links, refs. Never here: a server.
//!
//! `models--ORG--REPO/blobs/ETAG` is a file's contents, `snapshots/COMMIT/NAME` a link to it (on Windows, where links
//! need rights, a hard link or a copy), `refs/REVISION` the commit of a branch or tag.
//! `.locks/models--ORG--REPO/ETAG.lock` is locked while a file is fetched, by huggingface_hub too: of two processes
//! that want the same file one fetches it and the other waits and finds it. A part is `blobs/ETAG.pumice.incomplete`;
//! nothing but this module's lock guards it.

use super::error::HubError;
use super::file_name::{is_commit, path_in};
use super::options::Options;
use crate::hub_name::ModelName;
use crate::save;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::hash::{BuildHasher, Hasher};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

/// Names of a snapshot that are looked at.
const MOST_NAMES: usize = 100_000;
/// Folders within a snapshot.
const DEEPEST: usize = 4;
/// A ref is a commit and perhaps a line's end.
const REF_LIMIT: u64 = 256;

/// One repository's part of the cache.
pub(super) struct Repository {
    folder: PathBuf,
    locks: PathBuf,
}

impl Repository {
    /// Opens nothing.
    pub fn new(options: &Options, name: &ModelName) -> Repository {
        let folder = format!("models--{}", name.repository().replace('/', "--"));
        Repository { locks: options.cache.join(".locks").join(&folder), folder: options.cache.join(folder) }
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where a file's contents lie once they are whole.
    pub fn blob(&self, etag: &str) -> PathBuf {
        self.folder.join("blobs").join(etag)
    }

    /// Where they lie until then.
    pub fn part(&self, etag: &str) -> PathBuf {
        self.folder.join("blobs").join(format!("{etag}.pumice.incomplete"))
    }

    /// The files of a commit by their names.
    pub fn snapshot(&self, commit: &str) -> PathBuf {
        self.folder.join("snapshots").join(commit)
    }

    /// Makes the folders that fetching needs.
    pub fn create(&self) -> Result<(), HubError> {
        [self.folder.join("blobs"), self.locks.clone()].iter().try_for_each(|folder| create_folder(folder))
    }

    /// Waits until no other process fetches this file; `waits` hears of it where it has to.
    pub fn lock(&self, etag: &str, waits: impl FnOnce() -> Result<(), HubError>) -> Result<File, HubError> {
        let path = self.locks.join(format!("{etag}.lock"));
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
        let file = file.map_err(|e| failed(&path, "opening", e))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                waits()?;
                file.lock().map_err(|e| failed(&path, "locking", e))?;
            }
            Err(TryLockError::Error(e)) => return Err(failed(&path, "locking", e)),
        }
        Ok(file)
    }

    /// The commit of a revision, as far as the cache knows.
    pub fn commit(&self, revision: &str) -> Result<Option<String>, HubError> {
        if is_commit(revision) {
            return Ok(Some(revision.to_owned()));
        }
        let path = self.ref_path(revision);
        let mut text = String::new();
        match File::open(&path).and_then(|file| file.take(REF_LIMIT).read_to_string(&mut text)) {
            Ok(_) => {}
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::InvalidData) => return Ok(None),
            Err(e) => return Err(failed(&path, "reading", e)),
        }
        // What is no commit would be a path.
        Ok(Some(text.trim().to_owned()).filter(|text| is_commit(text)))
    }

    /// Remembers which commit a revision is. A revision that is a commit needs no ref.
    pub fn set_commit(&self, revision: &str, commit: &str) -> Result<(), HubError> {
        if self.commit(revision)?.as_deref() == Some(commit) {
            return Ok(());
        }
        let path = self.ref_path(revision);
        path.parent().map_or(Ok(()), create_folder)?;
        save::replace(&path, commit.as_bytes()).map_err(|e| failed(&path, "writing", e))
    }

    fn ref_path(&self, revision: &str) -> PathBuf {
        path_in(&self.folder.join("refs"), revision)
    }

    /// Lets a name of a commit point to contents that are whole.
    pub fn point(&self, commit: &str, name: &str, etag: &str) -> Result<(), HubError> {
        let (snapshot, blob) = (self.snapshot(commit), self.blob(etag));
        create_folder(&snapshot)?;
        let at = path_in(&snapshot, name);
        let depth = create_parents(&snapshot, name)?;
        let link: PathBuf = ["..", "..", ".."].iter().cycle().take(2 + depth).collect();
        let link = link.join("blobs").join(etag);
        if fs::read_link(&at).is_ok_and(|there| there == link) {
            return Ok(());
        }
        // Another process may make the same name: each replaces it whole.
        let beside =
            at.with_file_name(format!(".{:016x}.new", std::hash::RandomState::new().build_hasher().finish()));
        let placed = place(&link, &blob, &beside).and_then(|()| fs::rename(&beside, &at));
        placed.map_err(|e| {
            // The first error is the one to report.
            let _ = fs::remove_file(&beside);
            failed(&at, "placing", e)
        })
    }

    /// Whether a commit has this file, whole.
    pub fn has(&self, commit: &str, name: &str) -> bool {
        path_in(&self.snapshot(commit), name).is_file()
    }

    /// The names of a commit's files that are there, sorted.
    pub fn names(&self, commit: &str) -> Result<Vec<String>, HubError> {
        let mut names = Vec::new();
        collect(&self.snapshot(commit), "", DEEPEST, &mut names)?;
        names.sort();
        Ok(names)
    }
}

#[cfg(unix)]
fn place(link: &Path, _: &Path, at: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(link, at)
}

#[cfg(not(unix))]
fn place(_: &Path, blob: &Path, at: &Path) -> io::Result<()> {
    fs::hard_link(blob, at).or_else(|_| fs::copy(blob, at).map(|_| ()))
}

/// Makes the folders of a name within a snapshot, none of which may be a link; how many there are.
fn create_parents(snapshot: &Path, name: &str) -> Result<usize, HubError> {
    let Some((folders, _)) = name.rsplit_once('/') else { return Ok(0) };
    let mut path = snapshot.to_owned();
    for part in folders.split('/') {
        path.push(part);
        create_folder(&path)?;
        let known = fs::symlink_metadata(&path).map_err(|e| failed(&path, "opening", e))?;
        if !known.is_dir() {
            return Err(failed(&path, "opening", ErrorKind::NotADirectory.into()));
        }
    }
    Ok(folders.split('/').count())
}

fn create_folder(path: &Path) -> Result<(), HubError> {
    fs::create_dir_all(path).map_err(|e| failed(path, "making the folder", e))
}

/// Adds the names of files; links to nothing are none.
fn collect(folder: &Path, prefix: &str, depth: usize, names: &mut Vec<String>) -> Result<(), HubError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(failed(folder, "reading", e)),
    };
    for entry in entries {
        let entry = entry.map_err(|e| failed(folder, "reading", e))?;
        let (path, Ok(own)) = (entry.path(), entry.file_name().into_string()) else { continue };
        let name = format!("{prefix}{own}");
        if path.is_file() && names.len() < MOST_NAMES {
            names.push(name);
        } else if depth > 0 && fs::symlink_metadata(&path).is_ok_and(|known| known.is_dir()) {
            collect(&path, &format!("{name}/"), depth - 1, names)?;
        }
    }
    Ok(())
}

/// A file of the cache that could not be used.
pub(super) fn failed(path: &Path, action: &'static str, source: io::Error) -> HubError {
    HubError::Io { path: path.to_owned(), action, source }
}
