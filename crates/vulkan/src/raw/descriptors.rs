//! Descriptor sets of storage buffers, for the addressing form that validation can see through.

use super::buffer::Buffer;
use super::calls::{Call, CallError, ResultCode};
use super::device::DeviceShared;
use ash::vk;
use std::sync::Arc;

/// Owner of `VkDescriptorSetLayout`: `bindings` storage buffers from binding 0.
pub(crate) struct SetLayout {
    shared: Arc<DeviceShared>,
    handle: vk::DescriptorSetLayout,
    bindings: u32,
}

impl SetLayout {
    /// A layout with that many bindings.
    pub(crate) fn new(shared: &Arc<DeviceShared>, bindings: u32) -> Result<SetLayout, CallError> {
        let list: Vec<_> = (0..bindings)
            .map(|binding| {
                vk::DescriptorSetLayoutBinding::default()
                    .binding(binding)
                    .descriptor_type(vk::DescriptorType::STORAGE_BUFFER)
                    .descriptor_count(1)
                    .stage_flags(vk::ShaderStageFlags::COMPUTE)
            })
            .collect();
        let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&list);
        // SAFETY: plain data.
        let handle = unsafe { shared.table.create_descriptor_set_layout(&info) }?;
        Ok(SetLayout { shared: shared.clone(), handle, bindings })
    }

    pub(super) fn handle(&self) -> vk::DescriptorSetLayout {
        self.handle
    }

    /// Number of bindings.
    pub(crate) fn bindings(&self) -> u32 {
        self.bindings
    }
}

impl Drop for SetLayout {
    fn drop(&mut self) {
        // SAFETY: pipeline layouts and pools that use it hold an `Arc` of it.
        self.shared.table.destroy(|d| unsafe { d.destroy_descriptor_set_layout(self.handle, None) });
    }
}

/// A pool with its only set. Owner of `VkDescriptorPool`; holds everything the set refers to.
pub(crate) struct DescriptorSet {
    shared: Arc<DeviceShared>,
    pool: vk::DescriptorPool,
    set: vk::DescriptorSet,
    _layout: Arc<SetLayout>,
    _buffers: Vec<Arc<Buffer>>,
}

impl DescriptorSet {
    /// A set whose binding k is the k-th range `(buffer, offset, bytes)`; one range per binding of the layout.
    pub(crate) fn new(
        shared: &Arc<DeviceShared>,
        layout: &Arc<SetLayout>,
        ranges: &[(Arc<Buffer>, u64, u64)],
    ) -> Result<DescriptorSet, CallError> {
        if ranges.len() != layout.bindings as usize {
            let (len, size) = (ranges.len() as u64, u64::from(layout.bindings));
            return Err(CallError::Range { offset: 0, len, size });
        }
        ranges.iter().try_for_each(|(buffer, offset, bytes)| buffer.check(*offset, *bytes))?;
        let ty = vk::DescriptorType::STORAGE_BUFFER;
        let sizes = [vk::DescriptorPoolSize { ty, descriptor_count: layout.bindings.max(1) }];
        let info = vk::DescriptorPoolCreateInfo::default().max_sets(1).pool_sizes(&sizes);
        // SAFETY: plain data.
        let pool = unsafe { shared.table.create_descriptor_pool(&info) }?;
        let mut made = DescriptorSet {
            shared: shared.clone(),
            pool,
            set: vk::DescriptorSet::null(),
            _layout: layout.clone(),
            _buffers: ranges.iter().map(|r| r.0.clone()).collect(),
        };
        made.set = made.allocate(layout)?;
        made.update(ranges);
        Ok(made)
    }

    fn allocate(&self, layout: &SetLayout) -> Result<vk::DescriptorSet, CallError> {
        let layouts = [layout.handle];
        let info = vk::DescriptorSetAllocateInfo::default().descriptor_pool(self.pool).set_layouts(&layouts);
        // SAFETY: pool and layout are alive, and nobody else knows the pool.
        let sets = unsafe { self.shared.table.allocate_descriptor_sets(&info) }?;
        let none = ResultCode(vk::Result::ERROR_UNKNOWN.as_raw());
        sets.first().copied().ok_or(CallError::Failed { call: Call::AllocateDescriptorSets, code: none })
    }

    fn update(&self, ranges: &[(Arc<Buffer>, u64, u64)]) {
        let infos: Vec<_> = ranges
            .iter()
            .map(|(buffer, offset, bytes)| {
                [vk::DescriptorBufferInfo { buffer: buffer.handle(), offset: *offset, range: *bytes }]
            })
            .collect();
        let writes: Vec<_> = (0u32..)
            .zip(&infos)
            .map(|(binding, info)| {
                vk::WriteDescriptorSet::default()
                    .dst_set(self.set)
                    .dst_binding(binding)
                    .descriptor_type(vk::DescriptorType::STORAGE_BUFFER)
                    .buffer_info(info)
            })
            .collect();
        // SAFETY: the set is new and so not in use; the ranges lie inside their buffers (checked), which are held.
        unsafe { self.shared.table.device.update_descriptor_sets(&writes, &[]) };
    }

    pub(super) fn handle(&self) -> vk::DescriptorSet {
        self.set
    }
}

impl Drop for DescriptorSet {
    fn drop(&mut self) {
        // SAFETY: recordings that bind the set hold an `Arc` of it and wait before they go.
        self.shared.table.destroy(|d| unsafe { d.destroy_descriptor_pool(self.pool, None) });
    }
}
