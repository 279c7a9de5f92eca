//! Transposes, borders, fills and the beginning of a replay in the status block.

use super::accesses::Accesses;
use super::call::{Call, by_four, iteration, law};
use super::codes::{self, Operands};
use super::order::Order;
use super::resample::TwoAxes;
use super::{Footprint, Rule, Together, Wrong};
use crate::kernel::status::block_words;
use crate::kernels::copy::LINES;

/// The rules of this family.
pub(super) const RULES: &[(&str, Rule)] = &[
    ("transpose", transpose),
    ("borders", borders),
    ("dequantize", dequantize),
    ("dequantize_linear", dequantize_linear),
    ("fill", fill),
    ("status_begin", status_begin),
];

/// Edge of a tile of `transpose`.
const TILE: u64 = 32;

/// `transpose`.
fn transpose<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let [batch, rows, cols] = call.counts(["batch", "rows", "cols"])?;
    let [offset, x_batch, x_row, y_batch, y_row] =
        call.strides(["x_offset", "x_batch", "x_row", "y_batch", "y_row"])?;
    let groups = iteration(&[batch, rows.div_ceil(TILE), cols.div_ceil(TILE)])?;
    let x = Accesses::new(4, offset).axis(batch, x_batch).axis(rows, x_row).axis(cols, 1).ordered(Order::Any);
    // In the order of x, so that what belongs together can be compared.
    let y = Accesses::words().axis(batch, y_batch).axis(rows, 1).axis(cols, y_row).ordered(Order::Any);
    Ok(Footprint { together: Together::Everything, ..Footprint::new(groups, 1).operand(0, x).operand(1, y) })
}

/// `borders`. What stands outside of an axis are values.
fn borders<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    call.choice("mode", 3)?;
    let of = TwoAxes::of(call)?;
    let nothing = |[axis, made]: [u64; 2]| axis == 0 && made > 0;
    law(!nothing(of.first()) && !nothing(of.last), || "borders of nothing".to_owned())?;
    of.footprint(1, LINES)
}

/// `dequantize`.
fn dequantize<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let [n] = call.counts(["n"])?;
    by_four("`dequantize`", &[n])?;
    let x = Accesses::dense(call.typed_unit(0), n);
    Ok(Footprint::new(n.div_ceil(1024), 256).operand(0, x).operand(1, Accesses::dense(4, n)))
}

/// `dequantize_linear`.
fn dequantize_linear<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let [n] = call.fixed_counts(["n"])?;
    let at = Operands { codes: 0, scales: 1, zeros: 2 };
    let (footprint, unit) = codes::with_places(call, Footprint::new(n.div_ceil(1024), 256), &at, n)?;
    Ok(footprint.operand(0, Accesses::dense(unit, n)).operand(3, Accesses::dense(4, n)))
}

/// `fill`: its numbers are values.
fn fill<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let [n] = call.counts(["n"])?;
    let unit = if call.choice("kind", 3)? == 1 { 8 } else { 4 };
    Ok(Footprint::new(n.div_ceil(256), 256).operand(0, Accesses::dense(unit, n)))
}

/// `status_begin`: one use, the whole block, of which the view shows the flags alone.
fn status_begin<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let [ops] = call.fixed_counts(["ops"])?;
    let words = block_words(ops);
    let block = call.call.operands.first().and_then(|at| call.step.uses.get(usize::from(at.0)));
    let bytes = block.map_or(0, |u| u.span.len.0);
    law(4 * words <= bytes, || format!("it works on {words} words of a block of {bytes} bytes"))?;
    Ok(Footprint::new(ops.div_ceil(256), 256))
}
