//! Turns that are counted: as many as an extent says, one after the other where that is known and little, else
//! recorded once. Each gives outputs besides what it leaves.

use super::scan::{ScanAxis, Scanned};
use super::turns::{Collected, Numbered, UNROLLED, Wrong, number, rows_of};
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use pumice_types::{DType, DimExpr};

/// A turn among all of a loop.
#[derive(Clone, Copy)]
pub(super) enum Turn {
    /// There is none: what its values are does not matter, their types do.
    None,
    /// By its number, of so many.
    Known { i: i64, of: i64 },
    /// While it runs, by its number, with that of the last.
    Running { i: Value, last: Value },
}

impl Turn {
    /// Its number, an i32 of rank 0.
    pub fn number(self, g: &GraphBuilder) -> Value {
        match self {
            Turn::None => number(g, 0),
            Turn::Known { i, .. } => number(g, i),
            Turn::Running { i, .. } => i,
        }
    }

    /// Its slice of a value.
    pub fn slice(self, g: &GraphBuilder, x: Value, (axis, reverse): (usize, bool)) -> Value {
        match self {
            Turn::None => {
                let Some(ty) = g.type_of(x) else { return x };
                let mut shape = ty.shape.to_vec();
                shape.remove(axis);
                g.fill(g.constant_scalar(ty.dtype(), 0.0), shape)
            }
            Turn::Known { i, of } => {
                let at = if reverse { of - 1 - i } else { i };
                g.squeeze(g.narrow(x, axis as i64, DimExpr::constant(at), 1u64), &[axis as i64])
            }
            Turn::Running { i, last } => {
                let at = if reverse { g.sub(last, i) } else { i };
                g.gather(x, at, axis as i64)
            }
        }
    }
}

/// Turns that are counted.
pub(super) struct Counted<'c> {
    /// The method that they are of.
    pub method: &'static str,
    /// How many there are.
    pub turns: DimExpr,
    /// How outputs are stacked.
    pub outputs: &'c [ScanAxis],
}

/// What a turn leaves and gives of what it begins with.
pub(super) type Body<'b> = dyn Fn(&GraphBuilder, Turn, &[Value]) -> Scanned + 'b;

impl GraphBuilder {
    /// What the last turn leaves, and the outputs of all.
    #[track_caller]
    pub(super) fn counted_turns(&self, carried: &[Value], body: &Body<'_>, op: &Counted<'_>) -> Scanned {
        if let Err(mistake) = self.operand_types(op.method, carried) {
            let (_, outputs) = body(self, Turn::None, &vec![mistake; carried.len()]);
            return (vec![mistake; carried.len()], vec![mistake; outputs.len()]);
        }
        match op.turns.as_const() {
            Some(..=0) => self.no_turn(carried, body, op),
            Some(turns) if turns <= UNROLLED => self.unrolled(carried, body, op, turns),
            _ => self.recorded(carried, body, op),
        }
    }

    /// Carried values as they are, and outputs without rows. The body tells their types.
    #[track_caller]
    fn no_turn(&self, carried: &[Value], body: &Body<'_>, op: &Counted<'_>) -> Scanned {
        let outside = self.symbols().unwrap_or_default().len();
        let g = self.composition(op.method);
        let before = g.written();
        let (next, outputs) = body(&g, Turn::None, carried);
        let collected = || -> Result<Collected, Wrong> {
            g.left_as_begun(carried, &next)?;
            match g.wrote_since(before) {
                Some(_) => Err(OpError::Invalid("a loop without a turn writes a state".to_owned()).into()),
                None => Collected::of(&g, &outputs, op.outputs, outside),
            }
        };
        match collected() {
            Ok(collected) => (carried.to_vec(), collected.empty(&g)),
            Err(wrong) => wrong.results(&g.last(), op.method, carried, &outputs),
        }
    }

    #[track_caller]
    fn unrolled(&self, carried: &[Value], body: &Body<'_>, op: &Counted<'_>, of: i64) -> Scanned {
        let outside = self.symbols().unwrap_or_default().len();
        let g = self.composition(op.method);
        let mut turns: Vec<Vec<Value>> = Vec::new();
        let mut left = carried.to_vec();
        for i in 0..of {
            let (next, outputs) = body(&g, Turn::Known { i, of }, &left);
            turns.push(outputs);
            if let Err(e) = g.left_as_begun(&left, &next).and_then(|()| as_many(&turns)) {
                return Wrong::from(e).results(&g.last(), op.method, carried, &turns[0]);
            }
            left = next;
        }
        match Collected::of(&g, &turns[0], op.outputs, outside) {
            Ok(collected) => (left, collected.stacked(&g, &turns)),
            Err(wrong) => wrong.results(&g.last(), op.method, &left, &turns[0]),
        }
    }

    #[track_caller]
    fn recorded(&self, carried: &[Value], body: &Body<'_>, op: &Counted<'_>) -> Scanned {
        let symbols = self.symbols().unwrap_or_default();
        let rows = rows_of(&op.turns, &symbols);
        let g = self.composition(op.method);
        let count = g.extent(g.range(0u64, op.turns.clone(), 1, DType::I32), 0);
        let last = g.sub(count, number(&g, 1));
        let turns = Numbered::begin(&g, carried, |g| g.less(number(g, 0), count));
        let (next, outputs) = body(&g, Turn::Running { i: turns.i, last }, &turns.begun);
        let left = match turns.leave(&next, (&outputs, op.outputs), &rows, last) {
            Ok(left) => left,
            Err(wrong) => return wrong.results(&g.last(), op.method, carried, &outputs),
        };
        let again = g.less(left.then, count);
        let ((closed, collected), name) = (left.close(again), g.name().to_owned());
        let results = closed.results(&g.last(), op.turns.upper(&symbols).max(1));
        let (left, buffers) = results[1..].split_at(carried.len());
        match rows == op.turns {
            true => (left.to_vec(), buffers.to_vec()),
            false => (left.to_vec(), self.scoped(&name, |g| collected.rows(g, buffers, &op.turns))),
        }
    }

    /// Whether a turn leaves values of the types that it began with.
    pub(super) fn left_as_begun(&self, begun: &[Value], next: &[Value]) -> Result<(), OpError> {
        if begun.len() != next.len() {
            return Err(unlike("leaves", next.len(), &format!("began with {}", begun.len())));
        }
        let symbols = self.symbols().unwrap_or_default();
        for (i, (&first, &next)) in begun.iter().zip(next).enumerate() {
            let (Some(first), Some(next)) = (self.type_of(first), self.type_of(next)) else { continue };
            if first != next {
                let what = format!("what a turn leaves in place {i} and what it begins with");
                let [a, b] = [next, first].map(|ty| ty.display(&symbols));
                return Err(OpError::ExtentMismatch { what, a, b });
            }
        }
        Ok(())
    }
}

/// A turn that has another number of values than it should.
pub(super) fn unlike(verb: &str, count: usize, should: &str) -> OpError {
    let values = if count == 1 { "value" } else { "values" };
    OpError::Invalid(format!("a turn {verb} {count} {values} and {should}"))
}

/// Whether the last turn gave as many outputs as those before.
fn as_many(turns: &[Vec<Value>]) -> Result<(), OpError> {
    match (turns.first().map(Vec::len), turns.last().map(Vec::len)) {
        (Some(before), Some(now)) if before != now => {
            Err(unlike("gives", now, &format!("gave {before} before")))
        }
        _ => Ok(()),
    }
}
