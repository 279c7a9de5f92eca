//! Lists of work on two large buffers, and their time by the device's clock.

use super::kernels::{self, Kernel, Kernels};
use crate::error::device_error;
use crate::gpu::{EVERYTHING_AFTER, EVERYTHING_BEFORE, Gpu};
use crate::memory::Place;
use crate::profile::Bracket;
use crate::raw::{Buffer, BufferUsage, Commands, DispatchTarget, Recorder};
use crate::record::Blocks;
use crate::submit::Begin;
use pumice_plan::{KernelCall, RegionKind};
use pumice_runtime::device::DeviceError;
use std::sync::Arc;

/// Bytes of each of two buffers: more than caches hold, less than small devices have.
const BYTES: u64 = 128 << 20;
/// Of a device's memory at most a share is taken.
const SHARE: u64 = 16;
/// Buffers are multiples of this.
const UNIT: u64 = 1 << 20;
/// Bytes of the argument blocks of one list.
const BLOCK: u64 = 1024;
/// How often a list runs in the two submissions of a sample, whose difference is its time.
const ONCE: usize = 2;
const OFTEN: usize = 6;

/// A list, and how much it does.
pub(super) struct Work {
    list: Commands,
    /// Operations, of a product.
    pub(super) work: f64,
}

/// A dispatch: a call, its operands and slots, how many groups along x and y.
type Dispatch<'k> = (&'k Kernel, KernelCall, Vec<Place>, [u32; 2]);

/// A device with memory to work in.
pub(super) struct Bench<'a> {
    gpu: &'a Gpu,
    kernels: &'a Kernels,
    from: Arc<Buffer>,
    to: Arc<Buffer>,
    bytes: u64,
    bracket: Bracket,
}

impl<'a> Bench<'a> {
    /// Takes memory and fills it.
    pub(super) fn new(gpu: &'a Gpu, kernels: &'a Kernels) -> Result<Bench<'a>, DeviceError> {
        let limits = &gpu.plan.target.limits;
        let capacity = (limits.memory.0 / SHARE).min(limits.max_allocation.0).min(BYTES);
        let bytes = (capacity / UNIT).max(1) * UNIT;
        let types = gpu.plan.memory_types(RegionKind::Scratch);
        let buffer = || Buffer::new(&gpu.shared, BufferUsage::Kernel, bytes, types).map(Arc::new);
        let (from, to) = (buffer().map_err(device_error)?, buffer().map_err(device_error)?);
        let bracket = Bracket::new(gpu)?;
        let bench = Bench { gpu, kernels, from, to, bytes, bracket };
        let rising = vec![bench.rising(&bench.from)?, bench.rising(&bench.to)?];
        let work = bench.list(rising, false, 0.0)?;
        bench.us(&work)?;
        Ok(bench)
    }

    fn rising(&self, buffer: &Arc<Buffer>) -> Result<Dispatch<'a>, DeviceError> {
        let call = kernels::fill((self.bytes / 4) as u32)?;
        // A MiB of words is 1024 groups of 256.
        Ok((&self.kernels.fill, call, vec![place(buffer, 0)], [1024, (self.bytes / UNIT) as u32]))
    }

    /// Bytes that [`Bench::stream`] reads and writes.
    pub(super) fn stream_bytes(&self) -> f64 {
        2.0 * self.bytes as f64
    }

    /// One copy of everything.
    pub(super) fn stream(&self) -> Result<Work, DeviceError> {
        let copy = self.copy((self.bytes / 4) as u32, &self.from, &self.to, 0)?;
        self.list(vec![copy], true, 0.0)
    }

    /// So many levels of one group each, which read what the one before wrote.
    pub(super) fn chain(&self, levels: usize) -> Result<Work, DeviceError> {
        let there =
            |i: usize| if i.is_multiple_of(2) { (&self.from, &self.to) } else { (&self.to, &self.from) };
        let copies = (0..levels).map(|i| self.copy(1024, there(i).0, there(i).1, 0));
        let copies = copies.collect::<Result<_, _>>()?;
        self.list(copies, true, 0.0)
    }

    /// So many dispatches of one group each in one level.
    pub(super) fn crowd(&self, dispatches: usize) -> Result<Work, DeviceError> {
        // Each writes bytes of its own; a buffer has at least a MiB, which is 256 times 4 KiB.
        let copies =
            (0..dispatches as u64).map(|i| self.copy(1024, &self.from, &self.to, 4096 * i % self.bytes));
        let copies = copies.collect::<Result<_, _>>()?;
        self.list(copies, false, 0.0)
    }

    /// A product of so many tiles of so many terms, or of as many as there is room for.
    pub(super) fn product(&self, groups: u32, terms: u32) -> Result<Work, DeviceError> {
        let [rows, columns] = self.kernels.tile;
        let (across, down) = sides(groups.max(1));
        let [m, n] = [rows * down, columns * across];
        let words = |a: u32, b: u32| 4 * u64::from(a) * u64::from(b);
        // a and b lie in one buffer, y in the other.
        if words(m, terms) + words(terms, n) > self.bytes || words(m, n) > self.bytes {
            return match terms / 2 {
                0..64 => Err(kernels::defect("no room for a product")),
                fewer => self.product(groups, fewer),
            };
        }
        let call = kernels::product(variant(&self.kernels.product), [m, n, terms])?;
        let places = vec![place(&self.from, 0), place(&self.from, words(m, terms)), place(&self.to, 0)];
        let flops = 2.0 * f64::from(m) * f64::from(n) * f64::from(terms);
        self.list(vec![(&self.kernels.product, call, places, [across * down, 1])], true, flops)
    }

    fn copy(
        &self,
        n: u32,
        from: &Arc<Buffer>,
        to: &Arc<Buffer>,
        at: u64,
    ) -> Result<Dispatch<'a>, DeviceError> {
        let call = kernels::copy(n)?;
        // A buffer of 128 MiB is 32,768 groups of 1024 elements.
        Ok((&self.kernels.copy, call, vec![place(from, 0), place(to, at)], [n.div_ceil(1024), 1]))
    }

    fn list(&self, dispatches: Vec<Dispatch<'_>>, apart: bool, work: f64) -> Result<Work, DeviceError> {
        let needs_block = |d: &&Dispatch<'_>| d.0.ready.layout.block;
        let blocks = dispatches.iter().filter(needs_block).count() as u64;
        let mut blocks = Blocks::new(self.gpu, blocks * BLOCK)?;
        let mut list = Recorder::new(&self.gpu.queue).map_err(device_error)?;
        [&self.from, &self.to].into_iter().chain(&blocks.buffer).for_each(|buffer| list.keep(buffer));
        list.barrier(EVERYTHING_BEFORE, EVERYTHING_AFTER);
        for (i, dispatch) in dispatches.iter().enumerate() {
            if apart && i > 0 {
                list.barrier(EVERYTHING_BEFORE, EVERYTHING_AFTER);
            }
            record(&mut list, &mut blocks, dispatch)?;
        }
        Ok(Work { list: list.finish().map_err(device_error)?, work })
    }

    /// Microseconds of a list, without what a submission takes.
    pub(super) fn us(&self, work: &Work) -> Result<f64, DeviceError> {
        let few = self.submission(work, ONCE)?;
        let many = self.submission(work, OFTEN)?;
        Ok((many - few).max(0.0) / (OFTEN - ONCE) as f64)
    }

    fn submission(&self, work: &Work, times: usize) -> Result<f64, DeviceError> {
        let mut lists = vec![&self.bracket.open];
        lists.extend(std::iter::repeat_n(&work.list, times));
        lists.push(&self.bracket.close);
        let poll = self.gpu.wait_policy.usual();
        self.gpu.run_timed(&lists, poll, Begin::AtSubmission).map_err(device_error)?;
        self.bracket.us(self.gpu)
    }
}

fn record(list: &mut Recorder, blocks: &mut Blocks, dispatch: &Dispatch<'_>) -> Result<(), DeviceError> {
    let (kernel, call, places, [x, y]) = dispatch;
    let addresses: Vec<u64> = places.iter().map(Place::address).collect();
    let words = kernel.ready.layout.pack(0, &addresses, &call.args);
    let push = blocks.push(kernel.ready.layout.block, &words)?;
    let grid = DispatchTarget::Direct([*x, *y, 1]);
    list.dispatch(&kernel.ready.pipeline, &push.bytes, None, &grid).map_err(device_error)
}

fn place(buffer: &Arc<Buffer>, offset: u64) -> Place {
    Place { buffer: buffer.clone(), offset }
}

/// The variant that a call names.
fn variant(kernel: &Kernel) -> &'static str {
    kernel.ready.decl.variant(&kernel.call.variant).map_or("", |variant| variant.name)
}

/// Two numbers whose product this is, as near to each other as there are; the larger one first.
fn sides(groups: u32) -> (u32, u32) {
    let small = (1..=groups.isqrt()).rev().find(|side| groups.is_multiple_of(*side)).unwrap_or(1);
    (groups / small, small)
}

#[cfg(test)]
mod tests {
    use super::sides;

    #[test]
    fn tiles_lie_in_a_rectangle() {
        assert_eq!([1, 2, 7, 16, 264].map(sides), [(1, 1), (2, 1), (7, 1), (4, 4), (22, 12)]);
    }
}
