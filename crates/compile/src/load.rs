//! The load program: steps that depend on params and constants alone, or on nothing. They are taken out of the runs,
//! once for all specializations that want the same bytes. What runs read of their results lies among the weights; the
//! rest lives in scratch while the load program runs.

use crate::unplaced::{StorageClass, UnplacedProgram, UnplacedStep, UnplacedUse, UnplacedVersion};
use pumice_plan::kernel::ArgValue;
use pumice_plan::{Access, StepKind};
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// Steps of an unplaced program that belong to the load program; their results become derived weights. The other steps
/// stay.
pub fn split(unplaced: &mut UnplacedProgram) -> Vec<UnplacedStep> {
    let mut is_load = load_steps(unplaced).into_iter();
    let load: Vec<UnplacedStep> =
        unplaced.steps.extract_if(.., |_| is_load.next().unwrap_or(false)).collect();
    for b in load.iter().flat_map(|step| written(unplaced, step)).collect::<Vec<usize>>() {
        unplaced.buffers[b].class = StorageClass::Derived;
    }
    load
}

/// Which steps need only what is known when loading. A step that does not takes those along that touch what it writes.
pub fn load_steps(unplaced: &UnplacedProgram) -> Vec<bool> {
    let steps = &unplaced.steps;
    let mut touching: Vec<SmallVec<[usize; 2]>> = vec![SmallVec::new(); unplaced.buffers.len()];
    let mut made =
        Made { written: vec![false; unplaced.buffers.len()], counted: vec![false; unplaced.buffers.len()] };
    let mut is_load = Vec::with_capacity(steps.len());
    for (i, step) in steps.iter().enumerate() {
        step.uses.iter().for_each(|u| touching[buffer(unplaced, u.version)].push(i));
        // Steps come after those that write what they read.
        is_load.push(made.may_load(unplaced, step));
        made.follow(unplaced, step);
    }
    let mut left: Vec<usize> = (0..steps.len()).filter(|&i| !is_load[i]).collect();
    while let Some(step) = left.pop() {
        for b in
            written(unplaced, &steps[step]).filter(|&b| unplaced.buffers[b].class == StorageClass::Scratch)
        {
            for other in std::mem::take(&mut touching[b]) {
                if std::mem::replace(&mut is_load[other], false) {
                    left.push(other);
                }
            }
        }
    }
    is_load
}

fn buffer(unplaced: &UnplacedProgram, version: UnplacedVersion) -> usize {
    unplaced.versions[version.0 as usize].buffer.0 as usize
}

/// The buffers that a step writes.
fn written<'a>(unplaced: &'a UnplacedProgram, step: &'a UnplacedStep) -> impl Iterator<Item = usize> + 'a {
    step.uses.iter().filter(|u| u.access.writes()).map(|u| buffer(unplaced, u.version))
}

/// Bytes of a table that follows from no param and still lies among the weights.
const TABLE: u64 = 8 * pumice_opt::rewrite::TABLE;

/// Buffers that steps so far wrote.
struct Made {
    written: Vec<bool>,
    /// Those that follow from no param, but from counting.
    counted: Vec<bool>,
}

impl Made {
    /// Whether a step can run when weights are loaded, if whoever writes what it reads can.
    fn may_load(&self, unplaced: &UnplacedProgram, step: &UnplacedStep) -> bool {
        let StepKind::Dispatch { call, .. } = &step.kind else { return false };
        let counts = self.counts(unplaced, step);
        let small = || written(unplaced, step).all(|b| unplaced.buffers[b].bytes <= TABLE);
        // No symbol is bound when weights are loaded.
        let fixed = step.uses.iter().all(|u| u.view.is_static())
            && (reads(step) || call.args.iter().all(|arg| !matches!(arg, ArgValue::Frame(_))));
        let known = |version: UnplacedVersion, access: Access| {
            let b = buffer(unplaced, version);
            let class = unplaced.buffers[b].class;
            match access {
                Access::ShaderRead => {
                    class.is_load_time() || class == StorageClass::Scratch && self.written[b]
                }
                Access::ShaderWrite => class == StorageClass::Scratch,
                // Bound because the kernel has the operand, but never raised by what is known when loading.
                _ => false,
            }
        };
        let of_runs = [&unplaced.joins, &unplaced.carried, &unplaced.made_anew];
        let of_run =
            |u: &UnplacedUse| u.access.writes() && of_runs.iter().any(|set| set.contains(&u.version));
        let belongs_to_run = step.uses.iter().any(of_run);
        let waits = !step.waits.is_empty();
        fixed
            && !belongs_to_run
            && !waits
            && (!counts || small())
            && step.uses.iter().all(|u| known(u.version, u.access))
    }

    /// Whether what a step writes follows from no param, but from counting: it reads nothing, or such and constants.
    fn counts(&self, unplaced: &UnplacedProgram, step: &UnplacedStep) -> bool {
        let from = || {
            step.uses.iter().filter(|u| u.access == Access::ShaderRead).map(|u| buffer(unplaced, u.version))
        };
        let constant = |b: usize| matches!(unplaced.buffers[b].class, StorageClass::Constant(_));
        !reads(step) || from().any(|b| self.counted[b]) && from().all(|b| self.counted[b] || constant(b))
    }

    fn follow(&mut self, unplaced: &UnplacedProgram, step: &UnplacedStep) {
        let counts = self.counts(unplaced, step);
        for b in written(unplaced, step) {
            (self.written[b], self.counted[b]) = (true, counts);
        }
    }
}

fn reads(step: &UnplacedStep) -> bool {
    step.uses.iter().any(|u| u.access == Access::ShaderRead)
}

/// The load program of all runs together: each step once, over buffers of its own.
#[derive(Default)]
pub struct Loads {
    /// The steps. What runs read of their results is derived; the rest lives in scratch while they run.
    pub unplaced: UnplacedProgram,
    /// For each run and each of its buffers, the buffer here whose bytes it is.
    pub of_runs: Vec<DerivedOf>,
}

/// For each buffer of a run, the buffer of the load program whose bytes it is.
pub type DerivedOf = Vec<Option<usize>>;

impl Loads {
    /// Of the load steps of each run.
    pub fn of<'d>(runs: impl Iterator<Item = (&'d UnplacedProgram, &'d [UnplacedStep])>) -> Loads {
        let (mut all, mut of_runs, mut wanted) = (Gathered::default(), Vec::new(), Vec::new());
        for (run, steps) in runs {
            let derived = all.add(run, steps);
            wanted.resize(all.unplaced.buffers.len(), false);
            let read = run.steps.iter().flat_map(|s| &s.uses).filter_map(|u| derived[buffer(run, u.version)]);
            read.for_each(|mine| wanted[mine] = true);
            of_runs.push(derived);
        }
        let mut unplaced = all.unplaced;
        let while_loading = unplaced
            .buffers
            .iter_mut()
            .zip(wanted)
            .filter(|(b, wanted)| b.class == StorageClass::Derived && !wanted);
        while_loading.for_each(|(buffer, _)| buffer.class = StorageClass::Scratch);
        Loads { unplaced, of_runs }
    }

    /// Bytes of each buffer that stays among the weights.
    pub fn derived(&self) -> impl Iterator<Item = Option<u64>> {
        self.unplaced.buffers.iter().map(|b| (b.class == StorageClass::Derived).then_some(b.bytes))
    }
}

/// Load steps while they are gathered.
#[derive(Default)]
struct Gathered {
    unplaced: UnplacedProgram,
    /// By their keys, what steps so far leave.
    known: BTreeMap<String, Vec<UnplacedVersion>>,
    /// Versions of what is there without a load step.
    stored: BTreeMap<StorageClass, UnplacedVersion>,
}

/// For versions of a run, those of the load program that they are.
type Mine = BTreeMap<UnplacedVersion, UnplacedVersion>;

impl Gathered {
    /// Adds a run's load steps; the result says which of the buffers here the run's derived ones are.
    fn add(&mut self, run: &UnplacedProgram, steps: &[UnplacedStep]) -> DerivedOf {
        let mut mine = Mine::new();
        for step in steps {
            self.add_step(run, step, &mut mine);
        }
        let mut derived = vec![None; run.buffers.len()];
        for (from, to) in mine {
            derived[buffer(run, from)] = Some(buffer(&self.unplaced, to));
        }
        derived
    }

    /// Adds a step, unless one is there that leaves the same bytes.
    fn add_step(&mut self, run: &UnplacedProgram, step: &UnplacedStep, mine: &mut Mine) {
        for u in &step.uses {
            let class = run.buffer_of(u.version).class;
            if matches!(class, StorageClass::Param(_) | StorageClass::Joined(_) | StorageClass::Constant(_)) {
                mine.insert(u.version, self.stored(run, u.version, class));
            }
        }
        let key = key(step, mine);
        let written = step.uses.iter().filter(|u| u.access.writes()).map(|u| u.version);
        if let Some(known) = self.known.get(&key) {
            mine.extend(written.zip(known.iter().copied()));
            return;
        }
        for c in written.clone() {
            mine.entry(c).or_insert_with(|| self.copy_version(run, c));
        }
        self.known.insert(key, written.map(|c| mine[&c]).collect());
        let mut step = step.clone();
        step.uses.iter_mut().for_each(|u| u.version = mine[&u.version]);
        self.unplaced.steps.push(step);
    }

    fn stored(
        &mut self,
        run: &UnplacedProgram,
        version: UnplacedVersion,
        class: StorageClass,
    ) -> UnplacedVersion {
        if let Some(&known) = self.stored.get(&class) {
            return known;
        }
        let version = self.copy_version(run, version);
        self.stored.insert(class, version);
        version
    }

    fn copy_version(&mut self, run: &UnplacedProgram, version: UnplacedVersion) -> UnplacedVersion {
        let (c, b) = (&run.versions[version.0 as usize], run.buffer_of(version));
        self.unplaced.add(c.name.clone(), b.class, &c.ty, b.bytes)
    }
}

/// Two load steps with one key leave the same bytes. The text of what they compute is no part of it: it names the
/// symbols of its range.
fn key(step: &UnplacedStep, mine: &Mine) -> String {
    let (writes, reads): (Vec<_>, Vec<_>) = step.uses.iter().partition(|u| u.access.writes());
    let reads: Vec<String> =
        reads.iter().map(|u| format!("{:?} {:?}", mine.get(&u.version), u.view)).collect();
    let writes: Vec<String> = writes.iter().map(|u| format!("{:?} {:?}", u.part, u.view)).collect();
    format!("{:?}|{reads:?}|{writes:?}|{}", step.kind, step.origin)
}
