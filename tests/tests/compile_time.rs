//! Building, compiling and checking a graph take time in proportion to its size.
//!
//! `cargo run --release -p pumice-tests --example compile_time` prints the times of larger graphs.

use pumice_tests::growth::{Growth, fastest};

/// Four times the size may take so many times as long. In proportion it is 4; with a square anywhere it comes to 16.
const MOST: u32 = 8;
/// Beside other work on the machine a single comparison has come to 11: one of so many must be within [`MOST`].
const ROUNDS: usize = 6;

fn check(growth: Growth, small: usize) {
    let mut rounds = (0..ROUNDS).map(|_| {
        let taken = fastest(&[small, 4 * small], 3, |n| growth.measure(n));
        (taken[0].total(), taken[1].total())
    });
    let mut seen = Vec::new();
    let within = rounds.any(|(one, four)| {
        seen.push((one, four));
        four <= MOST * one
    });
    assert!(within, "{}: {small} and {} take {seen:?}", growth.name(), 4 * small);
}

#[test]
fn of_nodes() {
    check(Growth::Nodes, 2_000);
}

#[test]
fn of_steps() {
    check(Growth::Steps, 2_000);
}

#[test]
fn of_layers() {
    check(Growth::Layers, 250);
}

#[test]
fn of_symbols() {
    check(Growth::Symbols, 250);
}

#[test]
fn of_equalities() {
    check(Growth::Equalities, 250);
}

#[test]
fn of_states() {
    check(Growth::States, 250);
}

#[test]
fn of_decoders() {
    check(Growth::Decoder, 8);
}
