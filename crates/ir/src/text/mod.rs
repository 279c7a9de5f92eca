//! `.ir` text: a graph as people and plans write it. Printing and reading round-trip: `read(&print(g)) == g`.
//!
//! ```text
//! graph mlp {
//!   symbol batch = 1..=64
//!   x: f32[batch, 784] = input()
//!   w: f32[784, 10] = param()
//!   h: f32[batch, 10] = matmul(x, w)
//!   output logits = h
//! }
//! ```
//! A node is `names = op(operands) {attributes}`; a type after a name is required for leaves and checked elsewhere. An
//! absent operand is `_`. A name that is not a plain identifier is quoted. A condition of a method that its nodes do
//! not find is stated: `require "targets of each case" equal {left = n, right = m}`.

mod lex;
mod print;
mod read;

pub use lex::{Position, TextError};
pub(crate) use print::print_node;
pub use print::{print, print_used};
pub use read::read;
