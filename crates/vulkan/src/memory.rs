//! Regions in device memory: lists of chunks with 64-bit offsets.
//!
//! In: the plan's regions. Out: buffers, and for a span the buffer, offset and address it lies at. What does not fit
//! is an error before anything is taken.

use crate::error::device_error;
use crate::gpu::{EVERYTHING_AFTER, EVERYTHING_BEFORE, Gpu, Poison};
use crate::raw::{Buffer, BufferUsage, CallError, Recorder};
use crate::staging::{Filled, Staging};
use pumice_plan::{Region, RegionKind, Span};
use pumice_runtime::device::{DeviceError, FillWeights};
use pumice_types::{Bytes, SourceError};
use std::sync::{Arc, MutexGuard, PoisonError};

/// Guard bytes on either side of a chunk, where memory is poisoned.
const GUARD: u64 = 4096;
/// Words of a spare buffer that stands where a kernel gets nothing.
const SPARE: u64 = 256;

/// Where bytes lie.
#[derive(Clone)]
pub(crate) struct Place {
    pub(crate) buffer: Arc<Buffer>,
    pub(crate) offset: u64,
}

impl Place {
    /// The device address.
    pub(crate) fn address(&self) -> u64 {
        self.buffer.address() + self.offset
    }
}

/// One region. Clones are the same memory.
#[derive(Clone)]
pub(crate) struct RegionMemory {
    region: Region,
    chunks: Vec<Arc<Buffer>>,
    /// Bytes before the first byte of every chunk and after its last.
    guard: u64,
}

impl RegionMemory {
    pub(crate) fn new(gpu: &Gpu, region: &Region) -> Result<RegionMemory, DeviceError> {
        let guard = if gpu.poison.is_some() { GUARD } else { 0 };
        let types = gpu.plan.memory_types(region.kind);
        let mut chunks = Vec::new();
        for &size in &region.chunks {
            // A chunk ends with a whole word, so that fills and narrow tails stay inside.
            let bytes = size.align_up(16).0.max(16) + 2 * guard;
            let made = Buffer::new(&gpu.shared, usage(region.kind), bytes, types);
            chunks.push(Arc::new(made.map_err(|e| region_refused(gpu, region.kind, Bytes(bytes), e))?));
        }
        Ok(RegionMemory { region: region.clone(), chunks, guard })
    }

    fn locate(&self, offset: Bytes) -> Option<(usize, u64)> {
        let (chunk, inside) = self.region.locate(offset)?;
        (chunk < self.chunks.len()).then_some((chunk, inside.0 + self.guard))
    }
}

/// Whether the host works on a region itself, or reaches it through staging where it does not see it.
fn usage(kind: RegionKind) -> BufferUsage {
    match kind {
        RegionKind::Weights | RegionKind::States | RegionKind::Scratch => BufferUsage::Kernel,
        RegionKind::IoIn | RegionKind::IoOut | RegionKind::Frame | RegionKind::Status => BufferUsage::Host,
    }
}

/// The regions of one executable or one session.
pub(crate) struct Regions {
    gpu: Arc<Gpu>,
    memory: Vec<RegionMemory>,
    spare: Arc<Buffer>,
}

impl Regions {
    /// Takes memory for regions, if all of it fits.
    pub(crate) fn new(gpu: &Arc<Gpu>, regions: &[&Region]) -> Result<Regions, DeviceError> {
        check_available(gpu, regions)?;
        let memory =
            regions.iter().map(|region| RegionMemory::new(gpu, region)).collect::<Result<Vec<_>, _>>()?;
        let types = gpu.plan.memory_types(RegionKind::Frame);
        let spare = Buffer::new(&gpu.shared, BufferUsage::Kernel, SPARE, types)
            .map_err(|e| region_refused(gpu, RegionKind::Frame, Bytes(SPARE), e))?;
        Ok(Regions { gpu: gpu.clone(), memory, spare: Arc::new(spare) })
    }

    /// These, with that memory in place of what they have of its region.
    pub(crate) fn with(&self, memory: &RegionMemory) -> Regions {
        let others = self.memory.iter().filter(|m| m.region.kind != memory.region.kind);
        let memory = others.chain([memory]).cloned().collect();
        Regions { gpu: self.gpu.clone(), memory, spare: self.spare.clone() }
    }

    /// Whether a region is among these.
    pub(crate) fn has(&self, kind: RegionKind) -> bool {
        self.memory.iter().any(|m| m.region.kind == kind)
    }

    /// Where a span lies; it must lie in one chunk. An empty span past everything gets the spare buffer.
    pub(crate) fn locate(&self, span: Span) -> Result<Place, DeviceError> {
        let memory = self.memory.iter().find(|m| m.region.kind == span.region);
        let Some((memory, (chunk, offset))) = memory.and_then(|m| Some((m, m.locate(span.offset)?))) else {
            if span.len == Bytes::ZERO {
                return Ok(self.spare());
            }
            return Err(DeviceError::Span(span));
        };
        let buffer = &memory.chunks[chunk];
        let size = buffer.size() - memory.guard;
        if offset.checked_add(span.len.0).is_none_or(|end| end > size) {
            return Err(DeviceError::Span(span));
        }
        Ok(Place { buffer: buffer.clone(), offset })
    }

    /// A small buffer that belongs to nobody.
    pub(crate) fn spare(&self) -> Place {
        Place { buffer: self.spare.clone(), offset: 0 }
    }

    /// The span cut at chunk borders: each piece's place, and its first byte and length within the span.
    fn pieces(&self, span: Span) -> Result<Vec<(Place, u64, u64)>, DeviceError> {
        let mut pieces = Vec::new();
        let mut done = 0;
        while done < span.len.0 {
            let at = Span { offset: span.offset + Bytes(done), len: Bytes::ZERO, ..span };
            let memory = self.memory.iter().find(|m| m.region.kind == span.region);
            let found = memory.and_then(|m| Some((m, m.locate(at.offset)?)));
            let (memory, (chunk, offset)) = found.ok_or(DeviceError::Span(span))?;
            let left = memory.region.chunks[chunk].0 - (offset - memory.guard);
            let len = left.min(span.len.0 - done);
            pieces.push((Place { buffer: memory.chunks[chunk].clone(), offset }, done, len));
            done += len;
        }
        Ok(pieces)
    }

    /// Writes bytes; directly where the host sees the memory, else through staging.
    pub(crate) fn write(&self, span: Span, bytes: &[u8]) -> Result<(), DeviceError> {
        self.gpu.check()?;
        if bytes.len() as u64 != span.len.0 {
            return Err(DeviceError::Span(span));
        }
        for (place, start, len) in self.pieces(span)? {
            let part = &bytes[start as usize..(start + len) as usize];
            if place.buffer.is_mapped() {
                place.buffer.write(place.offset, part).map_err(device_error)?;
            } else {
                self.lock_staging().upload(&self.gpu, &place, part)?;
            }
        }
        Ok(())
    }

    /// Fills spans with bytes that are made where the device reads them, or in staging.
    pub(crate) fn fill(&self, spans: &[Span], fill: &mut FillWeights<'_>) -> Result<(), DeviceError> {
        self.gpu.check()?;
        let mut places = Vec::new();
        // Of each place the span it is part of, and its first byte there.
        let mut parts = Vec::new();
        for (i, span) in spans.iter().enumerate() {
            for (place, start, len) in self.pieces(*span)? {
                if place.buffer.is_mapped() {
                    fill_mapped(&place, len, &mut |out| fill(i, start, out))?;
                } else {
                    places.push((place, len));
                    parts.push((i, start));
                }
            }
        }
        if places.is_empty() {
            return Ok(());
        }
        // Whoever fills may be slow, or use the device: the buffers are taken along, and nobody waits for them.
        let mut staging = std::mem::take(&mut *self.lock_staging());
        let filled = staging.fill(&self.gpu, &places, &mut |place, at, out| {
            let (span, start) = parts[place];
            fill(span, start + at, out)
        });
        self.lock_staging().give_back(staging);
        filled
    }

    fn lock_staging(&self) -> MutexGuard<'_, Staging> {
        self.gpu.staging.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads bytes; directly where the host reads the memory fast, or there are few, else through staging.
    pub(crate) fn read(&self, span: Span, bytes: &mut [u8]) -> Result<(), DeviceError> {
        /// Reading through the bus takes about a microsecond per 64 bytes, a staged copy about 40.
        const FEW: u64 = 2048;
        self.gpu.check()?;
        if bytes.len() as u64 != span.len.0 {
            return Err(DeviceError::Span(span));
        }
        for (place, start, len) in self.pieces(span)? {
            let part = &mut bytes[start as usize..(start + len) as usize];
            if place.buffer.is_cached() || (place.buffer.is_mapped() && len <= FEW) {
                place.buffer.read(place.offset, part).map_err(device_error)?;
            } else {
                self.lock_staging().download(&self.gpu, &place, part)?;
            }
        }
        Ok(())
    }

    /// Copies spans from another set of regions of the same plan, on the device.
    pub(crate) fn copy_from(&self, other: &Regions, spans: &[Span]) -> Result<(), DeviceError> {
        if spans.is_empty() {
            return Ok(());
        }
        let mut list = Recorder::new(&self.gpu.queue).map_err(device_error)?;
        list.barrier(EVERYTHING_BEFORE, EVERYTHING_AFTER);
        for &span in spans {
            for ((from, _, len), (to, _, _)) in other.pieces(span)?.into_iter().zip(self.pieces(span)?) {
                list.copy((&from.buffer, from.offset), (&to.buffer, to.offset), len).map_err(device_error)?;
            }
        }
        Gpu::close(&mut list);
        self.gpu.run(&[&list.finish().map_err(device_error)?])
    }

    /// Makes a span zero: few bytes that the host reaches by writing, others on the device, but for the bytes around
    /// whole words.
    pub(crate) fn clear(&self, span: Span) -> Result<(), DeviceError> {
        const WORD: u64 = 4;
        /// A submission takes about as long as writing so many.
        const FEW: u64 = 1 << 18;
        self.gpu.check()?;
        let mut fills = Vec::new();
        let mut written = Vec::new();
        for (place, start, len) in self.pieces(span)? {
            let (begin, end) = (place.offset, place.offset + len);
            let (first, last) = (begin.next_multiple_of(WORD), end / WORD * WORD);
            if first >= last || (place.buffer.is_mapped() && len <= FEW) {
                written.push(start..start + len);
                continue;
            }
            written.extend([start..start + first - begin, start + last - begin..start + len]);
            fills.push((place.buffer, first, last - first));
        }
        self.fill_zeros(&fills)?;
        written.into_iter().filter(|range| !range.is_empty()).try_for_each(|range| {
            let len = range.end - range.start;
            let part = Span { offset: span.offset + Bytes(range.start), len: Bytes(len), ..span };
            self.write(part, &vec![0; len as usize])
        })
    }

    /// Makes whole words of buffers zero, on the device.
    fn fill_zeros(&self, fills: &[(Arc<Buffer>, u64, u64)]) -> Result<(), DeviceError> {
        if fills.is_empty() {
            return Ok(());
        }
        let mut list = Recorder::new(&self.gpu.queue).map_err(device_error)?;
        list.barrier(EVERYTHING_BEFORE, EVERYTHING_AFTER);
        for (buffer, at, bytes) in fills {
            list.fill(buffer, *at, *bytes, 0).map_err(device_error)?;
        }
        Gpu::close(&mut list);
        self.gpu.run(&[&list.finish().map_err(device_error)?])
    }

    /// Fills chunks with the poison, guards included: those of every region, or of one.
    pub(crate) fn poison(&self, only: Option<RegionKind>) -> Result<(), DeviceError> {
        let Some(Poison(word)) = self.gpu.poison else { return Ok(()) };
        let mut list = Recorder::new(&self.gpu.queue).map_err(device_error)?;
        list.barrier(EVERYTHING_BEFORE, EVERYTHING_AFTER);
        for memory in self.memory.iter().filter(|m| only.is_none_or(|k| k == m.region.kind)) {
            for chunk in &memory.chunks {
                list.fill(chunk, 0, chunk.size() / 4 * 4, word).map_err(device_error)?;
            }
        }
        Gpu::close(&mut list);
        self.gpu.run(&[&list.finish().map_err(device_error)?])
    }

    /// That no guard band was written to.
    pub(crate) fn check_guards(&self) -> Result<(), DeviceError> {
        let Some(Poison(word)) = self.gpu.poison else { return Ok(()) };
        let mut band = vec![0u8; GUARD as usize];
        for memory in &self.memory {
            for (i, chunk) in memory.chunks.iter().enumerate() {
                for at in [0, chunk.size() - GUARD] {
                    let place = Place { buffer: chunk.clone(), offset: at };
                    if chunk.is_cached() {
                        chunk.read(at, &mut band).map_err(device_error)?;
                    } else {
                        self.lock_staging().download(&self.gpu, &place, &mut band)?;
                    }
                    let touched = band.chunks_exact(4).position(|w| *w != word.to_ne_bytes());
                    if let Some(w) = touched {
                        let side = if at == 0 { "before" } else { "after" };
                        let (region, byte) = (memory.region.kind, w as u64 * 4);
                        return Err(DeviceError::Guard { region, chunk: i, side, byte });
                    }
                }
            }
        }
        Ok(())
    }
}

fn fill_mapped(
    place: &Place,
    len: u64,
    fill: &mut dyn FnMut(&mut [u8]) -> Result<(), SourceError>,
) -> Result<(), DeviceError> {
    Ok(place.buffer.fill(place.offset, len, |out| fill(out).map_err(Filled::Source))?)
}

/// What the heap has free in which a region is put first.
pub(crate) fn free(gpu: &Gpu, kind: RegionKind) -> Option<Bytes> {
    let first = gpu.plan.memory_types(kind).first();
    let heap = first.and_then(|&t| gpu.shared.memory_type(t)).map(|t| t.heap)?;
    Some(Bytes(gpu.shared.available(heap)))
}

/// That regions fit together into what their heaps have free.
pub(crate) fn check_available(gpu: &Gpu, regions: &[&Region]) -> Result<(), DeviceError> {
    let mut by_heap: Vec<(u32, Bytes, Vec<RegionKind>)> = Vec::new();
    for region in regions {
        let first = gpu.plan.memory_types(region.kind).first();
        let Some(heap) = first.and_then(|&t| gpu.shared.memory_type(t)).map(|t| t.heap) else { continue };
        match by_heap.iter_mut().find(|h| h.0 == heap) {
            Some(h) => {
                h.1 += region.size();
                h.2.push(region.kind);
            }
            None => by_heap.push((heap, region.size(), vec![region.kind])),
        }
    }
    for (heap, needed, kinds) in by_heap {
        let available = Bytes(gpu.shared.available(heap));
        // What has another heap to go to is tried there when it is taken.
        let movable = kinds.iter().all(|&k| has_other_heap(gpu, k, heap));
        if needed > available && !movable {
            let what = kinds.iter().map(|k| k.name()).collect::<Vec<_>>().join(" + ");
            return Err(out_of_memory(what, needed, available));
        }
    }
    Ok(())
}

fn has_other_heap(gpu: &Gpu, kind: RegionKind, heap: u32) -> bool {
    gpu.plan.memory_types(kind).iter().any(|&t| gpu.shared.memory_type(t).is_some_and(|t| t.heap != heap))
}

fn out_of_memory(what: String, needed: Bytes, available: Bytes) -> DeviceError {
    let remedy = "free memory on the device, drop other sessions, lower the symbols' upper bounds, use packed \
                  placement, or choose a device with more memory";
    DeviceError::OutOfMemory { what, needed, available, remedy: remedy.to_owned() }
}

fn region_refused(gpu: &Gpu, kind: RegionKind, needed: Bytes, error: CallError) -> DeviceError {
    if !error.is_out_of_memory() {
        return device_error(error);
    }
    out_of_memory(format!("region {kind}"), needed, free(gpu, kind).unwrap_or(Bytes::ZERO))
}

#[cfg(test)]
mod tests;
