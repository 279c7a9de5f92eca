//! The Vulkan device of pumice: records plans and replays them.
//!
//! It cannot name an op. In come plans; what is recorded stands in them: order, barriers, grids, arguments. The only
//! `unsafe` of pumice lies under [`raw`], and every Vulkan call goes through one table that counts it and can make it
//! fail.

pub mod cache_file;
pub mod codegen;
pub mod device;
pub mod device_options;
pub mod device_plan;
pub mod doctor;
pub mod error;
pub mod figures;
pub mod kernel_source;
pub mod quirks;
pub mod raw;
pub mod snapshot;

mod abandoned;
mod figure_file;
mod gpu;
mod host;
mod loaded;
mod loops;
mod measure;
mod memory;
mod pipelines;
mod profile;
mod progress;
mod record;
mod scratch;
mod seam;
mod session;
mod slot_access;
mod staging;
mod submit;
mod wait_policy;

pub use device::{DeviceReport, Pick, VulkanDevice, devices};
pub use device_options::DeviceOptions;
pub use device_plan::{DevicePlan, Refusal};
pub use error::OpenError;
pub use figures::{FigureSources, Source};
pub use gpu::Poison;
pub use kernel_source::{CheckedInKernels, KernelSource};
pub use progress::{KernelObserver, KernelProgress};
pub use pumice_plan::kernel::interface::Addressing;
pub use raw::{
    Call, CallLog, FaultPlan, FaultResult, HostAccess, Instance, InstanceOptions, MemoryLedger, Message,
    MessageLog, Severity, Validation,
};
pub use snapshot::Snapshot;
