//! Values by name, the search for NaN and infinity, profiles, and the memory summary.

use crate::fake::executable;
use crate::sketch::{Sketch, n};
use pumice_plan::{Placement, Plan, RegionKind, StepId};
use pumice_runtime::{RunOptions, RuntimeError};
use pumice_types::{DType, TensorView};

fn chain(placement: Placement) -> Plan {
    let mut k = Sketch::new();
    let s = k.symbol("s", 1, 4, 1);
    let x = k.input("x", DType::F32, &[s.into(), n(2)]);
    let a = k.scratch("a", DType::F32, &[s.into(), n(2)]);
    let h = k.scratch("h", DType::F16, &[s.into(), n(2)]);
    let y = k.output("y", DType::F32, &[s.into(), n(2)]);
    k.run(&[(1, 4)]);
    k.step("scale 1e30", &[&x], &[&a]);
    k.step("scale 1e30", &[&a], &[&y]);
    k.plan.placement = placement;
    let _ = h;
    k.finish()
}

#[test]
fn the_first_non_finite_value_is_found_by_name() {
    let (exe, _) = executable(chain(Placement::Bump));
    let mut s = exe.session().expect("a session");
    assert!(matches!(s.find_non_finite(), Err(RuntimeError::NoResults)));
    s.run(&[("x", TensorView::f32(&[0.0, 1.0], [1, 2]))]).expect("a run");
    let found = s.find_non_finite().expect("Bump").expect("1e60 is infinite");
    assert_eq!((found.value.as_str(), found.step, found.origin.as_str()), ("y", Some(StepId(1)), "node1"));
    assert_eq!((found.index, found.number), (vec![0, 1], f32::INFINITY));
    assert_eq!(s.find_nan().expect("Bump"), None);
    assert_eq!(s.read_value("a").expect("Bump").to_vec::<f32>(), Ok(vec![0.0, 1e30]));
    assert!(matches!(s.read_value("q"), Err(RuntimeError::UnknownName { .. })));
    s.run(&[("x", TensorView::f32(&[0.0; 4], [2, 2]))]).expect("a run");
    assert_eq!(s.find_non_finite().expect("Bump"), None);
    let x = [0.0, 0.0, f32::NAN, 0.0];
    s.run(&[("x", TensorView::f32(&x, [2, 2]))]).expect("a run");
    let found = s.find_nan().expect("Bump").expect("the input");
    assert_eq!((found.value.as_str(), found.step, found.index), ("x", None, vec![1, 0]));
}

#[test]
fn packed_plans_say_why_they_cannot() {
    let (exe, _) = executable(chain(Placement::Packed));
    let mut s = exe.session().expect("a session");
    s.run(&[("x", TensorView::f32(&[0.0, 1.0], [1, 2]))]).expect("a run");
    assert!(matches!(s.find_non_finite(), Err(RuntimeError::Packed)));
    assert!(matches!(s.read_value("a"), Err(RuntimeError::Packed)));
}

#[test]
fn a_profile_names_every_step() {
    let (exe, _) = executable(chain(Placement::Packed));
    let mut s = exe.session().expect("a session");
    let x = [("x", TensorView::f32(&[0.0, 1.0], [1, 2]))];
    let profile = s.profile(&x, &RunOptions::default()).expect("a run");
    let steps: Vec<_> = profile.steps.iter().map(|s| (s.level, s.origin.as_str(), s.us)).collect();
    assert_eq!(steps, [(0, "node0", 1.0), (1, "node1", 2.0)]);
    let histogram = profile.histogram();
    assert_eq!((histogram.len(), histogram[0].label.as_str(), histogram[0].us), (1, "scale.plain", 3.0));
    assert!(profile.to_string().contains("scale.plain"));
    assert!(s.output("y").is_ok());
}

#[test]
fn memory_is_summed_up() {
    let (exe, _) = executable(chain(Placement::Bump));
    let memory = exe.memory();
    assert_eq!(memory.regions.len(), RegionKind::ALL.len());
    let total: u64 = RegionKind::ALL.iter().map(|&k| exe.plan().region_size(k).0).sum();
    assert_eq!(memory.shared().0 + memory.per_session().0, total);
    let text = memory.to_string();
    assert!(text.contains("io_in") && text.contains("scratch s=1..=4"), "{text}");
    assert_eq!(exe.device_name(), "fake");
}
