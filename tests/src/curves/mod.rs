//! The models that are trained beside PyTorch (`tests/reference/curves.py`), and what the script wrote of them.

mod golden;
mod models;

pub use golden::{Golden, Param};
pub use models::{Cnn, Gpt, Mlp, Model, Params, gradient_of, with_gradients};
