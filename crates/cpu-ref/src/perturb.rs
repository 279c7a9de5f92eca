//! An evaluation as another device might have made it: every result moved by what its op allows.
//!
//! In: an op with its operands and its result. Out: the result with every element moved, up or down, by between half
//! of its own bound and all of it (the op's tolerance for these operands and this element), rounded to the dtype. How
//! far such evaluations lie apart at an element of a later value says how far a device may be off there: the graph
//! itself carries the errors of its parts, element by element. Never here: whether something is close.
//!
//! What every device computes to the bit stays: exact ops, the largest and the smallest of their operands (gradients
//! ask which operand it is), and rounded sums and products of numbers of few bits.

use crate::array::{Array, Data, round};
use crate::eval::EvalCx;
use crate::ops;
use crate::tolerance::Tolerance;
use pumice_ir::Op;
use pumice_ir::sample::random;

/// Moves every result of an op, each by its own tolerance.
pub fn perturb(op: &Op, cx: &EvalCx<'_>, results: &mut [Array], seed: u64) {
    for (i, result) in results.iter_mut().enumerate() {
        // Results draw numbers of their own.
        perturb_one(op, &cx.about(i), result, seed ^ (i as u64).wrapping_mul(0xd6e8_feb8_6659_fd93));
    }
}

fn perturb_one(op: &Op, cx: &EvalCx<'_>, result: &mut Array, seed: u64) {
    let tolerance = ops::tolerance(op, cx);
    let dtype = result.dtype;
    let Data::Float(values) = &mut result.data else { return };
    if tolerance.is_no_rounding() {
        return;
    }
    let is_sum = matches!(tolerance, Tolerance::Sum { .. });
    let magnitudes = if is_sum { ops::magnitude(op, cx) } else { Vec::new() };
    // Beside terms of few bits a tiny one is lost in f64, and not in another order (seed 910135).
    let is_exact = |x: &&Array| match &x.data {
        Data::Float(v) => v.iter().all(|&v| has_few_bits(v)),
        Data::Int(_) => true,
    };
    let is_exact_sum = !magnitudes.is_empty() && cx.present().iter().all(is_exact);
    for (i, v) in values.iter_mut().enumerate() {
        let magnitude = magnitudes.get(i).copied().unwrap_or(0.0);
        let bound = match tolerance.is_one_rounding() {
            _ if !v.is_finite() || !magnitude.is_finite() => continue,
            // Every device rounds alike, but may leave out the rounding where it joins two ops (a·b + c).
            true if has_few_bits(*v) => continue,
            false if is_exact_sum && has_few_bits(*v) && has_few_bits(magnitude) => continue,
            true => crate::tolerance::ulp(dtype, *v),
            false => tolerance.allowance(dtype, *v, magnitude),
        };
        let drawn = random(seed, i as u64);
        let share = 0.5 + (drawn >> 12) as f64 / (1u64 << 53) as f64;
        *v = round(dtype, *v + if drawn & 1 == 0 { share * bound } else { -share * bound });
    }
}

/// A multiple of 2⁻⁸ below 2¹²: of numbers like this every order of summing gives the same f32.
fn has_few_bits(v: f64) -> bool {
    v.abs() < 4096.0 && (v * 256.0).fract() == 0.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{EvalOptions, eval_graph};
    use pumice_ir::ops::{Add, Exp, Max, Min, ReduceSum};
    use pumice_ir::{GraphBuilder, f32};
    use pumice_types::{Bindings, DType};
    use std::sync::Arc;

    /// How far each element of `op(x)` is moved, of what it may be.
    fn moved(op: Op, x: &[f64]) -> Vec<(f64, f64)> {
        let x = Array::floats(DType::F32, &[x.len() as u64], x.to_vec());
        let n = if matches!(op, Op::ReduceSum(_)) { vec![] } else { x.shape.clone() };
        let (inputs, outputs, none) = ([Some(&x), Some(&x)], [(DType::F32, n)], Bindings::new());
        let cx = EvalCx::new(&inputs, &outputs, &none);
        let plain = ops::eval(&op, &cx).remove(0);
        let mut other = plain.clone();
        perturb(&op, &cx, std::slice::from_mut(&mut other), 5);
        let tolerance = ops::tolerance(&op, &cx);
        let magnitude = ops::magnitude(&op, &cx);
        let each = plain.as_floats().iter().zip(other.as_floats()).enumerate();
        let allowed =
            |i: usize, v| tolerance.allowance(DType::F32, v, magnitude.get(i).copied().unwrap_or(0.0));
        each.map(|(i, (&a, &b))| ((a - b).abs(), allowed(i, a))).collect()
    }

    #[test]
    fn results_move_within_their_own_bounds() {
        let sums = || Op::ReduceSum(ReduceSum { axes: vec![], keepdims: false, noop_with_empty_axes: false });
        for (op, x) in [(Op::Exp(Exp {}), vec![0.3, -7.7, 2.1]), (sums(), vec![0.1; 50])] {
            for (by, most) in moved(op.clone(), &x) {
                assert!(by > 0.3 * most && by <= 1.2 * most, "{op:?}: {by:e} of {most:e}");
            }
        }
        // Small integers and halves are exact on every device, other sums are not.
        assert_eq!(moved(sums(), &[1.0, -3.5, 2.0])[0].0, 0.0);
        assert!(moved(sums(), &[3.0, -3.0, -7.9e-32])[0].0 > 0.0);
        let sums: Vec<bool> =
            moved(Op::Add(Add {}), &[2.0, 0.1, f64::NAN]).into_iter().map(|(by, _)| by > 0.0).collect();
        assert_eq!(sums, [false, true, false]);
        for op in [Op::Max(Max {}), Op::Min(Min {})] {
            assert_eq!(moved(op.clone(), &[0.3])[0].0, 0.0, "{op:?} is one of its operands");
        }
    }

    /// What one turn errs another one does not: their difference moves.
    #[test]
    fn turns_of_a_loop_move_each_by_itself() {
        let g = GraphBuilder::new("turns");
        let x = g.input("x", f32([8u64]));
        let [last, before] = g.loop_(2u64, [x, x], |g, _, [last, _]| [g.tanh(x), last]);
        g.output("apart", g.sub(last, before));
        let values = Array::floats(DType::F32, &[8], (1..9).map(|i| f64::from(i) / 10.0).collect());
        let given = |_: pumice_ir::ValueId| Some(Arc::new(values.clone()));
        let graph = g.build().expect("sound");
        let apart = |perturb| {
            let options = EvalOptions { perturb, ..EvalOptions::default() };
            let run = eval_graph(&graph, &given, &Bindings::new(), options).expect("evaluates");
            run.outputs[0].to_f64()
        };
        assert_eq!(apart(None), [0.0; 8]);
        assert!(apart(Some(5)).iter().any(|by| *by != 0.0));
    }
}
