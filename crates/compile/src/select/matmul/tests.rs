//! The measured winners, and that choices agree with declarations.

use super::*;
use crate::select::Selection;
use pumice_plan::kernels::convolution::ConvSpreadTile;
use pumice_plan::kernels::matmul::{MatmulF32, MatmulF32Columns, MatmulF32Dot, MatmulF32Lanes};
use pumice_types::Precision;
use pumice_types::target::{Component, MatrixScope, MatrixShape};

/// Kernels by name, with quads of columns where they have any.
const LANES: (&str, u32) = (MatmulF32Lanes::DECL.name, 0);
const DOT: (&str, u32) = (MatmulF32Dot::DECL.name, 0);
const COLUMNS: &str = MatmulF32Columns::DECL.name;

fn rules(target: &Target) -> Rules {
    Selection::exact(target).matmul
}

fn choose(product: &ProductExtents, target: &Target) -> Choice {
    rules(target).choose(product, target).expect("a kernel")
}

fn parts(product: &ProductExtents, allowed: &[u64], merged: bool, target: &Target) -> u64 {
    rules(target).parts(product, allowed, merged, target)
}

fn product(m: u64, n: u64, k: u64) -> ProductExtents {
    ProductExtents {
        m,
        n,
        k,
        batches: 1,
        b_along_k: true,
        b_stored: EncodingClass::F32,
        precision: Precision::Exact,
    }
}

fn pick(m: u64, n: u64, k: u64) -> &'static str {
    choose(&product(m, n, k), &Target::h200()).variant.name
}

fn cut(m: u64, n: u64, k: u64, merged: bool) -> u64 {
    parts(&product(m, n, k), &[1, 2, 3, 4, 6, 8], merged, &Target::h200())
}

/// The measured winners.
#[test]
fn h200_takes_what_was_fastest() {
    assert_eq!(pick(4096, 4096, 4096), "t128");
    assert_eq!(pick(1024, 1024, 1024), "t64x128");
    assert_eq!(pick(128, 1152, 384), "t32k4");
    assert_eq!(pick(128, 1536, 384), "t32k4");
    assert_eq!(pick(128, 384, 1536), "t32k4");
    assert_eq!(pick(128, 384, 100), "plain");
    assert_eq!(pick(4096, 1152, 384), "t128");
    assert_eq!(pick(4096, 384, 1536), "t128");
    assert_eq!(pick(4096, 1536, 384), "t128");
    assert_eq!(pick(16, 4096, 4096), "plain_m8");
    assert_eq!(pick(1, 4096, 14336), "plain");
}

/// k is cut where the result alone keeps too little of the device busy, and where the merge is worth its time.
#[test]
fn k_is_cut_where_the_grid_is_small() {
    assert!(cut(128, 384, 1536, true) > 1);
    assert_eq!(cut(128, 384, 384, false), 1);
    assert_eq!(cut(4096, 384, 1536, true), 4);
    assert_eq!(cut(4096, 384, 1536, false), 1);
    assert_eq!(cut(4096, 4096, 4096, true), 1);
    assert_eq!(cut(16, 4096, 4096, true), 6);
    assert_eq!(cut(1, 4096, 14336, true), 1);
    assert_eq!(parts(&product(128, 384, 1536), &[1, 2, 4], true, &Target::lavapipe()), 1);
    let columns = ProductExtents { b_along_k: false, ..product(1, 4096, 14336) };
    assert_eq!(parts(&columns, &[1, 2, 4, 8], false, &Target::h200()), 8);
}

/// Where a thread of its own would walk k too long for the driver, the threads of a group share it.
#[test]
fn long_k_is_shared() {
    let cpu = Target::lavapipe();
    let kernel = |m, k, b_along_k| {
        let p = ProductExtents { b_along_k, ..product(m, 40, k) };
        let c = choose(&p, &cpu);
        assert!(c.terminates(&cpu, &[("k", k)]) || k > 1 << 26, "{c:?}");
        (c.decl.name, c.number("quads"))
    };
    // One thread takes a whole k up to where its terms and the sums of its chains are loops that the driver would end.
    for (along_k, shared) in [(true, DOT), (false, (COLUMNS, 8))] {
        assert_eq!(kernel(4, 60_000, along_k), LANES);
        let longer = (60_000..=65_526).find(|&k| kernel(4, k, along_k) != LANES);
        assert_eq!(kernel(4, longer.expect("a border"), along_k), shared);
    }
    assert_eq!((kernel(100, 3_000_000, true), kernel(100, 3_000_000, false)), (DOT, (COLUMNS, 8)));
    assert_eq!((kernel(1, 1 << 24, true), kernel(1, 1 << 24, false)), ((COLUMNS, 2), (COLUMNS, 2)));
    // More than a tensor can have: what no kernel can is refused by name.
    assert_eq!(kernel(1, 1 << 40, false), LANES);
    // A GPU's own choice on a driver with such a limit, and without.
    let mut limited = Target::h200();
    limited.limits.loop_turns = cpu.limits.loop_turns;
    let long = product(4096, 4096, 1 << 20);
    assert_eq!(choose(&long, &limited).decl.name, DOT.0);
    assert_eq!(choose(&long, &Target::h200()).decl.name, MatmulF32::DECL.name);
}

/// Where a tile needs more shared memory than there is, the others serve.
#[test]
fn shared_memory_is_respected() {
    let mut target = Target::h200();
    target.limits.max_shared_memory = pumice_types::Bytes(32 << 10);
    assert_ne!(choose(&product(4096, 4096, 4096), &target).variant.name, "t128");
}

/// What is chosen reads the right operand as it is stored, and the tile is the declaration's.
#[test]
fn choices_take_what_they_are_chosen_for() {
    for target in [Target::h200(), Target::lavapipe()] {
        for m in [1, 2, 3, 5, 8, 9, 16, 17, 40, 128, 500, 4096] {
            for n in [1, 7, 64, 384, 4096] {
                for (k, b_along_k, b_stored) in [
                    (0, true, EncodingClass::F32),
                    (5, false, EncodingClass::F32),
                    (4096, true, EncodingClass::Half),
                    (4096, true, EncodingClass::Blocks),
                    (4096, true, EncodingClass::Codes),
                    (30, false, EncodingClass::Codes),
                ] {
                    let p = ProductExtents {
                        m,
                        n,
                        k,
                        batches: 1,
                        b_along_k,
                        b_stored,
                        precision: Precision::Exact,
                    };
                    let c = choose(&p, &target);
                    let reads = b_stored != EncodingClass::Blocks || c.variant.reads_blocks();
                    let codes = (b_stored == EncodingClass::Codes) == c.variant.reads_codes();
                    assert!(reads && codes, "{p:?} by {}", c.variant.name);
                    assert!(c.roles.rows > 0 && c.roles.columns > 0 && c.roles.step > 0, "{c:?}");
                }
            }
        }
    }
}

/// Three channels of 64 taps: a step of 128 terms at each tap is mostly filled with zeros, one of 32 less so.
#[test]
fn what_fills_the_steps_of_a_tile_takes_time() {
    let (mut gpu, taps, channels) = (Target::h200(), 64, 3u64);
    gpu.features.matrices = vec![MatrixShape {
        m: 16,
        n: 16,
        k: 16,
        a: Component::F16,
        b: Component::F16,
        c: Component::F32,
        result: Component::F32,
        saturates: false,
        scope: MatrixScope::Subgroup,
    }];
    let p = ProductExtents { precision: Precision::F16, ..product(32, 32, taps * channels) };
    let stage_of = |terms: &dyn Fn(&Roles) -> u64| {
        let tile = rules(&gpu).tile(&p, &gpu, &ConvSpreadTile::DECL, terms);
        tile.expect("a tile").roles.least_k
    };
    assert_eq!(stage_of(&|_| p.k), 128);
    assert_eq!(stage_of(&|roles| taps * channels.next_multiple_of(roles.least_k)), 32);
}

#[test]
fn tiles_are_those_of_the_declarations() {
    let tile = |m, n, k| {
        let c = choose(&product(m, n, k), &Target::h200());
        (c.roles.rows, c.roles.columns, c.roles.step, c.roles.least_k)
    };
    assert_eq!(tile(4096, 4096, 4096), (128, 128, 16, 16));
    assert_eq!(tile(128, 1152, 384), (32, 32, 64, 16));
    assert_eq!(tile(3, 64, 4096), (4, 4, 4, 0));
}
