//! The patch of a schedule in which steps are repeated: their nodes once more, on operands behind a barrier, and the
//! nodes that read them, on these.

use super::schedule::{Schedule, StepNo, StoredNo};
use pumice_ir::ops::Barrier;
use pumice_ir::{Graph, NodeId, Patch, PatchRef, ValueId};
use std::sync::Arc;

/// What the patch has so far.
struct Made<'g> {
    graph: &'g Graph,
    schedule: &'g Schedule,
    patch: Patch,
    /// By stored value, where it is now, if not in its node's result.
    now: Vec<Option<PatchRef>>,
}

/// The patch. A node that reads a repeated value is written again in its place.
pub fn patch(graph: &Graph, schedule: &Schedule) -> Patch {
    let again = (0..schedule.steps.len()).filter(|&s| schedule.steps[s].after.is_some()).count();
    let patch = Patch::new(format!("compute {again} again"));
    let mut made = Made { graph, schedule, patch, now: vec![None; schedule.stored.len()] };
    let mut order: Vec<StepNo> = (0..schedule.steps.len()).filter(|&s| made.is_changed(s)).collect();
    order.sort_by_key(|&s| (schedule.levels[s], s));
    for step in order {
        made.add(step);
    }
    made.patch
}

impl Made<'_> {
    /// Whether a step is repeated, or reads what is.
    fn is_changed(&self, step: StepNo) -> bool {
        let repeated = |v: StoredNo| self.schedule.steps[self.schedule.stored[v].step].after.is_some();
        let step = &self.schedule.steps[step];
        step.after.is_some() || step.reads.iter().any(|r| repeated(r.1))
    }

    fn add(&mut self, number: StepNo) {
        let step = &self.schedule.steps[number];
        let node = self.graph.node(step.node);
        let mut inputs: Vec<Option<PatchRef>> = node.inputs.iter().map(|v| v.map(PatchRef::Old)).collect();
        for &(place, v) in &step.reads {
            inputs[place] = node.input(place).map(|seen| self.seen(seen, v));
        }
        if let Some(after) = step.after {
            self.wait(number, after, &mut inputs);
        }
        let name = self.graph.node_name(step.node);
        let name = if step.after.is_some() { format!("{name}.again") } else { name.to_owned() };
        let made = self.patch.add_opt(node.op.clone(), name, inputs);
        let mut stored = step.results.iter();
        for (place, &v) in node.outputs.iter().enumerate() {
            let Some(result) = made.result(place as u16) else { continue };
            if node.op.shown_operand(place).is_none()
                && let Some(&number) = stored.next()
            {
                self.now[number] = Some(result);
            }
            if step.after.is_none() {
                self.patch.replace(v, result);
            }
        }
    }

    /// A stored value, under the views that `v` sees it by.
    fn seen(&mut self, v: ValueId, stored: StoredNo) -> PatchRef {
        let Some(now) = self.now[stored] else { return PatchRef::Old(v) };
        // The views between, the last one first.
        let (mut at, mut views) = (v, Vec::new());
        while let Some((id, from)) = self.shown(at) {
            views.push((id, at));
            at = from;
        }
        views.into_iter().rev().fold(now, |x, (id, v)| self.view(id, v, x))
    }

    /// A value of the graph as it is now.
    fn current(&mut self, v: ValueId) -> PatchRef {
        self.seen(v, self.schedule.shown[v.index()])
    }

    /// The view that a value is, and what it shows.
    fn shown(&self, v: ValueId) -> Option<(NodeId, ValueId)> {
        let (id, place) = self.graph.value(v).def;
        let node = self.graph.node(id);
        Some((id, node.input(node.op.shown_operand(place.into())?)?))
    }

    /// The same view of another value.
    fn view(&mut self, id: NodeId, v: ValueId, x: PatchRef) -> PatchRef {
        let node = self.graph.node(id);
        let place = self.graph.value(v).def.1;
        let of = node.op.shown_operand(place.into());
        if node.op.is_barrier() {
            let after = node.input(0).map(|after| self.current(after));
            let name = Arc::clone(&self.graph.value(v).name);
            return self.patch.add_opt(Barrier {}, name, vec![after, Some(x)]);
        }
        let mut inputs = Vec::new();
        for (i, operand) in node.inputs.iter().enumerate() {
            inputs.push(if Some(i) == of { Some(x) } else { operand.map(|v| self.current(v)) });
        }
        let made = self.patch.add_opt(node.op.clone(), self.graph.node_name(id), inputs);
        made.result(place).unwrap_or(made)
    }

    /// Puts operands that are there before behind a barrier, of a draw its step. It stays the same draw: its own first
    /// operand may be repeated, if its step waits for that.
    fn wait(&mut self, number: StepNo, after: StoredNo, inputs: &mut [Option<PatchRef>]) {
        let step = &self.schedule.steps[number];
        let Some(after) = self.stored(after) else { return };
        let is_first = |v: StoredNo| {
            let stored = self.schedule.stored[v];
            stored.of_run && self.schedule.steps[stored.step].after.is_none()
        };
        let places: Vec<usize> = step.reads.iter().filter(|r| is_first(r.1)).map(|r| r.0).collect();
        let name = self.graph.node_name(step.node);
        let mut operands = vec![Some(after)];
        operands.extend(places.iter().map(|&place| inputs[place]));
        if !places.is_empty() {
            let barrier = self.patch.add_opt(Barrier {}, format!("{name}.later"), operands);
            for (&place, k) in places.iter().zip(0..) {
                inputs[place] = barrier.result(k);
            }
        }
        if self.graph.node(step.node).op.stream().is_some() && !places.contains(&0) {
            self.hold_draw(name, after, inputs);
        }
    }

    /// Lets a draw's step wait: for its own first operand, if it has one. Seeds and step are the last three operands.
    fn hold_draw(&mut self, name: &str, after: PatchRef, inputs: &mut [Option<PatchRef>]) {
        let own = inputs.first().copied().flatten().filter(|_| inputs.len() > 3);
        if let Some(step) = inputs.last_mut() {
            let operands = vec![own.or(Some(after)), *step];
            *step = Some(self.patch.add_opt(Barrier {}, format!("{name}.step"), operands));
        }
    }

    /// A stored value as it is now.
    fn stored(&self, v: StoredNo) -> Option<PatchRef> {
        let step = &self.schedule.steps[self.schedule.stored[v].step];
        let node = self.graph.node(step.node);
        let results = node.outputs.iter().enumerate().filter(|(k, _)| node.op.shown_operand(*k).is_none());
        let own = results.zip(&step.results).find(|(_, result)| **result == v);
        self.now[v].or(own.map(|((_, own), _)| PatchRef::Old(*own)))
    }
}
