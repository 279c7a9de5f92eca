//! Transforms of every kind of length, on the interpreter and on the device, against sums written plainly here: within
//! 8·log₂N·2⁻²⁴·‖x‖₂ of each element, four times that where the length has a prime above 251. Long ones at some places.

use pumice_ir::ops::fft::{Fft, FftNorm};
use pumice_ir::{Fill, GraphBuilder, Sample, Value, f32};
use pumice_tests::draws::Draws;
use pumice_tests::op_suite::{Case, Runner};
use std::f64::consts::TAU;

type Complex = (f64, f64);

/// Results of long transforms that are compared.
const PLACES: usize = 40;

/// Lines of a transform: `outer` before the axis, `inner` after it, values of one.
#[derive(Clone, Copy, Debug)]
struct Lines {
    outer: usize,
    n: usize,
    inner: usize,
}

impl Lines {
    fn count(self) -> usize {
        self.outer * self.n * self.inner
    }

    /// Every line, as the places of its values among all.
    fn all(self) -> impl Iterator<Item = Vec<usize>> {
        let Lines { outer, n, inner } = self;
        (0..outer * inner).map(move |l| (0..n).map(|t| (l / inner * n + t) * inner + l % inner).collect())
    }

    fn shape(self, parts: u64) -> [u64; 4] {
        [self.outer as u64, self.n as u64, self.inner as u64, parts]
    }
}

/// What an element may be off, of ‖x‖₂: of the length and of the ends of the norm's factor.
fn allowed(n: usize) -> f64 {
    let mut left = n;
    for p in 2..=251 {
        while usize::is_multiple_of(left, p) {
            left /= p;
        }
    }
    let times = if left > 1 { 4.0 } else { 1.0 };
    8.0 * (n as f64).log2() * times / f64::from(1 << 24)
}

fn factor(norm: FftNorm, inverse: bool, n: usize) -> f64 {
    match (norm, inverse) {
        (FftNorm::Ortho, _) => 1.0 / (n as f64).sqrt(),
        (FftNorm::Backward, true) | (FftNorm::Forward, false) => 1.0 / n as f64,
        _ => 1.0,
    }
}

fn norm(x: &[Complex]) -> f64 {
    x.iter().map(|z| z.0 * z.0 + z.1 * z.1).sum::<f64>().sqrt()
}

/// Element k of the transform.
fn sum(x: &[Complex], k: usize, inverse: bool) -> Complex {
    let n = x.len() as u64;
    x.iter().enumerate().fold((0.0, 0.0), |y, (t, z)| {
        let angle = TAU * (t as u64 * k as u64 % n) as f64 / n as f64;
        let (s, c) = if inverse { angle.sin_cos() } else { (-angle).sin_cos() };
        (y.0 + c * z.0 - s * z.1, y.1 + c * z.1 + s * z.0)
    })
}

/// The outputs of a graph over one input, as floats.
fn outputs(
    runner: &Runner,
    shape: [u64; 4],
    x: &[f32],
    body: impl Fn(&GraphBuilder, Value),
) -> Vec<Vec<f32>> {
    let sample = Sample::graph("transforms", |g| body(g, g.input("x", f32(shape))));
    let sample = sample.fill("x", Fill::Floats(x.iter().map(|&v| f64::from(v)).collect()));
    let plan = runner.plan(sample.graph.as_ref().expect("a graph")).expect("a plan");
    let made = runner.outputs(&Case::new("fft", sample), plan).expect("it runs");
    made.iter().map(|t| t.to_vec::<f32>().expect("floats")).collect()
}

fn complex(values: &[f32], parts: usize) -> Vec<Complex> {
    let of = |z: &[f32]| (f64::from(z[0]), z.get(1).copied().map_or(0.0, f64::from));
    values.chunks_exact(parts).map(of).collect()
}

fn drawn(draws: &mut Draws, n: usize) -> Vec<f32> {
    (0..n).map(|_| draws.bits() as i32 as f32 / (1u32 << 31) as f32).collect()
}

/// Compares each line of a transform, long ones at some places.
fn compare(draws: &mut Draws, x: &[Complex], y: &[Complex], lines: Lines, op: &Fft) {
    let scale = factor(op.norm, op.inverse, lines.n);
    for places in lines.all() {
        let line: Vec<Complex> = places.iter().map(|&at| x[at]).collect();
        let near = allowed(lines.n) * norm(&line) * scale;
        let few = if lines.n <= 400 { lines.n } else { PLACES };
        for i in 0..few {
            let k = if few == lines.n { i } else { draws.below(lines.n) };
            let (want, got) = (sum(&line, k, op.inverse), y[places[k]]);
            let off = (got.0 - want.0 * scale).abs().max((got.1 - want.1 * scale).abs());
            assert!(off <= near, "{k} of {lines:?} by {op:?}: {got:?}, off by {off:e}, allowed {near:e}");
        }
    }
}

/// One transform of these lines by its op.
fn check(runner: &Runner, draws: &mut Draws, lines: Lines, parts: usize, op: &Fft) {
    let x = drawn(draws, lines.count() * parts);
    let y = outputs(runner, lines.shape(parts as u64), &x, |g, x| g.output("y", g.fft(x, op.clone())));
    compare(draws, &complex(&x, parts), &complex(&y[0], 2), lines, op);
}

fn middle(inverse: bool, norm: FftNorm) -> Fft {
    Fft { axis: 1, inverse, norm, ..Fft::default() }
}

/// Every length from 1 to 300.
fn short(runner: &Runner) {
    let mut draws = Draws(1);
    for n in 1..=300 {
        let (parts, inner) = (1 + n % 2, 1 + n / 7 % 3);
        let lines = Lines { outer: 2, n, inner };
        check(runner, &mut draws, lines, parts, &middle(n % 3 == 0, FftNorm::Backward));
    }
}

/// Lengths of several passes, and primes near powers of two.
fn long(runner: &Runner, most: usize) {
    let lengths = [
        2048, 2049, 2187, 2310, 4093, 4096, 4099, 4400, 6561, 16_384, 28_561, 65_521, 65_536, 65_537, 59_049,
        117_649, 161_051, 262_144, 371_293, 531_441, 1_000_000, 1_048_573, 1_048_576, 2_097_152, 4_194_304,
    ];
    let mut draws = Draws(2);
    for n in lengths.into_iter().filter(|&n| n <= most) {
        let inner = if n < 70_000 { 1 + n % 2 } else { 1 };
        let lines = Lines { outer: 1, n, inner };
        check(runner, &mut draws, lines, 1 + n % 2, &middle(n % 4 == 0, FftNorm::Ortho));
    }
}

/// There and back is what there was, and energies are the same, for drawn lengths, axes, norms, real and complex.
fn laws(runner: &Runner, cases: usize, most: usize) {
    let mut draws = Draws(3);
    let norms = [FftNorm::Backward, FftNorm::Ortho, FftNorm::Forward];
    for _ in 0..cases {
        let (longest, norm_of) = (draws.of(&[8, 40, 300, most]), draws.of(&norms));
        let n = 1 + draws.below(longest);
        let lines = Lines { outer: 1 + draws.below(3), n, inner: 1 + draws.below(3) };
        there_and_back(runner, &mut draws, lines, norm_of);
    }
}

fn there_and_back(runner: &Runner, draws: &mut Draws, lines: Lines, norm_of: FftNorm) {
    let parts = 1 + draws.below(2);
    let x = drawn(draws, lines.count() * parts);
    let y = outputs(runner, lines.shape(parts as u64), &x, |g, x| {
        let there = g.fft(x, middle(false, norm_of));
        g.output("there", there);
        g.output("back", g.fft(there, middle(true, norm_of)));
        if parts == 1 {
            let side = g.fft(x, Fft { onesided: true, ..middle(false, norm_of) });
            let length = Some(lines.n as i64);
            g.output(
                "real",
                g.fft(side, Fft { onesided: true, dft_length: length, ..middle(true, norm_of) }),
            );
        }
    });
    let (given, there, back) = (complex(&x, parts), complex(&y[0], 2), complex(&y[1], 2));
    let real = y.get(2).map(|real| complex(real, 1));
    let near = allowed(lines.n).max(1e-7);
    for places in lines.all() {
        let at = |of: &[Complex]| -> Vec<Complex> { places.iter().map(|&at| of[at]).collect() };
        let (line, size) = (at(&given), norm(&at(&given)));
        let scaled = norm(&at(&there)) / factor(norm_of, false, lines.n) / (lines.n as f64).sqrt();
        assert!((scaled - size).abs() <= 2.0 * near * size, "{lines:?}: energy {scaled} of {size}");
        for returned in [Some(&back), real.as_ref()].into_iter().flatten() {
            for (a, b) in line.iter().zip(at(returned)) {
                let off = (a.0 - b.0).abs().max((a.1 - b.1).abs());
                assert!(off <= 2.0 * near * size, "{lines:?}: {b:?} of {a:?}");
            }
        }
    }
}

/// Zeros are appended, values are cut off, one side is the first half.
fn lengths(runner: &Runner) {
    let mut draws = Draws(4);
    for (n, length) in [(5, 8), (8, 5), (7, 7), (3, 100), (100, 3), (1, 17), (3000, 2048), (2048, 3001)] {
        let x = drawn(&mut draws, 2 * n);
        let y = outputs(runner, [2, n as u64, 1, 1], &x, |g, x| {
            let op = Fft { dft_length: Some(length as i64), ..middle(false, FftNorm::Backward) };
            g.output("y", g.fft(x, op.clone()));
            g.output("side", g.fft(x, Fft { onesided: true, ..op }));
        });
        let (all, side) = (complex(&y[0], 2), complex(&y[1], 2));
        let half = length / 2 + 1;
        for row in 0..2 {
            let mut line = complex(&x[row * n..][..n], 1);
            line.resize(length, (0.0, 0.0));
            let (made, one) = (&all[row * length..][..length], &side[row * half..][..half]);
            let lines = Lines { outer: 1, n: length, inner: 1 };
            compare(&mut draws, &line, made, lines, &middle(false, FftNorm::Backward));
            assert_eq!(&made[..half], one, "{length} of {n}");
        }
    }
}

mod on_interpreter {
    use super::Runner;

    fn runner() -> Runner {
        Runner::interpreter(1 << 24)
    }

    #[test]
    fn short() {
        super::short(&runner());
    }

    #[test]
    fn long() {
        super::long(&runner(), 70_000);
    }

    #[test]
    fn laws() {
        super::laws(&runner(), 200, 5000);
    }

    #[test]
    fn lengths() {
        super::lengths(&runner());
    }
}

mod on_device {
    use super::Runner;

    fn runner() -> Runner {
        let device = pumice_tests::device::open(&pumice_vulkan::DeviceOptions::default());
        Runner::new(device, 1 << 24)
    }

    #[test]
    fn short() {
        super::short(&runner());
    }

    #[test]
    fn long() {
        super::long(&runner(), 1 << 22);
    }

    #[test]
    fn laws() {
        super::laws(&runner(), 200, 5000);
    }

    #[test]
    fn lengths() {
        super::lengths(&runner());
    }
}
