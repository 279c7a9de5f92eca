//! Files that a user names, opened to be read. Opening a pipe waits for whoever writes into it, and a device may have
//! no end: what a path is, is looked at before.

use std::fs::{self, File};
use std::io;
use std::path::Path;

/// A regular file.
///
/// # Errors
/// What the system refuses; anything else than a file.
pub(crate) fn file(path: &Path) -> io::Result<File> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    File::open(path)
}

/// A regular file, or a pipe, as shells put it in the place of a file. Whoever reads it sees to its end.
///
/// # Errors
/// What the system refuses; folders, devices, sockets.
#[cfg_attr(not(feature = "cli"), allow(dead_code))]
pub(crate) fn file_or_pipe(path: &Path) -> io::Result<File> {
    let kind = fs::metadata(path)?.file_type();
    #[cfg(unix)]
    let is_pipe = std::os::unix::fs::FileTypeExt::is_fifo(&kind);
    #[cfg(not(unix))]
    let is_pipe = false;
    if !kind.is_file() && !is_pipe {
        return Err(io::Error::other("it is neither a file nor a pipe"));
    }
    File::open(path)
}
