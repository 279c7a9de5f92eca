//! The load program: steps that depend on params and constants alone. They are taken out of the runs, once for all
//! specializations that want the same bytes. What runs read of their results lies among the weights; the rest lives in
//! scratch while the load program runs.

use crate::draft::{Draft, DraftContent, DraftStep, Home};
use pumice_plan::{Access, StepKind};
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
    let fixed = step.uses.iter().all(|u| u.view.is_static());
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

/// The load program of all runs together: each step once, over buffers of its own.
#[derive(Default)]
pub struct Loads {
    /// The steps. What runs read of their results is derived; the rest lives in scratch while they run.
    pub draft: Draft,
    /// For each run and each of its buffers, the buffer here whose bytes it is.
    pub of_runs: Vec<DerivedOf>,
}

/// For each buffer of a run, the buffer of the load program whose bytes it is.
pub type DerivedOf = Vec<Option<usize>>;

impl Loads {
    /// Of the load steps of each run.
    pub fn of<'d>(runs: impl Iterator<Item = (&'d Draft, &'d [DraftStep])>) -> Loads {
        let (mut all, mut of_runs, mut wanted) = (Gathered::default(), Vec::new(), Vec::new());
        for (run, steps) in runs {
            let derived = all.add(run, steps);
            wanted.resize(all.draft.buffers.len(), false);
            let read = run.steps.iter().flat_map(|s| &s.uses).filter_map(|u| derived[buffer(run, u.content)]);
            read.for_each(|mine| wanted[mine] = true);
            of_runs.push(derived);
        }
        let mut draft = all.draft;
        let while_loading =
            draft.buffers.iter_mut().zip(wanted).filter(|(b, wanted)| b.home == Home::Derived && !wanted);
        while_loading.for_each(|(buffer, _)| buffer.home = Home::Scratch);
        Loads { draft, of_runs }
    }

    /// Bytes of each buffer that stays among the weights.
    pub fn derived(&self) -> impl Iterator<Item = Option<u64>> {
        self.draft.buffers.iter().map(|b| (b.home == Home::Derived).then_some(b.bytes))
    }
}

/// Load steps while they are gathered.
#[derive(Default)]
struct Gathered {
    draft: Draft,
    /// By their keys, what steps so far leave.
    known: BTreeMap<String, Vec<DraftContent>>,
    /// Contents of what is there without a load step.
    stored: BTreeMap<Home, DraftContent>,
}

/// For contents of a run, those of the load program that they are.
type Mine = BTreeMap<DraftContent, DraftContent>;

impl Gathered {
    /// Adds a run's load steps; the result says which of the buffers here the run's derived ones are.
    fn add(&mut self, run: &Draft, steps: &[DraftStep]) -> DerivedOf {
        let mut mine = Mine::new();
        for step in steps {
            self.add_step(run, step, &mut mine);
        }
        let mut derived = vec![None; run.buffers.len()];
        for (from, to) in mine {
            derived[buffer(run, from)] = Some(buffer(&self.draft, to));
        }
        derived
    }

    /// Adds a step, unless one is there that leaves the same bytes.
    fn add_step(&mut self, run: &Draft, step: &DraftStep, mine: &mut Mine) {
        for u in &step.uses {
            let home = run.buffer_of(u.content).home;
            if matches!(home, Home::Param(_) | Home::Joined(_) | Home::Constant(_)) {
                mine.insert(u.content, self.stored(run, u.content, home));
            }
        }
        let key = key(step, mine);
        let written = step.uses.iter().filter(|u| u.access.writes()).map(|u| u.content);
        if let Some(known) = self.known.get(&key) {
            mine.extend(written.zip(known.iter().copied()));
            return;
        }
        for c in written.clone() {
            mine.entry(c).or_insert_with(|| self.copy_content(run, c));
        }
        self.known.insert(key, written.map(|c| mine[&c]).collect());
        let mut step = step.clone();
        step.uses.iter_mut().for_each(|u| u.content = mine[&u.content]);
        self.draft.steps.push(step);
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
fn key(step: &DraftStep, mine: &Mine) -> String {
    let (writes, reads): (Vec<_>, Vec<_>) = step.uses.iter().partition(|u| u.access.writes());
    let reads: Vec<String> =
        reads.iter().map(|u| format!("{:?} {:?}", mine.get(&u.content), u.view)).collect();
    let writes: Vec<String> = writes.iter().map(|u| format!("{:?} {:?}", u.part, u.view)).collect();
    format!("{:?}|{reads:?}|{writes:?}|{}", step.kind, step.origin)
}
