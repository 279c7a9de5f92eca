//! Images resized, spectra, recurrent networks, norms, elements gathered, pads, random numbers: shapes for drawn lists.

use crate::row::Rate;
use crate::shapes::{Shape, joined};
use pumice::{GraphBuilder, Value};
use pumice_ir::ops::fft::Fft;
use pumice_ir::ops::group_norm::GroupNorm;
use pumice_ir::ops::networks::Gru;
use pumice_ir::ops::pad::{Pad, PadMode};
use pumice_ir::ops::random_normal::RandomNormal;
use pumice_ir::ops::random_uniform::RandomUniform;
use pumice_ir::ops::resize::{Resize, ResizeCoordinates, ResizeMode, ResizeRounding};
use pumice_ir::ops::stft::Stft;
use pumice_types::{DType, DimExpr};
use serde::Deserialize;
use std::f64::consts::TAU;

/// Images of \[batch, channels, height, width\] in other extents.
#[derive(Debug, Deserialize)]
pub struct Resized {
    shape: [u64; 4],
    to: [u64; 2],
    mode: Mode,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Mode {
    Nearest,
    Linear,
    Cubic,
}

impl Resized {
    /// Elements and their weights for place `i` of the axis, as PyTorch and OPS 3.5 have them.
    fn taps(&self, axis: usize, i: usize) -> Vec<(usize, f64)> {
        let (n, m) = (self.shape[axis + 2] as f64, self.to[axis] as f64);
        let within = |v: f64| v.clamp(0.0, n - 1.0) as usize;
        if self.mode == Mode::Nearest {
            return vec![(within((i as f64 * n / m).floor()), 1.0)];
        }
        let place = (i as f64 + 0.5) * n / m - 0.5;
        let (below, t) = (place.floor(), place - place.floor());
        if self.mode == Mode::Linear {
            return vec![(within(below), 1.0 - t), (within(below + 1.0), t)];
        }
        const A: f64 = -0.75;
        let near = |d: f64| ((A + 2.0) * d - (A + 3.0)) * d * d + 1.0;
        let far = |d: f64| ((A * d - 5.0 * A) * d + 8.0 * A) * d - 4.0 * A;
        let weights = [far(1.0 + t), near(t), near(1.0 - t), far(2.0 - t)];
        weights.into_iter().enumerate().map(|(k, w)| (within(below + k as f64 - 1.0), w)).collect()
    }
}

impl Shape for Resized {
    fn name(&self) -> String {
        let mode = format!("{:?}", self.mode).to_lowercase();
        format!("resized_{mode}_{}_to_{}", joined(&self.shape), joined(&self.to))
    }
    fn operands(&self) -> Vec<Vec<u64>> {
        vec![self.shape.to_vec()]
    }
    fn result(&self) -> Vec<u64> {
        [&self.shape[..2], &self.to].concat()
    }
    fn apply(&self, g: &GraphBuilder, x: &[Value]) -> Value {
        let sizes = self.to.iter().map(|&n| DimExpr::from(n)).collect();
        let op = Resize { sizes, axes: vec![2, 3], ..Resize::default() };
        let nearest = (ResizeMode::Nearest, ResizeCoordinates::Asymmetric, ResizeRounding::Floor);
        let (mode, coordinates, nearest) = match self.mode {
            Mode::Nearest => nearest,
            Mode::Linear => (ResizeMode::Linear, op.coordinates, op.nearest),
            Mode::Cubic => (ResizeMode::Cubic, op.coordinates, op.nearest),
        };
        g.resize(x[0], Resize { mode, coordinates, nearest, ..op })
    }
    fn expected(&self, x: &[Vec<f32>], places: &[usize]) -> Vec<(f64, f64)> {
        let ([_, _, h, w], [to_h, to_w]) = (self.shape.map(|n| n as usize), self.to.map(|n| n as usize));
        let one = |&i: &usize| {
            let image = &x[0][i / (to_h * to_w) * h * w..];
            let (rows, columns) = (self.taps(0, i / to_w % to_h), self.taps(1, i % to_w));
            let terms = rows
                .iter()
                .flat_map(|&(r, a)| columns.iter().map(move |&(c, b)| a * b * f64::from(image[r * w + c])));
            (terms.sum(), 1e-5)
        };
        places.iter().map(one).collect()
    }
}

/// The spectrum of each row of complex numbers.
#[derive(Debug, Deserialize)]
pub struct Spectrum(pub [u64; 2]);

impl Shape for Spectrum {
    fn name(&self) -> String {
        format!("fft_{}", joined(&self.0))
    }
    fn operands(&self) -> Vec<Vec<u64>> {
        vec![self.result()]
    }
    fn result(&self) -> Vec<u64> {
        vec![self.0[0], self.0[1], 2]
    }
    fn apply(&self, g: &GraphBuilder, x: &[Value]) -> Value {
        g.fft(x[0], Fft::default())
    }
    fn expected(&self, x: &[Vec<f32>], places: &[usize]) -> Vec<(f64, f64)> {
        let n = self.0[1] as usize;
        let one = |&i: &usize| {
            let row = &x[0][i / (2 * n) * 2 * n..][..2 * n];
            let of = transform(n, i / 2 % n, |t| (f64::from(row[2 * t]), f64::from(row[2 * t + 1])));
            (if i % 2 == 0 { of.0 } else { of.1 }, spread(n, row.iter()))
        };
        places.iter().map(one).collect()
    }
}

/// What an element of a transform of n numbers may be off by (OPS 3.9, Bluestein).
fn spread<'a>(n: usize, row: impl Iterator<Item = &'a f32>) -> f64 {
    let norm: f64 = row.map(|v| f64::from(*v).powi(2)).sum::<f64>().sqrt();
    32.0 * (n as f64).log2().max(1.0) * 2f64.powi(-24) * norm
}

/// Element `k` of the transform.
fn transform(n: usize, k: usize, at: impl Fn(usize) -> (f64, f64)) -> (f64, f64) {
    (0..n).fold((0.0, 0.0), |sum, t| {
        let (sin, cos) = (-TAU * (k * t % n) as f64 / n as f64).sin_cos();
        let (re, im) = at(t);
        (sum.0 + re * cos - im * sin, sum.1 + re * sin + im * cos)
    })
}

/// Spectra of frames of a signal: batches, samples, frame length, step.
#[derive(Debug, Deserialize)]
pub struct Frames(pub [u64; 4]);

impl Frames {
    fn frames(&self) -> u64 {
        let [_, samples, length, step] = self.0;
        (samples - length) / step + 1
    }
}

impl Shape for Frames {
    fn name(&self) -> String {
        format!("stft_{}", joined(&self.0))
    }
    fn operands(&self) -> Vec<Vec<u64>> {
        vec![vec![self.0[0], self.0[1], 1], vec![self.0[2]]]
    }
    fn result(&self) -> Vec<u64> {
        vec![self.0[0], self.frames(), self.0[2] / 2 + 1, 2]
    }
    fn apply(&self, g: &GraphBuilder, x: &[Value]) -> Value {
        g.stft(
            x[0],
            Some(x[1]),
            Stft { frame_step: self.0[3], frame_length: Some(self.0[2]), onesided: true },
        )
    }
    fn expected(&self, x: &[Vec<f32>], places: &[usize]) -> Vec<(f64, f64)> {
        let [_, samples, length, step] = self.0.map(|n| n as usize);
        let (frames, bins) = (self.frames() as usize, length / 2 + 1);
        let one = |&i: &usize| {
            let frame = i / 2 / bins;
            let row = &x[0][frame / frames * samples + frame % frames * step..][..length];
            let of = transform(length, i / 2 % bins, |t| (f64::from(row[t]) * f64::from(x[1][t]), 0.0));
            (if i % 2 == 0 { of.0 } else { of.1 }, spread(length, row.iter()))
        };
        places.iter().map(one).collect()
    }
}

/// A recurrent network in one direction, without biases: steps, batch, width of the input, hidden units.
#[derive(Debug, Deserialize)]
pub struct Network {
    lstm: bool,
    extents: [u64; 4],
}

impl Shape for Network {
    fn name(&self) -> String {
        format!("{}_{}", if self.lstm { "lstm" } else { "gru" }, joined(&self.extents))
    }
    fn operands(&self) -> Vec<Vec<u64>> {
        let ([steps, batch, input, hidden], gates) = (self.extents, if self.lstm { 4 } else { 3 });
        vec![vec![steps, batch, input], vec![1, gates * hidden, input], vec![1, gates * hidden, hidden]]
    }
    fn result(&self) -> Vec<u64> {
        let [steps, batch, _, hidden] = self.extents;
        vec![steps, 1, batch, hidden]
    }
    fn apply(&self, g: &GraphBuilder, x: &[Value]) -> Value {
        // Weights as networks have them: drawn evenly between ±1, divided by the root of the hidden units.
        let scale = g.constant_scalar(DType::F32, (self.extents[3] as f64).sqrt().recip());
        let main = [x[0], g.mul(x[1], scale), g.mul(x[2], scale)];
        match self.lstm {
            true => g.lstm(main, Default::default(), Default::default()).0,
            false => {
                let op = Gru { linear_before_reset: true, ..Gru::default() };
                g.gru(main, Default::default(), op).0
            }
        }
    }
    /// In f64, of the sequences that are looked at.
    fn expected(&self, x: &[Vec<f32>], places: &[usize]) -> Vec<(f64, f64)> {
        let [_, batch, _, hidden] = self.extents.map(|n| n as usize);
        let mut last: (usize, Vec<f64>) = (usize::MAX, Vec::new());
        let one = |&i: &usize| {
            let sequence = i / hidden % batch;
            if last.0 != sequence {
                last = (sequence, self.sequence(x, sequence));
            }
            (last.1[i / (hidden * batch) * hidden + i % hidden], 1e-4)
        };
        places.iter().map(one).collect()
    }
    fn rate(&self) -> Rate {
        let [steps, batch, input, hidden] = self.extents.map(|n| n as f64);
        Rate::Tflops(2.0 * if self.lstm { 4.0 } else { 3.0 } * steps * batch * hidden * (input + hidden))
    }
}

impl Network {
    /// The hidden states of one sequence: gates i o f c of an LSTM, z r h of a GRU (ONNX), whose
    /// reset gate acts on the product (as in PyTorch).
    fn sequence(&self, x: &[Vec<f32>], sequence: usize) -> Vec<f64> {
        let [steps, batch, input, units] = self.extents.map(|n| n as usize);
        let scale = (units as f64).sqrt().recip();
        let (mut h, mut c, mut all) = (vec![0.0; units], vec![0.0; units], Vec::new());
        let sigmoid = |v: f64| 1.0 / (1.0 + (-v).exp());
        let dot = |w: &[f32], v: &[f64]| w.iter().zip(v).map(|(w, v)| f64::from(*w) * v).sum::<f64>() * scale;
        for step in 0..steps {
            let row: Vec<f64> =
                x[0][(step * batch + sequence) * input..][..input].iter().map(|&v| f64::from(v)).collect();
            let by_x = |gate: usize, j: usize| dot(&x[1][(gate * units + j) * input..][..input], &row);
            let by_h = |gate: usize, j: usize| dot(&x[2][(gate * units + j) * units..][..units], &h);
            let gate = |gate: usize, j: usize| by_x(gate, j) + by_h(gate, j);
            let next: Vec<f64> = if self.lstm {
                for (j, c) in c.iter_mut().enumerate() {
                    *c = sigmoid(gate(2, j)) * *c + sigmoid(gate(0, j)) * gate(3, j).tanh();
                }
                (0..units).map(|j| sigmoid(gate(1, j)) * c[j].tanh()).collect()
            } else {
                let unit = |j: usize| {
                    let (z, r) = (sigmoid(gate(0, j)), sigmoid(gate(1, j)));
                    (1.0 - z) * (by_x(2, j) + r * by_h(2, j)).tanh() + z * h[j]
                };
                (0..units).map(unit).collect()
            };
            all.extend_from_slice(&next);
            h = next;
        }
        all
    }
}

/// Rows that are normalised: layer norm, or groups of channels of an image.
#[derive(Debug, Deserialize)]
pub struct Normed {
    shape: Vec<u64>,
    groups: u64,
}

impl Normed {
    /// Channels and groups of them where there are groups; else the last axis.
    fn width(&self) -> u64 {
        if self.groups > 0 { self.shape[1] } else { *self.shape.last().unwrap_or(&1) }
    }
}

impl Shape for Normed {
    fn name(&self) -> String {
        match self.groups {
            0 => format!("layer_norm_{}", joined(&self.shape)),
            groups => format!("group_norm_{}_by_{groups}", joined(&self.shape)),
        }
    }
    fn operands(&self) -> Vec<Vec<u64>> {
        vec![self.shape.clone(), vec![self.width()], vec![self.width()]]
    }
    fn result(&self) -> Vec<u64> {
        self.shape.clone()
    }
    fn apply(&self, g: &GraphBuilder, x: &[Value]) -> Value {
        match self.groups {
            0 => g.layer_norm(x[0], x[1], Some(x[2]), 1e-5),
            num_groups => g.group_norm(x[0], x[1], x[2], GroupNorm { num_groups, epsilon: 1e-5 }),
        }
    }
    fn expected(&self, x: &[Vec<f32>], places: &[usize]) -> Vec<(f64, f64)> {
        let after: u64 = if self.groups > 0 { self.shape[2..].iter().product() } else { 1 };
        let of_group = self.width().checked_div(self.groups).map(|channels| channels * after);
        let line = of_group.unwrap_or(self.width()) as usize;
        let one = |&i: &usize| {
            let row = x[0][i / line * line..][..line].iter().map(|&v| f64::from(v));
            let mean = row.clone().sum::<f64>() / line as f64;
            let variance = row.map(|v| (v - mean).powi(2)).sum::<f64>() / line as f64;
            let channel = i / after as usize % self.width() as usize;
            let y = (f64::from(x[0][i]) - mean) / (variance + 1e-5).sqrt();
            (y * f64::from(x[1][channel]) + f64::from(x[2][channel]), 2e-5)
        };
        places.iter().map(one).collect()
    }
}

/// An element of each row for each of k indices, which numbers between −1 and 1 say: rows, n, k.
#[derive(Debug, Deserialize)]
pub struct Gathered(pub [u64; 3]);

impl Shape for Gathered {
    fn name(&self) -> String {
        format!("gathered_{}_of_{}x{}", self.0[2], self.0[0], self.0[1])
    }
    fn operands(&self) -> Vec<Vec<u64>> {
        vec![vec![self.0[0], self.0[1]], self.result()]
    }
    fn result(&self) -> Vec<u64> {
        vec![self.0[0], self.0[2]]
    }
    fn apply(&self, g: &GraphBuilder, x: &[Value]) -> Value {
        let number = |v: f64| g.constant_scalar(DType::F32, v);
        let (scaled, last) = (g.mul(g.abs(x[1]), number(self.0[1] as f64)), number(self.0[1] as f64 - 1.0));
        let index = g.cast(g.select(g.less(scaled, last), scaled, last), DType::I32);
        g.gather_elements(x[0], index, 1)
    }
    fn expected(&self, x: &[Vec<f32>], places: &[usize]) -> Vec<(f64, f64)> {
        let (n, k) = (self.0[1] as usize, self.0[2] as usize);
        let one = |&i: &usize| {
            let index = (x[1][i].abs() * n as f32).min(n as f32 - 1.0) as usize;
            (f64::from(x[0][i / k * n + index]), 0.0)
        };
        places.iter().map(one).collect()
    }
}

/// Images with a border that mirrors them: batch·channels, height, width, border.
#[derive(Debug, Deserialize)]
pub struct Mirrored(pub [u64; 4]);

impl Shape for Mirrored {
    fn name(&self) -> String {
        format!("mirrored_{}_by_{}", joined(&self.0[..3]), self.0[3])
    }
    fn operands(&self) -> Vec<Vec<u64>> {
        vec![self.0[..3].to_vec()]
    }
    fn result(&self) -> Vec<u64> {
        vec![self.0[0], self.0[1] + 2 * self.0[3], self.0[2] + 2 * self.0[3]]
    }
    fn apply(&self, g: &GraphBuilder, x: &[Value]) -> Value {
        let border = self.0[3] as i64;
        g.pad(x[0], None, Pad { mode: PadMode::Reflect, pads: vec![border; 4], axes: vec![1, 2] })
    }
    fn expected(&self, x: &[Vec<f32>], places: &[usize]) -> Vec<(f64, f64)> {
        let [_, h, w, border] = self.0.map(|n| n as i64);
        let inside = |i: i64, n: i64| {
            let i = (i - border).abs();
            if i < n { i } else { 2 * (n - 1) - i }
        };
        let one = |&i: &usize| {
            let (i, width) = (i as i64, w + 2 * border);
            let (row, image) = (i / width % (h + 2 * border), i / width / (h + 2 * border));
            (f64::from(x[0][((image * h + inside(row, h)) * w + inside(i % width, w)) as usize]), 0.0)
        };
        places.iter().map(one).collect()
    }
}

/// As many random numbers: even ones between 0 and 1, or normal ones.
#[derive(Debug, Deserialize)]
pub struct Numbers {
    n: u64,
    normal: bool,
}

impl Shape for Numbers {
    fn name(&self) -> String {
        format!("random_{}_{}", if self.normal { "normal" } else { "uniform" }, self.n)
    }
    fn operands(&self) -> Vec<Vec<u64>> {
        Vec::new()
    }
    fn result(&self) -> Vec<u64> {
        vec![self.n]
    }
    fn apply(&self, g: &GraphBuilder, _: &[Value]) -> Value {
        match self.normal {
            true => g.random_normal([self.n], None, RandomNormal::default()),
            false => g.random_uniform([self.n], None, RandomUniform::default()),
        }
    }
    /// Within the range; laws of the numbers are tested elsewhere.
    fn expected(&self, _: &[Vec<f32>], places: &[usize]) -> Vec<(f64, f64)> {
        let range = if self.normal { (0.0, 8.0) } else { (0.5, 0.5) };
        places.iter().map(|_| range).collect()
    }
}

/// Lists of them.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Lists {
    resized: Vec<Resized>,
    spectra: Vec<Spectrum>,
    frames: Vec<Frames>,
    networks: Vec<Network>,
    normed: Vec<Normed>,
    gathered: Vec<Gathered>,
    mirrored: Vec<Mirrored>,
    numbers: Vec<Numbers>,
}

impl Lists {
    /// All of them.
    pub fn shapes(self) -> Vec<std::rc::Rc<dyn Shape>> {
        fn of<S: Shape + 'static>(list: Vec<S>) -> impl Iterator<Item = std::rc::Rc<dyn Shape>> {
            list.into_iter().map(|shape| std::rc::Rc::new(shape) as _)
        }
        let images = of(self.resized).chain(of(self.mirrored)).chain(of(self.normed));
        let signals = of(self.spectra).chain(of(self.frames)).chain(of(self.networks));
        images.chain(signals).chain(of(self.gathered)).chain(of(self.numbers)).collect()
    }
}
