//! How a value moves with one of its operands: forward derivatives of what a builder made.
//!
//! In: a body that is built by calls of the builder's methods. Out: the tangent of its result, by the product rule
//! of each call. While tangents are wanted the builder notes the outermost calls ([`ScalarBuilder::noted`]), so that
//! what a function is made of (polynomials, fixed point, bits) is never entered. Each function states its rule beside
//! itself, in terms of functions that state theirs: tangents of tangents are made the same way.

use super::builder::{Reg, ScalarBuilder};
use super::expr::ScalarError;
use super::opcode::RegType;
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// A method of the builder, and how it pushes tangents.
pub(super) struct Function {
    name: &'static str,
    rule: Rule,
}

/// The tangent of a result; `None` is 0.
pub(super) type Tangent = Option<Reg>;

enum Rule {
    /// Of one operand: from x, f(x) and the tangent of x.
    One(fn(&ScalarBuilder, Reg, Reg, Reg) -> Reg),
    /// Of any operands.
    Any(fn(&ScalarBuilder, &Pushed<'_>) -> Tangent),
    /// It is constant between its steps.
    Step,
    /// It has none: whoever needs one has a defect.
    Missing,
}

impl Function {
    /// A function of one operand; the rule gets x, f(x) and the tangent of x.
    pub(super) const fn one(name: &'static str, rule: fn(&ScalarBuilder, Reg, Reg, Reg) -> Reg) -> Function {
        Function { name, rule: Rule::One(rule) }
    }

    /// A function of any operands.
    pub(super) const fn any(
        name: &'static str,
        rule: fn(&ScalarBuilder, &Pushed<'_>) -> Tangent,
    ) -> Function {
        Function { name, rule: Rule::Any(rule) }
    }

    /// A function that is constant between its steps.
    pub(super) const fn step(name: &'static str) -> Function {
        Function { name, rule: Rule::Step }
    }

    /// What has no rule.
    pub(super) const fn missing(name: &'static str) -> Function {
        Function { name, rule: Rule::Missing }
    }

    fn push(&self, b: &ScalarBuilder, pushed: &Pushed<'_>) -> Tangent {
        match self.rule {
            Rule::One(rule) => pushed.tangent(0).map(|t| rule(b, pushed.operand(0), pushed.result, t)),
            Rule::Any(rule) => rule(b, pushed),
            Rule::Step => None,
            Rule::Missing => Some(b.fail(ScalarError::NoTangent { what: self.name }, RegType::F32)),
        }
    }
}

/// What a rule sees.
pub(super) struct Pushed<'a> {
    operands: &'a [Reg],
    tangents: SmallVec<[Tangent; 3]>,
    /// What the call returned.
    pub(super) result: Reg,
}

impl Pushed<'_> {
    /// An operand.
    pub(super) fn operand(&self, i: usize) -> Reg {
        self.operands[i]
    }

    /// Its tangent.
    pub(super) fn tangent(&self, i: usize) -> Tangent {
        self.tangents[i]
    }
}

/// A noted call.
pub(super) struct Call {
    function: &'static Function,
    operands: SmallVec<[Reg; 3]>,
    result: Reg,
}

/// What a builder remembers for tangents.
#[derive(Default)]
pub(super) struct Notes {
    /// Whether a tangent is wanted of what is being built; where none is, nothing is noted.
    wanted: bool,
    /// How many noted functions are being expanded.
    inside: usize,
    calls: Vec<Call>,
}

impl std::fmt::Debug for Notes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.calls.iter().map(|call| call.function.name)).finish()
    }
}

impl ScalarBuilder {
    /// What `make` returns, noted as a call of the function: its parts are not noted. A call that returns one of its
    /// operands is none.
    pub(super) fn noted(
        &self,
        function: &'static Function,
        operands: &[Reg],
        make: impl FnOnce() -> Reg,
    ) -> Reg {
        if !self.notes.borrow().wanted {
            return make();
        }
        self.notes.borrow_mut().inside += 1;
        let result = make();
        self.notes.borrow_mut().inside -= 1;
        self.note(function, operands, result);
        result
    }

    /// Notes a call whose result is there.
    pub(super) fn note(&self, function: &'static Function, operands: &[Reg], result: Reg) {
        let mut notes = self.notes.borrow_mut();
        if notes.wanted && notes.inside == 0 && !operands.contains(&result) {
            notes.calls.push(Call { function, operands: operands.into(), result });
        }
    }

    /// The tangent of what `make` returns, where that of its operand number `of` is `tangent`: their product, where all
    /// other operands stand still. All are f32 registers but operands that are no floats, to which no tangent comes.
    pub fn tangent(
        &self,
        operands: &[Reg],
        (of, tangent): (usize, Reg),
        make: impl FnOnce(&ScalarBuilder, &[Reg]) -> Option<Reg>,
    ) -> Option<Reg> {
        // Operands that are one register are still several.
        let types: Vec<RegType> = operands.iter().map(|r| r.ty()).chain([tangent.ty()]).collect();
        let inner = ScalarBuilder::new(&types);
        inner.notes.borrow_mut().wanted = true;
        let (seed, inputs) = inner.inputs().split_last()?;
        let result = make(&inner, inputs)?;
        let pushed = inner.pushed(inputs.get(of).copied()?, *seed, result);
        let outer: Vec<Reg> = operands.iter().copied().chain([tangent]).collect();
        Some(self.adopt(inner, &outer, pushed))
    }

    /// The tangent of a result where that of one register is given.
    fn pushed(&self, from: Reg, tangent: Reg, result: Reg) -> Reg {
        let mut known: BTreeMap<_, Reg> = BTreeMap::from([(from.id(), tangent)]);
        let count = self.notes.borrow().calls.len();
        for at in 0..count {
            let Some((function, operands, result)) = self.call(at) else { continue };
            let tangents: SmallVec<[Tangent; 3]> =
                operands.iter().map(|r| known.get(&r.id()).copied()).collect();
            if known.contains_key(&result.id()) || tangents.iter().all(Option::is_none) {
                continue;
            }
            let pushed = Pushed { operands: &operands, tangents, result };
            if let Some(tangent) = function.push(self, &pushed) {
                known.insert(result.id(), tangent);
            }
        }
        known.get(&result.id()).copied().unwrap_or_else(|| self.f32(0.0))
    }

    fn call(&self, at: usize) -> Option<(&'static Function, SmallVec<[Reg; 3]>, Reg)> {
        let notes = self.notes.borrow();
        notes.calls.get(at).map(|call| (call.function, call.operands.clone(), call.result))
    }

    /// Takes over what another builder made, notes included.
    fn adopt(&self, inner: ScalarBuilder, operands: &[Reg], result: Reg) -> Reg {
        let calls = inner.notes.replace(Notes::default()).calls;
        self.notes.borrow_mut().inside += 1;
        let registers = self.repeat_builder(inner, operands);
        self.notes.borrow_mut().inside -= 1;
        let Some(registers) = registers else { return self.f32(0.0) };
        let own = |r: &Reg| registers[r.id().0 as usize];
        for call in calls {
            let operands: SmallVec<[Reg; 3]> = call.operands.iter().map(own).collect();
            self.note(call.function, &operands, own(&call.result));
        }
        own(&result)
    }
}

/// The sum of two tangents.
pub(super) fn sum(b: &ScalarBuilder, x: Tangent, y: Tangent) -> Tangent {
    match (x, y) {
        (Some(x), Some(y)) => Some(b.add(x, y)),
        (x, y) => x.or(y),
    }
}
