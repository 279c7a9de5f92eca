//! Compares a module with its declaration: offsets, bindings, access decorations, hole and slot functions,
//! specialization constants. What does not fit is an error, never a warning.

use crate::error::BuildError;
use crate::optimize::load;
use crate::reflect_features;
use pumice_plan::kernel::interface::{Addressing, frame_binding};
use pumice_plan::kernel::layout::VARY_AT;
use pumice_plan::kernel::{
    HoleDecl, HoleType, KEEP_ID, KernelDecl, OperandAccess, TYPED_ID, VARIES_ID, VariantDecl,
};
use rspirv::dr::{Module, Operand};
use rspirv::spirv::{Decoration, Op, StorageClass};
use std::collections::{BTreeMap, BTreeSet};

/// What was met in any module of a kernel.
#[derive(Default)]
pub struct Coverage {
    specs: BTreeSet<u32>,
}

impl Coverage {
    /// Every declared specialization constant is used by some module.
    pub fn complete(&self, decl: &KernelDecl) -> Result<(), BuildError> {
        let unused: Vec<&str> =
            decl.specs.iter().filter(|s| !self.specs.contains(&s.id)).map(|s| s.name).collect();
        if unused.is_empty() {
            return Ok(());
        }
        Err(BuildError::Mismatch {
            module: decl.name.into(),
            what: format!("no module uses {}", unused.join(", ")),
        })
    }
}

/// A module with what the checks look up in it.
pub struct Reflected<'a> {
    /// The module.
    pub module: &'a Module,
    names: BTreeMap<u32, &'a str>,
}

/// Checks one module.
pub fn check(
    decl: &KernelDecl,
    variant: &VariantDecl,
    form: Addressing,
    words: &[u32],
    coverage: &mut Coverage,
) -> Result<(), BuildError> {
    let module = load(words)?;
    let names = names(&module);
    let reflected = Reflected { module: &module, names };
    let checked = offsets(&reflected, decl, form)
        .and_then(|()| bindings(&reflected, decl, form))
        .and_then(|()| decl.holes.iter().try_for_each(|h| hole(&reflected, decl, h)))
        .and_then(|()| specs(&reflected, decl, coverage))
        .and_then(|()| reflect_features::check(&reflected, variant));
    checked.map_err(|what| BuildError::Mismatch { module: format!("{} {}", variant.name, form.name()), what })
}

fn names(module: &Module) -> BTreeMap<u32, &str> {
    let named = module.debug_names.iter().filter(|i| i.class.opcode == Op::Name);
    named
        .filter_map(|i| match (&i.operands[0], &i.operands[1]) {
            (Operand::IdRef(id), Operand::LiteralString(s)) => Some((*id, s.as_str())),
            _ => None,
        })
        .collect()
}

impl Reflected<'_> {
    /// The operand of a decoration of an id.
    fn decorated(&self, id: u32, decoration: Decoration) -> Option<u32> {
        let mut found = self.module.annotations.iter().filter(|i| i.class.opcode == Op::Decorate);
        let hit = found.find(|i| {
            i.operands[0] == Operand::IdRef(id) && i.operands[1] == Operand::Decoration(decoration)
        })?;
        match hit.operands.get(2) {
            Some(Operand::LiteralBit32(v)) => Some(*v),
            _ => Some(0),
        }
    }

    fn member_decorations(&self, id: u32, decoration: Decoration) -> Vec<(u32, u32)> {
        let members = self.module.annotations.iter().filter(|i| i.class.opcode == Op::MemberDecorate);
        members
            .filter(|i| {
                i.operands[0] == Operand::IdRef(id) && i.operands[2] == Operand::Decoration(decoration)
            })
            .filter_map(|i| match (&i.operands[1], i.operands.get(3)) {
                (Operand::LiteralBit32(m), Some(Operand::LiteralBit32(v))) => Some((*m, *v)),
                (Operand::LiteralBit32(m), None) => Some((*m, 0)),
                _ => None,
            })
            .collect()
    }

    /// Global variables of a storage class: id, and id of the type they point to.
    pub fn variables(&self, class: StorageClass) -> Vec<(u32, u32)> {
        let variables = self.module.types_global_values.iter().filter(|i| i.class.opcode == Op::Variable);
        variables
            .filter(|i| i.operands[0] == Operand::StorageClass(class))
            .filter_map(|i| Some((i.result_id?, self.pointee(i.result_type?)?)))
            .collect()
    }

    /// The instruction that defines a type or constant.
    pub fn global(&self, id: u32) -> Option<&rspirv::dr::Instruction> {
        self.module.types_global_values.iter().find(|i| i.result_id == Some(id))
    }

    fn pointee(&self, pointer: u32) -> Option<u32> {
        match self.global(pointer)?.operands.get(1) {
            Some(Operand::IdRef(id)) => Some(*id),
            _ => None,
        }
    }

    fn struct_named(&self, name: &str) -> Option<u32> {
        let structs = self.module.types_global_values.iter().filter(|i| i.class.opcode == Op::TypeStruct);
        structs.filter_map(|i| i.result_id).find(|id| self.names.get(id) == Some(&name))
    }
}

fn offsets(r: &Reflected<'_>, decl: &KernelDecl, form: Addressing) -> Result<(), String> {
    let layout = decl.layout();
    let mut expected = vec![0, VARY_AT, layout.addresses_at];
    if layout.args > 0 {
        expected.push(layout.args_at);
    }
    let push = r.variables(StorageClass::PushConstant);
    let used = if layout.block { form == Addressing::Address } else { true };
    match push.as_slice() {
        [(_, ty)] if layout.block => same_offsets(r, *ty, &[0], "push constants")?,
        [(_, ty)] => same_offsets(r, *ty, &expected, "push constants")?,
        [] if !used || form == Addressing::Descriptor => {}
        _ => return Err(format!("{} push constant blocks", push.len())),
    }
    match r.struct_named("Block") {
        Some(ty) if layout.block => same_offsets(r, ty, &expected, "argument block"),
        None if !layout.block => Ok(()),
        _ => Err("argument block and declaration disagree".to_owned()),
    }
}

fn same_offsets(r: &Reflected<'_>, ty: u32, expected: &[u32], what: &str) -> Result<(), String> {
    let mut found = r.member_decorations(ty, Decoration::Offset);
    found.sort_unstable();
    let found: Vec<u32> = found.into_iter().map(|(_, offset)| offset).collect();
    if found == expected { Ok(()) } else { Err(format!("{what} lie at {found:?}, declared {expected:?}")) }
}

fn bindings(r: &Reflected<'_>, decl: &KernelDecl, form: Addressing) -> Result<(), String> {
    let buffers = r.variables(StorageClass::StorageBuffer);
    if form == Addressing::Address {
        return if buffers.is_empty() { Ok(()) } else { Err("a descriptor in address form".to_owned()) };
    }
    let mut found = BTreeSet::new();
    for (id, ty) in buffers {
        let (set, binding) =
            (r.decorated(id, Decoration::DescriptorSet), r.decorated(id, Decoration::Binding));
        let (Some(0), Some(binding)) = (set, binding) else {
            return Err("a buffer without set 0 and binding".to_owned());
        };
        if binding > frame_binding(decl) + 1 || !found.insert(binding) {
            return Err(format!("binding {binding} is not declared, or twice"));
        }
        if let Some(o) = decl.operands.get(binding as usize) {
            let readonly = !r.member_decorations(ty, Decoration::NonWritable).is_empty();
            let writeonly = !r.member_decorations(ty, Decoration::NonReadable).is_empty();
            if (readonly, writeonly) != (o.access == OperandAccess::Read, o.access == OperandAccess::Write) {
                return Err(format!("operand `{}` is decorated against its access {:?}", o.name, o.access));
            }
        }
    }
    match decl.operands.iter().enumerate().find(|(k, _)| !found.contains(&(*k as u32))) {
        Some((_, o)) => Err(format!("operand `{}` is never touched", o.name)),
        None => Ok(()),
    }
}

/// The function whose mangled name begins so: parameter count and the opcode of its result type.
fn function(r: &Reflected<'_>, prefix: &str) -> Option<(usize, Op)> {
    let ids: Vec<u32> = r.names.iter().filter(|(_, n)| n.starts_with(prefix)).map(|(id, _)| *id).collect();
    let f = r
        .module
        .functions
        .iter()
        .find(|f| f.def.as_ref().and_then(|d| d.result_id).is_some_and(|i| ids.contains(&i)))?;
    let result = r.global(f.def.as_ref()?.result_type?)?;
    Some((f.parameters.len(), result.class.opcode))
}

fn hole(r: &Reflected<'_>, decl: &KernelDecl, h: &HoleDecl) -> Result<(), String> {
    let raw = if h.ty.width() == 1 { Op::TypeInt } else { Op::TypeVector };
    let result = match h.ty {
        HoleType::Float => Op::TypeFloat,
        HoleType::Uint => Op::TypeInt,
        HoleType::Vec4 | HoleType::Uvec4 => Op::TypeVector,
        HoleType::Void1 | HoleType::Void4 => Op::TypeVoid,
    };
    let coords = h.coords.len();
    let mut expected = vec![(format!("hole_{}(", h.name), h.values.len() + coords, result)];
    if decl.slots > 0 {
        expected.push((format!("slotload_{}(", h.name), 1 + coords, raw));
        if h.stores {
            expected.push((format!("slotstore_{}(", h.name), 2 + coords, Op::TypeVoid));
        }
        if h.ty == HoleType::Void1 {
            expected.push((format!("slotload64_{}(", h.name), 1 + coords, Op::TypeVector));
            expected.push((format!("slotstore64_{}(", h.name), 2 + coords, Op::TypeVoid));
        }
    }
    for (prefix, params, result) in expected {
        match function(r, &prefix) {
            Some(found) if found == (params, result) => {}
            Some(found) => return Err(format!("`{prefix}` has {found:?}, declared {:?}", (params, result))),
            None => return Err(format!("no function `{prefix}`")),
        }
    }
    Ok(())
}

fn specs(r: &Reflected<'_>, decl: &KernelDecl, coverage: &mut Coverage) -> Result<(), String> {
    for i in &r.module.types_global_values {
        let Some(id) = i.result_id.and_then(|id| r.decorated(id, Decoration::SpecId)) else { continue };
        let value = match (i.class.opcode, i.operands.first()) {
            (Op::SpecConstant, Some(Operand::LiteralBit32(v))) => *v,
            (Op::SpecConstantTrue, _) => 1,
            _ => 0,
        };
        let typed = decl.operands.iter().enumerate().any(|(k, o)| o.typed && TYPED_ID + k as u32 == id);
        let declared = decl.specs.iter().find(|s| s.id == id);
        coverage.specs.insert(id);
        let expected = if id == VARIES_ID {
            Some(1)
        } else if id == KEEP_ID || typed {
            Some(0)
        } else {
            declared.map(|s| s.default)
        };
        if expected != Some(value) {
            return Err(format!("specialization constant {id} = {value}, declared {expected:?}"));
        }
    }
    Ok(())
}
