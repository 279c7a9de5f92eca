//! Evaluation: losses (OPS 3.11).

pub mod softmax_cross_entropy;
