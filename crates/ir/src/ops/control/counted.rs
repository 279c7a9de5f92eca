//! Turns that are counted: as many as an extent says, one after the other where that is known and little, else
//! recorded once. Each gives outputs besides what it leaves.

use super::loop_::{MOST_TURNS, left_as_it_begins};
use super::scan::{ScanAxis, Scanned};
use super::turns::{Closed, Collected, Ends, Numbered, Wrong, number, rows_of};
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
            let carried = vec![mistake; carried.len()];
            let (_, outputs) = body(self, Turn::None, &carried);
            return (carried, vec![mistake; outputs.len()]);
        }
        let op = &Counted { turns: self.none_or_more(&op.turns), ..*op };
        match (self.are_few(&op.turns), op.turns.as_const()) {
            (Err(wrong), _) => {
                let (_, outputs) = body(self, Turn::None, carried);
                wrong.results(self, op.method, carried, &outputs)
            }
            (_, Some(..=0)) => self.no_turn(carried, body, op),
            (_, Some(turns)) if self.unrolls(turns) => self.unrolled(carried, body, op, turns),
            _ => self.recorded(carried, body, op),
        }
    }

    /// So many turns, where less than one is none: of rows as well.
    #[track_caller]
    fn none_or_more(&self, turns: &DimExpr) -> DimExpr {
        let may_be_negative = turns.bounds(&self.symbols().unwrap_or_default()).0 < 0;
        if may_be_negative { turns.max_with(&0u64.into()) } else { turns.clone() }
    }

    /// Whether there are never more turns than are recorded.
    #[track_caller]
    fn are_few(&self, turns: &DimExpr) -> Result<(), Wrong> {
        let most = turns.upper(&self.symbols().unwrap_or_default());
        if most <= MOST_TURNS.unsigned_abs() || self.unrolls(most as i64) {
            return Ok(());
        }
        let why = format!("there may be {most} turns, at most {MOST_TURNS} are recorded: bound its symbols");
        Err(OpError::Invalid(why).into())
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
        let known = symbols.are_bound(&op.turns).then(|| Ends::After(op.turns.clone()));
        let first = known.clone().unwrap_or_else(|| Ends::When(g.less(number(&g, 0), count)));
        let turns = Numbered::begin(&g, carried, &first);
        let (next, outputs) = body(&g, Turn::Running { i: turns.i, last }, &turns.begun);
        let closed = turns.leave(&next, (&outputs, op.outputs), &rows, last).and_then(|left| {
            let ends = known.unwrap_or_else(|| Ends::When(g.less(left.then, count)));
            left.close(ends)
        });
        match closed {
            Ok(closed) => {
                let name = g.name().to_owned();
                self.ended((closed, &g.last()), &name, (&op.turns, rows == op.turns), carried.len())
            }
            Err(wrong) => wrong.results(&g.last(), op.method, carried, &outputs),
        }
    }

    /// What so many turns left, and the outputs of all: their buffers, or the rows of them that there are.
    #[track_caller]
    fn ended(
        &self,
        ((closed, collected), g): ((Closed, Collected), &GraphBuilder),
        name: &str,
        (turns, are_all): (&DimExpr, bool),
        carried: usize,
    ) -> Scanned {
        let most = turns.upper(&self.symbols().unwrap_or_default()).max(1);
        let results = closed.results(g, most);
        let (left, buffers) = results[1..].split_at(carried);
        let outputs =
            if are_all { buffers.to_vec() } else { self.scoped(name, |g| collected.rows(g, buffers, turns)) };
        (left.to_vec(), outputs)
    }

    /// Whether a turn leaves a version of a state in a place where it begins with one.
    #[track_caller]
    fn keeps_state(&self, place: usize, first: Value, next: Value) -> Result<(), OpError> {
        let is_version = |v: Value| self.look(|graph| v.valid().map(|v| graph.is_state_version(v)));
        if is_version(first) != Some(true) || is_version(next) != Some(false) {
            return Ok(());
        }
        let what = format!("what a turn leaves in place {place} is no version of the state");
        Err(OpError::Invalid(format!("{what}: write it with `state_write`")))
    }

    /// Whether a turn leaves values of the types that it began with.
    pub(super) fn left_as_begun(&self, begun: &[Value], next: &[Value]) -> Result<(), OpError> {
        if begun.len() != next.len() {
            return Err(unlike("leaves", next.len(), &format!("began with {}", begun.len())));
        }
        let symbols = self.symbols().unwrap_or_default();
        for (i, (&first, &next)) in begun.iter().zip(next).enumerate() {
            self.keeps_state(i, first, next)?;
            let (Some(first), Some(next)) = (self.type_of(first), self.type_of(next)) else { continue };
            left_as_it_begins(i, [&next, &first], &symbols)?;
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

#[cfg(test)]
mod tests {
    use crate::{GraphBuilder, Op, f32};

    #[test]
    fn known_turns_are_unrolled_as_far_as_is_said() {
        let loops = |unroll: Option<u64>, turns: u64| {
            let g = GraphBuilder::new("g");
            unroll.into_iter().for_each(|most| g.unroll(most));
            let [y] = g.loop_(turns, [g.input("x", f32([4]))], |g, _, [x]| [g.sin(x)]);
            g.output("y", y);
            let graph = g.build().expect("a graph");
            graph.nodes().filter(|(_, node)| matches!(node.op, Op::Loop(_))).count()
        };
        let all = [(None, 16), (None, 17), (Some(0), 0), (Some(0), 1), (Some(5), 5), (Some(5), 6)];
        assert_eq!(all.map(|(unroll, turns)| loops(unroll, turns)), [0, 1, 0, 1, 0, 1]);
    }
}
