//! Why a device cannot be opened, and how failed calls become the runtime's `DeviceError`.

use crate::device_plan::Refusal;
use crate::raw::{CallError, InstanceError};
use pumice_runtime::device::DeviceError;
use pumice_types::target::FigureError;
use std::ops::RangeInclusive;
use std::time::Duration;

/// Why there is no device.
#[derive(thiserror::Error)]
pub enum OpenError {
    /// No usable Vulkan on this machine, or validation was asked for and is missing.
    #[error(transparent)]
    Instance(#[from] InstanceError),
    /// The loader works but lists no device.
    #[error("Vulkan is installed, but no driver offers a device; `pumice doctor` says how to get a driver")]
    NoDevice,
    /// No device fits what was asked for.
    #[error("no device is {wanted}; there are: {}", available.join(", "))]
    NotFound {
        /// What was asked for.
        wanted: String,
        /// The devices there are.
        available: Vec<String>,
    },
    /// The device cannot run pumice.
    #[error("{device} cannot be used: {}", reasons(refusals))]
    Refused {
        /// The device.
        device: String,
        /// Every reason.
        refusals: Vec<Refusal>,
    },
    /// The options give a figure that no device has.
    #[error(transparent)]
    Figure(#[from] FigureError),
    /// The driver failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

pumice_types::debug_as_display!(OpenError);

fn reasons(refusals: &[Refusal]) -> String {
    refusals.iter().map(Refusal::to_string).collect::<Vec<_>>().join("; ")
}

impl From<CallError> for OpenError {
    fn from(error: CallError) -> OpenError {
        OpenError::Device(device_error(error))
    }
}

/// A submission of these levels that the device did not end.
pub(crate) fn stalled(plan: &str, levels: RangeInclusive<u32>, waited: Duration) -> DeviceError {
    DeviceError::Stalled { plan: plan.to_owned(), levels: Some((*levels.start(), *levels.end())), waited }
}

/// A failed call as the runtime knows it. Where memory was being taken, `memory` says more than this does.
pub(crate) fn device_error(error: CallError) -> DeviceError {
    match error {
        CallError::Forked => DeviceError::Forked,
        CallError::Failed { call, .. } if error.is_lost() => {
            DeviceError::Lost(format!("{} said so", call.name()))
        }
        CallError::Failed { call, code } => {
            DeviceError::Call { call: call.name().to_owned(), code: format!("{code:?}") }
        }
        CallError::Limit { limit, needed, most } => {
            DeviceError::Limit { limit: limit.to_owned(), needed, most }
        }
        CallError::Stalled { waited } => DeviceError::Stalled { plan: String::new(), levels: None, waited },
        CallError::Range { .. }
        | CallError::Lent { .. }
        | CallError::NotMapped
        | CallError::NoMemoryType { .. }
        | CallError::Unseen => DeviceError::Unsupported(error.to_string()),
    }
}
