//! The log of Vulkan calls: a counter per call, the fault that a test wants, and the process the calls belong to.
//!
//! Every call that returns a result code asks `CallLog::attempt` first; calls without one are noted. So a test can
//! say "fail the 17th call" and "no pipeline was created meanwhile".

use ash::vk;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

macro_rules! calls {
    ($($variant:ident => $name:literal,)*) => {
        /// A Vulkan command that pumice uses.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(usize)]
        pub enum Call {$(
            #[doc = concat!("`", $name, "`")]
            $variant,
        )*}

        impl Call {
            /// Every call, in declaration order.
            pub const ALL: &[Call] = &[$(Call::$variant),*];

            /// The name in the Vulkan specification.
            pub const fn name(self) -> &'static str {
                match self { $(Call::$variant => $name),* }
            }
        }
    };
}

calls! {
    EnumerateInstanceVersion => "vkEnumerateInstanceVersion",
    EnumerateInstanceLayers => "vkEnumerateInstanceLayerProperties",
    EnumerateInstanceExtensions => "vkEnumerateInstanceExtensionProperties",
    CreateInstance => "vkCreateInstance",
    CreateMessenger => "vkCreateDebugUtilsMessengerEXT",
    EnumeratePhysicalDevices => "vkEnumeratePhysicalDevices",
    EnumerateDeviceExtensions => "vkEnumerateDeviceExtensionProperties",
    GetCooperativeMatrixProperties => "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR",
    CreateDevice => "vkCreateDevice",
    CreateBuffer => "vkCreateBuffer",
    AllocateMemory => "vkAllocateMemory",
    BindBufferMemory => "vkBindBufferMemory",
    MapMemory => "vkMapMemory",
    FlushMemory => "vkFlushMappedMemoryRanges",
    InvalidateMemory => "vkInvalidateMappedMemoryRanges",
    CreateShaderModule => "vkCreateShaderModule",
    CreatePipelineLayout => "vkCreatePipelineLayout",
    CreatePipelineCache => "vkCreatePipelineCache",
    GetPipelineCacheData => "vkGetPipelineCacheData",
    CreateComputePipelines => "vkCreateComputePipelines",
    CreateDescriptorSetLayout => "vkCreateDescriptorSetLayout",
    CreateDescriptorPool => "vkCreateDescriptorPool",
    AllocateDescriptorSets => "vkAllocateDescriptorSets",
    CreateCommandPool => "vkCreateCommandPool",
    ResetCommandPool => "vkResetCommandPool",
    AllocateCommandBuffers => "vkAllocateCommandBuffers",
    BeginCommandBuffer => "vkBeginCommandBuffer",
    EndCommandBuffer => "vkEndCommandBuffer",
    CreateQueryPool => "vkCreateQueryPool",
    GetQueryPoolResults => "vkGetQueryPoolResults",
    CreateSemaphore => "vkCreateSemaphore",
    GetSemaphoreCounterValue => "vkGetSemaphoreCounterValue",
    WaitSemaphores => "vkWaitSemaphores",
    QueueSubmit => "vkQueueSubmit",
    QueueWaitIdle => "vkQueueWaitIdle",
    CmdDispatch => "vkCmdDispatch",
    CmdDispatchIndirect => "vkCmdDispatchIndirect",
    CmdPipelineBarrier => "vkCmdPipelineBarrier",
    CmdCopyBuffer => "vkCmdCopyBuffer",
    CmdFillBuffer => "vkCmdFillBuffer",
}

/// The result code an injected fault returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FaultResult {
    /// `VK_ERROR_OUT_OF_HOST_MEMORY`.
    #[default]
    OutOfHostMemory,
    /// `VK_ERROR_OUT_OF_DEVICE_MEMORY`.
    OutOfDeviceMemory,
    /// `VK_ERROR_DEVICE_LOST`.
    DeviceLost,
    /// `VK_ERROR_INITIALIZATION_FAILED`.
    InitializationFailed,
    /// No error: the call is made, and from then on the counter of the timeline reads its maximum, which is how some
    /// drivers show that the device is lost.
    CounterAtMaximum,
    /// No error: the call is made, and from then on the timeline stands still and every wait for it times out at once,
    /// as on a device that hangs.
    TimelineStands,
}

impl FaultResult {
    /// What the call returns instead of being made; `None`: it is made.
    const fn code(self) -> Option<vk::Result> {
        match self {
            FaultResult::OutOfHostMemory => Some(vk::Result::ERROR_OUT_OF_HOST_MEMORY),
            FaultResult::OutOfDeviceMemory => Some(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY),
            FaultResult::DeviceLost => Some(vk::Result::ERROR_DEVICE_LOST),
            FaultResult::InitializationFailed => Some(vk::Result::ERROR_INITIALIZATION_FAILED),
            FaultResult::CounterAtMaximum | FaultResult::TimelineStands => None,
        }
    }
}

/// Which call fails, for tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultPlan {
    /// The n-th call that returns a result code, counted from 1 over the life of the instance; 0 lets all through.
    pub fail_nth: u64,
    /// What happens then.
    pub result: FaultResult,
}

/// A call that did not succeed.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The driver (or an injected fault) returned an error.
    #[error("{} returned {code:?}", call.name())]
    Failed {
        /// Which call.
        call: Call,
        /// What it returned.
        code: ResultCode,
    },
    /// The process was forked after the instance was made; no driver survives that.
    #[error("the process was forked after the device was opened")]
    Forked,
    /// A range past the end of a buffer (a defect of pumice).
    #[error("bytes {offset}+{len} of a buffer of {size}")]
    Range {
        /// First byte.
        offset: u64,
        /// Number of bytes.
        len: u64,
        /// Bytes of the buffer.
        size: u64,
    },
    /// Bytes that somebody else is making meanwhile (a defect of pumice).
    #[error("bytes {offset}+{len} of a buffer are being made by somebody else")]
    Lent {
        /// First byte.
        offset: u64,
        /// Number of bytes.
        len: u64,
    },
    /// Memory that the host cannot see was to be mapped (a defect of pumice).
    #[error("the host cannot see this memory")]
    NotMapped,
    /// More than the device says it can do.
    #[error("{needed}, {limit} of the device is {most}")]
    Limit {
        /// The limit's name in the Vulkan specification.
        limit: &'static str,
        /// What was asked for: bytes, or a count.
        needed: u64,
        /// The limit.
        most: u64,
    },
    /// No submission ended for so long. The device counts as lost, and its objects are never destroyed.
    #[error("no submission ended for {waited:?}")]
    Stalled {
        /// How long nothing had ended.
        waited: Duration,
    },
    /// Lists that leave work which no barrier shows to the host (a defect of pumice).
    #[error("a submission that leaves work unseen by the host")]
    Unseen,
    /// No memory type satisfies the buffer's requirements.
    #[error("no memory type of the device fits a buffer of {size} bytes")]
    NoMemoryType {
        /// Bytes of the buffer.
        size: u64,
    },
}

pumice_types::debug_as_display!(CallError);

/// A Vulkan result code, kept as a number so that the error is plain data.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ResultCode(pub i32);

impl std::fmt::Debug for ResultCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "VK_{:?}", vk::Result::from_raw(self.0))
    }
}

impl CallError {
    /// Whether the device said that memory is short.
    pub fn is_out_of_memory(&self) -> bool {
        let short = [vk::Result::ERROR_OUT_OF_DEVICE_MEMORY, vk::Result::ERROR_OUT_OF_HOST_MEMORY];
        matches!(self, CallError::Failed { code, .. } if short.iter().any(|c| c.as_raw() == code.0))
    }

    /// Whether a wait ended without what it waited for.
    pub(super) fn is_timeout(&self) -> bool {
        matches!(self, CallError::Failed { code, .. } if code.0 == vk::Result::TIMEOUT.as_raw())
    }

    /// Whether the device is gone.
    pub fn is_lost(&self) -> bool {
        matches!(self, CallError::Failed { code, .. } if code.0 == vk::Result::ERROR_DEVICE_LOST.as_raw())
    }
}

/// Counts calls, injects the fault, and knows the process. One per instance, shared by everything made from it.
#[derive(Debug)]
pub struct CallLog {
    counts: Vec<AtomicU64>,
    attempts: AtomicU64,
    fault: FaultPlan,
    pid: u32,
}

impl CallLog {
    /// A log with everything at zero, bound to this process.
    pub fn new(fault: FaultPlan) -> CallLog {
        CallLog {
            counts: Call::ALL.iter().map(|_| AtomicU64::new(0)).collect(),
            attempts: AtomicU64::new(0),
            fault,
            pid: std::process::id(),
        }
    }

    /// How often a call was made (failed ones included).
    pub fn count(&self, call: Call) -> u64 {
        self.counts[call as usize].load(Ordering::Relaxed)
    }

    /// How many calls that return a result code were made: the range of [`FaultPlan::fail_nth`].
    pub fn attempts(&self) -> u64 {
        self.attempts.load(Ordering::Relaxed)
    }

    /// Whether the fault has been injected.
    pub fn fault_hit(&self) -> bool {
        self.fault.fail_nth != 0 && self.attempts() >= self.fault.fail_nth
    }

    /// The value of a timeline's counter, as the fault would have it.
    pub(crate) fn counter(&self, value: u64) -> u64 {
        match self.fault.result {
            FaultResult::CounterAtMaximum if self.fault_hit() => u64::MAX,
            FaultResult::TimelineStands if self.fault_hit() => 0,
            _ => value,
        }
    }

    /// Whether waits time out at once, as the fault would have it.
    pub(crate) fn waits_time_out(&self) -> bool {
        self.fault.result == FaultResult::TimelineStands && self.fault_hit()
    }

    /// Whether this is another process than the one the log was made in.
    pub fn forked(&self) -> bool {
        std::process::id() != self.pid
    }

    /// Counts a call without a result code.
    pub(crate) fn note(&self, call: Call) {
        self.counts[call as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Makes a call that returns a result code, unless it is the one that shall fail or the process is another one.
    pub(crate) fn attempt<T>(
        &self,
        call: Call,
        make: impl FnOnce() -> Result<T, vk::Result>,
    ) -> Result<T, CallError> {
        if self.forked() {
            return Err(CallError::Forked);
        }
        self.note(call);
        let nth = self.attempts.fetch_add(1, Ordering::Relaxed) + 1;
        let fault = self.fault.result.code().filter(|_| nth == self.fault.fail_nth);
        let result = fault.map_or_else(make, Err);
        result.map_err(|code| CallError::Failed { call, code: ResultCode(code.as_raw()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nth_call_fails_and_only_it() {
        let log = CallLog::new(FaultPlan { fail_nth: 2, result: FaultResult::DeviceLost });
        assert_eq!(log.attempt(Call::CreateBuffer, || Ok(1)), Ok(1));
        let error = log.attempt(Call::CreateBuffer, || Ok(2)).unwrap_err();
        assert!(error.is_lost() && log.fault_hit());
        assert_eq!(error.to_string(), "vkCreateBuffer returned VK_ERROR_DEVICE_LOST");
        assert_eq!(log.attempt(Call::QueueSubmit, || Ok(3)), Ok(3));
        assert_eq!((log.count(Call::CreateBuffer), log.count(Call::QueueSubmit), log.attempts()), (2, 1, 3));
    }

    #[test]
    fn names_are_unique() {
        for (i, a) in Call::ALL.iter().enumerate() {
            assert_eq!(*a as usize, i);
            assert!(Call::ALL[..i].iter().all(|b| a.name() != b.name()));
        }
    }
}
