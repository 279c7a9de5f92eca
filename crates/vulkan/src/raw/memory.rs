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
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A range of bytes, the atoms that it touches, and the mapping.
type Locked<'m> = (Range<u64>, Range<u64>, MutexGuard<'m, Mapping>);

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
    /// Ranges in which somebody makes bytes while the lock is not held. They are disjoint, and nobody else touches
    /// them.
    lent: Vec<Range<u64>>,
}

/// A lent range; it goes back when this goes.
struct Loan<'a> {
    of: &'a Mutex<Mapping>,
    range: Range<u64>,
}

impl Drop for Loan<'_> {
    fn drop(&mut self) {
        let mut mapping = self.of.lock().unwrap_or_else(PoisonError::into_inner);
        mapping.lent.retain(|lent| *lent != self.range);
    }
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
        self.mapped = Some(Mutex::new(Mapping { at: HostPointer(at.cast()), shadow, lent: Vec::new() }));
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
        let Some((range, atoms, mut mapping)) = self.locked(offset, bytes.len() as u64)? else {
            return Ok(());
        };
        self.complete_atoms(&mut mapping, &range)?;
        mapping.bytes_at(range.start as usize, bytes.len()).copy_from_slice(bytes);
        if self.coherent { Ok(()) } else { self.flush(&mut mapping, &atoms) }
    }

    /// Lets bytes be made in place, while no lock is held, and makes them visible to submissions that follow. What
    /// `fill` finds there is unknown. Nobody else reads or writes these bytes meanwhile ([`CallError::Lent`]).
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
        let Some((start, loan)) = self.lend(mapped, &range)? else {
            let mut made = vec![STALE; len as usize];
            fill(&mut made)?;
            return Ok(self.write(offset, &made)?);
        };
        // SAFETY: the range lies inside the mapping, which lives as long as the memory; as long as the loan lives no
        // other copy touches it. The device does not use it (the caller's protocol), and any byte is a valid `u8`.
        fill(unsafe { std::slice::from_raw_parts_mut(start.0, len as usize) })?;
        if !self.coherent {
            let mut mapping = mapped.lock().unwrap_or_else(PoisonError::into_inner);
            self.flush(&mut mapping, &loan.range)?;
        }
        Ok(())
    }

    /// Lends a range of the memory itself; none where the host works on a shadow.
    fn lend<'a>(
        &self,
        mapped: &'a Mutex<Mapping>,
        range: &Range<u64>,
    ) -> Result<Option<(HostPointer, Loan<'a>)>, CallError> {
        let mut mapping = mapped.lock().unwrap_or_else(PoisonError::into_inner);
        if mapping.shadow.is_some() {
            return Ok(None);
        }
        let atoms = self.touched(range);
        mapping.check_not_lent(&atoms)?;
        self.complete_atoms(&mut mapping, range)?;
        mapping.lent.push(atoms.clone());
        // SAFETY: the range lies inside the mapping.
        let start = HostPointer(unsafe { mapping.at.0.add(range.start as usize) });
        Ok(Some((start, Loan { of: mapped, range: atoms })))
    }

    /// What a copy of that range touches: whole atoms where they are flushed or invalidated.
    fn touched(&self, range: &Range<u64>) -> Range<u64> {
        if self.coherent { range.clone() } else { self.atoms(range) }
    }

    /// Before a range is written that covers an atom in part: what the device left in the rest.
    fn complete_atoms(&self, mapping: &mut Mapping, range: &Range<u64>) -> Result<(), CallError> {
        let atoms = self.touched(range);
        if atoms == *range { Ok(()) } else { self.invalidate(mapping, &atoms) }
    }

    /// Copies bytes out, as the device last left them.
    pub(super) fn read(&self, offset: u64, bytes: &mut [u8]) -> Result<(), CallError> {
        let Some((range, atoms, mut mapping)) = self.locked(offset, bytes.len() as u64)? else {
            return Ok(());
        };
        if !self.coherent {
            self.invalidate(&mut mapping, &atoms)?;
        }
        mapping.get(range.start as usize, bytes);
        Ok(())
    }

    /// The range, the atoms that it touches, and the mapping, for bytes that are not lent; `None` of no bytes.
    fn locked(&self, offset: u64, len: u64) -> Result<Option<Locked<'_>>, CallError> {
        let range = self.check(offset, len)?;
        let mapped = self.mapped.as_ref().ok_or(CallError::NotMapped)?;
        if range.is_empty() {
            return Ok(None);
        }
        let mapping = mapped.lock().unwrap_or_else(PoisonError::into_inner);
        let atoms = self.touched(&range);
        mapping.check_not_lent(&atoms)?;
        Ok(Some((range, atoms, mapping)))
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
    fn check_not_lent(&self, range: &Range<u64>) -> Result<(), CallError> {
        let meets = |lent: &Range<u64>| lent.start < range.end && range.start < lent.end;
        match self.lent.iter().any(meets) {
            true => Err(CallError::Lent { offset: range.start, len: range.end - range.start }),
            false => Ok(()),
        }
    }

    fn bytes_at(&mut self, start: usize, len: usize) -> &mut [u8] {
        match &mut self.shadow {
            Some(shadow) => &mut shadow[start..start + len],
            // SAFETY: the range lies inside the mapping, which lives as long as the memory; the lock, held through
            // `&mut self`, keeps every other copy out, and no part of the range is lent. The device does not use the
            // range (the caller's protocol), and any byte is a valid `u8`.
            None => unsafe { std::slice::from_raw_parts_mut(self.at.0.add(start), len) },
        }
    }

    fn get(&self, start: usize, bytes: &mut [u8]) {
        match &self.shadow {
            Some(shadow) => bytes.copy_from_slice(&shadow[start..start + bytes.len()]),
            // SAFETY: as in `bytes_at`; the other side is a live slice elsewhere.
            None => unsafe {
                std::ptr::copy_nonoverlapping(self.at.0.add(start), bytes.as_mut_ptr(), bytes.len());
            },
        }
    }

    /// From the shadow, where there is one.
    fn write_back(&mut self, atoms: &Range<u64>) {
        let Some(shadow) = &self.shadow else { return };
        let from = &shadow[atoms.start as usize..atoms.end as usize];
        // SAFETY: as in `bytes_at`; the other side is a live slice elsewhere.
        unsafe {
            std::ptr::copy_nonoverlapping(from.as_ptr(), self.at.0.add(atoms.start as usize), from.len())
        };
    }

    /// To the shadow, where there is one.
    fn fetch(&mut self, atoms: &Range<u64>) {
        let Some(shadow) = &mut self.shadow else { return };
        let to = &mut shadow[atoms.start as usize..atoms.end as usize];
        // SAFETY: as in `bytes_at`; the other side is a live slice elsewhere.
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
