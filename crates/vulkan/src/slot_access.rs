//! Descriptor form only: tells the module which slots a call reads and which it writes.
//!
//! A template reaches every slot through one switch, so each of its buffers looks both read and written, and
//! synchronization validation would see hazards between readers, and miss real ones. Here the stores to slots that
//! the call only reads are taken out (and the buffer is marked `NonWritable`), and the loads of slots it only writes
//! become undefined values (`NonReadable`). Those instructions are never executed by the call, so nothing it computes
//! changes.

use crate::pipelines::PipelineRequest;
use pumice_plan::Access;
use pumice_plan::kernel::KernelDecl;
use rspirv::binary::Assemble;
use rspirv::dr::{Instruction, Loader, Module, Operand};
use rspirv::spirv::{Decoration, Op, Word};
use std::collections::BTreeMap;

/// What a call does to the buffer of one binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SlotAccess {
    /// The slot's binding.
    pub(crate) binding: u32,
    /// Some use of the buffer reads.
    pub(crate) reads: bool,
    /// Some use of the buffer writes.
    pub(crate) writes: bool,
}

impl SlotAccess {
    /// The accesses of every slot of a call; slots that are not bound are neither read nor written.
    pub(crate) fn of(decl: &KernelDecl, request: PipelineRequest<'_>) -> Vec<SlotAccess> {
        let first = decl.operands.len() as u32;
        (0..decl.slots)
            .map(|slot| {
                let bound = request.call.slots.get(slot as usize);
                let access = bound.and_then(|u| request.uses.get(usize::from(u.0))).map(|u| u.access);
                SlotAccess {
                    binding: first + slot,
                    reads: matches!(access, Some(Access::ShaderRead | Access::StatusAtomic)),
                    writes: matches!(access, Some(Access::ShaderWrite | Access::StatusAtomic)),
                }
            })
            .collect()
    }
}

/// A module that cannot be read.
#[derive(thiserror::Error)]
#[error("the module cannot be parsed: {0}")]
pub(crate) struct TightenError(String);

pumice_types::debug_as_display!(TightenError);

/// The module with the accesses it does not make removed.
pub(crate) fn tighten(words: &[u32], accesses: &[SlotAccess]) -> Result<Vec<u32>, TightenError> {
    if accesses.is_empty() {
        return Ok(words.to_vec());
    }
    let mut loader = Loader::new();
    rspirv::binary::parse_words(words, &mut loader).map_err(|e| TightenError(format!("{e:?}")))?;
    let mut module = loader.module();
    let slots = slot_variables(&module, accesses);
    let pointers = pointers_into(&module, &slots);
    for function in &mut module.functions {
        for block in &mut function.blocks {
            block.instructions.retain_mut(|i| keep(i, &pointers));
        }
    }
    mark(&mut module, &slots);
    Ok(module.assemble())
}

/// Variables by id, for the bindings of slots.
fn slot_variables(module: &Module, accesses: &[SlotAccess]) -> BTreeMap<Word, SlotAccess> {
    let mut slots = BTreeMap::new();
    for i in &module.annotations {
        if let (
            Op::Decorate,
            [Operand::IdRef(id), Operand::Decoration(Decoration::Binding), Operand::LiteralBit32(b)],
        ) = (i.class.opcode, i.operands.as_slice())
            && let Some(access) = accesses.iter().find(|a| a.binding == *b)
        {
            slots.insert(*id, *access);
        }
    }
    slots
}

/// Every pointer derived from a slot's variable. A module defines ids before it uses them within a block, and
/// pointers into storage buffers are not passed between functions here, so one walk in order finds them all.
fn pointers_into(module: &Module, slots: &BTreeMap<Word, SlotAccess>) -> BTreeMap<Word, SlotAccess> {
    let mut pointers = slots.clone();
    for i in module.all_inst_iter() {
        if matches!(i.class.opcode, Op::AccessChain | Op::InBoundsAccessChain | Op::CopyObject)
            && let (Some(result), Some(Operand::IdRef(base))) = (i.result_id, i.operands.first())
            && let Some(access) = pointers.get(base).copied()
        {
            pointers.insert(result, access);
        }
    }
    pointers
}

fn keep(i: &mut Instruction, pointers: &BTreeMap<Word, SlotAccess>) -> bool {
    let Some(Operand::IdRef(pointer)) = i.operands.first() else { return true };
    let Some(access) = pointers.get(pointer) else { return true };
    match i.class.opcode {
        Op::Store => access.writes,
        Op::Load if !access.reads => {
            *i = Instruction::new(Op::Undef, i.result_type, i.result_id, Vec::new());
            true
        }
        op if is_atomic(op) && !(access.reads && access.writes) => {
            *i = Instruction::new(Op::Undef, i.result_type, i.result_id, Vec::new());
            true
        }
        _ => true,
    }
}

fn is_atomic(op: Op) -> bool {
    matches!(op, Op::AtomicOr | Op::AtomicUMin | Op::AtomicIAdd | Op::AtomicUMax | Op::AtomicExchange)
}

fn mark(module: &mut Module, slots: &BTreeMap<Word, SlotAccess>) {
    for (&id, access) in slots {
        let mut decorate = |decoration| {
            let operands = vec![Operand::IdRef(id), Operand::Decoration(decoration)];
            module.annotations.push(Instruction::new(Op::Decorate, None, None, operands));
        };
        if !access.writes {
            decorate(Decoration::NonWritable);
        }
        if !access.reads {
            decorate(Decoration::NonReadable);
        }
    }
}
