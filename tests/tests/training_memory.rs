//! Steps take no memory (G10): bytes of the process and of the device are the same after many as after few. A binary of
//! its own, since the process is measured as a whole.

use pumice::train::{Batch, TrainOptions, Trainer};
use pumice::{Device, DeviceKind, Options, Tensor};
use pumice_plan::Precision;
use pumice_tests::curves::{Golden, Gpt, Mlp, Model, Param};
use pumice_tests::memory::{Alive, grows, resident};
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

/// One measurement at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// A model of `tests/reference/curves.py` that is trained, over batches that come again and again.
struct Trained {
    model: &'static dyn Model,
    precision: Precision,
}

impl Trained {
    fn trainer(&self, golden: &Golden, device: &Device) -> Trainer {
        let options = TrainOptions::default().compile(Options::default().precision(self.precision));
        let trainer = Trainer::new(&self.model.graph(golden), &self.model.recipe(), device, &options);
        let mut trainer = trainer.expect("a trainer");
        for (Param(name, shape, ..), values) in golden.tensors.iter().zip(golden.first_values()) {
            trainer.set(name, Tensor::new(&values, shape).expect("as many").view()).expect("a param");
        }
        trainer
    }

    /// Trains, and compares what is alive after the first steps with what is alive after all.
    fn stays_flat(&self, vulkan: &Arc<VulkanDevice>, steps: usize) {
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let device = Device::from_runtime(vulkan.clone(), DeviceKind::Gpu);
        let golden = Golden::read(self.model.name());
        let mut trainer = self.trainer(&golden, &device);
        let planned = trainer.plan().bytes();
        let batches: Vec<Batch> = (0..16).map(|step| self.model.batch(&golden, step)).collect();
        let mut train = |from: usize, to: usize| {
            for step in from..to {
                assert!(trainer.update(&batches[step % 16..][..1]).expect("a step").made);
            }
            (Alive::on(vulkan), resident())
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
            if (part + 1) % PARTS == 0 && grows(&hosts[hosts.len() - PARTS - 1..], 0) <= MOST_GROWS {
                break;
            }
        }
        println!("{planned} bytes planned, {first:?}; the process from step {WARM} on: {hosts:?}");
        assert!(
            (planned..planned + (256 << 10)).contains(&first.device_bytes),
            "{first:?}, {planned} bytes planned"
        );
        let last = &hosts[hosts.len() - PARTS - 1..];
        let grows = grows(last, 0);
        assert!(grows <= MOST_GROWS, "the process grew in {grows} of the last {PARTS} parts: {hosts:?}");
    }
}

mod on_device {
    use super::*;

    fn stays_flat(model: &'static dyn Model, precision: Precision, steps: usize) {
        Trained { model, precision }.stays_flat(&pumice_tests::device::open(&Default::default()), steps);
    }

    #[test]
    fn two_thousand_steps_take_no_memory() {
        stays_flat(&Mlp, Precision::Exact, 2_000);
    }

    #[test]
    #[ignore = "long: ten thousand steps"]
    fn ten_thousand_steps_take_no_memory() {
        stays_flat(&Mlp, Precision::Exact, 10_000);
    }

    #[test]
    #[ignore = "long: ten thousand steps"]
    fn ten_thousand_steps_of_the_gpt_in_bf16_take_no_memory() {
        stays_flat(&Gpt, Precision::Bf16, 10_000);
    }
}
