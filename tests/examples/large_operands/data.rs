//! The one formula of all operands, and how results are judged.

use pumice_runtime::Outputs;
use std::ops::Range;

/// A result, or why there is none.
pub type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// Element `i` of every operand: a multiple of 1/32 from −4 to 4, exact in bf16, so that sums of moderate length are
/// exact.
pub fn at(i: u64) -> f32 {
    f32::from((i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8) / 32.0 - 4.0
}

/// The same as f64.
pub fn wide(i: u64) -> f64 {
    f64::from(at(i))
}

/// `n` elements as f32 bytes.
pub fn words(n: u64) -> Vec<u8> {
    bytes(n, 4, |i, out| out.copy_from_slice(&at(i).to_le_bytes()))
}

/// `n` elements as bf16 bytes.
pub fn halves(n: u64) -> Vec<u8> {
    bytes(n, 2, |i, out| out.copy_from_slice(&half::bf16::from_f32(at(i)).to_le_bytes()))
}

/// Elements of `width` bytes each, on every thread of the machine.
fn bytes(n: u64, width: u64, put: impl Fn(u64, &mut [u8]) + Sync) -> Vec<u8> {
    let mut all = vec![0; (n * width) as usize];
    on_threads(&mut all, width, &put);
    all
}

fn on_threads(all: &mut [u8], width: u64, put: &(impl Fn(u64, &mut [u8]) + Sync)) {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let part = (all.len() / width as usize).div_ceil(threads).max(1);
    std::thread::scope(|scope| {
        for (k, piece) in all.chunks_mut(part * width as usize).enumerate() {
            scope.spawn(move || {
                let first = (k * part) as u64;
                (first..).zip(piece.chunks_exact_mut(width as usize)).for_each(|(i, out)| put(i, out));
            });
        }
    });
}

/// The sum of f over a range, on every thread.
pub fn sum(range: Range<u64>, f: impl Fn(u64) -> f64 + Sync) -> f64 {
    let threads = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let part = (range.end - range.start).div_ceil(threads).max(1);
    std::thread::scope(|scope| {
        let parts = (range.start..range.end).step_by(part as usize).map(|from| {
            let (f, to) = (&f, (from + part).min(range.end));
            scope.spawn(move || (from..to).map(f).sum::<f64>())
        });
        let running: Vec<_> = parts.collect();
        running.into_iter().map(|t| t.join().expect("adding does not panic")).sum()
    })
}

/// First elements of three windows of `width`: at both ends of `n` and in the middle.
pub fn window_starts(n: u64, width: u64) -> [u64; 3] {
    [0, (n - width) / 2, n - width]
}

/// An output's numbers.
pub fn floats(outputs: &Outputs, name: &str) -> Outcome<Vec<f32>> {
    Ok(outputs.get(name)?.to_vec::<f32>()?)
}

/// T2: what a sum of `k` terms with Σ|term| of `size` may be off by.
pub fn of_sum(k: u64, size: f64) -> f64 {
    4.0 * ((k.max(2) as f64).log2().ceil() + 4.0) * 2f64.powi(-24) * size + f64::from(f32::MIN_POSITIVE)
}

/// How far `got` is from `want`, as a part of `allowed` (which may be 0).
pub fn judge(what: impl std::fmt::Display, got: f32, want: f64, allowed: f64) -> Outcome<f64> {
    let off = (f64::from(got) - want).abs();
    if off.is_nan() || off > allowed {
        return Err(format!("{what} is {got}, not {want} (±{allowed:.1e})").into());
    }
    Ok(if off > 0.0 { off / allowed } else { 0.0 })
}

/// Judges each of some results: its name, the result, what it should be, and what it may be off by.
pub fn judge_all<'a>(results: impl IntoIterator<Item = (u64, &'a f32, f64, f64)>) -> Outcome<f64> {
    let mut worst = 0.0f64;
    let mut compared = 0;
    for (at, got, want, allowed) in results {
        worst = worst.max(judge(format_args!("element {at}"), *got, want, allowed)?);
        compared += 1;
    }
    if compared == 0 { Err("nothing was compared".into()) } else { Ok(worst) }
}
