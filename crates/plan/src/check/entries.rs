//! Entries: their names, and that inputs, outputs and runs are each of one entry.
//!
//! An entry names every symbol that its runs need a value of. The parts of the lists follow each other and leave
//! nothing out, so every input and output is of one entry. A run names an entry there is; `ranges` finds that each has
//! runs. Which inputs a run reads and which scalars it advances is asked where its program is followed.

use super::error::{Fault, Findings};
use crate::entry::Entry;
use crate::frame::FrameSlot;
use crate::plan::Plan;
use pumice_types::{DimExpr, SymbolId};
use std::collections::BTreeSet;
use std::ops::Range;

/// More entries than any program has.
const MOST: usize = 1 << 10;

/// Checks the entries of a plan.
pub(super) fn check(plan: &Plan, findings: &mut Findings) {
    if let Err(why) = sound(plan) {
        findings.add(Fault::Entries(why));
    }
}

fn sound(plan: &Plan) -> Result<(), String> {
    let count = plan.entries.len();
    if count == 0 || count > MOST {
        return Err(format!("there are {count}"));
    }
    let mut names = BTreeSet::new();
    if let Some(twice) = plan.entries.iter().find(|e| e.name.is_empty() || !names.insert(&e.name)) {
        return Err(format!("the name `{}` is empty or that of two", twice.name));
    }
    if let Some((i, run)) = plan.runs.iter().enumerate().find(|(_, run)| run.entry as usize >= count) {
        return Err(format!("run {i} is of entry {}, there are {count}", run.entry));
    }
    let (inputs, outputs) = (plan.entries.iter().map(|e| &e.inputs), plan.entries.iter().map(|e| &e.outputs));
    follow("inputs", inputs, plan.inputs.len())?;
    follow("outputs", outputs, plan.outputs.len())?;
    plan.entries.iter().enumerate().try_for_each(|(number, entry)| variables(plan, number, entry))
}

/// The symbols and scalars of an entry.
fn variables(plan: &Plan, number: usize, entry: &Entry) -> Result<(), String> {
    let wrong = |what: &str| Err(format!("the {what} of `{}` do not ascend or are not there", entry.name));
    let symbols: Vec<u32> = entry.symbols.iter().map(|id| id.0).collect();
    let advancing: Vec<u32> = entry.advancing.iter().map(|id| id.0).collect();
    if !ascend(&symbols, plan.symbols.len()) {
        return wrong("symbols");
    }
    let advances = |id: &u32| plan.scalars.get(*id as usize).is_some_and(|s| s.advance.is_some());
    if !ascend(&advancing, plan.scalars.len()) || !advancing.iter().all(advances) {
        return wrong("scalars that advance");
    }
    match unnamed(plan, number, entry).and_then(|id| plan.symbols.get(id)) {
        Some(symbol) => Err(format!("`{}` does not name {symbol}, which its runs need", entry.name)),
        None => Ok(()),
    }
}

/// A symbol that slots, frames, conditions or values of an entry name, that no run finds, and that the entry does not
/// say it needs: a run would take its largest value where nobody gave one.
fn unnamed(plan: &Plan, number: usize, entry: &Entry) -> Option<SymbolId> {
    let mut missing = None;
    let mut named = |e: &DimExpr| {
        e.visit_vars(|v| {
            let needed = v.symbol().filter(|id| !entry.has_symbol(*id) && !plan.symbols.is_found(*id));
            missing = missing.or(needed);
        });
    };
    let slots = plan.inputs_of(entry).iter().chain(plan.outputs_of(entry));
    slots.flat_map(|slot| slot.shape.iter()).for_each(&mut named);
    for (_, run) in plan.runs_of(number) {
        run.checks.iter().for_each(|check| named(&check.value));
        run.program.values.iter().flat_map(|v| v.shape.iter()).for_each(&mut named);
        for word in &run.frame.words {
            match word {
                FrameSlot::Bound(id) => named(&DimExpr::symbol(*id)),
                FrameSlot::Expr(e) => named(e),
                _ => {}
            }
        }
    }
    missing
}

/// Parts of a list that follow each other from its beginning to its end.
fn follow<'p>(what: &str, parts: impl Iterator<Item = &'p Range<u32>>, count: usize) -> Result<(), String> {
    let mut next = 0;
    for part in parts {
        if part.start != next || part.end < next {
            return Err(format!("their {what} {part:?} do not begin at {next}"));
        }
        next = part.end;
    }
    if next as usize == count { Ok(()) } else { Err(format!("they have {next} {what}, there are {count}")) }
}

fn ascend(numbers: &[u32], count: usize) -> bool {
    numbers.windows(2).all(|two| two[0] < two[1])
        && numbers.last().is_none_or(|last| (*last as usize) < count)
}
