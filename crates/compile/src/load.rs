//! The load program: steps that depend on params and constants alone. They are taken out of the runs, once for all
//! specializations that want the same bytes. What runs read of their results lies among the weights; the rest lives in
//! scratch while the load program runs.

use crate::draft::{Buffer, Draft, DraftContent, DraftStep, Home};
use crate::layout::Layout;
use pumice_plan::{Access, Span, StepKind};
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// Steps of a draft that belong to the load program; their results become derived weights. The other steps stay.
pub fn split(draft: &mut Draft) -> Vec<DraftStep> {
    let mut is_load = load_steps(draft).into_iter();
    let load: Vec<DraftStep> = draft.steps.extract_if(.., |_| is_load.next().unwrap_or(false)).collect();
    for b in load.iter().flat_map(|step| written(draft, step)).collect::<Vec<usize>>() {
        draft.buffers[b].home = Home::Derived;
    }
    load
}

/// Which steps need only what is known when loading. A step that does not takes those along that touch what it writes.
pub fn load_steps(draft: &Draft) -> Vec<bool> {
    let steps = &draft.steps;
    let mut touching: Vec<SmallVec<[usize; 2]>> = vec![SmallVec::new(); draft.buffers.len()];
    let mut is_written = vec![false; draft.buffers.len()];
    let mut is_load = Vec::with_capacity(steps.len());
    for (i, step) in steps.iter().enumerate() {
        step.uses.iter().for_each(|u| touching[buffer(draft, u.content)].push(i));
        // Steps come after those that write what they read.
        is_load.push(may_load(draft, step, &is_written));
        written(draft, step).for_each(|b| is_written[b] = true);
    }
    let mut left: Vec<usize> = (0..steps.len()).filter(|&i| !is_load[i]).collect();
    while let Some(step) = left.pop() {
        for b in written(draft, &steps[step]).filter(|&b| draft.buffers[b].home == Home::Scratch) {
            for other in std::mem::take(&mut touching[b]) {
                if std::mem::replace(&mut is_load[other], false) {
                    left.push(other);
                }
            }
        }
    }
    is_load
}

fn buffer(draft: &Draft, content: DraftContent) -> usize {
    draft.contents[content.0 as usize].buffer.0 as usize
}

/// The buffers that a step writes.
fn written<'a>(draft: &'a Draft, step: &'a DraftStep) -> impl Iterator<Item = usize> + 'a {
    step.uses.iter().filter(|u| u.access.writes()).map(|u| buffer(draft, u.content))
}

/// Whether a step can run when weights are loaded, if whoever writes what it reads can.
fn may_load(draft: &Draft, step: &DraftStep, is_written: &[bool]) -> bool {
    let reads = step.uses.iter().any(|u| u.access == Access::ShaderRead);
    let dispatch = matches!(step.kind, StepKind::Dispatch { .. });
    // No symbol is bound when weights are loaded.
    let fixed = step.uses.iter().all(|u| {
        let view = &u.view;
        view.shape.iter().chain(&view.strides).chain([&view.offset]).all(|d| d.as_const().is_some())
    });
    let known = |content: DraftContent, access: Access| {
        let b = buffer(draft, content);
        let home = draft.buffers[b].home;
        match access {
            Access::ShaderRead => home.is_load_time() || home == Home::Scratch && is_written[b],
            Access::ShaderWrite => home == Home::Scratch,
            // Bound because the kernel has the operand, but never raised by what is known when loading.
            _ => false,
        }
    };
    dispatch && reads && fixed && step.uses.iter().all(|u| known(u.content, u.access))
}

/// Derived weights of all runs together.
#[derive(Default)]
pub struct Loads {
    /// The load steps with their contents, over buffers of their own.
    pub draft: Draft,
    known: BTreeMap<String, Vec<DraftContent>>,
    /// Contents of what is there without a load step.
    stored: BTreeMap<Home, DraftContent>,
    /// Whether a run reads each buffer; the others are needed while loading alone.
    wanted: Vec<bool>,
}

/// For each buffer of a run, the buffer of the load program whose bytes it is.
pub type DerivedOf = Vec<Option<usize>>;

impl Loads {
    /// Adds a run's load steps; the result says which of their buffers the run's derived ones are.
    pub fn add(&mut self, run: &Draft, steps: Vec<DraftStep>) -> DerivedOf {
        let mut map: BTreeMap<DraftContent, DraftContent> = BTreeMap::new();
        for step in steps {
            for u in &step.uses {
                let home = run.buffer_of(u.content).home;
                if matches!(home, Home::Param(_) | Home::Joined(_) | Home::Constant(_)) {
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
                map.entry(c).or_insert_with(|| self.copy_content(run, c));
            }
            self.known.insert(key, writes.iter().map(|c| map[c]).collect());
            let mut step = step;
            step.uses.iter_mut().for_each(|u| u.content = map[&u.content]);
            self.draft.steps.push(step);
        }
        let mut derived = vec![None; run.buffers.len()];
        if map.is_empty() {
            return derived;
        }
        for (from, to) in map {
            derived[buffer(run, from)] = Some(buffer(&self.draft, to));
        }
        self.wanted.resize(self.draft.buffers.len(), false);
        for u in run.steps.iter().flat_map(|s| &s.uses) {
            if let Some(mine) = derived[buffer(run, u.content)] {
                self.wanted[mine] = true;
            }
        }
        derived
    }

    /// Places what runs read among the weights; what only other load steps read lives in scratch while they run. The
    /// result has a span for each buffer of the former kind.
    pub fn place(&mut self, layout: &mut Layout) -> Vec<Option<Span>> {
        let place = |(buffer, wanted): (&mut Buffer, &bool)| {
            if buffer.home != Home::Derived {
                return None;
            }
            if !wanted {
                buffer.home = Home::Scratch;
                return None;
            }
            Some(layout.take_derived(buffer.bytes))
        };
        self.draft.buffers.iter_mut().zip(&self.wanted).map(place).collect()
    }

    fn stored(&mut self, run: &Draft, content: DraftContent, home: Home) -> DraftContent {
        if let Some(&known) = self.stored.get(&home) {
            return known;
        }
        let content = self.copy_content(run, content);
        self.stored.insert(home, content);
        content
    }

    fn copy_content(&mut self, run: &Draft, content: DraftContent) -> DraftContent {
        let (c, b) = (&run.contents[content.0 as usize], run.buffer_of(content));
        self.draft.add(c.name.clone(), b.home, &c.ty, b.bytes)
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
