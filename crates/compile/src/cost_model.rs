//! What the passes want to know of kernels, answered from the target's selection table.

use crate::lower;
use crate::select::{Selection, reduce};
use pumice_ir::{Graph, NodeId, ValueId};
use pumice_opt::rewrite::Facts;
use pumice_opt::{Anchor, CostModel, Group};
use pumice_plan::kernels::norm::{LayerNorm, RmsNorm};
use pumice_plan::kernels::norm_grad::NormGrad;
use pumice_plan::kernels::softmax::{SoftmaxColumns, SoftmaxRows};
use pumice_types::{AttentionExtents, ProductExtents, ReductionExtents, RowExtents, RowKind, Target};

/// The kernels of a target.
pub struct Kernels<'a> {
    /// What for.
    pub target: &'a Target,
    /// What its table says.
    pub selection: &'a Selection,
}

impl CostModel for Kernels<'_> {
    fn product_parts(&self, product: &ProductExtents, parts: &[u64], merged: bool) -> u64 {
        self.selection.matmul.parts(product, parts, merged, self.target)
    }

    fn reduction_parts(&self, reduction: &ReductionExtents) -> u64 {
        self.selection.reduce.parts(reduction, self.target)
    }

    fn varying_reduction_parts(&self, longest: &ReductionExtents) -> u64 {
        self.selection.reduce.varying_parts(longest, self.target)
    }

    fn least_reduction_parts(&self, reduction: &ReductionExtents) -> u64 {
        reduce::least_parts(reduction, self.target)
    }

    fn reduces_apart(&self, outputs: u64, reduced: u64) -> bool {
        let lanes = self.selection.reduce.lanes(reduced, self.target);
        self.selection.apart.is_faster(lanes, outputs, reduced, self.target)
    }

    fn attention_parts(&self, attention: &AttentionExtents) -> u64 {
        self.selection.split_attention.parts(self.target, attention)
    }

    fn by_keys_for_each_head(&self, attention: &AttentionExtents) -> bool {
        self.selection.attention_grad.for_each_head(self.target, attention)
    }

    fn row_in_one(&self, row: &RowExtents) -> bool {
        let decl = match row.kind {
            RowKind::Softmax if row.inner > 1 => {
                let columns = self.selection.softmax_columns.columns(row.inner, row.n, self.target);
                let numbers = [("n", row.n), ("columns", columns.into())];
                let trip_count = SoftmaxColumns::DECL.trip_count_of(SoftmaxColumns::plain, &numbers);
                return self.target.limits.allows_trips(trip_count);
            }
            RowKind::Softmax => &SoftmaxRows::DECL,
            RowKind::LayerNorm => &LayerNorm::DECL,
            RowKind::RmsNorm => &RmsNorm::DECL,
            RowKind::NormGrad => &NormGrad::DECL,
        };
        let choice = self.selection.rows.choose(decl, row.n, self.target);
        choice.is_some_and(|choice| choice.terminates(self.target, &[("n", row.n)]))
    }

    fn rows_apart(&self, row: &RowExtents) -> bool {
        let softmax_of_rows = row.kind == RowKind::Softmax && row.inner == 1;
        softmax_of_rows && self.selection.softmax_rows.is_faster_apart(row.rows, row.n, self.target)
    }

    fn anchor(&self, graph: &Graph, id: NodeId) -> Option<Anchor> {
        lower::anchor(graph, id)
    }

    fn takes(&self, group: &Group<'_>, id: NodeId) -> bool {
        lower::takes(group, id)
    }

    fn accepts(&self, group: &Group<'_>) -> bool {
        lower::accepts(group)
    }

    fn addends(&self, graph: &Graph, facts: &Facts, v: ValueId) -> Option<usize> {
        lower::addends(graph, facts, v)
    }
}
