//! Axes longer than a driver lets a loop iterate (lavapipe: 65,535 trips of one invocation, all loops of it together,
//! then they end without a word), on the device under test.
//!
//! Data is positive, so that what is left out shows; what is expected is computed here in f64, line by line, and each
//! element is judged by its own terms. Figures before kernels kept within the limit: products of 70,000 and of
//! 3,000,000 terms gave the same sum, softmax along axis 0 was wrong from 32,768 rows on.

mod lines;
mod on_device;
mod refusals;
