//! Building scalar expressions.
//!
//! In: method calls on registers. Out: a [`ScalarExpr`] without dead or repeated instructions. Methods take
//! `&self` and return a register, so calls nest; the first mistake is kept and returned by
//! [`ScalarBuilder::finish`], and nothing here panics. Only instructions and plumbing are in this file: what is
//! composed lives in `arith`, `cast`, `round` and `math`.

use super::expr::{Inst, RegId, ScalarError, ScalarExpr};
use super::opcode::{Opcode, RegType};
use super::simplify;
use super::tangent::{Function, Notes, Tangent, sum};
use smallvec::SmallVec;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// A register of the builder that returned it. It must not be given to another builder: there it names a
/// different register, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reg {
    id: RegId,
    ty: RegType,
}

impl Reg {
    /// Its type.
    pub const fn ty(self) -> RegType {
        self.ty
    }

    pub(super) const fn id(self) -> RegId {
        self.id
    }
}

/// Builds one [`ScalarExpr`]. Equal instructions are made once and constants are folded as they come.
#[derive(Debug)]
pub struct ScalarBuilder {
    inputs: Vec<Reg>,
    body: RefCell<Body>,
    pub(super) notes: RefCell<Notes>,
}

#[derive(Debug, Default)]
struct Body {
    insts: Vec<Inst>,
    known: BTreeMap<Inst, RegId>,
    error: Option<ScalarError>,
}

/// An instruction by itself: bits, words, and steps of what a function is made of.
const INSTRUCTION_RULE: Function = Function::missing("an instruction without a rule of tangents");
const FLOOR_RULE: Function = Function::step("floor");
const CEIL_RULE: Function = Function::step("ceil");
const TRUNC_RULE: Function = Function::step("trunc");
const ROUND_EVEN_RULE: Function = Function::step("round_even");
/// True or false: no tangent comes of it.
const COMPARE_RULE: Function = Function::step("compare");

const FMA_RULE: Function = Function::any("fma", |b, p| {
    let left = p.tangent(0).map(|t| b.mul(t, p.operand(1)));
    let right = p.tangent(1).map(|t| b.mul(p.operand(0), t));
    sum(b, sum(b, left, right), p.tangent(2))
});

/// What is not chosen has no influence; the tangent of what stands still is +0.
const SELECT_RULE: Function =
    Function::any("select", |b, p| chosen(b, p.operand(0), p.tangent(1), p.tangent(2)));

/// c ? x : y of tangents, not both of which are 0.
pub(super) fn chosen(b: &ScalarBuilder, c: Reg, x: Tangent, y: Tangent) -> Tangent {
    let [x, y] = [x, y].map(|t| t.unwrap_or_else(|| b.f32(0.0)));
    Some(b.select(c, x, y))
}

impl ScalarExpr {
    /// Builds an expression: `f` gets the input registers and returns the outputs.
    pub fn build(
        inputs: &[RegType],
        f: impl FnOnce(&ScalarBuilder, &[Reg]) -> Vec<Reg>,
    ) -> Result<ScalarExpr, ScalarError> {
        let b = ScalarBuilder::new(inputs);
        let outputs = f(&b, b.inputs());
        b.finish(&outputs)
    }

    /// Builds a function of one value.
    pub fn unary(ty: RegType, f: impl FnOnce(&ScalarBuilder, Reg) -> Reg) -> Result<ScalarExpr, ScalarError> {
        ScalarExpr::build(&[ty], |b, x| vec![f(b, x[0])])
    }

    /// Builds a function of two values.
    pub fn binary(
        ty: [RegType; 2],
        f: impl FnOnce(&ScalarBuilder, Reg, Reg) -> Reg,
    ) -> Result<ScalarExpr, ScalarError> {
        ScalarExpr::build(&ty, |b, x| vec![f(b, x[0], x[1])])
    }
}

impl ScalarBuilder {
    /// An empty body over inputs of these types.
    pub fn new(inputs: &[RegType]) -> ScalarBuilder {
        let inputs = inputs.iter().enumerate().map(|(i, &ty)| Reg { id: RegId(i as u32), ty }).collect();
        ScalarBuilder { inputs, body: RefCell::default(), notes: RefCell::default() }
    }

    /// The input registers.
    pub fn inputs(&self) -> &[Reg] {
        &self.inputs
    }

    /// Input `i`; asking for one that was not declared is kept as an error.
    pub fn input(&self, i: usize) -> Reg {
        self.inputs.get(i).copied().unwrap_or_else(|| {
            self.fail(ScalarError::UnknownInput { index: i, inputs: self.inputs.len() }, RegType::F32)
        })
    }

    /// Inlines `expr` on `args` and returns its outputs. This is how a region of ops becomes one expression.
    pub fn compose(&self, expr: &ScalarExpr, args: &[Reg]) -> Vec<Reg> {
        let found: Vec<RegType> = args.iter().map(|r| r.ty).collect();
        if found != expr.inputs() {
            let error = ScalarError::Arguments { expected: expr.inputs().to_vec(), found };
            let types = (0..expr.outputs().len()).map(|i| expr.output_type(i).unwrap_or(RegType::F32));
            return types.map(|ty| self.fail(error.clone(), ty)).collect();
        }
        let registers = self.repeat(expr.insts(), args);
        expr.outputs().iter().map(|r| registers[r.0 as usize]).collect()
    }

    /// The registers of a body over these inputs, then those of its instructions.
    fn repeat(&self, insts: &[Inst], inputs: &[Reg]) -> Vec<Reg> {
        let mut registers = inputs.to_vec();
        for inst in insts {
            let operands: SmallVec<[Reg; 3]> = inst.args.iter().map(|r| registers[r.0 as usize]).collect();
            registers.push(self.emit(inst.op, inst.ty, &operands));
        }
        registers
    }

    /// As [`ScalarBuilder::repeat`], of another builder; none where it made a mistake, which is kept.
    pub(super) fn repeat_builder(&self, other: ScalarBuilder, inputs: &[Reg]) -> Option<Vec<Reg>> {
        let body = other.body.into_inner();
        if let Some(error) = body.error {
            self.fail(error, RegType::F32);
            return None;
        }
        Some(self.repeat(&body.insts, inputs))
    }

    /// Removes what no output needs and returns the expression, or the first mistake made.
    pub fn finish(self, outputs: &[Reg]) -> Result<ScalarExpr, ScalarError> {
        let inputs: Vec<RegType> = self.inputs.iter().map(|r| r.ty).collect();
        let body = self.body.into_inner();
        if let Some(error) = body.error {
            return Err(error);
        }
        let ids: Vec<RegId> = outputs.iter().map(|r| r.id).collect();
        let total = (inputs.len() + body.insts.len()) as u32;
        if let Some(&reg) = ids.iter().find(|id| id.0 >= total) {
            return Err(ScalarError::UndefinedRegister { reg });
        }
        let (insts, outputs) = simplify::without_dead(inputs.len(), body.insts, &ids);
        ScalarExpr::from_parts(inputs, insts, outputs)
    }

    /// The bits of a register that is a constant.
    pub fn constant_bits(&self, reg: Reg) -> Option<u64> {
        self.constant_of(reg.id)
    }

    /// Appends an instruction, or returns the register that already holds its result.
    pub(super) fn emit(&self, op: Opcode, ty: RegType, args: &[Reg]) -> Reg {
        let types: SmallVec<[RegType; 3]> = args.iter().map(|r| r.ty).collect();
        if !op.accepts(ty, &types) {
            return self.fail(ScalarError::Type { what: op.name(), found: types.to_vec() }, ty);
        }
        if let Some(&wrong) = args.iter().find(|r| self.type_of(r.id) != Some(r.ty)) {
            return self.fail(ScalarError::UndefinedRegister { reg: wrong.id }, ty);
        }
        let mut ids: SmallVec<[RegId; 3]> = args.iter().map(|r| r.id).collect();
        if op.commutes() && ids[1] < ids[0] {
            ids.swap(0, 1);
        }
        let inst = Inst { op, ty, args: ids };
        let simpler = simplify::simplify(&inst, &types, |id| self.constant_of(id), |id| self.inst_of(id));
        let id = match simpler {
            simplify::Simpler::Register(id) => id,
            simplify::Simpler::Inst(inst) => self.append(inst),
        };
        let result = Reg { id, ty };
        if !args.is_empty() {
            self.note(&INSTRUCTION_RULE, args, result);
        }
        result
    }

    /// The register that holds the result of an instruction, which is appended where none does.
    fn append(&self, inst: Inst) -> RegId {
        let mut body = self.body.borrow_mut();
        if let Some(&id) = body.known.get(&inst) {
            return id;
        }
        let id = RegId((self.inputs.len() + body.insts.len()) as u32);
        body.known.insert(inst.clone(), id);
        body.insts.push(inst);
        id
    }

    /// Keeps the first error and returns a register of type `ty` to go on with.
    pub(super) fn fail(&self, error: ScalarError, ty: RegType) -> Reg {
        self.body.borrow_mut().error.get_or_insert(error);
        self.emit(Opcode::Const(0), ty, &[])
    }

    /// Keeps a type error of a composed method.
    pub(super) fn mistyped(&self, what: &'static str, args: &[Reg]) -> Reg {
        let found: Vec<RegType> = args.iter().map(|r| r.ty).collect();
        let ty = found.first().copied().unwrap_or(RegType::F32);
        self.fail(ScalarError::Type { what, found }, ty)
    }

    fn type_of(&self, id: RegId) -> Option<RegType> {
        match self.inputs.get(id.0 as usize) {
            Some(r) => Some(r.ty),
            None => self.inst_of(id).map(|i| i.ty),
        }
    }

    fn inst_of(&self, id: RegId) -> Option<Inst> {
        let i = (id.0 as usize).checked_sub(self.inputs.len())?;
        self.body.borrow().insts.get(i).cloned()
    }

    fn constant_of(&self, id: RegId) -> Option<u64> {
        match self.inst_of(id)?.op {
            Opcode::Const(bits) => Some(bits),
            _ => None,
        }
    }
}

/// Constants.
impl ScalarBuilder {
    /// An F32 constant.
    pub fn f32(&self, v: f32) -> Reg {
        self.emit(Opcode::Const(v.to_bits() as u64), RegType::F32, &[])
    }

    /// An I32 constant.
    pub fn i32(&self, v: i32) -> Reg {
        self.emit(Opcode::Const(v as u32 as u64), RegType::I32, &[])
    }

    /// A U32 constant.
    pub fn u32(&self, v: u32) -> Reg {
        self.emit(Opcode::Const(v as u64), RegType::U32, &[])
    }

    /// An I64 constant.
    pub fn i64(&self, v: i64) -> Reg {
        self.emit(Opcode::Const(v as u64), RegType::I64, &[])
    }

    /// A U64 constant.
    pub fn u64(&self, v: u64) -> Reg {
        self.emit(Opcode::Const(v), RegType::U64, &[])
    }

    /// A Bool constant.
    pub fn bool(&self, v: bool) -> Reg {
        self.emit(Opcode::Const(v as u64), RegType::Bool, &[])
    }

    /// The small number `v` in any type: rounded to F32, wrapped to the integer's width, `v != 0` for Bool.
    pub fn number(&self, ty: RegType, v: i64) -> Reg {
        match ty {
            RegType::F32 => self.f32(v as f32),
            RegType::I32 => self.i32(v as i32),
            RegType::U32 => self.u32(v as u32),
            RegType::I64 => self.i64(v),
            RegType::U64 => self.u64(v as u64),
            RegType::Bool => self.bool(v != 0),
        }
    }
}

/// Float instructions as the device has them. All operands are F32.
impl ScalarBuilder {
    /// a·b + c, rounded once or twice as the device likes.
    pub fn fma(&self, a: Reg, b: Reg, c: Reg) -> Reg {
        self.noted(&FMA_RULE, &[a, b, c], || self.emit(Opcode::Fma, RegType::F32, &[a, b, c]))
    }

    /// a + b, never contracted or rearranged by the device: for error-free transformations.
    pub fn add_precise(&self, a: Reg, b: Reg) -> Reg {
        self.emit(Opcode::PreciseAdd, RegType::F32, &[a, b])
    }

    /// a − b, never contracted or rearranged by the device.
    pub fn sub_precise(&self, a: Reg, b: Reg) -> Reg {
        self.emit(Opcode::PreciseSub, RegType::F32, &[a, b])
    }

    /// a · b, never contracted or rearranged by the device.
    pub fn mul_precise(&self, a: Reg, b: Reg) -> Reg {
        self.emit(Opcode::PreciseMul, RegType::F32, &[a, b])
    }

    /// The device's own division: use it where 2⁻¹²⁶ ≤ |b| ≤ 2¹²⁶ is known, else [`ScalarBuilder::div`].
    pub fn div_raw(&self, a: Reg, b: Reg) -> Reg {
        self.emit(Opcode::FDiv, RegType::F32, &[a, b])
    }

    /// ⌊x⌋.
    pub fn floor(&self, x: Reg) -> Reg {
        self.noted(&FLOOR_RULE, &[x], || self.emit(Opcode::Floor, RegType::F32, &[x]))
    }

    /// ⌈x⌉.
    pub fn ceil(&self, x: Reg) -> Reg {
        self.noted(&CEIL_RULE, &[x], || self.emit(Opcode::Ceil, RegType::F32, &[x]))
    }

    /// Toward zero.
    pub fn trunc(&self, x: Reg) -> Reg {
        self.noted(&TRUNC_RULE, &[x], || self.emit(Opcode::Trunc, RegType::F32, &[x]))
    }

    /// To the nearest integer, halves to even.
    pub fn round_even(&self, x: Reg) -> Reg {
        self.noted(&ROUND_EVEN_RULE, &[x], || self.emit(Opcode::RoundEven, RegType::F32, &[x]))
    }
}

/// Instructions on any fitting type; the operands of one call have equal types.
impl ScalarBuilder {
    /// x·y's upper 32 bits, of two U32.
    pub fn mul_hi(&self, x: Reg, y: Reg) -> Reg {
        self.emit(Opcode::UMulHi, RegType::U32, &[x, y])
    }

    /// Bitwise and of integers, logical and of Bools.
    pub fn and(&self, x: Reg, y: Reg) -> Reg {
        self.emit(Opcode::And, x.ty, &[x, y])
    }

    /// Bitwise or of integers, logical or of Bools.
    pub fn or(&self, x: Reg, y: Reg) -> Reg {
        self.emit(Opcode::Or, x.ty, &[x, y])
    }

    /// Bitwise exclusive or of integers, logical one of Bools.
    pub fn xor(&self, x: Reg, y: Reg) -> Reg {
        self.emit(Opcode::Xor, x.ty, &[x, y])
    }

    /// Bitwise not of an integer, logical not of a Bool.
    pub fn not(&self, x: Reg) -> Reg {
        self.emit(Opcode::Not, x.ty, &[x])
    }

    /// x << amount for a U32 amount known to be below the width; [`ScalarBuilder::shift_left`] takes any.
    pub fn shl(&self, x: Reg, amount: Reg) -> Reg {
        self.emit(Opcode::Shl, x.ty, &[x, amount])
    }

    /// x >> amount for a U32 amount known to be below the width; arithmetic for signed x.
    pub fn shr(&self, x: Reg, amount: Reg) -> Reg {
        self.emit(Opcode::Shr, x.ty, &[x, amount])
    }

    /// x = y; false with NaN.
    pub fn eq(&self, x: Reg, y: Reg) -> Reg {
        self.noted(&COMPARE_RULE, &[x, y], || self.emit(Opcode::Eq, RegType::Bool, &[x, y]))
    }

    /// x ≠ y; true with NaN.
    pub fn ne(&self, x: Reg, y: Reg) -> Reg {
        self.noted(&COMPARE_RULE, &[x, y], || self.emit(Opcode::Ne, RegType::Bool, &[x, y]))
    }

    /// x < y; false with NaN.
    pub fn lt(&self, x: Reg, y: Reg) -> Reg {
        self.noted(&COMPARE_RULE, &[x, y], || self.emit(Opcode::Lt, RegType::Bool, &[x, y]))
    }

    /// x ≤ y; false with NaN.
    pub fn le(&self, x: Reg, y: Reg) -> Reg {
        self.noted(&COMPARE_RULE, &[x, y], || self.emit(Opcode::Le, RegType::Bool, &[x, y]))
    }

    /// x > y; false with NaN.
    pub fn gt(&self, x: Reg, y: Reg) -> Reg {
        self.noted(&COMPARE_RULE, &[x, y], || self.emit(Opcode::Gt, RegType::Bool, &[x, y]))
    }

    /// x ≥ y; false with NaN.
    pub fn ge(&self, x: Reg, y: Reg) -> Reg {
        self.noted(&COMPARE_RULE, &[x, y], || self.emit(Opcode::Ge, RegType::Bool, &[x, y]))
    }

    /// c ? x : y. The value not chosen has no influence, NaN included.
    pub fn select(&self, c: Reg, x: Reg, y: Reg) -> Reg {
        self.noted(&SELECT_RULE, &[c, x, y], || self.emit(Opcode::Select, x.ty, &[c, x, y]))
    }

    /// The bits of x as a numeric type of the same width; x itself if it has that type.
    pub fn bitcast(&self, x: Reg, ty: RegType) -> Reg {
        if x.ty == ty { x } else { self.emit(Opcode::Bitcast, ty, &[x]) }
    }
}
