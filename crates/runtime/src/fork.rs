//! Sessions that go on from where another one is, each by itself.

use crate::device::DeviceError;
use crate::error::{NameKind, RuntimeError};
use crate::executable::Inner;
use crate::rows::Rows;
use crate::session::Session;
use crate::tables::{find, part};
use pumice_plan::Span;
use pumice_types::tensor::byte_count;
use std::ops::Range;
use std::sync::Arc;

/// Rows of a state that a fork takes along. Its other rows are zeros there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateRows<'a> {
    /// The state.
    pub state: &'a str,
    /// The axis that rows are counted along.
    pub axis: usize,
    /// Which rows.
    pub rows: Range<u64>,
}

/// Bytes of the states of a fork.
#[derive(Default)]
struct Kept {
    copied: Vec<Span>,
    zeros: Vec<Span>,
}

impl Session {
    /// A session that goes on from here: a copy of states, scalars, bound symbols and bound inputs. The two share
    /// weights and nothing else that a run leaves. It has no results until it runs.
    ///
    /// # Errors
    /// [`RuntimeError::Device`] where a second session does not fit or the device fails.
    pub fn fork(&mut self) -> Result<Session, RuntimeError> {
        self.fork_rows(&[])
    }

    /// As [`Session::fork`], which copies of some states only some rows: those of a cache that are in use.
    ///
    /// # Errors
    /// As [`Session::fork`]; [`RuntimeError::UnknownName`], [`RuntimeError::Axis`] or [`RuntimeError::Rows`] for a
    /// state, axis or rows that there are not; [`RuntimeError::Duplicate`] for a state that is named twice.
    pub fn fork_rows(&mut self, rows: &[StateRows<'_>]) -> Result<Session, RuntimeError> {
        let inner = Arc::clone(&self.inner);
        let kept = self.kept(&inner, rows)?;
        let mut fork = Session::over(Arc::clone(&inner), self.device.fork(&kept.copied)?)?;
        kept.zeros.iter().try_for_each(|&span| fork.device.clear(span))?;
        fork.entry = self.entry;
        fork.interrupt_by(self.interrupt.clone());
        fork.symbols.clone_from(&self.symbols);
        fork.scalars.clone_from(&self.scalars);
        fork.pending.clone_from(&self.pending);
        self.copy_inputs(&inner, &mut fork)?;
        Ok(fork)
    }

    /// Which bytes of the states are copied, and which are zeros. A state that waits for its initial value has neither.
    fn kept(&self, inner: &Inner, rows: &[StateRows<'_>]) -> Result<Kept, RuntimeError> {
        let mut of_states: Vec<Option<&StateRows<'_>>> = vec![None; inner.plan.states.len()];
        for rows in rows {
            let state = find(&inner.tables.states, NameKind::State, rows.state)?;
            if of_states[state].replace(rows).is_some() {
                return Err(RuntimeError::Duplicate { kind: NameKind::State, name: rows.state.to_owned() });
            }
        }
        let mut kept = Kept::default();
        for (i, (slot, rows)) in inner.plan.states.iter().zip(of_states).enumerate() {
            let named = (NameKind::State, slot.name.as_str());
            let of = |axis, range: Range<u64>| {
                Rows::new(named, (slot.span, slot.dtype), &slot.shape, axis, &range)
            };
            let Some(StateRows { axis, rows, .. }) = rows else {
                let whole = part(slot.span, 0, inner.tables.state_bytes[i]);
                kept.copied.extend(Some(whole).filter(|span| !self.pending[i] && span.len.0 > 0));
                continue;
            };
            let copied = of(*axis, rows.clone())?;
            if !self.pending[i] {
                let extent = slot.shape[*axis];
                kept.copied.extend(copied.spans());
                kept.zeros.extend(of(*axis, 0..rows.start)?.spans());
                kept.zeros.extend(of(*axis, rows.end..extent)?.spans());
            }
        }
        Ok(kept)
    }

    /// Gives a fork the inputs that are bound here.
    fn copy_inputs(&mut self, inner: &Inner, fork: &mut Session) -> Result<(), DeviceError> {
        for (i, held) in self.inputs.iter().enumerate().filter(|(_, h)| h.bound) {
            let slot = &inner.plan.inputs[i];
            let mut held = held.clone();
            let bytes = byte_count(slot.dtype, &held.shape).unwrap_or(0);
            if held.resident && bytes > 0 {
                let span = part(slot.span, 0, bytes);
                let mut copy = vec![0; bytes as usize];
                self.device.read(span, &mut copy)?;
                fork.device.write(span, &copy)?;
            }
            held.known = held.resident || held.copy.is_some();
            fork.inputs[i] = held;
        }
        Ok(())
    }
}
