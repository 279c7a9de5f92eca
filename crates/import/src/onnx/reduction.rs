//! Reductions, cumulations, orders.

use super::call::{Call, one};
use super::movement::ints_or_attribute;
use super::{Results, Rule, rule};
use pumice_ir::ops::arg_max::ArgMax;
use pumice_ir::ops::arg_min::ArgMin;
use pumice_ir::ops::cum_prod::CumProd;
use pumice_ir::ops::cum_sum::CumSum;
use pumice_ir::{GraphBuilder, Value};
use pumice_types::DType;

pub(super) const RULES: &[Rule] = &[
    rule("ReduceL1", 1, |c| reduce(c, GraphBuilder::reduce_l1, GraphBuilder::abs)),
    rule("ReduceL2", 1, |c| reduce(c, GraphBuilder::reduce_l2, GraphBuilder::abs)),
    rule("ReduceLogSum", 1, |c| reduce(c, GraphBuilder::reduce_log_sum, GraphBuilder::log)),
    rule("ReduceLogSumExp", 1, |c| reduce(c, GraphBuilder::reduce_log_sum_exp, GraphBuilder::identity)),
    rule("ReduceMax", 1, |c| extreme(c, GraphBuilder::reduce_max, GraphBuilder::reduce_any)),
    rule("ReduceMean", 1, |c| reduce(c, GraphBuilder::reduce_mean, GraphBuilder::identity)),
    rule("ReduceMin", 1, |c| extreme(c, GraphBuilder::reduce_min, GraphBuilder::reduce_all)),
    rule("ReduceProd", 1, |c| reduce(c, GraphBuilder::reduce_prod, GraphBuilder::identity)),
    rule("ReduceSum", 1, |c| reduce(c, GraphBuilder::reduce_sum, GraphBuilder::identity)),
    rule("ReduceSumSquare", 1, |c| reduce(c, GraphBuilder::reduce_sum_square, GraphBuilder::square)),
    rule("ArgMax", 1, arg_max),
    rule("ArgMin", 1, arg_min),
    rule("CumSum", 11, cum_sum),
    rule("CumProd", 26, cum_prod),
    rule("TopK", 10, top_k),
];

type Reduction = fn(&GraphBuilder, Value, &[i64], bool) -> Value;

/// `each` is what is left where no axes are given and that means none.
fn reduce(c: &mut Call<'_>, method: Reduction, each: fn(&GraphBuilder, Value) -> Value) -> Results {
    let (x, axes) = (c.x(0)?, ints_or_attribute(c, 1, "axes")?.unwrap_or_default());
    let (keepdims, noop) = (c.flag("keepdims", true)?, c.flag("noop_with_empty_axes", false)?);
    one(if axes.is_empty() && noop { each(c.g, x) } else { method(c.g, x, &axes, keepdims) })
}

/// The largest or smallest; of booleans, whether any or all are true.
fn extreme(c: &mut Call<'_>, method: Reduction, of_truth: Reduction) -> Results {
    let x = c.x(0)?;
    let truth = c.ty(x)?.dtype() == DType::Bool;
    reduce(c, if truth { of_truth } else { method }, GraphBuilder::identity)
}

fn arg_max(c: &mut Call<'_>) -> Results {
    let (x, axis, keepdims) = (c.x(0)?, c.int("axis", 0)?, c.flag("keepdims", true)?);
    let select_last_index = c.flag("select_last_index", false)?;
    one(c.g.apply(ArgMax { axis, keepdims, select_last_index, index_dtype: DType::I64 }, &[x]))
}

fn arg_min(c: &mut Call<'_>) -> Results {
    let (x, axis, keepdims) = (c.x(0)?, c.int("axis", 0)?, c.flag("keepdims", true)?);
    let select_last_index = c.flag("select_last_index", false)?;
    one(c.g.apply(ArgMin { axis, keepdims, select_last_index, index_dtype: DType::I64 }, &[x]))
}

fn cum_sum(c: &mut Call<'_>) -> Results {
    let (x, axis) = (c.x(0)?, c.known_int(1)?);
    let (exclusive, reverse) = (c.flag("exclusive", false)?, c.flag("reverse", false)?);
    one(c.g.cum_sum(x, CumSum { axis, exclusive, reverse }))
}

fn cum_prod(c: &mut Call<'_>) -> Results {
    let (x, axis) = (c.x(0)?, c.known_int(1)?);
    let (exclusive, reverse) = (c.flag("exclusive", false)?, c.flag("reverse", false)?);
    one(c.g.cum_prod(x, CumProd { axis, exclusive, reverse }))
}

/// Results are sorted whether that is asked for or not.
fn top_k(c: &mut Call<'_>) -> Results {
    let (x, k, axis) = (c.x(0)?, c.known_count(1)?, c.int("axis", -1)?);
    let largest = c.flag("largest", true)?;
    c.flag("sorted", true)?;
    let (values, indices) = c.g.top_k(x, k, axis, largest);
    Ok(vec![values, indices])
}
