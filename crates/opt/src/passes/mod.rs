//! One pass, one file.

pub mod decompose;
pub mod eliminate_common_subexpressions;
pub mod eliminate_identities;
pub mod fold_constants;
pub mod fold_pads;
pub mod fold_transposes;
pub mod fuse_anchors;
pub mod fuse_elementwise;
pub mod merge_matmuls;
pub mod recompute;
pub mod separate_reduced_axes;
pub mod split_attention;
pub mod split_attention_grad;
pub mod split_convolutions;
pub mod split_long_rows;
pub mod split_products;
pub mod split_reductions;
pub mod split_varying_reductions;
