//! Where a call's SPIR-V comes from: the checked-in module of its kernel with the holes filled.

use crate::codegen::{self, FloatControls};
use pumice_plan::KernelCall;
use pumice_plan::kernel::interface::Addressing;
use pumice_plan::kernels;
use pumice_shaders::{Form, modules};
use sha2::{Digest, Sha256};

/// Gives the SPIR-V of kernel calls. Tests plant defective kernels through it.
pub trait KernelSource: Send + Sync {
    /// The module of a call, holes filled, specialization constants still open, with the float behaviour that the
    /// device offers declared.
    fn spirv(&self, call: &KernelCall, form: Addressing, controls: FloatControls)
    -> Result<Vec<u32>, String>;
    /// A hash that changes when any module does: pipeline caches of another hash are not used.
    fn identity(&self) -> [u8; 32];
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
        let controls = if kernels::wants_float_controls(&call.kernel.0) {
            controls
        } else {
            FloatControls { folds_zeros: controls.folds_zeros, ..FloatControls::default() }
        };
        codegen::fill(&entry.words(), &call.holes, controls).map_err(|e| format!("{}: {e}", call.label()))
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
