//! Command lists: a pool with its only buffer, so that no two threads share a pool.
//!
//! [`Recorder`] records, [`Commands`] is the finished list, submitted as often as one likes. A list keeps everything
//! it refers to and waits for its last submission before it goes.

use super::buffer::Buffer;
use super::calls::{Call, CallError, ResultCode};
use super::descriptors::DescriptorSet;
use super::device::DeviceShared;
use super::pipeline::Pipeline;
use super::queries::QueryPool;
use super::queue::Queue;
use ash::vk;
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Owner of a `VkCommandPool` and, with it, of its command buffer.
struct CommandPool {
    shared: Arc<DeviceShared>,
    handle: vk::CommandPool,
}

impl CommandPool {
    fn new(shared: &Arc<DeviceShared>) -> Result<CommandPool, CallError> {
        let info = vk::CommandPoolCreateInfo::default().queue_family_index(shared.family());
        // SAFETY: the family is the device's.
        let handle = unsafe { shared.table.create_command_pool(&info) }?;
        Ok(CommandPool { shared: shared.clone(), handle })
    }

    fn buffer(&self) -> Result<vk::CommandBuffer, CallError> {
        let info = vk::CommandBufferAllocateInfo::default().command_pool(self.handle).command_buffer_count(1);
        // SAFETY: the pool is alive and owned by one list.
        let buffers = unsafe { self.shared.table.allocate_command_buffers(&info) }?;
        let none = ResultCode(vk::Result::ERROR_UNKNOWN.as_raw());
        buffers.first().copied().ok_or(CallError::Failed { call: Call::AllocateCommandBuffers, code: none })
    }
}

impl Drop for CommandPool {
    fn drop(&mut self) {
        // SAFETY: the list that owns the pool has waited for its last submission.
        self.shared.table.destroy(|d| unsafe { d.destroy_command_pool(self.handle, None) });
    }
}

/// Stages and accesses of a barrier, on one side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Masks {
    /// Kernels that wrote, or kernels that may read and write.
    pub(crate) shader: bool,
    /// Kernels that only read (source side: execution, no memory).
    pub(crate) shader_reads_only: bool,
    /// Copies and fills.
    pub(crate) transfer: bool,
    /// Grids (destination side).
    pub(crate) indirect: bool,
    /// The host (destination side).
    pub(crate) host: bool,
}

impl Masks {
    fn source(self) -> (vk::PipelineStageFlags, vk::AccessFlags) {
        let (mut stages, mut access) = (vk::PipelineStageFlags::empty(), vk::AccessFlags::empty());
        if self.shader || self.shader_reads_only {
            stages |= vk::PipelineStageFlags::COMPUTE_SHADER;
        }
        if self.shader {
            access |= vk::AccessFlags::SHADER_WRITE;
        }
        if self.transfer {
            stages |= vk::PipelineStageFlags::TRANSFER;
            access |= vk::AccessFlags::TRANSFER_WRITE;
        }
        (stages, access)
    }

    fn destination(self) -> (vk::PipelineStageFlags, vk::AccessFlags) {
        let (mut stages, mut access) = (vk::PipelineStageFlags::empty(), vk::AccessFlags::empty());
        if self.shader || self.shader_reads_only {
            stages |= vk::PipelineStageFlags::COMPUTE_SHADER;
            access |= vk::AccessFlags::SHADER_READ | vk::AccessFlags::SHADER_WRITE;
        }
        if self.transfer {
            stages |= vk::PipelineStageFlags::TRANSFER;
            access |= vk::AccessFlags::TRANSFER_READ | vk::AccessFlags::TRANSFER_WRITE;
        }
        if self.indirect {
            stages |= vk::PipelineStageFlags::DRAW_INDIRECT;
            access |= vk::AccessFlags::INDIRECT_COMMAND_READ;
        }
        if self.host {
            stages |= vk::PipelineStageFlags::HOST;
            access |= vk::AccessFlags::HOST_READ | vk::AccessFlags::HOST_WRITE;
        }
        (stages, access)
    }
}

/// Where a dispatch gets its grid from.
#[derive(Clone)]
pub(crate) enum DispatchTarget {
    /// These counts.
    Direct([u32; 3]),
    /// Three words of a buffer at a byte offset.
    Indirect(Arc<Buffer>, u64),
}

/// A finished list.
pub(crate) struct Commands {
    queue: Arc<Queue>,
    pool: CommandPool,
    buffer: vk::CommandBuffer,
    kept: Vec<Arc<dyn Any + Send + Sync>>,
    point: AtomicU64,
    shows: Shows,
}

/// What the host may see once a list has run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Shows {
    /// A barrier to the host covers everything recorded or submitted before it.
    before: bool,
    /// Work is recorded after that barrier, or there is none.
    after: bool,
}

impl Commands {
    /// Whether device work is left that no barrier shows to the host, once the list has run; `left` says so of what
    /// ran before it.
    pub(crate) fn leaves_unseen(&self, left: bool) -> bool {
        self.shows.after || (left && !self.shows.before)
    }

    /// Lets go of what the list refers to, once its last submission has ended. It must be restarted before it is
    /// submitted again.
    pub(crate) fn release(&mut self) {
        self.queue.settle(*self.point.get_mut());
        self.kept.clear();
    }

    pub(super) fn handle(&self) -> vk::CommandBuffer {
        self.buffer
    }

    pub(super) fn submitted(&self, point: u64) {
        self.point.fetch_max(point, Ordering::Relaxed);
    }

    /// Waits for the last submission and begins the list anew.
    pub(crate) fn restart(mut self) -> Result<Recorder, CallError> {
        self.queue.wait(*self.point.get_mut())?;
        // SAFETY: no submission of the list is pending.
        unsafe {
            self.queue.shared().table.reset_command_pool(self.pool.handle, vk::CommandPoolResetFlags::empty())
        }?;
        self.kept.clear();
        self.shows = Shows::default();
        Recorder::begin(self)
    }
}

impl Drop for Commands {
    fn drop(&mut self) {
        self.queue.settle(*self.point.get_mut());
    }
}

/// A list being recorded.
pub(crate) struct Recorder {
    commands: Commands,
    bound: Option<Arc<Pipeline>>,
}

impl Recorder {
    /// A new list, begun.
    pub(crate) fn new(queue: &Arc<Queue>) -> Result<Recorder, CallError> {
        let pool = CommandPool::new(queue.shared())?;
        let buffer = pool.buffer()?;
        let point = AtomicU64::new(0);
        let (kept, shows) = (Vec::new(), Shows::default());
        Recorder::begin(Commands { queue: queue.clone(), pool, buffer, kept, point, shows })
    }

    fn begin(commands: Commands) -> Result<Recorder, CallError> {
        // A list may be named several times in one submission.
        let info = vk::CommandBufferBeginInfo::default().flags(vk::CommandBufferUsageFlags::SIMULTANEOUS_USE);
        // SAFETY: the buffer is new or its pool was reset.
        unsafe { commands.queue.shared().table.begin_command_buffer(commands.buffer, &info) }?;
        Ok(Recorder { commands, bound: None })
    }

    fn device(&self, call: Call) -> &ash::Device {
        self.commands.queue.shared().table.command(call)
    }

    /// Keeps something alive as long as the list.
    pub(crate) fn keep<T: Any + Send + Sync>(&mut self, owner: &Arc<T>) {
        self.commands.kept.push(owner.clone());
    }

    fn keep_buffer(&mut self, buffer: &Arc<Buffer>) {
        let at = Arc::as_ptr(buffer).cast::<()>();
        if !self.commands.kept.iter().any(|k| Arc::as_ptr(k).cast::<()>() == at) {
            self.commands.kept.push(buffer.clone());
        }
    }

    /// A memory barrier over everything. Sides without a stage make no barrier.
    pub(crate) fn barrier(&mut self, from: Masks, to: Masks) {
        let ((src_stages, src), (dst_stages, dst)) = (from.source(), to.destination());
        if src_stages.is_empty() || dst_stages.is_empty() {
            return;
        }
        let memory = [vk::MemoryBarrier::default().src_access_mask(src).dst_access_mask(dst)];
        let flags = vk::DependencyFlags::empty();
        if to.host && from.shader && from.transfer {
            self.commands.shows = Shows { before: true, after: false };
        }
        // An execution dependency alone orders a write after a read.
        let memory: &[_] = if src.is_empty() { &[] } else { &memory };
        // SAFETY: the list is being recorded; stages and accesses are of a compute queue.
        unsafe {
            self.device(Call::CmdPipelineBarrier).cmd_pipeline_barrier(
                self.commands.buffer,
                src_stages,
                dst_stages,
                flags,
                memory,
                &[],
                &[],
            );
        }
    }

    /// Runs a kernel. `push` are the push constants, a multiple of 4 bytes and at most what the layout has; `set` is
    /// set 0 in descriptor form.
    pub(crate) fn dispatch(
        &mut self,
        pipeline: &Arc<Pipeline>,
        push: &[u8],
        set: Option<&Arc<DescriptorSet>>,
        target: &DispatchTarget,
    ) -> Result<(), CallError> {
        let capacity = u64::from(pipeline.layout().push_bytes());
        if push.len() as u64 > capacity || !push.len().is_multiple_of(4) {
            return Err(CallError::Range { offset: 0, len: push.len() as u64, size: capacity });
        }
        self.bind(pipeline);
        self.commands.shows.after = true;
        let (buffer, layout) = (self.commands.buffer, pipeline.layout().handle());
        if !push.is_empty() {
            // SAFETY: recording; the range lies inside the layout's push constants (checked).
            unsafe {
                let device = &self.commands.queue.shared().table.device;
                device.cmd_push_constants(buffer, layout, vk::ShaderStageFlags::COMPUTE, 0, push);
            }
        }
        if let Some(set) = set {
            // SAFETY: recording; the set was made for this layout and is kept.
            unsafe {
                let device = &self.commands.queue.shared().table.device;
                device.cmd_bind_descriptor_sets(
                    buffer,
                    vk::PipelineBindPoint::COMPUTE,
                    layout,
                    0,
                    &[set.handle()],
                    &[],
                );
            }
            self.keep(set);
        }
        self.launch(target)
    }

    /// Dispatches the pipeline that is bound.
    fn launch(&mut self, target: &DispatchTarget) -> Result<(), CallError> {
        let buffer = self.commands.buffer;
        match target {
            // SAFETY: recording, with a pipeline bound.
            DispatchTarget::Direct([x, y, z]) => unsafe {
                self.device(Call::CmdDispatch).cmd_dispatch(buffer, *x, *y, *z);
            },
            DispatchTarget::Indirect(grid, offset) => {
                grid.check(*offset, 12)?;
                // SAFETY: recording, with a pipeline bound; the words lie inside the buffer, which is kept.
                unsafe {
                    let device = self.device(Call::CmdDispatchIndirect);
                    device.cmd_dispatch_indirect(buffer, grid.handle(), *offset);
                }
                self.keep_buffer(grid);
            }
        }
        Ok(())
    }

    fn bind(&mut self, pipeline: &Arc<Pipeline>) {
        if self.bound.as_ref().is_some_and(|b| Arc::ptr_eq(b, pipeline)) {
            return;
        }
        // SAFETY: recording; the pipeline is kept.
        unsafe {
            let device = &self.commands.queue.shared().table.device;
            device.cmd_bind_pipeline(self.commands.buffer, vk::PipelineBindPoint::COMPUTE, pipeline.handle());
        }
        self.keep(pipeline);
        self.bound = Some(pipeline.clone());
    }

    /// Copies bytes between buffers; the ranges must not overlap.
    pub(crate) fn copy(
        &mut self,
        (from, from_at): (&Arc<Buffer>, u64),
        (to, to_at): (&Arc<Buffer>, u64),
        bytes: u64,
    ) -> Result<(), CallError> {
        if bytes == 0 {
            return Ok(());
        }
        from.check(from_at, bytes)?;
        to.check(to_at, bytes)?;
        let regions = [vk::BufferCopy { src_offset: from_at, dst_offset: to_at, size: bytes }];
        // SAFETY: recording; both ranges lie inside their buffers, which are kept.
        unsafe {
            let device = self.device(Call::CmdCopyBuffer);
            device.cmd_copy_buffer(self.commands.buffer, from.handle(), to.handle(), &regions);
        }
        self.commands.shows.after = true;
        self.keep_buffer(from);
        self.keep_buffer(to);
        Ok(())
    }

    /// Fills whole words with a value; offset and size are multiples of 4.
    pub(crate) fn fill(
        &mut self,
        buffer: &Arc<Buffer>,
        offset: u64,
        bytes: u64,
        word: u32,
    ) -> Result<(), CallError> {
        if bytes == 0 {
            return Ok(());
        }
        buffer.check(offset, bytes)?;
        if !offset.is_multiple_of(4) || !bytes.is_multiple_of(4) {
            return Err(CallError::Range { offset, len: bytes, size: buffer.size() });
        }
        // SAFETY: recording; the range is aligned and lies inside the buffer, which is kept.
        unsafe {
            let device = self.device(Call::CmdFillBuffer);
            device.cmd_fill_buffer(self.commands.buffer, buffer.handle(), offset, bytes, word);
        }
        self.commands.shows.after = true;
        self.keep_buffer(buffer);
        Ok(())
    }

    /// Makes every query of a pool writable.
    pub(crate) fn reset_queries(&mut self, pool: &Arc<QueryPool>) {
        // SAFETY: recording; the pool is kept.
        unsafe {
            let device = &self.commands.queue.shared().table.device;
            device.cmd_reset_query_pool(self.commands.buffer, pool.handle(), 0, pool.count());
        }
        self.keep(pool);
    }

    /// Writes the time when everything recorded before has ended.
    pub(crate) fn timestamp(&mut self, pool: &Arc<QueryPool>, index: u32) -> Result<(), CallError> {
        if index >= pool.count() {
            return Err(CallError::Range { offset: index.into(), len: 1, size: pool.count().into() });
        }
        let stage = vk::PipelineStageFlags::BOTTOM_OF_PIPE;
        // SAFETY: recording; the query exists and was reset by `reset_queries`, which also keeps the pool.
        unsafe {
            let device = &self.commands.queue.shared().table.device;
            device.cmd_write_timestamp(self.commands.buffer, stage, pool.handle(), index);
        }
        Ok(())
    }

    /// Ends the list.
    pub(crate) fn finish(self) -> Result<Commands, CallError> {
        // SAFETY: the list is being recorded and has no open query or render pass.
        unsafe { self.commands.queue.shared().table.end_command_buffer(self.commands.buffer) }?;
        Ok(self.commands)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A host that writes again what the device wrote needs the write in the barrier as well as the read.
    #[test]
    fn the_host_reads_and_writes() {
        let host = Masks { host: true, ..Masks::default() };
        let both = vk::AccessFlags::HOST_READ | vk::AccessFlags::HOST_WRITE;
        assert_eq!(host.destination(), (vk::PipelineStageFlags::HOST, both));
    }
}
