//! `VkPhysicalDeviceShaderBfloat16FeaturesKHR` of `VK_KHR_shader_bfloat16`, which is younger than the bindings.

use ash::vk;
use std::ffi::c_void;

/// The extension.
pub(super) const NAME: &str = "VK_KHR_shader_bfloat16";

/// Number of the extension, from which its enumerants are counted.
const EXTENSION: i32 = 1_000_141_000;

/// `VK_COMPONENT_TYPE_BFLOAT16_KHR`.
pub(super) const COMPONENT: vk::ComponentTypeKHR = vk::ComponentTypeKHR::from_raw(EXTENSION);

/// Which uses of the type a device has; the layout is that of the specification.
#[repr(C)]
pub(super) struct Bfloat16Features {
    s_type: vk::StructureType,
    p_next: *mut c_void,
    shader_bfloat16_type: vk::Bool32,
    shader_bfloat16_dot_product: vk::Bool32,
    shader_bfloat16_cooperative_matrix: vk::Bool32,
}

impl Bfloat16Features {
    /// To ask with: nothing.
    pub(super) fn none() -> Bfloat16Features {
        Bfloat16Features {
            s_type: vk::StructureType::from_raw(EXTENSION),
            p_next: std::ptr::null_mut(),
            shader_bfloat16_type: vk::FALSE,
            shader_bfloat16_dot_product: vk::FALSE,
            shader_bfloat16_cooperative_matrix: vk::FALSE,
        }
    }

    /// To switch on: cooperative matrices of the type.
    pub(super) fn matrices() -> Bfloat16Features {
        Bfloat16Features {
            shader_bfloat16_type: vk::TRUE,
            shader_bfloat16_cooperative_matrix: vk::TRUE,
            ..Bfloat16Features::none()
        }
    }

    /// Whether cooperative matrices may have the type.
    pub(super) fn has_matrices(&self) -> bool {
        self.shader_bfloat16_type == vk::TRUE && self.shader_bfloat16_cooperative_matrix == vk::TRUE
    }
}

// SAFETY: the structure begins with `sType` and `pNext`, and the specification lets both chains have it where the
// device has the extension.
unsafe impl vk::ExtendsPhysicalDeviceFeatures2 for Bfloat16Features {}
// SAFETY: as above.
unsafe impl vk::ExtendsDeviceCreateInfo for Bfloat16Features {}
