//! The load program: steps that depend on params and constants alone. They are taken out of the runs, once for all
//! specializations that want the same bytes.

use crate::draft::{Draft, DraftContent, DraftStep, Home};
use crate::layout::Layout;
use pumice_plan::{Access, Span, StepKind};
use std::collections::BTreeMap;

/// Steps of a draft that belong to the load program; their results become derived weights. The other steps stay.
pub fn split(draft: &mut Draft) -> Vec<DraftStep> {
    let steps = std::mem::take(&mut draft.steps);
    let mut is_load = vec![true; steps.len()];
    let buffer = |d: &Draft, c: DraftContent| d.contents[c.0 as usize].buffer.0 as usize;
    // A buffer is derived only if every step that writes it is a load step; repeat until nothing changes.
    loop {
        let mut derived = vec![true; draft.buffers.len()];
        let mut written = vec![false; draft.buffers.len()];
        for (i, step) in steps.iter().enumerate() {
            for u in step.uses.iter().filter(|u| u.access.writes()) {
                derived[buffer(draft, u.content)] &= is_load[i];
                written[buffer(draft, u.content)] = true;
            }
        }
        let before = is_load.clone();
        for (i, step) in steps.iter().enumerate() {
            is_load[i] &= eligible(step, |c, access| {
                let b = buffer(draft, c);
                let home = draft.buffers[b].home;
                match access {
                    Access::ShaderRead => {
                        home.is_load_time() || home == Home::Scratch && derived[b] && written[b]
                    }
                    Access::ShaderWrite => home == Home::Scratch && derived[b],
                    // Bound because the kernel has the operand, but never raised by what is known when loading.
                    _ => false,
                }
            });
        }
        if is_load == before {
            break;
        }
    }
    let (mut load, mut run) = (Vec::new(), Vec::new());
    for (step, is_load) in steps.into_iter().zip(is_load) {
        if is_load {
            for u in step.uses.iter().filter(|u| u.access.writes()) {
                let b = buffer(draft, u.content);
                draft.buffers[b].home = Home::Derived;
            }
            load.push(step);
        } else {
            run.push(step);
        }
    }
    draft.steps = run;
    load
}

fn eligible(step: &DraftStep, mut allowed: impl FnMut(DraftContent, Access) -> bool) -> bool {
    let reads = step.uses.iter().any(|u| u.access == Access::ShaderRead);
    let dispatch = matches!(step.kind, StepKind::Dispatch { .. });
    // No symbol is bound when weights are loaded.
    let fixed = step.uses.iter().all(|u| {
        let view = &u.view;
        view.shape.iter().chain(&view.strides).chain([&view.offset]).all(|d| d.as_const().is_some())
    });
    dispatch && reads && fixed && step.uses.iter().all(|u| allowed(u.content, u.access))
}

/// Derived weights of all runs together.
#[derive(Default)]
pub struct Loads {
    /// The load steps with their contents, over buffers of their own.
    pub draft: Draft,
    /// Spans of the derived buffers of `draft`.
    pub spans: Vec<Option<Span>>,
    known: BTreeMap<String, Vec<DraftContent>>,
}

impl Loads {
    /// Adds a run's load steps; the result is the place of each of the run's derived buffers.
    pub fn add(&mut self, run: &Draft, steps: Vec<DraftStep>, layout: &mut Layout) -> Vec<Option<Span>> {
        let mut map: BTreeMap<DraftContent, DraftContent> = BTreeMap::new();
        for step in steps {
            for u in &step.uses {
                let home = run.buffer_of(u.content).home;
                if matches!(home, Home::Param(_) | Home::Constant(_)) {
                    let mine = self.stored(run, u.content, home);
                    map.insert(u.content, mine);
                }
            }
            let key = key(&step, &map);
            let writes: Vec<DraftContent> =
                step.uses.iter().filter(|u| u.access.writes()).map(|u| u.content).collect();
            if let Some(known) = self.known.get(&key) {
                map.extend(writes.into_iter().zip(known.iter().copied()));
                continue;
            }
            for &c in &writes {
                map.entry(c).or_insert_with(|| self.derived(run, c, layout));
            }
            self.known.insert(key, writes.iter().map(|c| map[c]).collect());
            let mut step = step;
            step.uses.iter_mut().for_each(|u| u.content = map[&u.content]);
            self.draft.steps.push(step);
        }
        let mut spans = vec![None; run.buffers.len()];
        for (from, to) in map {
            let at = self.draft.contents[to.0 as usize].buffer.0 as usize;
            spans[run.contents[from.0 as usize].buffer.0 as usize] = self.spans[at];
        }
        spans
    }

    fn stored(&mut self, run: &Draft, content: DraftContent, home: Home) -> DraftContent {
        let known =
            (self.draft.contents.iter()).position(|c| self.draft.buffers[c.buffer.0 as usize].home == home);
        known.map_or_else(|| self.copy_content(run, content, None), |i| DraftContent(i as u32))
    }

    fn derived(&mut self, run: &Draft, content: DraftContent, layout: &mut Layout) -> DraftContent {
        let span = layout.take_derived(run.buffer_of(content).bytes);
        self.copy_content(run, content, Some(span))
    }

    fn copy_content(&mut self, run: &Draft, content: DraftContent, span: Option<Span>) -> DraftContent {
        let (c, b) = (&run.contents[content.0 as usize], run.buffer_of(content));
        self.spans.push(span);
        self.draft.add(&c.name, b.home, c.dtype, &c.shape, b.bytes)
    }
}

/// Two load steps with one key leave the same bytes. The text of what they compute is no part of it: it names the
/// symbols of its range.
fn key(step: &DraftStep, map: &BTreeMap<DraftContent, DraftContent>) -> String {
    let reads: Vec<String> = step
        .uses
        .iter()
        .filter(|u| !u.access.writes())
        .map(|u| format!("{:?} {:?}", map.get(&u.content), u.view))
        .collect();
    let writes: Vec<String> = step
        .uses
        .iter()
        .filter(|u| u.access.writes())
        .map(|u| format!("{:?} {:?}", u.part, u.view))
        .collect();
    format!("{:?}|{reads:?}|{writes:?}|{}", step.kind, step.origin)
}
