//! What a device can multiply beside f32: packed 8-bit dot products, matrices that a subgroup holds together.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Dot products of four 8-bit integers packed into a word (`OpSDot` and the like), and which of them the hardware has:
/// those that are offered and not accelerated are emulated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DotProduct {
    /// Kernels may use them.
    pub offered: bool,
    /// Of signed by signed bytes.
    pub signed: bool,
    /// Of unsigned by unsigned bytes.
    pub unsigned: bool,
    /// Of signed by unsigned bytes.
    pub mixed: bool,
    /// The same three, added to an accumulator that saturates.
    pub saturating: bool,
}

/// The type of a cooperative matrix' elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Component {
    /// 16-bit float.
    F16,
    /// 16-bit float with the exponent of f32.
    BF16,
    /// 32-bit float.
    F32,
    /// 64-bit float.
    F64,
    /// Signed 8-bit integer.
    I8,
    /// Unsigned 8-bit integer.
    U8,
    /// Signed 16-bit integer.
    I16,
    /// Unsigned 16-bit integer.
    U16,
    /// Signed 32-bit integer.
    I32,
    /// Unsigned 32-bit integer.
    U32,
    /// Signed 64-bit integer.
    I64,
    /// Unsigned 64-bit integer.
    U64,
    /// A type that pumice has no name for, by its number in Vulkan.
    Other(i32),
}

/// Which invocations hold a cooperative matrix together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MatrixScope {
    /// A subgroup.
    Subgroup,
    /// A workgroup.
    Workgroup,
    /// Wider ones.
    Wider,
}

/// A product that cooperative matrices make: \[m, k\] of `a` times \[k, n\] of `b`, added to `c`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct MatrixShape {
    /// Rows of the result.
    pub m: u32,
    /// Columns of the result.
    pub n: u32,
    /// Terms of each sum.
    pub k: u32,
    /// Elements of the left operand.
    pub a: Component,
    /// Elements of the right operand.
    pub b: Component,
    /// Elements of the accumulator.
    pub c: Component,
    /// Elements of the result.
    pub result: Component,
    /// Whether integer sums saturate.
    pub saturates: bool,
    /// Who holds them.
    pub scope: MatrixScope,
}

impl MatrixShape {
    /// Whether any of its matrices has such elements.
    pub fn has(&self, component: Component) -> bool {
        [self.a, self.b, self.c, self.result].contains(&component)
    }

    /// 16 x 16 x 16, factors of that type, f32 sums, held by a subgroup: what kernels are made of.
    pub fn is_by_16(&self, factor: Component) -> bool {
        let extents = (self.m, self.n, self.k) == (16, 16, 16);
        let factors = (self.a, self.b) == (factor, factor);
        let sums = (self.c, self.result) == (Component::F32, Component::F32);
        extents && factors && sums && self.scope == MatrixScope::Subgroup
    }
}

impl fmt::Display for Component {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&format!("{self:?}").to_lowercase())
    }
}

impl fmt::Display for MatrixShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MatrixShape { m, n, k, a, b, c, result, .. } = self;
        write!(f, "{m}x{n}x{k} {a} x {b} + {c}")?;
        if result != c {
            write!(f, " -> {result}")?;
        }
        let scope = match self.scope {
            MatrixScope::Subgroup => "",
            MatrixScope::Workgroup => " of a workgroup",
            MatrixScope::Wider => " of more than a workgroup",
        };
        f.write_str(scope)?;
        if self.saturates { f.write_str(" saturating") } else { Ok(()) }
    }
}
