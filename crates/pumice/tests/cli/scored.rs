//! The perplexity of a text: how windows are cut, what is scored, what is refused.

use super::folder::folder;
use super::{Interrupts, command, file, parsed, run};
use serde_json::Value;

fn report(words: &[&str]) -> Value {
    serde_json::from_str(&command(words).expect("scores")).expect("an object")
}

#[test]
fn second_halves_of_whole_windows_are_scored() {
    let folder = folder("scored");
    let model = folder.to_str().expect("text");
    let text = file("scored.txt", &"the of and to in ".repeat(12));
    let words = ["perplexity", "--model", model, "--file", &text, "--device", "cpu", "--context", "20"];
    let scored = |more: &[&str]| report(&[&words, more, &["--json"]].concat());
    let all = scored(&[]);
    let tokenized = report(&["tokenize", "--model", model, "--file", &text, "--json"]);
    assert_eq!(all["text_tokens"], tokenized["tokens"], "{all}");
    let windows = all["text_tokens"].as_u64().expect("a number") / 20;
    assert!(windows > 2, "{all}");
    // A window of 20 has 9 tokens after the first one of its second half.
    assert_eq!((all["windows"].as_u64(), all["tokens"].as_u64()), (Some(windows), Some(9 * windows)));
    let number = |of: &Value, key: &str| of[key].as_f64().expect("a number");
    assert!((number(&all, "mean").exp() / number(&all, "ppl") - 1.0).abs() < 1e-9, "{all}");
    assert!(number(&all, "error") > 0.0 && number(&all, "ppl") > 1.0, "{all}");

    // One token has no spread.
    let one = report(&[&words[..7], &["--context", "3", "--chunks", "1", "--json"]].concat());
    assert_eq!((one["tokens"].as_u64(), &one["error"]), (Some(1), &Value::Null), "{one}");

    let two = scored(&["--chunks", "2"]);
    assert_eq!((two["windows"].as_u64(), two["tokens"].as_u64()), (Some(2), Some(18)));
    // Caches in f32 give nearly the same, and not the same.
    let wide = scored(&["--chunks", "2", "--kv", "f32"]);
    let off = number(&wide, "ppl") / number(&two, "ppl") - 1.0;
    assert!(off != 0.0 && off.abs() < 0.01, "{two} {wide}");

    let help = parsed(&["perplexity", "--help"]).expect_err("help");
    for key in all.as_object().expect("an object").keys() {
        assert!(help.contains(key.as_str()), "{key} is not in {help}");
    }
}

#[test]
fn one_line_tells_it() {
    let folder = folder("scored_line");
    let text = file("scored_line.txt", &"the of and to in ".repeat(12));
    let words = ["perplexity", "--model", folder.to_str().expect("text"), "--file", &text, "--device", "cpu"];
    let written = run(&[&words[..], &["--context", "20"]].concat(), &Interrupts::default()).expect("scores");
    let out = String::from_utf8(written.out).expect("text");
    assert!(out.starts_with("perplexity ") && out.contains(" windows of 20); "), "{out}");
    assert!(written.log.contains("are no whole window and were left out"), "{}", written.log);
    assert_eq!(out.lines().count(), 1);
}

#[test]
fn what_cannot_be_scored_is_refused() {
    let folder = folder("scored_not");
    let model = folder.to_str().expect("text");
    let text = file("scored_not.txt", "the of");
    let words = ["perplexity", "--model", model, "--file", &text, "--device", "cpu"];
    let refused = |more: &[&str]| command(&[&words, more].concat()).expect_err("refused").to_string();
    let short = refused(&["--context", "200"]);
    let told = "which is less than a window of 200: give a longer one, or a smaller --context";
    assert!(short.starts_with("the text has ") && short.ends_with(told), "{short}");
    assert_eq!(refused(&["--chunks", "0"]), "--chunks 0 scores nothing: give at least 1");
    assert_eq!(refused(&["--context", "2"]), "--context: a window has at least 3 tokens");
    let more = refused(&["--context", "512"]);
    assert!(more.contains("512 is not a number from 1 to 256"), "{more}");
}

/// The default was refused by models with a shorter context.
#[test]
fn a_window_is_no_longer_than_the_context() {
    let folder = folder("scored_short");
    let text = file("scored_short.txt", &"the of and to in ".repeat(90));
    let words = ["perplexity", "--model", folder.to_str().expect("text"), "--file", &text, "--device", "cpu"];
    let written = run(&words, &Interrupts::default()).expect("scores");
    let (out, told) =
        (String::from_utf8(written.out).expect("text"), "windows are of 256 tokens instead of 512");
    assert!(out.contains(" of 256); ") && written.log.contains(told), "{out}{}", written.log);
    let report = report(&[&words[..], &["--json"]].concat());
    assert_eq!(report["context"], 256);
    assert!(report["notes"].to_string().contains(told), "{report}");
    let given = run(&[&words[..], &["--context", "256"]].concat(), &Interrupts::default()).expect("scores");
    assert!(!given.log.contains(told), "{}", given.log);
}
