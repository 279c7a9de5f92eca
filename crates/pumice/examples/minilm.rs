//! Embeds the golden sentences with a model folder and compares with the golden vectors: `minilm FOLDER [cpu] [unfused]`.
//! Prints plan figures, the worst differences, and times for batch 1 and 32 of 128 tokens.

use pumice::embed::{EmbedOptions, Embedder};
use pumice::{Device, OptOptions};
use std::path::Path;
use std::time::Instant;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let has = |w: &str| args.iter().any(|a| a == w);
    let mut device_options = pumice_vulkan::DeviceOptions::default();
    if has("nocontrols") {
        device_options.kernels = std::sync::Arc::new(Bare);
    }
    let choice = if has("cpu") { Device::cpu() } else { Device::choose(&device_options).device };
    println!("device {}", choice.name());
    let mut options = EmbedOptions::default();
    if has("unfused") {
        options.compile.opt = OptOptions::none();
    }
    if has("static") {
        options.compile.specializations = vec![("batch".into(), vec![1, 31]), ("seq".into(), vec![127, 128])];
    }
    let start = Instant::now();
    let mut embedder =
        Embedder::open(Path::new(&args[0]), &choice, &options, |_, _| {}).expect("the folder opens");
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
    for (batch, seq) in [(1u64, 128u64), (32, 128)] {
        time(embedder.executable(), batch, seq);
    }
}

/// Host time of a replayed run, medians after half a second of load, and the device's time by step.
fn time(exe: &pumice::Executable, batch: u64, seq: u64) {
    let n = (batch * seq) as usize;
    let ids: Vec<i32> = (0..n).map(|i| 1000 + (i * 7919 % 900) as i32).collect();
    let lengths = vec![seq as i32; batch as usize];
    let mut session = exe.session().expect("a session");
    let inputs = [
        ("ids", pumice::TensorView::i32(&ids, [batch, seq])),
        ("lengths", pumice::TensorView::i32(&lengths, [batch])),
    ];
    let options = pumice::RunOptions::default();
    let warm = Instant::now();
    while warm.elapsed().as_secs_f64() < 0.5 {
        session.execute(&inputs, &options).expect("runs");
    }
    let mut times: Vec<f64> = (0..51)
        .map(|_| {
            let start = Instant::now();
            session.execute(&inputs, &options).expect("runs");
            start.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    times.sort_by(f64::total_cmp);
    println!("batch {batch} x {seq}: host median {:.1} us, min {:.1}", times[25], times[0]);
    let profile = session.profile(&inputs, &options).expect("profiles");
    println!("{profile}");
}

/// Kernels without float controls, to see what those cost.
struct Bare;

impl pumice_vulkan::KernelSource for Bare {
    fn spirv(
        &self,
        call: &pumice_plan::KernelCall,
        form: pumice_vulkan::Addressing,
        _: pumice_vulkan::codegen::FloatControls,
    ) -> Result<Vec<u32>, String> {
        pumice_vulkan::CheckedInKernels.spirv(call, form, Default::default())
    }

    fn identity(&self) -> [u8; 32] {
        [1; 32]
    }
}
