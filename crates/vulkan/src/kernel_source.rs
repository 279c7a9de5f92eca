//! Where a call's SPIR-V comes from: the checked-in module of its kernel with the holes filled.

use crate::codegen::{self, FloatControls};
use pumice_plan::kernel::interface::Addressing;
use pumice_plan::{Fingerprint, KernelCall, Kernels, Plan, StepKind, kernels};
use pumice_runtime::device::DeviceError;
use pumice_shaders::{Form, modules};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;

/// Gives the SPIR-V of kernel calls. Tests plant defective kernels through it.
pub trait KernelSource: Send + Sync {
    /// The module of a call, holes filled, specialization constants still open, with the float behaviour that the
    /// device offers declared.
    fn spirv(&self, call: &KernelCall, form: Addressing, controls: FloatControls)
    -> Result<Vec<u32>, String>;
    /// The fingerprint of a variant's module in the form that reaches operands by address, holes empty: what plans are
    /// made for. `None` where the source has other kernels on purpose, which nothing is compared with.
    fn code(&self, _kernel: &str, _variant: &str) -> Option<Fingerprint> {
        None
    }
    /// A hash that changes when any module does: pipeline caches of another hash are not used.
    fn identity(&self) -> [u8; 32];
}

/// Refuses a plan that uses a kernel of which the source has other code than the plan was made for.
///
/// # Errors
/// [`DeviceError::OtherKernel`] for the first one.
pub(crate) fn check_code(plan: &Plan, source: &dyn KernelSource) -> Result<(), DeviceError> {
    let used: BTreeSet<(&str, &str)> = plan
        .programs()
        .flat_map(|p| &p.steps)
        .filter_map(|s| match &s.kind {
            StepKind::Dispatch { call, .. } | StepKind::Advance { call } => {
                Some((call.kernel.0.as_ref(), &*call.variant))
            }
            StepKind::Host | StepKind::Copy | StepKind::Fill(_) => None,
        })
        .collect();
    let known = Kernels::built_in();
    let other = |&(kernel, variant): &(&str, &str)| {
        source.code(kernel, variant).is_some_and(|code| known.code(kernel, variant) != Some(code))
    };
    match used.into_iter().find(other) {
        None => Ok(()),
        Some((kernel, variant)) => {
            Err(DeviceError::OtherKernel { kernel: kernel.to_owned(), variant: variant.to_owned() })
        }
    }
}

/// The kernels of package `pumice-shaders`.
#[derive(Clone, Copy, Debug, Default)]
pub struct CheckedInKernels;

impl KernelSource for CheckedInKernels {
    fn spirv(
        &self,
        call: &KernelCall,
        form: Addressing,
        controls: FloatControls,
    ) -> Result<Vec<u32>, String> {
        let table_form = match form {
            Addressing::Address => Form::Address,
            Addressing::Descriptor => Form::Descriptor,
        };
        let entry = modules()
            .iter()
            .find(|e| e.kernel == call.kernel.0 && e.variant == call.variant && e.form == table_form)
            .ok_or_else(|| {
                format!("kernel {}.{} has no module in {} form", call.kernel, call.variant, form.name())
            })?;
        let controls = declared(call, controls);
        codegen::fill(&entry.words(), &call.holes, controls).map_err(|e| format!("{}: {e}", call.label()))
    }

    fn code(&self, kernel: &str, variant: &str) -> Option<Fingerprint> {
        pumice_shaders::find(kernel, variant, Form::Address).map(|entry| Fingerprint::of(entry.bytes))
    }

    fn identity(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        for entry in modules() {
            for text in [entry.kernel, entry.variant] {
                hash.update((text.len() as u64).to_le_bytes());
                hash.update(text.as_bytes());
            }
            hash.update([u8::from(entry.form == Form::Descriptor)]);
            hash.update((entry.bytes.len() as u64).to_le_bytes());
            hash.update(entry.bytes);
        }
        hash.finalize().into()
    }
}

/// Of the float controls that a device offers, those that a call's module declares.
///
/// A kernel of matrix units declares no rounding mode. Where it does, and its hole holds a division beside the range
/// reduction of a sine or cosine, the driver's compiler reads address 8 and ends the process (H200, driver 580.159.04,
/// 2026-11-29: all of 128 such pipelines; none without the mode, and of no other kernel). f32 is rounded to nearest
/// there without it.
fn declared(call: &KernelCall, offered: FloatControls) -> FloatControls {
    let name = &call.kernel.0;
    if !kernels::wants_float_controls(name) {
        return FloatControls { folds_zeros: offered.folds_zeros, ..FloatControls::default() };
    }
    let variant = kernels::find(name).and_then(|decl| decl.variant(&call.variant));
    let on_units = variant.is_some_and(pumice_plan::kernel::VariantDecl::uses_matrix_units);
    FloatControls { round_to_nearest_even: offered.round_to_nearest_even && !on_units, ..offered }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plans are made for the modules that are checked in.
    #[test]
    fn fingerprints_are_those_of_the_modules() {
        let known = Kernels::built_in();
        for decl in kernels::all() {
            for variant in decl.variants {
                let (made_for, there) =
                    (known.code(decl.name, variant.name), CheckedInKernels.code(decl.name, variant.name));
                assert!(there.is_some(), "{}.{}", decl.name, variant.name);
                assert_eq!(made_for, there, "{}.{}: run `cargo xtask shaders`", decl.name, variant.name);
            }
        }
    }

    #[test]
    fn kernels_of_matrix_units_declare_no_rounding_mode() {
        let offered = FloatControls {
            signed_zero_inf_nan_preserve: true,
            denorm_preserve: true,
            round_to_nearest_even: true,
            folds_zeros: false,
        };
        let of = |variant: &str| {
            let call = KernelCall {
                kernel: pumice_plan::kernel::KernelName("matmul_f32".into()),
                variant: variant.to_owned().into(),
                spec: Vec::new(),
                args: Vec::new(),
                operands: Default::default(),
                slots: Default::default(),
                holes: Vec::new(),
                literals: Vec::new(),
            };
            declared(&call, offered)
        };
        for variant in kernels::find("matmul_f32").expect("there").variants {
            let want = FloatControls { round_to_nearest_even: !variant.uses_matrix_units(), ..offered };
            assert_eq!(of(variant.name), want, "{}", variant.name);
        }
        assert!(!of("f16_blocks_t64").round_to_nearest_even && of("t64").round_to_nearest_even);
    }
}
