//! What can go wrong between a graph and its results.

use pumice_compile::CompileError;
use pumice_import::ImportError;
#[cfg(feature = "models")]
use pumice_models::ModelError;
use pumice_plan::Unsound;
use pumice_runtime::RuntimeError;
#[cfg(feature = "vulkan")]
use pumice_vulkan::OpenError;

/// Any error of the facade; the parts keep their own types.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No device could be opened.
    #[cfg(feature = "vulkan")]
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The graph does not become a plan.
    #[error(transparent)]
    Compile(#[from] CompileError),
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
    /// Weights that do not fit their graph.
    #[error(transparent)]
    Mismatch(#[from] pumice_import::model::MismatchError),
}
