//! The function table: every Vulkan call of pumice, in one place.
//!
//! A call with a result code goes through [`CallLog::attempt`], so it is counted and can be made to fail; the others
//! are counted where tests want to know. No other file of pumice names a function of `ash`.

use super::calls::{Call, CallError, CallLog};
use ash::vk;
use std::ffi::CStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Calls that need no instance.
pub(super) struct EntryTable {
    pub(super) entry: ash::Entry,
    pub(super) log: Arc<CallLog>,
}

impl EntryTable {
    /// The instance version, encoded.
    pub(super) fn version(&self) -> Result<u32, CallError> {
        // SAFETY: no arguments; the loader is alive as long as `entry`.
        let version = self.log.attempt(Call::EnumerateInstanceVersion, || unsafe {
            self.entry.try_enumerate_instance_version()
        })?;
        Ok(version.unwrap_or(vk::API_VERSION_1_0))
    }

    /// Names of the layers.
    pub(super) fn layers(&self) -> Result<Vec<String>, CallError> {
        // SAFETY: no arguments.
        let layers = self.log.attempt(Call::EnumerateInstanceLayers, || unsafe {
            self.entry.enumerate_instance_layer_properties()
        })?;
        Ok(layers.iter().map(|l| name_of(l.layer_name_as_c_str().ok())).collect())
    }

    /// Names of the instance extensions, of the loader or of one layer.
    pub(super) fn extensions(&self, layer: Option<&CStr>) -> Result<Vec<String>, CallError> {
        // SAFETY: `layer` is terminated.
        let found = self.log.attempt(Call::EnumerateInstanceExtensions, || unsafe {
            self.entry.enumerate_instance_extension_properties(layer)
        })?;
        Ok(found.iter().map(|e| name_of(e.extension_name_as_c_str().ok())).collect())
    }

    /// # Safety
    /// Everything `info` points to is valid.
    pub(super) unsafe fn create_instance(
        &self,
        info: &vk::InstanceCreateInfo<'_>,
    ) -> Result<ash::Instance, CallError> {
        // SAFETY: the caller's promise.
        self.log.attempt(Call::CreateInstance, || unsafe { self.entry.create_instance(info, None) })
    }
}

fn name_of(name: Option<&CStr>) -> String {
    name.map(|n| n.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Calls on an instance and its physical devices.
pub(super) struct InstanceTable {
    pub(super) instance: ash::Instance,
    pub(super) matrices: ash::khr::cooperative_matrix::Instance,
    pub(super) log: Arc<CallLog>,
}

impl InstanceTable {
    /// Physical devices, in the loader's order.
    pub(super) fn physical_devices(&self) -> Result<Vec<vk::PhysicalDevice>, CallError> {
        // SAFETY: the instance is alive.
        self.log
            .attempt(Call::EnumeratePhysicalDevices, || unsafe { self.instance.enumerate_physical_devices() })
    }

    /// Names of a device's extensions.
    pub(super) fn device_extensions(&self, device: vk::PhysicalDevice) -> Result<Vec<String>, CallError> {
        // SAFETY: `device` is of this instance.
        let found = self.log.attempt(Call::EnumerateDeviceExtensions, || unsafe {
            self.instance.enumerate_device_extension_properties(device)
        })?;
        Ok(found.iter().map(|e| name_of(e.extension_name_as_c_str().ok())).collect())
    }

    /// Products of cooperative matrices of a device that has VK_KHR_cooperative_matrix.
    pub(super) fn cooperative_matrices(
        &self,
        device: vk::PhysicalDevice,
    ) -> Result<Vec<vk::CooperativeMatrixPropertiesKHR<'_>>, CallError> {
        // SAFETY: `device` is of this instance and has the extension, so that its driver has the function.
        self.log.attempt(Call::GetCooperativeMatrixProperties, || unsafe {
            self.matrices.get_physical_device_cooperative_matrix_properties(device)
        })
    }

    /// # Safety
    /// `device` is of this instance and everything `info` points to is valid.
    pub(super) unsafe fn create_device(
        &self,
        device: vk::PhysicalDevice,
        info: &vk::DeviceCreateInfo<'_>,
    ) -> Result<ash::Device, CallError> {
        // SAFETY: the caller's promise.
        self.log.attempt(Call::CreateDevice, || unsafe { self.instance.create_device(device, info, None) })
    }
}

/// Calls on a device. Destruction goes through [`DeviceTable::destroy`].
pub(super) struct DeviceTable {
    pub(super) device: ash::Device,
    pub(super) log: Arc<CallLog>,
    /// Whether a call has returned `VK_ERROR_DEVICE_LOST`: of this device, others of the instance go on.
    pub(super) lost: AtomicBool,
    /// Whether a submission never ended. What it uses must outlive it, so nothing of the device is destroyed any more.
    pub(super) stalled: AtomicBool,
}

impl DeviceTable {
    /// As [`CallLog::attempt`], remembering that the device was lost.
    fn attempt<T>(&self, call: Call, make: impl FnOnce() -> Result<T, vk::Result>) -> Result<T, CallError> {
        self.log.attempt(call, make).inspect_err(|e| {
            if e.is_lost() {
                self.lost.store(true, Ordering::Relaxed);
            }
        })
    }
}

macro_rules! create_calls {
    ($($call:ident: $name:ident($info:ty) -> $handle:ty;)*) => {
        impl DeviceTable {$(
            /// # Safety
            /// The handles and pointers in `info` are valid and of this device.
            pub(super) unsafe fn $name(&self, info: &$info) -> Result<$handle, CallError> {
                // SAFETY: the caller's promise.
                self.attempt(Call::$call, || unsafe { self.device.$name(info, None) })
            }
        )*}
    };
}

create_calls! {
    CreateBuffer: create_buffer(vk::BufferCreateInfo<'_>) -> vk::Buffer;
    AllocateMemory: allocate_memory(vk::MemoryAllocateInfo<'_>) -> vk::DeviceMemory;
    CreateShaderModule: create_shader_module(vk::ShaderModuleCreateInfo<'_>) -> vk::ShaderModule;
    CreatePipelineLayout: create_pipeline_layout(vk::PipelineLayoutCreateInfo<'_>) -> vk::PipelineLayout;
    CreatePipelineCache: create_pipeline_cache(vk::PipelineCacheCreateInfo<'_>) -> vk::PipelineCache;
    CreateDescriptorSetLayout:
        create_descriptor_set_layout(vk::DescriptorSetLayoutCreateInfo<'_>) -> vk::DescriptorSetLayout;
    CreateDescriptorPool: create_descriptor_pool(vk::DescriptorPoolCreateInfo<'_>) -> vk::DescriptorPool;
    CreateCommandPool: create_command_pool(vk::CommandPoolCreateInfo<'_>) -> vk::CommandPool;
    CreateQueryPool: create_query_pool(vk::QueryPoolCreateInfo<'_>) -> vk::QueryPool;
    CreateSemaphore: create_semaphore(vk::SemaphoreCreateInfo<'_>) -> vk::Semaphore;
}

macro_rules! calls_with_result {
    ($($call:ident: $name:ident($($arg:ident: $type:ty),*) -> $result:ty;)*) => {
        impl DeviceTable {$(
            /// # Safety
            /// The arguments keep the rules of the Vulkan command of that name.
            pub(super) unsafe fn $name(&self, $($arg: $type),*) -> Result<$result, CallError> {
                // SAFETY: the caller's promise.
                self.attempt(Call::$call, || unsafe { self.device.$name($($arg),*) })
            }
        )*}
    };
}

calls_with_result! {
    BindBufferMemory: bind_buffer_memory(buffer: vk::Buffer, memory: vk::DeviceMemory, offset: u64) -> ();
    MapMemory: map_memory(
        memory: vk::DeviceMemory, offset: u64, size: u64, flags: vk::MemoryMapFlags) -> *mut std::ffi::c_void;
    FlushMemory: flush_mapped_memory_ranges(ranges: &[vk::MappedMemoryRange<'_>]) -> ();
    InvalidateMemory: invalidate_mapped_memory_ranges(ranges: &[vk::MappedMemoryRange<'_>]) -> ();
    GetPipelineCacheData: get_pipeline_cache_data(cache: vk::PipelineCache) -> Vec<u8>;
    AllocateDescriptorSets:
        allocate_descriptor_sets(info: &vk::DescriptorSetAllocateInfo<'_>) -> Vec<vk::DescriptorSet>;
    ResetCommandPool: reset_command_pool(pool: vk::CommandPool, flags: vk::CommandPoolResetFlags) -> ();
    AllocateCommandBuffers:
        allocate_command_buffers(info: &vk::CommandBufferAllocateInfo<'_>) -> Vec<vk::CommandBuffer>;
    BeginCommandBuffer:
        begin_command_buffer(buffer: vk::CommandBuffer, info: &vk::CommandBufferBeginInfo<'_>) -> ();
    EndCommandBuffer: end_command_buffer(buffer: vk::CommandBuffer) -> ();
    GetQueryPoolResults: get_query_pool_results(
        pool: vk::QueryPool, first: u32, data: &mut [u64], flags: vk::QueryResultFlags) -> ();
    QueueSubmit: queue_submit(queue: vk::Queue, submits: &[vk::SubmitInfo<'_>], fence: vk::Fence) -> ();
    QueueWaitIdle: queue_wait_idle(queue: vk::Queue) -> ();
}

impl DeviceTable {
    /// The value of a timeline semaphore. A lost device shows here on drivers that return no error.
    ///
    /// # Safety
    /// The semaphore is a timeline of this device.
    pub(super) unsafe fn get_semaphore_counter_value(
        &self,
        semaphore: vk::Semaphore,
    ) -> Result<u64, CallError> {
        // SAFETY: the caller's promise.
        self.attempt(Call::GetSemaphoreCounterValue, || unsafe {
            let value = self.log.counter(self.device.get_semaphore_counter_value(semaphore)?);
            // No submission signals the maximum: it would be the last one.
            if value == u64::MAX { Err(vk::Result::ERROR_DEVICE_LOST) } else { Ok(value) }
        })
    }

    /// Waits for timelines; `VK_TIMEOUT` is an error here.
    ///
    /// # Safety
    /// The semaphores are timelines of this device.
    pub(super) unsafe fn wait_semaphores(
        &self,
        info: &vk::SemaphoreWaitInfo<'_>,
        timeout: u64,
    ) -> Result<(), CallError> {
        self.attempt(Call::WaitSemaphores, || {
            if self.log.waits_time_out() {
                return Err(vk::Result::TIMEOUT);
            }
            // SAFETY: the caller's promise.
            unsafe { self.device.wait_semaphores(info, timeout) }
        })
    }

    /// One compute pipeline.
    ///
    /// # Safety
    /// The handles and pointers in `info` are valid and of this device.
    pub(super) unsafe fn create_compute_pipeline(
        &self,
        cache: vk::PipelineCache,
        info: vk::ComputePipelineCreateInfo<'_>,
    ) -> Result<vk::Pipeline, CallError> {
        let infos = [info];
        // SAFETY: the caller's promise. On failure the driver has set the single handle to null.
        self.attempt(Call::CreateComputePipelines, || unsafe {
            let made = self.device.create_compute_pipelines(cache, &infos, None);
            made.map_err(|(_, code)| code)?.first().copied().ok_or(vk::Result::ERROR_UNKNOWN)
        })
    }

    /// Runs a destroying call, unless the process is another one than the driver's (a child of `fork` leaks instead of
    /// hanging) or a submission never ended.
    pub(super) fn destroy(&self, destroy: impl FnOnce(&ash::Device)) {
        if !self.log.forked() && !self.stalled.load(Ordering::Acquire) {
            destroy(&self.device);
        }
    }

    /// The device for a recording call, which has no result code; the call is counted.
    pub(super) fn command(&self, call: Call) -> &ash::Device {
        self.log.note(call);
        &self.device
    }
}
