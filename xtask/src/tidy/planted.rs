//! Every rule can fail: a small checkout with planted violations, and the findings they must give.

use std::fs;

use super::check;
use super::selection::STILL;
use super::sizes::LONGER;
use crate::checkout::Checkout;

const OP_LIST: &str = "//! Ops.\nmacro_rules! for_each_op {\n($m:ident) => { $m! {\n// 3.1 Elementwise\nelementwise {\n\
                       add Add \"add\" lowered;\nsub Sub \"sub\" elementwise;\n}\n} };\n}\nmod elementwise;\n";

/// Lowering that reads figures of a device and tells kernels apart.
fn chosen_by_name() -> (&'static str, String, Vec<&'static str>) {
    let text = "//! Rows.\nuse pumice_types::{Target, Tuning};\nfn wide(t: &Target) -> bool {\n    !t.features.cpu\n        && \
                t.tuning.units > 4\n}\nfn flat(choice: &Choice) -> bool {\n    choice.variant.name == \"flat\"\n        || \
                choice.decl.name != Flat::DECL.name\n}\nfn rows(choice: &Choice) -> u64 {\n    match choice.form {\n        \
                _ => 1,\n    }\n}\n";
    let wanted = [
        "modules 1",
        "selection 2",
        "selection 4",
        "selection 5",
        "selection 8",
        "selection 9",
        "selection 12",
    ];
    ("crates/compile/src/rows.rs", text.into(), wanted.to_vec())
}

/// Path, text, and the rules that must speak of the file (`rule line`).
fn planted() -> Vec<(&'static str, String, Vec<&'static str>)> {
    let manifest = |name: &str, dependency: &str| {
        format!("[package]\nname = \"{name}\"\nedition = \"2024\"\n[dependencies]\n{dependency}\n")
    };
    let mark = concat!("TO", "DO");
    let machine = format!("/{}/somebody/x.rs", "home");
    let unsafe_word = "unsafe";
    vec![
        ("Cargo.toml", "[workspace]\nresolver = \"3\"\nmembers = [\"crates/ir\", \"crates/opt\"]\n".into(), vec!["dependencies 1"]),
        ("crates/ir/Cargo.toml", manifest("pumice-ir", "pumice-opt = { path = \"../opt\" }"), vec![]),
        ("crates/opt/Cargo.toml", manifest("pumice-opt", ""), vec![]),
        (
            "crates/opt/src/lib.rs",
            "//! Opt.\npub struct Shown;\npub struct Hidden;\nimpl Shown {\n    pub fn hidden(&self) -> Hidden {\n        \
             Hidden\n    }\n}\npub mod pass;\nfn size(n: u64, d: D) -> u64 {\n    n * d.natural_bytes()\n}\n"
                .into(),
            vec!["facade 5", "bytes 11"],
        ),
        (
            "crates/opt/src/pass.rs",
            "//! Looks at `Add`.\nuse pumice_ir::{self as ir, *};\nuse rspirv::Op as Other;\nfn f(n: &ir::Node) -> bool {\n    \
             matches!(n.op, Op::Add(_)) || matches!(n.op, Other::Sub)\n        || matches!(n.op, ir::Op::Sub(_))\n        \
             || n.op.name() == \"sub\"\n        || n.op.as_any().downcast_ref::<Sub>().is_some()\n}\n"
                .into(),
            vec!["duties 6", "duties 7", "duties 8"],
        ),
        (
            "crates/ir/src/lib.rs",
            "//! Ir.\npub use ops::Op;\nmod ops;\nmod gone;\nmod bad;\n#[cfg(test)]\nmod tests;\n".into(),
            vec!["modules 4"],
        ),
        ("crates/ir/src/tests.rs", "//! Tests may unwrap.\nfn t() { Some(1).unwrap(); panic!() }\n".into(), vec![]),
        ("crates/ir/src/orphan.rs", "//! Nobody names it.\n".into(), vec!["modules 1"]),
        ("crates/ir/src/ops/mod.rs", OP_LIST.into(), vec!["coverage 6", "coverage 7"]),
        ("crates/ir/src/ops/elementwise/mod.rs", "//! Elementwise.\nmod sub;\nmod add;\n".into(), vec!["modules 3"]),
        (
            "crates/ir/src/ops/elementwise/add.rs",
            "//! Add.\nbinary! { Add add }\nimpl GraphBuilder {\n    #[track_caller]\n    pub fn add(&self) {}\n    pub \
             fn sub(&self) {}\n}\n"
                .into(),
            vec!["places 6"],
        ),
        (
            "crates/pumice/src/lib.rs",
            "//! Facade.\npub use pumice_opt::Shown;\n".into(),
            vec![],
        ),
        (
            "crates/plan/src/kernels/softmax.rs",
            "//! Softmax.\nuse pumice_types::{RowExtents, Target};\npub fn choose(t: &Target) -> u32 {\n    \
             (t.limits.n as f32 * 0.5) as u32\n        + t.tuning.units\n}\n"
                .into(),
            vec!["modules 1", "selection 2", "selection 3", "selection 4", "selection 5"],
        ),
        ("crates/ir/src/ops/elementwise/sub.rs", "// no header\nfn samples() -> Vec<u8> { vec![] }\n".into(), vec!["header 1"]),
        ("crates/cpu-ref/src/ops/mod.rs", "//! Reference.\nelementwise!(Add, Sub);\n".into(), vec!["modules 1"]),
        ("crates/compile/src/lower/mod.rs", "//! Lower.\nimpl Lower for Sub {}\n".into(), vec!["modules 1"]),
        chosen_by_name(),
        (
            "crates/ir/src/bad.rs",
            format!(
                "//! Bad.\nuse std::collections::HashMap;\nfn e() {{ std::env::var(\"X\").unwrap(); }}\nstatic N: u8 = 0;\n\
                 fn p() -> &'static str {{ panic!(\"x\") }}\n{unsafe_word} fn u() {{}}\n// {mark}\n// {machine}\n\
                 #[derive(Debug, thiserror::Error)] struct Wrong;\n#[derive(Clone, Default)] struct LegacyManagerId;\nfn long() {{\n{}}}\n\
                 fn q(n: Option<NodeId>) -> NodeId {{ n.unwrap_or(NodeId(0)) }}\n",
                "    p();\n".repeat(61)
            ),
            vec![
                "hashing 2", "environment 3", "panics 3", "environment 4", "panics 5", "unsafe 6", "unfinished 7",
                "paths 8", "errors 9", "ids 10", "words 10", "sizes 11", "ids 74",
            ],
        ),
        (
            "crates/vulkan/src/raw/mod.rs",
            format!("//! Raw.\nfn a() {{\n    // SAFETY: reason\n    {unsafe_word} {{}}\n}}\n\n\n\n\n\nfn b() {{\n    {unsafe_word} {{}}\n}}\n"),
            vec!["modules 1", "unsafe 12"],
        ),
        ("README.md", "# Top\n[a](#top) [b](#no) [c](gone.md)\n".into(), vec!["links 2", "links 2"]),
        ("shaders/x/y.comp", "#version 460\n".into(), vec!["header 1", "spirv 1"]),
        ("shaders/src/table.rs", "//! Table.\n".into(), vec!["modules 1"]),
        ("crates/plan/src/kernels/fingerprints.rs", "//! Fingerprints.\n".into(), vec!["modules 1"]),
        (
            "shaders/spv/manifest.json",
            "{\"kernels\":{\"z\":{\"declaration\":\"\",\"sources\":{\"x/gone.comp\":\"0\"},\"modules\":{\"z.spv\":\"0\"}}}}"
                .into(),
            vec!["spirv 1"],
        ),
        ("shaders/spv/z.spv", "changed".into(), vec!["spirv 1"]),
    ]
}

#[test]
fn every_rule_finds_what_was_planted() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let checkout = Checkout { root: folder.path().to_owned() };
    for (path, text, _) in planted() {
        let full = checkout.root.join(path);
        fs::create_dir_all(full.parent().expect("inside the folder")).expect("a folder");
        fs::write(full, text).expect("a file");
    }
    let report = check(&checkout, &[]).expect("the rules run");
    let mut wanted: Vec<String> = Vec::new();
    for (path, _, rules) in planted() {
        wanted.extend(rules.iter().map(|rule| format!("{path} {rule}")));
    }
    wanted.push("shaders/src/table.rs spirv 1".to_owned());
    // The long function has most of the tokens.
    wanted.push("xtask/src/tidy/ratchets.rs ratchets 1".to_owned());
    let gone = |path: &&str| planted().iter().all(|(there, ..)| there != path);
    wanted.extend(STILL.iter().copied().filter(gone).map(|path| format!("{path} selection 1")));
    wanted.extend(LONGER.iter().map(|(path, ..)| *path).filter(gone).map(|path| format!("{path} sizes 1")));
    let mut found: Vec<String> =
        report.findings.iter().map(|f| format!("{} {} {}", f.path, f.rule, f.line)).collect();
    wanted.sort();
    found.sort();
    let mut rules = found.clone();
    rules.dedup();
    let mut distinct = wanted.clone();
    distinct.dedup();
    assert_eq!(rules, distinct, "{:#?}", report.findings);
    let rules: std::collections::BTreeSet<_> = report.findings.iter().map(|f| f.rule).collect();
    assert_eq!(rules.len(), report.rules, "a rule found nothing: {rules:?}");
}
