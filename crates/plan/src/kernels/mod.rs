//! Every kernel there is, by family. A declaration here, a source under `shaders/`, SPIR-V made by
//! `cargo xtask shaders`. No op, no shape: lowering decides which kernel an op becomes.

use crate::kernel::KernelDecl;

pub mod attention;
pub mod attention_grad;
pub mod choice;
pub mod convolution;
pub mod copy;
pub mod count;
pub mod elementwise;
pub mod experts;
pub(crate) mod fingerprints;
pub mod frame;
pub mod gather;
pub mod kv;
pub mod matmul;
pub mod matmul_codes;
pub mod norm;
pub mod norm_grad;
pub mod pool;
pub mod random;
pub mod recurrence;
pub mod reduce;
pub mod resample;
pub mod rotary;
pub mod scan;
pub mod scatter;
pub mod softmax;
pub mod sort;
mod tiles;
pub mod transform;

/// Lists the families, in the order of the manifest.
macro_rules! families {
    ($($family:ident)*) => { const FAMILIES: &[&[KernelDecl]] = &[$($family::DECLS),*]; };
}

families! {
    attention attention_grad choice convolution copy count elementwise experts frame gather kv matmul norm
    norm_grad pool random recurrence reduce resample rotary scan scatter softmax sort transform
}

/// All declarations.
pub fn all() -> impl Iterator<Item = &'static KernelDecl> {
    FAMILIES.iter().copied().flatten()
}

/// The declaration of that name. Calls that the compiler made have the declaration's own name, which needs no look at
/// its letters.
pub fn find(name: &str) -> Option<&'static KernelDecl> {
    all().find(|d| std::ptr::eq(d.name, name)).or_else(|| all().find(|d| d.name == name))
}

/// Whether a kernel is built with the float controls a device offers (signed zeros, infinities and NaN preserved).
/// Attention is not: it decides by comparisons what takes part and never lets NaN meet what is not allowed; the
/// controls made it 5.8 times slower (H200, 2026-11-21: 8.9 against 1.5 ms over MiniLM's six layers, batch 32 of 128
/// tokens).
pub fn wants_float_controls(name: &str) -> bool {
    !attention::DECLS.iter().chain(attention_grad::DECLS).any(|d| d.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attention_is_built_without_float_controls() {
        for decl in all() {
            assert_eq!(
                wants_float_controls(decl.name),
                !decl.file.starts_with("attention/"),
                "{}",
                decl.name
            );
        }
    }
}
