//! Ops of a user's own: Gaussian splatting as a host step between steps of the device. The functions are registered
//! under names (`splats.rs`), a graph has nodes of these names, and the device that runs it is given the registry.
//!
//! A shell of coloured Gaussians is seen from two places; what lies behind it and the exposure are computed on the
//! device. Writes `splats.ppm` into the folder that is its argument, or that of temporary files.

mod splats;

use pumice::{
    CustomOps, DType, Device, Error as PumiceError, Graph, GraphBuilder, Options, TensorView, Value, f32, sym,
};
use std::error::Error;
use std::f32::consts::{PI, TAU};
use std::path::PathBuf;

const WIDTH: usize = 256;
const HEIGHT: usize = 192;
const RINGS: usize = 24;
const AROUND: usize = 40;

/// What is splatted.
#[derive(Default)]
struct Scene {
    position: Vec<f32>,
    log_scale: Vec<f32>,
    quaternion: Vec<f32>,
    opacity: Vec<f32>,
    colour: Vec<f32>,
}

impl Scene {
    fn add(
        &mut self,
        position: [f32; 3],
        log_scale: [f32; 3],
        quaternion: [f32; 4],
        opacity: f32,
        colour: [f32; 3],
    ) {
        self.position.extend(position);
        self.log_scale.extend(log_scale);
        self.quaternion.extend(quaternion);
        self.opacity.push(opacity);
        self.colour.extend(colour);
    }

    /// A ring with flat splats that follow its surface, around a ball.
    fn new() -> Scene {
        let mut scene = Scene::default();
        for i in 0..RINGS {
            for j in 0..AROUND {
                let (a, b) = (TAU * i as f32 / RINGS as f32, TAU * j as f32 / AROUND as f32);
                let out = 1.0 + 0.35 * a.cos();
                let hue = [0.0, 1.0, 2.0]
                    .map(|k: f32| 0.5 + 0.5 * (b + TAU * k / 3.0).cos() * (0.6 + 0.4 * a.sin()));
                let (half_b, half_a) = (-b / 2.0, a / 2.0);
                // First around the tube, then around the ring.
                let turn = [
                    half_b.cos() * half_a.cos(),
                    half_b.sin() * half_a.sin(),
                    half_b.sin() * half_a.cos(),
                    half_b.cos() * half_a.sin(),
                ];
                scene.add([out * b.cos(), 0.35 * a.sin(), out * b.sin()], [-4.2, -2.8, -2.6], turn, 1.5, hue);
            }
        }
        scene.add([0.0, 0.0, 0.0], [-1.6; 3], [1.0, 0.0, 0.0, 0.0], 4.0, [1.0, 0.95, 0.8]);
        scene
    }

    fn len(&self) -> u64 {
        self.opacity.len() as u64
    }
}

/// A camera that looks at the middle from this far, turned and raised by angles.
fn camera(distance: f32, turned: f32, raised: f32) -> [f32; 17] {
    let ((s, c), (t, d)) = (turned.sin_cos(), raised.sin_cos());
    let focus = 1.1 * WIDTH as f32;
    let turn = [-c, 0.0, s, -s * t, -d, -c * t, s * d, -t, c * d];
    let mut all = [0.0; 17];
    all[..9].copy_from_slice(&turn);
    all[11] = distance;
    all[12..].copy_from_slice(&[focus, focus, WIDTH as f32 / 2.0, HEIGHT as f32 / 2.0, 0.1]);
    all
}

/// The five values of a scene with a camera.
fn operands(g: &GraphBuilder) -> [Value; 6] {
    let n = || sym("splats", 1..=4096);
    [
        g.input("position", f32([n(), 3.into()])),
        g.input("log_scale", f32([n(), 3.into()])),
        g.input("quaternion", f32([n(), 4.into()])),
        g.input("opacity", f32([n()])),
        g.input("colour", f32([n(), 3.into()])),
        g.input("camera", f32([17u64])),
    ]
}

/// Prepared and blended on the host; what lies behind, and the exposure, on the device. And both on the host at once.
fn graph(ops: &CustomOps) -> Result<Graph, Box<dyn Error>> {
    let settings = format!("width={WIDTH} height={HEIGHT} max_splat_steps=64");
    let g = GraphBuilder::new("splats");
    let given = operands(&g);
    let prepared = ops.apply(&g, "splat.prepare", &settings, &given)?;
    let drawn = ops.apply(&g, "splat.rasterize", &settings, &[prepared[0], prepared[2]])?;
    let behind = g.mul(g.unsqueeze(drawn[1], &[2]), g.param("wall", f32([3u64])));
    let exposure = g.scalar("exposure", f32([0u64; 0]), 0.0, 16.0, 1.0);
    let exposed = g.clip(g.mul(g.add(drawn[0], behind), exposure), Some(0.0), Some(1.0));
    let scaled = g.round(g.mul(exposed, g.constant_scalar(DType::F32, 255.0)));
    g.output("picture", g.cast(scaled, DType::U8));
    let at_once = ops.apply(&g, "splat.render", &settings, &given)?;
    g.output("apart", g.reduce_max(g.abs(g.sub(at_once[0], drawn[0])), &[0, 1, 2], false));
    Ok(g.build()?)
}

/// Whoever does not know the ops is told so, by their names.
fn refused(graph: &Graph, device: &Device) -> Result<(), Box<dyn Error>> {
    match pumice::compile(graph, device, &Options::default()) {
        Err(PumiceError::Custom { mistakes }) => {
            mistakes.iter().for_each(|(node, error)| println!("{node}: {error}"));
            Ok(())
        }
        Err(other) => Err(other.into()),
        Ok(_) => Err("compiled without the ops".into()),
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let ops = splats::ops()?;
    let graph = graph(&ops)?;
    let device = Device::best();
    refused(&graph, &device)?;
    let device = device.with_custom_ops(ops);
    let exe = pumice::compile(&graph, &device, &Options::default())?;
    let host = exe.plan().runs[0].program.steps.iter().filter(|s| s.is_host()).count();
    println!("device: {}; {host} host steps", device.name());
    exe.set_param("wall", &[0.05, 0.07, 0.12])?;
    let (mut session, scene, mut picture) = (exe.session()?, Scene::new(), Vec::new());
    for (turned, raised, exposure) in [(0.4, 0.6, 1.0), (PI * 0.8, 0.15, 1.4)] {
        session.set_scalar("exposure", exposure)?;
        let camera = camera(4.0, turned, raised);
        let out = session.run(&scene.given(&camera))?;
        assert_eq!(out.get("apart")?.to_vec::<f32>()?, [0.0], "both ways give one picture");
        let pixels = out.get("picture")?.to_vec::<u8>()?;
        let sums = [0, 1, 2].map(|k| pixels.iter().skip(k).step_by(3).map(|&v| u64::from(v)).sum::<u64>());
        println!("seen from {turned:.2}: mean colour {:?}", sums.map(|s| s / (WIDTH * HEIGHT) as u64));
        assert!(sums.iter().all(|&s| s > 10 * (WIDTH * HEIGHT) as u64), "something is seen");
        picture.extend(pixels);
    }
    write(&picture)
}

/// Both pictures, one above the other.
fn write(picture: &[u8]) -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os().nth(1).map_or_else(std::env::temp_dir, PathBuf::from);
    let path = folder.join("splats.ppm");
    let mut file = format!("P6 {WIDTH} {} 255\n", 2 * HEIGHT).into_bytes();
    file.extend(picture);
    std::fs::write(&path, file)?;
    println!("{}", path.display());
    Ok(())
}

impl Scene {
    fn given<'a>(&'a self, camera: &'a [f32; 17]) -> [(&'a str, TensorView<'a>); 6] {
        let n = self.len();
        [
            ("position", TensorView::f32(&self.position, [n, 3])),
            ("log_scale", TensorView::f32(&self.log_scale, [n, 3])),
            ("quaternion", TensorView::f32(&self.quaternion, [n, 4])),
            ("opacity", TensorView::f32(&self.opacity, [n])),
            ("colour", TensorView::f32(&self.colour, [n, 3])),
            ("camera", TensorView::f32(camera, [17])),
        ]
    }
}
