//! From the shapes of a run's inputs to a value for every symbol.
//!
//! In: shapes, and what `bind_symbol` set. Out: bindings, or the error that names both sides of a contradiction. An
//! axis that is one symbol binds it; an axis that is any other expression is compared once every symbol is bound.

use crate::error::{NameKind, RuntimeError, SymbolSource};
use crate::tables::DimRule;
use crate::values::Shape;
use pumice_plan::{Entry, Plan};
use pumice_types::{Bindings, DimExpr, Symbol, SymbolId, Var};
use std::ops::Range;

/// Who bound a symbol: `Bound`, or (input, axis).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Bound,
    Input(usize, usize),
}

/// What the symbols are found for.
pub(crate) struct Asked<'a> {
    /// The entry.
    pub entry: &'a Entry,
    /// Its part of the plan's inputs.
    pub inputs: Range<usize>,
    /// Of all inputs of the plan, per axis.
    pub rules: &'a [Vec<DimRule>],
    /// Of all inputs of the plan; those of the entry are the given ones.
    pub shapes: &'a [Shape],
}

/// Values of the symbols while they are found. Kept between runs so that nothing is allocated.
#[derive(Clone, Debug, Default)]
pub(crate) struct Solution {
    values: Vec<Option<(u64, Source)>>,
}

impl Solution {
    /// Forgets everything, then takes what `bind_symbol` set.
    pub fn begin(&mut self, bound: &[Option<u64>]) {
        self.values.clear();
        self.values.extend(bound.iter().map(|v| v.map(|v| (v, Source::Bound))));
    }

    /// Compares the rank and the constant axes of an input, and binds the symbols it shows.
    fn take(
        &mut self,
        plan: &Plan,
        input: usize,
        rules: &[DimRule],
        shape: &[u64],
    ) -> Result<(), RuntimeError> {
        check_static(plan, input, rules, shape)?;
        for (axis, (rule, &given)) in rules.iter().zip(shape).enumerate() {
            let DimRule::Symbol(id) = rule else { continue };
            let source = Source::Input(input, axis);
            match self.values.get_mut(id.0 as usize) {
                Some(slot @ None) => *slot = Some((given, source)),
                Some(Some((value, first))) if *value != given => {
                    let side = |s, v| Box::new((name_source(plan, s), v));
                    let symbol = plan.symbols.get(*id).map_or_else(String::new, |s| s.name.clone());
                    let (first, second) = (side(*first, *value), side(source, given));
                    return Err(RuntimeError::DimConstraint { symbol, first, second });
                }
                Some(Some(_)) => {}
                None => return Err(RuntimeError::plan(plan, format!("there is no symbol {}", id.0))),
            }
        }
        Ok(())
    }

    /// Finds every symbol's value from the shapes of an entry's inputs, checks that it may have it, writes the
    /// bindings, and compares the other axes.
    pub fn solve(
        &mut self,
        plan: &Plan,
        asked: &Asked<'_>,
        bindings: &mut Bindings,
    ) -> Result<(), RuntimeError> {
        for input in asked.inputs.clone() {
            self.take(plan, input, &asked.rules[input], &asked.shapes[input])?;
        }
        self.check_bound(plan, asked.entry)?;
        for ((id, symbol), value) in plan.symbols.iter().zip(&self.values) {
            if let Some((value, source)) = *value {
                check_symbol(symbol, value, || name_source(plan, source))?;
                bindings.bind(id, value);
            } else {
                // What is found is no larger, and the run says what it was; nothing asks for what other entries have.
                bindings.bind(id, symbol.max);
            }
        }
        for input in asked.inputs.clone() {
            compare(plan, input, &asked.rules[input], &asked.shapes[input], bindings)?;
        }
        Ok(())
    }

    /// Every symbol of the entry has a value: its only one where there is one.
    fn check_bound(&mut self, plan: &Plan, entry: &Entry) -> Result<(), RuntimeError> {
        for ((_, symbol), value) in plan.symbols.iter().zip(&mut self.values) {
            if value.is_none() && symbol.min == symbol.max && !symbol.found {
                *value = Some((symbol.min, Source::Bound));
            }
        }
        let symbols = plan.symbols.iter().zip(&self.values);
        let unbound = symbols.filter(|((id, s), v)| v.is_none() && !s.found && entry.has_symbol(*id));
        let names: Vec<String> = unbound.map(|((_, s), _)| s.name.clone()).collect();
        if names.is_empty() { Ok(()) } else { Err(RuntimeError::UnboundSymbols { names }) }
    }

    /// The value of a symbol.
    pub fn value(&self, id: SymbolId) -> Option<u64> {
        self.values.get(id.0 as usize).copied().flatten().map(|(v, _)| v)
    }

    /// The values in the order of the symbol table.
    pub fn values(&self) -> impl Iterator<Item = u64> {
        self.values.iter().map(|v| v.map_or(0, |(v, _)| v))
    }
}

/// Compares rank and constant axes of an input's shape.
fn check_static(plan: &Plan, input: usize, rules: &[DimRule], shape: &[u64]) -> Result<(), RuntimeError> {
    let name = || plan.inputs.get(input).map_or_else(String::new, |s| s.name.clone());
    let kind = NameKind::Input;
    if rules.len() != shape.len() {
        return Err(RuntimeError::Rank { kind, name: name(), expected: rules.len(), given: shape.len() });
    }
    for (axis, (rule, &given)) in rules.iter().zip(shape).enumerate() {
        if let DimRule::Const(value) = rule
            && *value != given
        {
            return Err(RuntimeError::Extent {
                kind,
                name: name(),
                axis,
                expected: value.to_string(),
                given,
            });
        }
    }
    Ok(())
}

/// Compares an input's shape with all that is known without the other inputs: rank, constant axes, and the bounds
/// of the others.
pub(crate) fn check_alone(
    plan: &Plan,
    input: usize,
    rules: &[DimRule],
    shape: &[u64],
) -> Result<(), RuntimeError> {
    check_static(plan, input, rules, shape)?;
    for (axis, (rule, &given)) in rules.iter().zip(shape).enumerate() {
        match rule {
            DimRule::Const(_) => {}
            DimRule::Symbol(id) => {
                if let Some(symbol) = plan.symbols.get(*id) {
                    check_symbol(symbol, given, || name_source(plan, Source::Input(input, axis)))?;
                }
            }
            DimRule::Expr(extent) => {
                let (low, high) = (extent.lower(&plan.symbols), extent.upper(&plan.symbols));
                if !(low..=high).contains(&given) {
                    let name = plan.inputs.get(input).map_or_else(String::new, |s| s.name.clone());
                    let expected = format!("in {low}..={high}");
                    return Err(RuntimeError::Extent { kind: NameKind::Input, name, axis, expected, given });
                }
            }
        }
    }
    Ok(())
}

/// An extent with the names of its symbols and scalars.
pub(crate) fn show(plan: &Plan, extent: &DimExpr) -> String {
    extent.display(&|v| match v {
        Var::Symbol(id) => plan.symbols.get(id).map_or_else(|| format!("s{}", id.0), |s| s.name.clone()),
        Var::Scalar(id) => {
            plan.scalars.get(id.0 as usize).map_or_else(|| format!("${}", id.0), |s| s.name.clone())
        }
    })
}

/// Compares the axes that are expressions.
fn compare(
    plan: &Plan,
    input: usize,
    rules: &[DimRule],
    shape: &[u64],
    bindings: &Bindings,
) -> Result<(), RuntimeError> {
    for (axis, (rule, &given)) in rules.iter().zip(shape).enumerate() {
        let DimRule::Expr(extent) = rule else { continue };
        let value = extent.eval_extent(bindings);
        if value.as_ref() == Ok(&given) {
            continue;
        }
        let text = show(plan, extent);
        let value = value.map_or_else(|e| e.to_string(), |v| v.to_string());
        let name = plan.inputs.get(input).map_or_else(String::new, |s| s.name.clone());
        let expected = format!("{text} = {value}");
        return Err(RuntimeError::Extent { kind: NameKind::Input, name, axis, expected, given });
    }
    Ok(())
}

/// Whether a symbol may have this value.
pub(crate) fn check_symbol(
    symbol: &Symbol,
    value: u64,
    by: impl Fn() -> SymbolSource,
) -> Result<(), RuntimeError> {
    let multiple_of = symbol.multiple_of.max(1);
    if (symbol.min..=symbol.max).contains(&value) && value.is_multiple_of(multiple_of) {
        return Ok(());
    }
    Err(RuntimeError::SymbolRange {
        symbol: symbol.name.clone(),
        value,
        by: by(),
        min: symbol.min,
        max: symbol.max,
        multiple_of,
    })
}

fn name_source(plan: &Plan, source: Source) -> SymbolSource {
    match source {
        Source::Bound => SymbolSource::Bound,
        Source::Input(input, axis) => {
            let name = plan.inputs.get(input).map_or_else(String::new, |s| s.name.clone());
            SymbolSource::Input { name, axis }
        }
    }
}
