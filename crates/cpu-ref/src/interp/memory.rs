//! Regions as bytes, one vector per chunk.

use crate::machine::check_available;
use pumice_plan::{Plan, Region, RegionKind, Span};
use pumice_runtime::device::DeviceError;
use pumice_types::Bytes;

/// Some regions of a plan.
#[derive(Clone, Debug, Default)]
pub(super) struct RegionBytes {
    regions: Vec<(RegionKind, Vec<Vec<u8>>)>,
}

impl RegionBytes {
    /// The regions of these kinds, filled with the pattern.
    pub fn new(plan: &Plan, kinds: &[RegionKind], pattern: Option<u32>) -> Result<RegionBytes, DeviceError> {
        RegionBytes::of(plan.regions.iter().filter(|r| kinds.contains(&r.kind)), pattern)
    }

    /// These regions, filled with the pattern.
    pub fn of<'r>(
        regions: impl IntoIterator<Item = &'r Region>,
        pattern: Option<u32>,
    ) -> Result<RegionBytes, DeviceError> {
        let mut memory = RegionBytes::default();
        for region in regions {
            let mut chunks = Vec::with_capacity(region.chunks.len());
            for &size in &region.chunks {
                chunks.push(fresh(region.kind, size, pattern)?);
            }
            memory.regions.push((region.kind, chunks));
        }
        Ok(memory)
    }

    /// The bytes of a span, which lies in one chunk.
    pub fn bytes(&self, span: Span) -> Result<&[u8], DeviceError> {
        if span.len.0 == 0 {
            return Ok(&[]);
        }
        let chunks = self.regions.iter().find(|(k, _)| *k == span.region).map(|(_, c)| c);
        let (chunk, start, end) = chunks.and_then(|c| locate(c, span)).ok_or(DeviceError::Span(span))?;
        chunks.and_then(|c| c[chunk].get(start..end)).ok_or(DeviceError::Span(span))
    }

    /// The same, to write.
    pub fn bytes_mut(&mut self, span: Span) -> Result<&mut [u8], DeviceError> {
        if span.len.0 == 0 {
            return Ok(&mut []);
        }
        let chunks = self.regions.iter_mut().find(|(k, _)| *k == span.region).map(|(_, c)| c);
        let chunks = chunks.ok_or(DeviceError::Span(span))?;
        let (chunk, start, end) = locate(chunks, span).ok_or(DeviceError::Span(span))?;
        chunks[chunk].get_mut(start..end).ok_or(DeviceError::Span(span))
    }

    /// Fills a region with the pattern, all but the given spans, which are in ascending order.
    pub fn poison(&mut self, kind: RegionKind, pattern: u32, keep: &[Span]) {
        let Some((_, chunks)) = self.regions.iter_mut().find(|(k, _)| *k == kind) else { return };
        let mut first = 0;
        for chunk in chunks {
            let last = first + chunk.len() as u64;
            let mut at = first;
            for span in keep.iter().filter(|s| s.end().0 > first && s.offset.0 < last) {
                let stop = span.offset.0.clamp(at, last);
                fill(&mut chunk[(at - first) as usize..(stop - first) as usize], pattern);
                at = span.end().0.clamp(at, last);
            }
            fill(&mut chunk[(at - first) as usize..], pattern);
            first = last;
        }
    }
}

/// Chunk of a span, first byte and the one after the last inside it.
fn locate(chunks: &[Vec<u8>], span: Span) -> Option<(usize, usize, usize)> {
    let mut first = 0u64;
    for (i, chunk) in chunks.iter().enumerate() {
        let last = first + chunk.len() as u64;
        if span.offset.0 < last {
            let start = span.offset.0.checked_sub(first)?;
            let end = start.checked_add(span.len.0)?;
            return Some((i, usize::try_from(start).ok()?, usize::try_from(end).ok()?));
        }
        first = last;
    }
    None
}

fn fresh(kind: RegionKind, size: Bytes, pattern: Option<u32>) -> Result<Vec<u8>, DeviceError> {
    let mut bytes = Vec::new();
    let refused = |available| DeviceError::OutOfMemory {
        what: format!("region {kind}"),
        needed: size,
        available,
        remedy: "lower the symbols' upper bounds, or use a device with more memory".to_owned(),
    };
    check_available(size).map_err(refused)?;
    let reserved =
        size.to_usize().ok_or(()).and_then(|n| bytes.try_reserve_exact(n).map(|()| n).map_err(|_| ()));
    let n = reserved.map_err(|()| refused(Bytes::ZERO))?;
    bytes.resize(n, 0);
    if let Some(pattern) = pattern {
        fill(&mut bytes, pattern);
    }
    Ok(bytes)
}

/// Every word becomes the pattern. Slots begin at whole words, so do the pieces.
fn fill(bytes: &mut [u8], pattern: u32) {
    let word = pattern.to_le_bytes();
    let (words, rest) = bytes.as_chunks_mut::<4>();
    words.fill(word);
    rest.copy_from_slice(&word[..rest.len()]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(offset: u64, len: u64) -> Span {
        Span::new(RegionKind::Scratch, Bytes(offset), Bytes(len))
    }

    #[test]
    fn poison_spares_what_is_kept() {
        let mut memory = RegionBytes { regions: vec![(RegionKind::Scratch, vec![vec![0; 8], vec![0; 8]])] };
        memory.poison(RegionKind::Scratch, 0x0101_0101, &[span(4, 4), span(12, 2)]);
        assert_eq!(memory.bytes(span(0, 8)).expect("a chunk"), [1, 1, 1, 1, 0, 0, 0, 0]);
        assert_eq!(memory.bytes(span(8, 8)).expect("a chunk"), [1, 1, 1, 1, 0, 0, 1, 1]);
        assert!(memory.bytes(span(4, 8)).is_err() && memory.bytes(span(16, 1)).is_err());
    }
}
