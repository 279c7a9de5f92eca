//! No command writes onto what it reads, and what goes to the standard output stands there alone.
//!
//! `compile m.gguf -o m.gguf` replaced the model by its plan; `embed --out` replaced its input, its weights, its table.

use super::{Interrupts, command, file, place, run, tiny};
use pumice::Plan;
use pumice::cli::CommandError;
use pumice::embed::EmbedError;
use std::fs;
use std::path::Path;

/// A copy of a checked-in folder that may be damaged.
fn copied(name: &str) -> String {
    let to = place(&format!("apart-{name}"));
    let _ = fs::remove_dir_all(&to);
    let mut open = vec![(Path::new(&tiny(name)).to_owned(), to.clone())];
    while let Some((from, to)) = open.pop() {
        fs::create_dir_all(&to).expect("a folder");
        for entry in fs::read_dir(from).expect("checked in") {
            let entry = entry.expect("read");
            let goal = to.join(entry.file_name());
            match entry.path().is_dir() {
                true => open.push((entry.path(), goal)),
                false => _ = fs::copy(entry.path(), goal).expect("copied"),
            }
        }
    }
    to.display().to_string()
}

fn refused(words: &[&str]) {
    let error = command(words).expect_err("it reads that");
    assert!(
        matches!(error, CommandError::Overwrite(_) | CommandError::Embed(EmbedError::Overwrite(_))),
        "{words:?}: {error}"
    );
}

#[test]
fn what_is_read_stays() {
    let model = copied("bert");
    let weights = format!("{model}/model.safetensors");
    let link = place("apart-link").display().to_string();
    let hard = place("apart-hard").display().to_string();
    let texts = file("apart-texts.txt", "one\ntwo\n");
    let table = file("apart-table.json", "{}");
    for path in [&link, &hard] {
        let _ = fs::remove_file(path);
    }
    #[cfg(unix)]
    std::os::unix::fs::symlink(&weights, &link).expect("a link");
    fs::hard_link(&weights, &hard).expect("a link");
    let before = fs::read(&weights).expect("there");
    for out in [&weights, &link, &hard] {
        refused(&["compile", &model, "-o", out, "--target", "lavapipe"]);
        refused(&["embed", "--model", &model, "--device", "cpu", "one", "--out", out]);
    }
    refused(&["compile", &model, "-o", &table, "--target", "lavapipe", "--table", &table]);
    refused(&["embed", "--model", &model, "--device", "cpu", "--file", &texts, "--out", &texts]);
    refused(&["embed", "--seeded", "--device", "cpu", "one", "--out", &table, "--table", &table]);
    // A file in the place of a model's file is not even opened.
    refused(&["compile", &texts, "-o", &texts, "--target", "lavapipe"]);
    assert_eq!(fs::read(&weights).expect("there"), before);
    assert_eq!(fs::read_to_string(&texts).expect("there"), "one\ntwo\n");
}

/// The report stood before the plan in the standard output, and no reader could tell them apart.
#[test]
fn a_plan_goes_to_the_standard_output_alone() {
    let model = tiny("bert");
    for more in [&[][..], &["--json"]] {
        let words = [&["compile", &model, "-o", "-", "--target", "lavapipe"], more].concat();
        let written = run(&words, &Interrupts::default()).expect("compiles");
        let plan = Plan::load(&written.out).expect("a plan and nothing else");
        assert!(written.log.contains(&written.out.len().to_string()), "{}", written.log);
        assert!(!plan.runs.is_empty() && !Path::new("-").exists());
    }
}

/// As a file the standard output may have another name: then the report goes elsewhere too.
#[cfg(target_os = "linux")]
#[test]
fn a_name_of_the_standard_output_is_told_apart() {
    let words = ["compile", &tiny("bert"), "-o", "/proc/self/fd/1", "--target", "lavapipe"];
    let words = words.map(str::to_owned);
    let program = env!("CARGO_BIN_EXE_pumice");
    let child = std::process::Command::new(program).args(&words).output().expect("starts");
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stderr));
    Plan::load(&child.stdout).expect("a plan and nothing else");
    assert!(String::from_utf8_lossy(&child.stderr).contains("compiled in"));
}

#[test]
fn vectors_go_to_the_standard_output_alone() {
    let words = ["embed", "--seeded", "--device", "cpu", "one", "--out", "-", "--json"];
    let written = run(&words, &Interrupts::default()).expect("embeds");
    assert!(written.out.starts_with(b"\x93NUMPY"), "{:?}", String::from_utf8_lossy(&written.out));
    assert_eq!((written.out.len() - 128) % 4, 0);
    assert!(written.log.contains("\"width\""), "{}", written.log);
}
