//! How a convolution is made, and by which kernel where it is no product.
//!
//! In: extents and the target. Out: a method, or a [`Choice`]. A row of `convolution` says `product` (of the matrix of
//! weights and each batch), `tile` (a product whose right operand is read through the window, by the tile that
//! `matmul.tile` gives) or `direct`. Rows that say what an op cannot be are passed over.

use super::choice::Choice;
use super::family::{Family, FamilyDecl, Shape};
use pumice_plan::kernels::convolution::{ConvDirect, ConvLines, ConvShared, ConvSpread};
use pumice_types::Target;

/// A product of matrices.
pub const PRODUCT: &str = "product";
/// A product by tiles through the window.
pub const TILE: &str = "tile";
/// A thread for some positions.
pub const DIRECT: &str = "direct";

/// Batches; groups; channels and outputs of a group; positions of a batch; taps that a position meets at most; whether
/// it is a transposed one (1 or 0); of the last axis: taps, step and dilation of the window, and elements
/// that the windows of four neighbouring positions span; elements of the result.
const MEASURES: &[&str] = &[
    "batches",
    "groups",
    "channels",
    "outputs",
    "positions",
    "taps",
    "transposed",
    "taps_w",
    "step_w",
    "dilation_w",
    "line",
    "results",
];

/// By which method: as a product, by tiles, directly.
pub const METHOD: &FamilyDecl = &FamilyDecl {
    rules: &[(PRODUCT, &[]), (TILE, &[]), (DIRECT, &[])],
    ..FamilyDecl::new("convolution", MEASURES)
};
/// The kernel of `direct`. `plain_one` takes several terms in each iteration of its loop: it is left for sums that are
/// too long for a driver which ends loops.
pub const WINDOWS: &FamilyDecl = &FamilyDecl {
    kernels: &[ConvDirect::DECL, ConvLines::DECL, ConvShared::DECL],
    last: &[("conv_direct.plain_one", &[]), ("conv_direct.plain", &[])],
    ..FamilyDecl::new("convolution.direct", MEASURES)
};
/// The same of transposed ones.
pub const PHASES: &FamilyDecl = &FamilyDecl {
    kernels: &[ConvSpread::DECL],
    last: &[("conv_spread.plain_one", &[]), ("conv_spread.plain", &[])],
    ..FamilyDecl::new("convolution.spread", MEASURES)
};

/// A convolution by its measures.
#[derive(Clone, Copy, Debug)]
pub struct Extents {
    /// Batches.
    pub batches: u64,
    /// Groups.
    pub groups: u64,
    /// Channels of the operand in a group.
    pub channels: u64,
    /// Channels of the result in a group.
    pub outputs: u64,
    /// Positions of a batch.
    pub positions: u64,
    /// Taps that a position meets at most.
    pub taps: u64,
    /// Whether it is a transposed one.
    pub transposed: bool,
    /// Taps, step and dilation along the last axis.
    pub last: [u64; 3],
}

/// Rules of convolutions.
#[derive(Clone, Debug)]
pub struct Rules {
    pub(super) method: Family,
    pub(super) windows: Family,
    pub(super) phases: Family,
}

impl Rules {
    /// The method of the first row that holds, among these and `direct`.
    pub fn method(&self, e: &Extents, able: &[&str], target: &Target) -> &'static str {
        let shape = shape(e, target);
        let said = |rule: &str| self.method.holding(&shape).position(|row| row.says(rule));
        let methods = [PRODUCT, TILE].into_iter().filter(|method| able.contains(method)).chain([DIRECT]);
        let first = methods.filter_map(|method| Some((said(method)?, method))).min();
        first.map_or(DIRECT, |(_, method)| method)
    }

    /// The kernel for a convolution that is made directly.
    pub fn direct(&self, e: &Extents, target: &Target) -> Option<Choice> {
        let loops = [("channels", e.channels), ("kernel", e.taps)];
        let family = if e.transposed { &self.phases } else { &self.windows };
        family.choose(&shape(e, target).looping(loops))
    }
}

fn shape<'a>(e: &Extents, target: &'a Target) -> Shape<'a> {
    let [taps_w, step_w, dilation_w] = e.last;
    let line = step_w.saturating_mul(3).saturating_add(taps_w);
    let all = [e.batches, e.groups, e.channels, e.outputs, e.positions, e.taps, e.transposed.into()];
    let results = [e.groups, e.outputs, e.positions].into_iter().fold(e.batches, u64::saturating_mul);
    Shape::new(target, all.into_iter().chain([taps_w, step_w, dilation_w, line, results]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select::Selection;

    const CONV: Extents = Extents {
        batches: 4,
        groups: 1,
        channels: 64,
        outputs: 64,
        positions: 196,
        taps: 9,
        transposed: false,
        last: [3, 1, 1],
    };

    fn method(e: Extents, able: &[&str], target: &Target) -> &'static str {
        Selection::exact(target).convolution.method(&e, able, target)
    }

    fn direct(e: Extents, target: &Target) -> &'static str {
        Selection::exact(target).convolution.direct(&e, target).expect("a kernel").variant.name
    }

    #[test]
    fn a_gpu_shares_tiles_among_batches_of_few_positions() {
        let gpu = Target::h200();
        let both = [PRODUCT, TILE];
        assert_eq!(method(CONV, &both, &gpu), TILE);
        assert_eq!(method(Extents { batches: 1, ..CONV }, &both, &gpu), PRODUCT);
        assert_eq!(method(Extents { positions: 512, ..CONV }, &both, &gpu), PRODUCT);
        assert_eq!(method(CONV, &both, &Target::lavapipe()), PRODUCT);
    }

    #[test]
    fn groups_of_few_outputs_and_what_no_tile_takes_are_made_directly() {
        let gpu = Target::h200();
        let few = Extents { channels: 15, outputs: 7, ..CONV };
        assert_eq!(method(Extents { groups: 2, outputs: 8, ..few }, &[TILE], &gpu), TILE);
        assert_eq!(method(Extents { groups: 2, ..few }, &[TILE], &gpu), DIRECT);
        assert_eq!(method(few, &[TILE], &gpu), TILE);
        assert_eq!(method(Extents { transposed: true, ..few }, &[TILE], &gpu), DIRECT);
        // Long sums of few results keep few threads busy, where each thread makes a result.
        for (groups, transposed) in [(2, false), (1, true)] {
            let long = Extents { channels: 32, outputs: 1, groups, transposed, ..CONV };
            assert_eq!(method(long, &[TILE], &gpu), TILE);
            assert_eq!(method(Extents { positions: 1 << 16, ..long }, &[TILE], &gpu), DIRECT);
            assert_eq!(method(Extents { positions: 1 << 16, outputs: 3, ..long }, &[TILE], &gpu), TILE);
        }
        let short = Extents { channels: 1, transposed: true, ..CONV };
        assert_eq!(method(short, &[TILE], &gpu), DIRECT);
        assert_eq!(method(Extents { channels: 2, ..short }, &[TILE], &gpu), TILE);
        assert_eq!(method(CONV, &[], &gpu), DIRECT);
        assert_eq!(method(CONV, &[TILE], &Target::lavapipe()), DIRECT);
    }

    /// Lines that do not fit the registers of a thread, and taps that are no neighbours, are left to the kernel that
    /// makes any.
    #[test]
    fn groups_of_few_channels_are_made_line_by_line() {
        let of = |outputs, last, target: &Target| {
            let e = Extents { groups: 64, channels: 1, outputs, last, ..CONV };
            let choice = Selection::exact(target).convolution.direct(&e, target).expect("a kernel");
            (choice.decl.name, choice.variant.name)
        };
        let gpu = Target::h200();
        assert_eq!(of(1, [3, 1, 1], &gpu), ("conv_lines", "plain_one"));
        assert_eq!(of(4, [31, 2, 1], &gpu), ("conv_lines", "plain"));
        assert_eq!(of(1, [3, 1, 2], &gpu), ("conv_direct", "plain_one"));
        assert_eq!(of(1, [35, 1, 1], &gpu), ("conv_direct", "plain_one"));
        assert_eq!(of(1, [3, 1, 1], &Target::lavapipe()), ("conv_direct", "plain_one"));
    }

    #[test]
    fn few_outputs_and_long_sums_have_a_variant() {
        for transposed in [false, true] {
            let of = |outputs, channels| Extents { outputs, channels, transposed, ..CONV };
            let cpu = Target::lavapipe();
            assert_eq!(direct(of(2, 64), &cpu), "plain_one");
            assert_eq!(direct(of(3, 64), &cpu), "plain");
            assert_eq!(direct(of(3, 8_000), &cpu), "plain_one");
            assert_eq!(direct(of(9, 25_000), &cpu), "plain_one");
            assert_eq!(direct(of(3, 8_000), &Target::h200()), "plain");
        }
    }
}
