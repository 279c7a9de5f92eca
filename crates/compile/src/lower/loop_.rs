//! `Carry` and `Loop`: what turns begin with has a place of its own, on which a turn leaves what the next begins with.
//!
//! A place holds three versions: what a turn begins with, made by a copy before the first; what the turn leaves, copied
//! there behind everything that reads the former; what is there behind the loop. Of a state the place is the state's
//! own: what a turn begins with is no copy, and what it leaves was written there by the ops that write.

use super::leaf::{apart, keep_for_later};
use super::{Lower, found_count};
use crate::cx::{LowerCx, LowerResult, Refusal};
use crate::step::StepBuilder;
use crate::unplaced::{PlacedView, StorageClass, UnplacedLoop};
use crate::{elementwise, meaning};
use pumice_ir::ops::{Carry, Loop};
use pumice_ir::{NodeId, ValueId, ValueType};
use pumice_plan::Storage;
use pumice_types::{Branch, DType};

impl Lower for Carry {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let node = cx.graph.node(id);
        let init = cx.at(node.input(0).ok_or("it has no first value")?)?;
        if cx.graph.is_state_version(node.output()) {
            keep_for_later(cx, id, &init)?;
            let begins = cx.next_of(node.output(), &init);
            cx.unplaced.carried.insert(begins.version);
            cx.place(node.output(), begins);
            return Ok(());
        }
        let y = cx.result(node.output())?;
        cx.unplaced.carried.insert(y.version);
        elementwise::copy(cx, &init, &y, "turns leave what the next one begins with in one place")
    }
}

impl Lower for Loop {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let node = cx.graph.node(id);
        let l = cx.loop_ended_by(id).ok_or("it ends no loop")?;
        let symbol = l.running.as_symbol().ok_or("no symbol says whether it runs")?;
        let carried: Vec<ValueId> = l.carried.values().copied().collect();
        // Of a number that is known the largest is that of the run's ranges: the checker asks it.
        let largest = l.turns.as_ref().map(|turns| turns.upper(cx.graph.symbols()).clamp(1, l.most));
        let most = largest.unwrap_or(l.most);
        let mut unplaced = UnplacedLoop { symbol, most, turns: l.turns.clone(), carried: Vec::new() };
        let branch = Branch { taken: self.running.clone(), otherwise: false };
        let places = carried.iter().zip(node.operands()).map(|(&v, next)| place_of(cx, v, next));
        let places = places.collect::<LowerResult<Vec<_>>>()?;
        let next = cx.inside(branch.clone(), |cx| next_values(cx, id, &places))?;
        for ((from, place), &result) in next.iter().zip(&places).zip(&node.outputs) {
            let to = cx.inside(branch.clone(), |cx| leave(cx, from.as_ref(), place, result))?;
            let left = cx.next_of(result, &to);
            unplaced.carried.push([place.version, to.version, left.version]);
            cx.place(result, left);
        }
        cx.unplaced.loops.push(unplaced);
        if l.turns.is_none() { report(cx, id) } else { Ok(()) }
    }
}

/// Leaves what a turn made in the place of what it began with, unless the step that made it did; the version there.
fn leave(
    cx: &mut LowerCx<'_>,
    from: Option<&PlacedView>,
    place: &PlacedView,
    result: ValueId,
) -> LowerResult<PlacedView> {
    if let Some(made) = from.filter(|at| cx.follows_on(at, place) || is_state(cx, place)) {
        return Ok(made.clone());
    }
    let to = cx.next_of(result, place);
    if let Some(from) = from {
        elementwise::copy(cx, from, &to, "the next turn begins with it")?;
    }
    Ok(to)
}

/// The place of a carried value. Of a state it is found from what the turn leaves: nodes that read what it began with
/// later than that was written read a copy.
fn place_of(cx: &LowerCx<'_>, carried: ValueId, next: ValueId) -> LowerResult<PlacedView> {
    if !cx.graph.is_state_version(carried) {
        return cx.stored(carried);
    }
    let next = cx.stored(next)?;
    let version = cx.unplaced.back_from(next.version).find(|version| cx.unplaced.carried.contains(version));
    Ok(PlacedView { version: version.ok_or("a turn leaves no version of the state")?, ..next })
}

/// Whether a place is that of a state, whose versions lie there and nowhere else.
fn is_state(cx: &LowerCx<'_>, place: &PlacedView) -> bool {
    matches!(cx.unplaced.buffer_of(place.version).class, StorageClass::State(_))
}

/// What a turn leaves, by its place; none where that is what it begins with. What lies in another place is copied
/// first: each is overwritten, but for states, which are written already.
fn next_values(
    cx: &mut LowerCx<'_>,
    id: NodeId,
    places: &[PlacedView],
) -> LowerResult<Vec<Option<PlacedView>>> {
    let operands: Vec<ValueId> = cx.graph.node(id).operands().take(places.len()).collect();
    let mut all = Vec::new();
    for (value, place) in operands.into_iter().zip(places) {
        let at = cx.at(value)?;
        if at == *place {
            all.push(None);
            continue;
        }
        let mut at = at;
        let others = if cx.follows_on(&at, place) || is_state(cx, place) { &[][..] } else { places };
        for other in others {
            if !is_state(cx, other) {
                at = apart(cx, at, other)?;
            }
        }
        all.push(Some(at));
    }
    Ok(all)
}

/// Reports a loop that has not ended after its last turn.
fn report(cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
    let flag = cx.at(cx.graph.node(id).output())?;
    let meaning = meaning::of_count(cx.graph).map_err(Refusal)?;
    let y = cx.alloc("ended", StorageClass::Scratch, Storage::Arena, &ValueType::fixed(DType::I32, &[]))?;
    let mut step = StepBuilder::new();
    let call = found_count::reported(cx, &mut step, (&flag, 0), &y);
    let grid = cx.grid(&1u64.into())?;
    step.dispatch(cx, call, grid, meaning)
}
