//! Descriptor sets of storage buffers, for the addressing form that validation can see through.

use super::buffer::Buffer;
use super::calls::{Call, CallError};
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

/// A set of a pool. Lives as long as the pool, which a recording that binds it keeps.
#[derive(Clone, Copy)]
pub(crate) struct DescriptorSet(pub(super) vk::DescriptorSet);

/// Owner of `VkDescriptorPool`.
pub(crate) struct DescriptorPool {
    shared: Arc<DeviceShared>,
    handle: vk::DescriptorPool,
    held: Vec<Arc<SetLayout>>,
    buffers: Vec<Arc<Buffer>>,
}

impl DescriptorPool {
    /// Room for `sets` sets with `bindings` storage buffers together.
    pub(crate) fn new(
        shared: &Arc<DeviceShared>,
        sets: u32,
        bindings: u32,
    ) -> Result<DescriptorPool, CallError> {
        let sizes = [vk::DescriptorPoolSize {
            ty: vk::DescriptorType::STORAGE_BUFFER,
            descriptor_count: bindings.max(1),
        }];
        let info = vk::DescriptorPoolCreateInfo::default().max_sets(sets.max(1)).pool_sizes(&sizes);
        // SAFETY: plain data.
        let handle = unsafe { shared.table.create_descriptor_pool(&info) }?;
        Ok(DescriptorPool { shared: shared.clone(), handle, held: Vec::new(), buffers: Vec::new() })
    }

    /// A set whose binding k is the k-th range `(buffer, offset, bytes)`; one range per binding of the layout.
    pub(crate) fn set(
        &mut self,
        layout: &Arc<SetLayout>,
        ranges: &[(Arc<Buffer>, u64, u64)],
    ) -> Result<DescriptorSet, CallError> {
        if ranges.len() != layout.bindings as usize {
            let (len, size) = (ranges.len() as u64, u64::from(layout.bindings));
            return Err(CallError::Range { offset: 0, len, size });
        }
        ranges.iter().try_for_each(|(buffer, offset, bytes)| buffer.check(*offset, *bytes))?;
        let layouts = [layout.handle];
        let info = vk::DescriptorSetAllocateInfo::default().descriptor_pool(self.handle).set_layouts(&layouts);
        // SAFETY: pool and layout are alive; the pool is borrowed mutably.
        let sets = unsafe { self.shared.table.allocate_descriptor_sets(&info) }?;
        let set = *sets.first().ok_or(CallError::Failed {
            call: Call::AllocateDescriptorSets,
            code: super::calls::ResultCode(vk::Result::ERROR_UNKNOWN.as_raw()),
        })?;
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
                    .dst_set(set)
                    .dst_binding(binding)
                    .descriptor_type(vk::DescriptorType::STORAGE_BUFFER)
                    .buffer_info(info)
            })
            .collect();
        // SAFETY: the set is new and so not in use; the ranges lie inside their buffers (checked).
        unsafe { self.shared.table.device.update_descriptor_sets(&writes, &[]) };
        self.held.push(layout.clone());
        self.buffers.extend(ranges.iter().map(|r| r.0.clone()));
        Ok(DescriptorSet(set))
    }
}

impl Drop for DescriptorPool {
    fn drop(&mut self) {
        // SAFETY: recordings that bind its sets hold an `Arc` of the pool and wait before they go.
        self.shared.table.destroy(|d| unsafe { d.destroy_descriptor_pool(self.handle, None) });
    }
}
