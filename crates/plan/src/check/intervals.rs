//! A map from byte ranges to whatever is known of them. Ranges are split where a visit begins or ends, never merged:
//! a plan has few distinct borders.

use crate::region::{RegionKind, Span};
use pumice_types::Bytes;
use std::collections::BTreeMap;

/// What is known of the bytes of every region.
#[derive(Clone, Debug)]
pub(super) struct ByteMap<T> {
    regions: [Intervals<T>; RegionKind::ALL.len()],
}

/// Disjoint ranges by their first byte: end and value. Bytes in no range have the default.
#[derive(Clone, Debug, Default)]
struct Intervals<T> {
    cells: BTreeMap<u64, (u64, T)>,
}

impl<T: Clone + Default> ByteMap<T> {
    /// Nothing is known.
    pub fn new() -> ByteMap<T> {
        ByteMap { regions: std::array::from_fn(|_| Intervals { cells: BTreeMap::new() }) }
    }

    /// Visits the parts of a span, in order; together they cover it.
    pub fn visit(&mut self, span: Span, mut each: impl FnMut(Span, &mut T)) {
        let (start, end) = (span.offset.0, span.offset.0.saturating_add(span.len.0));
        if start >= end {
            return;
        }
        let cells = &mut self.regions[span.region as usize];
        cells.cover(start, end);
        for (&from, (to, value)) in cells.cells.range_mut(start..end) {
            let part = Span { offset: Bytes(from), len: Bytes(*to - from), ..span };
            each(part, value);
        }
    }

    /// Visits everything that was ever visited.
    pub fn visit_all(&mut self, mut each: impl FnMut(&mut T)) {
        for region in &mut self.regions {
            region.cells.values_mut().for_each(|(_, value)| each(value));
        }
    }
}

impl<T: Clone + Default> Intervals<T> {
    /// Makes ranges so that `start..end` is a union of some of them.
    fn cover(&mut self, start: u64, end: u64) {
        self.split(start);
        self.split(end);
        let mut gaps = Vec::new();
        let mut at = start;
        for (&from, (to, _)) in self.cells.range(start..end) {
            if at < from {
                gaps.push((at, from));
            }
            at = *to;
        }
        if at < end {
            gaps.push((at, end));
        }
        for (from, to) in gaps {
            self.cells.insert(from, (to, T::default()));
        }
    }

    /// Cuts the range that holds `at` in its inside.
    fn split(&mut self, at: u64) {
        let Some((_, (end, value))) = self.cells.range_mut(..at).next_back() else { return };
        if *end > at {
            let rest = (*end, value.clone());
            *end = at;
            self.cells.insert(at, rest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(offset: u64, len: u64) -> Span {
        Span::new(RegionKind::Scratch, Bytes(offset), Bytes(len))
    }

    #[test]
    fn parts_cover_what_is_visited() {
        let mut memory: ByteMap<u32> = ByteMap::new();
        memory.visit(span(10, 10), |_, v| *v = 1);
        memory.visit(span(15, 10), |_, v| *v += 2);
        let mut seen = Vec::new();
        memory.visit(span(0, 30), |s, v| seen.push((s.offset.0, s.end().0, *v)));
        assert_eq!(seen, [(0, 10, 0), (10, 15, 1), (15, 20, 3), (20, 25, 2), (25, 30, 0)]);
        memory.visit(span(12, 0), |_, _| panic!("an empty span has no parts"));
    }
}
