//! One owner per Vulkan handle, and the only `unsafe` of pumice.
//!
//! In: validated, plain arguments. Out: owners whose `Drop` returns what `new` took, and [`CallError`]. Every Vulkan
//! call goes through `table`, which counts it and can make it fail. Nothing here knows a plan, and nothing here
//! decides what to record.
#![allow(unsafe_code)]

mod bfloat16;
pub mod calls;
mod gate;
pub mod instance;
pub mod ledger;
pub mod messages;

pub(crate) mod buffer;
pub(crate) mod commands;
pub(crate) mod descriptors;
pub(crate) mod device;
pub(crate) mod memory;
pub(crate) mod pipeline;
pub(crate) mod queries;
pub(crate) mod queue;
pub(crate) mod snapshot;
pub(crate) mod table;

#[cfg(all(test, unix))]
mod on_device;

pub use calls::{Call, CallError, CallLog, FaultPlan, FaultResult};
pub use instance::{Instance, InstanceError, InstanceOptions, Validation};
pub use ledger::MemoryLedger;
pub use messages::{Message, MessageLog, Severity};

pub(crate) use buffer::{Buffer, BufferUsage};
pub(crate) use commands::{Commands, DispatchTarget, Masks, Recorder};
pub(crate) use descriptors::{DescriptorSet, SetLayout};
pub use device::HostAccess;

pub(crate) use device::DeviceShared;
pub(crate) use pipeline::{Pipeline, PipelineCache, PipelineLayout, ShaderModule};
pub(crate) use queries::QueryPool;
pub(crate) use queue::Queue;
