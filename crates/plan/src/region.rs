//! Where bytes live: a fixed set of regions, each a 64-bit address space cut into chunks the device can allocate.

use pumice_types::Bytes;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Every slot begins at a multiple of this many bytes.
pub const SLOT_ALIGNMENT: u64 = 256;

/// The regions of a plan. There is exactly one of each kind, possibly empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RegionKind {
    /// Stored params and what the load program derives from them. Shared by every session of an executable.
    Weights,
    /// Persistent states. One per session.
    States,
    /// The arena of intermediate values.
    Scratch,
    /// Host-written, device-read: inputs, and results of host steps.
    IoIn,
    /// Device-written, host-read: outputs, and operands of host steps.
    IoOut,
    /// The frame: 32-bit words that change between runs.
    Frame,
    /// Error flags and positions of OPS 1.5.
    Status,
}

impl RegionKind {
    /// Every kind, in the order plans list them.
    pub const ALL: [RegionKind; 7] = [
        RegionKind::Weights,
        RegionKind::States,
        RegionKind::Scratch,
        RegionKind::IoIn,
        RegionKind::IoOut,
        RegionKind::Frame,
        RegionKind::Status,
    ];

    /// The name used in printed plans.
    pub const fn name(self) -> &'static str {
        match self {
            RegionKind::Weights => "weights",
            RegionKind::States => "states",
            RegionKind::Scratch => "scratch",
            RegionKind::IoIn => "io_in",
            RegionKind::IoOut => "io_out",
            RegionKind::Frame => "frame",
            RegionKind::Status => "status",
        }
    }

    /// Whether the host reads or writes this region during a run.
    pub const fn host_visible(self) -> bool {
        matches!(self, RegionKind::IoIn | RegionKind::IoOut | RegionKind::Frame | RegionKind::Status)
    }
}

impl fmt::Display for RegionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One region: chunks laid end to end. No slot crosses a chunk border.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Region {
    /// Which one.
    pub kind: RegionKind,
    /// Sizes of the chunks, each at most the target's largest allocation; their sum is the region's size.
    pub chunks: Vec<Bytes>,
}

impl Region {
    /// An empty region.
    pub fn empty(kind: RegionKind) -> Region {
        Region { kind, chunks: Vec::new() }
    }

    /// Size of the whole region.
    pub fn size(&self) -> Bytes {
        self.chunks.iter().copied().sum()
    }

    /// The chunk that holds an offset, and the offset inside it. `None` past the end.
    pub fn locate(&self, offset: Bytes) -> Option<(usize, Bytes)> {
        let mut start = Bytes::ZERO;
        for (i, &size) in self.chunks.iter().enumerate() {
            if offset < start + size {
                return Some((i, offset - start));
            }
            start += size;
        }
        None
    }
}

/// Which of a plan's devices holds the bytes. Plans have one so far, 0; the checker refuses every other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DeviceIndex(pub u8);

impl DeviceIndex {
    /// The device of every plan so far; a span that names none is there.
    pub const ONLY: DeviceIndex = DeviceIndex(0);

    fn only() -> DeviceIndex {
        DeviceIndex::ONLY
    }
}

/// A range of bytes in a region of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Span {
    /// The device.
    #[serde(default = "DeviceIndex::only")]
    pub device: DeviceIndex,
    /// The region.
    pub region: RegionKind,
    /// First byte.
    pub offset: Bytes,
    /// Number of bytes.
    pub len: Bytes,
}

impl Span {
    /// Bytes on device 0.
    pub const fn new(region: RegionKind, offset: Bytes, len: Bytes) -> Span {
        Span { device: DeviceIndex::ONLY, region, offset, len }
    }

    /// One past the last byte.
    pub fn end(&self) -> Bytes {
        self.offset + self.len
    }

    /// Whether the two share a byte.
    pub fn overlaps(&self, other: &Span) -> bool {
        self.is_beside(other)
            && self.len.0 > 0
            && other.len.0 > 0
            && self.offset < other.end()
            && other.offset < self.end()
    }

    /// Whether every byte of `other` is one of this span's.
    pub fn contains(&self, other: &Span) -> bool {
        self.is_beside(other) && self.offset <= other.offset && other.end() <= self.end()
    }

    /// Whether both lie in one region of one device.
    fn is_beside(&self, other: &Span) -> bool {
        self.device == other.device && self.region == other.region
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.device != DeviceIndex::ONLY {
            write!(f, "{}:", self.device.0)?;
        }
        write!(f, "{}+{:#x}:{}", self.region, self.offset.0, self.len.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_found() {
        let r = Region { kind: RegionKind::Scratch, chunks: vec![Bytes(256), Bytes(512)] };
        assert_eq!(r.locate(Bytes(255)), Some((0, Bytes(255))));
        assert_eq!(r.locate(Bytes(256)), Some((1, Bytes(0))));
        assert_eq!(r.locate(Bytes(768)), None);
    }

    #[test]
    fn empty_spans_overlap_nothing() {
        let s = |o, l| Span::new(RegionKind::Scratch, Bytes(o), Bytes(l));
        assert!(s(0, 8).overlaps(&s(4, 8)));
        assert!(!s(0, 4).overlaps(&s(4, 8)));
        assert!(!s(4, 0).overlaps(&s(0, 8)));
    }

    #[test]
    fn spans_of_two_devices_are_apart_and_no_larger_for_it() {
        let here = Span::new(RegionKind::Scratch, Bytes(0), Bytes(8));
        let there = Span { device: DeviceIndex(1), ..here };
        assert!(here.overlaps(&here) && !here.overlaps(&there) && !there.contains(&here));
        assert_eq!((here.to_string(), there.to_string()), ("scratch+0x0:8".into(), "1:scratch+0x0:8".into()));
        assert_eq!(size_of::<Span>(), 24);
    }
}
