//! Benchmarks of the small model: names of tests, what their figures are made of, what is refused.

use super::{Interrupts, command, parsed, place, run, tiny};
use pumice::cli::CommandError;
use pumice::{Error, ModelError};
use serde_json::Value;

const SEEDED: [&str; 5] = ["bench", "--seeded", "--device", "cpu", "--json"];

fn report(more: &[&str]) -> Value {
    serde_json::from_str(&command(&[&SEEDED, more].concat()).expect("measures")).expect("an object")
}

#[test]
fn tests_have_llama_benchs_names_and_the_plans_figures() {
    let all = report(&["-r", "1", "-p", "16", "-n", "2", "-d", "0,64"]);
    let tests = all["tests"].as_array().expect("tests");
    let names: Vec<&str> = tests.iter().filter_map(|t| t["test"].as_str()).collect();
    assert_eq!(names, ["pp16", "tg2", "pp16 @ d64", "tg2 @ d64"]);
    let number = |at: usize, key: &str| tests[at][key].as_f64().unwrap_or_else(|| panic!("{key}: {all}"));
    // Two layers of 64 · (64 + 32 + 32 + 64 + 3 · 128) weights and two norms, a norm, and two tables of 256 · 64. Of
    // one of these a token reads a row.
    assert_eq!(all["params"], 106_816);
    // Keys and values of a place: two layers, two heads of 16, two bytes. Of tg2 the middle is the third place, with
    // its own token.
    let cache = |places: f64| places * (2 * 2 * 2 * 16 * 2) as f64;
    let weights = 4.0 * f64::from(106_816 - 255 * 64);
    let off = number(1, "bytes_per_token") - weights - cache(3.0);
    // Beside them, sixteen rates of rotary angles in each of four steps, and single words.
    assert!((0.0..512.0).contains(&off), "{off} bytes: {all}");
    assert_eq!(number(3, "bytes_per_token") - number(1, "bytes_per_token"), cache(64.0));
    // Two operations a weight and token; of the output matrix for the last token alone. Attention's are more.
    let products = f64::from(2 * (16 * 2 * (106_816 - 2 * 256 * 64 - 64 - 256) / 2 + 256 * 64));
    assert!((products..1.1 * products).contains(&number(0, "flops")), "{products}: {all}");
    assert!(number(2, "flops") > number(0, "flops"));

    let rate = number(1, "median");
    assert!((number(1, "gb_per_s") / (number(1, "bytes_per_token") * rate / 1e9) - 1.0).abs() < 1e-9);
    let copy = all["copy_gb_per_s"].as_f64().expect("a rate");
    assert!((number(1, "share_of_copy") / (number(1, "gb_per_s") / copy) - 1.0).abs() < 1e-9);
    assert!(
        (number(0, "tflops") / (number(0, "flops") / 16.0 * number(0, "median") / 1e12) - 1.0).abs() < 1e-9
    );
    assert!(all["levels_per_token"].as_u64().is_some_and(|levels| levels > 10), "{all}");
    assert_eq!((all["context"].as_u64(), all["kv"].as_str()), (Some(80), Some("f16")));

    let help = parsed(&["bench", "--help"]).expect_err("help");
    let of_tests = tests.iter().flat_map(|t| t.as_object().expect("an object").keys());
    for key in all.as_object().expect("an object").keys().chain(of_tests) {
        assert!(help.contains(key.as_str()), "{key} is not in {help}");
    }
}

#[test]
fn rows_are_a_table_and_a_drawing() {
    let drawn = place("bench.svg");
    let words = ["bench", "--seeded", "--device", "cpu", "-r", "2", "-p", "4", "-n", "2", "-d", "0,8"];
    let more = ["--kv", "f32", "--svg", drawn.to_str().expect("text")];
    let written = run(&[&words[..], &more].concat(), &Interrupts::default()).expect("measures");
    let out = String::from_utf8(written.out).expect("text");
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines.len(), 6, "{out}");
    assert!(lines.iter().all(|l| l.matches('|').count() == lines[0].matches('|').count()), "{out}");
    assert!(lines.iter().all(|l| l.chars().count() == lines[0].chars().count()), "{out}");
    assert!(lines[2].contains("| f32   | pp4 ") && lines[5].contains("| tg2 @ d8 "), "{out}");
    assert!(written.log.contains("load: ") && written.log.contains(" levels a token"), "{}", written.log);
    let svg = std::fs::read_to_string(&drawn).expect("written");
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{svg}");
    assert_eq!(svg.matches("<circle").count(), 4, "a point a test");
}

#[test]
fn what_is_no_choice_is_refused_by_name() {
    let refused = |more: &[&str]| command(&[&SEEDED, more].concat()).expect_err("refused").to_string();
    let batch = "-b, --batch-size is no choice here: how many tokens of a prompt one run takes is part of the plan (128 at most)";
    assert_eq!(refused(&["-b", "64"]), batch);
    assert_eq!(refused(&["--batch-size", "64"]), batch);
    let threads = "-t, --threads is no choice here: a GPU has none, and a driver for CPUs takes those that it finds (lavapipe: \
        LP_NUM_THREADS)";
    assert_eq!(
        (refused(&["-t", "4"]), refused(&["--threads", "4"])),
        (threads.to_owned(), threads.to_owned())
    );
    assert_eq!(refused(&["-p", "0", "-n", "0"]), "-p 0 and -n 0 leave nothing to measure");
    // More than memory holds: refused before anything is loaded.
    for times in ["0", "10001", "18446744073709551615"] {
        let said = parsed(&["bench", "--seeded", "-r", times]).expect_err("refused");
        assert!(said.contains("1..=10000") || said.contains("number too large"), "{said}");
    }
    let told = "pp512 @ d9 needs a context of 521 tokens, and --context has 64";
    assert_eq!(refused(&["-d", "9", "--context", "64"]), told);
    let said = parsed(&["bench", "--seeded", "-p", "x"]).expect_err("no number");
    assert!(said.contains("a whole number from 0"), "{said}");
}

/// It gave figures as if nothing were wrong.
#[test]
fn weights_that_are_no_numbers_are_refused() {
    let mut bytes = std::fs::read(tiny("../tiny_decoders/llama/model.gguf")).expect("there");
    // Of the norm before the output.
    let end = bytes.len();
    bytes[end - 64..].chunks_exact_mut(4).for_each(|word| word.copy_from_slice(&f32::NAN.to_le_bytes()));
    let broken = place("nan.gguf");
    std::fs::write(&broken, bytes).expect("written");
    let broken = broken.display().to_string();
    for more in [&["--json"][..], &[]] {
        let words = ["bench", "--model", &broken, "--device", "cpu", "-r", "1", "-p", "4", "-n", "2"];
        let error = command(&[&words[..], more].concat()).expect_err("refused");
        let CommandError::Pumice(Error::Model(ModelError::Logits { .. })) = &error else { panic!("{error}") };
        assert!(error.to_string().contains("NaN"), "{error}");
    }
}
