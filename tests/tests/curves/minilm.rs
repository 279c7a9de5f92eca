//! A narrow all-MiniLM-L6-v2 by `pumice-models`, called for both texts of each pair; its batches are made as
//! `tests/reference/curves.py` makes them.

use pumice::ops::in_batch_negatives::InBatchNegatives;
use pumice::train::{AdamW, Batch, Recipe, Schedule};
use pumice::{Graph, GraphBuilder, Pooling, Tensor, Value, i32};
use pumice_models::{Activation, EncoderConfig, EncoderOptions, Family, SentenceSpec, encoder_graph};
use pumice_tests::curves::{Golden, Model, Params};
use pumice_types::DType;

/// Tokens of a row, and the fewest that are there.
const TOKENS: usize = 16;
const SHORTEST: usize = 4;
const VOCAB: u64 = 256;
/// A topic has so many words.
const OF_A_TOPIC: u32 = 8;
const TOPICS: u32 = 16;

/// Six layers of twelve heads, width 96, mean pooling, length 1; in-batch negatives; AdamW with warm-up and clipping.
pub struct MiniLm;

fn encoder() -> Graph {
    let config = EncoderConfig {
        family: Family::Bert,
        model_type: "bert".to_owned(),
        vocab: VOCAB,
        hidden: 96,
        layers: 6,
        heads: 12,
        intermediate: 384,
        positions: 32,
        first_position: 0,
        token_types: 2,
        norm_eps: 1e-12,
        activation: Activation::Gelu,
        pad_id: 0,
        stored: DType::F32,
    };
    let spec = SentenceSpec {
        pooling: Pooling::Mean,
        normalize: true,
        max_tokens: config.positions,
        limit_chosen: false,
        lowercase: false,
        prompt: String::new(),
    };
    let options = EncoderOptions::default();
    encoder_graph("minilm", &config, &spec, &options, &|_| DType::F32).expect("an encoder")
}

/// Inputs of the texts of a side.
fn names(side: &str) -> [String; 2] {
    ["ids", "lengths"].map(|what| format!("{side}.{what}"))
}

const SIDES: [&str; 2] = ["first", "second"];

impl Model for MiniLm {
    fn name(&self) -> &'static str {
        "minilm"
    }

    fn steps(&self) -> usize {
        60
    }

    /// The encoder's params are those that are there already.
    fn loss(&self, g: &GraphBuilder, golden: &Golden, _: &Params<'_>) -> Value {
        let (encoder, rows) = (encoder(), golden.rows as u64);
        let [first, second] = SIDES.map(|side| {
            let [ids, lengths] = names(side);
            g.call(&encoder, &[g.input(&ids, i32([rows, TOKENS as u64])), g.input(&lengths, i32([rows]))])[0]
        });
        g.in_batch_negatives(first, second, InBatchNegatives::default()).0
    }

    fn batch(&self, golden: &Golden, step: u32) -> Batch {
        let words = golden.words(step, 2 * golden.rows * (TOKENS + 1) + 1);
        let (texts, first_topic) = words.split_at(words.len() - 1);
        let topics = (0..golden.rows as u32).map(|i| (first_topic[0] % TOPICS + i) % TOPICS).cycle();
        let rows: Vec<(Vec<i32>, i32)> =
            texts.chunks(TOKENS + 1).zip(topics).map(|(words, topic)| text(words, topic)).collect();
        let mut batch = Batch::new();
        for (side, texts) in SIDES.iter().zip(rows.chunks(golden.rows)) {
            let ids: Vec<i32> = texts.iter().flat_map(|text| &text.0).copied().collect();
            let lengths: Vec<i32> = texts.iter().map(|text| text.1).collect();
            let rows = golden.rows as u64;
            let tensors = [(ids, &[rows, TOKENS as u64][..]), (lengths, &[rows])];
            for (name, (numbers, shape)) in names(side).into_iter().zip(tensors) {
                batch = batch.with(name, Tensor::new(&numbers, shape).expect("as many"));
            }
        }
        batch
    }

    fn recipe(&self) -> Recipe {
        let rate = |n: u64| 3e-4 * ((n + 1) as f64 / 10.0).min(1.0);
        let adam = AdamW { weight_decay: 0.01, ..AdamW::default() };
        Recipe::new(adam).schedule(Schedule::by(rate)).clip_norm(1.0)
    }
}

/// Tokens of a row, 0 after its length, and the length.
fn text(words: &[u32], topic: u32) -> (Vec<i32>, i32) {
    let length = SHORTEST + words[0] as usize % (TOKENS - SHORTEST + 1);
    let token = |(i, word): (usize, &u32)| match word {
        _ if i >= length => 0,
        word if word % 4 > 0 => (topic * OF_A_TOPIC + (word >> 2) % OF_A_TOPIC) as i32,
        word => ((word >> 2) % VOCAB as u32) as i32,
    };
    (words[1..].iter().enumerate().map(token).collect(), length as i32)
}
