//! Gaussian splats, the ops of the example `custom_op`, against NumPy (`reference/splats_numpy.py`).

#[path = "../../../crates/pumice/examples/custom_op/splats.rs"]
mod ops;

use crate::ops::load;
use pumice_cpu_ref::CustomOps;
use pumice_ir::{Graph, GraphBuilder, Value, f32};
use pumice_tests::{Fixture, on_every_device};
use pumice_types::TensorView;
use serde::Deserialize;
use std::collections::BTreeMap;

on_every_device!(three_scenes_are_as_numpy_has_them);

#[derive(Deserialize)]
struct Scene {
    name: String,
    settings: String,
    count: i32,
    shapes: BTreeMap<String, Vec<u64>>,
    operands: BTreeMap<String, Vec<f32>>,
    results: BTreeMap<String, Vec<f32>>,
}

const OPERANDS: [&str; 6] = ["position", "log_scale", "quaternion", "opacity", "colour", "camera"];

fn close(scene: &Scene, what: &str, got: &[f32]) {
    let want = &scene.results[what];
    assert_eq!(want.len(), got.len(), "{}: {what}", scene.name);
    // Light and what passes are about 1; places and radii are pixels.
    let distance =
        |(w, g): (&f32, &f32)| (w - g).abs() / if what == "splats" { w.abs().max(1.0) } else { 1.0 };
    let worst = want.iter().zip(got).map(distance).fold(0.0, f32::max);
    assert!(worst <= 1e-4, "{}: {what} is {worst} away", scene.name);
}

fn scenes() -> Vec<Scene> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/data/splats.json");
    let text = std::fs::read_to_string(path).expect("the goldens");
    let mut file: BTreeMap<String, Vec<Scene>> = serde_json::from_str(&text).expect("JSON");
    file.remove("scenes").expect("scenes")
}

/// The three ops, each result an output.
fn graph(scene: &Scene, custom: &CustomOps) -> Graph {
    let g = GraphBuilder::new("splats");
    let given: Vec<Value> =
        OPERANDS.iter().map(|name| g.input(name, f32(scene.shapes[*name].iter().copied()))).collect();
    let apply = |name: &str, given: &[Value]| {
        custom.apply(&g, name, &scene.settings, given).unwrap_or_else(|e| panic!("{e}"))
    };
    let prepared = apply("splat.prepare", &given);
    let drawn = apply("splat.rasterize", &[prepared[0], prepared[2]]);
    let at_once = apply("splat.render", &given);
    let names = ["splats", "depth", "count", "light", "passes", "light_at_once", "passes_at_once"];
    names.iter().zip([prepared, drawn, at_once].concat()).for_each(|(name, v)| g.output(name, v));
    g.build().expect("sound")
}

fn three_scenes_are_as_numpy_has_them(fixture: &Fixture) {
    let scenes = scenes();
    assert_eq!(scenes.len(), 3);
    for scene in &scenes {
        let custom = ops::ops().expect("free names");
        let exe = load(fixture, &graph(scene, &custom), &custom).expect("loads");
        let view = |name: &&'static str| {
            (*name, TensorView::of(&scene.operands[*name], &scene.shapes[*name]).expect("fits"))
        };
        let views: Vec<(&str, TensorView<'_>)> = OPERANDS.iter().map(view).collect();
        let mut session = exe.session().expect("a session");
        let out = session.run(&views).expect("runs");
        let floats = |name: &str| out.get(name).expect("there").to_vec::<f32>().expect("f32");
        assert_eq!(out.get("count").expect("there").to_vec::<i32>().expect("i32"), [scene.count]);
        let (splats, count) = (floats("splats"), scene.count as usize);
        close(scene, "splats", &splats[..10 * count]);
        assert!(splats[10 * count..].iter().all(|v| *v == 0.0));
        close(scene, "depth", &floats("depth")[..count]);
        for at_once in ["", "_at_once"] {
            close(scene, "light", &floats(&format!("light{at_once}")));
            close(scene, "passes", &floats(&format!("passes{at_once}")));
        }
    }
}
