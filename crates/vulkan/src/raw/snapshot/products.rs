//! What a device says of subgroup sizes, packed dot products and cooperative matrices: Vulkan 1.3 or extensions.

use super::super::bfloat16::{self, Bfloat16Features};
use super::super::calls::CallError;
use super::super::table::InstanceTable;
use ash::vk;
use pumice_types::target::{Component, DotProduct, Features, MatrixScope, MatrixShape};

/// What devices of Vulkan 1.2 do not say without extensions.
pub(super) struct Said {
    sizes: Option<(u32, u32, bool)>,
    dot_product: DotProduct,
    matrices: Vec<MatrixShape>,
}

impl Said {
    /// Asks the device for what it knows.
    pub(super) fn take(
        table: &InstanceTable,
        device: vk::PhysicalDevice,
        api: u32,
        extensions: &[String],
    ) -> Result<Said, CallError> {
        let has = |name: &str| api >= vk::API_VERSION_1_3 || extensions.iter().any(|e| e == name);
        let sizes = has("VK_EXT_subgroup_size_control") && api >= vk::API_VERSION_1_2;
        let dots = has("VK_KHR_shader_integer_dot_product") && api >= vk::API_VERSION_1_2;
        Ok(Said {
            sizes: sizes.then(|| subgroup_sizes(table, device)),
            dot_product: if dots { dot_product(table, device) } else { DotProduct::default() },
            matrices: matrices(table, device, extensions)?,
        })
    }

    /// The features with what was said.
    pub(super) fn of(self, features: Features) -> Features {
        let (least, most, control) = self.sizes.unwrap_or_default();
        Features {
            least_subgroup_size: least,
            most_subgroup_size: most,
            subgroup_size_control: control,
            dot_product: self.dot_product,
            matrices: self.matrices,
            ..features
        }
    }
}

/// Asks the device for properties and features that belong together.
///
/// # Safety
/// `device` is of this instance and knows both structs.
unsafe fn ask(
    table: &InstanceTable,
    device: vk::PhysicalDevice,
    properties: &mut impl vk::ExtendsPhysicalDeviceProperties2,
    features: &mut impl vk::ExtendsPhysicalDeviceFeatures2,
) {
    let mut properties = vk::PhysicalDeviceProperties2::default().push_next(properties);
    let mut features = vk::PhysicalDeviceFeatures2::default().push_next(features);
    // SAFETY: the caller's promise.
    unsafe {
        table.instance.get_physical_device_properties2(device, &mut properties);
        table.instance.get_physical_device_features2(device, &mut features);
    }
}

fn subgroup_sizes(table: &InstanceTable, device: vk::PhysicalDevice) -> (u32, u32, bool) {
    let mut sizes = vk::PhysicalDeviceSubgroupSizeControlProperties::default();
    let mut control = vk::PhysicalDeviceSubgroupSizeControlFeatures::default();
    // SAFETY: `device` is of this instance and knows the structs.
    unsafe { ask(table, device, &mut sizes, &mut control) };
    let stages = sizes.required_subgroup_size_stages;
    let asks = stages.contains(vk::ShaderStageFlags::COMPUTE) && control.subgroup_size_control == vk::TRUE;
    (sizes.min_subgroup_size, sizes.max_subgroup_size, asks)
}

fn dot_product(table: &InstanceTable, device: vk::PhysicalDevice) -> DotProduct {
    let mut said = vk::PhysicalDeviceShaderIntegerDotProductProperties::default();
    let mut offered = vk::PhysicalDeviceShaderIntegerDotProductFeatures::default();
    // SAFETY: `device` is of this instance and knows the structs.
    unsafe { ask(table, device, &mut said, &mut offered) };
    let all = |words: &[vk::Bool32]| words.iter().all(|w| *w == vk::TRUE);
    DotProduct {
        offered: all(&[offered.shader_integer_dot_product]),
        signed: all(&[said.integer_dot_product4x8_bit_packed_signed_accelerated]),
        unsigned: all(&[said.integer_dot_product4x8_bit_packed_unsigned_accelerated]),
        mixed: all(&[said.integer_dot_product4x8_bit_packed_mixed_signedness_accelerated]),
        saturating: all(&[
            said.integer_dot_product_accumulating_saturating4x8_bit_packed_signed_accelerated,
            said.integer_dot_product_accumulating_saturating4x8_bit_packed_unsigned_accelerated,
            said.integer_dot_product_accumulating_saturating4x8_bit_packed_mixed_signedness_accelerated,
        ]),
    }
}

/// The products of cooperative matrices, in the driver's order; none where the device has no such matrices.
fn matrices(
    table: &InstanceTable,
    device: vk::PhysicalDevice,
    extensions: &[String],
) -> Result<Vec<MatrixShape>, CallError> {
    if !extensions.iter().any(|e| e == "VK_KHR_cooperative_matrix") {
        return Ok(Vec::new());
    }
    let mut offered = vk::PhysicalDeviceCooperativeMatrixFeaturesKHR::default();
    // Kernels of matrices are written in this memory model.
    let mut f12 = vk::PhysicalDeviceVulkan12Features::default();
    let mut features = vk::PhysicalDeviceFeatures2::default().push_next(&mut offered).push_next(&mut f12);
    // SAFETY: `device` is of this instance and knows the chained struct.
    unsafe { table.instance.get_physical_device_features2(device, &mut features) };
    if offered.cooperative_matrix != vk::TRUE || f12.vulkan_memory_model != vk::TRUE {
        return Ok(Vec::new());
    }
    let has_bfloat16 = extensions.iter().any(|e| e == bfloat16::NAME) && has_bfloat16_matrices(table, device);
    let shapes = table.cooperative_matrices(device)?;
    let shapes = shapes.iter().map(shape);
    Ok(shapes.filter(|shape| has_bfloat16 || !shape.has(Component::BF16)).collect())
}

/// Whether cooperative matrices may be of bf16, which is a feature beside their shapes.
fn has_bfloat16_matrices(table: &InstanceTable, device: vk::PhysicalDevice) -> bool {
    let mut offered = Bfloat16Features::none();
    let mut features = vk::PhysicalDeviceFeatures2::default().push_next(&mut offered);
    // SAFETY: `device` is of this instance and has the extension of the chained struct.
    unsafe { table.instance.get_physical_device_features2(device, &mut features) };
    offered.has_matrices()
}

fn shape(p: &vk::CooperativeMatrixPropertiesKHR<'_>) -> MatrixShape {
    MatrixShape {
        m: p.m_size,
        n: p.n_size,
        k: p.k_size,
        a: component(p.a_type),
        b: component(p.b_type),
        c: component(p.c_type),
        result: component(p.result_type),
        saturates: p.saturating_accumulation == vk::TRUE,
        scope: match p.scope {
            vk::ScopeKHR::SUBGROUP => MatrixScope::Subgroup,
            vk::ScopeKHR::WORKGROUP => MatrixScope::Workgroup,
            _ => MatrixScope::Wider,
        },
    }
}

fn component(ty: vk::ComponentTypeKHR) -> Component {
    match ty {
        vk::ComponentTypeKHR::FLOAT16 => Component::F16,
        vk::ComponentTypeKHR::FLOAT32 => Component::F32,
        vk::ComponentTypeKHR::FLOAT64 => Component::F64,
        vk::ComponentTypeKHR::SINT8 => Component::I8,
        vk::ComponentTypeKHR::UINT8 => Component::U8,
        vk::ComponentTypeKHR::SINT16 => Component::I16,
        vk::ComponentTypeKHR::UINT16 => Component::U16,
        vk::ComponentTypeKHR::SINT32 => Component::I32,
        vk::ComponentTypeKHR::UINT32 => Component::U32,
        vk::ComponentTypeKHR::SINT64 => Component::I64,
        vk::ComponentTypeKHR::UINT64 => Component::U64,
        bfloat16::COMPONENT => Component::BF16,
        other => Component::Other(other.as_raw()),
    }
}
