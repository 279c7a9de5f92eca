//! Which tensors of a batch a run takes: those that its entry has. What another entry has is left out, so that one
//! batch does for all of them; what none has stays, and whoever runs it says so.

use pumice_plan::{Entry, Plan};
use pumice_train::names;
use std::collections::{BTreeMap, BTreeSet};

/// Names that a trainer gives inputs of its own, [`names::INDEX`] of a data set among them.
const OWN: [&str; 5] = [names::NUMBERS, names::BASE, names::SHARE, names::ENDS, names::INDEX];

/// By entry the inputs that only others have.
pub(super) struct Inputs {
    left_out: BTreeMap<String, BTreeSet<String>>,
}

impl Inputs {
    /// Of a trainer's program; `data` are the inputs that are a data set. A training entry takes these by their index,
    /// so that a tensor of that name would be another batch than the one asked for: it is not left out, but refused.
    pub(super) fn of(plan: &Plan, data: &[String]) -> Inputs {
        let inputs = |entry: &Entry| -> BTreeSet<String> {
            plan.inputs_of(entry).iter().map(|slot| slot.name.clone()).collect()
        };
        let all: BTreeSet<String> = plan.entries.iter().flat_map(inputs).collect();
        let of_entry = |entry: &Entry| {
            let own = inputs(entry);
            let by_index = own.contains(names::INDEX);
            let stays = |name: &str| OWN.contains(&name) || (by_index && data.iter().any(|d| d == name));
            let others = all.difference(&own).filter(|name| !stays(name)).cloned().collect();
            (entry.name.clone(), others)
        };
        Inputs { left_out: plan.entries.iter().map(of_entry).collect() }
    }

    /// Whether an entry goes without a tensor of this name, which another one has.
    pub(super) fn leaves_out(&self, entry: &str, name: &str) -> bool {
        self.left_out.get(entry).is_some_and(|names| names.contains(name))
    }
}
