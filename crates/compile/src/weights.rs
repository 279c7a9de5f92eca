//! Region `weights`: where params, constants and derived weights lie.

use crate::interface::Interface;
use crate::layout::Cursor;
use pumice_plan::{ConstantSlot, JoinedParams, ParamSlot, RegionKind, Span, Stream};
use pumice_types::{Bytes, Target, Tensor};

/// Places of weights.
pub struct Weights {
    /// Of params; streamed ones have no bytes here.
    pub params: Vec<Span>,
    /// Of params that lie side by side.
    pub joined: Vec<Span>,
    /// Of constants.
    pub constants: Vec<Span>,
    /// Of derived weights, by buffer of the load program.
    pub derived: Vec<Option<Span>>,
    /// Bytes of the region.
    pub bytes: u64,
}

impl Weights {
    /// Params side by side come first, the other params as they come, constants, then what is derived: so many bytes
    /// for each buffer of the load program that stays.
    pub fn place(
        interface: &Interface,
        streamed: impl Fn(u32) -> bool,
        constants: &[Tensor],
        derived: impl Iterator<Item = Option<u64>>,
        (target, guard): (&Target, u64),
    ) -> Weights {
        let mut region = Cursor::new(RegionKind::Weights, target, guard);
        let joined: Vec<Span> = interface.joined.iter().map(|j| region.take(j.span.len.0)).collect();
        let mut beside = beside(interface, &joined);
        let param = |(i, slot): (usize, &ParamSlot)| match beside[i].take() {
            Some(span) => span,
            None if streamed(i as u32) => Span::new(RegionKind::Scratch, Bytes::ZERO, Bytes::ZERO),
            None => region.take(slot.span.len.0),
        };
        let params = interface.params.iter().enumerate().map(param).collect();
        let constants = constants.iter().map(|data| region.take(data.bytes().len() as u64)).collect();
        let derived = derived.map(|bytes| bytes.map(|bytes| region.take(bytes))).collect();
        Weights { params, joined, constants, derived, bytes: region.end() }
    }

    /// The params with their places; a streamed one lies in the scratch of its stream, at that span.
    pub fn params(&self, interface: &Interface, streams: &[Stream], passed: &[Span]) -> Vec<ParamSlot> {
        let mut spans = self.params.clone();
        streams.iter().zip(passed).for_each(|(stream, span)| spans[stream.param as usize] = *span);
        let placed = interface.params.iter().zip(spans);
        placed.map(|(slot, span)| ParamSlot { span, ..slot.clone() }).collect()
    }

    /// The params that lie side by side with their places.
    pub fn joined(&self, interface: &Interface) -> Vec<JoinedParams> {
        let placed = interface.joined.iter().zip(&self.joined);
        placed.map(|(set, span)| JoinedParams { span: *span, ..set.clone() }).collect()
    }

    /// Constants with their places.
    pub fn constants(&self, data: Vec<Tensor>) -> Vec<ConstantSlot> {
        data.into_iter().zip(&self.constants).map(|(data, span)| ConstantSlot { data, span: *span }).collect()
    }
}

/// Of params that lie beside others, where.
fn beside(interface: &Interface, joined: &[Span]) -> Vec<Option<Span>> {
    let mut spans = vec![None; interface.params.len()];
    for (set, whole) in interface.joined.iter().zip(joined) {
        let mut offset = whole.offset;
        for &i in &set.params {
            let len = interface.params[i as usize].span.len;
            spans[i as usize] = Some(Span { offset, len, ..*whole });
            offset += len;
        }
    }
    spans
}
