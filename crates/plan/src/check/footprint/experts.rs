//! Products by experts. Ids and the order of rows are data: kernels compare them with how many there are.

use super::accesses::Accesses;
use super::call::{Call, by_four, iteration, law};
use super::matmul;
use super::order::Order;
use super::{Footprint, Rule, Wrong};

/// The rules of this family.
pub(super) const RULES: &[(&str, Rule)] =
    &[("expert_rows", rows), ("grouped_matmul", alone), ("grouped_matmul_tile", tile)];

/// `expert_rows`.
fn rows<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let [count, experts] = call.fixed_counts(["count", "experts"])?;
    let footprint = Footprint::new(experts + 1, 1).operand(0, Accesses::dense(4, count));
    Ok(footprint.operand(1, Accesses::dense(4, experts + 1 + count)))
}

/// `grouped_matmul`.
fn alone<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let [rows, n] = call.fixed_counts(["rows", "n"])?;
    factors(call, Footprint::new(iteration(&[rows, n.div_ceil(4)])?, 1), 3)
}

/// `grouped_matmul_tile`.
fn tile<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let [rows, n, k, experts] = call.fixed_counts(["rows", "n", "k", "experts"])?;
    let (bm, bn) = (call.defined("BM")?, call.defined("BN")?);
    matmul::tails(call, k, [rows, n])?;
    law(call.flag("edge")?, || "its tiles are not full".to_owned())?;
    let tiles = rows.div_ceil(bm) + experts + 1;
    let groups = iteration(&[tiles, n.div_ceil(bn)])?;
    let order = Accesses::dense(4, experts + 1 + rows);
    Ok(factors(call, Footprint::new(groups, 1), 4)?.operand(3, order))
}

/// Adds the operands that both have, and the result, which is operand `y`.
fn factors<'i>(call: &Call<'i>, footprint: Footprint<'i>, y: usize) -> Result<Footprint<'i>, Wrong> {
    let [rows, n, k, experts, picks] = call.fixed_counts(["rows", "n", "k", "experts", "picks"])?;
    law(picks > 0 && rows.is_multiple_of(picks), || format!("{rows} rows of {picks} experts each"))?;
    iteration(&[rows, n])?;
    iteration(&[rows / picks, k])?;
    law(call.choice("a_mode", 2)? == 0 || k.is_multiple_of(4), || format!("quads of rows of {k}"))?;
    if call.flag("vec_y")? {
        by_four("`vec_y`", &[n as i64])?;
    }
    let b = matrices(call, [experts, k, n])?;
    let (a, of_y) = ([rows / picks, k], [rows / picks, picks, n]);
    // Of a list of ids the result has no axis of experts.
    let of_y = if call.rank(2) == 1 { vec![rows, n] } else { of_y.to_vec() };
    let of_id = &of_y[..of_y.len() - 1];
    Ok(footprint
        .operand(0, Accesses::dense(4, rows / picks * k).within(1, &a, 1))
        .operand(1, b)
        .operand(2, Accesses::dense(4, rows).within(1, of_id, 1))
        .operand(y, Accesses::dense(4, rows * n).within(1, &of_y, 1)))
}

/// The matrices of all experts.
fn matrices<'i>(call: &Call<'i>, [experts, k, n]: [u64; 3]) -> Result<Accesses<'i>, Wrong> {
    let [at, e, row, col] = call.fixed_strides(["b_at", "b_e", "b_row", "b_col"])?;
    matmul::mode(call, "b_mode", [at, e, 0], (row, k), (col, n))?;
    let b = Accesses::new(call.typed_unit(1), at).axis(experts, e).axis(k, row).axis(n, col);
    Ok(b.ordered(Order::LastTwo))
}
