//! How many cases by others' code each name of `docs/op-names.md` has that is here: those of all files of golden values
//! and the node cases of the onnx package. Names with fewer than eight stand with a reason in
//! `tests/data/goldens_few.txt`, which is strict both ways.

use pumice_tests::goldens::CASES;
use pumice_tests::known::Known;
use pumice_tests::op_suite::Summary;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

#[derive(Deserialize)]
struct File {
    cases: Vec<Named>,
}

#[derive(Deserialize)]
struct Named {
    op: String,
}

/// Cases by the name of their op.
fn cases() -> BTreeMap<String, usize> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("data");
    let mut cases: BTreeMap<String, usize> = BTreeMap::new();
    for entry in std::fs::read_dir(data).expect("the folder is committed") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|n| n.to_str()).expect("a name");
        let is_held = name.starts_with("op_goldens") || name == "onnx_nodes.json";
        if !is_held {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a text");
        for case in serde_json::from_str::<File>(&text).expect("the committed form").cases {
            *cases.entry(case.op).or_default() += 1;
        }
    }
    cases
}

/// What does each name that is here: an op or a function of the builder, with all its names.
fn ops() -> BTreeMap<&'static str, Vec<&'static str>> {
    let mut ops: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for line in include_str!("../../../docs/op-names.md").lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        if let ["", name, "here", by, ""] = cells[..] {
            ops.entry(by.trim_matches('`')).or_default().push(name);
        }
    }
    ops
}

#[test]
fn every_op_has_eight_cases_by_others_code() {
    let (cases, mut summary) = (cases(), Summary::default());
    for (by, mut names) in ops() {
        names.push(by);
        names.sort_unstable();
        names.dedup();
        let count: usize = names.iter().filter_map(|name| cases.get(*name)).sum();
        println!("{by}: {count}");
        if count >= CASES {
            summary.passed += 1;
        } else {
            summary.failed.push((by.to_owned(), format!("{count} cases by others' code")));
        }
    }
    let unexpected = Known::parse(include_str!("../../data/goldens_few.txt")).unexpected(&summary);
    assert!(unexpected.is_empty(), "{} unexpected:\n{}", unexpected.len(), unexpected.join("\n"));
}
