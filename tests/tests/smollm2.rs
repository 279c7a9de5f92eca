//! SmolLM2-135M-Instruct from file to logits: tokens, conversations and logits are those of the Python packages
//! (tests/reference/text_goldens.py and llama_logits.py).
//!
//! The file is the one that `PUMICE_SMOLLM2` names, or the one `cargo xtask demo` downloaded; the tests fail without
//! it, and `cargo xtask test` leaves them out and says so.

use pumice::generate::{Perplexity, Scorer};
use pumice_compile::Options;
use pumice_models::{CacheType, ChatInput, LanguageModel, LanguageOptions, Message};
use pumice_tests::logits::{Goldens, TOLERANCE, load};
use pumice_tests::share::Share;
use pumice_tests::{Fixture, device, files};
use pumice_types::Precision;
use serde_json::Value;
use std::path::PathBuf;

fn file() -> PathBuf {
    files::smollm2().expect("SmolLM2-135M-Instruct (PUMICE_SMOLLM2, or `cargo xtask demo`)")
}

/// Of the first window of the text.
const BY_NUMPY: f64 = 28.7240;

fn golden(name: &str) -> Value {
    let text = std::fs::read_to_string(files::data().join("smollm2").join(name)).expect("checked in");
    serde_json::from_str(&text).expect("what the script writes")
}

fn ids(list: &Value) -> Vec<u32> {
    serde_json::from_value(list.clone()).expect("token ids")
}

fn strings(list: &Value) -> Vec<String> {
    serde_json::from_value(list.clone()).expect("texts")
}

/// Teacher-forced, for so many prompts and tokens after each.
fn logits_agree(fixture: &Fixture, context: Option<u64>, prompts: usize, steps: usize) {
    let goldens = Goldens::open(&Goldens::smollm2());
    assert!(goldens.prompts.len() >= prompts && goldens.steps() >= steps);
    let exe = load(fixture, &file(), context);
    let mut session = exe.session().expect("a session");
    for prompt in 0..prompts {
        let agreement = goldens.teacher_forced(&mut session, prompt, steps, |_| {}).expect("runs");
        println!("prompt {prompt}: {agreement:?}");
        assert!(agreement.holds(), "prompt {prompt}: {agreement:?}");
    }
}

mod with_smollm2 {
    use super::*;

    #[test]
    fn tokens_of_two_thousand_lines_are_those_of_the_python_package() {
        let golden = golden("text.json");
        let tokenizer = LanguageModel::open(file(), &LanguageOptions::default())
            .and_then(|f| f.tokenizer())
            .expect("text");
        let (lines, wanted) = (strings(&golden["lines"]), golden["ids"].as_array().expect("lists"));
        assert_eq!((lines.len(), wanted.len()), (2000, 2000));
        for (line, wanted) in lines.iter().zip(wanted) {
            assert_eq!(tokenizer.encode(line, true).expect("tokens"), ids(wanted), "{line:?}");
        }
    }

    #[test]
    fn its_chat_template_writes_what_jinja2_writes() {
        let golden = golden("text.json");
        let file = LanguageModel::open(file(), &LanguageOptions::default()).expect("a model");
        let tokenizer = file.tokenizer().expect("text");
        let template = file.chat_templates().expect("read");
        let (_, template) = template.choose(false).expect("a template").expect("it has one");
        let special = |id: Option<u32>| tokenizer.decode(&[id.expect("it has one")]);
        let (bos, eos) = (special(tokenizer.bos()), special(tokenizer.eos()));
        let conversations: Vec<Vec<Message>> =
            serde_json::from_value(golden["conversations"].clone()).expect("conversations");
        let texts = golden["texts"].as_array().expect("texts");
        assert_eq!((conversations.len(), texts.len()), (20, 20));
        for (messages, texts) in conversations.iter().zip(texts) {
            for (prompt, want) in [true, false].into_iter().zip(strings(texts)) {
                let input = ChatInput::new(messages).add_generation_prompt(prompt).special_tokens(&bos, &eos);
                assert_eq!(template.render(&input).expect("renders"), want);
            }
        }
    }

    /// The golden logits are those of the prompts that stand beside them.
    #[test]
    fn the_golden_prompts_are_these_texts() {
        let tokenizer = LanguageModel::open(file(), &LanguageOptions::default())
            .and_then(|f| f.tokenizer())
            .expect("text");
        let goldens = Goldens::open(&Goldens::smollm2());
        let texts = strings(&golden("prompts.json"));
        assert_eq!((texts.len(), goldens.prompts.len(), goldens.steps()), (10, 10, 64));
        for (text, want) in texts.iter().zip(&goldens.prompts) {
            let ids = tokenizer.encode(text, true).expect("tokens");
            assert_eq!(&ids.iter().map(|&id| id as i32).collect::<Vec<_>>(), want, "{text}");
        }
    }
}

mod on_interpreter {
    use super::*;

    mod with_smollm2 {
        use super::*;

        /// A prompt of five tokens and three after it: the interpreter takes seconds for each run.
        #[test]
        fn logits_agree_with_numpy() {
            logits_agree(&Fixture::interpreter(), Some(32), 1, 4);
        }
    }
}

mod on_device {
    use super::*;

    mod with_smollm2 {
        use super::*;

        /// Sixty-four tokens after each of ten prompts; without `--long` 24 after each of five.
        #[test]
        fn logits_of_ten_prompts_and_sixty_four_tokens_agree_with_numpy() {
            let share = Share::of_environment();
            logits_agree(&Fixture::vulkan(), None, share.few_or(5, 10), share.few_or(24, 64));
        }

        /// Rounding the factors of products hardly matters, and numpy in f64 finds the same perplexity
        /// (tests/reference/perplexity.py): a window of 512 here, more by `pumice perplexity`.
        #[test]
        fn perplexity_in_f16_is_that_of_exact_products() {
            let text =
                std::fs::read_to_string(files::data().join("text/shakespeare.txt")).expect("checked in");
            let of = |precision| {
                let options = LanguageOptions::default().context(512).cache(CacheType::F32);
                let model = LanguageModel::open(file(), &options).expect("a model");
                let ids = model.tokenizer().and_then(|t| Ok(t.encode_prompt(&text, false)?)).expect("tokens");
                let compile = Options::default().precision(precision);
                let scorer = Scorer::open(file(), &device::facade(), &options, &compile, |_, _| {});
                let mut scorer = scorer.expect("loads");
                let mut perplexity = Perplexity::default();
                perplexity.add_window(&mut scorer, &ids[..512]).expect("runs");
                perplexity.value()
            };
            let (exact, rounded) = (of(Precision::Exact), of(Precision::F16));
            println!("exact {exact}, F16 {rounded}");
            assert!((exact / BY_NUMPY - 1.0).abs() < 5e-4, "{exact}");
            assert!((rounded / exact - 1.0).abs() < 0.01 && rounded != exact, "exact {exact}, F16 {rounded}");
        }

        /// Prompt and answer in one run, and tokens that the device chooses itself.
        #[test]
        fn long_prompts_and_greedy_tokens_agree_with_numpy() {
            let goldens = Goldens::open(&Goldens::smollm2());
            let exe = load(&Fixture::vulkan(), &file(), None);
            let mut session = exe.session().expect("a session");
            for prompt in 0..Share::of_environment().few_or(5, goldens.prompts.len()) {
                let agreement = goldens.at_once(&mut session, prompt).expect("runs");
                assert!(agreement.holds(), "prompt {prompt}: {agreement:?}");
            }
            for prompt in [2, 4] {
                let other = goldens.greedy(&mut session, prompt).expect("runs");
                assert!(other.is_none_or(|(_, gap)| gap < TOLERANCE), "prompt {prompt}: {other:?}");
            }
        }
    }
}
