//! What commands say to who meets them first: one short line before an answer, errors that name what is wanted.

#[cfg(unix)]
use super::place;
use super::{Interrupts, command, file, parsed, run};

fn generate(more: &[&str]) -> (String, String) {
    let words = [&["generate", "--seeded", "--device", "cpu", "--greedy"], more].concat();
    let written = run(&words, &Interrupts::default()).expect("generates");
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
    for option in ["--seed", "--top-k", "--context"] {
        let words = ["generate", "--seeded", "--prompt", "x", option, "-1"];
        let said = parsed(&words).expect_err("negative");
        assert!(said.contains("-1") && said.contains("a whole number from 0"), "{option}: {said}");
    }
    let said = parsed(&["generate", "--seeded", "--prompt", "x", "-n", "-2"]).expect_err("negative");
    assert!(said.contains("-1 for the end of the context"), "{said}");
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

/// Options of other programs that are not there are known, and refused by name.
#[test]
fn what_comes_later_is_refused_by_name() {
    for option in ["--grammar", "--lora", "--image"] {
        let words = ["generate", "--seeded", "--device", "cpu", "--prompt", "x", option, "y"];
        let said = command(&words).expect_err("not there").to_string();
        assert!(said.contains(option) && said.contains("comes later"), "{said}");
    }
    let said = parsed(&["generate", "--seeded", "--prompt", "x", "--kv", "q8_0"]).expect_err("not there");
    assert!(said.contains("f16 and f32 are there"), "{said}");
}

/// A prompt from a file, all options at once, log probabilities in the report.
#[test]
fn options_reach_the_sampler_and_the_report() {
    let text = file("prompt.txt", "Hello");
    let words = ["--file", &text, "-n", "6", "--logprobs", "3", "--json"];
    let report = |more: &[&str]| -> serde_json::Value {
        let all = [&["generate", "--seeded", "--device", "cpu"], words.as_slice(), more].concat();
        serde_json::from_str(&command(&all).expect("generates")).expect("an object")
    };
    let plain = report(&["--greedy"]);
    assert_eq!(
        (plain["prompt_ids"].clone(), plain["end"].clone()),
        ([72, 101, 108, 108, 111].into(), "length".into())
    );
    assert!(plain["seed"].is_null());
    assert!(plain["times"]["kernels_s"].as_f64().is_some_and(|s| s > 0.0), "{}", plain["times"]);
    let tokens = plain["logprobs"].as_array().expect("asked for");
    assert_eq!(tokens.len(), 6);
    for (token, id) in tokens.iter().zip(plain["ids"].as_array().expect("ids")) {
        assert_eq!((&token["id"], &token["likeliest"][0]["id"]), (id, id));
        assert_eq!(
            (&token["log_prob"], token["likeliest"].as_array().map(Vec::len)),
            (&token["likeliest"][0]["log_prob"], Some(3))
        );
    }
    let first = plain["ids"][0].to_string();
    let other = report(&["--greedy", "--logit-bias", &format!("{first}=-inf")]);
    assert_ne!(other["ids"][0], plain["ids"][0]);
    let all = [
        "--temp",
        "1.1",
        "--top-k",
        "50",
        "--top-p",
        "0.9",
        "--min-p",
        "0.01",
        "--typical",
        "0.95",
        "--seed",
        "3",
    ];
    let penalties = [
        "--repeat-penalty",
        "1.2",
        "--repeat-last-n",
        "9",
        "--presence-penalty",
        "0.1",
        "--frequency-penalty",
        "0.1",
    ];
    let drawn = report(&[all.as_slice(), &penalties].concat());
    assert_eq!(drawn["seed"], 3);
    assert_eq!(drawn["ids"], report(&[all.as_slice(), &penalties].concat())["ids"]);
    // Without one, a seed of its own that repeats the draw.
    let free = report(&["--temp", "2", "--top-k", "0", "--top-p", "1"]);
    let seed = free["seed"].to_string();
    assert_eq!(free["ids"], report(&["--temp", "2", "--top-k", "0", "--top-p", "1", "--seed", &seed])["ids"]);
}

/// Tokens of the small model are bytes: letters have their text, parts of a character their bytes as well.
#[test]
fn tokens_with_log_probabilities_have_text_and_bytes() {
    use serde_json::Value;
    let (out, _) = generate(&["--prompt", "Hello", "-n", "1", "--logprobs", "256", "--json"]);
    let report: Value = serde_json::from_str(&out).expect("an object");
    let token = &report["logprobs"][0];
    let all = token["likeliest"].as_array().expect("asked for");
    assert_eq!(all.len(), 256);
    for token in all.iter().chain([token]) {
        let byte = token["id"].as_u64().and_then(|id| u8::try_from(id).ok()).expect("a byte");
        let is_text = byte.is_ascii();
        let letter = if is_text { char::from(byte) } else { char::REPLACEMENT_CHARACTER };
        let bytes: Value = if is_text { Value::Null } else { [byte].into() };
        assert_eq!(
            (token["text"].as_str(), &token["bytes"]),
            (Some(letter.to_string().as_str()), &bytes),
            "{token}"
        );
    }
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

/// A pipe into which somebody writes a text, once somebody reads it.
#[cfg(unix)]
fn pipe(name: &str, text: &'static str) -> String {
    let pipe = place(name);
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo is there").success());
    let path = pipe.display().to_string();
    std::thread::spawn(move || std::fs::write(pipe, text));
    path
}

/// They were waited for, and read without an end.
#[cfg(unix)]
#[test]
fn what_is_no_file_is_not_opened() {
    let seeded = ["generate", "--seeded", "--device", "cpu", "--greedy", "-n", "2"];
    let template = file("plain.jinja", "{{ messages[0].content }}");
    let chat = ["--chat", "hi", "--template", &template];
    let of_template = pipe("template.pipe", "{{ messages[0].content }}");
    let of_tools = pipe("tools.pipe", "[]");
    let of_table = pipe("table.pipe", "{}");
    let refused: [&[&str]; 3] = [
        &["--chat", "hi", "--template", &of_template],
        &[&chat[..], &["--tools", &of_tools]].concat(),
        &["--prompt", "hi", "--table", &of_table],
    ];
    for more in refused {
        let said = command(&[&seeded, more].concat()).expect_err("a pipe").to_string();
        assert!(said.contains(".pipe: ") && said.contains("no regular file"), "{said}");
    }
    let device =
        command(&[&seeded[..], &["--file", "/dev/zero"]].concat()).expect_err("a device").to_string();
    assert_eq!(device, "/dev/zero: it is neither a file nor a pipe");
    // As `--file <(command)` of a shell gives it.
    let prompt = pipe("prompt.pipe", "hello");
    let piped = command(&[&seeded[..], &["--file", &prompt]].concat()).expect("answers");
    assert_eq!(piped, command(&[&seeded[..], &["--prompt", "hello"]].concat()).expect("answers"));
}

/// Help that could not be written was a success.
#[cfg(target_os = "linux")]
#[test]
fn what_cannot_be_written_is_an_error() {
    use std::process::{Command, Stdio};
    let run = |words: &[&str], out: Stdio| {
        let program = Command::new(env!("CARGO_BIN_EXE_pumice")).args(words).stdout(out).output();
        let program = program.expect("runs");
        (program.status.code(), String::from_utf8(program.stderr).expect("text"))
    };
    let full = || Stdio::from(std::fs::File::options().write(true).open("/dev/full").expect("there"));
    for words in [&["--help"][..], &["--version"], &["generate", "--help"], &["help", "tune"], &["devices"]] {
        let (code, said) = run(words, full());
        assert_eq!(code, Some(2), "{words:?}: {said}");
        assert!(said.starts_with("pumice: the output cannot be written"), "{words:?}: {said}");
        assert_eq!(run(words, Stdio::null()), (Some(0), String::new()), "{words:?}");
        // Whoever has seen enough made no mistake.
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        assert_eq!(run(words, writer.into()), (Some(0), String::new()), "{words:?}");
    }
    let (code, said) = run(&["generate", "--no-such"], full());
    assert!(code == Some(2) && said.contains("--no-such"), "{code:?} {said}");
}
