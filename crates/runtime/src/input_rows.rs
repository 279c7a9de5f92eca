//! Inputs of several replays: each row of the first axis is what one of them takes, written by itself.

use crate::bind::check_alone;
use crate::error::{NameKind, RuntimeError, SymbolSource};
use crate::executable::Inner;
use crate::run::match_inputs;
use crate::session::{Session, check_input_view};
use crate::tables::part;
use crate::values::Shape;
use pumice_types::TensorView;
use pumice_types::tensor::byte_count;
use std::sync::Arc;

impl Session {
    /// Writes row `row` of `rows` of an input's first axis, for all runs to come that do not give the input: what one
    /// replay of several takes, say. The other rows hold what they held, if the extents are as before, else anything;
    /// nothing is checked but that the view is a row.
    ///
    /// # Errors
    /// As [`Session::bind_input`]; [`RuntimeError::Rows`] for a row that there is not.
    pub fn bind_input_row(
        &mut self,
        name: &str,
        (row, rows): (u64, u64),
        view: TensorView<'_>,
    ) -> Result<(), RuntimeError> {
        let inner = Arc::clone(&self.inner);
        let i = self.names(&inner).input(name)?;
        check_input_view(&inner, i, &view)?;
        let shape: Shape = std::iter::once(rows).chain(view.shape().iter().copied()).collect();
        check_alone(&inner.plan, i, &inner.tables.rules[i], &shape).map_err(of_row)?;
        check_row(name, row, rows)?;
        let overwritten = inner.tables.runs.iter().any(|r| r.overwrites[i]);
        self.write_input_row(&inner, i, (row, overwritten), &shape, view.bytes())
    }

    /// Checks what [`Session::bind_input_row`] checks of each of these, and extents and scalars as the first replay of
    /// a run with such rows would, and writes nothing: every input of the selected entry is among them, is bound, or
    /// is one of `besides`, whose extents are constant; symbols have one value each, and a run of the plan is for
    /// them. Params, given states and later replays are not looked at.
    ///
    /// # Errors
    /// As [`Session::execute`], before anything is written. Axes are those of a row.
    pub fn check_input_rows(
        &mut self,
        inputs: &[(&str, TensorView<'_>)],
        rows: u64,
        besides: &[&str],
    ) -> Result<(), RuntimeError> {
        let inner = Arc::clone(&self.inner);
        match_inputs(&inner, self.names(&inner), inputs, &mut self.work.given)?;
        self.take_row_shapes(&inner, inputs, rows, besides)?;
        self.check_extents(&inner, 1).map(|_| ()).map_err(of_row)
    }

    /// The shape of every input of which rows are given.
    fn take_row_shapes(
        &mut self,
        inner: &Inner,
        inputs: &[(&str, TensorView<'_>)],
        rows: u64,
        besides: &[&str],
    ) -> Result<(), RuntimeError> {
        let mut missing = Vec::new();
        for i in self.names(inner).own_inputs.clone() {
            let (slot, held) = (&inner.plan.inputs[i], &self.inputs[i]);
            let shape = &mut self.work.shapes[i];
            shape.clear();
            match self.work.given[i].and_then(|g| inputs.get(g)) {
                Some((_, view)) => {
                    shape.push(rows);
                    shape.extend_from_slice(view.shape());
                }
                None if besides.contains(&slot.name.as_str()) => {
                    shape.extend(slot.shape.iter().filter_map(|extent| extent.as_extent()));
                }
                None if held.bound && (held.resident || held.copy.is_some()) => {
                    shape.extend_from_slice(&held.shape);
                }
                None => missing.push(slot.name.clone()),
            }
        }
        if missing.is_empty() { Ok(()) } else { Err(RuntimeError::MissingInputs { names: missing }) }
    }

    /// Writes a row of an input, which was checked. Where runs overwrite the input it goes to a copy, which the next
    /// run writes.
    fn write_input_row(
        &mut self,
        inner: &Inner,
        input: usize,
        (row, overwritten): (u64, bool),
        shape: &[u64],
        bytes: &[u8],
    ) -> Result<(), RuntimeError> {
        let (slot, all) = (&inner.plan.inputs[input], bytes_of_rows(inner, input, shape)?);
        let (len, held) = (bytes.len() as u64, &mut self.inputs[input]);
        let start = row * len;
        held.resident = false;
        if overwritten {
            let copy = held.copy.get_or_insert_default();
            copy.resize(all as usize, 0);
            copy[start as usize..][..bytes.len()].copy_from_slice(bytes);
        } else if len > 0 {
            self.device.write(part(slot.span, start, len), bytes)?;
        }
        held.shape.clear();
        held.shape.extend_from_slice(shape);
        held.resident = !overwritten;
        (held.known, held.bound) = (true, true);
        Ok(())
    }
}

/// What is wrong with the rows of an input, said of one of them: it has no axis of rows.
fn of_row(mut error: RuntimeError) -> RuntimeError {
    let of_source = |by: &mut SymbolSource| {
        if let SymbolSource::Input { axis, .. } = by {
            *axis = axis.saturating_sub(1);
        }
    };
    match &mut error {
        RuntimeError::Rank { expected, given, .. } => {
            *expected = expected.saturating_sub(1);
            *given = given.saturating_sub(1);
        }
        RuntimeError::Extent { axis, .. } => *axis = axis.saturating_sub(1),
        RuntimeError::SymbolRange { by, .. } => of_source(by),
        RuntimeError::DimConstraint { first, second, .. } => {
            of_source(&mut first.0);
            of_source(&mut second.0);
        }
        _ => {}
    }
    error
}

fn check_row(name: &str, row: u64, rows: u64) -> Result<(), RuntimeError> {
    let (kind, end) = (NameKind::Input, row.saturating_add(1));
    let outside =
        || RuntimeError::Rows { kind, name: name.to_owned(), axis: 0, start: row, end, extent: rows };
    if row < rows { Ok(()) } else { Err(outside()) }
}

/// Bytes of all rows of an input.
fn bytes_of_rows(inner: &Inner, input: usize, shape: &[u64]) -> Result<u64, RuntimeError> {
    let slot = &inner.plan.inputs[input];
    let wrong = |source| RuntimeError::Tensor { kind: NameKind::Input, name: slot.name.clone(), source };
    let all = byte_count(slot.dtype, shape).map_err(wrong)?;
    if all > slot.span.len.0 {
        let what = format!("input `{}` has {all} bytes and room for {}", slot.name, slot.span.len.0);
        return Err(RuntimeError::plan(&inner.plan, what));
    }
    Ok(all)
}
