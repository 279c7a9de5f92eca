//! `pumice compile` and what runs its plans, from arguments to output, on the interpreter: the same results as
//! compiling anew, and every plan of another model, with other options, or damaged is refused by name.

use super::{Interrupts, command, place, run, tiny};
use pumice::cli::CommandError;
use pumice::generate::{GenerateOptions, Generator};
use pumice::{Device, Error, LanguageOptions, PlanFileError};
use pumice_import::gguf::GgufStrings;
use pumice_import::{GgufWriter, SeededWeights, WeightSource};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// Runs a command of the interpreter; its standard output.
fn on_cpu(args: &[&str]) -> Result<String, CommandError> {
    command(&[args, &["--device", "cpu"]].concat())
}

fn text(path: &Path) -> &str {
    path.to_str().expect("text")
}

/// The plan of a model's folder or file, explained.
fn compiled(model: &str, name: &str, more: &[&str]) -> PathBuf {
    let path = place(name);
    on_cpu(&[&["compile", model, "-o", text(&path), "--explain"], more].concat()).expect("compiles");
    path
}

#[test]
fn an_encoder_embeds_by_its_plan() {
    let (model, plan) = (tiny("bert"), compiled(&tiny("bert"), "bert.plan", &["--batch", "2"]));
    let embed =
        |more: &[&str]| on_cpu(&[&["embed", "--model", &model, "one", "two of them", "3"], more].concat());
    let by_plan = embed(&["--plan", text(&plan)]).expect("embeds");
    assert_eq!(by_plan, embed(&["--batch", "2"]).expect("embeds"));
    assert_eq!(by_plan.lines().count(), 3);
}

#[test]
fn what_is_said_is_one_object() {
    let path = place("said.plan");
    let said =
        on_cpu(&["compile", &tiny("bert"), "-o", text(&path), "--explain", "--json"]).expect("compiles");
    let said: serde_json::Value = serde_json::from_str(&said).expect("an object");
    assert_eq!(said["bytes"].as_u64(), Some(fs::metadata(&path).expect("there").len()));
    assert_eq!((said["form"].as_str(), said["target"].as_str()), (Some("explain"), Some("interpreter")));
    assert!(said["steps"].as_u64() > Some(0) && said["runs"].as_u64() > Some(1), "{said}");
}

fn refusal(args: &[&str]) -> Error {
    match on_cpu(args).expect_err("refused") {
        CommandError::Pumice(error) | CommandError::Embed(pumice::embed::EmbedError::Pumice(error)) => error,
        other => panic!("{other}"),
    }
}

/// Each was passed over without a word.
#[test]
fn options_of_other_models_are_refused() {
    let refused = |words: &[&str]| {
        let to = place("other-options.plan");
        let all = [&["compile"], words, &["-o", text(&to), "--target", "lavapipe"]].concat();
        super::command(&all).expect_err("refused").to_string()
    };
    let encoder = tiny("bert");
    for option in [["--kv", "f32"], ["--context", "64"], ["--quantize", "q8_0"], ["--ignore-key", "x"]] {
        let told = refused(&[&[encoder.as_str()], &option[..]].concat());
        assert!(told.starts_with(&format!("{} is for language models", option[0])), "{told}");
    }
    let folder = super::folder::folder("other_options");
    for option in [["--pooling", "max"], ["--batch", "4"], ["--normalize", "true"], ["--max-tokens", "9"]] {
        let told = refused(&[&[text(&folder)], &option[..]].concat());
        assert!(told.starts_with(&format!("{} is for sentence encoders", option[0])), "{told}");
    }
}

#[test]
fn other_plans_are_refused() {
    let (bert, roberta) = (tiny("bert"), tiny("roberta"));
    let plan = compiled(&bert, "other.plan", &[]);
    let other = refusal(&["embed", "--model", &roberta, "one", "--plan", text(&plan)]);
    assert!(matches!(&other, Error::OtherPlan { model, .. } if model == "roberta"), "{other}");
    let options = refusal(&["embed", "--model", &bert, "one", "--plan", text(&plan), "--pooling", "max"]);
    assert!(matches!(&options, Error::OtherPlan { .. }), "{options}");

    // A plan that does not say from which graph it was made was run with any model.
    let mut anonymous = pumice::plan_file::load(&plan).expect("there").into_plan();
    anonymous.graph = None;
    let nameless = place("nameless.plan");
    pumice::plan_file::save(&anonymous, &nameless, anonymous.form).expect("saved");
    let refused = refusal(&["embed", "--model", &bert, "one", "--plan", text(&nameless)]);
    assert!(matches!(&refused, Error::NoGraph { model, .. } if model == "bert"), "{refused}");

    // Such a file was read until the memory was full.
    if cfg!(unix) {
        let endless = refusal(&["embed", "--model", &bert, "one", "--plan", "/dev/zero"]);
        assert!(matches!(&endless, Error::PlanFile { source: PlanFileError::NotAPlan, .. }), "{endless}");
    }

    let damaged = place("damaged.plan");
    let mut bytes = fs::read(&plan).expect("there");
    bytes[100] ^= 1;
    fs::write(&damaged, &bytes).expect("written");
    let refused = refusal(&["embed", "--model", &bert, "one", "--plan", text(&damaged)]);
    let checksum = |e: &Error| matches!(e, Error::PlanFile { path, source: PlanFileError::Checksum } if *path == damaged);
    assert!(checksum(&refused), "{refused}");
    let missing = refusal(&["embed", "--model", &bert, "one", "--plan", text(&place("none.plan"))]);
    assert!(matches!(missing, Error::PlanFile { source: PlanFileError::Io(_), .. }));
}

#[test]
fn what_cannot_be_compiled_is_said() {
    let path = place("never.plan");
    let model = tiny("bert");
    let other = command(&["compile", &model, "-o", text(&path), "--target", "h300"]);
    let refused = other.expect_err("no such target");
    assert!(refused.to_string().contains("h200 and lavapipe"), "{refused}");
    let bare =
        on_cpu(&["compile", &tiny("bert"), "-o", text(&path)]).expect_err("the interpreter needs meanings");
    assert!(bare.to_string().contains("--explain"), "{bare}");
    assert!(on_cpu(&["compile", &tiny("none"), "-o", text(&path)]).is_err());
    assert!(!path.exists());
}

const HIDDEN: u64 = 32;

/// A Llama of one layer, with a vocabulary of the printable characters.
fn llama(name: &str, theta: f32) -> PathBuf {
    let mut w = GgufWriter::new();
    let letters: Vec<String> =
        ('!'..='~').map(String::from).chain(["\u{120}".to_owned(), "</s>".to_owned()]).collect();
    let vocab = letters.len() as u64;
    for (key, value) in [("architecture", "llama"), ("name", "toy")] {
        w.metadata(&format!("general.{key}"), value).expect("new");
    }
    let counts = [
        ("block_count", 1),
        ("context_length", 64),
        ("embedding_length", HIDDEN),
        ("feed_forward_length", 64),
        ("attention.head_count", 2),
    ];
    for (key, value) in counts {
        w.metadata(&format!("llama.{key}"), value as u32).expect("new");
    }
    w.metadata("llama.attention.layer_norm_rms_epsilon", 1e-5f32).expect("new");
    w.metadata("llama.rope.freq_base", theta).expect("new");
    w.metadata("tokenizer.ggml.model", "gpt2").expect("new");
    w.metadata("tokenizer.ggml.tokens", letters.iter().map(String::as_str).collect::<GgufStrings>())
        .expect("new");
    w.metadata("tokenizer.ggml.merges", std::iter::empty::<&str>().collect::<GgufStrings>()).expect("new");
    w.metadata("tokenizer.ggml.eos_token_id", vocab as u32 - 1).expect("new");
    let mut seeded = SeededWeights::new(3);
    let mut tensor = |name: &str, shape: &[u64]| {
        seeded.add(name, pumice::DType::F32, shape).expect("makeable");
        w.tensor(name, pumice::DType::F32, shape).expect("new");
    };
    tensor("token_embd.weight", &[vocab, HIDDEN]);
    for part in ["attn_q", "attn_k", "attn_v", "attn_output"] {
        tensor(&format!("blk.0.{part}.weight"), &[HIDDEN, HIDDEN]);
    }
    tensor("blk.0.ffn_gate.weight", &[64, HIDDEN]);
    tensor("blk.0.ffn_up.weight", &[64, HIDDEN]);
    tensor("blk.0.ffn_down.weight", &[HIDDEN, 64]);
    for norm in ["blk.0.attn_norm", "blk.0.ffn_norm", "output_norm"] {
        tensor(&format!("{norm}.weight"), &[HIDDEN]);
    }
    let path = place(name);
    let mut out = File::create(&path).expect("a file");
    w.write(&mut out, |name, at, piece| seeded.read_at(name, at, piece)).expect("written");
    path
}

#[test]
fn a_language_model_generates_by_its_plan() {
    let model = llama("toy.gguf", 10_000.0);
    let plan = compiled(text(&model), "toy.plan", &["--context", "48"]);
    let generate = |model: &Path, more: &[&str]| {
        let args = ["generate", "--model", text(model), "--prompt", "Hello", "--greedy", "-n", "9", "--json"];
        on_cpu(&[&args, more].concat())
    };
    let ids =
        |said: String| serde_json::from_str::<serde_json::Value>(&said).expect("an object")["ids"].clone();
    let by_plan = ids(generate(&model, &["--plan", text(&plan)]).expect("generates"));
    assert_eq!(by_plan, ids(generate(&model, &["--context", "48"]).expect("generates")));
    // Shapes and names of the weights are the same, and the text would be wrong.
    let other = llama("other.gguf", 500_000.0);
    let CommandError::Pumice(refused) =
        generate(&other, &["--plan", text(&plan)]).expect_err("another model")
    else {
        panic!("another error")
    };
    assert!(matches!(&refused, Error::OtherPlan { model, .. } if model == "toy"), "{refused}");
}

/// `--context` was recommended beside a plan, where it is refused.
#[test]
fn a_full_context_says_how_there_is_a_longer_one() {
    let model = llama("full.gguf", 10_000.0);
    let plan = compiled(text(&model), "full.plan", &["--context", "48"]);
    let long = "a".repeat(100);
    for (more, longer) in [
        (["--context", "48"], Some("open the model with a larger --context")),
        (["--plan", text(&plan)], Some("compile the plan with a larger --context")),
        // What the model was trained for.
        (["--context", "64"], None),
    ] {
        let words = |prompt| {
            let args = ["generate", "--model", text(&model), "--device", "cpu", "--prompt", prompt];
            [&args[..], &["--greedy", "--ignore-eos", "-n", "-1"], &more].concat()
        };
        let full = match longer {
            Some(how) => format!("; the context is full: {how}\n"),
            None => "; the context is full, and it is the model's longest\n".to_owned(),
        };
        let told = run(&words("Hello"), &Interrupts::default()).expect("generates").log;
        assert!(told.contains(&full), "{more:?}: {told}");
        let fewer = longer.map_or(": take fewer".to_owned(), |how| format!(": take fewer, or {how}"));
        let refused = command(&words(&long)).expect_err("too long").to_string();
        assert!(refused.ends_with(&fewer), "{more:?}: {refused}");
    }
}

#[test]
fn a_model_has_a_longer_context_where_it_was_trained_for_more() {
    let model = llama("longer.gguf", 10_000.0);
    for (context, is_longer) in [(48u64, true), (64, false)] {
        let options = GenerateOptions::default().model(LanguageOptions::default().context(context));
        let opened = Generator::open(&model, &Device::cpu(), &options, |_, _| {}).expect("opens");
        assert_eq!(opened.has_longer_context(), is_longer, "{context}");
    }
}
