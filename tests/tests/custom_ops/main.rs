//! Ops of users: on the evaluator, the interpreter and devices alike; first, middle and last in graphs with symbols and
//! states; whatever their functions do is a typed error; plans that need them say so.

mod computed;
mod failures;
mod ops;
mod refusals;
mod splats;
