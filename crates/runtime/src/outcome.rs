//! What a run is asked for and what it gives: options, status, outputs. Plain data; nothing here runs anything.

use crate::error::{NameKind, RuntimeError};
use indexmap::IndexSet;
use pumice_plan::kernel::status;
use pumice_types::tensor::Element;
use pumice_types::{DType, Tensor};
use std::fmt;
use std::sync::Arc;

/// What happens when an op reports an index out of range, a full state or a division by zero (OPS 1.5).
/// Whatever is chosen, reads out of range give 0 and writes out of range are dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnStatus {
    /// The run returns [`RuntimeError::Status`] if any of its replays reported.
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
    /// How often the recording is replayed, in as few submissions as the device's bound in time allows where the run
    /// has no host step. Scalars advance on the device between replays; outputs are those of the last.
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

/// The first report of an op.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpReport {
    /// The op's name.
    pub op: String,
    /// The first linear position it complained about.
    pub position: u32,
    /// The replay in which it did, counted from 0.
    pub replay: u32,
}

/// What the ops of a run reported, in any of its replays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunStatus {
    /// The flags of [`pumice_plan::kernel::status`] together; 0 when nothing happened.
    pub flags: u32,
    /// The first report of each op that reported.
    pub first: Vec<OpReport>,
}

impl RunStatus {
    /// Whether no op reported anything.
    pub fn is_clean(&self) -> bool {
        self.flags == 0 && self.first.is_empty()
    }

    /// Reads the status block. Allocates only when an op reported.
    pub(crate) fn decode(words: &[u32], ops: &[String]) -> RunStatus {
        let report = |(i, op): (usize, &String)| {
            let (replay, position) = status::first_report(words, ops.len(), i)?;
            Some(OpReport { op: op.clone(), position, replay })
        };
        let flags = words.first().copied().unwrap_or(0);
        RunStatus { flags, first: ops.iter().enumerate().filter_map(report).collect() }
    }

    /// Adds what a later submission reported, which so many replays came before.
    pub(crate) fn add(&mut self, later: RunStatus, before: u32) {
        self.flags |= later.flags;
        for report in later.first {
            if !self.first.iter().any(|r| r.op == report.op) {
                let replay = report.replay.saturating_add(before);
                self.first.push(OpReport { replay, ..report });
            }
        }
    }
}

impl fmt::Display for RunStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_clean() {
            return f.write_str("nothing");
        }
        for (i, OpReport { op, position, replay }) in self.first.iter().enumerate() {
            let comma = if i > 0 { ", " } else { "" };
            write!(f, "{comma}`{op}` first at position {position}")?;
            if *replay > 0 {
                write!(f, " in replay {replay}")?;
            }
        }
        let names = [
            (status::INDEX_OUT_OF_RANGE, "an index out of range"),
            (status::STATE_OVERFLOW, "rows past the capacity of a state"),
            (status::INT_DIV_ZERO, "an integer divided by zero"),
            (status::BAD_DISTRIBUTION, "a row or options from which nothing can be drawn"),
            (
                status::FOUND_EXTENT,
                "a count that is below 0 or above the largest extent, or a loop that would go on after its last turn",
            ),
            (status::EXTENT_MISMATCH, "extents that must be equal and are not, at the smaller one"),
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
    /// As many bytes as the output has in this run, exactly; where the run finds an extent of it, as many as it has at
    /// the largest.
    pub bytes: &'a mut [u8],
    /// The dtype that the output must have; `None` for bytes, which take any.
    pub dtype: Option<DType>,
}

impl<'a> OutputBuffer<'a> {
    /// A buffer of bytes.
    pub fn bytes(output: usize, bytes: &'a mut [u8]) -> OutputBuffer<'a> {
        OutputBuffer { output, bytes, dtype: None }
    }

    /// A buffer of numbers (`f32`, `i32`, `f16`, …), which must be of the output's dtype; nothing is converted.
    pub fn numbers<T: Element + bytemuck::Pod>(output: usize, values: &'a mut [T]) -> OutputBuffer<'a> {
        OutputBuffer { output, bytes: bytemuck::cast_slice_mut(values), dtype: Some(T::DTYPE) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_report_of_each_op_is_decoded() {
        let ops = ["a".to_owned(), "b".to_owned()];
        let mut words = status::fresh_block(2);
        assert!(RunStatus::decode(&words, &ops).is_clean());
        for replay in 0..4u32 {
            status::begin_replay(&mut words, 2);
            if replay > 0 {
                words[0] |= status::INT_DIV_ZERO;
                words[2] = words[2].min(8 - replay);
            }
        }
        let first = vec![OpReport { op: "b".to_owned(), position: 7, replay: 1 }];
        let mut met = RunStatus::decode(&words, &ops);
        assert_eq!(met, RunStatus { flags: 4, first });
        assert_eq!(met.to_string(), "`b` first at position 7 in replay 1: an integer divided by zero");
        let mut words = status::fresh_block(2);
        status::begin_replay(&mut words, 2);
        (words[1], words[2]) = (3, 0);
        met.add(RunStatus::decode(&words, &ops), 4);
        let replays: Vec<_> = met.first.iter().map(|r| (r.op.as_str(), r.position, r.replay)).collect();
        assert_eq!(replays, [("b", 7, 1), ("a", 3, 4)]);
        assert!(RunStatus::decode(&[], &ops).is_clean());
    }
}
