//! Plans made by hand, replayed on lavapipe: order, repeats, host steps, states, frame, profile, weights.

mod common;

use common::*;
use pumice_plan::{CheckedPlan, Grid, MeaningGraph, RegionKind};
use pumice_runtime::device::{Device, DeviceError};
use pumice_types::Bytes;
use pumice_vulkan::{Addressing, Call, DeviceOptions, Poison};
use std::sync::Arc;

const Y: RegionKind = RegionKind::IoOut;

fn forms() -> [DeviceOptions; 3] {
    let poisoned = Some(Poison(0x7fc0_dead));
    [
        DeviceOptions::default(),
        DeviceOptions::default().addressing(Addressing::Descriptor),
        DeviceOptions::default().poison(poisoned),
    ]
}

#[test]
fn runs_compute_and_states_persist() {
    for options in forms() {
        let device = open(&options);
        let loaded = load(&device).unwrap();
        let mut s = session(&loaded, 0, 5).unwrap();
        for times in 1..4 {
            s.run(0, &bindings(5), 1).unwrap();
            assert_eq!(
                read_floats(s.as_mut(), span(Y, 0)).unwrap(),
                expected_y(times),
                "{:?}",
                options.addressing
            );
        }
    }
}

#[test]
fn repeats_are_replays_after_each_other() {
    for options in forms() {
        let device = open(&options);
        let loaded = load(&device).unwrap();
        let mut s = session(&loaded, 0, 5).unwrap();
        s.run(0, &bindings(5), 7).unwrap();
        assert_eq!(read_floats(s.as_mut(), span(Y, 0)).unwrap(), expected_y(7));
        // p advanced on the device: word 4 of the frame (n, three words of the grid, p), unless words were shared.
        let word = plan().runs[0].frame.advance[0].dst.0;
        let at = pumice_plan::Span::new(RegionKind::Frame, Bytes(4 * u64::from(word)), Bytes(4));
        let mut p = [0u8; 4];
        s.read(at, &mut p).unwrap();
        assert_eq!(i32::from_le_bytes(p), 12);
    }
}

#[test]
fn host_steps_run_between_segments_and_see_advanced_scalars() {
    for options in forms() {
        let device = open(&options);
        let loaded = load(&device).unwrap();
        let mut s = session(&loaded, 1, 5).unwrap();
        s.run(1, &bindings(5), 1).unwrap();
        assert_eq!(read_floats(s.as_mut(), span(Y, 0)).unwrap(), vec![5.0; N]);
        s.run(1, &bindings(5), 3).unwrap();
        assert_eq!(read_floats(s.as_mut(), span(Y, 0)).unwrap(), vec![7.0; N]);
    }
}

#[test]
fn a_fork_takes_the_states_along() {
    let device = open(&DeviceOptions::default());
    let loaded = load(&device).unwrap();
    let mut a = session(&loaded, 0, 0).unwrap();
    a.run(0, &bindings(0), 2).unwrap();
    let mut b = a.fork(&[span(RegionKind::States, 0)]).unwrap();
    b.write(span(RegionKind::IoIn, 0), &bytes(&x_values())).unwrap();
    write_frame(b.as_mut(), 0, 0).unwrap();
    b.run(0, &bindings(0), 1).unwrap();
    assert_eq!(read_floats(b.as_mut(), span(Y, 0)).unwrap(), expected_y(3));
    a.run(0, &bindings(0), 1).unwrap();
    assert_eq!(read_floats(a.as_mut(), span(Y, 0)).unwrap(), expected_y(3));
}

#[test]
fn nothing_is_made_or_recorded_twice() {
    let device = open(&DeviceOptions::default());
    let loaded = load(&device).unwrap();
    loaded.prepare(&[0, 1]).unwrap();
    let mut s = session(&loaded, 0, 0).unwrap();
    s.run(0, &bindings(0), 1).unwrap();
    s.run(1, &bindings(0), 1).unwrap();
    let count = || [Call::CreateComputePipelines, Call::BeginCommandBuffer].map(|c| device.calls().count(c));
    let before = count();
    assert!(before[0] > 0 && before[1] > 0);
    for i in 0..20 {
        s.run(i % 2, &bindings(0), 1 + i as u32).unwrap();
    }
    assert_eq!(count(), before);
    // A second session records its own addresses but makes no pipeline.
    let mut t = session(&loaded, 0, 0).unwrap();
    t.run(0, &bindings(0), 1).unwrap();
    assert_eq!(count()[0], before[0]);
    assert!(count()[1] > before[1]);
}

#[test]
fn every_step_gets_a_time() {
    let device = open(&DeviceOptions::default());
    let loaded = load(&device).unwrap();
    let mut s = session(&loaded, 0, 0).unwrap();
    for (run, steps) in [(0, 5), (1, 3)] {
        let times = s.run_profiled(run, &bindings(0)).unwrap();
        assert_eq!(times.len(), steps);
        assert!(times.iter().all(|t| t.us.is_finite() && t.us >= 0.0), "{times:?}");
        let ids: Vec<u32> = times.iter().map(|t| t.step.0).collect();
        assert_eq!(ids, (0..steps as u32).collect::<Vec<_>>());
    }
    assert_eq!(read_floats(s.as_mut(), span(Y, 0)).unwrap(), vec![0.0; N], "run 1 computed as well");
}

#[test]
fn weights_are_shared_and_read_back() {
    let device = open(&DeviceOptions::default());
    let loaded = load(&device).unwrap();
    let mut bytes = vec![0u8; 4 * N];
    loaded.read_weights(span(RegionKind::Weights, 1), &mut bytes).unwrap();
    assert_eq!(floats(&bytes), w_values().iter().map(|w| 3.0 * w).collect::<Vec<_>>());
}

#[test]
fn two_sessions_in_two_threads() {
    let device = open(&DeviceOptions::default());
    let loaded = load(&device).unwrap();
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let loaded = loaded.clone();
            std::thread::spawn(move || {
                let mut s = session(&loaded, 0, 0).unwrap();
                for times in 1..30 {
                    s.run(0, &bindings(0), 1).unwrap();
                    assert_eq!(read_floats(s.as_mut(), span(Y, 0)).unwrap(), expected_y(times));
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|t| t.join().unwrap());
}

#[test]
fn what_does_not_fit_is_said_before_it_is_taken() {
    let device = open(&DeviceOptions::default());
    let mut huge = plan();
    huge.regions[0].chunks = vec![Bytes(1 << 30); 4096];
    let before = device.calls().count(Call::AllocateMemory);
    let error = device.load(CheckedPlan::unsound(huge), Arc::new(Host)).err().unwrap();
    match &error {
        DeviceError::OutOfMemory { what, needed, available, remedy } => {
            assert!(what.contains("weights") && needed > available && !remedy.is_empty());
        }
        other => panic!("{other}"),
    }
    assert_eq!(device.calls().count(Call::AllocateMemory), before, "nothing was taken");
}

#[test]
fn wrong_spans_runs_and_host_ops_are_errors() {
    let device = open(&DeviceOptions::default());
    let loaded = load(&device).unwrap();
    let mut s = session(&loaded, 0, 0).unwrap();
    let outside = pumice_plan::Span { offset: Bytes(512), ..span(Y, 0) };
    assert!(matches!(s.read(outside, &mut [0u8; 240]), Err(DeviceError::Span(_))));
    assert!(matches!(s.write(span(Y, 0), &[0u8; 4]), Err(DeviceError::Span(_))));
    assert!(matches!(s.run(2, &bindings(0), 1), Err(DeviceError::Unsupported(_))));
    let mut unknown = plan();
    unknown.runs[1].program.steps[1].meaning.graph = MeaningGraph::new("unknown", &["x"]).into();
    let error = device.load(CheckedPlan::unsound(unknown), Arc::new(Host)).err().unwrap();
    assert!(matches!(&error, DeviceError::Host { origin, .. } if origin == "b"), "{error}");
}

#[test]
fn a_kernel_that_writes_past_its_region_is_caught() {
    let device = open(&DeviceOptions::default().poison(Some(Poison(0x7fc0_dead))));
    let mut defective = plan();
    // 200 floats from the second slot of 512 bytes on; ones, because sums with the poison would be the poison.
    let (x, a) = (span(RegionKind::IoIn, 0), span(Y, 1));
    defective.runs[1].program.steps[0] =
        flat("a", &[x], a, 200.into(), Grid::Static([1, 1, 1]), |b, _| b.f32(1.0));
    let loaded = device.load(CheckedPlan::unsound(defective), Arc::new(Host)).unwrap();
    let mut s = session(&loaded, 1, 0).unwrap();
    let error = s.run(1, &bindings(0), 1).unwrap_err().to_string();
    assert!(error.contains("after chunk 0 of region io_out"), "{error}");
}
