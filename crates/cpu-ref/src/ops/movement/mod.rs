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
pub mod scatter_partials;
pub mod scatter_places;
pub mod scatter_sorted;
pub mod slice;
pub mod split;
pub mod squeeze;
pub mod tensor_scatter;
pub mod transpose;
pub mod unique_parts;
pub mod unsqueeze;
