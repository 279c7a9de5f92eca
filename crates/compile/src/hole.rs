//! A hole of a kernel as one step fills it: what is computed there, and the slots that it reads and stores to.

use crate::draft::Located;
use crate::meaning::StepMeaning;
use pumice_plan::kernel::HoleFill;
use std::sync::Arc;

/// What happens in a hole, with its slots as they lie.
#[derive(Default)]
pub struct Filled {
    /// The fill; none is the identity.
    pub fill: Option<HoleFill>,
    /// Operands, then results that are stored besides the kernel's own.
    pub slots: Vec<Located>,
    /// How many of the slots are operands.
    pub operands: usize,
}

impl Filled {
    /// A fill that reads these slots and stores those.
    pub fn new(fill: Option<HoleFill>, mut reads: Vec<Located>, stores: &[Located]) -> Filled {
        let operands = reads.len();
        reads.extend_from_slice(stores);
        Filled { fill, slots: reads, operands }
    }
}

/// What a step computes, and the inputs of that by name, each with its number among the kernel's operands and then
/// those of its hole.
pub struct Meant {
    /// What it computes.
    pub meaning: StepMeaning,
    /// The inputs.
    pub inputs: Vec<(Arc<str>, usize)>,
}
