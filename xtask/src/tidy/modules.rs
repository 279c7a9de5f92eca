//! Every file is compiled: a `mod x;` line names it. The lines of the folders that grow by files (ops, passes,
//! decompositions, lowerings, kernels) are sorted.

use std::collections::BTreeSet;

use super::source::{Source, is_crate_root};
use super::{Findings, Tree};
use crate::failure::Outcome;

/// Folders whose files come one per op, pass or kernel.
const GROWING: [&str; 5] = ["ops", "passes", "kernels", "lower", "rewrite"];

/// Reports files that nothing declares, lines without a file, and unsorted lines.
pub fn check(tree: &Tree<'_>, findings: &mut Findings) -> Outcome {
    let mut declared = BTreeSet::new();
    for source in &tree.sources {
        for line in source.mod_lines() {
            let paths = source.submodule_paths(&line.name);
            if !paths.iter().any(|path| tree.files.contains(path)) && !source.text.contains("#[path") {
                findings.at(&source.path, line.line, format!("`mod {};` has no file", line.name));
            }
            declared.extend(paths);
        }
        if grows(&source.path) {
            check_order(source, findings);
        }
    }
    for source in &tree.sources {
        if !is_crate_root(&source.path) && !declared.contains(&source.path) {
            findings.at(&source.path, 1, "no `mod` line names this file, so it is never compiled");
        }
    }
    Ok(())
}

fn grows(path: &str) -> bool {
    let mut parts = path.rsplit('/');
    let (file, folder) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
    // The ops of a section have a folder inside that of all.
    let is_section = parts.next() == Some("ops");
    (file == "mod.rs" && (is_section || GROWING.contains(&folder)))
        || GROWING.contains(&file.trim_end_matches(".rs"))
}

fn check_order(source: &Source, findings: &mut Findings) {
    let lines: Vec<_> = source.mod_lines().into_iter().filter(|line| !line.in_test).collect();
    for pair in lines.windows(2) {
        // A raw identifier sorts by its name, as rustfmt does it.
        let name = |index: usize| pair[index].name.trim_start_matches("r#").to_owned();
        if name(0) > name(1) {
            let message =
                format!("`mod {};` stands after `mod {};`: keep the lines sorted", name(1), name(0));
            findings.at(&source.path, pair[1].line, message);
        }
    }
}
