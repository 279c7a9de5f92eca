//! Tensors seen as [outer, n, inner] around a range of axes, and rounding as a hole.

use crate::cx::{LowerCx, LowerResult, Refusal};
use pumice_ir::shape::product;
use pumice_plan::kernel::{HoleFill, HoleInput};
use pumice_plan::kernels::softmax::{SoftmaxColumns, SoftmaxRows};
use pumice_types::scalar::{RegType, ScalarExpr};
use pumice_types::{DType, DimExpr, Target};
use std::ops::Range;

/// A dense tensor collapsed around some adjacent axes.
pub struct Rows {
    /// Elements before the axes.
    pub outer: DimExpr,
    /// Elements of the axes.
    pub n: DimExpr,
    /// Elements behind the axes.
    pub inner: DimExpr,
}

impl Rows {
    /// Collapses a shape around the axes.
    pub fn of(shape: &[DimExpr], axes: Range<usize>) -> Rows {
        Rows {
            outer: product(&shape[..axes.start]),
            n: product(&shape[axes.clone()]),
            inner: product(&shape[axes.end..]),
        }
    }
}

/// Variant and lanes of the row kernels (norms, softmax) for rows of that length.
pub fn row_variant(cx: &LowerCx<'_>, n: &DimExpr) -> (&'static str, u32) {
    cx.selection.rows.choose(n.upper(cx.graph.symbols()))
}

/// How a softmax along rows is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowForm {
    /// The variant.
    pub variant: &'static str,
    /// Threads of a row.
    pub lanes: u32,
    /// Threads of a group.
    pub threads: u32,
}

/// The form of a softmax over at most `rows` rows of at most `n` elements: groups of 1024 threads on GPUs where rows are too
/// long for 256 threads to keep, or where there are fewer of them than compute units.
pub fn softmax_rows(cx: &LowerCx<'_>, rows: u64, n: u64) -> RowForm {
    const THREADS: u32 = 1024;
    let target = cx.target;
    let large = !target.features.cpu && target.limits.max_workgroup_invocations >= THREADS;
    let few = n > 4096 && rows <= u64::from(target.tuning.compute_units);
    if large && (few || n > 16_384) {
        let variant = match n.div_ceil(4 * u64::from(THREADS)) {
            0..=4 => SoftmaxRows::wide4,
            5..=8 => SoftmaxRows::wide8,
            _ => SoftmaxRows::wide,
        };
        return RowForm { variant, lanes: THREADS, threads: THREADS };
    }
    let (variant, lanes) = cx.selection.rows.choose(n);
    RowForm { variant, lanes, threads: 256 }
}

/// `columns` of `softmax_columns` for at most so many columns of at most `n` elements: fewer, with more threads for each,
/// while there are too few groups for a GPU and enough elements for the threads, or where the driver would end the loops.
/// Eight columns are a sector of memory.
pub fn softmax_columns(target: &Target, columns: u64, n: u64) -> u32 {
    let ends = |c: u64| {
        target
            .limits
            .lets_turn(SoftmaxColumns::DECL.turns_of(SoftmaxColumns::plain, &[("n", n), ("columns", c)]))
    };
    let wanted = 8 * u64::from(target.tuning.compute_units);
    let starved = |c: u64| {
        let groups = columns.div_ceil(c);
        // Parts of a sector are read where all but a few compute units would have nothing to do.
        let few = if c > 8 { groups < wanted } else { 64 * groups < wanted && n >= 4096 };
        !target.features.cpu && few && n > 8 * (256 / c)
    };
    let mut c = 256;
    while c > 1 && (starved(c) || !ends(c)) {
        c /= 2;
    }
    c as u32
}

/// Whether a reduction over axes with others between them is faster as several. In one, each thread waits for its words
/// one after the other, so many threads a result, and neighbours read apart; each further step costs a level. On a CPU the one step is taken.
pub fn reduces_apart(target: &Target, lanes: u32, outputs: u64, reduced: u64) -> bool {
    if target.features.cpu {
        return false;
    }
    let t = &target.tuning;
    let lanes = u64::from(lanes);
    let waves = outputs.saturating_mul(lanes).div_ceil(2048 * u64::from(t.compute_units.max(1)));
    let bytes = 4.0 * outputs as f64 * reduced as f64;
    // Microseconds of one load after the other, and the share of the bandwidth that scattered words get.
    let (load, share) = (0.6, 0.2);
    let loads = reduced.div_ceil(4 * lanes).saturating_mul(waves) as f64 * load;
    let together = loads.max(bytes / (share * t.bytes_per_us));
    together > 2.0 * t.level_us + bytes / (0.7 * t.bytes_per_us)
}

/// The fill that rounds a kernel's f32 result to a 16-bit float; none for f32.
pub fn rounding(dtype: DType, hole: &str) -> LowerResult<Vec<HoleFill>> {
    if dtype == DType::F32 {
        return Ok(Vec::new());
    }
    let expr = ScalarExpr::unary(RegType::F32, |b, x| b.narrow(x, dtype))
        .map_err(|e| Refusal(format!("rounding to {dtype}: {e}")))?;
    let inputs = vec![HoleInput::Value(0)];
    Ok(vec![HoleFill { hole: hole.to_owned(), expr, inputs, result: Some(0), stores: Vec::new() }])
}
