//! What a device has been asked for and not given back yet: bytes by heap, bytes by owner, allocations.
//!
//! Outlives the device, so that a test can say that nothing is left. Never here: a decision what to take.

use super::calls::CallError;
use pumice_types::Bytes;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Whose memory it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// Executables, sessions and their recordings.
    Plans,
    /// The device's two buffers for copies between host and device, which live as long as it does.
    Staging,
}

/// Memory that is alive on one device.
#[derive(Debug)]
pub struct MemoryLedger {
    heaps: Vec<AtomicU64>,
    plans: AtomicU64,
    staging: AtomicU64,
    allocations: AtomicU32,
    most_allocations: u32,
}

impl MemoryLedger {
    /// Nothing taken yet, of that many heaps; the device allows so many allocations at a time.
    pub(super) fn new(heaps: usize, most_allocations: u32) -> MemoryLedger {
        MemoryLedger {
            heaps: (0..heaps).map(|_| AtomicU64::new(0)).collect(),
            plans: AtomicU64::new(0),
            staging: AtomicU64::new(0),
            allocations: AtomicU32::new(0),
            most_allocations,
        }
    }

    /// Bytes that executables, sessions and their recordings hold; 0 once all of them are dropped.
    pub fn live_bytes(&self) -> Bytes {
        Bytes(self.plans.load(Ordering::Acquire))
    }

    /// Bytes of the device's own staging buffers, at most two of 8 MiB; 0 once the device is dropped.
    pub fn staging_bytes(&self) -> Bytes {
        Bytes(self.staging.load(Ordering::Acquire))
    }

    /// Allocations that are alive, staging included.
    pub fn allocations(&self) -> u32 {
        self.allocations.load(Ordering::Acquire)
    }

    /// Bytes taken from a heap.
    pub(super) fn taken(&self, heap: usize) -> u64 {
        self.heaps.get(heap).map_or(0, |h| h.load(Ordering::Relaxed))
    }

    /// A claim to one more allocation, before the driver is asked.
    pub(super) fn claim(&self) -> Result<(), CallError> {
        let most = self.most_allocations;
        let below = |n: u32| (n < most).then_some(n + 1);
        match self.allocations.fetch_update(Ordering::AcqRel, Ordering::Acquire, below) {
            Ok(_) => Ok(()),
            Err(n) => Err(CallError::Limit {
                limit: "maxMemoryAllocationCount",
                needed: u64::from(n) + 1,
                most: most.into(),
            }),
        }
    }

    /// The driver refused what was claimed.
    pub(super) fn unclaim(&self) {
        self.allocations.fetch_sub(1, Ordering::AcqRel);
    }

    fn of(&self, owner: Owner) -> &AtomicU64 {
        match owner {
            Owner::Plans => &self.plans,
            Owner::Staging => &self.staging,
        }
    }

    /// The driver gave what was claimed.
    pub(super) fn took(&self, owner: Owner, heap: u32, bytes: u64) {
        self.of(owner).fetch_add(bytes, Ordering::AcqRel);
        if let Some(taken) = self.heaps.get(heap as usize) {
            taken.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    /// An allocation is gone.
    pub(super) fn returned(&self, owner: Owner, heap: u32, bytes: u64) {
        self.of(owner).fetch_sub(bytes, Ordering::AcqRel);
        if let Some(taken) = self.heaps.get(heap as usize) {
            taken.fetch_sub(bytes, Ordering::Relaxed);
        }
        self.unclaim();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_is_counted_until_it_is_given_back() {
        let ledger = MemoryLedger::new(2, 2);
        ledger.claim().expect("the first");
        ledger.took(Owner::Plans, 1, 100);
        ledger.claim().expect("the second");
        ledger.took(Owner::Staging, 0, 8);
        let refused = ledger.claim().expect_err("two are allowed");
        assert_eq!(refused, CallError::Limit { limit: "maxMemoryAllocationCount", needed: 3, most: 2 });
        assert_eq!(
            (ledger.live_bytes(), ledger.staging_bytes(), ledger.allocations()),
            (Bytes(100), Bytes(8), 2)
        );
        assert_eq!((ledger.taken(0), ledger.taken(1), ledger.taken(7)), (8, 100, 0));
        ledger.returned(Owner::Plans, 1, 100);
        ledger.returned(Owner::Staging, 0, 8);
        assert_eq!(
            (ledger.live_bytes(), ledger.staging_bytes(), ledger.allocations()),
            (Bytes(0), Bytes(0), 0)
        );
        ledger.claim().expect("there is room again");
        ledger.unclaim();
        assert_eq!(ledger.allocations(), 0);
    }
}
