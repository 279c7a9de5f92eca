//! A buffer with memory of its own.

use super::calls::CallError;
use super::device::DeviceShared;
use super::memory::Memory;
use ash::vk;
use std::sync::Arc;

/// What a buffer is for. Every buffer may be copied from, copied to and filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BufferUsage {
    /// Kernels read and write it, by address or through a descriptor; grids are read from it. The host sees it where
    /// the device offers that.
    Kernel,
    /// The same, and the host reads or writes it at every run.
    Host,
    /// Copies between the host and what it does not see.
    Staging,
}

/// Owner of `VkBuffer` and of the memory it is bound to.
pub(crate) struct Buffer {
    shared: Arc<DeviceShared>,
    handle: vk::Buffer,
    size: u64,
    address: u64,
    // Declared last: freed after the buffer is destroyed.
    memory: Option<Memory>,
}

impl Buffer {
    /// A buffer in the first of the given memory types that its requirements allow and that has room.
    pub(crate) fn new(
        shared: &Arc<DeviceShared>,
        usage: BufferUsage,
        size: u64,
        memory_types: &[u32],
    ) -> Result<Buffer, CallError> {
        if let Some(most) = shared.limits().max_buffer.filter(|&most| size > most) {
            return Err(CallError::Limit { limit: "maxBufferSize", needed: size, most });
        }
        let transfer = vk::BufferUsageFlags::TRANSFER_SRC | vk::BufferUsageFlags::TRANSFER_DST;
        let flags = match usage {
            BufferUsage::Staging => transfer,
            BufferUsage::Kernel | BufferUsage::Host => {
                transfer
                    | vk::BufferUsageFlags::STORAGE_BUFFER
                    | vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS
                    | vk::BufferUsageFlags::INDIRECT_BUFFER
            }
        };
        let info = vk::BufferCreateInfo::default().size(size.max(4)).usage(flags);
        // SAFETY: plain data; address use is enabled on the device.
        let handle = unsafe { shared.table.create_buffer(&info) }?;
        let mut buffer = Buffer { shared: shared.clone(), handle, size, address: 0, memory: None };
        buffer.bind(usage, memory_types)?;
        if usage != BufferUsage::Staging {
            let info = vk::BufferDeviceAddressInfo::default().buffer(handle);
            // SAFETY: the buffer has address usage and is bound.
            buffer.address = unsafe { shared.table.device.get_buffer_device_address(&info) };
        }
        Ok(buffer)
    }

    fn bind(&mut self, usage: BufferUsage, memory_types: &[u32]) -> Result<(), CallError> {
        // SAFETY: the buffer is alive.
        let needs = unsafe { self.shared.table.device.get_buffer_memory_requirements(self.handle) };
        let allowed = memory_types.iter().filter(|&&t| t < 32 && needs.memory_type_bits & (1 << t) != 0);
        let mut result = Err(CallError::NoMemoryType { size: self.size });
        for &memory_type in allowed {
            result = Memory::new(&self.shared, usage, needs.size, memory_type);
            match &result {
                Err(error) if error.is_out_of_memory() => continue,
                _ => break,
            }
        }
        let memory = result?;
        // SAFETY: the memory is of an allowed type and large enough, and the buffer is not bound yet.
        unsafe { self.shared.table.bind_buffer_memory(self.handle, memory.handle(), 0) }?;
        self.memory = Some(memory);
        Ok(())
    }

    pub(super) fn handle(&self) -> vk::Buffer {
        self.handle
    }

    /// Bytes.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// The device address of its first byte; 0 for staging.
    pub(crate) fn address(&self) -> u64 {
        self.address
    }

    /// Whether the host can write it directly.
    pub(crate) fn is_mapped(&self) -> bool {
        self.memory.as_ref().is_some_and(Memory::is_mapped)
    }

    /// Whether the host can read it directly at the speed of its own memory.
    pub(crate) fn is_cached(&self) -> bool {
        self.memory.as_ref().is_some_and(|m| m.is_mapped() && m.is_cached())
    }

    /// Copies bytes in; the buffer must be mapped.
    pub(crate) fn write(&self, offset: u64, bytes: &[u8]) -> Result<(), CallError> {
        self.check(offset, bytes.len() as u64)?;
        self.memory.as_ref().ok_or(CallError::NotMapped)?.write(offset, bytes)
    }

    /// Lets bytes be made in place; the buffer must be mapped.
    pub(crate) fn fill<E: From<CallError>>(
        &self,
        offset: u64,
        len: u64,
        fill: impl FnOnce(&mut [u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.check(offset, len)?;
        self.memory.as_ref().ok_or(CallError::NotMapped)?.fill(offset, len, fill)
    }

    /// Copies bytes out; the buffer must be mapped.
    pub(crate) fn read(&self, offset: u64, bytes: &mut [u8]) -> Result<(), CallError> {
        self.check(offset, bytes.len() as u64)?;
        self.memory.as_ref().ok_or(CallError::NotMapped)?.read(offset, bytes)
    }

    /// That a range lies inside the buffer.
    pub(super) fn check(&self, offset: u64, len: u64) -> Result<(), CallError> {
        let inside = offset.checked_add(len).is_some_and(|end| end <= self.size);
        if inside { Ok(()) } else { Err(CallError::Range { offset, len, size: self.size }) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: command lists that use the buffer hold an `Arc` of it and wait before they go, so no use is left.
        self.shared.table.destroy(|d| unsafe { d.destroy_buffer(self.handle, None) });
    }
}
