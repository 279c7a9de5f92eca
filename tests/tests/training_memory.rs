//! Steps take no memory (G10): bytes of the process and of the device are the same after many as after few. A binary of
//! its own, since the process is measured as a whole.

use pumice::train::{AdamW, Batch, Init, Recipe, Schedule, TrainOptions, Trainer};
use pumice::{Device, DeviceKind, Graph, GraphBuilder, Tensor, f32, i32};
use pumice_vulkan::VulkanDevice;
use std::sync::{Arc, Mutex, PoisonError};

/// Steps after which caches of drivers and allocators are as large as they get.
const WARM: usize = 500;
/// Parts of the other steps after each of which the process is measured. A leak of 8 bytes a step shows as a page in
/// each part of 500 steps; an allocator that takes a page, or a huge one, once does not.
const PARTS: usize = 10;
/// Parts in which the process may be larger than before.
const MOST_GROWS: usize = 3;
/// Stretches of steps that are tried until one is flat: a leak grows in all of them. Lavapipe fetches up to eight
/// blocks of 1 MiB at unforeseen moments of its first 3,000 steps and none in the 7,000 after (22.3, two cores,
/// 2026-11-28).
const STRETCHES: usize = 4;
/// Rows of a batch.
const ROWS: u64 = 32;

/// One measurement at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// What is alive on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Alive {
    device_bytes: u64,
    staging_bytes: u64,
    allocations: u32,
}

fn alive(device: &VulkanDevice) -> Alive {
    let memory = device.memory();
    Alive {
        device_bytes: memory.live_bytes().0,
        staging_bytes: memory.staging_bytes().0,
        allocations: memory.allocations(),
    }
}

/// Bytes of the process that are in memory, where the system says so.
fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().trim_end_matches(" kB").parse::<u64>().ok().map(|kib| kib << 10)
}

/// 64-128-10 with relu.
fn perceptron() -> Graph {
    let g = GraphBuilder::new("perceptron");
    let (x, class) = (g.input("x", f32([ROWS, 64])), g.input("class", i32([ROWS])));
    let layer = |name: &str, x, out: u64, of: u64| {
        let bias = g.param(&format!("{name}.bias"), f32([out]));
        g.linear(x, g.param(&format!("{name}.weight"), f32([out, of])), Some(bias))
    };
    let y = layer("fc2", g.relu(layer("fc1", x, 128, 64)), 10, 128);
    let (loss, weight) = g.softmax_cross_entropy(y, class, None, Default::default());
    g.output("loss", loss);
    g.output("weight", weight);
    g.build().expect("sound")
}

/// Rows of which the class is a tenth of the first number's range.
fn batch(number: u64) -> Batch {
    let value = |i: u64| ((number * 2048 + i) as f32 * 0.618_034).fract();
    let x: Vec<f32> = (0..ROWS * 64).map(value).collect();
    let class: Vec<i32> = x.chunks(64).map(|row| (row[0] * 10.0) as i32).collect();
    let (x, class) = (Tensor::new(&x, &[ROWS, 64]), Tensor::new(&class, &[ROWS]));
    Batch::new().with("x", x.expect("rows of 64")).with("class", class.expect("a class a row"))
}

/// Trains, and compares what is alive after the first steps with what is alive after all.
fn stays_flat(vulkan: &Arc<VulkanDevice>, steps: usize) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let device = Device::from_runtime(vulkan.clone(), DeviceKind::Gpu);
    let recipe = Recipe::new(AdamW::default()).schedule(Schedule::constant(1e-3)).clip_norm(1.0);
    let trainer = Trainer::new(&perceptron(), &recipe, &device, &TrainOptions::default());
    let mut trainer = trainer.expect("a trainer");
    trainer.init(&Init::torch(), 1).expect("rules");
    let planned = trainer.plan().bytes();
    let batches: Vec<Batch> = (0..16).map(batch).collect();
    let mut train = |from: usize, to: usize| {
        for step in from..to {
            assert!(trainer.update(&batches[step % 16..][..1]).expect("a step").made);
        }
        (alive(vulkan), resident())
    };
    let (first, host) = train(0, WARM);
    let mut hosts = vec![host];
    let parts = (0..STRETCHES * PARTS).map(|part| {
        let at = |part: usize| WARM + (steps - WARM) * part / PARTS;
        train(at(part), at(part + 1))
    });
    for (part, (last, host)) in parts.enumerate() {
        assert_eq!(first, last, "the device's memory");
        hosts.push(host);
        if (part + 1) % PARTS == 0 && grows(&hosts[hosts.len() - PARTS - 1..]) <= MOST_GROWS {
            break;
        }
    }
    println!("{planned} bytes planned, {first:?}; the process from step {WARM} on: {hosts:?}");
    assert!(
        (planned..planned + (256 << 10)).contains(&first.device_bytes),
        "{first:?}, {planned} bytes planned"
    );
    let last = &hosts[hosts.len() - PARTS - 1..];
    let grows = grows(last);
    assert!(grows <= MOST_GROWS, "the process grew in {grows} of the last {PARTS} parts: {hosts:?}");
}

/// How often a number is larger than the one before.
fn grows(hosts: &[Option<u64>]) -> usize {
    hosts.windows(2).filter(|pair| pair[1] > pair[0]).count()
}

mod on_device {
    use super::stays_flat;

    #[test]
    fn two_thousand_steps_take_no_memory() {
        stays_flat(&pumice_tests::device::open(&Default::default()), 2_000);
    }

    #[test]
    #[ignore = "long: ten thousand steps"]
    fn ten_thousand_steps_take_no_memory() {
        stays_flat(&pumice_tests::device::open(&Default::default()), 10_000);
    }
}
