//! Data for samples of the scatters.

use super::scatter::ScatterReduction;
use crate::sample::{Fill, Sample};
use pumice_types::DType;

/// Data and updates: any bits where they are moved, special values where they are compared, numbers near 1 where many
/// are multiplied.
pub(super) fn numbers(dtype: DType, reduction: ScatterReduction) -> Fill {
    match reduction {
        ScatterReduction::Set => Fill::Any,
        ScatterReduction::Max | ScatterReduction::Min => Fill::Special,
        ScatterReduction::Mul if dtype.is_float() => {
            Fill::Floats(vec![1.5, -1.0, 0.75, 1.0, 2.0, -1.25, 0.5, 1.0, -1.0, 1.0, 1.0])
        }
        ScatterReduction::Mul | ScatterReduction::Add => Fill::Normal,
    }
}

/// A sample for every dtype and every reduction that takes it.
pub(super) fn reductions_of(case: impl Fn(DType, ScatterReduction) -> Sample) -> Vec<Sample> {
    let takes = |d: DType, r: ScatterReduction| d != DType::Bool || r == ScatterReduction::Set;
    let all = DType::ALL.into_iter().flat_map(|d| ScatterReduction::ALL.map(|r| (d, r)));
    all.filter(|(d, r)| takes(*d, *r)).map(|(d, r)| case(d, r)).collect()
}
