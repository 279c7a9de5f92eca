//! Copies between the host and memory the host does not see, through two bounded buffers.
//!
//! While the device copies one part, the host fills or empties the other. What passes through here is bounded by
//! [`PART`], whatever its size. After a transfer the two buffers are all that staging holds: not what it copied. Code
//! of the user runs only in [`Staging::fill`], which is called on buffers that were taken out of the device's lock.

use crate::error::device_error;
use crate::gpu::{EVERYTHING_AFTER, EVERYTHING_BEFORE, Gpu};
use crate::memory::Place;
use crate::raw::{Buffer, BufferUsage, CallError, Commands, Recorder};
use pumice_runtime::device::{DeviceError, FillWeights};
use pumice_types::SourceError;
use std::sync::Arc;

/// Bytes of one of the two buffers.
const PART: usize = 8 << 20;

/// Where a piece begins in staging: what copies are fastest from.
const PIECE_ALIGNMENT: u64 = 64;

/// What goes through staging at once.
struct Piece {
    /// Number of the place that it belongs to.
    place: usize,
    /// First byte in the place.
    start: u64,
    len: u64,
}

/// Places cut into what one buffer holds.
fn pieces(places: &[(Place, u64)]) -> impl Iterator<Item = Piece> + '_ {
    let cut = |(place, (_, len)): (usize, &(Place, u64))| {
        let len = *len;
        (0..len).step_by(PART).map(move |start| Piece { place, start, len: (len - start).min(PART as u64) })
    };
    places.iter().enumerate().flat_map(cut)
}

/// Why bytes were not filled.
pub(crate) enum Filled {
    Call(CallError),
    Source(SourceError),
}

impl From<CallError> for Filled {
    fn from(error: CallError) -> Filled {
        Filled::Call(error)
    }
}

impl From<Filled> for DeviceError {
    fn from(error: Filled) -> DeviceError {
        match error {
            Filled::Call(e) => device_error(e),
            Filled::Source(e) => e.into(),
        }
    }
}

/// The two buffers, each with the list that copies from or to it. Empty until first used.
#[derive(Default)]
pub(crate) struct Staging {
    halves: [Option<Half>; 2],
}

struct Half {
    buffer: Arc<Buffer>,
    list: Option<Commands>,
    point: u64,
}

impl Half {
    fn new(gpu: &Gpu) -> Result<Half, DeviceError> {
        let made = Buffer::new(&gpu.shared, BufferUsage::Staging, PART as u64, &gpu.plan.staging);
        Ok(Half { buffer: Arc::new(made.map_err(device_error)?), list: None, point: 0 })
    }

    /// Waits for the half's last copy and begins its list.
    fn begin(&mut self, gpu: &Gpu) -> Result<Recorder, DeviceError> {
        gpu.queue.wait(self.point).map_err(device_error)?;
        let mut list = match self.list.take() {
            Some(list) => list.restart().map_err(device_error)?,
            None => Recorder::new(&gpu.queue).map_err(device_error)?,
        };
        list.barrier(EVERYTHING_BEFORE, EVERYTHING_AFTER);
        Ok(list)
    }

    fn submit(&mut self, gpu: &Gpu, list: Recorder) -> Result<(), DeviceError> {
        let list = list.finish().map_err(device_error)?;
        self.point = gpu.queue.submit(&[&list]).map_err(device_error)?;
        self.list = Some(list);
        Ok(())
    }
}

impl Staging {
    fn half(&mut self, gpu: &Gpu, part: usize) -> Result<&mut Half, DeviceError> {
        let half = &mut self.halves[part % 2];
        if half.is_none() {
            *half = Some(Half::new(gpu)?);
        }
        Ok(half.as_mut().expect("it was made just now"))
    }

    /// Takes back buffers that somebody had taken along; where others were made meanwhile, these go.
    pub(crate) fn give_back(&mut self, taken: Staging) {
        if self.halves.iter().all(Option::is_none) {
            *self = taken;
        }
    }

    /// The lists hold what they copied from or to; after a transfer nobody else may want it any more.
    fn release(&mut self) {
        self.halves.iter_mut().flatten().filter_map(|h| h.list.as_mut()).for_each(Commands::release);
    }

    /// Writes bytes to a place and waits until they are there.
    pub(crate) fn upload(&mut self, gpu: &Gpu, to: &Place, bytes: &[u8]) -> Result<(), DeviceError> {
        let ended = self.upload_parts(gpu, to, bytes);
        self.release();
        ended
    }

    fn upload_parts(&mut self, gpu: &Gpu, to: &Place, bytes: &[u8]) -> Result<(), DeviceError> {
        let mut last = 0;
        for (i, part) in bytes.chunks(PART).enumerate() {
            let half = self.half(gpu, i)?;
            let mut list = half.begin(gpu)?;
            half.buffer.write(0, part).map_err(device_error)?;
            let at = to.offset + (i * PART) as u64;
            list.copy((&half.buffer, 0), (&to.buffer, at), part.len() as u64).map_err(device_error)?;
            Gpu::close(&mut list);
            half.submit(gpu, list)?;
            last = half.point;
        }
        gpu.queue.wait(last).map_err(device_error)
    }

    /// Fills places with bytes that are made in staging, as many pieces in one submission as there is room for, and
    /// waits once, at the end. `fill` gets the number of the place, the first byte in it, and the bytes to fill.
    pub(crate) fn fill(
        &mut self,
        gpu: &Gpu,
        places: &[(Place, u64)],
        fill: &mut FillWeights<'_>,
    ) -> Result<(), DeviceError> {
        let ended = self.fill_parts(gpu, places, fill);
        self.release();
        ended
    }

    fn fill_parts(
        &mut self,
        gpu: &Gpu,
        places: &[(Place, u64)],
        fill: &mut FillWeights<'_>,
    ) -> Result<(), DeviceError> {
        let mut pieces = pieces(places).peekable();
        let (mut last, mut part) = (0, 0);
        while pieces.peek().is_some() {
            let half = self.half(gpu, part)?;
            part += 1;
            let mut list = half.begin(gpu)?;
            let mut used = 0;
            while let Some(piece) = pieces.next_if(|p| used + p.len <= PART as u64) {
                half.buffer.fill(used, piece.len, |out| {
                    fill(piece.place, piece.start, out).map_err(Filled::Source)
                })?;
                let (to, start) = (&places[piece.place].0, piece.start);
                list.copy((&half.buffer, used), (&to.buffer, to.offset + start), piece.len)
                    .map_err(device_error)?;
                used += piece.len.next_multiple_of(PIECE_ALIGNMENT);
            }
            half.submit(gpu, list)?;
            last = half.point;
        }
        gpu.queue.wait(last).map_err(device_error)
    }

    /// Reads bytes from a place.
    pub(crate) fn download(&mut self, gpu: &Gpu, from: &Place, bytes: &mut [u8]) -> Result<(), DeviceError> {
        let ended = self.download_parts(gpu, from, bytes);
        self.release();
        ended
    }

    fn download_parts(&mut self, gpu: &Gpu, from: &Place, bytes: &mut [u8]) -> Result<(), DeviceError> {
        let parts = bytes.len().div_ceil(PART);
        for i in 0..=parts {
            // Part i is on its way while part i - 1 is taken out.
            if i < parts {
                let len = PART.min(bytes.len() - i * PART) as u64;
                let at = from.offset + (i * PART) as u64;
                let half = self.half(gpu, i)?;
                let mut list = half.begin(gpu)?;
                list.copy((&from.buffer, at), (&half.buffer, 0), len).map_err(device_error)?;
                Gpu::close(&mut list);
                half.submit(gpu, list)?;
            }
            if i > 0 {
                let start = (i - 1) * PART;
                let end = bytes.len().min(start + PART);
                let half = self.half(gpu, i - 1)?;
                gpu.queue.wait(half.point).map_err(device_error)?;
                half.buffer.read(0, &mut bytes[start..end]).map_err(device_error)?;
            }
        }
        Ok(())
    }
}
