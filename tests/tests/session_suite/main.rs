//! Suite of the session (A7): every ability on the interpreter and on the Vulkan device alike.
//!
//! Data are small integers, so that sums are exact and both devices are held to the same numbers.

mod feeds;
mod forks;
mod host_steps;
mod inputs;
mod inspect;
mod outputs;
mod params;
mod replays;
mod states;
mod symbols;
mod threads;

use pumice_types::Tensor;

/// The values of an f32 tensor.
fn floats(tensor: &Tensor) -> Vec<f32> {
    tensor.to_vec().expect("f32")
}

/// `n` small integers that depend on `salt`.
fn numbers(n: usize, salt: u64) -> Vec<f32> {
    (0..n as u64).map(|i| (pumice_ir::sample::random(salt, i) % 9) as f32 - 4.0).collect()
}

/// a[m, k] · b[k, n].
fn product(a: &[f32], b: &[f32], k: usize, n: usize) -> Vec<f32> {
    let row = |r: &[f32]| (0..n).map(|j| (0..k).map(|i| r[i] * b[i * n + j]).sum()).collect::<Vec<f32>>();
    a.chunks(k).flat_map(row).collect()
}
