//! Data for samples of the scatters.

use super::scatter::ScatterReduction;
use crate::builder::{GraphBuilder, Value};
use crate::sample::{Fill, Sample};
use crate::shape::tensor;
use pumice_types::DType;

/// Shapes of a scatter's operands.
pub(super) struct Shapes<'a> {
    pub data: &'a [u64],
    pub indices: &'a [u64],
    pub updates: &'a [u64],
}

/// A scatter of a param by inputs, of these dtypes of data and indices. What the indices are is the caller's.
pub(super) fn of_operands(
    label: &str,
    (dtype, index): (DType, DType),
    shapes: Shapes<'_>,
    reduction: ScatterReduction,
    scatter: impl FnOnce(&GraphBuilder, Value, Value, Value) -> Value,
) -> Sample {
    Sample::graph(label, |g| {
        let x = g.param("data", tensor(dtype, shapes.data.iter().copied()));
        let i = g.input("indices", tensor(index, shapes.indices.iter().copied()));
        let u = g.input("updates", tensor(dtype, shapes.updates.iter().copied()));
        g.output("y", scatter(g, x, i, u));
    })
    .fill("data", numbers(dtype, reduction))
    .fill("updates", numbers(dtype, reduction))
}

/// Data and updates: any bits where they are moved, special values where they are compared, numbers near 1 where many
/// are multiplied.
fn numbers(dtype: DType, reduction: ScatterReduction) -> Fill {
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
