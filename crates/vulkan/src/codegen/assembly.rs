//! A SPIR-V module being edited: types and constants without duplicates, functions by name, bodies replaced.
//!
//! In: the words of a module. Out: the words of the edited one. Nothing here knows what a hole is.

use super::CodegenError;
use pumice_types::scalar::RegType;
use rspirv::binary::Assemble;
use rspirv::dr::{Instruction, Module, Operand, load_words};
use rspirv::spirv::{Capability, Decoration, ExecutionMode, Op, StorageClass, Word};
use std::collections::BTreeSet;

/// The module.
pub(super) struct Assembly {
    module: Module,
    bound: Word,
}

/// A parameter of a function. glslang passes everything by pointers to variables of the caller.
#[derive(Clone, Copy, Debug)]
pub(super) struct Param {
    pub(super) id: Word,
    /// The type of the value, after the pointer if there is one.
    pub(super) ty: Word,
    /// The pointer type, if it is passed by pointer.
    pub(super) pointer: Option<Word>,
}

/// The addresses of operands and slots among the push constants.
#[derive(Clone, Copy, Debug)]
pub(super) struct PushedAddresses {
    pub(super) variable: Word,
    /// Which member of the push constants they are.
    pub(super) member: u32,
    /// How many there are, two words each.
    pub(super) count: u32,
}

/// A function of the module.
#[derive(Clone, Debug)]
pub(super) struct Function {
    pub(super) id: Word,
    pub(super) result: Word,
    pub(super) params: Vec<Param>,
    index: usize,
}

impl Assembly {
    pub(super) fn read(words: &[u32]) -> Result<Assembly, CodegenError> {
        if !framed(words) {
            return Err(CodegenError::Module("an instruction runs beyond the end".to_owned()));
        }
        let module = load_words(words).map_err(|e| CodegenError::Module(e.to_string()))?;
        let header = module.header.as_ref();
        let bound = header.ok_or_else(|| CodegenError::Module("no header".to_owned()))?.bound;
        Ok(Assembly { module, bound })
    }

    pub(super) fn words(mut self) -> Vec<u32> {
        if let Some(header) = &mut self.module.header {
            header.bound = self.bound;
        }
        self.module.assemble()
    }

    pub(super) fn fresh(&mut self) -> Word {
        self.bound += 1;
        self.bound - 1
    }

    /// Declares a capability, once.
    pub(super) fn capability(&mut self, capability: Capability) {
        let inst = Instruction::new(Op::Capability, None, None, vec![Operand::Capability(capability)]);
        if !self.module.capabilities.contains(&inst) {
            self.module.capabilities.push(inst);
        }
    }

    /// Declares an f32 execution mode of every entry point, once.
    pub(super) fn float_control(&mut self, capability: Capability, mode: ExecutionMode) {
        self.capability(capability);
        let entries = self.module.entry_points.iter().filter_map(|e| match e.operands.get(1) {
            Some(&Operand::IdRef(id)) => Some(id),
            _ => None,
        });
        for entry in entries.collect::<Vec<_>>() {
            let operands =
                vec![Operand::IdRef(entry), Operand::ExecutionMode(mode), Operand::LiteralBit32(32)];
            let inst = Instruction::new(Op::ExecutionMode, None, None, operands);
            if !self.module.execution_modes.contains(&inst) {
                self.module.execution_modes.push(inst);
            }
        }
    }

    /// The id of the extended instruction set GLSL.std.450.
    pub(super) fn glsl(&mut self) -> Word {
        let name = Operand::LiteralString("GLSL.std.450".to_owned());
        let known = self.module.ext_inst_imports.iter().find(|i| i.operands.first() == Some(&name));
        if let Some(id) = known.and_then(|i| i.result_id) {
            return id;
        }
        let id = self.fresh();
        self.module.ext_inst_imports.push(Instruction::new(Op::ExtInstImport, None, Some(id), vec![name]));
        id
    }

    /// The id of a type or constant: the module's own if it has an equal one.
    pub(super) fn global(&mut self, op: Op, ty: Option<Word>, operands: Vec<Operand>) -> Word {
        let equal = |i: &&Instruction| i.class.opcode == op && i.result_type == ty && i.operands == operands;
        if let Some(id) = self.module.types_global_values.iter().find(equal).and_then(|i| i.result_id) {
            return id;
        }
        let id = self.fresh();
        self.module.types_global_values.push(Instruction::new(op, ty, Some(id), operands));
        id
    }

    /// The type of registers of type `ty`, `width` elements at once.
    pub(super) fn reg_type(&mut self, ty: RegType, width: u32) -> Word {
        let int = |bits, signed| vec![Operand::LiteralBit32(bits), Operand::LiteralBit32(signed)];
        let (op, operands) = match ty {
            RegType::F32 => (Op::TypeFloat, vec![Operand::LiteralBit32(32)]),
            RegType::I32 => (Op::TypeInt, int(32, 1)),
            RegType::U32 => (Op::TypeInt, int(32, 0)),
            RegType::I64 => (Op::TypeInt, int(64, 1)),
            RegType::U64 => (Op::TypeInt, int(64, 0)),
            RegType::Bool => (Op::TypeBool, Vec::new()),
        };
        if ty.bits() == 64 {
            self.capability(Capability::Int64);
        }
        let scalar = self.global(op, None, operands);
        self.vector(scalar, width)
    }

    /// A vector of `width` elements, or the element itself.
    pub(super) fn vector(&mut self, element: Word, width: u32) -> Word {
        if width == 1 {
            return element;
        }
        self.global(Op::TypeVector, None, vec![Operand::IdRef(element), Operand::LiteralBit32(width)])
    }

    /// A struct of two members of one type. Only one that carries no decoration is taken for it.
    pub(super) fn pair(&mut self, ty: Word) -> Word {
        let operands = vec![Operand::IdRef(ty); 2];
        let decorated: BTreeSet<Word> = self.module.annotations.iter().filter_map(target).collect();
        let known = self.module.types_global_values.iter().find(|i| {
            i.class.opcode == Op::TypeStruct
                && i.operands == operands
                && i.result_id.is_some_and(|id| !decorated.contains(&id))
        });
        if let Some(id) = known.and_then(|i| i.result_id) {
            return id;
        }
        let id = self.fresh();
        self.module.types_global_values.push(Instruction::new(Op::TypeStruct, None, Some(id), operands));
        id
    }

    /// A constant of a register type, the same in every element.
    pub(super) fn constant(&mut self, ty: RegType, bits: u64, width: u32) -> Word {
        let scalar = self.reg_type(ty, 1);
        let one = match ty {
            RegType::Bool if bits != 0 => self.global(Op::ConstantTrue, Some(scalar), Vec::new()),
            RegType::Bool => self.global(Op::ConstantFalse, Some(scalar), Vec::new()),
            _ if ty.bits() == 64 => {
                self.global(Op::Constant, Some(scalar), vec![Operand::LiteralBit64(bits)])
            }
            _ => self.global(Op::Constant, Some(scalar), vec![Operand::LiteralBit32(bits as u32)]),
        };
        if width == 1 {
            return one;
        }
        let vector = self.reg_type(ty, width);
        self.global(Op::ConstantComposite, Some(vector), vec![Operand::IdRef(one); width as usize])
    }

    /// The addresses among the push constants; none in a module whose arguments lie in a block.
    pub(super) fn pushed_addresses(&self) -> Option<PushedAddresses> {
        let push = |i: &&Instruction| {
            i.class.opcode == Op::Variable
                && i.operands.first() == Some(&Operand::StorageClass(StorageClass::PushConstant))
        };
        let variable = self.module.types_global_values.iter().find(push)?;
        let [_, Operand::IdRef(pushed)] = self.type_inst(variable.result_type?)?.operands.as_slice() else {
            return None;
        };
        // { frame, vary, addr, args }, as the interface declares them.
        let member = 2;
        let Operand::IdRef(array) = self.type_inst(*pushed)?.operands.get(member as usize)? else {
            return None;
        };
        let [_, Operand::IdRef(length)] = self.type_inst(*array)?.operands.as_slice() else { return None };
        let [Operand::LiteralBit32(count)] = self.type_inst(*length)?.operands.as_slice() else {
            return None;
        };
        Some(PushedAddresses { variable: variable.result_id?, member, count: *count })
    }

    /// The type of pointers to variables of type `ty` in a function.
    pub(super) fn variable_type(&mut self, ty: Word) -> Word {
        let class = Operand::StorageClass(StorageClass::Function);
        self.global(Op::TypePointer, None, vec![class, Operand::IdRef(ty)])
    }

    /// Marks an instruction as one that may be neither contracted nor rearranged.
    pub(super) fn no_contraction(&mut self, id: Word) {
        let operands = vec![Operand::IdRef(id), Operand::Decoration(Decoration::NoContraction)];
        self.module.annotations.push(Instruction::new(Op::Decorate, None, None, operands));
    }

    /// What a type is: `None` for void, else the register type of its elements and how many there are.
    pub(super) fn describe(&self, ty: Word) -> Option<Shape> {
        let inst = self.type_inst(ty)?;
        match (inst.class.opcode, inst.operands.as_slice()) {
            (Op::TypeVoid, _) => Some(Shape::Void),
            (Op::TypeFloat, [Operand::LiteralBit32(32), ..]) => Some(Shape::Elements(RegType::F32, 1)),
            (Op::TypeInt, [Operand::LiteralBit32(32), Operand::LiteralBit32(0)]) => {
                Some(Shape::Elements(RegType::U32, 1))
            }
            (Op::TypeVector, [Operand::IdRef(element), Operand::LiteralBit32(n)]) => {
                match self.describe(*element)? {
                    Shape::Elements(reg, 1) => Some(Shape::Elements(reg, *n)),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// The function whose GLSL name is `name`.
    pub(super) fn function(&self, name: &str) -> Result<Option<Function>, CodegenError> {
        let Some(id) = self.named(name) else { return Ok(None) };
        let position = self.module.functions.iter().position(|f| f.def_id() == Some(id));
        let bad = || CodegenError::Signature { function: name.to_owned() };
        let index = position.ok_or_else(bad)?;
        let function = &self.module.functions[index];
        let result = function.def.as_ref().and_then(|d| d.result_type).ok_or_else(bad)?;
        let mut params = Vec::new();
        for p in &function.parameters {
            let (id, ty) = p.result_id.zip(p.result_type).ok_or_else(bad)?;
            let pointee = self.type_inst(ty).filter(|i| i.class.opcode == Op::TypePointer);
            params.push(match pointee.map(|i| i.operands.as_slice()) {
                Some([_, Operand::IdRef(to)]) => Param { id, ty: *to, pointer: Some(ty) },
                _ => Param { id, ty, pointer: None },
            });
        }
        Ok(Some(Function { id, result, params, index }))
    }

    /// Replaces the body of a function and forgets names and decorations of what was in it.
    pub(super) fn replace(&mut self, function: &Function, code: Vec<Instruction>) {
        let blocks = &mut self.module.functions[function.index].blocks;
        let defines = |b: &rspirv::dr::Block| {
            let label = b.label.iter().filter_map(|l| l.result_id);
            label.chain(b.instructions.iter().filter_map(|i| i.result_id)).collect::<Vec<_>>()
        };
        let mut gone: BTreeSet<Word> = blocks.iter().flat_map(defines).collect();
        blocks.truncate(1);
        for block in blocks.iter_mut() {
            block.label.iter().filter_map(|l| l.result_id).for_each(|id| {
                gone.remove(&id);
            });
            block.instructions = code.clone();
        }
        let kept = |i: &Instruction| target(i).is_none_or(|id| !gone.contains(&id));
        self.module.debug_names.retain(kept);
        self.module.annotations.retain(kept);
    }

    /// glslang names functions with their parameter types after a parenthesis.
    fn named(&self, name: &str) -> Option<Word> {
        self.module.debug_names.iter().find_map(|i| match i.operands.as_slice() {
            [Operand::IdRef(id), Operand::LiteralString(text)]
                if text.strip_prefix(name).is_some_and(|rest| rest.starts_with('(')) =>
            {
                Some(*id)
            }
            _ => None,
        })
    }

    fn type_inst(&self, id: Word) -> Option<&Instruction> {
        self.module.types_global_values.iter().find(|i| i.result_id == Some(id))
    }
}

/// What a type of a hole function may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// No value.
    Void,
    /// F32 or U32 elements, this many.
    Elements(RegType, u32),
}

/// Whether the instructions, each as long as its first word says, end where the words do. The parser takes that for
/// granted.
fn framed(words: &[u32]) -> bool {
    let mut rest = words.get(5..).unwrap_or(&[]);
    while let Some(&first) = rest.first() {
        let length = (first >> 16) as usize;
        match rest.get(length..) {
            Some(next) if length > 0 => rest = next,
            _ => return false,
        }
    }
    words.len() > 5
}

/// The id that a name or decoration is about.
fn target(i: &Instruction) -> Option<Word> {
    match i.operands.first() {
        Some(&Operand::IdRef(id)) => Some(id),
        _ => None,
    }
}
