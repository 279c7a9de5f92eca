//! Memory of CPU drivers that is given back: the C library's heaps keep what a dropped device had, in one heap for each
//! thread that ever asked. With one heap, which shrinks, a whole run on lavapipe takes 388 MiB at most, where it took
//! 1,040 (Mesa 22.3, glibc 2.36, two CPUs, 2026-11-25). A process reads such settings when it begins.

use crate::cli::CommandError;
use std::process::Command;

/// Settings of glibc; other C libraries do not know them.
const SETTINGS: [(&str, &str); 3] =
    [("MALLOC_ARENA_MAX", "1"), ("MALLOC_TRIM_THRESHOLD_", "131072"), ("MALLOC_MMAP_THRESHOLD_", "131072")];

/// Whether this process began with one heap, or with what its user wants.
fn is_set() -> bool {
    SETTINGS.iter().any(|(name, _)| std::env::var_os(name).is_some())
}

/// Runs this program with its arguments again, in one heap that shrinks, and says with which status it ended; none
/// where it runs so already.
///
/// # Errors
/// The program cannot be started.
pub fn again() -> Result<Option<i32>, CommandError> {
    if is_set() || !cfg!(all(target_os = "linux", target_env = "gnu")) {
        return Ok(None);
    }
    let program = std::env::current_exe().map_err(CommandError::Write)?;
    let mut child = Command::new(program);
    child.args(std::env::args_os().skip(1)).envs(SETTINGS);
    child.status().map(|status| Some(status.code().unwrap_or(1))).map_err(CommandError::Write)
}
