//! A handle on one persistent state: write, read, and reset, whole or in rows. A state that nothing wrote reads as its
//! initial value. Feeds are ordinary steps of the plan: after a run the state simply holds what they left.

use crate::error::{NameKind, RuntimeError};
use crate::executable::Inner;
use crate::params::{Payload, check_length, check_shape};
use crate::rows::Rows;
use crate::session::Session;
use crate::tables::part;
use pumice_plan::StateSlot;
use pumice_types::{DType, Tensor, TensorView};
use std::ops::Range;
use std::sync::Arc;

/// One state of one session.
#[derive(Debug)]
pub struct StateHandle<'s> {
    pub(crate) session: &'s mut Session,
    pub(crate) index: usize,
}

impl StateHandle<'_> {
    fn slot(&self) -> &StateSlot {
        &self.session.inner.plan.states[self.index]
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.slot().name
    }

    /// Its stored type.
    pub fn dtype(&self) -> DType {
        self.slot().dtype
    }

    /// Its extents.
    pub fn shape(&self) -> &[u64] {
        &self.slot().shape
    }

    /// The axis that rows are counted along: the capacity axis, or the first.
    pub fn row_axis(&self) -> usize {
        self.slot().capacity_axis.map_or(0, |a| a as usize)
    }

    /// Writes the whole state from a tensor of its shape and dtype, or of f32 for a float dtype.
    ///
    /// # Errors
    /// [`RuntimeError::DType`], [`RuntimeError::Rank`] or [`RuntimeError::Extent`] for a tensor unlike the
    /// state, [`RuntimeError::Tensor`] for a view whose bytes and shape disagree; [`RuntimeError::Device`]
    /// where the write fails.
    #[doc(alias = "bind")]
    pub fn write(&mut self, view: TensorView<'_>) -> Result<(), RuntimeError> {
        let slot = self.slot();
        let payload = Payload::of_view(NameKind::State, &slot.name, slot.dtype, &slot.shape, &view)?;
        self.write_payload(payload)
    }

    /// Writes the whole state of a float dtype, rounding each value to nearest even.
    ///
    /// # Errors
    /// [`RuntimeError::DType`] for a state of no float dtype; [`RuntimeError::Length`] for another number of
    /// values than it has; [`RuntimeError::Device`] where the write fails.
    pub fn write_f32(&mut self, values: &[f32]) -> Result<(), RuntimeError> {
        let (slot, bytes) = (self.slot(), self.session.inner.tables.state_bytes[self.index]);
        let payload = Payload::of_floats(NameKind::State, &slot.name, slot.dtype, bytes, values)?;
        self.write_payload(payload)
    }

    /// Writes the whole state from its natural bytes.
    ///
    /// # Errors
    /// [`RuntimeError::Length`] for another number of bytes than the state has; [`RuntimeError::Device`]
    /// where the write fails.
    pub fn write_bytes(&mut self, bytes: &[u8]) -> Result<(), RuntimeError> {
        let expected = self.session.inner.tables.state_bytes[self.index];
        check_length(NameKind::State, self.name(), "bytes", expected, bytes.len() as u64)?;
        self.write_payload(Payload::Stored(bytes))
    }

    fn write_payload(&mut self, payload: Payload<'_>) -> Result<(), RuntimeError> {
        let slot = &self.session.inner.plan.states[self.index];
        let device = &mut self.session.device;
        payload
            .write(slot.dtype, |at, bytes| device.write(part(slot.span, at, bytes.len() as u64), bytes))?;
        self.session.pending[self.index] = false;
        Ok(())
    }

    /// Writes rows of an axis, from row `start` on, from a tensor with the state's other extents. F32 is taken for a
    /// float dtype. The other rows keep their values.
    ///
    /// # Errors
    /// As [`StateHandle::write`], for the rows; [`RuntimeError::Axis`] or [`RuntimeError::Rows`] for an axis
    /// or rows that the state does not have; [`RuntimeError::MissingParams`] where the other rows begin as a
    /// param that was never set.
    pub fn write_range(&mut self, axis: usize, start: u64, view: TensorView<'_>) -> Result<(), RuntimeError> {
        let count = view.shape().get(axis).copied().unwrap_or(0);
        let range = start..start.saturating_add(count);
        let rows = self.rows(axis, &range)?;
        let slot = self.slot();
        let mut shape = slot.shape.clone();
        shape[axis] = count;
        check_shape(NameKind::State, &slot.name, &shape, view.shape())?;
        let payload = Payload::of_view(NameKind::State, &slot.name, slot.dtype, &shape, &view)?;
        let mut bytes = Vec::with_capacity(rows.bytes() as usize);
        payload.write(slot.dtype, |_, piece| {
            bytes.extend_from_slice(piece);
            Ok(())
        })?;
        self.ensure()?;
        Ok(rows.write(self.session.device.as_mut(), &bytes)?)
    }

    /// The whole state.
    ///
    /// # Errors
    /// [`RuntimeError::MissingParams`] where the state begins as a param that was never set,
    /// [`RuntimeError::MissingStates`] where it begins with what was not given; [`RuntimeError::Device`] where the
    /// read fails.
    pub fn read(&mut self) -> Result<Tensor, RuntimeError> {
        let mut bytes = vec![0; self.session.inner.tables.state_bytes[self.index] as usize];
        self.read_into(&mut bytes)?;
        let slot = self.slot();
        tensor(slot, &slot.shape, bytes)
    }

    /// The whole state's natural bytes, into a buffer of exactly that size.
    ///
    /// # Errors
    /// As [`StateHandle::read`], and [`RuntimeError::Length`] for a buffer of another size.
    pub fn read_into(&mut self, bytes: &mut [u8]) -> Result<(), RuntimeError> {
        let expected = self.session.inner.tables.state_bytes[self.index];
        check_length(NameKind::State, self.name(), "bytes", expected, bytes.len() as u64)?;
        self.ensure()?;
        if !bytes.is_empty() {
            let span = part(self.slot().span, 0, expected);
            self.session.device.read(span, bytes)?;
        }
        Ok(())
    }

    /// Rows of an axis.
    ///
    /// # Errors
    /// As [`StateHandle::read`], and [`RuntimeError::Axis`] or [`RuntimeError::Rows`] for an axis or rows
    /// that the state does not have.
    pub fn read_range(&mut self, axis: usize, range: Range<u64>) -> Result<Tensor, RuntimeError> {
        let rows = self.rows(axis, &range)?;
        self.ensure()?;
        let mut bytes = vec![0; rows.bytes() as usize];
        rows.read(self.session.device.as_mut(), &mut bytes)?;
        let slot = self.slot();
        let mut shape = slot.shape.clone();
        shape[axis] = range.end - range.start;
        tensor(slot, &shape, bytes)
    }

    /// Rows of [`StateHandle::row_axis`].
    ///
    /// # Errors
    /// As [`StateHandle::read_range`]; [`RuntimeError::Axis`] for a state of rank 0.
    pub fn read_rows(&mut self, range: Range<u64>) -> Result<Tensor, RuntimeError> {
        self.read_range(self.row_axis(), range)
    }

    /// One row of [`StateHandle::row_axis`], without that axis.
    ///
    /// # Errors
    /// As [`StateHandle::read_rows`].
    pub fn read_row(&mut self, row: u64) -> Result<Tensor, RuntimeError> {
        let axis = self.row_axis();
        let rows = self.read_range(axis, row..row.saturating_add(1))?;
        let mut shape = rows.shape().to_vec();
        shape.remove(axis);
        tensor(self.slot(), &shape, rows.into_bytes())
    }

    /// Gives the state its initial value again. Where that is a param that was not set yet, the value it has at the
    /// next run; one that begins with what is given has to be written again.
    ///
    /// # Errors
    /// [`RuntimeError::Device`] where the device fails.
    pub fn reset(&mut self) -> Result<(), RuntimeError> {
        let inner = Arc::clone(&self.session.inner);
        self.session.pending[self.index] = true;
        self.init(&inner)
    }

    fn init(&mut self, inner: &Inner) -> Result<(), RuntimeError> {
        let params = inner.params.read();
        self.session.init_state(inner, &params, self.index)
    }

    /// The initial value is in place, or the state was written.
    fn ensure(&mut self) -> Result<(), RuntimeError> {
        if !self.session.pending[self.index] {
            return Ok(());
        }
        let inner = Arc::clone(&self.session.inner);
        self.init(&inner)?;
        match (self.session.pending[self.index], &self.slot().init) {
            (true, pumice_plan::StateInit::Given) => {
                Err(RuntimeError::MissingStates { names: vec![self.name().to_owned()] })
            }
            (true, pumice_plan::StateInit::Param(p)) => {
                Err(RuntimeError::MissingParams { names: vec![inner.plan.params[*p as usize].name.clone()] })
            }
            _ => Ok(()),
        }
    }

    fn rows(&self, axis: usize, range: &Range<u64>) -> Result<Rows, RuntimeError> {
        let slot = self.slot();
        Rows::new((NameKind::State, &slot.name), (slot.span, slot.dtype), &slot.shape, axis, range)
    }
}

fn tensor(slot: &StateSlot, shape: &[u64], bytes: Vec<u8>) -> Result<Tensor, RuntimeError> {
    Tensor::from_bytes(slot.dtype, shape, bytes).map_err(|source| RuntimeError::Tensor {
        kind: NameKind::State,
        name: slot.name.clone(),
        source,
    })
}
