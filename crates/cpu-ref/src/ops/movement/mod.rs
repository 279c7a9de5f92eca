//! Evaluation: ops that rename or move elements (OPS 3.2).

pub mod concat;
pub mod expand;
pub mod flatten;
pub mod gather;
pub mod gather_elements;
pub mod gather_nd;
pub mod pad;
pub mod range;
pub mod reshape;
mod scatter;
pub mod scatter_elements;
pub mod scatter_nd;
pub mod slice;
pub mod split;
pub mod squeeze;
pub mod transpose;
pub mod unsqueeze;
