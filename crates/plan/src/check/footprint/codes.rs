//! Codes beside scales: what every kernel that reads them has in common.

use super::accesses::Accesses;
use super::call::{Call, law};
use super::{Footprint, Wrong};
use crate::kernel::codes::NONE;
use crate::view::{Storage, Unit, View};
use pumice_types::{Code, DType, Encoding};

/// Where codes, scales and zero points stand among a kernel's operands.
pub(super) struct Operands {
    pub codes: usize,
    pub scales: usize,
    pub zeros: usize,
}

/// The places of scales: elements after the axis, along it (0: without end), under one scale; distances.
pub(super) struct Places {
    pub inner: u64,
    pub extent: u64,
    pub block: u64,
    pub steps: [u64; 3],
}

impl Places {
    /// The largest place that one of so many elements has.
    fn last(&self, elements: u64) -> Result<Option<u64>, Wrong> {
        law(self.inner > 0 && self.block > 0, || "codes under scales of no elements".to_owned())?;
        let Some(last) = elements.checked_sub(1) else { return Ok(None) };
        let along = last / self.inner;
        let (outer, axis) = match self.extent {
            0 => (0, along),
            extent => (along / extent, along.min(extent - 1)),
        };
        let places = [outer, axis / self.block, last.min(self.inner - 1)];
        let place = |sum: u64, (at, step): (u64, u64)| sum.saturating_add(at.saturating_mul(step));
        Ok(Some(places.into_iter().zip(self.steps).fold(0, place)))
    }
}

/// As [`beside`], where the places of scales are arguments.
pub(super) fn with_places<'i>(
    call: &Call<'i>,
    footprint: Footprint<'i>,
    at: &Operands,
    elements: u64,
) -> Result<(Footprint<'i>, Unit), Wrong> {
    let [scales, inner, extent, block] =
        call.fixed_counts(["scales", "code_inner", "code_extent", "code_block"])?;
    let steps = call.fixed_counts(["code_outer", "code_axis", "code_along"])?;
    beside(call, footprint, at, (elements, scales), &Places { inner, extent, block, steps })
}

/// Adds scales and zero points, and gives the unit of the codes, of which there are `elements`.
pub(super) fn beside<'i>(
    call: &Call<'i>,
    footprint: Footprint<'i>,
    at: &Operands,
    (elements, scales): (u64, u64),
    places: &Places,
) -> Result<(Footprint<'i>, Unit), Wrong> {
    let last = places.last(elements)?;
    call.choice("code_round", 3)?;
    law(last.is_none_or(|last| last < scales), || format!("it reads scale {last:?} of {scales}"))?;
    let codes = unit(call, at.codes, "code_kind")?;
    let scale = Accesses::dense(unit(call, at.scales, "scale_kind")?, scales);
    let footprint = footprint.operand(at.scales, scale);
    let has_zeros = call.spec("zero_kind")? != u64::from(NONE);
    call.own_or_again(has_zeros, at.zeros, at.codes)?;
    if !has_zeros {
        return Ok((footprint, codes));
    }
    let zero = Accesses::dense(unit(call, at.zeros, "zero_kind")?, scales);
    Ok((footprint.operand(at.zeros, zero), codes))
}

/// What an operand's elements are, by its view; the constant says the same.
fn unit(call: &Call<'_>, operand: usize, name: &str) -> Result<Unit, Wrong> {
    let at = call.call.operands.get(operand).and_then(|at| call.step.uses.get(usize::from(at.0)));
    let view = &at.ok_or_else(|| format!("operand {operand} is not there"))?.view;
    let (kind, unit) =
        stored(view).ok_or_else(|| format!("operand {operand} holds no codes and no scales"))?;
    law(call.spec(name)? == kind, || format!("`{name}` is not how operand {operand} is stored"))?;
    Ok(unit)
}

/// The number that kernels know, and elements that share bytes.
fn stored(view: &View) -> Option<(u64, Unit)> {
    let (list, dtype) = match view.storage {
        Storage::Encoded(Encoding::Codes(code)) => {
            let (kind, elements) = CODES[code as usize];
            return Some((kind, Unit { elements, bytes: 1 }));
        }
        Storage::Encoded(Encoding::Blocks(_)) => return None,
        Storage::Encoded(Encoding::Plain(dtype)) => (NATURAL, dtype),
        Storage::Natural => (NATURAL, view.dtype),
        Storage::Arena => (WORDS, view.dtype),
    };
    let found = list.iter().find(|(of, ..)| *of == dtype);
    found.map(|&(_, kind, bytes)| (kind, Unit::of_bytes(bytes)))
}

/// Of each type of codes in its order, the number and how many share a byte.
const CODES: [(u64, u64); 6] = [(5, 2), (6, 2), (7, 1), (8, 1), (9, 1), (10, 2)];
const _: () = assert!(Code::ALL.len() == CODES.len());

/// Of dtypes as they are, the number and the bytes of an element.
const NATURAL: &[(DType, u64, u64)] = &[
    (DType::I32, 0, 4),
    (DType::I8, 1, 1),
    (DType::U8, 2, 1),
    (DType::I16, 3, 2),
    (DType::F32, 11, 4),
    (DType::F16, 12, 2),
    (DType::BF16, 13, 2),
];

/// The same where each is a word.
const WORDS: &[(DType, u64, u64)] = &[
    (DType::I32, 0, 4),
    (DType::I8, 0, 4),
    (DType::U8, 0, 4),
    (DType::I16, 0, 4),
    (DType::F32, 11, 4),
    (DType::F16, 11, 4),
    (DType::BF16, 11, 4),
];
