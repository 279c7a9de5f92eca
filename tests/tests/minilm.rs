//! Whole encoders (A2): embeddings of 50 sentences against golden vectors, and nothing made or recorded twice.
//!
//! The tiny RoBERTa, XLM-R, DistilBERT and BERT folders are checked in. all-MiniLM-L6-v2 is the folder that
//! `PUMICE_MINILM` names, or the one `cargo xtask demo` downloaded; the tests in modules `with_minilm` fail without it,
//! and `cargo xtask test` leaves them out and says so.

use pumice::Device;
use pumice::embed::{EmbedOptions, Embedder};
use pumice_models::EncoderOptions;
use pumice_tests::files;
use std::path::{Path, PathBuf};

const MIN_COSINE: f64 = 0.99999;
const MAX_DIFFERENCE: f64 = 1e-4;

/// all-MiniLM-L6-v2 with the embeddings of its sentences.
struct Golden {
    folder: PathBuf,
    texts: Vec<String>,
    want: Vec<Vec<f32>>,
}

fn folder() -> PathBuf {
    files::minilm().expect("all-MiniLM-L6-v2 (PUMICE_MINILM, or `cargo xtask demo`)")
}

fn golden_minilm() -> Golden {
    let want = files::golden(&files::data().join("minilm/golden.safetensors"));
    Golden { folder: folder(), texts: files::sentences(), want }
}

/// Smallest cosine and largest difference of rows.
fn compare(got: &[Vec<f32>], want: &[Vec<f32>]) -> (f64, f64) {
    assert_eq!(got.len(), want.len());
    let (mut cosine, mut worst) = (1f64, 0f64);
    for (g, w) in got.iter().zip(want) {
        assert_eq!(g.len(), w.len());
        let pairs = || g.iter().zip(w).map(|(a, b)| (f64::from(*a), f64::from(*b)));
        let sum = |f: &dyn Fn((f64, f64)) -> f64| pairs().map(f).sum::<f64>();
        let (ab, aa, bb) = (sum(&|(a, b)| a * b), sum(&|(a, _)| a * a), sum(&|(_, b)| b * b));
        cosine = cosine.min(ab / (aa * bb).sqrt());
        worst = pairs().map(|(a, b)| (a - b).abs()).fold(worst, f64::max);
    }
    (cosine, worst)
}

fn check(what: &str, got: &[Vec<f32>], want: &[Vec<f32>]) {
    let (cosine, worst) = compare(got, want);
    println!("{what}: smallest cosine {cosine:.9}, largest difference {worst:.2e}");
    assert!(cosine >= MIN_COSINE && worst <= MAX_DIFFERENCE, "{what}: {cosine} {worst}");
}

fn open(folder: &Path, device: &Device, batch: u64) -> Embedder {
    let encoder = EncoderOptions::default().max_batch(batch);
    let options = EmbedOptions::default().encoder(encoder);
    Embedder::open(folder, device, &options, |_, _| {})
        .unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
}

fn embed(embedder: &mut Embedder, texts: &[String]) -> Vec<Vec<f32>> {
    let embeddings = embedder.embed(texts, |_| {}).unwrap_or_else(|e| panic!("{e}"));
    embeddings.rows().map(<[f32]>::to_vec).collect()
}

/// Each checked-in folder, its rows in batches of these sizes in turn.
fn tiny_folders(device: &Device, sizes: &[usize], count: usize) {
    for name in ["bert", "roberta", "xlmr", "distilbert"] {
        let folder = files::data().join("tiny").join(name);
        let mut embedder = open(&folder, device, 32);
        let texts = files::sentences();
        let mut got = Vec::new();
        for &size in sizes.iter().cycle() {
            let end = count.min(got.len() + size);
            got.extend(embed(&mut embedder, &texts[got.len()..end]));
            if end == count {
                break;
            }
        }
        check(name, &got, &files::golden(&folder.join("golden.safetensors"))[..count]);
    }
}

mod on_interpreter {
    use super::*;

    #[test]
    fn tiny_encoders_agree_with_transformers() {
        tiny_folders(&Device::cpu(), &[1, 4, 5], 10);
    }

    mod with_minilm {
        use super::*;

        /// A few sentences: the interpreter takes seconds for each.
        #[test]
        fn minilm_agrees_with_numpy() {
            let Golden { folder, texts, want } = golden_minilm();
            let mut short: Vec<usize> = (0..texts.len()).collect();
            short.sort_by_key(|&i| texts[i].len());
            let pick = |i: &usize| (texts[*i].clone(), want[*i].clone());
            let (texts, want): (Vec<_>, Vec<_>) = short[..3].iter().map(pick).unzip();
            let mut embedder = open(&folder, &Device::cpu(), 4);
            check("minilm on the interpreter", &embed(&mut embedder, &texts), &want);
        }
    }
}

mod on_device {
    use super::*;
    use pumice::DeviceKind;
    use pumice_ir::sample::random;
    use pumice_tests::device;
    use pumice_types::TensorView;
    use pumice_vulkan::{Call, DeviceOptions, VulkanDevice};
    use std::sync::Arc;

    fn device() -> (Device, Arc<VulkanDevice>) {
        let vulkan = device::open(&DeviceOptions::default());
        (Device::from_runtime(vulkan.clone(), DeviceKind::Gpu), vulkan)
    }

    #[test]
    fn tiny_encoders_agree_with_transformers() {
        tiny_folders(&device().0, &[1, 13, 2, 32, 7], 50);
    }

    /// After one run in each specialization no pipeline is made and no list recorded, whatever batch and length.
    fn nothing_is_made_twice(folder: &Path) {
        let (device, vulkan) = device();
        let embedder = open(folder, &device, 32);
        let exe = embedder.executable();
        let symbols = &exe.plan().symbols;
        let max = |name: &str| {
            let id = symbols.find(name).expect("declared");
            symbols.get(id).expect("declared").max
        };
        let (batches, lengths) = (max("batch"), max("seq"));
        let mut session = exe.session().expect("a session");
        let mut run = |batch: u64, seq: u64| {
            let ids = vec![5i32; (batch * seq) as usize];
            let full = vec![seq as i32; batch as usize];
            let inputs =
                [("ids", TensorView::i32(&ids, [batch, seq])), ("lengths", TensorView::i32(&full, [batch]))];
            session.execute(&inputs, &Default::default()).expect("runs");
        };
        for plan in &exe.plan().runs {
            let low = |name: &str| plan.ranges[symbols.find(name).expect("declared").0 as usize].0;
            run(low("batch"), low("seq"));
        }
        let count =
            || [Call::CreateComputePipelines, Call::BeginCommandBuffer].map(|c| vulkan.calls().count(c));
        let before = count();
        let slow = vulkan.snapshot().kind == pumice_vulkan::snapshot::DeviceKind::Cpu;
        // Long sequences in large batches take a CPU driver seconds each; the lengths are what matters here.
        let (area, runs) = if slow { (128, 60) } else { (u64::MAX, 200) };
        for i in 0..runs {
            let batch = 1 + random(1, i) % batches;
            let seq = 1 + random(2, i) % lengths;
            run(batch.min((area / seq).max(1)), seq);
        }
        assert_eq!(count(), before, "pipelines created, lists begun");
    }

    #[test]
    fn nothing_is_made_twice_for_a_tiny_encoder() {
        nothing_is_made_twice(&files::data().join("tiny/bert"));
    }

    mod with_minilm {
        use super::*;

        #[test]
        fn nothing_is_made_twice_for_minilm() {
            nothing_is_made_twice(&folder());
        }

        #[test]
        fn minilm_agrees_with_numpy() {
            let Golden { folder, texts, want } = golden_minilm();
            let mut embedder = open(&folder, &device().0, 32);
            check("minilm, 50 in batches of 32", &embed(&mut embedder, &texts), &want);
            let mut got = Vec::new();
            for size in [1usize, 2, 3, 5, 8, 13, 18] {
                let end = texts.len().min(got.len() + size);
                got.extend(embed(&mut embedder, &texts[got.len()..end]));
            }
            check("minilm, batches of 1 to 18", &got, &want);
        }
    }
}
