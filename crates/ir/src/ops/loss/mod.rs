//! Losses (OPS 3.11), as compositions of the builder: an attribute struct and a method each. One that has a gradient of
//! its own is an op.
//!
//! Every loss gives its value and its *weight*, an f32 of rank 0: what a mean was divided by, so that means of several
//! batches can be joined, and 1 for any other reduction. It follows symbolic extents.

pub mod binary_cross_entropy;
pub mod binary_cross_entropy_with_logits;
pub mod cosine_loss;
pub mod cross_entropy_dense;
pub mod huber;
pub mod in_batch_negatives;
pub mod kl_div;
pub mod l1;
pub mod mse;
pub mod nll_loss;
pub mod reduced;
pub mod softmax_cross_entropy;
pub mod triplet_loss;
