//! Two CPUs for a CPU driver: the program starts itself again under `taskset`, because a driver counts the CPUs it may
//! use when it is loaded.

use crate::row::Outcome;
use std::fs;
use std::process::Command;

/// Starts again on the first two CPUs this process may use, and says whether that ended well. `None` if it already runs
/// on at most two, or if this system has no `taskset`.
pub fn restart_on_two_cpus() -> Outcome<Option<bool>> {
    let allowed = allowed();
    let [first, second, _, ..] = allowed[..] else { return Ok(None) };
    let mut again = Command::new("taskset");
    again
        .args(["-c", &format!("{first},{second}")])
        .arg(std::env::current_exe()?)
        .args(std::env::args_os().skip(1));
    match again.status() {
        Ok(status) => Ok(Some(status.success())),
        Err(error) => {
            eprintln!("bench: not pinned to two CPUs: taskset: {error}");
            Ok(None)
        }
    }
}

/// How many CPUs this process may use.
pub fn cpus() -> usize {
    allowed().len()
}

/// The numbers of the CPUs this process may use, from Linux's list like `0-3,8`; none elsewhere.
fn allowed() -> Vec<u32> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    list.unwrap_or_default().trim().split(',').flat_map(range).collect()
}

fn range(text: &str) -> Vec<u32> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (first.parse::<u32>(), last.parse::<u32>()) {
        (Ok(first), Ok(last)) => (first..=last).collect(),
        _ => Vec::new(),
    }
}
