//! The frame of one run: words interned while steps are lowered, and the program that advances them on the device.

use indexmap::IndexMap;
use pumice_ir::{Graph, Op};
use pumice_plan::frame::OF_ROW;
use pumice_plan::{AdvanceKind, AdvanceOp, FrameBuilder, FrameSlot, FrameWord};
use pumice_types::dim::Atom;
use pumice_types::{DimExpr, ScalarId, SymbolId, Var};
use std::collections::BTreeMap;

/// The word that holds an expression.
pub fn word(frame: &mut FrameBuilder, expr: &DimExpr) -> FrameWord {
    match expr.as_symbol() {
        Some(symbol) => frame.intern(FrameSlot::Bound(symbol)),
        None => frame.intern(FrameSlot::Expr(expr.clone())),
    }
}

/// Consecutive words, which are grids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GridRange {
    first: FrameWord,
    len: u32,
}

/// Grids in a row of their own, which one instruction can clear: where each begins, and the row. Equal grids are one.
pub fn grids_in_a_row(frame: &mut FrameBuilder, grids: &[[DimExpr; 3]]) -> (Vec<FrameWord>, GridRange) {
    let first = frame.end();
    let mut at: IndexMap<&[DimExpr; 3], FrameWord> = IndexMap::new();
    let mut place = |grid| {
        *at.entry(grid).or_insert_with(|| {
            let [x, _, _] = grid.clone().map(|e| frame.own(FrameSlot::Expr(e)));
            x
        })
    };
    let words = grids.iter().map(&mut place).collect();
    (words, GridRange { first, len: frame.end().0 - first.0 })
}

/// Gives the frame its advance program: scalars take their next values, all at once, then every expression of them is
/// computed anew. `advances` lists the scalars that advance and by what. Where replays can stop, `grids` are cleared
/// once they have, and scalars stay.
pub fn finish(frame: &mut FrameBuilder, advances: &[(ScalarId, DimExpr)], grids: Option<GridRange>) {
    if advances.is_empty() && grids.is_none() {
        return;
    }
    let stopped = grids.map(|_| frame.intern(FrameSlot::Stopped));
    let mut emit = Emit { frame, ops: Vec::new() };
    let mut next = Vec::new();
    for (scalar, by) in advances {
        let at = emit.frame.intern(FrameSlot::Scalar(*scalar));
        let step = emit.expr(by);
        next.push((at, FrameWord(emit.binary(AdvanceKind::Add, at.0, step))));
    }
    for (at, value) in next {
        emit.copy_while_running(at, value, stopped);
    }
    if let Some(stopped) = stopped {
        emit.stop(stopped);
    }
    let advancing = |v: Var| matches!(v, Var::Scalar(s) if advances.iter().any(|(a, _)| *a == s));
    let exprs: Vec<(FrameWord, DimExpr)> = (emit.frame.frame().words.iter().enumerate())
        .filter_map(|(i, slot)| match slot {
            FrameSlot::Expr(e) if e.find_var(advancing).is_some() => Some((FrameWord(i as u32), e.clone())),
            _ => None,
        })
        .collect();
    for (at, e) in exprs {
        let value = emit.expr(&e);
        emit.push(AdvanceKind::Copy, at, value, 0);
    }
    if let (Some(grids), Some(stopped)) = (grids, stopped) {
        emit.push(AdvanceKind::ClearIf, grids.first, stopped.0, grids.len);
    }
    let ops = emit.ops;
    frame.advance(ops);
}

struct Emit<'f> {
    frame: &'f mut FrameBuilder,
    ops: Vec<AdvanceOp>,
}

impl Emit<'_> {
    fn push(&mut self, op: AdvanceKind, dst: FrameWord, a: u32, b: u32) {
        self.ops.push(AdvanceOp { op, dst, a, b });
    }

    /// A word takes a value, but not after the stop.
    fn copy_while_running(&mut self, at: FrameWord, value: FrameWord, stopped: Option<FrameWord>) {
        match stopped {
            Some(stopped) => self.push(AdvanceKind::CopyUnless, at, value.0, stopped.0),
            None => self.push(AdvanceKind::Copy, at, value.0, 0),
        }
    }

    /// The replay counted, unless an earlier one had stopped; then it may have stopped itself.
    fn stop(&mut self, stopped: FrameWord) {
        let replays = self.frame.intern(FrameSlot::Replays);
        let one = self.constant(1);
        let more = self.binary(AdvanceKind::Add, replays.0, one);
        self.copy_while_running(replays, FrameWord(more), Some(stopped));
        let count = self.temporary();
        self.push(AdvanceKind::Count, count, 0, 1);
        self.push(AdvanceKind::Max, stopped, stopped.0, count.0);
    }

    fn temporary(&mut self) -> FrameWord {
        self.frame.own(FrameSlot::Temporary)
    }
}

impl Emits for Emit<'_> {
    fn binary(&mut self, op: AdvanceKind, a: u32, b: u32) -> u32 {
        let dst = self.temporary();
        self.push(op, dst, a, b);
        dst.0
    }

    fn var(&mut self, v: Var) -> u32 {
        self.frame
            .intern(match v {
                Var::Symbol(id) => FrameSlot::Bound(id),
                Var::Scalar(id) => FrameSlot::Scalar(id),
            })
            .0
    }
}

/// What makes instructions: of an expression those of its sums, products, quotients and extrema. Operands are words as
/// the instructions name them.
trait Emits {
    /// An instruction; the word that it makes.
    fn binary(&mut self, op: AdvanceKind, a: u32, b: u32) -> u32;

    /// A word with that value.
    fn constant(&mut self, value: i64) -> u32 {
        self.binary(AdvanceKind::Const, value as u32, 0)
    }

    /// The word that a variable is.
    fn var(&mut self, v: Var) -> u32;

    fn expr(&mut self, e: &DimExpr) -> u32 {
        let mut sum: Option<u32> = None;
        for (coefficient, factors) in e.terms() {
            let mut product = (coefficient != 1).then(|| self.constant(coefficient));
            for factor in factors {
                let value = self.atom(factor);
                product = Some(match product {
                    Some(p) => self.binary(AdvanceKind::Mul, p, value),
                    None => value,
                });
            }
            let product = product.unwrap_or_else(|| self.constant(coefficient));
            sum = Some(match sum {
                Some(s) => self.binary(AdvanceKind::Add, s, product),
                None => product,
            });
        }
        match (sum, e.constant_part()) {
            (Some(s), 0) => s,
            (Some(s), c) => {
                let c = self.constant(c);
                self.binary(AdvanceKind::Add, s, c)
            }
            (None, c) => self.constant(c),
        }
    }

    fn atom(&mut self, atom: &Atom) -> u32 {
        let (op, pair) = match atom {
            Atom::Var(v) => return self.var(*v),
            Atom::FloorDiv(p) => (AdvanceKind::FloorDiv, p),
            Atom::CeilDiv(p) => (AdvanceKind::CeilDiv, p),
            Atom::Min(p) => (AdvanceKind::Min, p),
            Atom::Max(p) => (AdvanceKind::Max, p),
        };
        let (a, b) = (self.expr(&pair.0), self.expr(&pair.1));
        self.binary(op, a, b)
    }
}

/// Instructions that fill a row of found words, whose operands are words of the row or those that the host writes.
pub struct Find<'f> {
    row: &'f mut FrameBuilder,
    base: &'f mut FrameBuilder,
    /// Of each symbol of the row the number of its count, and the largest that it may be.
    counts: &'f BTreeMap<SymbolId, (u32, u32)>,
    ops: Vec<AdvanceOp>,
}

impl<'f> Find<'f> {
    /// No instructions yet.
    pub fn new(
        row: &'f mut FrameBuilder,
        base: &'f mut FrameBuilder,
        counts: &'f BTreeMap<SymbolId, (u32, u32)>,
    ) -> Find<'f> {
        Find { row, base, counts, ops: Vec::new() }
    }

    /// The word becomes what its slot says: the count of a symbol, or the value of an expression.
    pub fn slot(&mut self, slot: &FrameSlot, dst: FrameWord) {
        let (op, a, b) = match slot {
            FrameSlot::Bound(symbol) => match self.counts.get(symbol) {
                Some(&(k, most)) => (AdvanceKind::Count, k, most),
                None => return,
            },
            FrameSlot::Expr(e) => (AdvanceKind::Copy, self.expr(e), 0),
            _ => return,
        };
        self.ops.push(AdvanceOp { op, dst, a, b });
    }

    /// The instructions.
    pub fn ops(self) -> Vec<AdvanceOp> {
        self.ops
    }
}

impl Emits for Find<'_> {
    fn binary(&mut self, op: AdvanceKind, a: u32, b: u32) -> u32 {
        let dst = self.row.own(FrameSlot::Temporary);
        self.ops.push(AdvanceOp { op, dst, a, b });
        dst.0 | OF_ROW
    }

    fn var(&mut self, v: Var) -> u32 {
        match v {
            Var::Symbol(id) => match self.counts.get(&id).copied() {
                Some((k, most)) => self.binary(AdvanceKind::Count, k, most),
                None => self.base.intern(FrameSlot::Bound(id)).0,
            },
            Var::Scalar(id) => self.base.intern(FrameSlot::Scalar(id)).0,
        }
    }
}

/// The range of each scalar of a graph; of one that it does not have, everything.
pub fn scalar_ranges(graph: &Graph) -> impl Fn(ScalarId) -> (i64, i64) + '_ {
    let scalars = graph.scalars();
    move |id| match scalars.get(id.0 as usize).map(|&v| &graph.def(v).op) {
        Some(Op::Scalar(s)) => (s.min as i64, s.max as i64),
        _ => (i64::MIN, i64::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pumice_types::{Bindings, SymbolId};

    /// The device's advance gives the words the host would write for the next position.
    #[test]
    fn advance_equals_evaluation_at_the_next_value() {
        let (pos, t) = (DimExpr::scalar(ScalarId(0)), DimExpr::symbol(SymbolId(0)));
        let mut frame = FrameBuilder::new();
        word(&mut frame, &(&pos + &t));
        word(&mut frame, &(&pos + 1u64).ceil_div(&64u64.into()));
        word(&mut frame, &(pos.min_with(&DimExpr::constant(9)) * &t));
        finish(&mut frame, &[(ScalarId(0), t)], None);
        let frame = frame.build();
        let words = |at: i64| {
            let mut b = Bindings::new();
            b.bind(SymbolId(0), 4);
            b.bind_scalar(ScalarId(0), at);
            frame.evaluate(&b, &|_| at as u32).expect("all bound")
        };
        let mut stepped = words(7);
        frame.run_advance(&mut stepped, &[]);
        for (i, slot) in frame.words.iter().enumerate() {
            if *slot != FrameSlot::Temporary {
                assert_eq!(stepped[i], words(11)[i], "word {i}: {slot:?}");
            }
        }
    }
}
