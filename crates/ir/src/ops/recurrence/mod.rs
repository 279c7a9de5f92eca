//! 3.8 Recurrences.

pub mod gated_delta_net;
pub mod linear_recurrence;
mod linear_recurrence_samples;
mod looped;
pub mod mamba2;
pub mod networks;
mod parts;
pub mod recurrent_layer;
mod recurrent_layer_samples;
pub mod selective_scan;
mod sequence;
mod unrolled;
