//! Changing compiled kernels by the names their GLSL has: what a function gives back, which function is called, which
//! instruction stands somewhere. Every change says how often it applied, so that one that met nothing is noticed.

use rspirv::dr::{Instruction, Module, Operand};
use rspirv::spirv::{Op, Word};

/// A kernel module under change.
pub struct Kernel {
    module: Module,
}

impl Kernel {
    /// Reads a module.
    pub fn read(words: &[u32]) -> Result<Kernel, String> {
        let module = rspirv::dr::load_words(words).map_err(|e| e.to_string())?;
        Ok(Kernel { module })
    }

    /// The module's words.
    pub fn words(&self) -> Vec<u32> {
        use rspirv::binary::Assemble;
        self.module.assemble()
    }

    /// Ids of functions whose GLSL name is this; overloads have several.
    fn functions(&self, name: &str) -> Vec<Word> {
        let named = self.module.debug_names.iter().filter_map(|i| match &i.operands[..] {
            [Operand::IdRef(id), Operand::LiteralString(text)] => Some((*id, text.as_str())),
            _ => None,
        });
        named
            .filter(|(_, text)| text.split('(').next() == Some(name) && text.contains('('))
            .map(|(id, _)| id)
            .collect()
    }

    fn bodies(&mut self, name: &str) -> impl Iterator<Item = &mut rspirv::dr::Function> {
        let ids = self.functions(name);
        self.module.functions.iter_mut().filter(move |f| f.def_id().is_some_and(|id| ids.contains(&id)))
    }

    /// Every call of `from`, in any function, calls `to` instead.
    pub fn call_instead(&mut self, from: &str, to: &str) -> usize {
        let (from, to) = (self.functions(from), self.functions(to));
        let [to] = to[..] else { return 0 };
        let mut changed = 0;
        for inst in self.module.all_inst_iter_mut().filter(|i| i.class.opcode == Op::FunctionCall) {
            match &mut inst.operands[0] {
                Operand::IdRef(id) if from.contains(id) => {
                    *id = to;
                    changed += 1;
                }
                _ => {}
            }
        }
        changed
    }

    /// What functions of that name give back goes through `op` with the constant `value` first; u32 functions only.
    pub fn map_result(&mut self, name: &str, op: Op, value: u32) -> usize {
        let ids = self.functions(name);
        let Some(result_type) = ids.first().and_then(|id| self.result_type(*id)) else { return 0 };
        let constant = self.new_id();
        self.module.types_global_values.push(Instruction::new(
            Op::Constant,
            Some(result_type),
            Some(constant),
            vec![Operand::LiteralBit32(value)],
        ));
        let mut fresh = self.module.header.as_ref().map_or(0, |h| h.bound);
        let mut changed = 0;
        for body in self.bodies(name) {
            for block in &mut body.blocks {
                let Some(last) = block.instructions.last_mut().filter(|i| i.class.opcode == Op::ReturnValue)
                else {
                    continue;
                };
                let old = std::mem::replace(&mut last.operands[0], Operand::IdRef(fresh));
                let inst =
                    Instruction::new(op, Some(result_type), Some(fresh), vec![old, Operand::IdRef(constant)]);
                let at = block.instructions.len() - 1;
                block.instructions.insert(at, inst);
                fresh += 1;
                changed += 1;
            }
        }
        if let Some(header) = &mut self.module.header {
            header.bound = fresh;
        }
        changed
    }

    /// Every instruction of that kind in functions of that name becomes another kind with the same operands.
    pub fn replace(&mut self, function: &str, from: Op, to: Op) -> usize {
        let class = Instruction::new(to, None, None, vec![]).class;
        let mut changed = 0;
        for body in self.bodies(function) {
            for inst in
                body.blocks.iter_mut().flat_map(|b| &mut b.instructions).filter(|i| i.class.opcode == from)
            {
                inst.class = class;
                changed += 1;
            }
        }
        changed
    }

    /// Integer comparisons of that kind in functions of that name become true whatever they compare.
    pub fn always(&mut self, function: &str, comparison: Op) -> usize {
        self.compare_with_itself(function, comparison, Op::IEqual)
    }

    /// Integer comparisons of that kind in functions of that name become false whatever they compare.
    pub fn never(&mut self, function: &str, comparison: Op) -> usize {
        self.compare_with_itself(function, comparison, Op::INotEqual)
    }

    fn compare_with_itself(&mut self, function: &str, comparison: Op, to: Op) -> usize {
        let class = Instruction::new(to, None, None, vec![]).class;
        let mut changed = 0;
        for body in self.bodies(function) {
            let insts = body.blocks.iter_mut().flat_map(|b| &mut b.instructions);
            for inst in insts.filter(|i| i.class.opcode == comparison) {
                inst.class = class;
                inst.operands[1] = inst.operands[0].clone();
                changed += 1;
            }
        }
        changed
    }

    /// Instructions of that kind in functions of that name give back their first operand.
    pub fn first_operand(&mut self, function: &str, op: Op) -> usize {
        let class = Instruction::new(Op::CopyObject, None, None, vec![]).class;
        let mut changed = 0;
        for body in self.bodies(function) {
            for inst in
                body.blocks.iter_mut().flat_map(|b| &mut b.instructions).filter(|i| i.class.opcode == op)
            {
                inst.class = class;
                inst.operands.truncate(1);
                changed += 1;
            }
        }
        changed
    }

    /// Float constants within a thousandth of `near` become `by` times as large.
    pub fn scale_constant(&mut self, near: f32, by: f32) -> usize {
        let is_float =
            |i: &&Instruction| i.class.opcode == Op::TypeFloat && i.operands[0] == Operand::LiteralBit32(32);
        let globals = &mut self.module.types_global_values;
        let Some(float) = globals.iter().find(is_float).and_then(|i| i.result_id) else { return 0 };
        let mut changed = 0;
        for inst in
            globals.iter_mut().filter(|i| i.class.opcode == Op::Constant && i.result_type == Some(float))
        {
            let Operand::LiteralBit32(bits) = &mut inst.operands[0] else { continue };
            let value = f32::from_bits(*bits);
            if (value - near).abs() <= 1e-3 * near.abs() {
                *bits = (value * by).to_bits();
                changed += 1;
            }
        }
        changed
    }

    /// Takes out every instruction of a kind that has no result.
    pub fn remove(&mut self, op: Op) -> usize {
        let mut changed = 0;
        for block in self.module.functions.iter_mut().flat_map(|f| &mut f.blocks) {
            let before = block.instructions.len();
            block.instructions.retain(|i| i.class.opcode != op);
            changed += before - block.instructions.len();
        }
        changed
    }

    fn result_type(&self, function: Word) -> Option<Word> {
        let found = self.module.functions.iter().find(|f| f.def_id() == Some(function))?;
        found.def.as_ref()?.result_type
    }

    fn new_id(&mut self) -> Word {
        let Some(header) = &mut self.module.header else { return 0 };
        header.bound += 1;
        header.bound - 1
    }
}
