//! The device plan on snapshots of real devices, each turned from its `vulkaninfo` output.

use super::*;
use crate::snapshot::{DeviceLimits, QueueFamily};

fn snapshot(text: &str) -> Snapshot {
    serde_json::from_str(text).expect("the checked-in snapshots are valid")
}

fn h200() -> Snapshot {
    snapshot(include_str!("../../tests/snapshots/h200.json"))
}

fn lavapipe_22() -> Snapshot {
    snapshot(include_str!("../../tests/snapshots/lavapipe-22.3.json"))
}

fn lavapipe_25() -> Snapshot {
    snapshot(include_str!("../../tests/snapshots/lavapipe-25.0.json"))
}

#[test]
fn h200_is_planned_as_its_profile_says() {
    let plan = DevicePlan::new(&h200()).unwrap();
    assert_eq!(plan.queue_family, 2, "the family that only computes");
    assert!(plan.timestamps && plan.memory_budget);
    assert_eq!(
        plan.memory_types(RegionKind::Weights),
        [1, 4],
        "device memory, unseen by the host if possible"
    );
    assert_eq!(plan.memory_types(RegionKind::IoIn)[0], 4, "device memory through the window");
    assert_eq!(plan.memory_types(RegionKind::Frame)[0], 4);
    assert_eq!(plan.memory_types(RegionKind::IoOut)[0], 3, "cached host memory");
    assert_eq!(plan.staging[0], 3);
    // Plans for `--target h200` are the plans this device gets; only the size of its memory is stated more exactly.
    let profile = Target::h200();
    let limits = Limits { memory: profile.limits.memory, ..plan.target.limits.clone() };
    assert_eq!(Target { limits, ..plan.target.clone() }, profile);
    assert!(plan.target.limits.memory >= profile.limits.memory);
}

#[test]
fn both_lavapipes_are_planned_as_the_profile_says() {
    for s in [lavapipe_22(), lavapipe_25()] {
        let plan = DevicePlan::new(&s).unwrap();
        assert_eq!(plan.queue_family, 0);
        for kind in RegionKind::ALL {
            assert_eq!(plan.memory_types(kind), [0]);
        }
        assert_eq!(plan.target.name, "lavapipe");
        assert_eq!(plan.target.tuning, Target::lavapipe().tuning);
        assert!(plan.target.features.cpu);
    }
    // 22.3 is the floor itself.
    assert_eq!(DevicePlan::new(&lavapipe_22()).unwrap().target, Target::lavapipe());
}

#[test]
fn every_reason_is_given_at_once() {
    let mut s = lavapipe_22();
    s.abilities.buffer_device_address = false;
    s.abilities.timeline_semaphore = false;
    s.limits.max_push_constants = 64;
    s.queue_families = vec![QueueFamily { count: 1, graphics: true, compute: false, timestamp_bits: 0 }];
    s.memory_types[0].host_visible = false;
    let refusals = DevicePlan::new(&s).unwrap_err();
    for expected in [
        Refusal::BufferDeviceAddress,
        Refusal::TimelineSemaphore,
        Refusal::PushConstants(64),
        Refusal::ComputeQueue,
        Refusal::Memory(RegionKind::IoIn),
        Refusal::Memory(RegionKind::IoOut),
    ] {
        assert!(refusals.contains(&expected), "{expected} is missing in {refusals:?}");
    }
}

#[test]
fn an_old_device_is_refused_for_its_version_alone() {
    let s = Snapshot { api: Version(1, 1, 200), ..lavapipe_22() };
    assert_eq!(DevicePlan::new(&s).unwrap_err(), [Refusal::Api(Version(1, 1, 200))]);
}

#[test]
fn without_a_window_inputs_lie_in_host_memory() {
    let mut s = h200();
    s.memory_types.truncate(4);
    let plan = DevicePlan::new(&s).unwrap();
    assert_eq!(plan.memory_types(RegionKind::IoIn), [2, 3]);
    assert_eq!(plan.memory_types(RegionKind::Scratch), [1]);
}

#[test]
fn workgroups_along_x_and_buffers_are_bounds_too() {
    let mut s = lavapipe_22();
    s.limits.max_workgroup_size = [512, 1024, 64];
    s.limits.max_buffer = Some(1 << 30);
    let limits = DevicePlan::new(&s).unwrap().target.limits;
    assert_eq!((limits.max_workgroup_invocations, limits.max_allocation), (512, Bytes(1 << 30)));
    s.limits.max_workgroup_size = [128, 1024, 64];
    assert_eq!(DevicePlan::new(&s).unwrap_err(), [Refusal::WorkgroupSize(128)]);
    let s = Snapshot { limits: DeviceLimits { max_buffer: None, ..h200().limits }, ..h200() };
    assert_eq!(DevicePlan::new(&s).unwrap().target.limits.max_allocation, Bytes(s.limits.max_allocation));
}

#[test]
fn timestamps_have_the_bits_that_the_queue_says() {
    for (bits, mask) in [(0, 0), (1, 1), (36, (1 << 36) - 1), (63, u64::MAX >> 1), (64, u64::MAX)] {
        let mut s = lavapipe_22();
        s.queue_families[0].timestamp_bits = bits;
        let plan = DevicePlan::new(&s).unwrap();
        assert_eq!((plan.timestamps, plan.timestamp_mask), (bits > 0, mask), "{bits} bits");
    }
}

#[test]
fn an_unknown_gpu_keeps_its_name() {
    let s = Snapshot { name: "Some GPU".into(), ..h200() };
    assert_eq!(DevicePlan::new(&s).unwrap().target.name, "Some GPU");
}
