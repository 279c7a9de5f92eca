//! Words that a kernel does not read: those of slots that are not bound, of axes beyond its rank. They are 0, so that a
//! plan says one thing in one way, and a word that was changed is found whether or not it is read.

use super::Wrong;
use super::call::law;
use crate::kernel::{ArgValue, KernelCall, KernelDecl};
use pumice_types::MAX_RANK;

/// Checks the words of slots and axes that are not there.
pub(super) fn check(call: &KernelCall, decl: &KernelDecl) -> Result<(), Wrong> {
    let slots = call.slots.len();
    let rank = spec(call, decl, "rank").map_or(MAX_RANK, |r| r as usize);
    let mut at = 0;
    for arg in decl.args {
        let words = &call.args[at..at + arg.words() as usize];
        at += words.len();
        let read = |i: usize| match arg.name {
            "offset" => i < slots,
            "size" => i < rank,
            "stride" => i / MAX_RANK < slots && i % MAX_RANK < rank,
            name if name.starts_with("slot_") => i < slots,
            _ => true,
        };
        if arg.len.is_some() {
            let stray = (0..words.len()).find(|&i| !read(i) && words[i] != ArgValue::ZERO);
            law(stray.is_none(), || format!("word {stray:?} of `{}` is not read and not 0", arg.name))?;
        }
    }
    for (name, bits, first) in
        [("kinds0", 4, 0), ("kinds1", 4, 8), ("scalars", 1, 0), ("crossed", 1, 0), ("slot_cols", 1, 0)]
    {
        let Some(value) = spec(call, decl, name) else { continue };
        let bound = (bits * slots.saturating_sub(first)).min(32) as u32;
        let stray = u64::from(value) >> bound;
        law(stray == 0, || format!("`{name}` has bits of slots that are not bound"))?;
    }
    Ok(())
}

/// A constant that the call gives.
fn spec(call: &KernelCall, decl: &KernelDecl, name: &str) -> Option<u32> {
    let id = decl.specs.iter().find(|s| s.name == name)?.id;
    call.spec.iter().find(|s| s.0 == id).map(|s| s.1)
}
