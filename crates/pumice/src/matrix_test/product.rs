//! One product whose result says whether it is right: left factors of all kinds rounded to nearest even, what is too
//! large infinite, NaN kept, sums exact.

use super::numbers::{dtype, number, rounded};
use crate::device::Device;
use pumice_ir::{Graph, GraphBuilder, f32};
use pumice_runtime::Executable;
use pumice_types::{DType, Precision, TensorView};

/// Rows and columns of the result; the first half of each is about roundings, the second about sums.
const EDGE: usize = 128;
/// The rows of the first half whose factors are no numbers once they are rounded: too large, and NaN.
const NO_NUMBERS: [usize; 2] = [EDGE / 2 - 2, EDGE / 2 - 1];
/// Terms of each sum.
const TERMS: usize = 64;

/// None where no kernel of units makes it, or something refuses.
pub(super) fn is_right_by_units(device: &Device, precision: Precision) -> Option<bool> {
    let exe = super::by_units(&graph()?, device, precision)?;
    let (x, w) = (left(too_large(precision)), right());
    let y = run(&exe, &x, &w)?;
    Some(is_right(dtype(precision), &x, &w, &y))
}

/// The least number that becomes infinite.
fn too_large(precision: Precision) -> f32 {
    if precision == Precision::Bf16 { f32::MAX } else { 65_520.0 }
}

fn graph() -> Option<Graph> {
    let g = GraphBuilder::new("matrix units");
    let (x, w) =
        (g.input("x", f32([EDGE as u64, TERMS as u64])), g.input("w", f32([TERMS as u64, EDGE as u64])));
    g.output("y", g.matmul(x, w));
    g.build().ok()
}

fn run(exe: &Executable, x: &[f32], w: &[f32]) -> Option<Vec<f32>> {
    let (edge, terms) = (EDGE as u64, TERMS as u64);
    let views = [("x", TensorView::f32(x, [edge, terms])), ("w", TensorView::f32(w, [terms, edge]))];
    exe.session().ok()?.run(&views).ok()?.get("y").ok()?.to_vec::<f32>().ok()
}

/// Whether that is the product of the factors, the left one rounded: the right one has no more bits than bf16.
fn is_right(dtype: DType, x: &[f32], w: &[f32], y: &[f32]) -> bool {
    let rounded = rounded(x, dtype);
    let element = |(i, &y): (usize, &f32)| {
        let (row, column) = (i / EDGE, i % EDGE);
        let x = |k: usize| rounded[row * TERMS + k];
        let sum = || (0..TERMS).map(|k| x(k) * f64::from(w[k * EDGE + column])).sum::<f64>();
        if NO_NUMBERS.contains(&row) {
            // An infinite factor meets zeros, too.
            return !y.is_finite() || column >= TERMS;
        }
        match (row < EDGE / 2, column < TERMS) {
            (true, true) => f64::from(y) == x(column),
            (true, false) => true,
            (false, _) => f64::from(y) == sum(),
        }
    };
    y.iter().enumerate().all(element)
}

/// Every kind of number, then small integers, whose sums are exact in any order.
fn left(too_large: f32) -> Vec<f32> {
    let ordinary = |i: usize| match i / TERMS < EDGE / 2 {
        true => number(i),
        false => (i * 7 % 17) as f32 - 8.0,
    };
    let element = |i: usize| match i / TERMS {
        row if row == NO_NUMBERS[0] => too_large,
        row if row == NO_NUMBERS[1] => f32::NAN,
        _ => ordinary(i),
    };
    (0..EDGE * TERMS).map(element).collect()
}

/// One row of the identity for each term, then small integers.
fn right() -> Vec<f32> {
    let number = |i: usize| match (i / EDGE, i % EDGE) {
        (term, column) if column < TERMS => f32::from(u8::from(term == column)),
        (term, column) => ((term * 5 + column * 3) % 13) as f32 - 6.0,
    };
    (0..TERMS * EDGE).map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;

    /// The interpreter rounds as units should; nothing else passes.
    #[test]
    fn a_product_that_rounds_as_it_should_is_right() {
        for precision in [Precision::F16, Precision::Bf16] {
            let options = Options::default().precision(precision);
            let exe = crate::compile(&graph().expect("sound"), &Device::cpu(), &options).expect("compiles");
            let (x, w) = (left(too_large(precision)), right());
            let mut y = run(&exe, &x, &w).expect("runs");
            assert!(is_right(dtype(precision), &x, &w, &y), "{precision}");
            let other = if precision == Precision::F16 { DType::BF16 } else { DType::F16 };
            assert!(!is_right(other, &x, &w, &y), "another rounding");
            y[EDGE * EDGE - 1] += 1.0;
            assert!(!is_right(dtype(precision), &x, &w, &y), "a sum");
        }
    }
}
