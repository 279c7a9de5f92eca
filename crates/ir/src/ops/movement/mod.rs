//! Ops that rename or move elements (OPS 3.2).

pub mod concat;
pub mod expand;
pub mod flatten;
pub mod gather;
pub mod gather_elements;
pub mod gather_nd;
mod indices;
pub mod reshape;
pub mod scatter;
pub mod scatter_elements;
pub mod scatter_nd;
mod scatter_samples;
pub mod slice;
pub(crate) mod slice_samples;
pub mod split;
pub mod squeeze;
pub mod transpose;
pub mod unsqueeze;
