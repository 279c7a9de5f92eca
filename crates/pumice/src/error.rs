//! What can go wrong between a graph and its results.

use pumice_compile::CompileError;
use pumice_import::ImportError;
#[cfg(feature = "models")]
use pumice_models::ModelError;
use pumice_plan::{PlanFileError, Unsound};
use pumice_runtime::{CustomError, RuntimeError};
#[cfg(feature = "vulkan")]
use pumice_vulkan::OpenError;
use std::path::PathBuf;

/// Any error of the facade; the parts keep their own types.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No device could be opened.
    #[cfg(feature = "vulkan")]
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The graph does not become a plan.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// Ops of users that are not registered, or whose types are not what their rules give.
    #[error("{}", told(mistakes))]
    Custom {
        /// Each with the name of its node.
        mistakes: Vec<(String, CustomError)>,
    },
    /// The checker found the plan wrong: a defect of pumice, or a plan that was changed.
    #[error(transparent)]
    Unsound(#[from] Unsound),
    /// Params, inputs, states or the device.
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    /// A model file.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// A model folder.
    #[cfg(feature = "models")]
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A conversation that cannot be saved, or what is no saved conversation of the model.
    #[cfg(feature = "models")]
    #[error(transparent)]
    Saved(#[from] crate::generate::SavedError),
    /// A plan that cannot be saved, or a file that is no plan of this build's.
    #[error("{}: {source}", path.display())]
    PlanFile {
        /// The file.
        path: PathBuf,
        /// Why.
        source: PlanFileError,
    },
    /// A plan that was made from another graph than the model's.
    #[error(
        "plan `{plan}` is of another graph than `{model}` has here (another model, other weight types, or other options): \
         compile this model again, with the options that it is run with"
    )]
    OtherPlan {
        /// Name of the plan.
        plan: String,
        /// Name of the model's graph.
        model: String,
    },
    /// A plan that does not say from which graph it was made.
    #[error(
        "plan `{plan}` does not say from which graph it was made, so nothing shows that it is one for `{model}`: compile the model again"
    )]
    NoGraph {
        /// Name of the plan.
        plan: String,
        /// Name of the model's graph.
        model: String,
    },
    /// Weights that do not fit their graph.
    #[error(transparent)]
    Mismatch(#[from] pumice_import::model::MismatchError),
}

pumice_types::debug_as_display!(Error);

/// A line for each.
fn told(mistakes: &[(String, CustomError)]) -> String {
    let lines: Vec<String> = mistakes.iter().map(|(node, error)| format!("{node}: {error}")).collect();
    lines.join("\n")
}
