//! The turns of a loop while they are recorded: what each begins with, what the turns collect, the node that ends them.
//! Never here: how often there is another turn.

use super::scan::{ScanAxis, Scanned};
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::normalize_axis;
use crate::ops::tensor_scatter::TensorScatter;
use crate::ops::{Carry, Cast, ExtentOf, Loop};
use crate::shape::ValueType;
use pumice_types::{DType, DimExpr, SymbolTable};

/// What says whether there is a turn.
#[derive(Clone)]
pub(super) enum Ends {
    /// A condition, bool of one element: of what the first turn begins with, or of what a turn leaves.
    When(Value),
    /// So many there are, whatever they leave.
    After(DimExpr),
}

impl Ends {
    /// 1 where there is a turn, else 0; of counted turns nobody looks at it.
    fn flag(&self, g: &GraphBuilder) -> Value {
        match self {
            Ends::When(condition) => is_true(g, *condition),
            Ends::After(_) => number(g, 1),
        }
    }
}

/// A loop whose turns are being recorded.
pub(super) struct Turns<'g> {
    g: &'g GraphBuilder,
    number: i64,
    running: DimExpr,
    /// What a turn begins with, by its place; first whether there is one.
    carried: Vec<Value>,
}

impl<'g> Turns<'g> {
    /// The first turn.
    pub fn begin(g: &'g GraphBuilder, ends: &Ends) -> Turns<'g> {
        let number = g.look(|graph| graph.nodes.len() as i64);
        let flag = ends.flag(g);
        let mut turns = Turns { g, number, running: DimExpr::constant(1), carried: Vec::new() };
        let first = turns.carry(flag);
        turns.running = g.found_symbol(1);
        g.apply(ExtentOf { extent: turns.running.clone() }, &[first]);
        turns
    }

    /// Whether no node of the turns draws random numbers: those follow from the run and from the node, not from the
    /// turn.
    fn draws_nothing(&self) -> Result<(), OpError> {
        self.g.look(|graph| {
            let of_turns = graph.nodes.iter().skip(self.number as usize);
            match of_turns.clone().find(|node| node.op.stream().is_some()) {
                Some(node) => Err(OpError::Invalid(format!(
                    "a turn draws random numbers (`{}`), which would be the same in every turn: draw those of all \
                     turns before the loop",
                    graph.value(node.output()).name
                ))),
                None => Ok(()),
            }
        })
    }

    /// What every turn begins with in the next place, `init` in the first.
    pub fn carry(&mut self, init: Value) -> Value {
        let carry = Carry { number: self.number, place: self.carried.len() as i64 };
        let begun = self.g.apply(carry, &[init]);
        self.carried.push(begun);
        begun
    }

    /// The end of the turns: each leaves `next`. All that a turn makes is built, its condition as well.
    pub fn close(self, ends: Ends, next: Vec<Value>) -> Result<Closed, OpError> {
        self.draws_nothing()?;
        let (number, running) = (self.number, self.running);
        let (again, turns) = match ends {
            Ends::When(_) => (ends.flag(self.g), None),
            Ends::After(turns) => (self.carried[0], Some(turns)),
        };
        let next = [again].into_iter().chain(next).collect();
        Ok(Closed { number, running, turns, next, carried: self.carried })
    }
}

/// A loop without the node that ends it.
pub(super) struct Closed {
    number: i64,
    running: DimExpr,
    turns: Option<DimExpr>,
    next: Vec<Value>,
    carried: Vec<Value>,
}

impl Closed {
    /// What the last turn left. There are `most` at most.
    #[track_caller]
    pub fn results(self, g: &GraphBuilder, most: u64) -> Vec<Value> {
        let count = self.next.len();
        let operands: Vec<Option<Value>> = self.next.into_iter().chain(self.carried).map(Some).collect();
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let Closed { number, running, turns, .. } = self;
        let mut results = g.apply_all(Loop { number, running, most, turns }, &operands);
        match results.len() == count {
            true => results.split_off(1),
            false => vec![results[0]; count - 1],
        }
    }
}

/// Turns that are recorded, with their numbers from 0 on and with what they collect.
pub(super) struct Numbered<'g> {
    turns: Turns<'g>,
    /// The number of a turn, an i32 of rank 0.
    pub i: Value,
    /// What it begins with.
    pub begun: Vec<Value>,
    /// Symbols before the first turn.
    outside: usize,
}

impl<'g> Numbered<'g> {
    /// The first turn.
    pub fn begin(g: &'g GraphBuilder, carried: &[Value], ends: &Ends) -> Numbered<'g> {
        let outside = g.symbols().unwrap_or_default().len();
        let mut turns = Turns::begin(g, ends);
        let i = turns.carry(number(g, 0));
        let begun = carried.iter().map(|&v| turns.carry(v)).collect();
        Numbered { turns, i, begun, outside }
    }

    /// What a turn leaves, which gave these outputs: rows of buffers that have so many. Rows from the last on need the
    /// number of the `last` turn.
    pub fn leave(
        mut self,
        next: &[Value],
        (outputs, axes): (&[Value], &[ScanAxis]),
        rows: &DimExpr,
        last: Value,
    ) -> Result<Left<'g>, Wrong> {
        let g = self.turns.g;
        g.left_as_begun(&self.begun, next)?;
        let collected = Collected::of(g, outputs, axes, self.outside)?;
        let filled = collected.put(&mut self.turns, outputs, rows, [self.i, last]);
        let then = g.add(self.i, number(g, 1));
        let all = [then].into_iter().chain(next.iter().copied()).chain(filled).collect();
        Ok(Left { turns: self.turns, then, all, collected })
    }
}

/// What a turn leaves, before it is known whether there is another one.
pub(super) struct Left<'g> {
    turns: Turns<'g>,
    /// The number of the next turn.
    pub then: Value,
    all: Vec<Value>,
    collected: Collected,
}

impl Left<'_> {
    /// The end of the turns.
    pub fn close(self, ends: Ends) -> Result<(Closed, Collected), Wrong> {
        Ok((self.turns.close(ends, self.all)?, self.collected))
    }
}

/// Why a loop is refused.
pub(super) enum Wrong {
    /// A value came out of a mistake, which is told.
    Before,
    /// Something that is told now.
    Now(OpError),
}

impl From<OpError> for Wrong {
    fn from(e: OpError) -> Wrong {
        Wrong::Now(e)
    }
}

impl Wrong {
    /// The results of a call of a method that is refused, as many as a turn left and gave.
    #[track_caller]
    pub fn results(
        self,
        g: &GraphBuilder,
        method: &'static str,
        carried: &[Value],
        outputs: &[Value],
    ) -> Scanned {
        match self {
            Wrong::Before => (carried.to_vec(), outputs.to_vec()),
            Wrong::Now(e) => {
                let mistake = g.wrong_call(method, e);
                (vec![mistake; carried.len()], vec![mistake; outputs.len()])
            }
        }
    }
}

/// A condition as 1 or 0.
fn is_true(g: &GraphBuilder, condition: Value) -> Value {
    let one = g.reshape_to(condition, Vec::new());
    g.apply(Cast { to: DType::I32 }, &[one])
}

/// An i32 of rank 0.
pub(super) fn number(g: &GraphBuilder, i: i64) -> Value {
    g.constant_scalar(DType::I32, i as f64)
}

/// Whether an extent is a symbol that came after the `outside` first ones, in a turn.
fn names_a_symbol_of_turns(ty: &ValueType, outside: usize) -> bool {
    let is_inside =
        |d: &DimExpr| d.find_var(|v| v.symbol().is_some_and(|s| s.0 as usize >= outside)).is_some();
    ty.shape.iter().any(is_inside)
}

/// What the turns of a loop collect: a row of each output in every turn.
pub(super) struct Collected {
    /// By output, the axis and whether the last turn's row is the first.
    axes: Vec<(usize, bool)>,
    types: Vec<ValueType>,
}

impl Collected {
    /// Of outputs that a turn gave. `axes` are as a caller writes them; before the turn there were `outside` symbols.
    pub fn of(
        g: &GraphBuilder,
        outputs: &[Value],
        axes: &[ScanAxis],
        outside: usize,
    ) -> Result<Collected, Wrong> {
        let types: Option<Vec<ValueType>> = outputs.iter().map(|&v| g.type_of(v)).collect();
        let types = types.ok_or(Wrong::Before)?;
        if let Some(k) = types.iter().position(|ty| names_a_symbol_of_turns(ty, outside)) {
            let reason =
                format!("output {k} has an extent that a turn finds: all turns give rows of one shape");
            return Err(OpError::Invalid(reason).into());
        }
        let axes = resolved(axes, "outputs", types.iter().map(|ty| ty.rank() + 1))?;
        Ok(Collected { axes, types })
    }

    /// What the outputs of no turn are.
    pub fn empty(&self, g: &GraphBuilder) -> Vec<Value> {
        self.buffers(g, &DimExpr::constant(0))
    }

    /// The outputs of turns that were built one after the other.
    pub fn stacked(&self, g: &GraphBuilder, turns: &[Vec<Value>]) -> Vec<Value> {
        let stack = |(k, &(axis, reverse)): (usize, &(usize, bool))| {
            let mut rows: Vec<Value> = turns.iter().map(|outputs| outputs[k]).collect();
            if reverse {
                rows.reverse();
            }
            g.stack(&rows, axis as i64)
        };
        self.axes.iter().enumerate().map(stack).collect()
    }

    /// What every turn leaves of buffers with `rows` rows, at least one: its own in the row of its number, from the
    /// first on or from the last.
    fn put(
        &self,
        turns: &mut Turns<'_>,
        outputs: &[Value],
        rows: &DimExpr,
        [i, last]: [Value; 2],
    ) -> Vec<Value> {
        let g = turns.g;
        let is_reversed = self.axes.iter().any(|&(_, reverse)| reverse);
        let from_last = if is_reversed { g.sub(last, i) } else { i };
        let buffers = self.buffers(g, rows).into_iter().zip(outputs).zip(&self.axes);
        let put = |((buffer, &output), &(axis, reverse)): ((Value, &Value), &(usize, bool))| {
            let op = TensorScatter { axis: axis as i64, ..TensorScatter::default() };
            let (buffer, row) = (turns.carry(buffer), g.unsqueeze(output, &[axis as i64]));
            g.tensor_scatter(buffer, row, Some(if reverse { from_last } else { i }), op)
        };
        buffers.map(put).collect()
    }

    /// The first `turns` rows of buffers.
    pub fn rows(&self, g: &GraphBuilder, buffers: &[Value], turns: &DimExpr) -> Vec<Value> {
        let first = |(&buffer, &(axis, _)): (&Value, &(usize, bool))| {
            g.narrow(buffer, axis as i64, 0u64, turns.clone())
        };
        buffers.iter().zip(&self.axes).map(first).collect()
    }

    fn buffers(&self, g: &GraphBuilder, rows: &DimExpr) -> Vec<Value> {
        let buffer = |(ty, &(axis, _)): (&ValueType, &(usize, bool))| {
            let mut shape = ty.shape.to_vec();
            shape.insert(axis, rows.clone());
            g.fill(g.constant_scalar(ty.dtype(), 0.0), shape)
        };
        self.types.iter().zip(&self.axes).map(buffer).collect()
    }
}

/// The axes of values of these ranks, as a caller writes them: none where all are the first.
pub(super) fn resolved(
    axes: &[ScanAxis],
    what: &str,
    ranks: impl ExactSizeIterator<Item = usize>,
) -> Result<Vec<(usize, bool)>, OpError> {
    let count = ranks.len();
    if !axes.is_empty() && axes.len() != count {
        let reason = format!("axes of {} {what} are given, there are {count}", axes.len());
        return Err(OpError::Invalid(reason));
    }
    let all = axes.iter().copied().chain(std::iter::repeat(ScanAxis::default()));
    let place = |(axis, rank): (ScanAxis, usize)| Ok((normalize_axis(axis.axis, rank)?, axis.reverse));
    all.zip(ranks).map(place).collect()
}

/// So many rows that buffers of `turns` rows have at least one, and as many as there can be where only the run finds
/// that.
pub(super) fn rows_of(turns: &DimExpr, symbols: &SymbolTable) -> DimExpr {
    let one = DimExpr::constant(1);
    match turns.lower(symbols) {
        0 if symbols.names_found(turns) => {
            DimExpr::constant(i64::try_from(turns.upper(symbols)).unwrap_or(i64::MAX)).max_with(&one)
        }
        0 => turns.max_with(&one),
        _ => turns.clone(),
    }
}
