//! Every op has every duty: what `cargo xtask ops` prints has no hole.

use super::{Findings, Tree};
use crate::failure::Outcome;
use crate::op_table;

/// Reports each missing duty.
pub fn check(tree: &Tree<'_>, findings: &mut Findings) -> Outcome {
    for row in op_table::read(tree.checkout)? {
        for (duty, how) in row.holes() {
            findings.at(op_table::OP_LIST, row.line, format!("{} has no {duty}: {how}", row.name));
        }
    }
    Ok(())
}
