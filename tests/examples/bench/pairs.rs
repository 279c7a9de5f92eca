//! A step of MiniLM over pairs of texts (G13): both texts of all pairs are rows of one batch, in-batch negatives say
//! the loss, AdamW updates.

use crate::row::{Bar, Outcome};
use crate::training::Training;
use pumice::train::{AdamW, Recipe, Schedule};
use pumice::{Graph, GraphBuilder, i32};
use pumice_ir::ops::in_batch_negatives::InBatchNegatives;
use pumice_models::{
    Activation, EncoderConfig, EncoderOptions, Family, Pooling, SentenceSpec, encoder_graph,
};
use pumice_types::DType;

/// A sentence encoder and its batch.
#[derive(Clone, Copy)]
pub struct Pairs {
    pub layers: u64,
    pub width: u64,
    pub heads: u64,
    pub vocab: u64,
    pub positions: u64,
    /// Tokens of every text.
    pub tokens: u64,
    pub pairs: u64,
}

impl Pairs {
    /// all-MiniLM-L6-v2.
    pub const MINILM: Pairs =
        Pairs { layers: 6, width: 384, heads: 12, vocab: 30_522, positions: 512, tokens: 128, pairs: 32 };

    pub fn training(&self) -> Outcome<Training> {
        let (vocab, tokens) = (self.vocab as f32, self.tokens as f32);
        let adam = AdamW { weight_decay: 0.01, ..AdamW::default() };
        Ok(Training {
            graph: self.graph()?,
            recipe: Recipe::new(adam).schedule(Schedule::constant(2e-4)),
            integers: Box::new(
                move |name| if name == "lengths" { (tokens, tokens) } else { (0.0, vocab - 1.0) },
            ),
            values: Box::new(first_values),
            bar: Bar::Ratio(0.9),
        })
    }

    fn encoder(&self) -> Outcome<Graph> {
        let config = EncoderConfig {
            family: Family::Bert,
            model_type: "bert".to_owned(),
            vocab: self.vocab,
            hidden: self.width,
            layers: self.layers,
            heads: self.heads,
            intermediate: 4 * self.width,
            positions: self.positions,
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
            max_tokens: self.tokens,
            limit_chosen: false,
            lowercase: false,
            prompt: String::new(),
        };
        let options = EncoderOptions::default().max_batch(2 * self.pairs);
        Ok(encoder_graph("minilm", &config, &spec, &options, &|_| DType::F32)?)
    }

    fn graph(&self) -> Outcome<Graph> {
        let g = GraphBuilder::new("pairs");
        let rows = 2 * self.pairs;
        let (ids, lengths) = (g.input("ids", i32([rows, self.tokens])), g.input("lengths", i32([rows])));
        let texts = g.call(&self.encoder()?, &[ids, lengths])[0];
        let sides = g.split(texts, 0, &[self.pairs as i64; 2]);
        let (loss, weight) = g.in_batch_negatives(sides[0], sides[1], InBatchNegatives::default());
        g.output("loss", loss);
        g.output("weight", weight);
        Ok(g.build()?)
    }
}

/// Weights near 0, those of norms 1, biases 0.
fn first_values(name: &str) -> (f32, f32) {
    match name {
        _ if name.ends_with("LayerNorm.weight") => (1.0, 1.0),
        _ if name.ends_with("weight") => (-0.04, 0.04),
        _ => (0.0, 0.0),
    }
}
