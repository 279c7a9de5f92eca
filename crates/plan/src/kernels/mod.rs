//! Every kernel there is, by family. A declaration here, a source under `shaders/`, SPIR-V made by
//! `cargo xtask shaders`. No op, no shape: lowering decides which kernel an op becomes.

use crate::kernel::KernelDecl;

pub mod attention;
pub mod copy;
pub mod elementwise;
pub mod frame;
pub mod gather;
pub mod kv;
pub mod matmul;
pub mod norm;
pub mod reduce;
pub mod rotary;
pub mod softmax;

/// The families, in the order of the manifest.
const FAMILIES: [&[KernelDecl]; 11] = [
    attention::DECLS,
    copy::DECLS,
    elementwise::DECLS,
    frame::DECLS,
    gather::DECLS,
    kv::DECLS,
    matmul::DECLS,
    norm::DECLS,
    reduce::DECLS,
    rotary::DECLS,
    softmax::DECLS,
];

/// All declarations.
pub fn all() -> impl Iterator<Item = &'static KernelDecl> {
    FAMILIES.into_iter().flatten()
}

/// The declaration of that name.
pub fn find(name: &str) -> Option<&'static KernelDecl> {
    all().find(|d| d.name == name)
}
