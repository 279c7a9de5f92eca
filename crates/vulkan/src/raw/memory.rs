//! Device memory, mapped for as long as it lives where the host can see it.
//!
//! Memory that is not coherent is flushed and invalidated in whole atoms. A write that covers an atom in part
//! invalidates it first: what the device left in the rest would else be overwritten by what the host last knew of it.

use super::buffer::BufferUsage;
use super::calls::CallError;
use super::device::{DeviceShared, HostAccess};
use super::ledger::Owner;
use ash::vk;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// What the host finds in a shadow that was never filled.
const STALE: u8 = 0xa5;

/// Owner of `VkDeviceMemory`.
pub(super) struct Memory {
    shared: Arc<DeviceShared>,
    handle: vk::DeviceMemory,
    size: u64,
    heap: u32,
    owner: Owner,
    coherent: bool,
    cached: bool,
    mapped: Option<Mutex<Mapping>>,
}

/// Memory as the host sees it. Only [`Memory`] goes through it, under its lock.
struct Mapping {
    at: HostPointer,
    /// What the host reads and writes instead, under [`HostAccess::Shadowed`].
    shadow: Option<Box<[u8]>>,
}

/// Where the memory begins in this process.
struct HostPointer(*mut u8);

// SAFETY: the pointer is a mapping that belongs to the process, not to a thread; the mutex around it orders copies.
unsafe impl Send for HostPointer {}

impl Memory {
    /// Takes memory of one type for a buffer of that usage.
    pub(super) fn new(
        shared: &Arc<DeviceShared>,
        usage: BufferUsage,
        size: u64,
        memory_type: u32,
    ) -> Result<Memory, CallError> {
        let kind = *shared.memory_type(memory_type).ok_or(CallError::NoMemoryType { size })?;
        let most = shared.limits().max_allocation;
        if size > most {
            return Err(CallError::Limit { limit: "maxMemoryAllocationSize", needed: size, most });
        }
        let owner = if usage == BufferUsage::Staging { Owner::Staging } else { Owner::Plans };
        let shadowed = shared.host() == HostAccess::Shadowed;
        let mut memory = Memory {
            shared: shared.clone(),
            handle: allocate(shared, size, memory_type)?,
            size,
            heap: kind.heap,
            owner,
            coherent: kind.host_coherent && !shadowed,
            cached: kind.host_cached,
            mapped: None,
        };
        shared.ledger().took(owner, kind.heap, size);
        if kind.host_visible && !(shadowed && usage == BufferUsage::Kernel) {
            memory.map(shadowed)?;
        }
        Ok(memory)
    }

    fn map(&mut self, shadowed: bool) -> Result<(), CallError> {
        let (whole, flags) = (vk::WHOLE_SIZE, vk::MemoryMapFlags::empty());
        // SAFETY: the memory is host-visible and not mapped yet.
        let at = unsafe { self.shared.table.map_memory(self.handle, 0, whole, flags) }?;
        let shadow = shadowed.then(|| vec![STALE; self.size as usize].into_boxed_slice());
        self.mapped = Some(Mutex::new(Mapping { at: HostPointer(at.cast()), shadow }));
        Ok(())
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
        self.fill(offset, bytes.len() as u64, |room| {
            room.copy_from_slice(bytes);
            Ok(())
        })
    }

    /// Lets bytes be made in place and makes them visible to submissions that follow. What `fill` finds there is unknown.
    pub(super) fn fill<E: From<CallError>>(
        &self,
        offset: u64,
        len: u64,
        fill: impl FnOnce(&mut [u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let range = self.check(offset, len)?;
        let mapped = self.mapped.as_ref().ok_or(CallError::NotMapped)?;
        if range.is_empty() {
            return Ok(());
        }
        let mut mapping = mapped.lock().unwrap_or_else(PoisonError::into_inner);
        let atoms = self.atoms(&range);
        if !self.coherent && atoms != range {
            self.invalidate(&mut mapping, &atoms)?;
        }
        fill(mapping.room(range.start as usize, len as usize))?;
        if self.coherent { Ok(()) } else { Ok(self.flush(&mut mapping, &atoms)?) }
    }

    /// Copies bytes out, as the device last left them.
    pub(super) fn read(&self, offset: u64, bytes: &mut [u8]) -> Result<(), CallError> {
        let range = self.check(offset, bytes.len() as u64)?;
        let mapped = self.mapped.as_ref().ok_or(CallError::NotMapped)?;
        if range.is_empty() {
            return Ok(());
        }
        let mut mapping = mapped.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.coherent {
            self.invalidate(&mut mapping, &self.atoms(&range))?;
        }
        mapping.get(range.start as usize, bytes);
        Ok(())
    }

    fn check(&self, offset: u64, len: u64) -> Result<Range<u64>, CallError> {
        let end = offset.checked_add(len).filter(|&end| end <= self.size);
        end.map(|end| offset..end).ok_or(CallError::Range { offset, len, size: self.size })
    }

    /// A range widened to the granularity of flush and invalidate, or to the memory's end.
    fn atoms(&self, range: &Range<u64>) -> Range<u64> {
        let atom = self.shared.limits().non_coherent_atom.max(1);
        range.start / atom * atom..range.end.next_multiple_of(atom).min(self.size)
    }

    fn vulkan(&self, atoms: &Range<u64>) -> vk::MappedMemoryRange<'static> {
        let size = if atoms.end == self.size { vk::WHOLE_SIZE } else { atoms.end - atoms.start };
        vk::MappedMemoryRange::default().memory(self.handle).offset(atoms.start).size(size)
    }

    /// Makes what the host wrote visible to the device.
    fn flush(&self, mapping: &mut Mapping, atoms: &Range<u64>) -> Result<(), CallError> {
        mapping.write_back(atoms);
        // SAFETY: the memory is mapped and the range is whole atoms of it.
        unsafe { self.shared.table.flush_mapped_memory_ranges(&[self.vulkan(atoms)]) }
    }

    /// Makes what the device left visible to the host.
    fn invalidate(&self, mapping: &mut Mapping, atoms: &Range<u64>) -> Result<(), CallError> {
        // SAFETY: the memory is mapped and the range is whole atoms of it.
        unsafe { self.shared.table.invalidate_mapped_memory_ranges(&[self.vulkan(atoms)]) }?;
        mapping.fetch(atoms);
        Ok(())
    }
}

/// Ranges lie inside the memory; [`Memory`] has checked them.
impl Mapping {
    fn room(&mut self, start: usize, len: usize) -> &mut [u8] {
        match &mut self.shadow {
            Some(shadow) => &mut shadow[start..start + len],
            // SAFETY: the range lies inside the mapping, which lives as long as the memory; the lock, held through
            // `&mut self`, keeps every other copy out. The device does not use the range (the caller's protocol), and
            // any byte is a valid `u8`.
            None => unsafe { std::slice::from_raw_parts_mut(self.at.0.add(start), len) },
        }
    }

    fn get(&self, start: usize, bytes: &mut [u8]) {
        match &self.shadow {
            Some(shadow) => bytes.copy_from_slice(&shadow[start..start + bytes.len()]),
            // SAFETY: as in `room`; the other side is a live slice elsewhere.
            None => unsafe {
                std::ptr::copy_nonoverlapping(self.at.0.add(start), bytes.as_mut_ptr(), bytes.len());
            },
        }
    }

    /// From the shadow, where there is one.
    fn write_back(&mut self, atoms: &Range<u64>) {
        let Some(shadow) = &self.shadow else { return };
        let from = &shadow[atoms.start as usize..atoms.end as usize];
        // SAFETY: as in `room`; the other side is a live slice elsewhere.
        unsafe {
            std::ptr::copy_nonoverlapping(from.as_ptr(), self.at.0.add(atoms.start as usize), from.len())
        };
    }

    /// To the shadow, where there is one.
    fn fetch(&mut self, atoms: &Range<u64>) {
        let Some(shadow) = &mut self.shadow else { return };
        let to = &mut shadow[atoms.start as usize..atoms.end as usize];
        // SAFETY: as in `room`; the other side is a live slice elsewhere.
        unsafe {
            std::ptr::copy_nonoverlapping(self.at.0.add(atoms.start as usize), to.as_mut_ptr(), to.len())
        };
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the buffer bound to it has been destroyed (it holds this owner), which also ends every use by the
        // device; freeing unmaps.
        self.shared.table.destroy(|d| unsafe { d.free_memory(self.handle, None) });
        self.shared.ledger().returned(self.owner, self.heap, self.size);
    }
}

/// Memory of one type, for buffers whose address kernels use.
fn allocate(shared: &DeviceShared, size: u64, memory_type: u32) -> Result<vk::DeviceMemory, CallError> {
    let mut flags = vk::MemoryAllocateFlagsInfo::default().flags(vk::MemoryAllocateFlags::DEVICE_ADDRESS);
    let info = vk::MemoryAllocateInfo::default()
        .allocation_size(size)
        .memory_type_index(memory_type)
        .push_next(&mut flags);
    shared.ledger().claim()?;
    // SAFETY: the memory type exists and buffer addresses are enabled on the device.
    unsafe { shared.table.allocate_memory(&info) }.inspect_err(|_| shared.ledger().unclaim())
}
