//! How a trainer's program is made.

use crate::Options;

/// How many rows of a batch a run takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MicroBatch {
    /// All of them.
    #[default]
    Whole,
    /// So many at most: a batch is cut along the symbol of [`Recipe::rows_apart`](super::Recipe::rows_apart), its last
    /// micro-batch may be smaller, and one batch is one update still.
    Rows(u64),
    /// All of them, or half as many, a quarter, and so on: of those with which the program keeps
    /// [`TrainOptions::memory`], be it by computing values again, what takes the least time by the plan's estimate.
    Auto,
}

/// How a trainer's program is compiled. Made from the default.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct TrainOptions {
    /// As for any program: precision, specializations, placement. [`Precision::F16`](pumice_plan::Precision::F16)
    /// scales the loss ([`Recipe::loss_scale`](super::Recipe::loss_scale)). Ranges of the symbol along which batches
    /// are cut are those of micro-batches, too, as far as these go.
    pub compile: Options,
    /// How many rows of a batch a run takes.
    pub micro_batch: MicroBatch,
    /// Bytes that the program may take on the device: weights, states, scratch, inputs and outputs together. Without it
    /// what the device has free when the trainer is made ([`Device::free_memory`](crate::Device::free_memory)), or has
    /// at all where it does not say.
    pub memory: Option<u64>,
}

impl TrainOptions {
    /// As for any program.
    #[must_use]
    pub fn compile(mut self, compile: Options) -> Self {
        self.compile = compile;
        self
    }

    /// How many rows of a batch a run takes: a number of them, or [`MicroBatch::Auto`].
    #[must_use]
    pub fn micro_batch(mut self, rows: impl Into<MicroBatch>) -> Self {
        self.micro_batch = rows.into();
        self
    }

    /// Bytes that the program may take on the device.
    #[must_use]
    pub fn memory(mut self, bytes: u64) -> Self {
        self.memory = Some(bytes);
        self
    }
}

impl From<u64> for MicroBatch {
    fn from(rows: u64) -> MicroBatch {
        MicroBatch::Rows(rows)
    }
}
