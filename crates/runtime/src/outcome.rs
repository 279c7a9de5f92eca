//! What a run is asked for and what it gives: options, status, outputs. Plain data; nothing here runs anything.

use crate::error::{NameKind, RuntimeError};
use indexmap::IndexSet;
use pumice_plan::kernel::status;
use pumice_types::Tensor;
use std::fmt;
use std::sync::Arc;

/// What happens when an op reports an index out of range, a full state or a division by zero (OPS 1.5).
/// Whatever is chosen, reads out of range give 0 and writes out of range are dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnStatus {
    /// The run returns [`RuntimeError::Status`]. Within one submission every replay resets the report and the
    /// last one's counts, so a report of an earlier replay is lost.
    #[default]
    Error,
    /// The run returns its outputs; `Session::status` tells.
    Report,
    /// The status is not read.
    Ignore,
}

/// How a run is done.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunOptions {
    /// What happens when an op reports an error.
    pub on_status: OnStatus,
    /// Inputs that are not given keep the value of the session's last run.
    pub keep: bool,
    /// How often the recording is replayed, in one submission where the run has no host step. Scalars advance on the
    /// device between replays; outputs are those of the last. Within one submission every replay resets the
    /// report and the last one's counts, so a report of an earlier replay is lost.
    pub steps: u32,
}

impl Default for RunOptions {
    fn default() -> RunOptions {
        RunOptions { on_status: OnStatus::Error, keep: false, steps: 1 }
    }
}

impl RunOptions {
    /// What happens when an op reports an error.
    #[must_use]
    pub fn on_status(mut self, on_status: OnStatus) -> Self {
        self.on_status = on_status;
        self
    }

    /// Whether inputs that are not given keep the value of the session's last run.
    #[must_use]
    pub fn keep(mut self, keep: bool) -> Self {
        self.keep = keep;
        self
    }

    /// How often the recording is replayed.
    #[must_use]
    pub fn steps(mut self, steps: u32) -> Self {
        self.steps = steps;
        self
    }
}

/// What the ops of a run reported. Where one submission held several replays, what the last one reported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunStatus {
    /// The flags of [`pumice_plan::kernel::status`] together; 0 when nothing happened.
    pub flags: u32,
    /// For each op that reported: its name, and the first linear position it complained about.
    pub first: Vec<(String, u32)>,
}

impl RunStatus {
    /// The position word of an op that reported nothing.
    const EMPTY: u32 = u32::MAX;

    /// Whether no op reported anything.
    pub fn is_clean(&self) -> bool {
        self.flags == 0 && self.first.is_empty()
    }

    /// Reads the status block: a flags word, then a position for each op. Allocates only when an op reported.
    pub(crate) fn decode(block: &[u8], ops: &[String]) -> RunStatus {
        let mut words = block.as_chunks::<4>().0.iter().map(|w| u32::from_le_bytes(*w));
        let flags = words.next().unwrap_or(0);
        let reported = ops.iter().zip(words).filter(|&(_, at)| at != RunStatus::EMPTY);
        RunStatus { flags, first: reported.map(|(op, at)| (op.clone(), at)).collect() }
    }
}

impl fmt::Display for RunStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_clean() {
            return f.write_str("nothing");
        }
        for (i, (op, position)) in self.first.iter().enumerate() {
            let comma = if i > 0 { ", " } else { "" };
            write!(f, "{comma}`{op}` first at position {position}")?;
        }
        let names = [
            (status::INDEX_OUT_OF_RANGE, "an index out of range"),
            (status::STATE_OVERFLOW, "rows past the capacity of a state"),
            (status::INT_DIV_ZERO, "an integer divided by zero"),
        ];
        let met = names.iter().filter(|(flag, _)| self.flags & flag != 0).map(|(_, name)| *name);
        let met: Vec<&str> = met.collect();
        write!(f, "{}{}", if self.first.is_empty() { "" } else { ": " }, met.join(", "))
    }
}

/// All outputs of a run, by name and by index, at their actual extents.
#[derive(Clone, Debug)]
pub struct Outputs {
    pub(crate) names: Arc<IndexSet<String>>,
    pub(crate) tensors: Vec<Tensor>,
}

impl Outputs {
    /// The output of that name.
    ///
    /// # Errors
    /// [`RuntimeError::UnknownName`] for an output that the plan does not have.
    pub fn get(&self, name: &str) -> Result<&Tensor, RuntimeError> {
        self.names.get_index_of(name).and_then(|i| self.tensors.get(i)).ok_or_else(|| {
            RuntimeError::UnknownName {
                kind: NameKind::Output,
                name: name.to_owned(),
                known: self.names.iter().cloned().collect(),
            }
        })
    }

    /// The output of that index, in declaration order.
    ///
    /// # Errors
    /// [`RuntimeError::OutputIndex`] for an index past the last output.
    pub fn at(&self, index: usize) -> Result<&Tensor, RuntimeError> {
        let count = self.tensors.len();
        self.tensors.get(index).ok_or(RuntimeError::OutputIndex { index, count })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.tensors.len()
    }

    /// Whether the plan has no outputs.
    pub fn is_empty(&self) -> bool {
        self.tensors.is_empty()
    }

    /// Names and tensors in declaration order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Tensor)> {
        self.names.iter().map(String::as_str).zip(&self.tensors)
    }

    /// Gives the tensors away, in declaration order.
    pub fn into_tensors(self) -> Vec<Tensor> {
        self.tensors
    }
}

/// A caller's buffer for one output: natural bytes, dense at the actual extents.
#[derive(Debug)]
pub struct OutputBuffer<'a> {
    /// Which output.
    pub output: usize,
    /// As many bytes as the output has in this run, exactly.
    pub bytes: &'a mut [u8],
}

impl<'a> OutputBuffer<'a> {
    /// A buffer of bytes.
    pub fn bytes(output: usize, bytes: &'a mut [u8]) -> OutputBuffer<'a> {
        OutputBuffer { output, bytes }
    }

    /// A buffer of numbers (`f32`, `i32`, `i64`, …) of the output's dtype; only their width is checked.
    pub fn numbers<T: bytemuck::Pod>(output: usize, values: &'a mut [T]) -> OutputBuffer<'a> {
        OutputBuffer { output, bytes: bytemuck::cast_slice_mut(values) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_block_is_decoded() {
        let ops = ["a".to_owned(), "b".to_owned()];
        let block: Vec<u8> = [4u32, u32::MAX, 7].iter().flat_map(|w| w.to_le_bytes()).collect();
        let status = RunStatus::decode(&block, &ops);
        assert_eq!(status, RunStatus { flags: 4, first: vec![("b".to_owned(), 7)] });
        assert_eq!(status.to_string(), "`b` first at position 7: an integer divided by zero");
        assert!(RunStatus::decode(&[], &ops).is_clean());
    }
}
