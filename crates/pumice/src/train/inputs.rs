//! Which tensors of a batch a run takes: those that its entry has. What another entry has is left out, so that one
//! batch does for all of them; what none has stays, and whoever runs it says so. And which of them are indices, which
//! are looked at before anything runs.

use super::error::TrainerError;
use pumice_plan::{Entry, Plan};
use pumice_train::{IndexInput, names};
use pumice_types::TensorView;
use pumice_types::tensor::unravel;
use std::collections::{BTreeMap, BTreeSet};

/// Names that a trainer gives inputs of its own, [`names::INDEX`] of a data set among them.
const OWN: [&str; 5] = [names::NUMBERS, names::BASE, names::SHARE, names::ENDS, names::INDEX];

/// By entry the inputs that only others have.
pub(super) struct Inputs {
    left_out: BTreeMap<String, BTreeSet<String>>,
    /// Those of the forward graph that are indices.
    indices: Vec<IndexInput>,
}

impl Inputs {
    /// Of a trainer's program; `data` are the inputs that are a data set. A training entry takes these by their index,
    /// so that a tensor of that name would be another batch than the one asked for: it is not left out, but refused.
    pub(super) fn of(plan: &Plan, data: &[String], indices: Vec<IndexInput>) -> Inputs {
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
        Inputs { left_out: plan.entries.iter().map(of_entry).collect(), indices }
    }

    /// Whether an entry goes without a tensor of this name, which another one has.
    pub(super) fn leaves_out(&self, entry: &str, name: &str) -> bool {
        self.left_out.get(entry).is_some_and(|names| names.contains(name))
    }
    /// That a tensor of this name has no index out of range.
    pub(super) fn check_indices(&self, name: &str, tensor: &TensorView<'_>) -> Result<(), TrainerError> {
        for input in self.indices.iter().filter(|input| input.name == name) {
            if let Some((at, index)) = input.first_outside(tensor) {
                let position = unravel(at as u64, tensor.shape());
                return Err(TrainerError::Index { input: input.clone(), position, index });
            }
        }
        Ok(())
    }
}
