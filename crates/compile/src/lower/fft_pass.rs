//! One pass of a transform: one step.

use super::Lower;
use crate::cx::{LowerCx, LowerResult};
use crate::rows::Rows;
use crate::step::StepBuilder;
use crate::unplaced::PlacedView;
use pumice_ir::NodeId;
use pumice_ir::ops::FftPass;
use pumice_plan::kernel::{ArgValue, Bound};
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
    let mut large = radix;
    for factor in [13, 11, 7, 5, 3, 2] {
        while large.is_multiple_of(factor) {
            large /= factor;
        }
    }
    // Without the small factors an odd divisor below 17 * 17 is a prime.
    for prime in PRIMES.rev().step_by(2) {
        while large.is_multiple_of(prime) {
            all |= 1 << at;
            primes |= (prime as u32) << (8 * count);
            [at, count] = [at + 4, count + 1];
            [large, radix] = [large / prime, radix / prime];
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
    let numbers = Numbers::of(op, cx, &space, &lines);
    let fixed = if is_fixed(cx, op, &lines) { numbers } else { Numbers::default() };
    let pairs_given = x.view.shape[last].is(2);
    let by = by.map(|by| step.read(1, by));
    let extents = [&lines, &space.n, &space.inner].map(|extent| cx.arg(extent));
    let form = [pairs_given, by.is_some()].map(u32::from);
    let operands = [by.unwrap_or_else(|| bound.unread()), bound, step.write(y)];
    let call = call(op, (numbers, fixed), (form, self::form(op, &space.inner)), extents, operands);
    let groups = lines.ceil_div(&DimExpr::from(u64::from(numbers.at_once)));
    step.dispatch_node(cx, id, call.into_call(), &groups)
}

/// The numbers of a pass that may be constants of its pipeline.
#[derive(Clone, Copy, Default)]
struct Numbers {
    length: u32,
    given: u32,
    kept: u32,
    inner: u32,
    done: u32,
    radix: u32,
    radices: u32,
    primes: u32,
    at_once: u32,
}

impl Numbers {
    /// Extents that symbols decide are 0, as a constant that is none.
    fn of(op: &FftPass, cx: &LowerCx<'_>, space: &Rows, lines: &DimExpr) -> Numbers {
        let [length, kept, done, radix] = [op.length, op.kept, op.done, op.radix].map(|n| n as u32);
        let [given, inner] = [&space.n, &space.inner].map(|extent| extent.as_const().unwrap_or(0) as u32);
        let [.., across, back] = form(op, &space.inner);
        let [radices, primes] = radices(op.radix as u64);
        let at_once = at_once(cx, op, lines, across + back > 0, u64::from(primes & 255)) as u32;
        Numbers { length, given, kept, inner, done, radix, radices, primes, at_once }
    }
}

/// The call: numbers as arguments and as constants, whether x has pairs and numbers multiply it, the form of the pass,
/// lines and the extents given, what multiplies, x and y.
fn call(
    op: &FftPass,
    (numbers, fixed): (Numbers, Numbers),
    ([complex, weighted], [inverse, mirrored, pairs, across, back]): ([u32; 2], [u32; 5]),
    [lines, given, inner]: [ArgValue; 3],
    [by, x, y]: [Bound; 3],
) -> Pass {
    Pass {
        variant: Pass::plain,
        inverse,
        mirrored,
        complex,
        pairs,
        weighted,
        across,
        back,
        fixed_length: fixed.length,
        fixed_given: fixed.given,
        fixed_kept: fixed.kept,
        fixed_inner: fixed.inner,
        fixed_done: fixed.done,
        fixed_radix: fixed.radix,
        fixed_radices: fixed.radices,
        fixed_primes: fixed.primes,
        fixed_at_once: fixed.at_once,
        lines,
        length: ArgValue::U32(numbers.length),
        given,
        kept: ArgValue::U32(numbers.kept),
        inner,
        done: ArgValue::U32(numbers.done),
        radix: ArgValue::U32(numbers.radix),
        radices: ArgValue::U32(numbers.radices),
        primes: ArgValue::U32(numbers.primes),
        at_once: ArgValue::U32(numbers.at_once),
        factor: ArgValue::f32(op.factor),
        by,
        x,
        y,
        slots: Vec::new(),
        holes: Vec::new(),
    }
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
        assert_eq!(radices(135), [0x359, 0]);
    }
}
