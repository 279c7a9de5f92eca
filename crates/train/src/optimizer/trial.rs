//! What an optimizer of one's own forgets, found before a step is made of it.
//!
//! In: an optimizer, and the extents of a param. Out: in words, what its update asks for and does not have, or leaves
//! out.

use super::{Optimizer, Slot, UpdateCx, Updated};
use pumice_ir::{GraphBuilder, Value, f32};

/// The first mistake of an update of a param of these extents.
pub(crate) fn forgotten(optimizer: &dyn Optimizer, shape: &[u64]) -> Option<String> {
    let [first, later] = [1, 2].map(|t| names(optimizer, t));
    if first != later {
        return Some(format!("update 1 has the numbers {first:?}, update 2 {later:?}"));
    }
    let g = GraphBuilder::new("trial");
    let input = |name: &str, shape: &[u64]| g.input(name, f32(shape.to_vec()));
    let declared = optimizer.slots(shape);
    let slots: Vec<_> = declared.iter().map(|slot| input(slot.name, &slot.shape)).collect();
    let numbers: Vec<_> = first.into_iter().map(|name| (name, input(name, &[]))).collect();
    let (param, gradient) = (input("of param", shape), input("of gradient", shape));
    let (rate, decay) = (input("of rate", &[]), optimizer.weight_decay());
    let cx = UpdateCx::new(&g, [param, gradient, rate], (shape, &slots), (decay, &numbers));
    let updated = optimizer.update(&cx);
    if let Some(what) = cx.missing.into_inner() {
        return Some(format!("its update asks for {what}, which it does not have"));
    }
    unlike(&g, (shape, &declared), updated)
}

/// What an update makes that is not what it was.
fn unlike(g: &GraphBuilder, (shape, declared): (&[u64], &[Slot]), updated: Updated) -> Option<String> {
    let (given, kept) = (updated.slots.len(), declared.len());
    if given != kept {
        return Some(format!("its update gives back {given} slots of {kept}"));
    }
    let others = declared.iter().zip(updated.slots).map(|(slot, value)| (slot.name, &*slot.shape, value));
    let unlike = |(name, shape, value): (&str, &[u64], Value)| {
        let made = g.type_of(value)?.static_shape()?;
        (made != shape).then(|| format!("its update makes a {name} of {made:?}, which has {shape:?}"))
    };
    [("param", shape, updated.param)].into_iter().chain(others).find_map(unlike)
}

fn names(optimizer: &dyn Optimizer, t: u64) -> Vec<&'static str> {
    optimizer.numbers(t).into_iter().map(|(name, _)| name).collect()
}
