//! Which share of the samples runs in suites that run each once more in another way (under the validation layer, over
//! poisoned memory, in folded grids, with the kernels of a GPU, with rounded factors, with words exchanged or altered):
//! an eighth, another one from commit to commit. The plain suite runs all on the interpreter and every second sample
//! on a device, whose driver compiles most kernels there first; `--long` runs all everywhere.

use std::process::Command;

use crate::checkout::Checkout;
use crate::child;

const SHARES: u64 = 8;

/// Tells the suites, unless they shall run everything.
pub fn set(all: bool, checkout: &Checkout, command: &mut Command) {
    if !all {
        command.env("PUMICE_SHARE", format!("{}/{SHARES}", turn(checkout)));
    }
}

/// What a run without `--long` leaves out by it.
pub fn said() -> String {
    format!(
        "one of {SHARES} samples ran under validation, poison, folded grids, a GPU's kernels, rounding and mutations, \
         one of two on the device; --long runs all"
    )
}

/// Follows from the commit; 0 where there is none.
fn turn(checkout: &Checkout) -> u64 {
    let mut git = Command::new("git");
    git.args(["rev-parse", "HEAD"]).current_dir(&checkout.root);
    let commit = child::stdout(&mut git).unwrap_or_default();
    u64::from_str_radix(commit.get(..8).unwrap_or("0"), 16).unwrap_or(0) % SHARES
}
