//! Outputs of the last run: all, some, or a range of rows of one. They are there until the session runs again,
//! whatever else is done with it. Feeds do not show: an output reads as it was before them.

use crate::error::{NameKind, RuntimeError};
use crate::outcome::Outputs;
use crate::params::check_length;
use crate::rows::Rows;
use crate::session::Session;
use crate::tables::{find, part};
use pumice_plan::IoSlot;
use pumice_types::Tensor;
use pumice_types::tensor::byte_count;
use std::ops::Range;
use std::sync::Arc;

impl Session {
    /// Every output of the last run.
    ///
    /// # Errors
    /// [`RuntimeError::NoResults`] where no run has left any, [`RuntimeError::Device`] where a read fails.
    pub fn outputs(&mut self) -> Result<Outputs, RuntimeError> {
        let names = Arc::clone(&self.names(&self.inner).outputs);
        let tensors = (0..names.len()).map(|o| self.read_output(o)).collect::<Result<_, _>>()?;
        Ok(Outputs { names, tensors })
    }

    /// Outputs of the last run by index, in the order asked for; one may be asked for twice.
    ///
    /// # Errors
    /// [`RuntimeError::OutputIndex`], found before anything is read; [`RuntimeError::NoResults`] and
    /// [`RuntimeError::Device`] as in [`Session::outputs`].
    pub fn read_outputs(&mut self, outputs: &[usize]) -> Result<Vec<Tensor>, RuntimeError> {
        outputs.iter().try_for_each(|&o| self.check_output(o))?;
        outputs.iter().map(|&o| self.read_output(o)).collect()
    }

    /// An output of the last run by name.
    ///
    /// # Errors
    /// [`RuntimeError::UnknownName`]; [`RuntimeError::NoResults`] and [`RuntimeError::Device`] as in
    /// [`Session::outputs`].
    pub fn output(&mut self, name: &str) -> Result<Tensor, RuntimeError> {
        let output = self.find_output(name)?;
        self.read_output(output)
    }

    /// The actual extents of an output of the last run.
    ///
    /// # Errors
    /// [`RuntimeError::OutputIndex`], and [`RuntimeError::NoResults`] where no run has left any.
    pub fn output_shape(&self, output: usize) -> Result<&[u64], RuntimeError> {
        self.check_output(output)?;
        self.results.ok_or(RuntimeError::NoResults)?;
        Ok(&self.output_shapes[output])
    }

    /// An output of the last run.
    ///
    /// # Errors
    /// [`RuntimeError::OutputIndex`]; [`RuntimeError::NoResults`] and [`RuntimeError::Device`] as in
    /// [`Session::outputs`].
    pub fn read_output(&mut self, output: usize) -> Result<Tensor, RuntimeError> {
        let bytes = self.output_bytes(output)?;
        let mut bytes = vec![0; bytes as usize];
        self.read_output_into(output, &mut bytes)?;
        self.tensor(output, &self.output_shapes[output], bytes)
    }

    /// The natural bytes of an output of the last run, into a buffer of exactly that size.
    ///
    /// # Errors
    /// As [`Session::read_output`], and [`RuntimeError::Length`] for a buffer of another size.
    pub fn read_output_into(&mut self, output: usize, bytes: &mut [u8]) -> Result<(), RuntimeError> {
        let expected = self.output_bytes(output)?;
        let slot = self.output_slot(output);
        check_length(NameKind::Output, &slot.name, "bytes", expected, bytes.len() as u64)?;
        if !bytes.is_empty() {
            self.device.read(part(slot.span, 0, expected), bytes)?;
        }
        Ok(())
    }

    /// Rows of an axis of an output of the last run.
    ///
    /// # Errors
    /// [`RuntimeError::UnknownName`]; [`RuntimeError::Axis`] or [`RuntimeError::Rows`] for an axis or rows
    /// that the output does not have in this run; [`RuntimeError::NoResults`] and [`RuntimeError::Device`] as
    /// in [`Session::outputs`].
    pub fn output_range(
        &mut self,
        name: &str,
        axis: usize,
        range: Range<u64>,
    ) -> Result<Tensor, RuntimeError> {
        let output = self.find_output(name)?;
        let mut shape = self.output_shape(output)?.to_vec();
        let slot = self.output_slot(output);
        let rows = Rows::new((NameKind::Output, name), (slot.span, slot.dtype), &shape, axis, &range)?;
        let mut bytes = vec![0; rows.bytes() as usize];
        rows.read(self.device.as_mut(), &mut bytes)?;
        shape[axis] = range.end - range.start;
        self.tensor(output, &shape, bytes)
    }

    /// One row of the first axis of an output of the last run, without that axis.
    ///
    /// # Errors
    /// As [`Session::output_range`]; [`RuntimeError::Axis`] for an output of rank 0.
    pub fn output_row(&mut self, name: &str, row: u64) -> Result<Tensor, RuntimeError> {
        let rows = self.output_range(name, 0, row..row.saturating_add(1))?;
        let shape = rows.shape()[1..].to_vec();
        let output = self.find_output(name)?;
        self.tensor(output, &shape, rows.into_bytes())
    }

    /// The index of an output of the selected entry, for [`Session::run_read`].
    ///
    /// # Errors
    /// [`RuntimeError::UnknownName`] for an output that the entry does not have.
    pub fn output_index(&self, name: &str) -> Result<usize, RuntimeError> {
        self.find_output(name)
    }

    pub(crate) fn check_output(&self, output: usize) -> Result<(), RuntimeError> {
        let count = self.names(&self.inner).outputs.len();
        if output < count { Ok(()) } else { Err(RuntimeError::OutputIndex { index: output, count }) }
    }

    /// The slot of an output of the selected entry.
    pub(crate) fn output_slot(&self, output: usize) -> &IoSlot {
        &self.inner.plan.outputs[self.names(&self.inner).own_outputs.start + output]
    }

    fn find_output(&self, name: &str) -> Result<usize, RuntimeError> {
        find(&self.names(&self.inner).outputs, NameKind::Output, name)
    }

    /// Bytes of an output of the last run.
    pub(crate) fn output_bytes(&self, output: usize) -> Result<u64, RuntimeError> {
        let shape = self.output_shape(output)?;
        let slot = self.output_slot(output);
        byte_count(slot.dtype, shape).map_err(|source| {
            let name = slot.name.clone();
            RuntimeError::Tensor { kind: NameKind::Output, name, source }
        })
    }

    fn tensor(&self, output: usize, shape: &[u64], bytes: Vec<u8>) -> Result<Tensor, RuntimeError> {
        let slot = self.output_slot(output);
        Tensor::from_bytes(slot.dtype, shape, bytes).map_err(|source| {
            let name = slot.name.clone();
            RuntimeError::Tensor { kind: NameKind::Output, name, source }
        })
    }
}
