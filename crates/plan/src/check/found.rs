//! Rows of found words: extents that steps find, and what follows from them.
//!
//! In: a run. Laws:
//! - rows lie at the front of the frame, one after the other; a row is of found symbols, and no word outside the rows
//!   names one;
//! - one step fills each row, by the row's own program, from a count of each of its symbols; all rows of a symbol take
//!   the same count;
//! - the program gives each word its value, whatever the counts are: followed as expressions;
//! - nothing else writes the frame, but its advance;
//! - no condition of the run, which the host looks at before it, names a found symbol;
//! - the host reads what it must know of them: each symbol is one word, which it learns the value from. The row of that
//!   word is filled before a step of a branch runs, before a counted loop begins and by the turns of another.

use super::Scope;
use super::advance::Followed;
use super::error::{Fault, Findings};
use super::turns::Turn;
use crate::frame::{AdvanceKind, AdvanceOp, FoundRow, Frame, FrameSlot, OF_ROW};
use crate::kernel::{ArgValue, KernelCall};
use crate::kernels::frame::FrameFind;
use crate::plan::{Run, Segment, VersionOrigin};
use crate::region::{RegionKind, Span};
use crate::step::{Access, Grid, Step, StepId, StepKind, Use, VersionId};
use pumice_types::limits::MOST_COUNTS;
use pumice_types::{Bytes, DimExpr, SymbolId, SymbolTable, Var};
use std::collections::{BTreeMap, BTreeSet};

/// Checks the rows of a run.
pub(super) fn check(scope: &Scope<'_>, run: &Run, findings: &mut Findings) {
    let frame = &run.frame;
    let before = findings.len();
    if let Err(why) = rows(frame, &scope.plan.symbols) {
        return findings.add(Fault::Frame(why));
    }
    conditions(run, &scope.plan.symbols, findings);
    if let Some(at) = named_outside(frame, &scope.plan.symbols) {
        findings.add(Fault::Frame(format!("word {at} follows from what is found, and is of no row")));
    }
    steps(scope, frame, findings);
    if findings.len() > before {
        return;
    }
    if let Err(why) = learned(scope, frame) {
        findings.add(Fault::Frame(why));
    }
    let followed = Followed::new(scope, run, 0..0);
    for (i, row) in frame.found.iter().enumerate() {
        if let Err(why) = followed.finds(row) {
            findings.add(Fault::Frame(format!("row {i}: {why}")));
        }
    }
}

/// Rows follow one another, and their words and programs are their own.
fn rows(frame: &Frame, symbols: &SymbolTable) -> Result<(), String> {
    let mut next = 0u32;
    for (i, row) in frame.found.iter().enumerate() {
        let inside = row.first.checked_add(row.len).is_some_and(|end| end as usize <= frame.words.len());
        if row.first != next || !inside || !row.len.is_multiple_of(4) || row.len == 0 {
            return Err(format!("row {i} has words {}..{}, {next} comes next", row.first, row.end()));
        }
        next = row.end();
    }
    let wrong = |row: &FoundRow| words_of_row(frame, row, symbols).err();
    let rows = frame.found.iter().enumerate();
    rows.filter_map(|(i, row)| Some(format!("row {i} {}", wrong(row)?))).next().map_or(Ok(()), Err)
}

/// A row is of found symbols, and nothing of it names others.
fn words_of_row(frame: &Frame, row: &FoundRow, symbols: &SymbolTable) -> Result<(), String> {
    let found = |id: &SymbolId| symbols.get(*id).is_some_and(|s| s.found && s.min == 0);
    let some = (1..=MOST_COUNTS).contains(&row.symbols.len());
    if !some || !row.symbols.is_sorted_by(|a, b| a < b) || !row.symbols.iter().all(found) {
        return Err(format!("is of {:?}, which are no found symbols in order", row.symbols));
    }
    if let Some(op) = row.program.ops().iter().find(|op| !stays_inside(op, row, frame)) {
        return Err(format!("has an instruction that names a word that there is not: {op:?}"));
    }
    let others = |v: Var| v.symbol().is_some_and(|id| symbols.is_found(id) && !row.symbols.contains(&id));
    let strange = frame.words[row.first as usize..row.end() as usize].iter().any(|slot| match slot {
        FrameSlot::Expr(e) => e.find_var(others).is_some(),
        FrameSlot::Bound(id) => !row.symbols.contains(id),
        FrameSlot::Temporary => false,
        FrameSlot::Scalar(_) | FrameSlot::Stopped | FrameSlot::Replays => true,
    });
    if strange { Err("has a word that does not follow from its symbols".to_owned()) } else { Ok(()) }
}

fn stays_inside(op: &AdvanceOp, row: &FoundRow, frame: &Frame) -> bool {
    let base = frame.words.len() as u32 - frame.base();
    let there = |at: u32| if at & OF_ROW == 0 { at < base } else { at & !OF_ROW < row.len };
    let operands = match op.op {
        AdvanceKind::Const | AdvanceKind::Count => true,
        AdvanceKind::Copy => there(op.a),
        AdvanceKind::CopyUnless | AdvanceKind::ClearIf => false,
        _ => there(op.a) && there(op.b),
    };
    op.dst.0 < row.len && operands
}

/// A word that the host writes and cannot know.
fn named_outside(frame: &Frame, symbols: &SymbolTable) -> Option<usize> {
    let names = |slot: &FrameSlot| match slot {
        FrameSlot::Expr(e) => symbols.names_found(e),
        FrameSlot::Bound(id) => symbols.is_found(*id),
        _ => false,
    };
    (frame.base() as usize..frame.words.len()).find(|&at| names(&frame.words[at]))
}

/// Conditions on what the host cannot know when it looks at them. Nothing that is right where they hold alone is right.
fn conditions(run: &Run, symbols: &SymbolTable, findings: &mut Findings) {
    for check in &run.checks {
        let mut sides = check.sides.iter().flat_map(|s| s.iter());
        if symbols.names_found(&check.value) || sides.any(|e| symbols.names_found(e)) {
            let (what, why) = (format!("the condition `{}`", check.what), "it names what only the run finds");
            findings.add(Fault::Expression { what, why: why.to_owned() });
        }
    }
}

/// Every row is filled once, and nothing else writes the frame.
fn steps(scope: &Scope<'_>, frame: &Frame, findings: &mut Findings) {
    let mut filled = vec![0u32; frame.found.len()];
    let mut counts: BTreeMap<SymbolId, Count> = BTreeMap::new();
    for (id, step) in scope.steps() {
        let row = match &step.kind {
            StepKind::Dispatch { call, .. } if call.kernel.0 == FrameFind::DECL.name => {
                fills(scope, frame, step, call).and_then(|row| {
                    filled[row] += 1;
                    same_counts(&frame.found[row], step, call, &mut counts)
                })
            }
            StepKind::Advance { .. } => Ok(()),
            _ => match step.uses.iter().any(|u| u.access.writes() && u.span.region == RegionKind::Frame) {
                true => Err("it writes the frame".to_owned()),
                false => Ok(()),
            },
        };
        if let Err(why) = row.and_then(|()| told(scope, frame, step)) {
            findings.at(id, &step.origin, Fault::Frame(why));
        }
    }
    if let Some(row) = filled.iter().position(|n| *n != 1) {
        findings.add(Fault::Frame(format!("row {row} of found words is filled {} times", filled[row])));
    }
}

/// A host step reads every found symbol that its operands, results and branches name, from a row that has it.
fn told(scope: &Scope<'_>, frame: &Frame, step: &Step) -> Result<(), String> {
    if !step.is_host() {
        return Ok(());
    }
    let of_views = step.uses.iter().flat_map(|u| u.view.expressions());
    let of_branches = step.when.branches().iter().map(|branch| &branch.taken);
    let mut untold = None;
    let mut look = |v: Var| {
        let symbol = v.symbol().filter(|id| scope.plan.symbols.is_found(*id));
        untold = untold.or(symbol.filter(|id| !reads_symbol(scope, frame, step, *id)));
    };
    of_views.chain(of_branches).for_each(|e| e.visit_vars(&mut look));
    untold.map_or(Ok(()), |symbol| Err(format!("the host does not read the found {symbol:?}")))
}

/// Whether the host reads a row that has the symbol.
fn reads_symbol(scope: &Scope<'_>, frame: &Frame, step: &Step, symbol: SymbolId) -> bool {
    let row = |u: &Use| match scope.program.value(u.content)?.origin {
        VersionOrigin::Found(row) => frame.found.get(row as usize),
        _ => None,
    };
    let has = |row: &FoundRow| {
        frame.words[row.first as usize..row.end() as usize].contains(&FrameSlot::Bound(symbol))
    };
    step.uses.iter().filter(|u| u.access == Access::HostRead).filter_map(row).any(has)
}

/// What the host is to know of found symbols it learns from one word of each, in time.
fn learned(scope: &Scope<'_>, frame: &Frame) -> Result<(), String> {
    let at = words_of_symbols(scope, frame)?;
    let unknown = |id: SymbolId| format!("the host does not learn the found {id:?}");
    for id in named(scope, frame) {
        at.get(&id).ok_or_else(|| unknown(id))?;
    }
    let late = |e: &DimExpr, first: u32| {
        e.find_var(|v| v.symbol().and_then(|id| at.get(&id)).is_some_and(|filler| filler.0 >= first))
    };
    for (id, step) in scope.steps() {
        if let Some(v) = step.when.branches().iter().find_map(|b| late(&b.taken, id.0)) {
            return Err(format!("{id} runs where {v:?} says so, which is found later"));
        }
    }
    for turn in Turn::all(scope.program) {
        let filler = at.get(&turn.running).filter(|_| !turn.counted);
        if let Some(filler) = filler.filter(|filler| !turn.steps.contains(&filler.0)) {
            return Err(format!("{filler} finds {:?} for the host, outside of its loop", turn.running));
        }
    }
    let counted = scope.program.segments.iter().filter_map(|segment| match segment {
        Segment::Repeat { levels, count: Some(_), .. } => Some(levels),
        _ => None,
    });
    for levels in counted {
        let first = scope.program.levels[levels.start as usize].steps.start;
        let when = scope.program.turn_when(levels);
        if let Some(v) = when.branches().iter().find_map(|b| late(&b.taken, first)) {
            return Err(format!("a loop is taken where {v:?} says so, which is found later"));
        }
    }
    Ok(())
}

/// The steps that fill rows of found words, by the byte at which they begin.
fn fillers(scope: &Scope<'_>) -> BTreeMap<u64, StepId> {
    let writes = |(id, step): (StepId, &Step)| -> Vec<(u64, StepId)> {
        step.uses.iter().filter(|u| u.access.writes()).map(|u| (u.span.offset.0, id)).collect()
    };
    scope.steps().filter(|(_, step)| step.finds_words()).flat_map(writes).collect()
}

/// Which step fills the word that is a found symbol's value.
fn words_of_symbols(scope: &Scope<'_>, frame: &Frame) -> Result<BTreeMap<SymbolId, StepId>, String> {
    let (fillers, mut at) = (fillers(scope), BTreeMap::new());
    for row in &frame.found {
        let filler = fillers.get(&(4 * u64::from(row.first))).copied().ok_or("a row is not filled")?;
        for slot in &frame.words[row.first as usize..row.end() as usize] {
            let FrameSlot::Bound(id) = slot else { continue };
            if at.insert(*id, filler).is_some() {
                return Err(format!("{id:?} is found in two words"));
            }
        }
    }
    Ok(at)
}

/// The found symbols that the host must know: that rows are of, and that outputs, values, branches and loops name.
fn named(scope: &Scope<'_>, frame: &Frame) -> BTreeSet<SymbolId> {
    let (program, symbols) = (scope.program, &scope.plan.symbols);
    let mut named: BTreeSet<SymbolId> = frame.found.iter().flat_map(|row| &row.symbols).copied().collect();
    let outputs = scope.outputs().iter().flat_map(|slot| slot.shape.iter());
    let values = program.values.iter().flat_map(|v| v.shape.iter());
    let branches = program.steps.iter().flat_map(|step| step.when.branches());
    for e in outputs.chain(values).chain(branches.map(|b| &b.taken)) {
        e.visit_vars(|v| named.extend(v.symbol().filter(|id| symbols.is_found(*id))));
    }
    let turns = Turn::all(program).into_iter().filter(|turn| !turn.counted);
    named.extend(turns.map(|turn| turn.running));
    named
}

/// Which value a count is, and where it lies.
type Count = (VersionId, Span);

/// The use that an operand of a call is.
pub(super) fn operand<'s>(step: &'s Step, call: &KernelCall, k: usize) -> Option<&'s Use> {
    call.operands.get(k).and_then(|at| step.uses.get(usize::from(at.0)))
}

/// The row that a step fills by its program, from the words that the host writes.
fn fills(scope: &Scope<'_>, frame: &Frame, step: &Step, call: &KernelCall) -> Result<usize, String> {
    let operands = operand(step, call, 0).zip(operand(step, call, 1));
    let (words, row) = operands.ok_or("it has no words and no row")?;
    let span =
        |first: u32, len: u64| Span::new(RegionKind::Frame, Bytes(4 * u64::from(first)), Bytes(4 * len));
    let of_host = span(frame.base(), frame.len_words() - u64::from(frame.base()));
    let begins = words.span.offset == of_host.offset && words.span.contains(&of_host);
    if words.access != Access::ShaderRead || !begins {
        return Err("it does not read the words that the host writes".to_owned());
    }
    let is_row = |r: &FoundRow| row.span == span(r.first, r.len.into()) && row.access == Access::ShaderWrite;
    let index = frame.found.iter().position(is_row).ok_or("it fills no row")?;
    let origin = scope.program.value(row.content).map(|v| v.origin);
    if origin != Some(VersionOrigin::Found(index as u32)) {
        return Err(format!("what it leaves in row {index} is {origin:?}"));
    }
    if !matches!(step.kind, StepKind::Dispatch { grid: Grid::Static([1, 1, 1]), .. }) {
        return Err("one group fills a row".to_owned());
    }
    let args = frame.find_args(index).map(ArgValue::U32);
    if call.args != args {
        return Err(format!("it has the arguments {:?}, the program of row {index} {args:?}", call.args));
    }
    Ok(index)
}

/// The counts of a row's symbols are words that the step reads, and the same as in other rows.
fn same_counts(
    row: &FoundRow,
    step: &Step,
    call: &KernelCall,
    counts: &mut BTreeMap<SymbolId, Count>,
) -> Result<(), String> {
    for (k, symbol) in row.symbols.iter().enumerate() {
        let count = operand(step, call, 2 + k).filter(|u| is_count(u));
        let count = count.map(|u| (u.content, u.span)).ok_or("a count is no word that it reads")?;
        if *counts.entry(*symbol).or_insert(count) != count {
            return Err(format!("it takes another count for {symbol:?} than an earlier row"));
        }
    }
    Ok(())
}

/// Whether a use is a count for a kernel of the frame: one word, which it reads from its beginning.
pub(super) fn is_count(u: &Use) -> bool {
    let whole = u.view.is_words() && u.view.offset.is(0);
    let one = u.view.shape.iter().all(|d| d.is(1)) && u.view.dtype.arena_bytes() == 4;
    u.access == Access::ShaderRead && u.span.region != RegionKind::Frame && whole && one && u.span.len.0 >= 4
}
