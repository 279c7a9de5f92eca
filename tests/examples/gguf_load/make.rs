//! A Llama-shaped file of random weights: valid blocks, no vocabulary, for measuring alone.

use crate::Failure;
use pumice_import::{GgufWriter, ImportError, SeededWeights, WeightSource};
use pumice_types::{DType, Encoding};
use std::fs::File;
use std::thread;

/// Extents of a model.
struct Shape {
    hidden: u64,
    layers: u64,
    heads: u64,
    key_heads: u64,
    width: u64,
    feed: u64,
    vocab: u64,
}

fn shape(name: &str) -> Result<Shape, Failure> {
    let of = |[hidden, layers, heads, key_heads, width, feed, vocab]: [u64; 7]| Shape {
        hidden,
        layers,
        heads,
        key_heads,
        width,
        feed,
        vocab,
    };
    match name {
        "8b" => Ok(of([4096, 32, 32, 8, 128, 14336, 128_256])),
        "1b" => Ok(of([2048, 16, 32, 8, 64, 8192, 128_256])),
        "tiny" => Ok(of([256, 2, 4, 2, 64, 512, 1024])),
        _ => Err("shapes are 8b, 1b, tiny".into()),
    }
}

/// Every tensor with its encoding and extents.
fn tensors(s: &Shape, matrices: Encoding) -> Vec<(String, Encoding, Vec<u64>)> {
    let norm = Encoding::Plain(DType::F32);
    let keys = s.key_heads * s.width;
    let mut all = vec![
        ("token_embd.weight".to_owned(), matrices, vec![s.vocab, s.hidden]),
        ("output_norm.weight".to_owned(), norm, vec![s.hidden]),
        ("output.weight".to_owned(), matrices, vec![s.vocab, s.hidden]),
    ];
    for i in 0..s.layers {
        let mut add = |name: &str, encoding, shape: &[u64]| {
            all.push((format!("blk.{i}.{name}.weight"), encoding, shape.to_vec()));
        };
        add("attn_norm", norm, &[s.hidden]);
        add("attn_q", matrices, &[s.heads * s.width, s.hidden]);
        add("attn_k", matrices, &[keys, s.hidden]);
        add("attn_v", matrices, &[keys, s.hidden]);
        add("attn_output", matrices, &[s.hidden, s.heads * s.width]);
        add("ffn_norm", norm, &[s.hidden]);
        add("ffn_gate", matrices, &[s.feed, s.hidden]);
        add("ffn_up", matrices, &[s.feed, s.hidden]);
        add("ffn_down", matrices, &[s.hidden, s.feed]);
    }
    all
}

/// Writes the file.
pub fn write(name: &str, encoding: &str, path: &str) -> Result<(), Failure> {
    let s = shape(name)?;
    let mut w = GgufWriter::new();
    w.metadata("general.architecture", "llama")?;
    w.metadata("general.name", format!("random {name}").as_str())?;
    let counts = [
        ("block_count", s.layers),
        ("context_length", 8192),
        ("embedding_length", s.hidden),
        ("feed_forward_length", s.feed),
        ("attention.head_count", s.heads),
        ("attention.head_count_kv", s.key_heads),
        ("rope.dimension_count", s.width),
    ];
    for (key, value) in counts {
        w.metadata(&format!("llama.{key}"), value as u32)?;
    }
    w.metadata("llama.attention.layer_norm_rms_epsilon", 1e-5f32)?;
    w.metadata("llama.rope.freq_base", 500_000f32)?;
    let mut seeded = SeededWeights::new(1);
    for (name, encoding, shape) in tensors(&s, encoding.parse()?) {
        seeded.add(&name, encoding, &shape)?;
        w.tensor(&name, encoding, &shape)?;
    }
    let mut out = File::create(path)?;
    w.write(&mut out, |name, at, piece| fill(&seeded, name, at, piece))?;
    Ok(())
}

/// The random bytes of a piece, made on all cores.
fn fill(seeded: &SeededWeights, name: &str, at: u64, piece: &mut [u8]) -> Result<(), ImportError> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let share = piece.len().div_ceil(threads).max(1 << 16);
    thread::scope(|scope| {
        let parts = piece.chunks_mut(share).enumerate();
        let started: Vec<_> = parts
            .map(|(i, part)| scope.spawn(move || seeded.read_at(name, at + (i * share) as u64, part)))
            .collect();
        started.into_iter().try_for_each(|t| t.join().expect("it does not panic"))
    })
}
