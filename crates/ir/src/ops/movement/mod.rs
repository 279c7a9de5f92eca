//! Ops that rename or move elements (OPS 3.2).

pub mod concat;
pub mod expand;
mod fill;
pub mod flatten;
pub mod gather;
mod one_hot;
pub mod pad;
pub(crate) mod pad_parts;
pub(crate) mod pad_samples;
pub mod range;
pub mod reshape;
mod reverse;
mod shape_of;
pub mod slice;
pub(crate) mod slice_samples;
pub mod split;
pub mod squeeze;
mod stack;
mod tile;
pub mod transpose;
mod trilu;
pub mod unsqueeze;
