//! What a module needs of a device against what its variant says it may need.

use crate::reflect::Reflected;
use pumice_plan::kernel::{Feature, VariantDecl};
use rspirv::dr::Operand;
use rspirv::spirv::{Capability, ExecutionMode, Op, StorageClass};

const PLAIN_SHARED: u32 = 32 << 10;
const PLAIN_THREADS: u32 = 256;

/// Capabilities, threads and shared memory.
pub fn check(r: &Reflected<'_>, variant: &VariantDecl) -> Result<(), String> {
    if variant.plain && !variant.features.is_empty() {
        return Err("a plain variant needs a feature".to_owned());
    }
    let needs = |f: fn(&Feature) -> bool| variant.features.iter().any(f);
    for i in &r.module.capabilities {
        let Operand::Capability(capability) = i.operands[0] else { continue };
        let allowed = match capability {
            Capability::Shader | Capability::PhysicalStorageBufferAddresses => true,
            Capability::GroupNonUniform
            | Capability::GroupNonUniformVote
            | Capability::GroupNonUniformArithmetic
            | Capability::GroupNonUniformBallot
            | Capability::GroupNonUniformShuffle => {
                needs(|f| matches!(f, Feature::SubgroupArithmetic | Feature::SubgroupSize(_)))
            }
            Capability::Int64 => needs(|f| matches!(f, Feature::Int64)),
            _ => false,
        };
        if !allowed {
            return Err(format!("capability {capability:?} is not declared"));
        }
    }
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
