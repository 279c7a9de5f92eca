//! Shader modules, pipeline layouts, compute pipelines and the driver's pipeline cache.

use super::calls::CallError;
use super::descriptors::SetLayout;
use super::device::DeviceShared;
use ash::vk;
use std::sync::Arc;

/// Owner of `VkShaderModule`.
pub(crate) struct ShaderModule {
    shared: Arc<DeviceShared>,
    handle: vk::ShaderModule,
}

impl ShaderModule {
    /// A module of SPIR-V words. The words come from pumice's own build and hole filling, which keep them valid.
    pub(crate) fn new(shared: &Arc<DeviceShared>, words: &[u32]) -> Result<ShaderModule, CallError> {
        let info = vk::ShaderModuleCreateInfo::default().code(words);
        // SAFETY: the slice lives during the call and its length is a multiple of four bytes by type.
        let handle = unsafe { shared.table.create_shader_module(&info) }?;
        Ok(ShaderModule { shared: shared.clone(), handle })
    }
}

impl Drop for ShaderModule {
    fn drop(&mut self) {
        // SAFETY: pipelines do not need their module once they are made.
        self.shared.table.destroy(|d| unsafe { d.destroy_shader_module(self.handle, None) });
    }
}

/// Owner of `VkPipelineLayout`: some push constants and at most one descriptor set.
pub(crate) struct PipelineLayout {
    shared: Arc<DeviceShared>,
    handle: vk::PipelineLayout,
    push_bytes: u32,
    set: Option<Arc<SetLayout>>,
}

impl PipelineLayout {
    /// A layout with `push_bytes` of push constants (a multiple of 4) and, in descriptor form, set 0.
    pub(crate) fn new(
        shared: &Arc<DeviceShared>,
        push_bytes: u32,
        set: Option<Arc<SetLayout>>,
    ) -> Result<PipelineLayout, CallError> {
        let ranges =
            [vk::PushConstantRange::default().stage_flags(vk::ShaderStageFlags::COMPUTE).size(push_bytes)];
        let sets: Vec<_> = set.iter().map(|s| s.handle()).collect();
        let mut info = vk::PipelineLayoutCreateInfo::default().set_layouts(&sets);
        if push_bytes > 0 {
            info = info.push_constant_ranges(&ranges);
        }
        // SAFETY: the set layout is held by the new owner.
        let handle = unsafe { shared.table.create_pipeline_layout(&info) }?;
        Ok(PipelineLayout { shared: shared.clone(), handle, push_bytes, set })
    }

    pub(super) fn handle(&self) -> vk::PipelineLayout {
        self.handle
    }

    pub(super) fn push_bytes(&self) -> u32 {
        self.push_bytes
    }

    /// The layout of set 0, in descriptor form.
    pub(crate) fn set(&self) -> Option<&Arc<SetLayout>> {
        self.set.as_ref()
    }
}

impl Drop for PipelineLayout {
    fn drop(&mut self) {
        // SAFETY: pipelines and recordings hold an `Arc` of it.
        self.shared.table.destroy(|d| unsafe { d.destroy_pipeline_layout(self.handle, None) });
    }
}

/// Owner of `VkPipelineCache`. Drivers synchronize its use by themselves.
pub(crate) struct PipelineCache {
    shared: Arc<DeviceShared>,
    handle: vk::PipelineCache,
}

impl PipelineCache {
    /// A cache that begins with `initial`, which has passed the checks of `cache_file`.
    pub(crate) fn new(shared: &Arc<DeviceShared>, initial: &[u8]) -> Result<PipelineCache, CallError> {
        let info = vk::PipelineCacheCreateInfo::default().initial_data(initial);
        // SAFETY: the slice lives during the call; its content is what a driver of the same identity wrote.
        let handle = unsafe { shared.table.create_pipeline_cache(&info) }?;
        Ok(PipelineCache { shared: shared.clone(), handle })
    }

    /// What to begin the next cache with.
    pub(crate) fn data(&self) -> Result<Vec<u8>, CallError> {
        // SAFETY: the cache is alive.
        unsafe { self.shared.table.get_pipeline_cache_data(self.handle) }
    }
}

impl Drop for PipelineCache {
    fn drop(&mut self) {
        // SAFETY: no pipeline is being made with it: making one borrows the owner.
        self.shared.table.destroy(|d| unsafe { d.destroy_pipeline_cache(self.handle, None) });
    }
}

/// Owner of a compute `VkPipeline`.
pub(crate) struct Pipeline {
    shared: Arc<DeviceShared>,
    handle: vk::Pipeline,
    layout: Arc<PipelineLayout>,
}

impl Pipeline {
    /// The pipeline of a module's `main`, with 32-bit specialization constants.
    pub(crate) fn new(
        shared: &Arc<DeviceShared>,
        layout: &Arc<PipelineLayout>,
        module: &ShaderModule,
        constants: &[(u32, u32)],
        cache: &PipelineCache,
    ) -> Result<Pipeline, CallError> {
        let data: Vec<u8> = constants.iter().flat_map(|(_, value)| value.to_ne_bytes()).collect();
        let entries: Vec<_> = (0u32..)
            .zip(constants)
            .map(|(i, &(id, _))| vk::SpecializationMapEntry { constant_id: id, offset: 4 * i, size: 4 })
            .collect();
        let specialization = vk::SpecializationInfo::default().map_entries(&entries).data(&data);
        let stage = vk::PipelineShaderStageCreateInfo::default()
            .stage(vk::ShaderStageFlags::COMPUTE)
            .module(module.handle)
            .name(c"main")
            .specialization_info(&specialization);
        let info = vk::ComputePipelineCreateInfo::default().stage(stage).layout(layout.handle);
        let _gate = shared.gate.make();
        // SAFETY: module, layout and cache are borrowed owners of this device; the rest lives during the call.
        let handle = unsafe { shared.table.create_compute_pipeline(cache.handle, info) }?;
        Ok(Pipeline { shared: shared.clone(), handle, layout: layout.clone() })
    }

    pub(super) fn handle(&self) -> vk::Pipeline {
        self.handle
    }

    /// The layout it was made with.
    pub(crate) fn layout(&self) -> &Arc<PipelineLayout> {
        &self.layout
    }
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        // SAFETY: recordings that bind it hold an `Arc` of it and wait before they go.
        self.shared.table.destroy(|d| unsafe { d.destroy_pipeline(self.handle, None) });
    }
}
