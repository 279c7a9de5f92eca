//! 3.8 Recurrences.

pub mod linear_recurrence;
pub mod recurrent_layer;
