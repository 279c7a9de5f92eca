//! Laws of decoding for every family (E4), with caches of f32 and f16: what is said again, forked, gone back to or
//! saved gives the same bits, whatever a submission holds; a prompt that is cut anywhere, and no caches at all, give
//! the same numbers but for the order of sums.

use pumice::generate::{Conversation, GenerateOptions, Generator, Request, Token};
use pumice::{CacheType, Device, DeviceKind, LanguageOptions};
use pumice_compile::Options;
use pumice_import::{SafetensorsFile, WeightSource};
use pumice_models::LanguageModel;
use pumice_tests::{Fixture, files};
use pumice_types::TensorView;
use std::ops::ControlFlow;
use std::path::PathBuf;

/// Tokens of the prompt, and of an answer.
const PROMPT: usize = 40;
const ANSWER: usize = 18;
/// Where the prompt is cut.
const CUTS: [usize; 4] = [1, 8, 33, 39];

/// A tiny model and how its caches are kept.
struct Case {
    folder: PathBuf,
    cache: CacheType,
    prompt: Vec<u32>,
}

fn cases() -> Vec<Case> {
    let both =
        |folder: PathBuf| [CacheType::F32, CacheType::F16].map(|cache| Case::new(folder.clone(), cache));
    files::tiny_decoders().into_iter().flat_map(both).collect()
}

impl Case {
    fn new(folder: PathBuf, cache: CacheType) -> Case {
        let expected = SafetensorsFile::open(&folder.join("expected.safetensors")).expect("a file");
        let ids = expected.load("ids").expect("there").to_vec::<i32>().expect("i32");
        Case { folder, cache, prompt: ids[..PROMPT].iter().map(|&id| id as u32).collect() }
    }

    fn name(&self) -> String {
        format!("{} {}", self.folder.file_name().unwrap_or_default().to_string_lossy(), self.cache.name())
    }

    fn options(&self) -> LanguageOptions {
        LanguageOptions::default().cache(self.cache)
    }

    /// Eight greedy tokens a submission on what says to be a GPU, one elsewhere.
    fn generator(&self, fixture: &Fixture, kind: DeviceKind) -> Generator {
        let device = Device::from_runtime(fixture.device.clone(), kind);
        let options = GenerateOptions::default().model(self.options()).one_answer(true);
        let opened = Generator::open_for_tokens(&self.folder, &device, &options, |_, _| {});
        opened.unwrap_or_else(|e| panic!("{}: {e}", self.name()))
    }

    fn begun(&self, generator: &Generator) -> Conversation {
        let mut conversation = generator.conversation().expect("fits");
        conversation.push(&self.prompt).expect("tokens");
        conversation
    }

    /// How far numbers may be from each other, as a share of the range of logits.
    fn tolerance(&self) -> f64 {
        match self.cache {
            CacheType::F32 => 1e-5,
            _ => 5e-4,
        }
    }
}

/// The likeliest tokens, as the device chooses them.
fn greedy(conversation: &mut Conversation) -> Vec<u32> {
    let request = Request::default().tokens(ANSWER).ignore_end(true);
    conversation.generate(&request, |_| ControlFlow::Continue(())).expect("answers").ids
}

/// So many tokens, chosen on the host, with all their log probabilities.
fn told(conversation: &mut Conversation, tokens: usize) -> Vec<Token> {
    let request = Request::default().tokens(tokens).ignore_end(true).log_probs(usize::MAX);
    let tokens = conversation.generate(&request, |_| ControlFlow::Continue(())).expect("answers").tokens;
    assert!(!tokens.is_empty());
    tokens
}

/// Ways that must give the same bits.
fn same_bits(fixture: &Fixture, case: &Case, generator: &Generator) {
    let name = case.name();
    let mut conversation = case.begun(generator);
    let first = told(&mut conversation, ANSWER);
    let ids: Vec<u32> = first.iter().map(|token| token.id).collect();

    let one = case.generator(fixture, DeviceKind::CpuDriver);
    assert_eq!(greedy(&mut case.begun(&one)), ids, "{name}: one token a submission");
    assert_eq!(greedy(&mut case.begun(generator)), ids, "{name}: eight tokens a submission");
    assert_eq!(told(&mut case.begun(generator), ANSWER), first, "{name}: again");
    assert_eq!(told(&mut case.begun(&one), ANSWER), first, "{name}: by another executable");

    conversation.rewind(0).expect("there");
    conversation.push(&case.prompt).expect("tokens");
    assert_eq!(told(&mut conversation, ANSWER), first, "{name}: after going back");

    let mut conversation = case.begun(generator);
    told(&mut conversation, 5);
    let mut fork = conversation.fork().expect("fits");
    let mut file = Vec::new();
    conversation.save(&mut file).expect("saves");
    let rest = told(&mut conversation, ANSWER - 5);
    assert_eq!(rest, first[5..], "{name}: in two answers");
    assert_eq!(told(&mut fork, ANSWER - 5), rest, "{name}: a fork");
    let mut loaded = one.load(&mut file.as_slice()).expect("loads");
    assert_eq!(told(&mut loaded, ANSWER - 5), rest, "{name}: loaded");
}

/// Log probabilities by id.
fn by_id(token: &Token) -> Vec<f64> {
    let mut all = vec![f64::NAN; token.likeliest.len()];
    token.likeliest.iter().for_each(|one| all[one.id as usize] = f64::from(one.log_prob));
    all
}

/// The largest distance of numbers.
fn apart(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter()
        .zip(b)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, |most, d| if d > most || d.is_nan() { d } else { most })
}

fn range(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::MIN, f64::max) - values.iter().copied().fold(f64::MAX, f64::min)
}

/// Log probabilities after each token of a text, without caches.
fn without_caches(fixture: &Fixture, case: &Case, ids: &[i32]) -> Vec<Vec<f64>> {
    let model = LanguageModel::open(&case.folder, &case.options()).and_then(LanguageModel::recompute_model);
    let exe = fixture.model(&model.expect("a model"), &Options::default());
    let input = [("ids", TensorView::i32(ids, [1, ids.len() as u64]))];
    let out = exe.session().expect("a session").run(&input).expect("runs");
    let logits = out.get("logits").expect("there").to_vec::<f32>().expect("f32");
    let log_softmax = |row: &[f32]| {
        let largest = f64::from(row.iter().copied().fold(f32::MIN, f32::max));
        let sum: f64 = row.iter().map(|&x| (f64::from(x) - largest).exp()).sum();
        row.iter().map(|&x| f64::from(x) - largest - sum.ln()).collect()
    };
    logits.chunks(logits.len() / ids.len()).map(log_softmax).collect()
}

/// Ways that add in another order. The largest distance, as a share of what is allowed.
fn near(fixture: &Fixture, case: &Case, generator: &Generator) -> f64 {
    let name = case.name();
    let tokens = told(&mut case.begun(generator), ANSWER);
    let answer = tokens.iter().map(|token| token.id);
    let ids: Vec<i32> = case.prompt.iter().copied().chain(answer).map(|id| id as i32).collect();
    let rows = without_caches(fixture, case, &ids);
    let allowed = case.tolerance() * rows.iter().map(|row| range(row)).fold(0.0, f64::max);
    let mut worst = 0.0f64;
    let mut compare = |what: String, a: &[f64], b: &[f64]| {
        let off = apart(a, b) / allowed;
        worst = worst.max(off);
        assert!(off <= 1.0, "{name}: {what}: {off:.2} times what is allowed");
    };
    let first = by_id(&tokens[0]);
    for cut in CUTS {
        let mut conversation = generator.conversation().expect("fits");
        conversation.push(&case.prompt[..cut]).expect("tokens");
        told(&mut conversation, 1);
        conversation.set_ids(&case.prompt).expect("tokens");
        compare(format!("cut at {cut}"), &by_id(&told(&mut conversation, 1)[0]), &first);
    }
    for (at, (token, row)) in tokens.iter().zip(&rows[PROMPT - 1..]).enumerate() {
        compare(format!("token {at} without caches"), &by_id(token), row);
        let short = row.iter().copied().fold(f64::MIN, f64::max) - row[token.id as usize];
        if short > 0.0 {
            println!("{name}: token {at} without caches is another, likelier by {short:.1e}");
        }
        assert!(short <= 2.0 * allowed, "{name}: token {at} without caches");
    }
    worst
}

fn hold(fixture: &Fixture) {
    for case in cases() {
        let generator = case.generator(fixture, DeviceKind::Gpu);
        same_bits(fixture, &case, &generator);
        println!("{}: {:.2} of what is allowed", case.name(), near(fixture, &case, &generator));
    }
}

#[test]
fn laws_hold_on_the_interpreter() {
    hold(&Fixture::interpreter());
}

mod on_device {
    use super::*;

    #[test]
    fn laws_hold_on_vulkan() {
        hold(&Fixture::vulkan());
    }
}
