//! The measured winners, and that choices agree with declarations.

use super::*;
use crate::select::Selection;

fn rules(target: &Target) -> Rules {
    Selection::exact(target).matmul
}

fn choose(product: &ProductExtents, target: &Target) -> ProductKernel {
    rules(target).choose(product, target)
}

fn parts(product: &ProductExtents, allowed: &[u64], merged: bool, target: &Target) -> u64 {
    rules(target).parts(product, allowed, merged, target)
}

/// Turns of a chosen kernel over k terms.
fn turns(choice: &ProductKernel, k: u64) -> u64 {
    match choice.class {
        Class::Tile => MatmulF32::DECL.turns_of(choice.variant, &[("k", k)]),
        Class::Lanes => MatmulF32Lanes::DECL.turns_of(choice.variant, &[("k", k)]),
        Class::Dot => MatmulF32Dot::DECL.turns_of(choice.variant, &[("k", k)]),
        Class::Columns(quads) => {
            MatmulF32Columns::DECL.turns_of(choice.variant, &[("k", k), ("quads", quads.into())])
        }
    }
}

fn product(m: u64, n: u64, k: u64) -> ProductExtents {
    ProductExtents { m, n, k, batches: 1, b_along_k: true, b_words: true, b_blocks: false }
}

fn pick(m: u64, n: u64, k: u64) -> &'static str {
    choose(&product(m, n, k), &Target::h200()).variant
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
    let class = |m, k, b_along_k| {
        let p = ProductExtents { b_along_k, ..product(m, 40, k) };
        let c = choose(&p, &cpu);
        assert!(turns(&c, k) <= 65_535 || k > 1 << 26, "{c:?}");
        c.class
    };
    // One thread takes a whole k up to where its terms and the sums of its chains turn too often.
    for (along_k, shared) in [(true, Class::Dot), (false, Class::Columns(8))] {
        assert_eq!(class(4, 60_000, along_k), Class::Lanes);
        let longer = (60_000..=65_526).find(|&k| class(4, k, along_k) != Class::Lanes);
        assert_eq!(class(4, longer.expect("a border"), along_k), shared);
    }
    assert_eq!((class(100, 3_000_000, true), class(100, 3_000_000, false)), (Class::Dot, Class::Columns(8)));
    assert_eq!((class(1, 1 << 24, true), class(1, 1 << 24, false)), (Class::Columns(2), Class::Columns(2)));
    // More than a tensor can have: what no kernel can is refused by name.
    assert_eq!(class(1, 1 << 40, false), Class::Lanes);
    // A GPU's own choice on a driver with such a limit, and without.
    let mut limited = Target::h200();
    limited.limits.loop_turns = cpu.limits.loop_turns;
    let long = product(4096, 4096, 1 << 20);
    assert_eq!(choose(&long, &limited).class, Class::Dot);
    assert_eq!(choose(&long, &Target::h200()).class, Class::Tile);
}

/// Where a tile needs more shared memory than there is, the others serve.
#[test]
fn shared_memory_is_respected() {
    let mut target = Target::h200();
    target.limits.max_shared_memory = pumice_types::Bytes(32 << 10);
    assert_ne!(choose(&product(4096, 4096, 4096), &target).variant, "t128");
}

/// Every chosen variant exists and makes the tile that the choice states.
#[test]
fn choices_agree_with_declarations() {
    for target in [Target::h200(), Target::lavapipe()] {
        for m in [1, 2, 3, 5, 8, 9, 16, 17, 40, 128, 500, 4096] {
            for n in [1, 7, 64, 384, 4096] {
                for (k, b_along_k, b_words) in [(0, true, true), (5, false, true), (4096, true, false)] {
                    let p = ProductExtents { m, n, k, batches: 1, b_along_k, b_words, b_blocks: !b_words };
                    agrees(&choose(&p, &target), &p);
                }
            }
        }
    }
}

fn agrees(c: &ProductKernel, p: &ProductExtents) {
    let (decl, rows, columns) = match c.class {
        Class::Tile => (MatmulF32::DECL, "BM", "BN"),
        Class::Lanes => (MatmulF32Lanes::DECL, "MR", "NQ"),
        Class::Dot => (MatmulF32Dot::DECL, "MM", "NQ"),
        Class::Columns(_) => (MatmulF32Columns::DECL, "MM", "MM"),
    };
    let variant = decl.variants.iter().find(|v| v.name == c.variant).expect("declared");
    assert!(!p.b_blocks || variant.reads_blocks(), "{p:?} by {}", c.variant);
    let define = |name: &str| -> u64 {
        variant.defines.iter().find(|d| d.0 == name).and_then(|d| d.1.parse().ok()).expect("a number")
    };
    assert_eq!(c.rows, define(rows), "{p:?}");
    match c.class {
        Class::Tile => {
            assert_eq!(c.columns, define(columns));
            assert_eq!(c.step, define("BK") * define("SK"));
        }
        Class::Lanes => assert_eq!(c.columns, 32 * define(columns)),
        Class::Dot => assert_eq!(c.columns, 4 * define(columns)),
        Class::Columns(quads) => assert_eq!(c.columns, 4 * u64::from(quads)),
    }
}
