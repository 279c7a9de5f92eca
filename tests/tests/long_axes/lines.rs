//! Lines of a tensor [outer, n, inner] along its middle axis, numbers to fill it with, and comparisons.

use pumice_compile::Options;
use pumice_ir::GraphBuilder;
use pumice_runtime::Executable;
use pumice_tests::Fixture;
use pumice_types::{Tensor, TensorView};

/// A tensor [outer, n, inner] that is computed along its middle axis.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    pub outer: usize,
    pub n: usize,
    pub inner: usize,
}

impl Axis {
    pub fn shape(&self) -> [u64; 3] {
        [self.outer, self.n, self.inner].map(|d| d as u64)
    }

    pub fn elements(&self) -> usize {
        self.outer * self.n * self.inner
    }

    /// For each line, where its elements are.
    pub fn lines(self) -> impl Iterator<Item = Vec<usize>> {
        let places = move |o, c| (0..self.n).map(move |r| (o * self.n + r) * self.inner + c).collect();
        (0..self.outer).flat_map(move |o| (0..self.inner).map(move |c| places(o, c)))
    }
}

/// A graph on the device.
pub fn load(fixture: &Fixture, build: impl FnOnce(&GraphBuilder)) -> Executable {
    let g = GraphBuilder::new("long");
    build(&g);
    fixture.executable(&g.build().expect("a graph"), &Options::default())
}

/// Results of one run.
pub fn run(exe: &Executable, inputs: &[(&str, TensorView<'_>)]) -> Vec<Tensor> {
    let mut session = exe.session().expect("a session");
    let outputs = session.run(inputs).expect("runs");
    let all = (0..outputs.len()).map(|i| outputs.at(i).expect("an output").clone());
    all.collect()
}

/// Numbers in [0, 1), without a pattern.
pub fn uniform(count: usize) -> Vec<f32> {
    let mixed = |i: usize| (i as u32).wrapping_mul(2_654_435_761).rotate_left(9).wrapping_mul(0x9e37_79b1);
    (0..count).map(|i| (mixed(i) >> 8) as f32 / (1 << 24) as f32).collect()
}

/// Asserts that a value is as expected, within `tolerance` of `scale`: the size of the terms it is made of.
#[track_caller]
pub fn close(got: f32, want: f64, scale: f64, tolerance: f64, what: impl FnOnce() -> String) {
    let error = (f64::from(got) - want).abs();
    assert!(error <= tolerance * scale, "{}: {got}, expected {want}: {error} of {scale}", what());
}
