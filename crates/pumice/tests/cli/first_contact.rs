//! What commands say to who meets them first: one short line before an answer, errors that name what is wanted.

use super::{command, parsed, run};
use std::sync::atomic::AtomicBool;

fn generate(more: &[&str]) -> (String, String) {
    let words = [&["generate", "--seeded", "--device", "cpu", "--greedy"], more].concat();
    let written = run(&words, &AtomicBool::new(false)).expect("generates");
    (String::from_utf8(written.out).expect("text"), written.log)
}

/// Up to six lines stood before every answer.
#[test]
fn one_short_line_stands_before_an_answer() {
    let (_, log) = generate(&["--prompt", "Hello", "-n", "2"]);
    let lines: Vec<&str> = log.lines().collect();
    let sums = lines.iter().position(|l| l.contains("prompt tokens")).expect("they are printed");
    assert_eq!(sums, 1, "{log}");
    assert!(lines[0].starts_with("device: ") && lines[0].len() <= 80, "{log}");
    assert!(log.contains("note: ") && log.contains("precision: exact"), "nothing is lost: {log}");
}

/// A context of two gave two tokens after a prompt of one: three together.
#[test]
fn a_context_is_for_prompt_and_answer_together() {
    let json = |context: &str, prompt: &str| -> serde_json::Value {
        let (out, _) = generate(&["--prompt", prompt, "-n", "9", "--context", context, "--json"]);
        serde_json::from_str(&out).expect("an object")
    };
    let count = |report: &serde_json::Value, key: &str| report[key].as_array().map(Vec::len);
    let said = json("2", "a");
    assert_eq!((count(&said, "prompt_ids"), count(&said, "ids")), (Some(1), Some(1)), "{said}");
    assert_eq!(said["end"], "context");
    let full = json("2", "ab");
    assert_eq!((count(&full, "ids"), full["end"].as_str()), (Some(0), Some("context")), "{full}");
}

#[test]
fn one_token_is_no_tokens() {
    let (_, log) = generate(&["--prompt", "a", "-n", "1"]);
    assert!(log.contains("1 prompt token,") && log.contains("; 1 token,"), "{log}");
}

/// `unexpected argument '-1' found`, said the seed.
#[test]
fn numbers_that_cannot_be_are_told_what_is_wanted() {
    for option in ["--seed", "--top-k", "-n", "--context"] {
        let words = ["generate", "--seeded", "--prompt", "x", option, "-1"];
        let said = parsed(&words).expect_err("negative");
        assert!(said.contains("-1") && said.contains("a whole number from 0"), "{option}: {said}");
    }
    let words = ["generate", "--seeded", "--device", "cpu", "--prompt", "x", "--temp", "-1"];
    let said = command(&words).expect_err("negative").to_string();
    assert!(said.contains("temperature"), "{said}");
}

#[test]
fn a_missing_prompt_is_asked_for() {
    let said = command(&["generate", "--seeded", "--device", "cpu"]).expect_err("nothing").to_string();
    assert!(said.contains("--prompt") && said.contains("--chat"), "{said}");
    let said = command(&["generate", "--seeded", "--device", "cpu", "--prompt", ""]).expect_err("empty");
    assert!(said.to_string().contains("empty"), "{said}");
}

mod on_device {
    use super::*;

    /// The interpreter is a device of every machine, and was not among those there are.
    #[test]
    fn a_device_that_there_is_not_lists_all_that_there_are() {
        let words = ["generate", "--seeded", "--prompt", "x", "--device", "nope"];
        let said = command(&words).expect_err("no such device").to_string();
        assert!(said.contains("nope") && said.contains("cpu (the interpreter)"), "{said}");
    }
}
