//! One pass of a transform: one step.

use super::Lower;
use crate::cx::{LowerCx, LowerResult};
use crate::rows::Rows;
use crate::step::StepBuilder;
use crate::unplaced::PlacedView;
use pumice_ir::NodeId;
use pumice_ir::ops::FftPass;
use pumice_plan::kernel::ArgValue;
use pumice_plan::kernels::transform::{FftPass as Pass, PRIMES, TILE, holds};
use pumice_types::DimExpr;

impl Lower for FftPass {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let node = cx.graph.node(id);
        let x = cx.dense(node.input(0).ok_or("it has no operand")?)?;
        let by = node.input(1).map(|by| cx.dense(by)).transpose()?;
        let y = cx.result(node.output())?;
        let axis = x.axis(self.axis)?;
        if y.is_empty() {
            return Ok(());
        }
        emit(self, cx, id, axis, (&x, by.as_ref(), &y))
    }
}

/// Factors of a pass in the order they are taken, 4 bits each, the first in the lowest: of powers of two eights, of
/// three nines. Primes without butterflies come first, where nothing is turned; each is a 1, and 8 bits of the second
/// number.
fn radices(mut radix: u64) -> [u32; 2] {
    let [mut all, mut at, mut primes, mut count] = [0; 4];
    for prime in PRIMES.rev().step_by(2) {
        while radix.is_multiple_of(prime) {
            all |= 1 << at;
            primes |= (prime as u32) << (8 * count);
            [at, count] = [at + 4, count + 1];
            radix /= prime;
        }
    }
    for factor in [13, 11, 9, 8, 7, 5, 4, 3, 2] {
        while radix.is_multiple_of(factor) {
            all |= (factor as u32) << at;
            at += 4;
            radix /= factor;
        }
    }
    [all, primes]
}

/// Whether the exponent is positive, x one side, y pairs, and whether lines that lie side by side are taken together
/// along what lies between two values of one: as they are loaded, and as they are stored.
fn form(op: &FftPass, inner: &DimExpr) -> [u32; 5] {
    let beside = |apart: i64| apart > 1 || !inner.is(1);
    [op.inverse, op.mirrored, !op.real, beside(op.length / op.radix), beside(op.done)].map(u32::from)
}

/// Groups that few lines are shared by.
const GROUPS: u64 = 256;

/// Lines of a group: as many as it holds, fewer where there are few; not of lines that lie side by side, which are
/// loaded and stored together.
fn at_once(cx: &LowerCx<'_>, op: &FftPass, lines: &DimExpr, beside: bool, prime: u64) -> u64 {
    let radix = op.radix as u64;
    let held = (1..=TILE / radix).rev().find(|&lines| holds(radix, lines, beside, prime)).unwrap_or(1);
    if beside { held } else { (lines.upper(cx.graph.symbols()) / GROUPS).clamp(1, held) }
}

/// Whether the numbers of a pass are constants.
fn is_fixed(cx: &LowerCx<'_>, op: &FftPass, lines: &DimExpr) -> bool {
    let values = lines.upper(cx.graph.symbols()).saturating_mul(op.radix as u64);
    cx.selection.transform.is_fixed(values, cx.target)
}

/// The step of x, what multiplies it, and y.
fn emit(
    op: &FftPass,
    cx: &mut LowerCx<'_>,
    id: NodeId,
    axis: usize,
    (x, by, y): (&PlacedView, Option<&PlacedView>, &PlacedView),
) -> LowerResult {
    let last = x.view.shape.len() - 1;
    let space = Rows::of(&x.view.shape[..last], axis..axis + 1);
    let beside = &space.outer * &space.inner;
    let lines = &beside * &DimExpr::constant(op.length / op.radix);
    cx.fits_u32(&(beside * DimExpr::constant(2 * op.length)), "the lines that are transformed")?;
    let mut step = StepBuilder::new();
    let bound = step.read(0, x);
    let numbers = [op.length, op.kept, op.done, op.radix];
    let [length, kept, done, radix] = numbers.map(|n| ArgValue::U32(n as u32));
    let [inverse, mirrored, pairs, across, back] = form(op, &space.inner);
    let [radices, primes] = radices(op.radix as u64);
    let at_once = at_once(cx, op, &lines, across + back > 0, u64::from(primes & 255)) as u32;
    let is_fixed = is_fixed(cx, op, &lines);
    let fixed = |n: i64| if is_fixed { n as u32 } else { 0 };
    let call = Pass {
        variant: Pass::plain,
        inverse,
        mirrored,
        complex: u32::from(x.view.shape[last].is(2)),
        pairs,
        weighted: u32::from(by.is_some()),
        across,
        back,
        fixed_length: fixed(op.length),
        fixed_given: fixed(space.n.as_const().unwrap_or(0)),
        fixed_kept: fixed(op.kept),
        fixed_inner: fixed(space.inner.as_const().unwrap_or(0)),
        fixed_done: fixed(op.done),
        fixed_radix: fixed(op.radix),
        fixed_radices: fixed(radices.into()),
        fixed_primes: fixed(primes.into()),
        fixed_at_once: fixed(at_once.into()),
        lines: cx.arg(&lines),
        length,
        given: cx.arg(&space.n),
        kept,
        inner: cx.arg(&space.inner),
        done,
        radix,
        radices: ArgValue::U32(radices),
        primes: ArgValue::U32(primes),
        at_once: ArgValue::U32(at_once),
        factor: ArgValue::f32(op.factor),
        by: by.map_or_else(|| bound.unread(), |by| step.read(1, by)),
        x: bound,
        y: step.write(y),
        slots: Vec::new(),
        holes: Vec::new(),
    };
    step.dispatch_node(cx, id, call.into_call(), &lines.ceil_div(&DimExpr::from(u64::from(at_once))))
}
#[cfg(test)]
mod tests {
    use super::radices;

    #[test]
    fn factors_are_taken_from_large_to_small() {
        assert_eq!(radices(1), [0, 0]);
        assert_eq!(radices(2048), [0x4888, 0]);
        assert_eq!(radices(1458), [0x2999, 0]);
        assert_eq!(radices(60), [0x345, 0]);
        assert_eq!(radices(13 * 11 * 7 * 2), [0x27bd, 0]);
        assert_eq!(radices(17 * 19 * 12), [0x3411, 17 << 8 | 19]);
    }
}
