//! What ops of a sliding window share: their lists of numbers and the type rules of their extents.

use crate::attr::{AttrError, CountRange};
use crate::error::OpError;
use crate::infer::Infer;
use crate::shape::display_dim;
use pumice_types::{DimExpr, SymbolTable, WindowAxis};

/// The lists of a window as attributes have them: one number for each spatial axis (of pads two: all begins, then all
/// ends), or none at all.
pub(crate) struct Lists<'a> {
    pub strides: &'a [u64],
    pub dilations: &'a [u64],
    pub pads: &'a [u64],
}

impl Lists<'_> {
    /// The axes of a window with that kernel.
    pub fn axes(&self, kernel: &[u64]) -> Result<Vec<WindowAxis>, OpError> {
        let n = kernel.len();
        let strides = filled("strides", self.strides, n, 1)?;
        let dilations = filled("dilations", self.dilations, n, 1)?;
        let pads = filled("pads", self.pads, 2 * n, 0)?;
        let axis = |i: usize| WindowAxis {
            kernel: kernel[i],
            stride: strides[i],
            dilation: dilations[i],
            begin: pads[i],
            end: pads[n + i],
        };
        Ok((0..n).map(axis).collect())
    }
}

/// A list of `n` numbers; an empty one stands for `default` each time.
pub(crate) fn filled(
    name: &'static str,
    list: &[u64],
    n: usize,
    default: u64,
) -> Result<Vec<u64>, AttrError> {
    match list.len() {
        0 => Ok(vec![default; n]),
        given if given == n => Ok(list.to_vec()),
        given => Err(AttrError::Value {
            name,
            reason: format!("it has {given} numbers, and must have {n} or none"),
        }),
    }
}

/// The number of spatial axes of operand `i`, which is \[batch, channels, spatial…\] with one to three of them.
pub(crate) fn spatial_rank(cx: &Infer<'_>, i: usize) -> Result<usize, OpError> {
    let rank = cx.ty(i)?.rank();
    if (3..=5).contains(&rank) {
        return Ok(rank - 2);
    }
    let expected = "expected batch, channels and one to three spatial axes".to_owned();
    Err(OpError::Rank { operand: cx.name(i), rank, expected })
}

/// The kernel of weights, operand `i`: \[channels, channels, kernel…\], for an operand `x` with so many spatial axes.
pub(crate) fn kernel_of_weights(cx: &Infer<'_>, i: usize, spatial: usize) -> Result<Vec<u64>, OpError> {
    let (given, rank) = (cx.ty(i)?.rank(), spatial + 2);
    if given != rank {
        let axes = ["one spatial axis", "two spatial axes", "three spatial axes"][spatial.clamp(1, 3) - 1];
        let expected = format!("expected {rank}, because x has rank {rank} (batch, channels, {axes})");
        return Err(OpError::Rank { operand: cx.name(i), rank: given, expected });
    }
    let taps = |(axis, extent): (usize, &DimExpr)| {
        let taps = cx.constant_extent(extent, "the kernel")?;
        if CountRange::POSITIVE.holds(taps) {
            return Ok(taps);
        }
        let (name, words) = (cx.name(i), CountRange::POSITIVE.words);
        Err(OpError::Invalid(format!(
            "axis {axis} of `{name}` is the kernel's, and is {taps}; it must be {words}"
        )))
    };
    cx.ty(i)?.shape.iter().enumerate().skip(2).map(taps).collect()
}

/// The channels of one of `groups` groups; it is an error that the groups do not divide them.
pub(crate) fn of_group(
    cx: &Infer<'_>,
    channels: &DimExpr,
    groups: u64,
    what: &str,
) -> Result<DimExpr, OpError> {
    channels.exact_quotient(&DimExpr::from(groups)).ok_or_else(|| {
        let shown = display_dim(channels, cx.symbols());
        OpError::Invalid(format!("{what}, {shown}, do not make {groups} groups of as many"))
    })
}

/// Requires windows not to be larger than the padded extents of \[batch, channels, spatial…\].
pub(crate) fn require_fit(cx: &Infer<'_>, shape: &[DimExpr], windows: &[WindowAxis]) -> Result<(), OpError> {
    for (axis, (extent, window)) in shape.iter().skip(2).zip(windows).enumerate() {
        let what = format!("the window and the padded extent of axis {}", axis + 2);
        cx.at_most(&DimExpr::from(window.reach()), &window.padded(extent), &what)?;
    }
    Ok(())
}

/// An extent without the minima and maxima that the ranges of symbols decide, where bounds stay as narrow. Those of
/// products would not, were something taken off: they are multiplied out, and (h − 1)·(w − 1) bounded term by term may
/// be negative, which max(0, h − 1)·max(0, w − 1) may not.
pub(crate) fn decided(extent: DimExpr, symbols: &SymbolTable) -> DimExpr {
    let simple = extent.within(symbols);
    let only_adds = simple.constant_part() >= 0 && simple.terms().all(|(coefficient, _)| coefficient >= 0);
    if only_adds && simple.bounds(symbols) == extent.bounds(symbols) { simple } else { extent }
}

/// The type rule of an optional bias, operand `i`: one number for each channel of the result.
pub(crate) fn expect_bias(cx: &Infer<'_>, i: usize, channels: &DimExpr) -> Result<(), OpError> {
    let Some(bias) = cx.opt(i) else { return Ok(()) };
    cx.same_dtype(0, i)?;
    cx.expect_rank(i, 1)?;
    cx.equal(&bias.shape[0], channels, "the bias and the channels of the result")
}
