//! Which files each op of sorts, scatters, sequences, transforms, random numbers, norms and experts took, counted in
//! the tree: where its type's name occurs, against what `new-op` writes for its kind.
//!
//! An op's own files begin with its name; those that `new-op` does not write hold parts and samples. Beside them an
//! op is named by the list, by ops that are made of it (`crates/ir`), by the importer's rule, by programs that have it,
//! and by the declaration of its kernel; by nothing else, unless it is said here. `range` is left out: its type's name
//! is that of the standard library's.

use std::collections::BTreeSet;

use crate::checkout::Checkout;
use crate::op_table::{self, OP_LIST, Row};

/// Ops with the files that name them besides: a lowering that several ops share, a reference that asks another one.
const OPS: [(&str, &[&str]); 40] = [
    ("stop_gradient", &[]),
    ("gather_elements", &[]),
    ("gather_nd", &[]),
    ("scatter_elements", &[]),
    ("scatter_nd", &[]),
    ("scatter_places", &[]),
    ("scatter_partials", &[]),
    ("scatter_sorted", &[]),
    ("pad", &["crates/opt/src/passes/fold_pads.rs"]),
    ("tensor_scatter", &[]),
    ("unique_parts", &[]),
    ("arg_min", &["crates/compile/src/lower/mod.rs"]),
    ("arg_top_k", &[]),
    ("arg_sort_runs", &["crates/cpu-ref/src/ops/reduction/arg_top_k.rs"]),
    ("cum_sum", &[]),
    ("cum_prod", &[]),
    ("scan_runs", &[]),
    ("search_sorted", &[]),
    ("found_count", &[]),
    ("extent_of", &[]),
    ("if", &[]),
    ("carry", &["crates/compile/src/lower/loop_.rs"]),
    ("loop", &[]),
    ("dequantize_linear", &["crates/compile/src/codes.rs"]),
    ("grouped_matmul", &[]),
    ("expert_rows", &[]),
    ("non_max_suppression_parts", &[]),
    ("prod_pool", &["crates/compile/src/lower/pool.rs"]),
    ("group_norm", &[]),
    ("instance_norm", &[]),
    ("batch_norm_training", &[]),
    ("mean_variance_normalization", &[]),
    ("lp_normalization", &[]),
    ("linear_recurrence", &[]),
    ("recurrent_layer", &["crates/plan/src/check/footprint/recurrence.rs"]),
    ("fft_pass", &[]),
    ("fft_chirp", &[]),
    ("random_numbers", &[]),
    ("sample_sorted", &[]),
    ("top_k_moe_router", &[]),
];

/// Where ops that are made of an op, rules, programs and declarations of kernels stand.
const USERS: [&str; 4] =
    ["crates/ir/src/", "crates/import/src/onnx/", "crates/pumice/examples/", "crates/plan/src/kernels/"];

/// A source with its words, comments left out.
struct Words {
    path: String,
    words: BTreeSet<String>,
}

fn sources(checkout: &Checkout) -> Vec<Words> {
    let is_source =
        |path: &String| path.starts_with("crates/") && path.ends_with(".rs") && !path.contains("/tests");
    let words = |path: String| {
        let text = checkout.read(&path).expect("a text");
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let words = code.flat_map(|line| line.split(move |c| !is_part(c)).map(str::to_owned)).collect();
        Words { path, words }
    };
    checkout.files().expect("the tree is read").into_iter().filter(is_source).map(words).collect()
}

/// What `new-op` writes for an op of that kind: new files, and the list that has its line.
fn stated(row: &Row) -> BTreeSet<String> {
    let Row { folder, file, .. } = row;
    let mut files = BTreeSet::from([
        OP_LIST.to_owned(),
        format!("crates/ir/src/ops/{folder}/{file}.rs"),
        format!("crates/cpu-ref/src/ops/{folder}/{file}.rs"),
    ]);
    if row.kind == "lowered" {
        files.insert(format!("crates/compile/src/lower/{file}.rs"));
    }
    files
}

/// Whether a file is the op's by its name.
fn is_own(path: &str, file: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| name.starts_with(file))
}

#[test]
fn an_op_is_the_files_of_new_op() {
    let checkout = Checkout::find().expect("tests run in the checkout");
    let (rows, sources) = (op_table::read(&checkout).expect("the list"), sources(&checkout));
    let mut wrong = Vec::new();
    for (op, besides) in OPS {
        let row = rows.iter().find(|row| row.text == op).unwrap_or_else(|| panic!("no op {op}"));
        let naming: BTreeSet<&str> =
            sources.iter().filter(|s| s.words.contains(&row.name)).map(|s| s.path.as_str()).collect();
        let stated = stated(row);
        let (own, others): (Vec<&str>, Vec<&str>) =
            naming.iter().copied().partition(|path| stated.contains(*path) || is_own(path, &row.file));
        let (users, strangers): (Vec<&str>, Vec<&str>) =
            others.into_iter().partition(|path| USERS.iter().any(|place| path.starts_with(place)));
        println!("{op} ({}): {own:?}; named by {users:?} {strangers:?}", row.kind);
        let absent = stated.iter().filter(|path| !naming.contains(path.as_str()));
        // A lowering or reference that several ops share is told by its macro in the file that is said here.
        wrong.extend(
            absent.filter(|_| besides.is_empty()).map(|path| format!("{op}: {path} does not name it")),
        );
        let said: BTreeSet<&str> = besides.iter().copied().collect();
        let found: BTreeSet<&str> = strangers.into_iter().collect();
        if said != found {
            wrong.push(format!("{op}: besides are {found:?}, not {said:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
