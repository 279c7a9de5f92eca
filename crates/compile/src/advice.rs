//! What the passes want to know of kernels, answered from the tables of the kernels.

use pumice_opt::Advice;
use pumice_opt::advice::{ProductExtents, ReductionExtents};
use pumice_plan::kernels::matmul::{self, Product};
use pumice_plan::kernels::reduce;
use pumice_types::Target;

/// The kernels of a target.
pub struct Kernels<'a> {
    /// The target.
    pub target: &'a Target,
}

impl Advice for Kernels<'_> {
    fn product_parts(&self, p: &ProductExtents, parts: &[u64], merged: bool) -> u64 {
        let ProductExtents { m, n, k, batches, b_along_k, b_words } = *p;
        matmul::parts(&Product { m, n, k, batches, b_along_k, b_words }, parts, merged, self.target)
    }

    fn reduction_parts(&self, r: &ReductionExtents) -> u64 {
        reduce::parts(r.outer, r.reduced, r.inner, self.target)
    }
}
