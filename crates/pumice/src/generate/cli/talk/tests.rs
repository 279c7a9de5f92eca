//! A conversation whose lines are written down.

use super::super::args::GenerateArgs;
use super::super::lines::{Lines, Typed};
use super::*;
use crate::generate::{Date, GenerateOptions, Generator};
use clap::Parser;

const TEMPLATE: &str = "{% for m in messages %}{{ m.role[0] }}:{{ m.content }}\n{% endfor %}{% if add_generation_prompt %}a:{% endif %}";

/// A file that the command is told to read.
const OWN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/generate/cli/talk/tests.rs");

/// Lines, then the end.
struct Script {
    lines: std::vec::IntoIter<Typed>,
    last: Typed,
}

impl Script {
    fn of(lines: &[&str]) -> Script {
        let typed = lines.iter().map(|line| match *line {
            "^C" => Typed::Interrupted,
            "\u{fffd}" => Typed::Unreadable("no text".to_owned()),
            line => Typed::Message(line.to_owned()),
        });
        Script { lines: typed.collect::<Vec<_>>().into_iter(), last: Typed::End }
    }
}

impl Lines for Script {
    fn line(&mut self, _: &str) -> Result<Typed, CommandError> {
        self.last = self.lines.next().unwrap_or(Typed::End);
        Ok(self.last.clone())
    }

    fn last(&self) -> Typed {
        self.last.clone()
    }
}

#[derive(Parser)]
struct Words {
    #[command(flatten)]
    args: GenerateArgs,
}

/// What a conversation writes to the standard output and to the log.
fn told(template: Option<&str>, more: &[&str], lines: &[&str]) -> Result<(String, String), CommandError> {
    let words = [&["generate", "--seeded", "--device", "cpu", "--greedy"], more].concat();
    let args = Words::try_parse_from(words).unwrap_or_else(|e| panic!("{e}")).args;
    let progress = Progress::new();
    let choice = args.compiler.device("cpu", None, &progress)?;
    let chat = args.chat_settings()?.template(template.map(str::to_owned));
    let options = GenerateOptions::default().one_answer(true).chat(chat);
    let generator = Generator::seeded(1, &choice.device, &options)?;
    let request = args.request(generator.suggested_sampling(), 1, 5);
    let reads = [PathBuf::from(OWN)];
    let reported =
        Reported { args: &args, choice: &choice, generator: &generator, reads: &reads, seed: None };
    let (mut out, mut log) = (Vec::new(), Vec::new());
    let interrupts = Interrupts::default();
    // Of an answer before: only what comes during an answer ends it.
    interrupts.stop.set();
    talk(&reported, &request, &progress, &interrupts, &mut Script::of(lines), &mut out, &mut log)?;
    Ok((String::from_utf8(out).expect("text"), String::from_utf8(log).expect("text")))
}

fn reports(lines: &[&str]) -> Vec<serde_json::Value> {
    let (out, _) = told(Some(TEMPLATE), &["--json"], lines).expect("talks");
    out.lines().map(|line| serde_json::from_str(line).expect("an object")).collect()
}

#[test]
fn turns_read_only_what_is_new() {
    let turns = reports(&["hi", "and now?"]);
    assert_eq!(turns.len(), 2);
    let number = |turn: usize, key: &str| turns[turn][key].as_u64().expect("a number") as usize;
    let prompt = |turn: usize| turns[turn]["prompt_ids"].as_array().expect("ids").len();
    assert_eq!((number(0, "prompt_kept"), number(0, "prompt_read")), (0, "u:hi\na:".len()));
    assert_eq!(number(1, "prompt_kept") + number(1, "prompt_read"), prompt(1));
    assert!(number(1, "prompt_kept") >= prompt(0), "{turns:?}");
}

#[test]
fn commands_change_what_was_said() {
    let plain = reports(&["hi", "one"]);
    let text = |turns: &[serde_json::Value], i: usize| turns[i]["text"].clone();
    let ids = |turns: &[serde_json::Value], i: usize| turns[i]["prompt_ids"].clone();
    // Taken back, and said otherwise.
    let undone = reports(&["hi", "two", "/undo", "one"]);
    assert_eq!((ids(&undone, 2), text(&undone, 2)), (ids(&plain, 1), text(&plain, 1)));
    // The likeliest answer again.
    let again = reports(&["hi", "/regen", "one"]);
    assert_eq!((ids(&again, 1), text(&again, 1)), (ids(&plain, 0), text(&plain, 0)));
    assert_eq!(text(&again, 2), text(&plain, 1));
    let reset = reports(&["hi", "one", "/reset", "hi"]);
    assert_eq!((ids(&reset, 2), text(&reset, 2)), (ids(&plain, 0), text(&plain, 0)));
    assert_eq!(reports(&["", "  ", "^C", "hi", "/quit", "one"]).len(), 1);
    assert_eq!(ids(&reports(&["h\\", "i"]), 0), ids(&reports(&["h\ni"]), 0));
    // Ctrl-C takes a message of several lines back; it was sent.
    assert_eq!(reports(&["h\\", "^C"]).len(), 0);
    assert_eq!(reports(&["h\\"]).len(), 1);
}

#[test]
fn a_conversation_is_kept_in_a_file() {
    let file = std::env::temp_dir().join(format!("pumice-talk-{}", std::process::id()));
    let (save, load) = (format!("/save {}", file.display()), format!("/load {}", file.display()));
    let plain = reports(&["hi", "one"]);
    let kept = reports(&["hi", &save, "/reset", "other", &load, "one"]);
    assert_eq!((&kept[2]["text"], &kept[2]["prompt_ids"]), (&plain[1]["text"], &plain[1]["prompt_ids"]));
    assert!(kept[2]["prompt_kept"].as_u64() >= Some(8), "{kept:?}");
    let (_, log) =
        told(Some(TEMPLATE), &[], &[&load, "/load /nowhere/at/all", "/save", "hi"]).expect("talks");
    // What the command reads is not written onto.
    let before = std::fs::read(OWN).expect("there");
    let (_, onto) = told(Some(TEMPLATE), &[], &["hi", &format!("/save {OWN}")]).expect("talks");
    assert!(onto.contains("would be written over"), "{onto}");
    assert_eq!(std::fs::read(OWN).expect("there"), before);
    // Nor onto a file that is something else; one that was saved is replaced.
    std::fs::write(&file, "a diary").expect("written");
    let (_, other) = told(Some(TEMPLATE), &[], &["hi", &save]).expect("talks");
    assert!(other.contains("is no saved conversation"), "{other}");
    assert_eq!(std::fs::read(&file).expect("there"), b"a diary");
    std::fs::write(&file, "").expect("written");
    let (_, again) = told(Some(TEMPLATE), &[], &["hi", &save, &save]).expect("talks");
    assert_eq!(again.matches("saved to").count(), 2, "{again}");
    std::fs::remove_file(&file).expect("it was saved");
    assert!(
        log.contains("2 turns")
            && log.contains("/nowhere/at/all")
            && log.contains("the name of a file is missing"),
        "{log}"
    );
}

/// Templates that need the date were refused in every chat.
#[test]
fn templates_are_told_the_day() {
    let dated = "{{ strftime_now('%Y-%m-%d') }}{% for m in messages %}{{ m.content }}{% endfor %}";
    let (out, log) = told(Some(dated), &["--date", "2024-02-29"], &["hi"]).expect("talks");
    assert!(!out.trim().is_empty() && !log.contains("asks for today's date"), "{log}");
    let args = |more: &[&str]| Words::try_parse_from([&["generate", "--seeded"], more].concat());
    let day = args(&["--date", "2024-02-29"]).expect("a day").args.chat_settings().expect("read").date;
    assert_eq!(day, Date::new(2024, 2, 29).ok());
    let today = args(&[]).expect("none").args.chat_settings().expect("read").date;
    let earliest = Date::new(2026, 11, 30).expect("a day");
    assert!(today.is_some_and(|today| today >= earliest), "{today:?}");
    assert!(args(&["--date", "2023-02-29"]).is_err());
}

#[test]
fn what_cannot_be_is_told_and_the_conversation_goes_on() {
    let (out, log) =
        told(Some(TEMPLATE), &["--system", "be brief"], &["/regen", "/undo", "/what", "hi"]).expect("talks");
    assert!(log.contains("nothing was said") && log.contains("/what is not known"), "{log}");
    assert!(log.contains("14 prompt tokens") || log.contains("prompt tokens"), "{log}");
    assert!(!out.trim().is_empty(), "{out}");
    let strict = "{% for m in messages %}{% if m.content == 'no' %}{{ raise_exception('not that') }}{% endif %}{{ m.content }}{% endfor %}";
    let (_, log) = told(Some(strict), &[], &["no", "yes"]).expect("talks");
    assert!(log.contains("not that") && log.contains("token"), "{log}");
    let ringing = strict.replace("not that", "not\u{7} that");
    let (_, log) = told(Some(&ringing), &[], &["no", "yes"]).expect("talks");
    assert!(log.contains("not\\u{7} that") && !log.contains('\u{7}'), "{log}");
    // A line that is no text, which ended the conversation.
    let (out, log) = told(Some(TEMPLATE), &[], &["\u{fffd}", "hi"]).expect("talks");
    assert!(log.contains("the line is left out: no text") && !out.trim().is_empty(), "{log}");
    // A message that does not fit, and one that does.
    let long = "x".repeat(4000);
    let (out, log) = told(Some(TEMPLATE), &[], &[&long, "hi"]).expect("talks");
    assert!(log.contains("the context holds") && !out.trim().is_empty(), "{log}");
    let without = told(None, &[], &["hi"]).expect_err("no template").to_string();
    assert!(without.contains("no chat template") && without.contains("--prompt"), "{without}");
}
