//! Scratch that the sessions of a plan lend each other: between two runs nothing in it is of use to anybody.
//!
//! In: the plan's region. Out: as many scratches as sessions run at once, not as there are sessions. A session keeps to
//! the one that its recordings name, and takes another, for which it records anew, where that one is in use.
//!
//! A plan whose values keep their bytes after a run (`Placement::Bump`) has scratch that is never lent.

use crate::gpu::Gpu;
use crate::memory::RegionMemory;
use pumice_plan::{Placement, Plan, Region, RegionKind};
use pumice_runtime::device::DeviceError;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};

/// Memory for the scratch of one run at a time.
pub(crate) struct Scratch {
    pub(crate) memory: RegionMemory,
    is_lent: Mutex<bool>,
    returned: Condvar,
}

impl Scratch {
    fn lock(&self) -> MutexGuard<'_, bool> {
        self.is_lent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn try_lend(self: &Arc<Scratch>) -> Option<Lease> {
        let was_lent = std::mem::replace(&mut *self.lock(), true);
        (!was_lent).then(|| Lease(Arc::clone(self)))
    }

    /// Waits until whoever has it gives it back.
    fn lend(self: &Arc<Scratch>) -> Lease {
        let free = self.returned.wait_while(self.lock(), |is_lent| *is_lent);
        *free.unwrap_or_else(PoisonError::into_inner) = true;
        Lease(Arc::clone(self))
    }
}

/// Scratch that is in use until this goes.
pub(crate) struct Lease(Arc<Scratch>);

impl Lease {
    pub(crate) fn scratch(&self) -> &Arc<Scratch> {
        &self.0
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        *self.0.lock() = false;
        self.0.returned.notify_one();
    }
}

/// Every scratch of a loaded plan that some session keeps to.
pub(crate) struct ScratchPool {
    /// None for a plan without scratch.
    region: Option<Region>,
    is_shared: bool,
    made: Mutex<Vec<Weak<Scratch>>>,
}

impl ScratchPool {
    pub(crate) fn new(plan: &Plan) -> ScratchPool {
        let region = plan.region(RegionKind::Scratch).cloned();
        ScratchPool { region, is_shared: plan.placement == Placement::Packed, made: Mutex::default() }
    }

    fn made(&self) -> Vec<Arc<Scratch>> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        made.retain(|scratch| scratch.strong_count() > 0);
        made.iter().filter_map(Weak::upgrade).collect()
    }

    /// The region that a further session needs memory for.
    pub(crate) fn lacks(&self) -> Option<&Region> {
        self.region.as_ref().filter(|_| !self.is_shared || self.made().is_empty())
    }

    /// Scratch for a session to keep to: one that there is, or else a new one.
    pub(crate) fn any(&self, gpu: &Gpu) -> Result<Option<Arc<Scratch>>, DeviceError> {
        let Some(region) = &self.region else { return Ok(None) };
        let first = self.made().into_iter().next().filter(|_| self.is_shared);
        first.map_or_else(|| self.take(gpu, region), Ok).map(Some)
    }

    fn take(&self, gpu: &Gpu, region: &Region) -> Result<Arc<Scratch>, DeviceError> {
        let memory = RegionMemory::new(gpu, region)?;
        let new = Arc::new(Scratch { memory, is_lent: Mutex::new(false), returned: Condvar::new() });
        self.made.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(&new));
        Ok(new)
    }

    /// Lends scratch for a run: the usual one, else another that is free, else a new one. Where no memory is left for
    /// that, it waits for the usual one.
    pub(crate) fn lend(&self, gpu: &Gpu, usual: &Arc<Scratch>) -> Result<Lease, DeviceError> {
        if !self.is_shared {
            return Ok(usual.lend());
        }
        if let Some(lease) = usual.try_lend().or_else(|| self.made().iter().find_map(Scratch::try_lend)) {
            return Ok(lease);
        }
        match self.region.as_ref().map(|region| self.take(gpu, region)) {
            Some(Ok(new)) => Ok(new.lend()),
            None | Some(Err(DeviceError::OutOfMemory { .. })) => Ok(usual.lend()),
            Some(Err(error)) => Err(error),
        }
    }
}
