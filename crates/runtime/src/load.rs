//! Which steps of the load program run again when a param was set again.
//!
//! In: the load program. Out: for every param, a set of steps, closed under three rules. (1) A step that reads what a
//! step of the set leaves, or the param itself, is in the set. (2) Where a step of the set reads bytes that a later
//! step overwrites, or that lie in scratch, which is another one each time, the steps that write those bytes are in the
//! set. (3) Where a step of the set writes weights that a later step overwrites, that later step is in the set. A union
//! of closed sets is closed, so several params need no more than the union of theirs. Run in program order, such a set
//! leaves what the whole program would.

use pumice_plan::{Plan, Program, RegionKind, Span, StepId, VersionOrigin};

/// The sets, computed once.
#[derive(Debug, Default)]
pub(crate) struct LoadIndex {
    steps: u32,
    of_param: Vec<Vec<u32>>,
}

impl LoadIndex {
    /// Of a plan whose versions are in range.
    pub fn new(plan: &Plan) -> LoadIndex {
        let flow = Flow::new(&plan.load);
        let of_param = (0..plan.params.len()).map(|p| flow.steps_of(plan, p as u32)).collect();
        LoadIndex { steps: plan.load.steps.len() as u32, of_param }
    }

    /// Every step, in order.
    pub fn all(&self) -> Vec<StepId> {
        (0..self.steps).map(StepId).collect()
    }

    /// The steps for the params that changed, in order.
    pub fn steps(&self, changed: &[bool]) -> Vec<StepId> {
        let mut wanted = vec![false; self.steps as usize];
        let sets = self.of_param.iter().zip(changed).filter(|(_, changed)| **changed);
        sets.flat_map(|(set, _)| set).for_each(|&s| wanted[s as usize] = true);
        (0..self.steps).filter(|&s| wanted[s as usize]).map(StepId).collect()
    }
}

/// Who reads and writes what.
struct Flow {
    /// Per version: steps that read it.
    readers: Vec<Vec<u32>>,
    /// Per version: steps that leave it.
    writers: Vec<Vec<u32>>,
    /// Per version: whether a later step overwrites some of its bytes, or they are gone when the steps have run.
    lost: Vec<bool>,
    /// Per step: later steps that overwrite what it writes with something else.
    overwriters: Vec<Vec<u32>>,
}

impl Flow {
    fn new(program: &Program) -> Flow {
        let versions = program.values.len();
        let mut flow = Flow {
            readers: vec![Vec::new(); versions],
            writers: vec![Vec::new(); versions],
            lost: program.values.iter().map(|v| v.span.region == RegionKind::Scratch).collect(),
            overwriters: vec![Vec::new(); program.steps.len()],
        };
        let mut writes = Vec::new();
        for (s, step) in program.steps.iter().enumerate() {
            for u in &step.uses {
                let version = u.content.0 as usize;
                let list = if u.access.writes() { &mut flow.writers } else { &mut flow.readers };
                if let Some(list) = list.get_mut(version) {
                    list.push(s as u32);
                }
                if u.access.writes() && u.span.region != RegionKind::Scratch {
                    writes.push(Write { span: u.span, step: s as u32, version });
                }
            }
        }
        flow.find_overwritten(writes);
        flow
    }

    /// Sweeps over the writes in order of offset; only pairs that overlap are looked at.
    fn find_overwritten(&mut self, mut writes: Vec<Write>) {
        writes.sort_by_key(|w| (w.span.region, w.span.offset));
        let mut open: Vec<Write> = Vec::new();
        for write in writes {
            open.retain(|o| o.span.region == write.span.region && o.span.end() > write.span.offset);
            for other in open.iter().filter(|o| o.version != write.version && o.span.overlaps(&write.span)) {
                let (first, second) =
                    if other.step <= write.step { (other, &write) } else { (&write, other) };
                if let Some(lost) = self.lost.get_mut(first.version) {
                    *lost = true;
                }
                if first.step != second.step {
                    self.overwriters[first.step as usize].push(second.step);
                }
            }
            open.push(write);
        }
    }

    /// The closed set of one param, in order.
    fn steps_of(&self, plan: &Plan, param: u32) -> Vec<u32> {
        let program = &plan.load;
        let holds = |origin| match origin {
            VersionOrigin::Param(p) => p == param,
            VersionOrigin::Joined(set) => {
                plan.joined.get(set as usize).is_some_and(|j| j.params.contains(&param))
            }
            _ => false,
        };
        let mut set = vec![false; program.steps.len()];
        let mut queue = Vec::new();
        let roots = program.values.iter().enumerate().filter(|(_, v)| holds(v.origin));
        queue.extend(roots.flat_map(|(version, _)| self.readers[version].iter().copied()));
        while let Some(step) = queue.pop() {
            if std::mem::replace(&mut set[step as usize], true) {
                continue;
            }
            queue.extend(&self.overwriters[step as usize]);
            for u in &program.steps[step as usize].uses {
                let version = u.content.0 as usize;
                let more = match u.access.writes() {
                    true => self.readers.get(version),
                    false => self.writers.get(version).filter(|_| self.lost[version]),
                };
                queue.extend(more.into_iter().flatten());
            }
        }
        (0..program.steps.len() as u32).filter(|&s| set[s as usize]).collect()
    }
}

/// A write of the load program.
struct Write {
    span: Span,
    step: u32,
    version: usize,
}
