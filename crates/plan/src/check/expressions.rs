//! Expressions of a plan, before anything computes with them: every variable is one of the plan's, and no sum that the
//! checker makes of them is large.
//!
//! A product of sums has as many terms as the product of their counts: a file of a few hundred bytes can name one of
//! 2^40. So what an expression becomes when it is multiplied out is counted first, and so is the number of elements of
//! a shape as one expression.

use super::error::{Fault, Findings};
use super::{ProgramRef, Scope};
use crate::frame::FrameSlot;
use crate::plan::{Plan, Program};
use crate::view::View;
use pumice_types::dim::Atom;
use pumice_types::{DType, DimExpr, Var};

/// Terms of an expression, multiplied out: far more than extents of real programs have (a dozen).
const MOST_TERMS: u64 = 1 << 10;
/// Terms of the product of a shape's extents.
const MOST_OF_SHAPE: u64 = 1 << 12;

/// Checks every expression of a plan. Where it adds a fault, nothing may compute with them.
pub(super) fn check(plan: &Plan, findings: &mut Findings) {
    let looked = Looked { plan };
    findings.begin(None);
    for slot in plan.inputs.iter().chain(&plan.outputs) {
        looked.shape(&slot.shape, &slot.name, findings);
    }
    for slot in &plan.scalars {
        slot.advance.iter().for_each(|by| looked.one(by, &slot.name, findings));
    }
    findings.begin(Some(ProgramRef::Load));
    looked.program(&plan.load, findings);
    for (i, stream) in (0u32..).zip(&plan.streams) {
        findings.begin(Some(ProgramRef::Stream(i)));
        looked.program(&stream.program, findings);
    }
    for (i, run) in (0u32..).zip(&plan.runs) {
        findings.begin(Some(ProgramRef::Run(i)));
        for word in &run.frame.words {
            if let FrameSlot::Expr(e) = word {
                looked.one(e, "a word of the frame", findings);
            }
        }
        for check in &run.checks {
            let sides = check.sides.iter().flat_map(|s| s.iter());
            sides.chain([&check.value]).for_each(|e| looked.one(e, "a condition", findings));
        }
        looked.program(&run.program, findings);
    }
    findings.begin(None);
}

/// Whether an expression depends on a scalar.
pub(super) fn names_scalar(e: &DimExpr) -> bool {
    e.find_var(|v| matches!(v, Var::Scalar(_))).is_some()
}

/// Whether a word of the frame does.
pub(super) fn word_names_scalar(slot: &FrameSlot) -> bool {
    match slot {
        FrameSlot::Bound(_) => false,
        FrameSlot::Expr(e) => names_scalar(e),
        FrameSlot::Scalar(_) | FrameSlot::Temporary | FrameSlot::Stopped | FrameSlot::Replays => true,
    }
}

/// Whether a view does.
pub(super) fn view_names_scalar(view: &View) -> bool {
    view.expressions().any(names_scalar)
}

/// Terms of the product of these extents, at most; saturating.
fn terms_of_product<'e>(shape: impl IntoIterator<Item = &'e DimExpr>) -> u64 {
    shape.into_iter().fold(1, |all, e| all.saturating_mul(terms(e).saturating_add(1)))
}

/// Terms of an expression when it is multiplied out; saturating.
pub(super) fn terms(e: &DimExpr) -> u64 {
    let of_factors = |factors: &[Atom]| factors.iter().fold(1u64, |n, f| n.saturating_mul(of_atom(f)));
    e.terms().fold(0, |n, (_, factors)| n.saturating_add(of_factors(factors)))
}

fn of_atom(atom: &Atom) -> u64 {
    match atom {
        Atom::Var(_) => 1,
        // Quotients that leave no remainder are sums again; extrema may be either side.
        Atom::FloorDiv(p) | Atom::CeilDiv(p) | Atom::Min(p) | Atom::Max(p) => {
            terms(&p.0).saturating_add(1).max(terms(&p.1).saturating_add(1))
        }
    }
}

struct Looked<'p> {
    plan: &'p Plan,
}

impl Looked<'_> {
    fn program(&self, program: &Program, findings: &mut Findings) {
        for value in &program.values {
            self.shape(&value.shape, &value.name, findings);
        }
        for branch in program.steps.iter().flat_map(|s| s.when.branches()) {
            self.one(&branch.taken, "a choice", findings);
        }
        for used in program.steps.iter().flat_map(|s| &s.uses) {
            let view = &*used.view;
            if !view.is_static() {
                self.shape(&view.shape, "a view", findings);
                view.strides.iter().chain([&view.offset]).for_each(|e| self.one(e, "a view", findings));
            }
        }
    }

    fn shape(&self, shape: &[DimExpr], what: &str, findings: &mut Findings) {
        shape.iter().for_each(|e| self.one(e, what, findings));
        if terms_of_product(shape) > MOST_OF_SHAPE {
            self.fault(what, "the product of its extents has too many terms".to_owned(), findings);
        }
    }

    fn one(&self, e: &DimExpr, what: &str, findings: &mut Findings) {
        if e.as_const().is_some() {
            return;
        }
        if terms(e) > MOST_TERMS {
            return self.fault(what, "it has too many terms when it is multiplied out".to_owned(), findings);
        }
        let unknown = e.find_var(|v| match v {
            Var::Symbol(id) => self.plan.symbols.get(id).is_none(),
            Var::Scalar(id) => self.plan.scalars.get(id.0 as usize).is_none_or(|s| s.dtype == DType::F32),
        });
        if let Some(var) = unknown {
            self.fault(what, format!("it names {var:?}, which the plan does not have"), findings);
        }
    }

    fn fault(&self, what: &str, why: String, findings: &mut Findings) {
        findings.add(Fault::Expression { what: what.to_owned(), why });
    }
}

/// The symbols within the ranges of a program's run.
pub(super) fn symbols_of(scope: &Scope<'_>) -> pumice_types::SymbolTable {
    let mut table = scope.plan.symbols.clone();
    let Some(run) = scope.run else { return table };
    let ids: Vec<_> = scope.plan.symbols.iter().map(|(id, _)| id).collect();
    for (id, &(min, max)) in ids.into_iter().zip(&run.ranges) {
        table.set_range(id, min, max);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use pumice_types::SymbolId;

    /// A shape of thirty axes of three symbols each: their product has 4^30 terms, and asking whether a view is dense
    /// multiplies them.
    #[test]
    fn products_are_counted_before_they_are_made() {
        let sum = (0..3).fold(DimExpr::constant(1), |e, i| e + DimExpr::symbol(SymbolId(i)));
        assert_eq!(terms(&sum), 3);
        assert_eq!(terms_of_product(&vec![sum.clone(); 30]), 4u64.pow(30));
        assert_eq!(terms(&sum.min_with(&DimExpr::constant(9))), 4);
        assert_eq!(terms(&(sum.ceil_div(&DimExpr::constant(7)) * &sum)), 16);
        assert!(!names_scalar(&sum) && names_scalar(&(sum + DimExpr::scalar(pumice_types::ScalarId(0)))));
    }
}
