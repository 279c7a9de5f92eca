//! `loop_collecting`, `while_collecting`: loops whose turns give outputs besides what they leave.

use super::counted::{Counted, Turn};
use super::scan::Scanned;
use super::turns::{Closed, Collected, Ends, Numbered};
use crate::builder::{GraphBuilder, Value};
use pumice_types::{DType, DimExpr};

/// The method whose turns a condition ends.
const METHOD: &str = "while_collecting";

impl GraphBuilder {
    /// [`loop_`](GraphBuilder::loop_) whose turns give outputs, too: `(carried, outputs) = body(i, carried)`; what the
    /// last turn left, and the outputs of all, stacked along a new first axis (ONNX Loop's scan outputs). `turns` of
    /// less than one is none. Outputs have the same types in every turn.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// let g = GraphBuilder::new("powers");
    /// let x = g.input("x", f32([4]));
    /// let ([_], [all]) = g.loop_collecting(9, [x], |g, _, [y]| ([g.mul(y, x)], [y]));
    /// g.output("all", all);
    /// assert_eq!(g.dim_of(all, 0), 9.into());
    /// g.build()?;
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn loop_collecting<const N: usize, const K: usize>(
        &self,
        turns: impl Into<DimExpr>,
        carried: [Value; N],
        body: impl Fn(&GraphBuilder, Value, [Value; N]) -> ([Value; N], [Value; K]),
    ) -> ([Value; N], [Value; K]) {
        let body = |g: &GraphBuilder, i: Value, carried: &[Value]| {
            let (next, outputs) = body(g, i, std::array::from_fn(|k| carried[k]));
            (next.to_vec(), outputs.to_vec())
        };
        let (last, outputs) = self.loop_collecting_values(turns, &carried, body);
        (std::array::from_fn(|k| last[k]), std::array::from_fn(|k| outputs[k]))
    }

    /// [`loop_collecting`](GraphBuilder::loop_collecting) over any number of values; `body` leaves as many as are
    /// carried, and gives as many outputs in every turn.
    #[track_caller]
    pub fn loop_collecting_values(
        &self,
        turns: impl Into<DimExpr>,
        carried: &[Value],
        body: impl Fn(&GraphBuilder, Value, &[Value]) -> (Vec<Value>, Vec<Value>),
    ) -> (Vec<Value>, Vec<Value>) {
        let turn = |g: &GraphBuilder, turn: Turn, carried: &[Value]| body(g, turn.number(g), carried);
        let turns = turns.into();
        self.counted_turns(carried, &turn, &Counted { method: "loop_collecting", turns, outputs: &[] })
    }

    /// [`while_`](GraphBuilder::while_) whose turns give outputs, too: `(carried, outputs) = body(carried)` while
    /// `condition(carried)`, bool of one element, at most `most` times; what the last turn left, and the outputs of
    /// all, stacked along a new first axis (ONNX Loop's scan outputs). That axis is as long as turns were taken, which
    /// the run finds ([`extent_of`](GraphBuilder::extent_of)); memory is planned for `most` rows. Outputs have the same
    /// types in every turn.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// # use pumice_types::DType;
    /// let g = GraphBuilder::new("halves");
    /// let x = g.input("x", f32([4]));
    /// let half = g.constant_scalar(DType::F32, 0.5);
    /// let large = |g: &GraphBuilder, [y]: [_; 1]| g.greater(g.reduce_max(y, &[0], false), half);
    /// let ([_], [all]) = g.while_collecting(100, [x], large, |g, [y]| ([g.mul(y, half)], [y]));
    /// g.output("all", all);
    /// assert_eq!(g.build()?.symbols().found().count(), 2);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn while_collecting<const N: usize, const K: usize>(
        &self,
        most: u64,
        carried: [Value; N],
        condition: impl Fn(&GraphBuilder, [Value; N]) -> Value,
        body: impl Fn(&GraphBuilder, [Value; N]) -> ([Value; N], [Value; K]),
    ) -> ([Value; N], [Value; K]) {
        let (last, outputs) = self.while_collecting_values(
            most,
            &carried,
            |g, values| condition(g, std::array::from_fn(|k| values[k])),
            |g, values| {
                let (next, outputs) = body(g, std::array::from_fn(|k| values[k]));
                (next.to_vec(), outputs.to_vec())
            },
        );
        (std::array::from_fn(|k| last[k]), std::array::from_fn(|k| outputs[k]))
    }

    /// [`while_collecting`](GraphBuilder::while_collecting) over any number of values; `body` leaves as many as are
    /// carried.
    #[track_caller]
    pub fn while_collecting_values(
        &self,
        most: u64,
        carried: &[Value],
        condition: impl Fn(&GraphBuilder, &[Value]) -> Value,
        body: impl Fn(&GraphBuilder, &[Value]) -> (Vec<Value>, Vec<Value>),
    ) -> (Vec<Value>, Vec<Value>) {
        let wrong = self.operand_types(METHOD, carried).is_err();
        if wrong || most == 0 {
            let turn = |g: &GraphBuilder, _: Turn, carried: &[Value]| body(g, carried);
            let none = Counted { method: METHOD, turns: DimExpr::constant(0), outputs: &[] };
            return self.counted_turns(carried, &turn, &none);
        }
        self.collected_while(most, carried, &condition, &body)
    }

    #[track_caller]
    fn collected_while(
        &self,
        most: u64,
        carried: &[Value],
        condition: &dyn Fn(&GraphBuilder, &[Value]) -> Value,
        body: &dyn Fn(&GraphBuilder, &[Value]) -> Scanned,
    ) -> Scanned {
        let g = self.composition(METHOD);
        let first = condition(&g, carried);
        let no_condition = self.no_condition(METHOD, first);
        let first = if no_condition.is_some() { g.constant_scalar(DType::Bool, 0.0) } else { first };
        let turns = Numbered::begin(&g, carried, &Ends::When(first));
        let ((next, outputs), i) = (body(&g, &turns.begun), turns.i);
        if let Some(mistake) = no_condition {
            return (vec![mistake; carried.len()], vec![mistake; outputs.len()]);
        }
        let rows = DimExpr::constant(i64::try_from(most).unwrap_or(i64::MAX));
        let left = match turns.leave(&next, (&outputs, &[]), &rows, i) {
            Ok(left) => left,
            Err(wrong) => return wrong.results(&g.last(), METHOD, carried, &outputs),
        };
        let again = condition(&g, &next);
        if let Some(mistake) = self.no_condition(METHOD, again) {
            return (vec![mistake; carried.len()], vec![mistake; outputs.len()]);
        }
        match left.close(Ends::When(again)) {
            Ok(closed) => {
                let name = g.name().to_owned();
                self.rows_taken(closed, (&g.last(), &name), most, carried.len())
            }
            Err(wrong) => wrong.results(&g.last(), METHOD, carried, &outputs),
        }
    }

    /// What the last turn left, and the outputs of as many turns as there were.
    #[track_caller]
    fn rows_taken(
        &self,
        (closed, collected): (Closed, Collected),
        (last, name): (&GraphBuilder, &str),
        most: u64,
        carried: usize,
    ) -> Scanned {
        let results = closed.results(last, most);
        let (left, buffers) = results[1..].split_at(carried);
        let rows = |g: &GraphBuilder| collected.rows(g, buffers, &g.extent_of(results[0], 0..=most));
        (left.to_vec(), self.scoped(name, rows))
    }
}
