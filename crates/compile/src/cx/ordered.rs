//! What steps wait for besides what they read.
//!
//! In: values behind barriers, with the versions that their readers wait for. Out: what each step waits for: where it
//! reads such a value, or a copy of it. A value that steps make waits for nothing itself, its steps have waited; one
//! that only shows an operand is as that is.

use super::LowerCx;
use crate::unplaced::{UnplacedUse, UnplacedVersion};
use pumice_ir::{NodeId, ValueId};
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// Versions that are waited for.
pub(super) type Waits = SmallVec<[UnplacedVersion; 1]>;

/// What is waited for.
#[derive(Default)]
pub(super) struct Ordered {
    /// By value, what its readers wait for.
    of: BTreeMap<ValueId, Waits>,
    /// Of the node that is lowered: versions that it reads, with what their readers wait for.
    now: Vec<(UnplacedVersion, Waits)>,
}

fn each_once(mut waits: Waits) -> Waits {
    waits.sort_unstable();
    waits.dedup();
    waits
}

impl LowerCx<'_> {
    /// Readers of a result wait for what readers of `shown` wait for, and for whoever writes `after`.
    pub fn order(&mut self, result: ValueId, shown: ValueId, after: Option<ValueId>) {
        let mut waits = self.ordered.of.get(&shown).cloned().unwrap_or_default();
        if let Some(value) = after {
            waits.extend(self.ordered.of.get(&value).into_iter().flatten().copied());
            waits.extend(self.stored(value).ok().map(|at| at.version));
        }
        self.ordered.of.insert(result, each_once(waits));
    }

    /// From now on steps read this value.
    pub fn begin_reading(&mut self, value: ValueId) {
        self.ordered.now = self.waits_for(value).into_iter().collect();
    }

    /// From now on steps read the operands of this node.
    pub(super) fn begin_ordered(&mut self, node: NodeId) {
        self.ordered.now.clear();
        if !self.ordered.of.is_empty() {
            let operands = self.graph.node(node).operands();
            self.ordered.now = operands.filter_map(|v| self.waits_for(v)).collect();
        }
    }

    /// The steps from `first` on are those of a node: readers of a result that none of them makes wait as its own do.
    pub fn end(&mut self, node: NodeId, first: usize) {
        if self.ordered.now.is_empty() {
            return;
        }
        let waits = each_once(self.ordered.now.iter().flat_map(|(_, waits)| waits).copied().collect());
        for &result in &self.graph.node(node).outputs {
            let Ok(at) = self.stored(result) else { continue };
            let mut uses = self.unplaced.steps[first..].iter().flat_map(|step| &step.uses);
            let made = uses.any(|u| u.version == at.version && u.access.writes());
            if !made {
                self.ordered.of.entry(result).or_insert_with(|| waits.clone());
            }
        }
    }

    /// What a step with these uses waits for.
    pub fn waits_of(&self, uses: &[UnplacedUse]) -> Waits {
        let reads = |version: UnplacedVersion| {
            let mut read = uses.iter().filter(|u| !u.access.writes()).map(|u| u.version);
            read.any(|v| v == version || self.is_copy_of(v, version))
        };
        let behind = self.ordered.now.iter().filter(|(version, _)| reads(*version));
        each_once(behind.flat_map(|(_, waits)| waits).copied().collect())
    }

    /// The version in which a value lies, and what its readers wait for, if for anything.
    fn waits_for(&self, value: ValueId) -> Option<(UnplacedVersion, Waits)> {
        let waits = self.ordered.of.get(&value).filter(|waits| !waits.is_empty())?;
        Some((self.stored(value).ok()?.version, waits.clone()))
    }
}
