//! The tiny decoder on the evaluator: states, splits of the prompt, resident tokens and rewinding give what computing
//! everything anew gives.

use pumice_cpu_ref::array::Array;
use pumice_cpu_ref::graph::{EvalOptions, Evaluation};
use pumice_cpu_ref::session::RefSession;
use pumice_import::Model;
use pumice_models::decoder::{self, DecoderConfig};
use pumice_types::{Bindings, DType, Tensor};
use std::collections::BTreeMap;
use std::sync::Arc;

const PROMPT: [i32; 11] = [7, 250, 3, 99, 0, 31, 64, 200, 128, 5, 17];
const TOKENS: usize = 24;

struct Loaded {
    model: Model,
    params: BTreeMap<String, Arc<Array>>,
}

fn load(model: Model) -> Loaded {
    let array = |n: &str| Arc::new(Array::from_tensor(&model.weights.load(n).expect("made")));
    let params = model.weights.names().into_iter().map(|n| (n.to_owned(), array(n))).collect();
    Loaded { model, params }
}

fn session(loaded: &Loaded) -> RefSession<'_> {
    let params = |name: &str| loaded.params.get(name).cloned();
    RefSession::new(&loaded.model.graph, &params, EvalOptions::default()).expect("every param is there")
}

fn step(session: &mut RefSession<'_>, loaded: &Loaded, ids: &[i32]) -> Evaluation {
    let mut bindings = Bindings::new();
    bindings.bind(loaded.model.graph.symbols().find("t").expect("declared"), ids.len() as u64);
    let ids = Arc::new(Array::from_tensor(&Tensor::new(ids, &[1, ids.len() as u64]).expect("fits")));
    session.run(&|name| (name == "ids").then(|| ids.clone()), &bindings).expect("evaluates")
}

fn output(loaded: &Loaded, evaluation: &Evaluation, name: &str) -> Arc<Array> {
    let i = loaded.model.graph.outputs().iter().position(|o| o.name == name).expect("declared");
    evaluation.outputs[i].clone()
}

fn next(loaded: &Loaded, evaluation: &Evaluation) -> i32 {
    *output(loaded, evaluation, "next").as_ints().last().expect("one id") as i32
}

/// The continuation by recomputing the whole sequence for every token.
fn recomputed(config: &DecoderConfig) -> Vec<i32> {
    let loaded =
        load(decoder::seeded(decoder::recompute_graph("r", config).expect("builds"), 5).expect("fits"));
    let mut ids = PROMPT.to_vec();
    for _ in 0..TOKENS {
        let evaluation = step(&mut session(&loaded), &loaded, &ids);
        ids.push(next(&loaded, &evaluation));
    }
    ids.split_off(PROMPT.len())
}

/// The continuation with states, the prompt given in pieces of these lengths.
fn decoded(loaded: &Loaded, splits: &[usize], resident: bool) -> Vec<i32> {
    let mut s = session(loaded);
    let (mut rest, mut chosen) = (PROMPT.as_slice(), Vec::new());
    for &n in splits {
        let (piece, tail) = rest.split_at(n);
        let evaluation = step(&mut s, loaded, piece);
        (rest, chosen) = (tail, vec![next(loaded, &evaluation)]);
    }
    assert!(rest.is_empty());
    while chosen.len() < TOKENS {
        let id = if resident { -1 } else { *chosen.last().expect("the prompt chose one") };
        let evaluation = step(&mut s, loaded, &[id]);
        assert!(evaluation.status.is_empty());
        chosen.push(next(loaded, &evaluation));
    }
    chosen
}

#[test]
fn decoding_equals_recomputing() {
    let config = DecoderConfig::tiny();
    let expected = recomputed(&config);
    let distinct: std::collections::BTreeSet<_> = expected.iter().collect();
    assert!(distinct.len() > 4, "a continuation that proves something: {expected:?}");
    let loaded =
        load(decoder::seeded(decoder::decoder_graph("d", &config).expect("builds"), 5).expect("fits"));
    for splits in [vec![11], vec![1; 11], vec![4, 7], vec![10, 1], vec![2, 3, 5, 1]] {
        assert_eq!(decoded(&loaded, &splits, false), expected, "{splits:?}");
        assert_eq!(decoded(&loaded, &splits, true), expected, "resident, {splits:?}");
    }
}

#[test]
fn rewinding_forgets_and_history_remembers() {
    let config = DecoderConfig::tiny();
    let loaded =
        load(decoder::seeded(decoder::decoder_graph("d", &config).expect("builds"), 5).expect("fits"));
    let mut s = session(&loaded);
    let first = next(&loaded, &step(&mut s, &loaded, &PROMPT));
    for _ in 0..3 {
        step(&mut s, &loaded, &[-1]);
    }
    let history =
        loaded.model.graph.states().iter().position(|&v| *loaded.model.graph.value(v).name == *"history");
    let history = s.states()[history.expect("declared")].as_ints().to_vec();
    assert_eq!(history[PROMPT.len()], i64::from(first));
    assert_eq!(s.scalars(), [PROMPT.len() as f64 + 3.0]);
    assert!(s.set_scalar("position", PROMPT.len() as f64 - 1.0));
    let again = step(&mut s, &loaded, &PROMPT[PROMPT.len() - 1..]);
    assert_eq!(next(&loaded, &again), first);
    // What a longer past left behind in the caches is not read.
    let fresh = step(&mut session(&loaded), &loaded, &PROMPT);
    assert_eq!(output(&loaded, &again, "next"), output(&loaded, &fresh, "next"));
}

#[test]
fn a_full_cache_is_reported() {
    let config = DecoderConfig { capacity: 12, max_new: 12, ..DecoderConfig::tiny() };
    let loaded =
        load(decoder::seeded(decoder::decoder_graph("d", &config).expect("builds"), 5).expect("fits"));
    let mut s = session(&loaded);
    assert!(step(&mut s, &loaded, &PROMPT).status.is_empty());
    assert!(step(&mut s, &loaded, &[-1]).status.is_empty(), "the twelfth token fits");
    assert!(!step(&mut s, &loaded, &[-1]).status.is_empty(), "the thirteenth does not");
}

#[test]
fn caches_may_be_narrower() {
    for cache in [DType::F16, DType::BF16] {
        let config = DecoderConfig { cache, ..DecoderConfig::tiny() };
        let loaded =
            load(decoder::seeded(decoder::decoder_graph("d", &config).expect("builds"), 5).expect("fits"));
        assert_eq!(decoded(&loaded, &[11], true), decoded(&loaded, &[11], false), "{cache}");
    }
}

/// What is added after the output matrix comes once to every logit, whichever matrix that is, and under their factor.
#[test]
fn a_bias_of_the_output_is_added_to_logits() {
    for (tied, logit_scale) in [(false, 1.0), (true, 1.0), (true, 0.25)] {
        let logits = |output_bias| {
            let config = DecoderConfig { tied, logit_scale, output_bias, ..DecoderConfig::tiny() };
            let graph = decoder::recompute_graph("r", &config).expect("builds");
            let loaded = load(decoder::seeded(graph, 5).expect("fits"));
            let evaluation = step(&mut session(&loaded), &loaded, &PROMPT);
            let logits = output(&loaded, &evaluation, "logits").as_floats().to_vec();
            (logits, loaded.params.get("output.bias").map(|bias| bias.as_floats().to_vec()))
        };
        let ((plain, none), (biased, bias)) = (logits(false), logits(true));
        assert_eq!(none, None);
        let bias = bias.expect("a param");
        assert!(bias.iter().any(|b| b.abs() > 1e-3), "a bias that shows");
        for (row, (with, without)) in biased.chunks(bias.len()).zip(plain.chunks(bias.len())).enumerate() {
            for (id, b) in bias.iter().enumerate() {
                let off = with[id] - without[id] - b * f64::from(logit_scale);
                assert!(off.abs() < 1e-5, "tied {tied}, scale {logit_scale}, token {row}, id {id}: {off}");
            }
        }
    }
}
