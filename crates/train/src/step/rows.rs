//! Several batches in a submission: a step takes the row of its run from inputs that lie on the device, and leaves what
//! the host asks of it in a row of a state.
//!
//! In: the step of one batch. Out: the same, of row `train/row` of every input but the numbers. Which rows the host has
//! filled is the host's to know; a run beyond the last row is reported by the gather.

use super::forward::{built, f32_state, number};
use crate::error::TrainError;
use crate::names;
use pumice_ir::{Graph, GraphBuilder, Value};
use pumice_types::{DType, Tensor};

/// The step of one batch as that of one of so many rows.
pub(super) fn taken_in_turn(step: &Graph, rows: u32) -> Result<Graph, TrainError> {
    let g = step.edit();
    let last = i32::try_from(rows).unwrap_or(i32::MAX).saturating_sub(1);
    let row = g.scalar_advancing(names::ROW, 0, last, 0, 1.into());
    report(step, &g, row, rows);
    let graph = built(step, "step", g)?;
    let whole = [names::NUMBERS, names::BASE];
    let taken = graph.find(names::ROW).and_then(|row| graph.with_rows_of_inputs(rows.into(), row, &whole));
    // The scalar is there, or the graph would not have been built.
    Ok(taken.unwrap_or(graph))
}

/// Writes what is reported of this run into its row: all in one step, beside the updates.
fn report(step: &Graph, g: &GraphBuilder, row: Value, rows: u32) {
    let column = |line: &[&str]| line.iter().find_map(|name| number(step, g, name));
    let columns: Vec<Value> = names::REPORTED.into_iter().filter_map(column).collect();
    let state = f32_state(g, names::REPORTS, &[rows.into(), columns.len() as u64], false);
    let before = g.state_read(state);
    let here = g.equal(count(g, rows as i32, true), row);
    let place = count(g, columns.len() as i32, false);
    // Every choice is of all places, so that they are one step; a row by itself would be one before it.
    let after = columns.iter().enumerate().fold(before, |table, (column, &value)| {
        let of_column = g.equal(place, g.constant_scalar(DType::I32, column as f64));
        g.select(g.and(here, of_column), value, table)
    });
    g.state_write(state, after);
}

/// 0, 1, … as a row, or as a column.
fn count(g: &GraphBuilder, count: i32, column: bool) -> Value {
    let numbers: Vec<i32> = (0..count).collect();
    let n = count as u64;
    let shape = if column { vec![n, 1] } else { vec![n] };
    let data = Tensor::new(&numbers, &shape).expect("as many numbers as its shape says");
    g.constant(data)
}
