//! How a graph is trained.

use crate::group::Group;
use crate::optimizer::Optimizer;
use crate::schedule::Schedule;
use std::sync::Arc;

/// What happens after a loss or a gradient that is not finite. The update is left out in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnNonfinite {
    /// The run says so by its output `stop`, and later runs of the same submission do nothing.
    #[default]
    Stop,
    /// The next run goes on.
    Skip,
}

/// How a graph is trained: optimizer, schedule, groups of params, clipping, accumulation.
#[derive(Clone)]
pub struct Recipe {
    pub(crate) optimizer: Arc<dyn Optimizer>,
    pub(crate) schedule: Schedule,
    pub(crate) groups: Vec<Group>,
    pub(crate) clip_norm: Option<f64>,
    pub(crate) accumulate: u32,
    pub(crate) steps_per_submission: u32,
    pub(crate) on_nonfinite: OnNonfinite,
    pub(crate) allow_unused: bool,
    pub(crate) unguarded: bool,
    pub(crate) loss_scale: bool,
    pub(crate) predict: Option<Vec<String>>,
    pub(crate) data_set: Option<DataSet>,
    pub(crate) rows_apart: Option<String>,
    pub(crate) per_micro_batch: bool,
}

/// Inputs that lie on the device as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DataSet {
    pub(crate) rows: u64,
    pub(crate) inputs: Vec<String>,
}

impl Recipe {
    /// All float params trained by this optimizer, at a constant rate of 1e-3.
    pub fn new(optimizer: impl Optimizer + 'static) -> Recipe {
        Recipe {
            optimizer: Arc::new(optimizer),
            schedule: Schedule::constant(1e-3),
            groups: Vec::new(),
            clip_norm: None,
            accumulate: 1,
            steps_per_submission: 1,
            on_nonfinite: OnNonfinite::default(),
            allow_unused: false,
            unguarded: false,
            loss_scale: false,
            predict: None,
            data_set: None,
            rows_apart: None,
            per_micro_batch: false,
        }
    }

    /// The learning rate of each update.
    #[must_use]
    pub fn schedule(self, schedule: Schedule) -> Recipe {
        Recipe { schedule, ..self }
    }

    /// One more group of params.
    #[must_use]
    pub fn group(mut self, group: Group) -> Recipe {
        self.groups.push(group);
        self
    }

    /// Gradients are multiplied by min(1, `most` / (norm + 1e-6)), norm being that of all of them.
    #[must_use]
    pub fn clip_norm(self, most: f64) -> Recipe {
        Recipe { clip_norm: Some(most), ..self }
    }

    /// One update is made of the gradients of so many runs, weighed by their weights: entries `accumulate` and
    /// `update`.
    #[must_use]
    pub fn accumulate(self, runs: u32) -> Recipe {
        Recipe { accumulate: runs, ..self }
    }

    /// So many batches, 64 at most, may be run one after the other without the host in between: their inputs lie on the
    /// device along a new first axis, and `step` takes the row of its run. It says when an update is due where the
    /// recipe accumulates, so that there are no entries `accumulate` and `update` then. No bit changes by it.
    #[must_use]
    pub fn steps_per_submission(self, steps: u32) -> Recipe {
        Recipe { steps_per_submission: steps, ..self }
    }

    /// What happens after what is not finite.
    #[must_use]
    pub fn on_nonfinite(self, then: OnNonfinite) -> Recipe {
        Recipe { on_nonfinite: then, ..self }
    }

    /// Params that the loss does not reach are frozen, instead of being a mistake.
    #[must_use]
    pub fn allow_unused(self) -> Recipe {
        Recipe { allow_unused: true, ..self }
    }

    /// Updates are made whatever loss and gradients are, so that each gradient may be used up where it is made. Neither
    /// clips, accumulates nor skips; `step` says neither norm nor flag.
    #[must_use]
    pub fn unguarded(self) -> Recipe {
        Recipe { unguarded: true, ..self }
    }

    /// Gradients are those of scale·loss, divided by the scale: for products whose operands are rounded to f16. The
    /// scale begins at 2¹⁶, halves where a gradient is not finite, and doubles after 2,000 updates. An update that is
    /// left out for that is no reason to stop, up to 20 times in a row, as long as the loss is finite and the scale
    /// above 1.
    #[must_use]
    pub fn loss_scale(self) -> Recipe {
        Recipe { loss_scale: true, ..self }
    }

    /// The outputs of `predict`, instead of those that need no input of the loss alone.
    #[must_use]
    pub fn predict<S: Into<String>>(self, outputs: impl IntoIterator<Item = S>) -> Recipe {
        Recipe { predict: Some(outputs.into_iter().map(Into::into).collect()), ..self }
    }

    /// Training takes these inputs from a data set of so many rows, which lies on the device: in `step` and
    /// `accumulate` an input x\[n, …\] is a given state [`names::data`](crate::names::data), \[rows, …\], of which
    /// a batch takes the rows that [`names::INDEX`](crate::names::INDEX) says. `eval` and `predict` take tensors as
    /// before.
    #[must_use]
    pub fn data_set<S: Into<String>>(self, rows: u64, inputs: impl IntoIterator<Item = S>) -> Recipe {
        let inputs = inputs.into_iter().map(Into::into).collect();
        Recipe { data_set: Some(DataSet { rows, inputs }), ..self }
    }

    /// Along this symbol rows do not meet: the loss is a mean over them, of which `weight` is the divisor, so that a
    /// batch may be cut along every input whose first extent it is ([`micro_batch_graphs`](crate::micro_batch_graphs)).
    /// Where the graph has no `weight`, the loss must be the plain mean over these rows: a micro-batch then weighs its
    /// share of them.
    #[must_use]
    pub fn rows_apart(self, symbol: impl Into<String>) -> Recipe {
        Recipe { rows_apart: Some(symbol.into()), ..self }
    }

    /// Where rows of a batch meet after all, in statistics of a batch and against in-batch negatives, they are those of
    /// a micro-batch, as in PyTorch. So the update is another one than that of the whole batch.
    #[must_use]
    pub fn per_micro_batch(self) -> Recipe {
        Recipe { per_micro_batch: true, ..self }
    }

    /// What the schedule's rate is multiplied by, for params in no group and of each group.
    pub(crate) fn factors(&self) -> Vec<f64> {
        [1.0].into_iter().chain(self.groups.iter().map(|group| group.rate)).collect()
    }

    /// Inputs that are a data set.
    pub fn data_inputs(&self) -> &[String] {
        self.data_set.as_ref().map_or(&[], |data| &data.inputs)
    }

    /// Whether updates are made whatever loss and gradients are.
    pub fn is_unguarded(&self) -> bool {
        self.unguarded
    }

    /// How many runs an update is made of.
    pub fn runs_an_update(&self) -> u32 {
        self.accumulate
    }

    /// How many batches a submission runs at most.
    pub fn rows(&self) -> u32 {
        self.steps_per_submission
    }
}
