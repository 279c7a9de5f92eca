//! Ops over sequences: values by others' code, and the law that one call of T steps is T calls of one step of which
//! each takes the state of the one before.

mod goldens;
mod laws;
mod shapes;
