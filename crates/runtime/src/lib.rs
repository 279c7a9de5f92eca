//! Executables and sessions over any pumice device.
//!
//! In: a [`Plan`](pumice_plan::Plan), something that implements [`device::Device`], and somebody who prepares host
//! steps ([`device::HostOps`]). Out: an [`Executable`] (params, one copy of the weights) and its [`Session`]s (states,
//! scalars, inputs, outputs). The interpreter and Vulkan have the same sessions, so a test of one is a test of the
//! other.
//!
//! Nothing here knows an op or a GPU API, and nothing here is unsafe.

mod bind;
mod custom;
pub mod device;
mod error;
mod executable;
mod fork;
mod gate;
mod input_rows;
mod inspect;
mod interface;
mod interrupt;
pub mod lists;
mod load;
mod memory;
mod outcome;
mod params;
mod profile;
mod results;
mod rows;
mod run;
mod scalars;
mod session;
mod span;
mod state;
pub mod submissions;
mod tables;
pub mod values;

pub use custom::{CustomError, HostError};
pub use device::{Device, DeviceError, DeviceSession, FillWeights, HostOps, HostStep, Loaded, StepTime};
pub use error::{NameKind, RuntimeError, SymbolSource};
pub use executable::Executable;
pub use fork::StateRows;
pub use inspect::NonFinite;
pub use interface::{Extent, TensorInfo};
pub use interrupt::Interrupt;
pub use memory::{MemorySummary, RegionSummary, ScratchSummary};
pub use outcome::{OnStatus, OpReport, OutputBuffer, Outputs, RunOptions, RunStatus};
pub use profile::{HistogramRow, Profile, StepProfile};
pub use scalars::ScalarValue;
pub use session::Session;
pub use state::StateHandle;
