//! Device memory, mapped for as long as it lives where the host can see it.

use super::calls::CallError;
use super::device::DeviceShared;
use ash::vk;
use std::sync::{Arc, Mutex, PoisonError};

/// Owner of `VkDeviceMemory`.
pub(super) struct Memory {
    shared: Arc<DeviceShared>,
    handle: vk::DeviceMemory,
    size: u64,
    heap: u32,
    coherent: bool,
    cached: bool,
    mapped: Option<Mutex<HostPointer>>,
}

/// Where the memory begins in this process. Only [`Memory`] goes through it, under its lock.
struct HostPointer(*mut u8);

// SAFETY: the pointer is a mapping that belongs to the process, not to a thread; the mutex around it orders copies.
unsafe impl Send for HostPointer {}

impl Memory {
    /// Takes memory of one type, for buffers whose address kernels use.
    pub(super) fn new(shared: &Arc<DeviceShared>, size: u64, memory_type: u32) -> Result<Memory, CallError> {
        let kind = *shared.memory_type(memory_type).ok_or(CallError::NoMemoryType { size })?;
        let mut flags = vk::MemoryAllocateFlagsInfo::default().flags(vk::MemoryAllocateFlags::DEVICE_ADDRESS);
        let info = vk::MemoryAllocateInfo::default()
            .allocation_size(size)
            .memory_type_index(memory_type)
            .push_next(&mut flags);
        // SAFETY: the memory type exists and buffer addresses are enabled on the device.
        let handle = unsafe { shared.table.allocate_memory(&info) }?;
        shared.took(kind.heap, size);
        let mut memory = Memory {
            shared: shared.clone(),
            handle,
            size,
            heap: kind.heap,
            coherent: kind.host_coherent,
            cached: kind.host_cached,
            mapped: None,
        };
        if kind.host_visible {
            // SAFETY: the memory is host-visible and not mapped yet.
            let at =
                unsafe { shared.table.map_memory(handle, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty()) }?;
            memory.mapped = Some(Mutex::new(HostPointer(at.cast())));
        }
        Ok(memory)
    }

    pub(super) fn handle(&self) -> vk::DeviceMemory {
        self.handle
    }

    pub(super) fn is_mapped(&self) -> bool {
        self.mapped.is_some()
    }

    pub(super) fn is_cached(&self) -> bool {
        self.cached
    }

    /// Copies bytes in and makes them visible to submissions that follow.
    pub(super) fn write(&self, offset: u64, bytes: &[u8]) -> Result<(), CallError> {
        self.check(offset, bytes.len() as u64)?;
        let mapped = self.mapped.as_ref().ok_or(CallError::NotMapped)?;
        {
            let at = mapped.lock().unwrap_or_else(PoisonError::into_inner);
            // SAFETY: the range lies inside the mapping (checked), the source is a live slice elsewhere, and the lock
            // keeps other copies out. That the device is not using the range is the caller's protocol; a breach of
            // it gives wrong bytes on the device, not an invalid access here.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), at.0.add(offset as usize), bytes.len()) };
        }
        if self.coherent || bytes.is_empty() {
            return Ok(());
        }
        // SAFETY: the memory is mapped and the range is aligned to the device's atom.
        unsafe { self.shared.table.flush_mapped_memory_ranges(&[self.range(offset, bytes.len() as u64)]) }
    }

    /// Copies bytes out, as the device last left them.
    pub(super) fn read(&self, offset: u64, bytes: &mut [u8]) -> Result<(), CallError> {
        self.check(offset, bytes.len() as u64)?;
        let mapped = self.mapped.as_ref().ok_or(CallError::NotMapped)?;
        if !self.coherent && !bytes.is_empty() {
            let range = self.range(offset, bytes.len() as u64);
            // SAFETY: the memory is mapped and the range is aligned to the device's atom.
            unsafe { self.shared.table.invalidate_mapped_memory_ranges(&[range]) }?;
        }
        let at = mapped.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: as in `write`, with the roles exchanged.
        unsafe { std::ptr::copy_nonoverlapping(at.0.add(offset as usize), bytes.as_mut_ptr(), bytes.len()) };
        Ok(())
    }

    fn check(&self, offset: u64, len: u64) -> Result<(), CallError> {
        let inside = offset.checked_add(len).is_some_and(|end| end <= self.size);
        if inside { Ok(()) } else { Err(CallError::Range { offset, len, size: self.size }) }
    }

    /// The range widened to the granularity of flush and invalidate; up to the end where the size is not a multiple.
    fn range(&self, offset: u64, len: u64) -> vk::MappedMemoryRange<'static> {
        let atom = self.shared.non_coherent_atom();
        let start = offset / atom * atom;
        let end = (offset + len).next_multiple_of(atom);
        let size = if end >= self.size { vk::WHOLE_SIZE } else { end - start };
        vk::MappedMemoryRange::default().memory(self.handle).offset(start).size(size)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the buffer bound to it has been destroyed (it holds this owner), which also ends every use by the
        // device; freeing unmaps.
        self.shared.table.destroy(|d| unsafe { d.free_memory(self.handle, None) });
        self.shared.returned(self.heap, self.size);
    }
}
