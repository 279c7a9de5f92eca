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

/// Input of `step` and `update`: the rows of numbers, f32 \[rows, columns\]; see [`Numbers`](crate::Numbers).
pub const NUMBERS: &str = "train/numbers";
/// Input of `step` and `update`: which count of updates the first row is for, i32 of rank 0.
pub const BASE: &str = "train/base";

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

/// The state of a param's slot.
pub fn slot(param: &str, slot: &str) -> String {
    format!("{param}/{slot}")
}

/// The state of a param's accumulated gradient: the sum of weight times gradient since the last update.
pub fn accumulated(param: &str) -> String {
    format!("{param}/sum")
}
