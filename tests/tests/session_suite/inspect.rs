//! Looking into a run: the first NaN or infinity by name, values by name, times, the memory plan.

use crate::floats;
use pumice_compile::Options;
use pumice_ir::{Graph, GraphBuilder, f32};
use pumice_plan::Placement;
use pumice_runtime::{RunOptions, RuntimeError};
use pumice_tests::{Lab, on_every_device};
use pumice_types::TensorView;

on_every_device!(the_first_non_finite_value, times_and_memory);

/// x → matmul → exp → softmax over the rows → matmul: exp overflows for large x.
fn graph() -> Graph {
    let g = GraphBuilder::new("inspected");
    let x = g.input("x", f32([3u64, 4]));
    let w = g.param("w", f32([4u64, 4]));
    let a = g.named("scores").matmul(x, w);
    let b = g.named("grown").exp(a);
    let c = g.named("shares").softmax(b, -1);
    g.output("y", g.named("mixed").matmul(c, w));
    g.build().expect("sound")
}

fn the_first_non_finite_value(lab: &Lab) {
    // Fusion would leave out values that are looked for by name.
    let unfused =
        Options { placement: Placement::Bump, opt: pumice_compile::OptOptions::none(), ..Options::default() };
    let exe = lab.executable(&graph(), &unfused);
    let w: Vec<f32> = (0..16).map(|i| if i % 5 == 0 { 1.0 } else { 0.0 }).collect();
    exe.set_param("w", &w).expect("set");
    let mut s = exe.session().expect("a session");
    let mut x = [1.0f32; 12];
    s.run(&[("x", TensorView::f32(&x, [3, 4]))]).expect("runs");
    assert_eq!(s.find_non_finite().expect("Bump"), None);
    assert_eq!(floats(&s.read_value("scores").expect("kept")), x);
    x[6] = 100.0;
    s.run(&[("x", TensorView::f32(&x, [3, 4]))]).expect("runs");
    let found = s.find_non_finite().expect("Bump").expect("exp(100) is infinite in f32");
    assert_eq!((found.value.as_str(), found.index.as_slice()), ("grown", &[1, 2][..]), "{found}");
    let nan = s.find_nan().expect("Bump").expect("Inf - Inf");
    assert_eq!(nan.value, "shares", "{nan}");
    x[6] = f32::NEG_INFINITY;
    s.run(&[("x", TensorView::f32(&x, [3, 4]))]).expect("runs");
    assert_eq!(s.find_non_finite().expect("Bump").expect("the input").value, "x");
    let packed = Options { placement: Placement::Packed, ..unfused };
    let exe = lab.executable(&graph(), &packed);
    exe.set_param("w", &w).expect("set");
    let mut s = exe.session().expect("a session");
    s.run(&[("x", TensorView::f32(&[1.0; 12], [3, 4]))]).expect("runs");
    assert!(matches!(s.find_non_finite(), Err(RuntimeError::Packed)));
}

fn times_and_memory(lab: &Lab) {
    let exe = lab.executable(&graph(), &Options::default());
    exe.set_param("w", &[0.25; 16]).expect("set");
    let mut s = exe.session().expect("a session");
    let x = [("x", TensorView::f32(&[1.0; 12], [3, 4]))];
    let profile = s.profile(&x, &RunOptions::default()).expect("runs");
    assert_eq!(profile.steps.len(), exe.plan().runs[0].program.steps.len());
    assert!(profile.steps.iter().all(|t| t.us.is_finite() && t.us >= 0.0));
    let total: f64 = profile.histogram().iter().map(|r| r.us).sum();
    let sum: f64 = profile.steps.iter().map(|t| t.us).sum();
    assert!((total - sum).abs() <= 1e-6 * (1.0 + sum), "the histogram holds every step");
    let profiled = floats(&s.output("y").expect("results as of any run"));
    assert_eq!(floats(s.run(&x).expect("runs").at(0).expect("one")), profiled);
    let memory = exe.memory();
    assert_eq!(memory.regions.len(), pumice_plan::RegionKind::ALL.len());
    assert!(memory.to_string().contains("scratch") && exe.plan().to_string().contains("level"));
}
