//! The small rewrites a builder makes as instructions come: constant folding, identities, and dead code at the
//! end.
//!
//! In: one instruction and lookups. Out: an existing register or an instruction to append. Every rule is exact
//! for every input, NaN, infinities and signed zeros included; a rule that is only nearly right does not belong
//! here.

use super::eval::{Arithmetic, step};
use super::expr::{Inst, RegId};
use super::opcode::{Opcode, RegType};
use smallvec::SmallVec;

/// What an instruction became.
pub(super) enum Simpler {
    /// Its value is in this register.
    Register(RegId),
    /// It is to be appended (perhaps rewritten).
    Inst(Inst),
}

const ONE: u64 = 0x3f80_0000;

/// Applies the rules to one well-typed instruction whose operands have types `types`.
pub(super) fn simplify(
    inst: &Inst,
    types: &[RegType],
    constant: impl Fn(RegId) -> Option<u64>,
    inst_of: impl Fn(RegId) -> Option<Inst>,
) -> Simpler {
    if inst.args.is_empty() {
        return Simpler::Inst(inst.clone());
    }
    let known: SmallVec<[Option<u64>; 3]> = inst.args.iter().map(|&r| constant(r)).collect();
    if let Some(bits) = fold(inst, types, &known) {
        return Simpler::Inst(Inst { op: Opcode::Const(bits), ty: inst.ty, args: SmallVec::new() });
    }
    if let Some(id) = identity(inst, &known) {
        return Simpler::Register(id);
    }
    twice(inst, inst_of).map_or_else(|| Simpler::Inst(inst.clone()), Simpler::Register)
}

/// The register that an instruction on the result of its own kind comes to.
fn twice(inst: &Inst, inst_of: impl Fn(RegId) -> Option<Inst>) -> Option<RegId> {
    let inner = inst_of(inst.args[0]).filter(|inner| inner.op == inst.op)?;
    match inst.op {
        // bitcast(bitcast(x)) == x when the type is x's own
        Opcode::Bitcast => {
            let source = inner.args[0];
            inst_of(source).is_some_and(|i| i.ty == inst.ty).then_some(source)
        }
        // not(not(x)) == x; -(-x) == x; ||x|| == |x|
        Opcode::Not | Opcode::FNeg => Some(inner.args[0]),
        Opcode::FAbs => Some(inst.args[0]),
        _ => None,
    }
}

/// An instruction on constants is a constant. A float result that a flushing device would give otherwise is
/// left to the device, so that folding never changes what a device computes.
fn fold(inst: &Inst, types: &[RegType], known: &[Option<u64>]) -> Option<u64> {
    let mut args = [0u64; 3];
    for (slot, bits) in args.iter_mut().zip(known) {
        *slot = (*bits)?;
    }
    let of = |arithmetic| step(inst.op, inst.ty, types[0], args, arithmetic);
    let [first, rest @ ..] = Arithmetic::ALL.map(of);
    rest.iter().all(|&r| r == first).then_some(first)
}

/// The operand that an instruction returns unchanged, if it is that plain.
fn identity(inst: &Inst, known: &[Option<u64>]) -> Option<RegId> {
    let ones = match inst.ty.bits() {
        64 => u64::MAX,
        w => (1 << w) - 1,
    };
    let one = if inst.ty == RegType::F32 { ONE } else { 1 };
    let either = |v: u64| match known {
        [Some(k), _] if *k == v => Some(inst.args[1]),
        [_, Some(k)] if *k == v => Some(inst.args[0]),
        _ => None,
    };
    match inst.op {
        // x*1 == x, x/1 == x
        Opcode::FMul | Opcode::PreciseMul | Opcode::IMul => either(one),
        Opcode::FDiv | Opcode::IDiv if known[1] == Some(one) => Some(inst.args[0]),
        // x+0 == x, x|0 == x, x^0 == x of integers
        Opcode::IAdd | Opcode::Or | Opcode::Xor => either(0),
        Opcode::ISub | Opcode::Shl | Opcode::Shr if known[1] == Some(0) => Some(inst.args[0]),
        // x & ~0 == x
        Opcode::And => either(ones).or_else(|| same(inst)),
        // select(true, x, y) == x; select(c, x, x) == x
        Opcode::Select => match known[0] {
            Some(c) => Some(inst.args[if c != 0 { 1 } else { 2 }]),
            None => (inst.args[1] == inst.args[2]).then(|| inst.args[1]),
        },
        _ => None,
    }
}

fn same(inst: &Inst) -> Option<RegId> {
    (inst.args[0] == inst.args[1]).then(|| inst.args[0])
}

/// Drops the instructions that no output needs and renumbers the rest.
pub(super) fn without_dead(inputs: usize, insts: Vec<Inst>, outputs: &[RegId]) -> (Vec<Inst>, Vec<RegId>) {
    let mut live = vec![false; inputs + insts.len()];
    for out in outputs {
        live[out.0 as usize] = true;
    }
    for (i, inst) in insts.iter().enumerate().rev() {
        if live[inputs + i] {
            inst.args.iter().for_each(|a| live[a.0 as usize] = true);
        }
    }
    let mut renumbered: Vec<RegId> = (0..inputs as u32).map(RegId).collect();
    let mut kept = Vec::with_capacity(live[inputs..].iter().filter(|live| **live).count());
    for (i, mut inst) in insts.into_iter().enumerate() {
        renumbered.push(RegId((inputs + kept.len()) as u32));
        if live[inputs + i] {
            inst.args.iter_mut().for_each(|a| *a = renumbered[a.0 as usize]);
            kept.push(inst);
        }
    }
    (kept, outputs.iter().map(|o| renumbered[o.0 as usize]).collect())
}
