//! What a step and an evaluation tell.

use std::fmt;

/// What one update did.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Report {
    /// Updates that were made so far, this one counted if it was.
    pub step: u64,
    /// The loss of its batch, or the weighed mean of those it was made of.
    pub loss: f64,
    /// What that mean was divided by.
    pub weight: f64,
    /// The learning rate of params in no group.
    pub rate: f64,
    /// The norm of all gradients, before it was clipped; NaN where the recipe is unguarded.
    pub norm: f64,
    /// Whether the update was made: it is not where loss or norm is not finite.
    pub made: bool,
    /// Updates that were not made so far.
    pub skips: u64,
    /// Seconds from the batch to the report; an equal share where several updates are made together.
    pub seconds: f64,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "step {}  loss {:.4}  rate {:.3e}", self.step, self.loss, self.rate)?;
        if !self.norm.is_nan() {
            write!(f, "  norm {:.3}", self.norm)?;
        }
        if !self.made {
            write!(f, "  skipped")?;
        }
        write!(f, "  {:.1} ms", 1e3 * self.seconds)
    }
}

/// The loss over several batches, nothing of which was learned from.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Evaluation {
    /// The weighed mean; NaN of no weight.
    pub loss: f64,
    /// The sum of the weights.
    pub weight: f64,
    /// How many batches.
    pub batches: u64,
}
