//! Filling the holes of template kernels.
//!
//! In: the SPIR-V of a template and, for each hole to be filled, a scalar expression with where its inputs come from
//! and where its outputs go. Out: SPIR-V in which the bodies of those hole functions are straight-line code. Slots are
//! reached by calling the template's own loaders and storers, so nothing here knows an address, a stride, a storage
//! kind or an op; and no device is touched.

mod assembly;
mod body;
mod lower;
#[cfg(test)]
mod tests;
mod zeros;

use assembly::Assembly;
use pumice_plan::kernel::HoleFill;
use pumice_types::scalar::RegType;
use rspirv::spirv::{Capability, ExecutionMode};

/// The float behaviour asked of the device for a module; what the device does not offer stays false.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FloatControls {
    /// Signed zeros, infinities and NaN of f32 are preserved (OPS 1.3.5).
    pub signed_zero_inf_nan_preserve: bool,
    /// f32 subnormals are not flushed.
    pub denorm_preserve: bool,
    /// f32 results are rounded to nearest even.
    pub round_to_nearest_even: bool,
    /// A quirk: the driver folds arithmetic with a literal zero as if NaN, infinities and −0 did not exist. Such
    /// instructions are then written in integers.
    pub folds_zeros: bool,
}

/// A hole that cannot be filled: the plan and the module disagree, which is a defect of whoever made them.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
pub enum CodegenError {
    /// The module is not SPIR-V that can be read.
    #[error("the module cannot be read: {0}")]
    Module(String),
    /// The module lacks a function that the hole needs.
    #[error("hole `{hole}`: the module has no function `{function}`")]
    NoFunction {
        /// The hole.
        hole: String,
        /// The function's name.
        function: String,
    },
    /// The number of inputs is not that of the expression.
    #[error("hole `{hole}`: {given} inputs for an expression of {expected}")]
    Inputs {
        /// The hole.
        hole: String,
        /// Inputs of the expression.
        expected: usize,
        /// Inputs given.
        given: usize,
    },
    /// An input names a value param that the hole does not have.
    #[error("hole `{hole}` has {values} value params, not a param {index}")]
    NoValue {
        /// The hole.
        hole: String,
        /// The param asked for.
        index: u8,
        /// How many there are.
        values: usize,
    },
    /// An input names a literal, and the module has no push constants with room for it.
    #[error("hole `{hole}`: the module has no room for literal {index}")]
    NoLiteral {
        /// The hole.
        hole: String,
        /// The literal asked for.
        index: u8,
    },
    /// A result or store names an output that the expression does not have.
    #[error("hole `{hole}`: the expression has no output {index}")]
    NoOutput {
        /// The hole.
        hole: String,
        /// The output asked for.
        index: u16,
    },
    /// The hole returns a value and the fill has none, or the other way round.
    #[error("hole `{hole}`: a result is {expected}")]
    Result {
        /// The hole.
        hole: String,
        /// `needed` or `not taken`.
        expected: &'static str,
    },
    /// A register type that cannot be used where it is: 64-bit integers at width 4, or in a value param.
    #[error("hole `{hole}`: a register of type {ty} cannot be used at width {width} here")]
    Type {
        /// The hole.
        hole: String,
        /// The register's type.
        ty: RegType,
        /// Elements the hole works on at once.
        width: u32,
    },
    /// A function of the module has a type that hole functions may not have.
    #[error("function `{function}` has an unexpected type")]
    Signature {
        /// The function's name.
        function: String,
    },
}

pumice_types::debug_as_display!(CodegenError);

/// The module `spirv` with the holes of `fills` filled and `controls` declared. Holes not named keep the template's
/// body, the identity.
pub fn fill(spirv: &[u32], fills: &[HoleFill], controls: FloatControls) -> Result<Vec<u32>, CodegenError> {
    let mut assembly = Assembly::read(spirv)?;
    let modes = [
        (
            controls.signed_zero_inf_nan_preserve,
            Capability::SignedZeroInfNanPreserve,
            ExecutionMode::SignedZeroInfNanPreserve,
        ),
        (controls.denorm_preserve, Capability::DenormPreserve, ExecutionMode::DenormPreserve),
        (controls.round_to_nearest_even, Capability::RoundingModeRTE, ExecutionMode::RoundingModeRTE),
    ];
    for (_, capability, mode) in modes.into_iter().filter(|m| m.0) {
        assembly.float_control(capability, mode);
    }
    for fill in fills {
        body::fill(&mut assembly, fill, controls.folds_zeros)?;
    }
    Ok(assembly.words())
}
