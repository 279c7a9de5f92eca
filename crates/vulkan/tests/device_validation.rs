//! The validation layer, synchronization validation included, over the descriptor form.
//!
//! A clean verdict counts only where the layer has shown that it sees hazards: the positive control drops one barrier
//! of the plan, and the layer must report exactly that.

mod common;

use common::*;
use pumice_plan::{CheckedPlan, Plan, RegionKind, StepId};
use pumice_runtime::device::Device;
use pumice_vulkan::{Addressing, DeviceOptions, Message, Validation};
use std::sync::Arc;

fn options() -> DeviceOptions {
    DeviceOptions::default().validation(Validation::Synchronization).addressing(Addressing::Descriptor)
}

/// Everything the layer says while a plan is loaded, run and dropped, the device with it.
fn messages_of(plan: Plan, options: &DeviceOptions) -> Vec<Message> {
    let device = open(options);
    let log = device.messages().clone();
    let loaded = device.load(CheckedPlan::unsound(plan), Arc::new(Host)).unwrap();
    loaded.write_weights(span(RegionKind::Weights, 0), &bytes(&w_values())).unwrap();
    loaded.run_load(&[StepId(0)]).unwrap();
    let mut s = session(&loaded, 0, 0).unwrap();
    s.run(0, &bindings(0), 2).unwrap();
    s.run_profiled(0, &bindings(0)).unwrap();
    let mut forked = s.fork(&[span(RegionKind::States, 0)]).unwrap();
    write_frame(forked.as_mut(), 1, 0).unwrap();
    s.run(1, &bindings(0), 2).unwrap();
    drop((s, forked, loaded, device));
    log.take()
}

mod with_validation {
    use super::*;

    #[test]
    fn every_missing_barrier_is_reported_and_nothing_else() {
        // Before levels 1 and 2: read after write. Before level 3: the advance writes the frame that level 2 reads.
        for (level, kind) in [(1, "READ_AFTER_WRITE"), (2, "READ_AFTER_WRITE"), (3, "WRITE_AFTER_READ")] {
            let mut broken = plan();
            assert!(broken.runs[0].program.levels[level].barrier.take().is_some());
            let messages = messages_of(broken, &options());
            let kind = kind.replace('_', "-");
            assert!(
                messages.iter().any(|m| m.is_hazard() && m.id.contains(&kind)),
                "level {level}: {messages:#?}"
            );
            assert!(messages.iter().all(Message::is_hazard), "level {level}: {messages:#?}");
        }
    }

    #[test]
    fn the_descriptor_form_is_clean() {
        assert_eq!(messages_of(plan(), &options()), []);
    }

    #[test]
    fn the_address_form_is_clean() {
        let options = options().addressing(Addressing::Address);
        assert_eq!(messages_of(plan(), &options), []);
    }
}
