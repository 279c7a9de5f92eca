//! Names that entries give to their states, inputs and outputs. Those of the forward graph stay.

/// Output of the forward graph that is to fall: a float of rank 0, a mean over rows. Output of every entry but
/// `predict`; of `update` the mean over what was accumulated.
pub const LOSS: &str = "loss";
/// Optional output of the forward graph: what its mean was divided by, a float of rank 0 that no trained param reaches.
/// Output of every entry but `predict`: 1 where the forward graph has none, in `update` the sum of what was
/// accumulated.
pub const WEIGHT: &str = "weight";
/// Optional output of the forward graph: terms that are no mean over rows, added to the loss once an update.
pub const PENALTY: &str = "penalty";
/// Output of `step` and `update`: the norm of all gradients, before it is clipped, f32 of rank 0.
pub const NORM: &str = "norm";
/// Output of `step` and `update`, a bool of rank 0: whether the update was made.
pub const FLAG: &str = "flag";
/// Output of `step` and `update` where the recipe stops at what is not finite, a bool of rank 0: whether this run did.
pub const STOP: &str = "stop";

/// What names of inputs, states and scalars begin with that entries add and that are of no param or input: a graph that
/// is trained declares none of them.
pub const OWN: &str = "train/";
/// Input of `step` and `update`: the rows of numbers, f32 \[rows, columns\]; see [`Numbers`](crate::Numbers).
pub const NUMBERS: &str = "train/numbers";
/// Input of `step` and `update`: which count of updates the first row is for, i32 of rank 0.
pub const BASE: &str = "train/base";

/// Input of a `step` of several batches in a submission that accumulates, a bool of rank 0: whether the batch is the
/// last of an update.
pub const ENDS: &str = "train/ends";
/// Input of entries of micro-batches where the forward graph has no output [`WEIGHT`], f32 of rank 0: the micro-batch's
/// share of the rows of its batch, which is what it weighs.
pub const SHARE: &str = "train/share";
/// Input of entries that train from a data set, i32 \[n\]: which rows of it the batch is.
pub const INDEX: &str = "train/index";
/// Scalar of a `step` of several batches in a submission: which row of the inputs the next run takes. It advances by
/// one with every run.
pub const ROW: &str = "train/row";
/// Output of a `step` of several batches in a submission that accumulates: the mean over what was accumulated, its own
/// batch included.
pub const LOSS_OF_UPDATE: &str = "loss_of_update";
/// As [`LOSS_OF_UPDATE`], the sum of the weights.
pub const WEIGHT_OF_UPDATE: &str = "weight_of_update";
/// State of a `step` of several batches in a submission, f32 \[rows, columns\]: by row what the run put out that took
/// it, in a column for each of [`REPORTED`] that it has. A bool is 0 or 1.
pub const REPORTS: &str = "train/reports";
/// Outputs that are kept by row; of those of a line the first that there is.
pub const REPORTED: [&[&str]; 4] = [&[LOSS_OF_UPDATE, LOSS], &[WEIGHT_OF_UPDATE, WEIGHT], &[NORM], &[FLAG]];

/// State, i32 of rank 0: how many updates were made.
pub const UPDATES: &str = "train/updates";
/// State, i32 of rank 0: updates made since the last one that was not, or since the scale of the loss grew.
pub const GOOD: &str = "train/good";
/// State, i32 of rank 0: updates that were not made.
pub const SKIPS: &str = "train/skips";
/// State, f32 of rank 0: what the loss is multiplied by before it is differentiated. Where the recipe scales the loss.
pub const SCALE: &str = "train/scale";
/// State, i32 of rank 0: updates that were not made since the last one, for what is not finite. Where the recipe scales
/// the loss.
pub const SKIPS_IN_ROW: &str = "train/skips_in_row";
/// State, f32 of rank 0: the sum of the weights since the last update.
pub const WEIGHTS: &str = "train/weights";
/// State, f32 of rank 0: the sum of weight times loss since the last update.
pub const LOSSES: &str = "train/losses";

/// The state of an input that is a data set, \[rows, …\].
pub fn data(input: &str) -> String {
    format!("{input}/data")
}

/// The symbol of entries that take micro-batches, in the place of the one along which batches are cut.
pub fn micro_batch(symbol: &str) -> String {
    format!("{symbol}/micro")
}

/// The state of a param's slot.
pub fn slot(param: &str, slot: &str) -> String {
    format!("{param}/{slot}")
}

/// The state of a param's accumulated gradient: the sum of weight times gradient since the last update.
pub fn accumulated(param: &str) -> String {
    format!("{param}/sum")
}
