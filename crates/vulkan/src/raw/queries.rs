//! Timestamps.

use super::calls::CallError;
use super::device::DeviceShared;
use ash::vk;
use std::sync::Arc;

/// Owner of a `VkQueryPool` of timestamps.
pub(crate) struct QueryPool {
    shared: Arc<DeviceShared>,
    handle: vk::QueryPool,
    count: u32,
}

impl QueryPool {
    /// Capacity for `count` timestamps.
    pub(crate) fn new(shared: &Arc<DeviceShared>, count: u32) -> Result<QueryPool, CallError> {
        let info =
            vk::QueryPoolCreateInfo::default().query_type(vk::QueryType::TIMESTAMP).query_count(count.max(1));
        // SAFETY: plain data.
        let handle = unsafe { shared.table.create_query_pool(&info) }?;
        Ok(QueryPool { shared: shared.clone(), handle, count: count.max(1) })
    }

    pub(super) fn handle(&self) -> vk::QueryPool {
        self.handle
    }

    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// The ticks; every query must have been written by a submission that has ended.
    pub(crate) fn ticks(&self) -> Result<Vec<u64>, CallError> {
        let mut ticks = vec![0u64; self.count as usize];
        let flags = vk::QueryResultFlags::TYPE_64 | vk::QueryResultFlags::WAIT;
        // SAFETY: the slice has one 64-bit element per query.
        unsafe { self.shared.table.get_query_pool_results(self.handle, 0, &mut ticks, flags) }?;
        Ok(ticks)
    }
}

impl Drop for QueryPool {
    fn drop(&mut self) {
        // SAFETY: recordings that write to it hold an `Arc` of it and wait before they go.
        self.shared.table.destroy(|d| unsafe { d.destroy_query_pool(self.handle, None) });
    }
}
