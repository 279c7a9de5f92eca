//! Embeds the golden sentences with a model folder and compares with the golden vectors: `minilm FOLDER [cpu] [unfused]`.
//! Prints plan figures, the worst differences, and times for batch 1 and 32 of 128 tokens.

use pumice::embed::{EmbedOptions, Embedder};
use pumice::{Device, OptOptions};
use std::path::Path;
use std::time::Instant;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let has = |w: &str| args.iter().any(|a| a == w);
    let choice = if has("cpu") { Device::cpu() } else { Device::best() };
    println!("device {}", choice.name());
    let mut options = EmbedOptions::default();
    if has("unfused") {
        options.compile.opt = OptOptions::none();
    }
    let start = Instant::now();
    let mut embedder = Embedder::open(Path::new(&args[0]), &choice, &options, |_, _| {}).expect("the folder opens");
    println!("open {:.3} s", start.elapsed().as_secs_f64());
    for run in &embedder.executable().plan().runs {
        println!("run {:?}: {:?}", run.ranges, run.stats);
    }
    let data = Path::new("tests/data/minilm");
    let text = std::fs::read_to_string(data.join("sentences.txt")).expect("sentences");
    let sentences: Vec<&str> = text.lines().collect();
    let golden = std::fs::read(data.join("golden.safetensors")).expect("golden");
    let header = 8 + u64::from_le_bytes(golden[..8].try_into().expect("eight bytes")) as usize;
    let golden: Vec<f32> =
        golden[header..].chunks_exact(4).map(|c| f32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect();
    let start = Instant::now();
    let got = embedder.embed(&sentences, |_| {}).expect("embeds");
    println!("{} sentences {:.3} s", sentences.len(), start.elapsed().as_secs_f64());
    let (mut worst, mut cosine) = (0f32, 1f64);
    for (a, b) in got.rows().zip(golden.chunks_exact(got.width)) {
        let dot: f64 = a.iter().zip(b).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum();
        let norm = |v: &[f32]| v.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
        cosine = cosine.min(dot / (norm(a) * norm(b)));
        worst = a.iter().zip(b).map(|(x, y)| (x - y).abs()).fold(worst, f32::max);
    }
    println!("max abs difference {worst:e}, smallest cosine {cosine}");
}
