//! The frame of one run: words interned while steps are lowered, and the program that advances them on the device.

use indexmap::IndexMap;
use pumice_ir::{Graph, Op};
use pumice_plan::{AdvanceKind, AdvanceOp, ArgValue, FrameBuilder, FrameSlot, FrameWord};
use pumice_types::dim::Atom;
use pumice_types::{DimExpr, ScalarId, Var};

/// An argument: a constant where the expression is one, else a word of the frame.
pub fn arg(frame: &mut FrameBuilder, expr: &DimExpr) -> ArgValue {
    match expr.as_const() {
        Some(c) => ArgValue::U32(c as u32),
        None => word(frame, expr).into(),
    }
}

/// The word that holds an expression.
pub fn word(frame: &mut FrameBuilder, expr: &DimExpr) -> FrameWord {
    match expr.as_symbol() {
        Some(symbol) => frame.intern(FrameSlot::Bound(symbol)),
        None => frame.intern(FrameSlot::Expr(expr.clone())),
    }
}

/// Consecutive words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    first: FrameWord,
    len: u32,
}

/// Grids in a row of their own, which one instruction can clear: where each begins, and the row. Equal grids are one.
pub fn grids_in_a_row(frame: &mut FrameBuilder, grids: &[[DimExpr; 3]]) -> (Vec<FrameWord>, Row) {
    let first = frame.end();
    let mut at: IndexMap<&[DimExpr; 3], FrameWord> = IndexMap::new();
    let mut place = |grid| {
        *at.entry(grid).or_insert_with(|| {
            let [x, _, _] = grid.clone().map(|e| frame.own(FrameSlot::Expr(e)));
            x
        })
    };
    let words = grids.iter().map(&mut place).collect();
    (words, Row { first, len: frame.end().0 - first.0 })
}

/// Gives the frame its advance program: scalars take their next values, all at once, then every expression of them is
/// computed anew. `advances` lists the scalars that advance and by what. Where replays can stop, `grids` are cleared
/// once they have, and scalars stay.
pub fn finish(frame: &mut FrameBuilder, advances: &[(ScalarId, DimExpr)], grids: Option<Row>) {
    if advances.is_empty() && grids.is_none() {
        return;
    }
    let stopped = grids.map(|_| frame.intern(FrameSlot::Stopped));
    let mut emit = Emit { frame, ops: Vec::new() };
    let mut next = Vec::new();
    for (scalar, by) in advances {
        let at = emit.frame.intern(FrameSlot::Scalar(*scalar));
        let step = emit.expr(by);
        next.push((at, emit.binary(AdvanceKind::Add, at, step)));
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
        emit.push(AdvanceKind::Copy, at, value.0, 0);
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
        let more = self.binary(AdvanceKind::Add, replays, one);
        self.copy_while_running(replays, more, Some(stopped));
        let count = self.temporary();
        self.push(AdvanceKind::Count, count, 0, 1);
        self.push(AdvanceKind::Max, stopped, stopped.0, count.0);
    }

    fn temporary(&mut self) -> FrameWord {
        self.frame.own(FrameSlot::Temporary)
    }

    fn constant(&mut self, value: i64) -> FrameWord {
        let dst = self.temporary();
        self.push(AdvanceKind::Const, dst, value as u32, 0);
        dst
    }

    fn binary(&mut self, op: AdvanceKind, a: FrameWord, b: FrameWord) -> FrameWord {
        let dst = self.temporary();
        self.push(op, dst, a.0, b.0);
        dst
    }

    fn expr(&mut self, e: &DimExpr) -> FrameWord {
        let mut sum: Option<FrameWord> = None;
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

    fn atom(&mut self, atom: &Atom) -> FrameWord {
        let (op, pair) = match atom {
            Atom::Var(Var::Symbol(id)) => return self.frame.intern(FrameSlot::Bound(*id)),
            Atom::Var(Var::Scalar(id)) => return self.frame.intern(FrameSlot::Scalar(*id)),
            Atom::FloorDiv(p) => (AdvanceKind::FloorDiv, p),
            Atom::CeilDiv(p) => (AdvanceKind::CeilDiv, p),
            Atom::Min(p) => (AdvanceKind::Min, p),
            Atom::Max(p) => (AdvanceKind::Max, p),
        };
        let (a, b) = (self.expr(&pair.0), self.expr(&pair.1));
        self.binary(op, a, b)
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
