//! `Loop`: nodes that are computed again and again, until a condition of theirs is false.

use super::counted::{Counted, Turn};
use super::turns::{Ends, Turns};
use crate::attr::AttrError;
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types};
use crate::ops::control::loop_bodies::body_samples;
use crate::ops::control::loop_states::state_samples;
use crate::ops::def::LoopEnd;
use crate::ops::{Grad, Op, OpDef};
use crate::sample::{Fill, Sample};
use crate::shape::{ValueType, display_dim, f32, i32, sym};
use pumice_types::{DType, DimExpr, SymbolTable};

/// Turns that a loop takes at most, where its body is recorded.
pub const MOST_TURNS: i64 = 1 << 24;

crate::op! {
    /// Ends the turns of a loop: the first half of the operands are what the next turn begins with, the second half
    /// what this one began with ([`Carry`](crate::ops::Carry)), the results what the last one left. Operand 0 is an
    /// I32, 1 where there is another turn. After `most` turns there is none; where there would be, FOUND_EXTENT is
    /// reported under the name of the node.
    pub struct Loop {
        /// The loop's number in the graph.
        number: i64,
        /// 1 while it runs: a symbol that the run finds, in every turn anew.
        running: DimExpr,
        /// Turns at most.
        most: i64,
        /// How many turns there are, where symbols that the caller binds say so: less than one is none. Then operand 0
        /// is not looked at, and nothing is reported.
        turns: Option<DimExpr>,
    }
}

impl OpDef for Loop {
    const OPERANDS: &'static [&'static str] = &["values*"];
    const GRAD: Grad<Self> = Grad::No(
        "loops that are recorded are not differentiated; one whose turns are known is built turn by turn",
    );

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        if !(1..=MOST_TURNS).contains(&self.most) {
            return Err(wrong_most(self.most));
        }
        if let Some(turns) = &self.turns
            && (!cx.symbols().are_bound(turns) || turns.upper(cx.symbols()) > self.most.unsigned_abs())
        {
            let shown = cx.show(std::slice::from_ref(turns));
            let reason = format!("{shown} turns: not known before the run, or more than {}", self.most);
            return Err(AttrError::Value { name: "turns", reason }.into());
        }
        let running = self.running.as_symbol().and_then(|id| cx.symbols().get(id));
        if running.is_none_or(|symbol| !symbol.found || (symbol.min, symbol.max) != (0, 1)) {
            let shown = display_dim(&self.running, cx.symbols());
            let reason = format!("{shown} is no symbol of 0..=1 that is found");
            return Err(AttrError::Value { name: "running", reason }.into());
        }
        cx.expect_dtype(0, &[DType::I32])?;
        cx.expect_rank(0, 0)?;
        let carried = cx.len() / 2;
        for i in 0..carried {
            left_as_it_begins(i, [cx.ty(i)?, cx.ty(carried + i)?], cx.symbols())?;
        }
        (0..carried).map(|i| cx.ty(i).cloned()).collect()
    }

    fn loops(&self) -> Option<LoopEnd<'_>> {
        let most = self.most.max(1).unsigned_abs();
        Some(LoopEnd { number: self.number, running: &self.running, most, turns: self.turns.as_ref() })
    }

    fn with_loop_number(&self, number: i64) -> Option<Op> {
        Some(Loop { number, ..self.clone() }.into())
    }

    fn moves_bits(&self) -> bool {
        true
    }

    fn samples() -> Vec<Sample> {
        let mut samples = looping_samples("turns");
        samples.extend([0, 1, 7].map(sums_of_rows));
        samples.push(beyond_its_bound());
        samples.extend(state_samples("states"));
        samples.extend(body_samples());
        samples
    }
}

/// So many turns are none, or too many.
fn wrong_most(most: impl std::fmt::Display) -> OpError {
    AttrError::Value { name: "most", reason: format!("{most} turns, not 1 to {MOST_TURNS}") }.into()
}

/// What a turn leaves in a place has the type of what it begins with there.
pub(super) fn left_as_it_begins(
    place: usize,
    [next, first]: [&ValueType; 2],
    symbols: &SymbolTable,
) -> Result<(), OpError> {
    if next == first {
        return Ok(());
    }
    let what = format!("what a turn leaves in place {place} and what it begins with");
    let [a, b] = [next, first].map(|ty| ty.display(symbols));
    Err(OpError::ExtentMismatch { what, a, b })
}

/// Powers of two until a bound: 0, 1, some and all turns.
pub(super) fn looping_samples(what: &str) -> Vec<Sample> {
    let doubled = |limit: i64| {
        let sample = Sample::graph(&format!("{what}: doubled below {limit}"), |g| {
            let (x, limit) = (g.input("x", i32([5])), g.input("limit", i32::<u64>([])));
            let largest = |g: &GraphBuilder, x: Value| g.less(g.reduce_max(x, &[0], false), limit);
            let [y, n] = g.while_(
                20,
                [x, g.constant_scalar(DType::I32, 0.0)],
                |g, [x, _]| largest(g, x),
                |g, [x, n]| [g.add(x, x), g.add(n, g.constant_scalar(DType::I32, 1.0))],
            );
            g.output("y", y);
            g.output("n", n);
        });
        sample.fill("x", Fill::Ints(vec![1, 0, -1, 1, -1])).fill("limit", Fill::Ints(vec![limit]))
    };
    [0, 2, 300, 1 << 20].map(doubled).to_vec()
}

/// The sum of as many rows as there are, row by row.
fn sums_of_rows(n: u64) -> Sample {
    Sample::graph(&format!("{n} rows, one a turn"), |g| {
        let x = g.input("x", f32([sym("n", 0..=40), 6.into()]));
        let turns = g.dim_of(x, 0);
        let zero = g.expand(g.constant_scalar(DType::F32, 0.0), &[6]);
        let [sum] = g.loop_(turns, [zero], |g, i, [sum]| [g.add(sum, g.gather(x, i, 0))]);
        g.output("sum", sum);
    })
    .bind("n", n)
    .fill("x", Fill::Range(-8, 8))
}

/// A loop that would go on.
fn beyond_its_bound() -> Sample {
    Sample::graph("at its bound", |g| {
        let x = g.input("x", i32([3]));
        let [y] = g.while_(
            17,
            [x],
            |g, [x]| g.less(g.reduce_max(x, &[0], false), g.constant_scalar(DType::I32, 1000.0)),
            |g, [x]| [g.add(x, g.constant_scalar(DType::I32, 1.0))],
        );
        g.output("y", y);
    })
    .fill("x", Fill::Range(0, 5))
    .expect_status()
}

impl GraphBuilder {
    /// `carried = body(carried)` while `condition(carried)`, bool of one element, at most `most` times (ONNX Loop, and
    /// the While of others). The body is recorded once and replayed; the device ends the loop. What is the same in
    /// every turn is computed once, before. After `most` turns the loop ends; where the condition is still true that is
    /// reported, an error by default.
    ///
    /// Carried values keep their types. The body reads what was made outside of it, and what it makes is used outside
    /// as a result alone; it holds no other loop, and draws no random numbers, which would be the same in every turn.
    /// Where `most` is 0 there is no turn, and the condition is not asked; it is 2²⁴ at most.
    ///
    /// A version of a state is carried as the state itself, without a copy: the body is given the version that its turn
    /// begins with, writes it ([`state_write`](GraphBuilder::state_write), [`kv_append`](GraphBuilder::kv_append)) and
    /// gives back the version that it made, or the one that it was given; the result is the version behind the loop.
    /// States that are not carried are read, and not written.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// # use pumice_types::DType;
    /// let g = GraphBuilder::new("root");
    /// let x = g.input("x", f32([4]));
    /// let one = g.constant_scalar(DType::F32, 1.0);
    /// let large = |g: &GraphBuilder, y| g.greater(g.reduce_max(y, &[0], false), one);
    /// let [y] = g.while_(100, [x], |g, [y]| large(g, y), |g, [y]| [g.sqrt(y)]);
    /// g.output("y", y);
    /// g.build()?;
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn while_<const N: usize>(
        &self,
        most: u64,
        carried: [Value; N],
        condition: impl Fn(&GraphBuilder, [Value; N]) -> Value,
        body: impl FnOnce(&GraphBuilder, [Value; N]) -> [Value; N],
    ) -> [Value; N] {
        let all = self.while_values(
            most,
            &carried,
            |g, values| condition(g, std::array::from_fn(|k| values[k])),
            |g, values| body(g, std::array::from_fn(|k| values[k])).to_vec(),
        );
        std::array::from_fn(|k| all[k])
    }

    /// [`while_`](GraphBuilder::while_) over any number of values; `body` gives as many as are carried.
    #[track_caller]
    pub fn while_values(
        &self,
        most: u64,
        carried: &[Value],
        condition: impl Fn(&GraphBuilder, &[Value]) -> Value,
        body: impl FnOnce(&GraphBuilder, &[Value]) -> Vec<Value>,
    ) -> Vec<Value> {
        if most == 0 {
            return carried.to_vec();
        }
        if let Err(mistake) = self.operand_types("while", carried) {
            return vec![mistake; carried.len()];
        }
        if most > MOST_TURNS.unsigned_abs() {
            return vec![self.wrong_call("while", wrong_most(most)); carried.len()];
        }
        let g = self.composition("while");
        let first = condition(&g, carried);
        if let Some(mistake) = self.no_condition("while", first) {
            return vec![mistake; carried.len()];
        }
        let mut turns = Turns::begin(&g, &Ends::When(first));
        let turn: Vec<Value> = carried.iter().map(|&init| turns.carry(init)).collect();
        let next = body(&g, &turn);
        if let Err(e) = g.left_as_begun(&turn, &next) {
            return vec![g.last().wrong_call("while", e); carried.len()];
        }
        let again = condition(&g, &next);
        if let Some(mistake) = self.no_condition("while", again) {
            return vec![mistake; carried.len()];
        }
        match turns.close(Ends::When(again), next) {
            Ok(closed) => closed.results(&g.last(), most),
            Err(e) => vec![g.last().wrong_call("while", e); carried.len()],
        }
    }

    /// `carried = body(i, carried)` for i, an i32 of rank 0, from 0 to `turns` - 1; less than one turn is none. Few
    /// turns that are known ([`unroll`](GraphBuilder::unroll)) are built one after the other; of more the body is
    /// recorded once ([`while_`](GraphBuilder::while_)).
    #[track_caller]
    pub fn loop_<const N: usize>(
        &self,
        turns: impl Into<DimExpr>,
        carried: [Value; N],
        body: impl Fn(&GraphBuilder, Value, [Value; N]) -> [Value; N],
    ) -> [Value; N] {
        let turn = |g: &GraphBuilder, turn: Turn, carried: &[Value]| {
            let next = body(g, turn.number(g), std::array::from_fn(|k| carried[k]));
            (next.to_vec(), Vec::new())
        };
        let op = Counted { method: "loop", turns: turns.into(), outputs: &[] };
        let (last, _) = self.counted_turns(&carried, &turn, &op);
        std::array::from_fn(|k| last[k])
    }
}
