//! What the passes want to know of kernels, answered from the tables of the kernels.

use pumice_opt::Advice;
use pumice_plan::kernels::{matmul, reduce};
use pumice_types::{ProductExtents, ReductionExtents, Target};

/// The kernels of a target.
pub struct Kernels<'a> {
    /// The target.
    pub target: &'a Target,
}

impl Advice for Kernels<'_> {
    fn product_parts(&self, product: &ProductExtents, parts: &[u64], merged: bool) -> u64 {
        matmul::parts(product, parts, merged, self.target)
    }

    fn reduction_parts(&self, reduction: &ReductionExtents) -> u64 {
        reduce::parts(reduction, self.target)
    }
}
