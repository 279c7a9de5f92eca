//! Values, arithmetic in plain Rust, and how results and refusals are compared.

use pumice_runtime::{Executable, Outputs, RuntimeError};
use pumice_tests::Fixture;
use pumice_types::{Tensor, TensorView};

/// The error of a call that must be refused: of this pattern, and naming these things in its text.
macro_rules! refused {
    ($result:expr, $pattern:pat $(if $guard:expr)?, $($says:expr),+ $(,)?) => {{
        let error = $result.expect_err("must be refused");
        assert!(matches!(&error, $pattern $(if $guard)?), "another error: {error:?}");
        let text = error.to_string();
        $(assert!(text.contains($says), "{text:?} does not name {:?}", $says);)+
    }};
}

/// Multiples of 1/8 from −2 to 2, other ones for every seed.
pub fn wave(n: usize, seed: u32) -> Vec<f32> {
    let mut x = seed.wrapping_mul(0x9e37_79b9).wrapping_add(0x1234_5678);
    let mut next = || {
        x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f32::from((x >> 16) as u16 % 33) / 8.0 - 2.0
    };
    (0..n).map(|_| next()).collect()
}

/// The values of an f32 tensor.
pub fn floats(tensor: &Tensor) -> Vec<f32> {
    tensor.to_vec::<f32>().unwrap_or_else(|e| panic!("{e}"))
}

/// The values of an i32 tensor.
pub fn ints(tensor: &Tensor) -> Vec<i32> {
    tensor.to_vec::<i32>().unwrap_or_else(|e| panic!("{e}"))
}

/// An f32 tensor.
pub fn tensor(values: &[f32], shape: &[u64]) -> Tensor {
    Tensor::new(values, shape).unwrap_or_else(|e| panic!("{e}"))
}

/// An output of that name, as f32 values.
pub fn out(outputs: &Outputs, name: &str) -> Vec<f32> {
    floats(outputs.get(name).unwrap_or_else(|e| panic!("{e}")))
}

/// x\[m, k\]·wᵀ + b with w\[n, k\], in f64.
pub fn linear(x: &[f32], w: &[f32], bias: Option<&[f32]>, k: usize) -> Vec<f32> {
    let n = w.len() / k;
    let row = |x: &[f32], j: usize| {
        let products = x.iter().zip(&w[j * k..(j + 1) * k]).map(|(a, b)| f64::from(*a) * f64::from(*b));
        products.sum::<f64>() + bias.map_or(0.0, |b| f64::from(b[j]))
    };
    x.chunks(k).flat_map(|x| (0..n).map(move |j| row(x, j) as f32)).collect()
}

/// Element by element, the second repeated as often as needed.
pub fn zip(a: &[f32], b: &[f32], f: impl Fn(f32, f32) -> f32) -> Vec<f32> {
    a.iter().zip(b.iter().cycle()).map(|(a, b)| f(*a, *b)).collect()
}

/// Element by element.
pub fn map(a: &[f32], f: impl Fn(f32) -> f32) -> Vec<f32> {
    a.iter().map(|v| f(*v)).collect()
}

/// Every value within a distance that grows with its size.
pub fn assert_close(got: &[f32], want: &[f32], tolerance: f32, what: &str) {
    assert_eq!(got.len(), want.len(), "{what}");
    for (i, (g, w)) in got.iter().zip(want).enumerate() {
        assert!((g - w).abs() <= tolerance * (1.0 + w.abs()), "{what}: element {i} is {g}, not {w}");
    }
}

/// One input, all outputs.
pub fn run(session: &mut pumice_runtime::Session, x: &Tensor) -> Result<Outputs, RuntimeError> {
    session.run(&[("x", x.view())])
}

/// An executable with default options.
pub fn load(fixture: &Fixture, graph: &pumice_ir::Graph) -> Executable {
    fixture.executable(graph, &pumice_compile::Options::default())
}

/// Sets f32 params by name.
pub fn set(exe: &Executable, params: &[(&str, &[f32])]) {
    for (name, values) in params {
        exe.set_param(name, values).unwrap_or_else(|e| panic!("{e}"));
    }
}

/// A rank-1 view.
pub fn row(values: &[f32]) -> TensorView<'_> {
    TensorView::f32(values, [values.len() as u64])
}
