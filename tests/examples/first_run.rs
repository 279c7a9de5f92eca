//! What the first run of a model costs on a driver that compiles kernels at their first dispatch: a line per kernel,
//! the longest first, and the first and the second run. `first_run [vit] [by_hand] [linear] [heat] [minilm]`.
//!
//! The driver's own cache hides it; start it with `MESA_SHADER_CACHE_DISABLE=true`.

use pumice_compile::Options;
use pumice_cpu_ref::sample;
use pumice_ir::{Fill, Graph, Sample};
use pumice_models::offline::OfflineEncoder;
use pumice_models::{EncoderOptions, specialize};
use pumice_runtime::RunOptions;
use pumice_tests::Fixture;
use pumice_tests::graphs::heat::heat;
use pumice_tests::graphs::vit::{Heads, linear_residual, vit};
use pumice_vulkan::{DeviceOptions, KernelObserver, KernelProgress};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A sentence of twelve tokens for the encoder; for the others everything is what the graph says.
fn data(graph: Graph) -> Sample {
    let base = Sample::graph("first run", |_| ());
    let base = Sample { graph: Ok(graph), ..base };
    base.bind("batch", 1)
        .bind("seq", 12)
        .fill("ids", Fill::Range(5, 90))
        .fill("lengths", Fill::Constant(12.0))
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    type Make = fn() -> Graph;
    let graphs: [(&str, Make); 5] = [
        ("vit", || vit(Heads::Attention)),
        ("by_hand", || vit(Heads::ByHand)),
        ("linear", linear_residual),
        ("heat", || heat(512)),
        ("minilm", || OfflineEncoder::new(1, &EncoderOptions::default()).expect("sound").model.graph),
    ];
    for (name, graph) in graphs {
        if wanted.is_empty() || wanted.iter().any(|w| w == name) {
            first_run(name, graph());
        }
    }
}

/// Runs after the first.
const RUNS: u32 = 30;

/// User and system time of this process, its driver's threads among them; 0 where the system does not tell.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = text.rsplit(')').next().unwrap_or("").split_whitespace();
    let ticks: f64 = fields.skip(11).take(2).filter_map(|f| f.parse::<f64>().ok()).sum();
    ticks / 100.0
}

type Events = Vec<(Duration, usize, String)>;

fn first_run(name: &str, graph: Graph) {
    let heard: Arc<Mutex<Events>> = Arc::default();
    let log = heard.clone();
    let observer = move |p: &KernelProgress| {
        eprintln!("{p} {:.2} s, {:.2} s of CPU", p.elapsed.as_secs_f64(), cpu_seconds());
        log.lock().expect("not poisoned").push((p.elapsed, p.done, p.kernel.clone()));
    };
    let observer: KernelObserver = Arc::new(observer);
    let fixture = Fixture::vulkan_with(&DeviceOptions::default().observer(observer));
    let cuts = if name == "minilm" { specialize::encoder() } else { Vec::new() };
    let plan = fixture.plan(&graph, &Options::default().specializations(cuts));
    let exe = fixture.load(plan);
    let sample = data(graph.clone());
    let bindings = sample::bindings(&sample, &graph);
    let mut session = sample::session(&exe, &sample, &graph, &bindings).expect("filled");
    let (begin, cpu) = (Instant::now(), cpu_seconds());
    sample::execute(&mut session, &sample, &graph, &bindings, 0).expect("ran");
    println!("{name}: first run {:.2} s, {:.2} s of CPU", begin.elapsed().as_secs_f64(), cpu_seconds() - cpu);
    let cpu = cpu_seconds();
    let mut least = f64::INFINITY;
    for _ in 0..RUNS {
        let begin = Instant::now();
        sample::execute(&mut session, &sample, &graph, &bindings, 0).expect("ran");
        least = least.min(begin.elapsed().as_secs_f64());
    }
    let cpu = (cpu_seconds() - cpu) / f64::from(RUNS);
    println!("  then at least {:.2} ms, {:.2} ms of CPU a run", 1e3 * least, 1e3 * cpu);
    report(&heard.lock().expect("not poisoned"));
    if graph.inputs().is_empty() {
        let profile = session.profile(&[], &RunOptions::default()).expect("timestamps");
        profile.steps.iter().for_each(|s| println!("{:9.1} us {} {}", s.us, s.label, s.origin));
    }
}

fn report(heard: &Events) {
    let mut times: Vec<(f64, &str)> = heard
        .windows(2)
        .filter(|w| w[1].1 == w[0].1 + 1)
        .map(|w| ((w[1].0 - w[0].0).as_secs_f64() * 1e3, w[0].2.as_str()))
        .collect();
    times.sort_by(|a, b| b.0.total_cmp(&a.0));
    times.iter().for_each(|(ms, kernel)| println!("  {ms:9.1} ms {kernel}"));
}
