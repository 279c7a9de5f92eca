//! The body of one filled hole: inputs in, the expression, stores and the result out.
//!
//! In: a module and a fill. Out: the module with that hole's function replaced. Slot loaders and storers are called
//! with the hole's own coordinates; each slot is loaded once.

use super::CodegenError;
use super::assembly::{Assembly, Function, Param, Shape};
use super::lower::Code;
use pumice_plan::kernel::{HoleFill, HoleInput};
use pumice_types::scalar::RegType;
use rspirv::dr::{Instruction, Operand};
use rspirv::spirv::{Op, StorageClass, Word};
use std::collections::BTreeMap;

/// The functions a hole consists of.
struct Hole<'f> {
    fill: &'f HoleFill,
    function: Function,
    /// How many of the params are values; the rest are coordinates.
    values: usize,
    width: u32,
}

/// Replaces the body of the hole that `fill` names.
pub(super) fn fill(assembly: &mut Assembly, fill: &HoleFill, folds_zeros: bool) -> Result<(), CodegenError> {
    let hole = Hole::find(assembly, fill)?;
    let (variables, width) = (Vec::new(), hole.width);
    let mut code = Code { assembly, variables, code: Vec::new(), width, folds_zeros };
    let inputs = hole.inputs(&mut code)?;
    let registers = code.lower(&fill.expr, &inputs);
    hole.stores(&mut code, &registers)?;
    hole.result(&mut code, &registers)?;
    let Code { variables, code, .. } = code;
    assembly.replace(&hole.function, variables.into_iter().chain(code).collect());
    Ok(())
}

/// Elements that a hole works on at once: values and result have one type; a hole without them works at the width of
/// its loader. Nothing where they disagree.
fn width(assembly: &Assembly, function: &Function, values: usize, loader: Option<&Function>) -> Option<u32> {
    let of_function = std::iter::once(function.result).chain(function.params[..values].iter().map(|p| p.ty));
    let of_loader = loader.iter().map(|l| l.result);
    let mut widths = of_function.chain(of_loader).filter_map(|ty| match assembly.describe(ty) {
        Some(Shape::Elements(_, n)) => Some(n),
        _ => None,
    });
    let width = widths.next()?;
    (widths.all(|w| w == width) && (width == 1 || width == 4)).then_some(width)
}

/// Loads a word of the slots' addresses in the push constants, if there is one for that literal.
fn pushed_literal(code: &mut Code<'_>, index: u8) -> Option<Word> {
    let addresses = code.assembly.pushed_addresses()?;
    let word = (2 * addresses.count).checked_sub(1 + u32::from(index))?;
    let uint = code.assembly.reg_type(RegType::U32, 1);
    let class = vec![Operand::StorageClass(StorageClass::PushConstant), Operand::IdRef(uint)];
    let pointer = code.assembly.global(Op::TypePointer, None, class);
    let mut path = vec![Operand::IdRef(addresses.variable)];
    for step in [addresses.member, word / 2, word % 2] {
        path.push(Operand::IdRef(code.assembly.constant(RegType::U32, step.into(), 1)));
    }
    let at = code.push(Op::AccessChain, pointer, path);
    Some(code.push(Op::Load, uint, vec![Operand::IdRef(at)]))
}

impl<'f> Hole<'f> {
    fn find(assembly: &Assembly, fill: &'f HoleFill) -> Result<Hole<'f>, CodegenError> {
        let name = &fill.hole;
        let function = needed(assembly, name, format!("hole_{name}"))?;
        let bad = || CodegenError::Signature { function: format!("hole_{name}") };
        let loader = assembly.function(&format!("slotload_{name}"))?;
        let coordinates = loader.as_ref().map_or(0, |l| l.params.len().saturating_sub(1));
        let values = function.params.len().checked_sub(coordinates).ok_or_else(bad)?;
        let width = width(assembly, &function, values, loader.as_ref()).ok_or_else(bad)?;
        if fill.inputs.len() != fill.expr.inputs().len() {
            let (expected, given) = (fill.expr.inputs().len(), fill.inputs.len());
            return Err(CodegenError::Inputs { hole: name.to_string(), expected, given });
        }
        if let (true, Some(ty)) = (width > 1, wide_register(fill)) {
            return Err(CodegenError::Type { hole: name.to_string(), ty, width });
        }
        Ok(Hole { fill, function, values, width })
    }

    /// The ids of the expression's inputs.
    fn inputs(&self, code: &mut Code<'_>) -> Result<Vec<Word>, CodegenError> {
        let mut loaded: BTreeMap<(u8, bool), Word> = BTreeMap::new();
        let mut ids = Vec::new();
        for (i, (input, &ty)) in self.fill.inputs.iter().zip(self.fill.expr.inputs()).enumerate() {
            let wide = ty.bits() == 64;
            ids.push(match *input {
                HoleInput::Value(index) => self.value(code, index, ty)?,
                HoleInput::Literal(index) => self.literal(code, index, ty)?,
                HoleInput::Slot(slot) => {
                    let raw = match loaded.get(&(slot, wide)) {
                        Some(&id) => id,
                        None => self.load(code, slot, wide)?,
                    };
                    loaded.insert((slot, wide), raw);
                    let raw_type = if wide { None } else { Some(RegType::U32) };
                    if self.stays_words(i) { raw } else { self.register(code, raw, raw_type, ty) }
                }
            });
        }
        Ok(ids)
    }

    /// Whether a register is a 64-bit input that no instruction takes. It stays the two words it was loaded as, so that
    /// moving it needs no 64-bit integers.
    fn stays_words(&self, register: usize) -> bool {
        let expr = &self.fill.expr;
        let wide = expr.inputs().get(register).is_some_and(|ty| ty.bits() == 64);
        wide && !expr.insts().iter().any(|i| i.args.iter().any(|r| r.0 as usize == register))
    }

    fn value(&self, code: &mut Code<'_>, index: u8, ty: RegType) -> Result<Word, CodegenError> {
        let hole = || self.fill.hole.to_string();
        let params = &self.function.params[..self.values];
        let param = params.get(usize::from(index)).copied();
        let param =
            param.ok_or_else(|| CodegenError::NoValue { hole: hole(), index, values: self.values })?;
        let Some(Shape::Elements(raw_type, _)) = code.assembly.describe(param.ty) else {
            return Err(CodegenError::Signature { function: format!("hole_{}", self.fill.hole) });
        };
        if ty.bits() == 64 {
            return Err(CodegenError::Type { hole: hole(), ty, width: self.width });
        }
        let raw = read(code, param);
        Ok(self.register(code, raw, Some(raw_type), ty))
    }

    /// A literal of the call, the same in every element: a word of the slots' addresses in the push constants.
    fn literal(&self, code: &mut Code<'_>, index: u8, ty: RegType) -> Result<Word, CodegenError> {
        let hole = || self.fill.hole.to_string();
        if ty.bits() == 64 {
            return Err(CodegenError::Type { hole: hole(), ty, width: self.width });
        }
        let one =
            pushed_literal(code, index).ok_or_else(|| CodegenError::NoLiteral { hole: hole(), index })?;
        let raw = if self.width == 1 {
            one
        } else {
            let vector = code.assembly.reg_type(RegType::U32, self.width);
            code.push(Op::CompositeConstruct, vector, vec![Operand::IdRef(one); self.width as usize])
        };
        Ok(self.register(code, raw, Some(RegType::U32), ty))
    }

    /// Calls the slot loader at the hole's coordinates; a wide load gives two words.
    fn load(&self, code: &mut Code<'_>, slot: u8, wide: bool) -> Result<Word, CodegenError> {
        let loader = self.slot_function(code, "slotload", wide)?;
        let mut args = vec![code.assembly.constant(RegType::U32, slot.into(), 1)];
        args.extend(self.coordinates(code));
        self.call(code, &loader, &args)
    }

    fn stores(&self, code: &mut Code<'_>, registers: &[Word]) -> Result<(), CodegenError> {
        for &(slot, index) in &self.fill.stores {
            let (id, ty) = self.output(registers, index)?;
            let wide = ty.bits() == 64;
            let moved = self.fill.expr.outputs().get(usize::from(index));
            let bits = if moved.is_some_and(|r| self.stays_words(r.0 as usize)) {
                id
            } else {
                self.to_bits(code, id, ty, if wide { None } else { Some(RegType::U32) })
            };
            let storer = self.slot_function(code, "slotstore", wide)?;
            let mut args = vec![code.assembly.constant(RegType::U32, slot.into(), 1)];
            args.extend(self.coordinates(code));
            args.push(bits);
            self.call(code, &storer, &args)?;
        }
        Ok(())
    }

    /// Ends the body with the result, if the hole has one.
    fn result(&self, code: &mut Code<'_>, registers: &[Word]) -> Result<(), CodegenError> {
        let wrong = |expected| CodegenError::Result { hole: self.fill.hole.to_string(), expected };
        match (code.assembly.describe(self.function.result), self.fill.result) {
            (Some(Shape::Void), None) => code.code.push(Instruction::new(Op::Return, None, None, Vec::new())),
            (Some(Shape::Elements(raw_type, _)), Some(index)) => {
                let (id, ty) = self.output(registers, index)?;
                if ty.bits() == 64 {
                    return Err(CodegenError::Type {
                        hole: self.fill.hole.to_string(),
                        ty,
                        width: self.width,
                    });
                }
                let id = self.to_bits(code, id, ty, Some(raw_type));
                let value = vec![Operand::IdRef(id)];
                code.code.push(Instruction::new(Op::ReturnValue, None, None, value));
            }
            (Some(Shape::Void), Some(_)) => return Err(wrong("not taken")),
            _ => return Err(wrong("needed")),
        }
        Ok(())
    }

    fn output(&self, registers: &[Word], index: u16) -> Result<(Word, RegType), CodegenError> {
        let expr = &self.fill.expr;
        let reg = expr.outputs().get(usize::from(index));
        let known = reg.and_then(|&r| Some((*registers.get(r.0 as usize)?, expr.reg_type(r)?)));
        known.ok_or_else(|| CodegenError::NoOutput { hole: self.fill.hole.to_string(), index })
    }

    /// The hole's coordinates as values.
    fn coordinates(&self, code: &mut Code<'_>) -> Vec<Word> {
        self.function.params[self.values..].iter().map(|&p| read(code, p)).collect()
    }

    fn slot_function(&self, code: &Code<'_>, verb: &str, wide: bool) -> Result<Function, CodegenError> {
        let bits = if wide { "64" } else { "" };
        needed(code.assembly, &self.fill.hole, format!("{verb}{bits}_{}", self.fill.hole))
    }

    /// A call; params passed by pointer get a variable of their own, because a callee may write to it.
    fn call(&self, code: &mut Code<'_>, callee: &Function, args: &[Word]) -> Result<Word, CodegenError> {
        if callee.params.len() != args.len() {
            return Err(CodegenError::Signature { function: format!("slot function of {}", self.fill.hole) });
        }
        let mut operands = vec![Operand::IdRef(callee.id)];
        for (param, &arg) in callee.params.iter().zip(args) {
            operands.push(Operand::IdRef(match param.pointer {
                None => arg,
                Some(_) => {
                    let pointer = code.assembly.variable_type(param.ty);
                    let id = code.assembly.fresh();
                    let class = vec![Operand::StorageClass(StorageClass::Function)];
                    code.variables.push(Instruction::new(Op::Variable, Some(pointer), Some(id), class));
                    let store = vec![Operand::IdRef(id), Operand::IdRef(arg)];
                    code.code.push(Instruction::new(Op::Store, None, None, store));
                    id
                }
            }));
        }
        Ok(code.push(Op::FunctionCall, callee.result, operands))
    }

    /// Raw bits (F32 or U32 elements, or `None` for the two words of a 64-bit one) as a register of type `to`.
    fn register(&self, code: &mut Code<'_>, raw: Word, raw_type: Option<RegType>, to: RegType) -> Word {
        if raw_type == Some(to) {
            return raw;
        }
        if to == RegType::Bool {
            let word = self.register(code, raw, raw_type, RegType::U32);
            let zero = code.constant(RegType::U32, 0);
            return code.op(Op::INotEqual, RegType::Bool, &[word, zero]);
        }
        code.op(Op::Bitcast, to, &[raw])
    }

    /// A register as raw bits; Bool as 0 or 1.
    fn to_bits(&self, code: &mut Code<'_>, id: Word, ty: RegType, raw_type: Option<RegType>) -> Word {
        match raw_type {
            Some(raw) if raw == ty => id,
            _ if ty == RegType::Bool => {
                let [one, zero] = [1, 0].map(|v| code.constant(RegType::U32, v));
                let word = code.op(Op::Select, RegType::U32, &[id, one, zero]);
                self.to_bits(code, word, RegType::U32, raw_type)
            }
            Some(raw) => code.op(Op::Bitcast, raw, &[id]),
            None => {
                let word = code.assembly.reg_type(RegType::U32, 1);
                let pair = code.assembly.vector(word, 2);
                code.push(Op::Bitcast, pair, vec![Operand::IdRef(id)])
            }
        }
    }
}

/// The value of a param.
fn read(code: &mut Code<'_>, param: Param) -> Word {
    match param.pointer {
        None => param.id,
        Some(_) => code.push(Op::Load, param.ty, vec![Operand::IdRef(param.id)]),
    }
}

fn needed(assembly: &Assembly, hole: &str, function: String) -> Result<Function, CodegenError> {
    let found = assembly.function(&function)?;
    found.ok_or_else(|| CodegenError::NoFunction { hole: hole.to_owned(), function })
}

/// A register of the expression that is a 64-bit integer.
fn wide_register(fill: &HoleFill) -> Option<RegType> {
    let expr = &fill.expr;
    expr.inputs().iter().copied().chain(expr.insts().iter().map(|i| i.ty)).find(|t| t.bits() == 64)
}
