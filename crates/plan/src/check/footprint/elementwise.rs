//! Elementwise kernels: all operands are slots.

use super::accesses::Accesses;
use super::call::{Call, by_four, iteration, law};
use super::order::Order;
use super::{Footprint, Port, Rule, Together, Wrong, fill_touches};
use crate::check::numbers::Number;
use crate::kernel::{HoleFill, HoleInput, SlotKind};
use crate::step::{Access, Use};
use crate::view::Storage;
use pumice_types::{DType, Encoding, MAX_RANK};

/// The rules of this family.
pub(super) const RULES: &[(&str, Rule)] = &[
    ("elementwise_flat", flat),
    ("elementwise_strided", strided),
    ("elementwise_strided4", strided4),
    ("elementwise_spread", spread),
    ("elementwise_tiles", tiles),
    ("elementwise_runs", runs),
    ("elementwise_runs4", runs4),
];

/// `elementwise_flat`: slots are dense, or one element for all.
fn flat<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let [n] = call.counts(["n"])?;
    let per = call.power_of_two("per", 64)?;
    let tail = call.flag("tail")?;
    law(tail || n % 4 == 0, || format!("`tail` is 0 for {n} elements"))?;
    let scalars = call.spec("scalars")?;
    let mut footprint =
        Footprint { together: Together::Everything, ..Footprint::new(n.div_ceil(1024 * per), 256 * per) };
    for slot in touched(call) {
        let (used, kind) = kind(call, slot)?;
        if kind == SlotKind::Status {
            continue;
        }
        law(kind != SlotKind::Wide, || format!("slot {slot} has 64-bit elements"))?;
        let scalar = scalars >> slot & 1 == 1;
        law(!(scalar && used.access.writes()), || format!("slot {slot} is one element and written"))?;
        let accesses = Accesses::new(unit(kind), 0).ordered(Order::Any);
        footprint
            .accesses
            .push((Port::Slot(slot), if scalar { accesses.axis(n, 0) } else { accesses.axis(n, 1) }));
    }
    Ok(footprint)
}

/// `elementwise_strided`.
fn strided<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    accesses(call, false)
}

/// `elementwise_strided4`: the innermost axis counts groups of four.
fn strided4<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    accesses(call, true)
}

/// `elementwise_spread`: four elements a thread.
fn spread<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let [n] = call.counts(["n"])?;
    let footprint = accesses(call, false)?;
    let scalars = call.spec("scalars")?;
    for slot in touched(call) {
        let (used, kind) = kind(call, slot)?;
        law(kind != SlotKind::Wide, || format!("slot {slot} has 64-bit elements"))?;
        if scalars >> slot & 1 == 0 || kind == SlotKind::Status {
            continue;
        }
        law(!used.access.writes(), || format!("slot {slot} is one element and written"))?;
        for d in 0..call.spec("rank")? as usize {
            let stride = call.stride_at("stride", 8 * slot + d)?;
            law(stride == 0, || format!("slot {slot} is one element and has stride {stride}"))?;
        }
    }
    Ok(Footprint { groups: n.div_ceil(4 * 256), ..footprint })
}

/// `elementwise_tiles`: groups make tiles of the last two axes.
fn tiles<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    const EDGE: u64 = 32;
    const TILES: u32 = 4;
    let [n] = call.counts(["n"])?;
    let mut sizes = sizes(call, n)?;
    law(sizes.len() >= 2, || "`rank` is 1".to_owned())?;
    let footprint = accesses_over(call, false, n, sizes.clone())?;
    let crossed = call.spec("crossed")?;
    law(crossed.count_ones() <= TILES, || format!("`crossed` is {crossed:#b}, of {TILES} tiles"))?;
    for slot in touched(call).filter(|slot| crossed >> slot & 1 == 1) {
        let (used, kind) = kind(call, slot)?;
        let word = kind == SlotKind::Word && !used.access.writes();
        law(word, || format!("slot {slot} is no word that is read, and passes through a tile"))?;
    }
    let rank = sizes.len();
    sizes[rank - 2..].iter_mut().for_each(|size| *size = size.div_ceil(EDGE));
    Ok(Footprint { groups: iteration(&sizes)?, stride: 1, ..footprint })
}

/// `elementwise_runs`.
fn runs<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    accesses_in_runs(call, false)
}

/// `elementwise_runs4`: the innermost axis counts groups of four.
fn runs4<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    accesses_in_runs(call, true)
}

fn accesses<'i>(call: &Call<'i>, fours: bool) -> Result<Footprint<'i>, Wrong> {
    let [n] = call.counts(["n"])?;
    accesses_over(call, fours, n, sizes(call, n)?)
}

/// As `accesses`; the innermost axis is cut into runs, of which `n` and its `size` are numbers.
fn accesses_in_runs<'i>(call: &Call<'i>, fours: bool) -> Result<Footprint<'i>, Wrong> {
    let [n, width, run] = call.counts(["n", "width", "run"])?;
    law(run > 0, || "`run` is 0".to_owned())?;
    let used = call.spec("used")? as usize;
    law(used >= call.call.slots.len(), || format!("`used` is {used}, slots are {}", call.call.slots.len()))?;
    let mut sizes = sizes(call, n)?;
    if let Some(last) = sizes.last_mut() {
        let runs = width.div_ceil(run);
        law(*last == runs, || format!("{last} runs of {run} in a width of {width}"))?;
        *last = width;
    }
    iteration(&sizes)?;
    accesses_over(call, fours, n, sizes)
}

/// The extents of the axes, whose product is `n`.
fn sizes<'i>(call: &Call<'i>, n: Number<'i>) -> Result<Vec<Number<'i>>, Wrong> {
    let rank = call.spec("rank")? as usize;
    law((1..=MAX_RANK).contains(&rank), || format!("`rank` is {rank}"))?;
    let sizes = (0..rank).map(|d| call.count_at("size", d)).collect::<Result<Vec<Number<'_>>, _>>()?;
    let all = iteration(&sizes)?;
    law(n == all, || format!("`n` is {n}, the axes {sizes:?} have {all}"))?;
    Ok(sizes)
}

/// The elements of every slot over axes of these extents, by `n` threads.
fn accesses_over<'i>(
    call: &Call<'i>,
    fours: bool,
    n: Number<'i>,
    sizes: Vec<Number<'i>>,
) -> Result<Footprint<'i>, Wrong> {
    let scalars = if fours { call.spec("scalars")? } else { 0 };
    let mut footprint = Footprint { together: Together::Everything, ..Footprint::new(n.div_ceil(256), 256) };
    for slot in touched(call) {
        let (used, kind) = kind(call, slot)?;
        if kind == SlotKind::Status {
            continue;
        }
        let stored = used.access.writes();
        law(!stored || matches!(kind, SlotKind::Word | SlotKind::Wide), || {
            format!("slot {slot} is stored narrow")
        })?;
        let scalar = scalars >> slot & 1 == 1;
        let accesses = if fours {
            law(kind != SlotKind::Wide, || format!("slot {slot} has 64-bit elements"))?;
            let accesses = accesses_by_fours(call, slot, kind, &sizes, scalar)?;
            law(!(scalar && stored), || format!("slot {slot} is one element and written"))?;
            accesses
        } else {
            let offset = call.stride_at("offset", slot)?;
            outer_axes(call, slot, Accesses::new(unit(kind), offset), &sizes)?
        };
        footprint.accesses.push((Port::Slot(slot), accesses.ordered(Order::Any)));
    }
    Ok(footprint)
}

/// A slot over these axes.
fn outer_axes<'i>(
    call: &Call<'i>,
    slot: usize,
    mut accesses: Accesses<'i>,
    sizes: &[Number<'i>],
) -> Result<Accesses<'i>, Wrong> {
    for (d, &size) in sizes.iter().enumerate() {
        accesses = accesses.axis(size, call.stride_at("stride", 8 * slot + d)?);
    }
    Ok(accesses)
}

/// A slot over axes of which the innermost counts groups of four: read together, or one element for all.
fn accesses_by_fours<'i>(
    call: &Call<'i>,
    slot: usize,
    kind: SlotKind,
    sizes: &[Number<'i>],
    scalar: bool,
) -> Result<Accesses<'i>, Wrong> {
    let offset = call.stride_at("offset", slot)?;
    let Some((last, outer)) = sizes.split_last() else { return Ok(Accesses::new(unit(kind), offset)) };
    if !scalar {
        for d in 0..outer.len() {
            by_four("a slot", &[call.stride_at("stride", 8 * slot + d)?, offset])?;
        }
        by_four("a slot", &[offset])?;
    }
    let stride = call.stride_at("stride", 8 * slot + outer.len())?;
    law(stride == i64::from(!scalar), || format!("slot {slot} has stride {stride} along groups of four"))?;
    Ok(outer_axes(call, slot, Accesses::new(unit(kind), offset), outer)?.axis(*last * 4u64, stride))
}

/// Slots that the body touches.
fn touched(call: &Call<'_>) -> impl Iterator<Item = usize> {
    let fills = &call.call.holes;
    (0..call.call.slots.len()).filter(move |slot| fills.iter().any(|f| fill_touches(f, *slot)))
}

/// The use of a slot, and its kind in the constants, which must be that of its view.
fn kind<'a>(call: &'a Call<'_>, slot: usize) -> Result<(&'a Use, SlotKind), Wrong> {
    let used = call.call.slots.get(slot).and_then(|at| call.step.uses.get(usize::from(at.0)));
    let used = used.ok_or_else(|| format!("slot {slot} has no use"))?;
    let kind = kind_of(used);
    let (word, place) = if slot < 8 { ("kinds0", slot) } else { ("kinds1", slot - 8) };
    let stated = call.spec(word)? >> (4 * place) & 15;
    law(stated == kind as u64, || {
        format!("slot {slot} is compiled for kind {stated}, its view has {}", kind as u32)
    })?;
    let wide = kind == SlotKind::Wide;
    law(call.call.holes.iter().all(|fill| has_width(fill, slot, wide)), || {
        format!("slot {slot} holds what its body does not")
    })?;
    Ok((used, kind))
}

/// Whether what a body loads from a slot and stores to it has 64 bits, or has not.
fn has_width(fill: &HoleFill, slot: usize, wide: bool) -> bool {
    let inputs = fill.inputs.iter().zip(fill.expr.inputs());
    let loads = inputs.filter(|(i, _)| matches!(i, HoleInput::Slot(s) if usize::from(*s) == slot));
    let stores = fill.stores.iter().filter(|(s, _)| usize::from(*s) == slot);
    let stored = stores.filter_map(|(_, output)| fill.expr.output_type(usize::from(*output)));
    let mut types = loads.map(|(_, ty)| *ty).chain(stored);
    types.all(|ty| (ty.bits() == 64) == wide)
}

fn kind_of(used: &Use) -> SlotKind {
    if used.access == Access::StatusAtomic {
        return SlotKind::Status;
    }
    let (storage, dtype) = match used.view.storage {
        Storage::Encoded(Encoding::Plain(dtype)) => (Storage::Natural, dtype),
        storage => (storage, used.view.dtype),
    };
    match (storage, dtype) {
        (_, DType::I64 | DType::U64) => SlotKind::Wide,
        (Storage::Arena, _) | (_, DType::F32 | DType::I32 | DType::U32) => SlotKind::Word,
        (_, DType::F16) => SlotKind::F16,
        (_, DType::BF16) => SlotKind::BF16,
        (_, DType::U8 | DType::Bool) => SlotKind::U8,
        (_, DType::I8) => SlotKind::I8,
        (_, DType::U16) => SlotKind::U16,
        (_, DType::I16) => SlotKind::I16,
    }
}

fn unit(kind: SlotKind) -> u64 {
    match kind {
        SlotKind::Word | SlotKind::Status => 4,
        SlotKind::F16 | SlotKind::BF16 | SlotKind::U16 | SlotKind::I16 => 2,
        SlotKind::U8 | SlotKind::I8 => 1,
        SlotKind::Wide => 8,
    }
}
