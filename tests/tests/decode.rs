//! Decode equality (A8): the tiny decoder with caches gives the tokens that computing everything anew gives, however
//! the prompt is split, however many tokens a submission makes, after rewinding and in forks; twice the same bits.

use pumice_compile::Options;
use pumice_models::decoder::{DecoderConfig, decoder_graph, recompute_graph, seeded};
use pumice_models::specialize;
use pumice_runtime::{Executable, Session};
use pumice_tests::Fixture;
use pumice_types::{DType, Tensor, TensorView};
use std::collections::BTreeSet;

const PROMPT: [i32; 9] = [7, 250, 3, 99, 0, 31, 64, 200, 128];
const SEED: u64 = 5;

/// A decoder on a device with what it must say.
struct Scene {
    exe: Executable,
    /// The continuation of the prompt by recomputing.
    expected: Vec<i32>,
}

fn options() -> Options {
    Options::default().specializations(specialize::decoder())
}

fn scene(fixture: &Fixture, config: &DecoderConfig, tokens: usize) -> Scene {
    let cached = seeded(decoder_graph("decoder", config).expect("sound"), SEED).expect("fits");
    let recompute = seeded(recompute_graph("recompute", config).expect("sound"), SEED).expect("fits");
    let expected = continuation(&fixture.model(&recompute, &options_for_recompute()), &PROMPT, tokens);
    let distinct: BTreeSet<i32> = expected.iter().copied().collect();
    assert!(distinct.len() > 3, "a continuation that proves something: {expected:?}");
    Scene { exe: fixture.model(&cached, &options()), expected }
}

/// One plan for every length, so that recomputing shares no choice with decoding.
fn options_for_recompute() -> Options {
    Options::default()
}

/// Every token from the whole sequence before it.
fn continuation(exe: &Executable, prompt: &[i32], tokens: usize) -> Vec<i32> {
    let mut ids = prompt.to_vec();
    let mut session = exe.session().expect("a session");
    let next = exe.output_index("next").expect("an output");
    for _ in 0..tokens {
        let input = [("ids", TensorView::i32(&ids, [1, ids.len() as u64]))];
        let out = session.run_read(&input, &[next]).expect("runs");
        ids.push(*out[0].to_vec::<i32>().expect("i32").last().expect("one per token"));
    }
    ids.split_off(prompt.len())
}

/// Feeds ids; the chosen token, and the logits' bits.
fn feed(session: &mut Session, ids: &[i32]) -> (i32, Tensor) {
    let out = session.run(&[("ids", TensorView::i32(ids, [1, ids.len() as u64]))]).expect("runs");
    (id(out.get("next").expect("there")), out.get("logits").expect("there").clone())
}

fn id(tensor: &Tensor) -> i32 {
    tensor.to_vec::<i32>().expect("i32")[0]
}

/// Feeds the prompt in pieces; the token chosen for its end.
fn prefill(session: &mut Session, splits: &[usize]) -> i32 {
    let (mut rest, mut chosen) = (PROMPT.as_slice(), 0);
    for &n in splits {
        let (piece, tail) = rest.split_at(n);
        chosen = feed(session, piece).0;
        rest = tail;
    }
    assert!(rest.is_empty());
    chosen
}

/// `tokens` in all: the one the prompt chose, then those of submissions of `per` steps. Reads them where they are kept.
fn generate(session: &mut Session, tokens: usize, per: usize) -> Vec<i32> {
    let mut made = 1;
    while made < tokens {
        let steps = per.min(tokens - made);
        session.run_steps(&[("ids", TensorView::i32(&[-1], [1, 1]))], steps as u32).expect("runs");
        made += steps;
    }
    let from = PROMPT.len() as u64;
    let history =
        session.state("history").expect("there").read_range(1, from..from + tokens as u64).expect("rows");
    history.to_vec::<i32>().expect("i32")
}

/// Every way to cut the prompt: after each token but the last there is a cut or none.
fn all_splits() -> Vec<Vec<usize>> {
    let cuts = |bits: u32| {
        let mut pieces = vec![1];
        for i in 0..PROMPT.len() - 1 {
            match bits >> i & 1 {
                1 => pieces.push(1),
                _ => *pieces.last_mut().expect("never empty") += 1,
            }
        }
        pieces
    };
    (0..1u32 << (PROMPT.len() - 1)).map(cuts).collect()
}

/// Every way to cut the prompt in two, whole, one by one, and uneven thirds.
fn splits() -> Vec<Vec<usize>> {
    let n = PROMPT.len();
    let mut all: Vec<Vec<usize>> = (1..n).map(|i| vec![i, n - i]).collect();
    all.extend([vec![n], vec![1; n], vec![2, 3, 4], vec![3, 3, 3], vec![1, 7, 1]]);
    all
}

fn every_split(scene: &Scene, tokens: usize, splits: &[Vec<usize>]) {
    for split in splits {
        for per in [1, 4] {
            let mut session = scene.exe.session().expect("a session");
            assert_eq!(prefill(&mut session, split), scene.expected[0], "{split:?}");
            let got = generate(&mut session, tokens, per);
            assert_eq!(got, scene.expected[..tokens], "{split:?}, {per} per submission");
            let position = session.scalar("position").expect("there").as_i64();
            assert_eq!(position, Some((PROMPT.len() + tokens - 1) as i64));
        }
    }
}

/// Going back and going on elsewhere, from what a longer past left in the caches.
fn rewound_and_forked(scene: &Scene, tokens: usize) {
    let mut a = scene.exe.session().expect("a session");
    prefill(&mut a, &[PROMPT.len()]);
    generate(&mut a, tokens, 4);
    for keep in [PROMPT.len() - 1, 3, 0] {
        a.set_scalar("position", keep as i64).expect("in range");
        let chosen = feed(&mut a, &PROMPT[keep..]).0;
        assert_eq!(chosen, scene.expected[0], "rewound to {keep}");
        assert_eq!(generate(&mut a, tokens, 1), scene.expected[..tokens]);
    }
    // Two forks of one prefill: one goes on as before, one is told another token first.
    let mut b = scene.exe.session().expect("a session");
    prefill(&mut b, &[4, 5]);
    let mut forks = [b.fork().expect("a fork"), b.fork().expect("a fork")];
    let other = (scene.expected[0] + 1) % 256;
    let mut fresh = scene.exe.session().expect("a session");
    prefill(&mut fresh, &[PROMPT.len()]);
    let (corrected, logits) = feed(&mut fresh, &[other]);
    assert_eq!(feed(&mut forks[1], &[other]).0, corrected);
    assert_eq!(feed(&mut forks[1], &[-1]), feed(&mut fresh, &[-1]), "to the bit, like one that never forked");
    assert!(logits.shape() == [1, 256]);
    assert_eq!(generate(&mut forks[0], tokens, 4), scene.expected[..tokens]);
    assert_eq!(generate(&mut b, tokens, 1), scene.expected[..tokens]);
}

/// Logits of two sessions, token after token.
fn two_runs_are_identical(scene: &Scene, tokens: usize) {
    let mut sessions = [scene.exe.session().expect("one"), scene.exe.session().expect("two")];
    let mut both = |ids: &[i32]| {
        let [a, b] = sessions.each_mut().map(|s| feed(s, ids));
        assert_eq!(a, b);
    };
    both(&PROMPT);
    (0..tokens).for_each(|_| both(&[-1]));
}

/// Any cache dtype: split or whole, resident or told, the same tokens.
fn narrow_caches(fixture: &Fixture, tokens: usize) {
    for cache in [DType::F16, DType::BF16] {
        let config = DecoderConfig { cache, ..DecoderConfig::tiny() };
        let model = seeded(decoder_graph("decoder", &config).expect("sound"), SEED).expect("fits");
        let exe = fixture.model(&model, &options());
        let runs = [vec![9], vec![4, 5], vec![1; 9]].map(|split| {
            let mut session = exe.session().expect("a session");
            prefill(&mut session, &split);
            generate(&mut session, tokens, 4)
        });
        assert!(runs.iter().all(|r| *r == runs[0]), "{cache}: {runs:?}");
    }
}

/// With each of the tokens as an end: greedy steps make what they make without one, up to it, and no more.
fn an_end_ends_a_submission(fixture: &Fixture, tokens: usize) {
    let expected = scene(fixture, &DecoderConfig::tiny(), tokens).expected;
    for end in expected[1..].iter().collect::<BTreeSet<_>>() {
        let config =
            DecoderConfig { end_of_sequence: vec![255 - *end as u32, *end as u32], ..DecoderConfig::tiny() };
        let model = seeded(decoder_graph("decoder", &config).expect("sound"), SEED).expect("fits");
        let exe = fixture.model(&model, &options());
        let mut session = exe.session().expect("a session");
        prefill(&mut session, &[4, 5]);
        let is_end = |id: &i32| config.end_of_sequence.contains(&(*id as u32));
        let made = 1 + expected[1..].iter().position(is_end).expect("one of them") as u64;
        let input = [("ids", TensorView::i32(&[-1], [1, 1]))];
        let y = session.run_steps(&input, tokens as u32).expect("runs");
        assert_eq!((u64::from(session.replays()), session.stopped()), (made, true), "end {end}");
        assert_eq!(id(y.get("next").expect("there")), expected[made as usize]);
        let from = PROMPT.len() as u64;
        let mut history = session.state("history").expect("there");
        let rows = history.read_range(1, from..from + made + 2).expect("rows").to_vec::<i32>().expect("i32");
        assert_eq!(rows[..=made as usize], expected[..=made as usize], "end {end}");
        assert_eq!(rows[made as usize + 1], 0, "nothing is written after the end");
    }
}

mod on_interpreter {
    use super::*;

    #[test]
    fn an_end_ends_a_submission() {
        super::an_end_ends_a_submission(&Fixture::interpreter(), 12);
    }

    #[test]
    fn decoding_equals_recomputing() {
        let scene = scene(&Fixture::interpreter(), &DecoderConfig::tiny(), 12);
        every_split(&scene, 12, &[vec![9], vec![4, 5], vec![1; 9]]);
        rewound_and_forked(&scene, 6);
        two_runs_are_identical(&scene, 4);
    }
}

mod on_device {
    use super::*;

    const TOKENS: usize = 64;
    /// After each of the 256 ways to cut the prompt.
    const FEW: usize = 8;

    #[test]
    fn decoding_equals_recomputing_for_every_split() {
        let scene = scene(&Fixture::vulkan(), &DecoderConfig::tiny(), TOKENS);
        every_split(&scene, TOKENS, &splits());
        every_split(&scene, FEW, &all_splits());
    }

    #[test]
    fn rewinding_and_forking_change_nothing() {
        let scene = scene(&Fixture::vulkan(), &DecoderConfig::tiny(), TOKENS);
        rewound_and_forked(&scene, TOKENS);
        two_runs_are_identical(&scene, TOKENS);
    }

    #[test]
    fn an_end_ends_a_submission() {
        super::an_end_ends_a_submission(&Fixture::vulkan(), 12);
    }

    #[test]
    fn caches_may_be_narrower() {
        narrow_caches(&Fixture::vulkan(), 24);
    }

    /// The interpreter and the device choose the same tokens.
    #[test]
    fn the_interpreter_agrees() {
        let (config, tokens) = (DecoderConfig::tiny(), 12);
        let on_device = scene(&Fixture::vulkan(), &config, tokens);
        assert_eq!(on_device.expected, scene(&Fixture::interpreter(), &config, tokens).expected);
    }
}
