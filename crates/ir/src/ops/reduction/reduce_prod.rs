//! `ReduceProd`: the product over axes.

use crate::builder::Value;
use crate::ops::CumProd;
use crate::ops::elementwise::NUMERIC;
use crate::ops::elementwise::samples::unary_case;
use crate::ops::gradient::{narrowed, wide};
use crate::ops::reduce::Reduction;
use crate::ops::reduce::reduction;
use crate::ops::{GradCx, Grads, NoGrad};
use crate::sample::{Fill, Sample, random};
use crate::shape::product;
use pumice_types::DType;
use pumice_types::DimExpr;

reduction! {
    /// Πx over axes (ONNX ReduceProd); 1 over an empty set.
    ReduceProd reduce_prod, join Mul, mean false, NUMERIC, factors(), odd_integers(), beyond_the_range()
}

/// 20,011 floats of both signs: each the quotient of two numbers of 1 to 1.0625, the next one's numerator being this
/// one's denominator, so that products of neighbours stay near ±1, and those of every other element leave no float's
/// range. Prime, so that rows and columns of any length meet all of them; so many, because numbers that come again soon
/// are rounded alike each time: of 509, 200,000 factors were off by 6e-4.
fn factors() -> Fill {
    const COUNT: u64 = 20_011;
    let number = |i: u64| 1.0 + (random(7, i % COUNT) >> 40) as f64 / (1u64 << 28) as f64;
    let factor = |i: u64| {
        let sign = if i.is_multiple_of(3) { -1.0 } else { 1.0 };
        sign * number(i + 1) / number(i)
    };
    Fill::Floats((0..COUNT).map(factor).collect())
}

/// Integers of which one in thirteen is even: products of 37 wrap in every width and are 0 in none.
fn odd_integers() -> Fill {
    Fill::Ints(vec![3, 1, -1, 3, -3, 2, -1, 3, 1, -3, -3, 5, 7])
}

/// Rows whose products pass the largest float and the smallest.
fn beyond_the_range() -> Vec<Sample> {
    let rows = [("infinity", 2.0), ("minus infinity", -2.0), ("zero", 0.5)];
    let row = |(label, factor): (&str, f64)| {
        unary_case(
            &format!("a row beyond the range: {label}"),
            DType::F32,
            &[1, 259],
            &Fill::Constant(factor),
            &|g, x| g.reduce_prod(x, &[1], false),
        )
    };
    rows.into_iter().map(row).collect()
}

/// dy times the product of all others, made of the products before and after each element: no division, so that
/// zeros are right. In f32, where a product of part of the elements may be beyond the range.
fn rule(op: &ReduceProd, cx: &GradCx<'_>) -> Result<Grads, NoGrad> {
    let (g, x) = (cx.g, cx.x(0));
    let rank = cx.shape(x).len();
    let axes = op.axes(rank).map_err(|_| NoGrad::Composed)?;
    // The reduced axes behind the others.
    let kept = (0..rank).filter(|axis| !axes.contains(axis));
    let perm: Vec<i64> = kept.chain(axes.iter().copied()).map(|axis| axis as i64).collect();
    let mut back = vec![0i64; rank];
    perm.iter().enumerate().for_each(|(i, &from)| back[from as usize] = i as i64);
    let others = product_of_others(cx, g.transpose(wide(g, x), &perm), axes.len());
    let dy = wide(g, super::reduce::spread(cx, cx.dy(), op)?);
    Ok(vec![Some(narrowed(cx, g.mul(dy, g.transpose(others, &back)), x))])
}

/// For each element the product of all others over the last axes.
fn product_of_others(cx: &GradCx<'_>, x: Value, axes: usize) -> Value {
    let (g, shape) = (cx.g, cx.shape(x));
    let (kept, reduced) = shape.split_at(shape.len() - axes);
    let flat: Vec<DimExpr> = kept.iter().cloned().chain([product(reduced)]).collect();
    let rows = g.reshape_to(x, flat);
    let beside = |reverse| g.cum_prod(rows, CumProd { axis: -1, exclusive: true, reverse });
    g.reshape_to(g.mul(beside(false), beside(true)), shape)
}
