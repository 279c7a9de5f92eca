//! What a module needs of a device against what its variant says it may need.

use crate::reflect::Reflected;
use pumice_plan::kernel::{Feature, VariantDecl};
use rspirv::dr::{Instruction, Operand};
use rspirv::spirv::{Capability, ExecutionMode, Op, StorageClass};

const PLAIN_SHARED: u32 = 32 << 10;
const PLAIN_THREADS: u32 = 256;

/// Capabilities, threads and shared memory.
pub fn check(r: &Reflected<'_>, variant: &VariantDecl) -> Result<(), String> {
    if variant.plain && !variant.features.is_empty() {
        return Err("a plain variant needs a feature".to_owned());
    }
    capabilities(r, variant)?;
    let threads_limit =
        limit(variant, PLAIN_THREADS, |f| if let Feature::Threads(n) = f { Some(*n) } else { None });
    let shared_limit =
        limit(variant, PLAIN_SHARED, |f| if let Feature::SharedMemory(n) = f { Some(*n) } else { None });
    let threads = threads(r);
    if threads > threads_limit {
        return Err(format!("{threads} threads, declared {threads_limit}"));
    }
    let shared: u32 = r.variables(StorageClass::Workgroup).iter().map(|(_, ty)| size(r, *ty)).sum();
    if shared > shared_limit {
        return Err(format!("{shared} bytes of shared memory, declared {shared_limit}"));
    }
    Ok(())
}

/// Whether a capability is what a feature is there for.
fn asks_for(capability: Capability, feature: &Feature) -> bool {
    match capability {
        Capability::GroupNonUniform => matches!(feature, Feature::SubgroupSize(_)),
        Capability::GroupNonUniformArithmetic => *feature == Feature::SubgroupArithmetic,
        Capability::GroupNonUniformShuffle => *feature == Feature::SubgroupShuffle,
        Capability::Int64 => *feature == Feature::Int64,
        Capability::Float16 => *feature == Feature::Float16,
        Capability::CooperativeMatrixKHR | Capability::VulkanMemoryModel => {
            matches!(feature, Feature::CooperativeMatrix | Feature::CooperativeMatrixBf16)
        }
        Capability::BFloat16TypeKHR | Capability::BFloat16CooperativeMatrixKHR => {
            *feature == Feature::CooperativeMatrixBf16
        }
        Capability::StorageBuffer16BitAccess => *feature == Feature::Storage16,
        Capability::StorageBuffer8BitAccess => *feature == Feature::Storage8,
        Capability::DotProductInput4x8BitPacked => *feature == Feature::DotProduct,
        _ => false,
    }
}

/// Every capability beyond the floor has a feature that asks the device for it, and every such feature is used. A
/// module that knows of subgroups at all says which sizes it can do with.
fn capabilities(r: &Reflected<'_>, variant: &VariantDecl) -> Result<(), String> {
    let used: Vec<Capability> = r.module.capabilities.iter().filter_map(capability).collect();
    let floor = [Capability::Shader, Capability::PhysicalStorageBufferAddresses];
    for &capability in used.iter().filter(|c| !floor.contains(c)) {
        if !variant.features.iter().any(|f| asks_for(capability, f)) {
            return Err(format!("capability {capability:?} is not declared"));
        }
    }
    let of_capabilities = |f: &&Feature| !matches!(f, Feature::SharedMemory(_) | Feature::Threads(_));
    for feature in variant.features.iter().filter(of_capabilities) {
        if !used.iter().any(|&c| asks_for(c, feature)) {
            return Err(format!("{feature:?} is declared and not used"));
        }
    }
    Ok(())
}

fn capability(i: &Instruction) -> Option<Capability> {
    match i.operands.first() {
        Some(Operand::Capability(capability)) => Some(*capability),
        _ => None,
    }
}

fn limit(variant: &VariantDecl, plain: u32, pick: fn(&Feature) -> Option<u32>) -> u32 {
    variant.features.iter().find_map(pick).unwrap_or(plain)
}

fn threads(r: &Reflected<'_>) -> u32 {
    let local = r
        .module
        .execution_modes
        .iter()
        .find(|i| i.operands.get(1) == Some(&Operand::ExecutionMode(ExecutionMode::LocalSize)));
    local.map_or(0, |i| {
        i.operands[2..].iter().map(|o| if let Operand::LiteralBit32(n) = o { *n } else { 0 }).product()
    })
}

/// Bytes of a type in shared memory.
fn size(r: &Reflected<'_>, ty: u32) -> u32 {
    let Some(i) = r.global(ty) else { return 0 };
    let id = |k: usize| if let Some(Operand::IdRef(id)) = i.operands.get(k) { *id } else { 0 };
    match i.class.opcode {
        Op::TypeInt | Op::TypeFloat => 4,
        Op::TypeVector => match i.operands.get(1) {
            Some(Operand::LiteralBit32(n)) => n * size(r, id(0)),
            _ => 0,
        },
        Op::TypeArray => size(r, id(0)) * constant(r, id(1)),
        Op::TypeStruct => (0..i.operands.len()).map(|k| size(r, id(k))).sum(),
        _ => 0,
    }
}

fn constant(r: &Reflected<'_>, id: u32) -> u32 {
    match r.global(id).and_then(|i| i.operands.first()) {
        Some(Operand::LiteralBit32(n)) => *n,
        _ => 0,
    }
}
