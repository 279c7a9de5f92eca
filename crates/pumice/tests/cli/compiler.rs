//! `--table` and `--precision` of every command that compiles.

use super::{command, file, parsed, place, tiny};
use pumice::cli::CommandError;
use pumice::embed::EmbedError;
use pumice::{CompileError, Error, Plan, Precision, Target};
use pumice_plan::StepKind;

/// Commands that compile a small model, without what it is that they are told.
fn commands() -> [Vec<String>; 3] {
    let words = |words: &[&str]| words.iter().map(|w| (*w).to_owned()).collect();
    let out = place("x.plan").display().to_string();
    [
        words(&["compile", &tiny("bert"), "-o", &out, "--target", "lavapipe"]),
        words(&["embed", "--seeded", "--device", "cpu", "Hello"]),
        words(&["generate", "--seeded", "--device", "cpu", "--prompt", "Hello", "-n", "2", "--greedy"]),
    ]
}

fn run(command_words: &[String], more: &[&str]) -> Result<String, CommandError> {
    let words: Vec<&str> = command_words.iter().map(String::as_str).chain(more.iter().copied()).collect();
    command(&words)
}

/// The compiler's mistake in what a command said.
fn compile_error(error: CommandError) -> CompileError {
    match error {
        CommandError::Pumice(Error::Compile(why))
        | CommandError::Embed(EmbedError::Pumice(Error::Compile(why))) => why,
        other => panic!("{other}"),
    }
}

/// The table of lavapipe, with what one row takes replaced.
fn table(from: &str, to: &str) -> String {
    let text = Target::lavapipe().table.to_json().expect("numbers");
    assert!(text.contains(from), "{from}");
    text.replace(from, to)
}

fn kernels(plan: &Plan) -> Vec<String> {
    let steps = plan.runs.iter().flat_map(|r| &r.program.steps);
    let labels = steps.filter_map(|s| match &s.kind {
        StepKind::Dispatch { call, .. } => Some(call.label()),
        _ => None,
    });
    labels.collect()
}

#[test]
fn a_table_of_a_file_chooses_the_kernels() {
    let (model, out) = (tiny("bert"), place("tabled.plan").display().to_string());
    let plan = |more: &[&str]| {
        let words = [&["compile", &model, "-o", &out, "--target", "lavapipe", "--json"], more].concat();
        let report: serde_json::Value =
            serde_json::from_str(&command(&words).expect("compiles")).expect("JSON");
        let bytes = std::fs::read(&out).expect("written");
        let plan = Plan::load(&bytes).expect("a plan");
        assert_eq!(report["table"], plan.table.to_string());
        plan
    };
    let own = plan(&[]);
    assert_eq!(own.table, Target::lavapipe().table.id());
    let text =
        table("matmul_f32_lanes.shuffle_small", "matmul_f32.plain").replace("\"lavapipe\"", "\"mine\"");
    let other = plan(&["--table", &file("other.json", &text)]);
    assert_eq!(other.table.class, "mine");
    assert_ne!(other.table.hash, own.table.hash);
    let tiles = |plan: &Plan| kernels(plan).iter().filter(|k| *k == "matmul_f32.plain").count();
    assert_eq!(tiles(&own), 0);
    assert!(tiles(&other) > 4, "{:?}", kernels(&other));
}

#[test]
fn every_command_takes_a_table_and_says_what_is_wrong_with_it() {
    let sound = file("sound.json", &table("matmul_f32_lanes.shuffle_small", "matmul_f32.plain"));
    let wrong = file("wrong.json", &table("matmul_f32_lanes.shuffle_small", "matmul_f32.plane"));
    let text = file("text.json", "{}");
    let missing = place("missing.json").display().to_string();
    for words in commands() {
        assert_eq!(run(&words, &["--table", &sound]).is_ok(), run(&words, &[]).is_ok(), "{words:?}");
        let refused = compile_error(run(&words, &["--table", &wrong]).expect_err("no such kernel"));
        assert!(matches!(refused, CompileError::Table { .. }), "{refused}");
        assert!(refused.to_string().contains("matmul_f32.plane"), "{refused}");
        let refused = run(&words, &["--table", &text]).expect_err("no table");
        assert!(matches!(refused, CommandError::Embed(EmbedError::Table { .. })), "{refused}");
        assert!(refused.to_string().contains("text.json"), "{refused}");
        let refused = run(&words, &["--table", &missing]).expect_err("no file");
        assert!(matches!(refused, CommandError::Embed(EmbedError::Io { .. })), "{refused}");
    }
}

#[test]
fn arithmetic_without_kernels_is_refused_by_name() {
    for words in commands() {
        for precision in [Precision::Exact, Precision::F16, Precision::Bf16] {
            run(&words, &["--precision", precision.name()]).unwrap_or_else(|e| panic!("{words:?}: {e}"));
        }
        let asked = Precision::Int8;
        let refused = compile_error(run(&words, &["--precision", asked.name()]).expect_err("no kernels"));
        assert_eq!(refused, CompileError::Precision { asked });
        let unknown: Vec<&str> = words.iter().map(String::as_str).chain(["--precision", "fast"]).collect();
        assert!(parsed(&unknown).expect_err("no such word").contains("exact, f16, bf16 or int8"));
    }
}

#[test]
fn a_plan_that_was_made_takes_neither() {
    for words in &commands()[1..] {
        for more in [["--table", "x.json"], ["--precision", "exact"]] {
            let mut words: Vec<&str> =
                words.iter().map(String::as_str).filter(|w| *w != "--seeded").collect();
            words.extend(["--model", "m", "--plan", "x.plan"]);
            parsed(&words).unwrap_or_else(|e| panic!("{e}"));
            words.extend(more);
            assert!(parsed(&words).expect_err("both").contains("cannot be used with"));
        }
    }
}
