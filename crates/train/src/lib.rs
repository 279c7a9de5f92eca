//! Training steps as graphs.
//!
//! In: a forward graph, whose output `loss` is to fall, and a [`Recipe`]. Out: the entries of a program
//! ([`StepGraphs`]): ordinary graphs that are printed, optimized, planned and interpreted like any other. Gradients are
//! `pumice_ir`'s; optimizers, guards, accumulation and the rows of numbers that the host fills are made here. Never
//! here: a device, a loop over batches, what a plan decides.
//!
//! ```
//! use pumice_ir::{GraphBuilder, f32, sym};
//! use pumice_train::{AdamW, Group, Recipe, Schedule, step_graphs};
//! let g = GraphBuilder::new("line");
//! let (x, y) = (g.input("x", f32([sym("n", 1..=64), 3.into()])), g.input("y", f32([sym("n", 1..=64), 1.into()])));
//! let guess = g.linear(x, g.param("weight", f32([1, 3])), Some(g.param("bias", f32([1]))));
//! let (loss, weight) = g.mse(guess, y, Default::default());
//! g.output("loss", loss);
//! g.output("weight", weight);
//! g.output("guess", guess);
//! let recipe = Recipe::new(AdamW::default())
//!     .schedule(Schedule::cosine(1e-3).warmup(100).total(2_000))
//!     .group(Group::matching(["bias"]).weight_decay(0.0))
//!     .clip_norm(1.0);
//! let made = step_graphs(&g.build()?, &recipe)?;
//! assert!(made.step.states().len() > 2 && made.step.params().is_empty());
//! assert!(made.predict.is_some_and(|graph| graph.inputs().len() == 1), "`y` is an input of the loss alone");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod group;
mod held;
mod index_input;
mod init;
pub mod names;
mod numbers;
mod optimizer;
mod pattern;
mod recipe;
mod schedule;
mod step;
mod trained;

pub use error::{TrainError, TrainErrors};
pub use group::Group;
pub use index_input::{IndexInput, index_inputs};
pub use init::{Fan, Init, Rule};
pub use numbers::{Numbers, TABLE_ROWS};
pub use optimizer::{Adagrad, Adam, AdamW, Lion, Optimizer, RmsProp, Sgd, Slot, UpdateCx, Updated};
pub use recipe::{OnNonfinite, Recipe};
pub use schedule::Schedule;
pub use step::{MicroBatches, StepGraphs, micro_batch_graphs, micro_batch_sizes, step_graphs};
pub use trained::Trained;
