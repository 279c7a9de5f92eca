//! Training: batches in, weights that fit them out. Feature `train`.
//!
//! A training step is an ordinary graph ([`step_graphs`]): printed, optimized, planned, checked and interpreted like
//! any other. [`Trainer`] compiles its entries into one plan, holds the weights as states on the device and feeds
//! batches. Nothing is allocated from step to step, and no weight or moment is copied: updates are written in place.
//! A submission may have several steps ([`Recipe::steps_per_submission`]), and take rows of a data set that lies on the
//! device ([`Recipe::data_set`]). A batch may be cut into micro-batches, as the user says or memory demands, and is one
//! update still ([`TrainOptions::micro_batch`], [`Recipe::rows_apart`]).
//!
//! ```
//! use pumice::train::{AdamW, Batch, Init, Recipe, Schedule, TrainOptions, Trainer};
//! use pumice::{Device, GraphBuilder, Tensor, TensorView, f32, sym};
//!
//! let g = GraphBuilder::new("line");
//! let n = || sym("n", 1..=16);
//! let (x, y) = (g.input("x", f32([n(), 2.into()])), g.input("y", f32([n(), 1.into()])));
//! let guess = g.linear(x, g.param("weight", f32([1, 2])), Some(g.param("bias", f32([1]))));
//! let (loss, weight) = g.mse(guess, y, Default::default());
//! g.output("loss", loss);
//! g.output("weight", weight);
//! g.output("guess", guess);
//!
//! let recipe = Recipe::new(AdamW { weight_decay: 0.0, ..AdamW::default() }).schedule(Schedule::constant(0.05));
//! let mut trainer = Trainer::new(&g.build()?, &recipe, &Device::cpu(), &TrainOptions::default())?;
//! trainer.init(&Init::torch(), 42)?;
//! let batch = |i: usize| -> Result<Batch, pumice::TensorError> {
//!     let x: Vec<f32> = (0..8).map(|k| ((i * 8 + k) % 7) as f32 / 7.0).collect();
//!     let y: Vec<f32> = x.chunks(2).map(|r| 2.0 * r[0] - r[1] + 0.5).collect();
//!     Ok(Batch::new().with("x", Tensor::new(&x, &[4, 2])?).with("y", Tensor::new(&y, &[4, 1])?))
//! };
//! let batches = (0..200).map(batch).collect::<Result<Vec<_>, _>>()?;
//! let mut last = f64::INFINITY;
//! for report in trainer.run(batches) {
//!     last = report?.loss;
//! }
//! assert!(last < 0.01, "{last}");
//! let guess = trainer.predict(&[("x", TensorView::f32(&[1.0, 0.0], [1, 2]))], &["guess"])?;
//! assert!((guess[0].to_vec::<f32>()?[0] - 2.5).abs() < 0.3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod batch;
mod choice;
mod error;
mod inputs;
mod numbers;
mod options;
mod pieces;
mod plan;
mod report;
mod run;
mod source;
mod submission;
mod trainer;
mod weights;

pub use batch::Batch;
pub use error::TrainerError;
pub use options::{MicroBatch, TrainOptions};
pub use plan::TrainPlan;
pub use pumice_train::{
    Adagrad, Adam, AdamW, Fan, Group, IndexInput, Init, Lion, MicroBatches, Numbers, OnNonfinite, Optimizer,
    Recipe, RmsProp, Rule, Schedule, Sgd, Slot, StepGraphs, TABLE_ROWS, TrainError, TrainErrors, Trained,
    UpdateCx, Updated, micro_batch_graphs, micro_batch_sizes, names, step_graphs,
};
pub use report::{Evaluation, Report};
pub use run::Run;
pub use trainer::Trainer;
