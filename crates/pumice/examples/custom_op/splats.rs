//! Gaussian splatting as three ops of a user (OPS 3.13): `splat.prepare` projects Gaussians to a picture, sorted by
//! depth, `splat.rasterize` blends them pixel by pixel, `splat.render` does both.
//!
//! A camera is 17 numbers: the rotation from the world to the camera, row by row, the translation, fx, fy, cx, cy and
//! the near plane. A prepared splat is a row of ten: x and y in pixels, the inverse of its covariance (xx, xy, yy),
//! opacity, colour, radius. Pixel (i, j) is seen at (j + ½, i + ½).

use pumice::{
    CustomCall, CustomError, CustomFailure, CustomOp, CustomOps, CustomTypes, DType, Tensor, ValueType,
};
use std::str::FromStr;

type Result<T> = std::result::Result<T, CustomFailure>;

/// Numbers of a prepared splat.
const ROW: usize = 10;
/// Numbers of a camera.
const CAMERA: usize = 17;

/// The three ops.
pub fn ops() -> std::result::Result<CustomOps, CustomError> {
    CustomOps::new()
        .with("splat.prepare", Prepare)?
        .with("splat.rasterize", Rasterize)?
        .with("splat.render", Render)
}

/// What the attributes say, as `name=value` with spaces between.
pub struct Settings {
    width: u64,
    height: u64,
    /// A splat ends at so many deviations along its longer axis.
    radius_scale: f64,
    /// What is fainter is left out.
    alpha_cutoff: f64,
    /// A pixel is done where less light than this would pass.
    transmittance_threshold: f64,
    /// A pixel blends so many splats at most.
    max_splat_steps: usize,
}

impl Settings {
    fn read(text: &str) -> Result<Settings> {
        let mut settings = Settings {
            width: 0,
            height: 0,
            radius_scale: 3.0,
            alpha_cutoff: 1.0 / 255.0,
            transmittance_threshold: 1e-4,
            max_splat_steps: usize::MAX,
        };
        for word in text.split_whitespace() {
            let (name, value) = word.split_once('=').ok_or_else(|| format!("`{word}` is no name=value"))?;
            match name {
                "width" => settings.width = number(value)?,
                "height" => settings.height = number(value)?,
                "radius_scale" => settings.radius_scale = number(value)?,
                "alpha_cutoff" => settings.alpha_cutoff = number(value)?,
                "transmittance_threshold" => settings.transmittance_threshold = number(value)?,
                "max_splat_steps" => settings.max_splat_steps = number(value)?,
                _ => return Err(format!("there is no setting `{name}`").into()),
            }
        }
        Ok(settings)
    }
}

fn number<T: FromStr>(text: &str) -> Result<T> {
    text.parse().map_err(|_| format!("`{text}` is not the number that is wanted").into())
}

/// The type of an operand that has this dtype, rank, and, where it is not 0, this last extent.
fn operand<'a>(
    call: &CustomTypes<'a>,
    i: usize,
    dtype: DType,
    rank: usize,
    last: u64,
) -> Result<&'a ValueType> {
    let ty = call.operands.get(i).ok_or_else(|| format!("operand {i} is missing"))?;
    let is_last = last == 0 || ty.shape.last().is_some_and(|d| d.as_extent() == Some(last));
    if ty.dtype() != dtype || ty.rank() != rank || !is_last {
        return Err(
            format!("operand {i} is not {dtype} of rank {rank} (with {last} numbers at the end)").into()
        );
    }
    Ok(ty)
}

/// position\[n, 3\], log scales\[n, 3\], quaternion\[n, 4\], opacity logit\[n\], colour\[n, 3\] or
/// harmonics\[n, 1 or 4 or 9 or 16, 3\], camera\[17\] → splats\[n, 10\], depth\[n\], how many\[1\]. What is behind the
/// near plane is left out, the rows behind the last splat are zeros.
struct Prepare;

impl CustomOp for Prepare {
    fn types(&self, call: &CustomTypes<'_>) -> Result<Vec<ValueType>> {
        let n = operand(call, 0, DType::F32, 2, 3)?.shape[0].clone();
        operand(call, 1, DType::F32, 2, 3)?;
        operand(call, 2, DType::F32, 2, 4)?;
        operand(call, 3, DType::F32, 1, 0)?;
        operand(call, 4, DType::F32, 2, 3).or_else(|_| operand(call, 4, DType::F32, 3, 3))?;
        operand(call, 5, DType::F32, 1, CAMERA as u64)?;
        Settings::read(call.attributes)?;
        let row = (ROW as u64).into();
        Ok(vec![
            ValueType::new(DType::F32, [n.clone(), row]),
            ValueType::new(DType::F32, [n]),
            ValueType::fixed(DType::I32, &[1]),
        ])
    }

    fn run(&self, call: &CustomCall<'_>) -> Result<Vec<Tensor>> {
        let (splats, depths) = prepare(call, &Settings::read(call.attributes)?)?;
        let count = depths.len();
        let mut rows: Vec<f32> = splats.into_iter().flatten().map(|v| v as f32).collect();
        let n = call.operands[0].shape()[0] as usize;
        rows.resize(n * ROW, 0.0);
        let mut depths: Vec<f32> = depths.into_iter().map(|z| z as f32).collect();
        depths.resize(n, 0.0);
        Ok(vec![call.result(0, &rows)?, call.result(1, &depths)?, call.result(2, &[count as i32])?])
    }
}

/// splats\[n, 10\], how many\[1\] → light\[height, width, 3\], and the share of what is behind that
/// passes\[height, width\].
struct Rasterize;

impl CustomOp for Rasterize {
    fn types(&self, call: &CustomTypes<'_>) -> Result<Vec<ValueType>> {
        operand(call, 0, DType::F32, 2, ROW as u64)?;
        operand(call, 1, DType::I32, 1, 1)?;
        picture(&Settings::read(call.attributes)?)
    }

    fn run(&self, call: &CustomCall<'_>) -> Result<Vec<Tensor>> {
        let settings = Settings::read(call.attributes)?;
        let (rows, count) = (call.values::<f32>(0)?, call.values::<i32>(1)?);
        let count = usize::try_from(count[0]).unwrap_or(0);
        let (light, passes) = rasterize(&rows[..(count * ROW).min(rows.len())], &settings);
        Ok(vec![call.result(0, &light)?, call.result(1, &passes)?])
    }
}

/// Operands of `splat.prepare` → results of `splat.rasterize`.
struct Render;

impl CustomOp for Render {
    fn types(&self, call: &CustomTypes<'_>) -> Result<Vec<ValueType>> {
        Prepare.types(call)?;
        picture(&Settings::read(call.attributes)?)
    }

    fn run(&self, call: &CustomCall<'_>) -> Result<Vec<Tensor>> {
        let settings = Settings::read(call.attributes)?;
        let rows: Vec<f32> = prepare(call, &settings)?.0.into_iter().flatten().map(|v| v as f32).collect();
        let (light, passes) = rasterize(&rows, &settings);
        Ok(vec![call.result(0, &light)?, call.result(1, &passes)?])
    }
}

fn picture(settings: &Settings) -> Result<Vec<ValueType>> {
    let (width, height) = (settings.width, settings.height);
    if !(1..=4096).contains(&width) || !(1..=4096).contains(&height) {
        return Err(format!("a picture of {width} x {height}, not of 1 x 1 to 4096 x 4096").into());
    }
    Ok(vec![
        ValueType::fixed(DType::F32, &[height, width, 3]),
        ValueType::fixed(DType::F32, &[height, width]),
    ])
}

type Vec3 = [f64; 3];
type Mat3 = [Vec3; 3];

fn dot(a: Vec3, b: Vec3) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn times(m: &Mat3, v: Vec3) -> Vec3 {
    m.map(|row| dot(row, v))
}

fn columns(m: &Mat3) -> Mat3 {
    [0, 1, 2].map(|j| [m[0][j], m[1][j], m[2][j]])
}

struct Camera {
    turn: Mat3,
    shift: Vec3,
    focus: [f64; 2],
    centre: [f64; 2],
    near: f64,
}

impl Camera {
    fn read(v: &[f64]) -> Camera {
        let three = |i: usize| [v[i], v[i + 1], v[i + 2]];
        let (turn, shift) = ([three(0), three(3), three(6)], three(9));
        Camera { turn, shift, focus: [v[12], v[13]], centre: [v[14], v[15]], near: v[16] }
    }

    /// Where it is in the world.
    fn place(&self) -> Vec3 {
        times(&columns(&self.turn), self.shift).map(|v| -v)
    }
}

/// What is prepared: numbers of every splat, and of the camera.
struct Scene {
    position: Vec<f64>,
    log_scale: Vec<f64>,
    quaternion: Vec<f64>,
    opacity: Vec<f64>,
    colour: Vec<f64>,
    /// Harmonics of each splat; none where it has a colour.
    terms: usize,
    camera: Camera,
}

impl Scene {
    fn read(call: &CustomCall<'_>) -> Result<Scene> {
        let read = |i: usize| -> Result<Vec<f64>> {
            Ok(call.values::<f32>(i)?.into_iter().map(f64::from).collect())
        };
        let (colour, camera) = (read(4)?, read(5)?);
        let colours = call.operands[4].shape();
        let terms = if colours.len() == 3 { colours[1] as usize } else { 0 };
        let [position, log_scale, quaternion, opacity] = [read(0)?, read(1)?, read(2)?, read(3)?];
        let n = opacity.len();
        let alike = position.len() == 3 * n && log_scale.len() == 3 * n && quaternion.len() == 4 * n;
        if !alike || colour.len() != 3 * terms.max(1) * n {
            return Err("the operands are of unlike numbers of splats".into());
        }
        if camera.len() != CAMERA || !matches!(terms, 0 | 1 | 4 | 9 | 16) {
            return Err("a camera is 17 numbers, harmonics are 1, 4, 9 or 16".into());
        }
        let camera = Camera::read(&camera);
        Ok(Scene { position, log_scale, quaternion, opacity, colour, terms, camera })
    }

    /// The depth and the row of a splat, if it is in front of the near plane.
    fn row(&self, i: usize, radius_scale: f64) -> Option<(f64, [f64; ROW])> {
        let three = |v: &[f64]| [v[3 * i], v[3 * i + 1], v[3 * i + 2]];
        let (camera, world) = (&self.camera, three(&self.position));
        let moved = times(&camera.turn, world);
        let at = [0, 1, 2].map(|k| moved[k] + camera.shift[k]);
        if at[2] <= camera.near {
            return None;
        }
        let q = &self.quaternion[4 * i..];
        let shape = covariance(three(&self.log_scale), [q[0], q[1], q[2], q[3]]);
        let rgb = match self.terms {
            0 => three(&self.colour),
            terms => lit(&self.colour[3 * terms * i..][..3 * terms], world, camera.place()),
        };
        let opacity = 1.0 / (1.0 + (-self.opacity[i]).exp());
        let [x, y, xx, xy, yy, radius] = projected(camera, at, &shape, radius_scale);
        Some((at[2], [x, y, xx, xy, yy, opacity, rgb[0], rgb[1], rgb[2], radius]))
    }
}

/// The rows of the splats in front, nearest first, and their depths; of equal ones the earlier first.
fn prepare(call: &CustomCall<'_>, settings: &Settings) -> Result<(Vec<[f64; ROW]>, Vec<f64>)> {
    let scene = Scene::read(call)?;
    let rows = (0..scene.opacity.len()).filter_map(|i| scene.row(i, settings.radius_scale));
    let mut seen: Vec<(f64, [f64; ROW])> = rows.collect();
    seen.sort_by(|a, b| a.0.total_cmp(&b.0));
    Ok((seen.iter().map(|s| s.1).collect(), seen.iter().map(|s| s.0).collect()))
}

/// R S Sᵀ Rᵀ.
fn covariance(log_scale: Vec3, quaternion: [f64; 4]) -> Mat3 {
    let length = quaternion.iter().map(|v| v * v).sum::<f64>().sqrt();
    let [w, x, y, z] = quaternion.map(|v| v / length);
    let turn = [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
        [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
        [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
    ];
    let square = log_scale.map(|s| (2.0 * s).exp());
    let entry = |i: usize, j: usize| (0..3).map(|k| turn[i][k] * square[k] * turn[j][k]).sum();
    [0, 1, 2].map(|i| [0, 1, 2].map(|j| entry(i, j)))
}

/// Place, inverse covariance and radius in the picture of what is at `at` in the camera's coordinates.
fn projected(camera: &Camera, at: Vec3, shape: &Mat3, radius_scale: f64) -> [f64; 6] {
    let ([x, y, z], [fx, fy]) = (at, camera.focus);
    // Rows of the Jacobian of the perspective map, in the world's coordinates.
    let back = columns(&camera.turn);
    let across = times(&back, [fx / z, 0.0, -fx * x / (z * z)]);
    let down = times(&back, [0.0, fy / z, -fy * y / (z * z)]);
    let (a, b, c) = (
        dot(across, times(shape, across)) + 0.3,
        dot(across, times(shape, down)),
        dot(down, times(shape, down)) + 0.3,
    );
    let (det, middle) = (a * c - b * b, (a + c) / 2.0);
    let radius = radius_scale * (middle + (middle * middle - det).max(0.0).sqrt()).sqrt();
    let [u, v] = [fx * x / z + camera.centre[0], fy * y / z + camera.centre[1]];
    [u, v, c / det, -b / det, a / det, radius]
}

/// ½ and the sum of harmonics in the direction in which a splat is seen; no colour is negative.
fn lit(harmonics: &[f64], world: Vec3, eye: Vec3) -> Vec3 {
    let away = [0, 1, 2].map(|k| world[k] - eye[k]);
    let length = dot(away, away).sqrt();
    let basis = harmonic_basis(away.map(|v| v / length));
    let terms = harmonics.len() / 3;
    [0, 1, 2].map(|k| (0.5 + (0..terms).map(|t| basis[t] * harmonics[3 * t + k]).sum::<f64>()).max(0.0))
}

/// Real spherical harmonics to degree 3, with the signs that splat files have.
fn harmonic_basis([x, y, z]: Vec3) -> [f64; 16] {
    let pi = std::f64::consts::PI;
    let (c0, c1) = ((0.25 / pi).sqrt(), (0.75 / pi).sqrt());
    let (c2, c3) = ((15.0 / pi).sqrt() / 2.0, (5.0 / pi).sqrt() / 4.0);
    let (d0, d1) = ((17.5 / pi).sqrt() / 4.0, (105.0 / pi).sqrt() / 2.0);
    let (d2, d3) = ((10.5 / pi).sqrt() / 4.0, (7.0 / pi).sqrt() / 4.0);
    let (xx, yy, zz) = (x * x, y * y, z * z);
    [
        c0,
        -c1 * y,
        c1 * z,
        -c1 * x,
        c2 * x * y,
        -c2 * y * z,
        c3 * (2.0 * zz - xx - yy),
        -c2 * x * z,
        c2 / 2.0 * (xx - yy),
        -d0 * y * (3.0 * xx - yy),
        d1 * x * y * z,
        -d2 * y * (4.0 * zz - xx - yy),
        d3 * z * (2.0 * zz - 3.0 * xx - 3.0 * yy),
        -d2 * x * (4.0 * zz - xx - yy),
        d1 / 2.0 * z * (xx - yy),
        -d0 * x * (xx - 3.0 * yy),
    ]
}

/// Light and what passes, for every pixel.
fn rasterize(rows: &[f32], settings: &Settings) -> (Vec<f32>, Vec<f32>) {
    let rows: Vec<f64> = rows.iter().map(|&v| f64::from(v)).collect();
    let splats = rows.as_chunks::<ROW>().0;
    let (mut light, mut passes) = (Vec::new(), Vec::new());
    for i in 0..settings.height {
        for j in 0..settings.width {
            let (colour, left) = blended(splats, j as f64 + 0.5, i as f64 + 0.5, settings);
            light.extend(colour.map(|c| c as f32));
            passes.push(left as f32);
        }
    }
    (light, passes)
}

/// Front to back: C += T·α·c, T *= 1 − α.
fn blended(splats: &[[f64; ROW]], u: f64, v: f64, settings: &Settings) -> (Vec3, f64) {
    let (mut colour, mut left, mut steps) = ([0.0; 3], 1.0, 0);
    for &[x, y, a, b, c, opacity, red, green, blue, radius] in splats {
        let (dx, dy) = (u - x, v - y);
        if dx * dx + dy * dy > radius * radius {
            continue;
        }
        let power = -0.5 * (a * dx * dx + c * dy * dy) - b * dx * dy;
        let alpha = (opacity * power.exp()).min(0.99);
        if alpha < settings.alpha_cutoff {
            continue;
        }
        if steps == settings.max_splat_steps {
            break;
        }
        [red, green, blue].iter().zip(&mut colour).for_each(|(part, sum)| *sum += left * alpha * part);
        left *= 1.0 - alpha;
        steps += 1;
        if left < settings.transmittance_threshold {
            break;
        }
    }
    (colour, left)
}
