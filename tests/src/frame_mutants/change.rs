//! One change to what steers a run: of the plan, or of the bytes of its file.

use super::subjects::Subject;
use crate::draws::Draws;
use pumice_plan::file::seal;
use pumice_plan::frame::FindProgram;
use pumice_plan::{
    AdvanceKind, AdvanceOp, ArgValue, FrameSlot, FrameWord, Grid, Plan, ScalarSlot, Segment, Step, StepKind,
};
use pumice_types::{DimExpr, ScalarId, SymbolId, When};
use std::ops::Range;
use std::sync::Arc;

/// Changes a plan.
pub fn change(plan: &mut Plan, subject: &Subject, draws: &mut Draws) {
    match draws.below(12) {
        10 => shape(plan, subject, draws),
        11 if !plan.runs[0].frame.found.is_empty() => told(plan, draws),
        8 if is_looped(plan) => turns(plan, subject, draws),
        8 | 9 if plan.runs[0].program.steps.iter().any(|step| !step.when.is_always()) => when(plan, draws),
        0..=3 => word(plan, subject, draws),
        4 if !plan.runs[0].frame.advance.is_empty() => advance(plan, draws),
        4 if !plan.runs[0].frame.found.is_empty() && draws.below(4) > 0 => found(plan, draws),
        4 => {
            let at = draws.below(plan.scalars.len());
            scalar(&mut plan.scalars[at], subject, draws);
        }
        _ => {
            let words = plan.runs[0].frame.words.len();
            let steps = &mut plan.runs[0].program.steps;
            let at = draws.below(steps.len());
            steer(&mut steps[at], words, subject, draws);
        }
    }
}

/// An expression that is nearly another: at one binding, at some, or at all.
fn nearly(e: &DimExpr, subject: &Subject, draws: &mut Draws) -> DimExpr {
    let at = &subject.bindings[draws.below(subject.bindings.len())].symbols;
    let which = draws.below(at.len());
    let (s, t) = (DimExpr::symbol(SymbolId(which as u32)), DimExpr::scalar(ScalarId(0)));
    let number = DimExpr::constant;
    let far = number(draws.of(&[1, 4, 1 << 12, 1 << 20, 1 << 30, 1 << 31, -1, -(1 << 20)]));
    let only_at = |at: i64| {
        let square = &s * &s - &s * number(2 * at) + number(at * at);
        (number(1) - square).max_with(&number(0))
    };
    match draws.below(7) {
        0..=2 => e + only_at(at[which] as i64) * far,
        3 => e + far,
        4 => e + t * far,
        5 => e.min_with(&far),
        _ => s.max_with(e) + number(1 << 31),
    }
}

/// How much is there of an input, an output, a state or a value.
fn shape(plan: &mut Plan, subject: &Subject, draws: &mut Draws) {
    let kind = draws.below(4);
    if kind == 0 && !plan.states.is_empty() {
        let at = draws.below(plan.states.len());
        let other = |d: &mut u64, draws: &mut Draws| *d = draws.of(&[0, 1, d.saturating_sub(1), *d + 1]);
        return change_extents(&mut plan.states[at].shape, other, draws);
    }
    let [inputs, outputs] = [plan.inputs.len(), plan.outputs.len()];
    let values = plan.runs[0].program.values.len();
    let shape = match kind {
        1 => &mut plan.inputs[draws.below(inputs)].shape,
        2 => &mut plan.runs[0].program.values[draws.below(values)].shape,
        _ => &mut plan.outputs[draws.below(outputs)].shape,
    };
    let symbols = subject.bindings[0].symbols.len();
    let other = |d: &mut DimExpr, draws: &mut Draws| {
        *d = match draws.below(4) {
            0 => DimExpr::symbol(SymbolId(draws.below(symbols) as u32)),
            1 => DimExpr::constant(draws.of(&[0, 1, 8, 11, 24, 44])),
            2 => &*d + DimExpr::constant(draws.of(&[-1, 1])),
            _ => nearly(d, subject, draws),
        }
    };
    let mut extents = shape.to_vec();
    change_extents(&mut extents, other, draws);
    *shape = extents.into();
}

/// One extent, or how many there are.
fn change_extents<T>(extents: &mut Vec<T>, change: impl Fn(&mut T, &mut Draws), draws: &mut Draws) {
    if extents.is_empty() {
        return;
    }
    let at = draws.below(extents.len());
    match draws.below(4) {
        0 => _ = extents.remove(at),
        1 => extents.clear(),
        _ => change(&mut extents[at], draws),
    }
}

/// The word from which the host learns a found symbol.
fn told(plan: &mut Plan, draws: &mut Draws) {
    let frame = &mut plan.runs[0].frame;
    let base = frame.base() as usize;
    let bound: Vec<usize> = (0..base).filter(|&at| matches!(frame.words[at], FrameSlot::Bound(_))).collect();
    if bound.is_empty() {
        return;
    }
    let at = draws.of(&bound);
    let symbol = frame.words[at].expression().unwrap_or_default();
    let number = DimExpr::constant(draws.of(&[1, 2]));
    match draws.below(4) {
        0 => frame.words[at] = FrameSlot::Expr(symbol),
        1 => frame.words[at] = FrameSlot::Temporary,
        2 => frame.words[at] = FrameSlot::Expr(symbol + number),
        _ => frame.words[draws.below(base)] = frame.words[at].clone(),
    }
}

/// A word of the frame.
fn word(plan: &mut Plan, subject: &Subject, draws: &mut Draws) {
    let words = &mut plan.runs[0].frame.words;
    let at = draws.below(words.len());
    let other = words[draws.below(words.len())].clone();
    words[at] = match &words[at] {
        FrameSlot::Expr(e) => FrameSlot::Expr(nearly(e, subject, draws)),
        FrameSlot::Bound(id) => FrameSlot::Expr(nearly(&DimExpr::symbol(*id), subject, draws)),
        _ => other,
    };
}

/// An instruction of the advance program.
fn advance(plan: &mut Plan, draws: &mut Draws) {
    let frame = &mut plan.runs[0].frame;
    let words = frame.words.len() as u32;
    let at = draws.below(frame.advance.len());
    let op: &mut AdvanceOp = &mut frame.advance[at];
    let number = draws.of(&[0, 1, words - 1, words, 1 << 20, 1 << 31, u32::MAX]);
    let kinds =
        [AdvanceKind::Const, AdvanceKind::Copy, AdvanceKind::Mul, AdvanceKind::Min, AdvanceKind::ClearIf];
    match draws.below(4) {
        0 => op.a = number,
        1 => op.b = number,
        2 => op.dst = FrameWord(number),
        _ => op.op = draws.of(&kinds),
    }
}

/// An instruction that fills found words, or where they lie.
fn found(plan: &mut Plan, draws: &mut Draws) {
    let row = &mut plan.runs[0].frame.found[0];
    let number = draws.of(&[0, 1, 3, 4, 24, 25, 1 << 20, 1 << 31, (1 << 31) + 1, u32::MAX]);
    let mut ops = row.program.ops().to_vec();
    let at = draws.below(ops.len());
    let op: &mut AdvanceOp = &mut ops[at];
    match draws.below(7) {
        0 => op.a = number,
        1 => op.b = number,
        2 => op.dst = FrameWord(number),
        3 => op.op = draws.of(&[AdvanceKind::Const, AdvanceKind::Copy, AdvanceKind::Count, AdvanceKind::Mul]),
        4 => row.first = number,
        5 => row.len = number,
        _ => row.symbols = vec![SymbolId(number); 1 + draws.below(2)],
    }
    row.program = FindProgram::new(ops);
}

fn is_looped(plan: &Plan) -> bool {
    plan.runs[0].program.segments.iter().any(|segment| matches!(segment, Segment::Repeat { .. }))
}

/// How often a loop is replayed, and what says so.
fn turns(plan: &mut Plan, subject: &Subject, draws: &mut Draws) {
    let symbols = plan.symbols.len();
    let loops = plan.runs[0].program.segments.iter_mut().filter_map(|segment| match segment {
        Segment::Repeat { levels, turns, running, count } => Some((levels, turns, running, count)),
        _ => None,
    });
    let mut loops: Vec<_> = loops.collect();
    let at = draws.below(loops.len());
    let (levels, most, running, count) = &mut loops[at];
    let symbol = SymbolId(draws.below(symbols + 1) as u32);
    let (n, number) = (draws.of(&[0, 1, 2, 10, 11, 12, 19, 21, 40]), draws.of(&[-1, 0, 1, 10, 40]));
    match draws.below(6) {
        0 => **most = n,
        1 => **running = symbol,
        2 => **count = None,
        3 => **count = Some(DimExpr::symbol(symbol)),
        4 => **count = Some(nearly(&DimExpr::constant(number), subject, draws)),
        _ => levels.end = levels.end.saturating_sub(1),
    }
}

/// Where a step of a branch or a turn runs.
fn when(plan: &mut Plan, draws: &mut Draws) {
    let steps = &mut plan.runs[0].program.steps;
    let mut of_branches: Vec<&mut Step> = steps.iter_mut().filter(|step| !step.when.is_always()).collect();
    let at = draws.below(of_branches.len());
    let step = &mut of_branches[at];
    let mut branches = step.when.branches().to_vec();
    let which = draws.below(branches.len());
    match draws.below(4) {
        0 => branches[which].otherwise = !branches[which].otherwise,
        1 => _ = branches.remove(which),
        2 => branches.push(branches[which].clone()),
        _ => branches[which].taken = DimExpr::symbol(SymbolId(draws.below(4) as u32)),
    }
    step.when = When::all(branches);
}

/// The range, the default or the advance of a scalar.
fn scalar(slot: &mut ScalarSlot, subject: &Subject, draws: &mut Draws) {
    let number = draws.of(&[-1.0, 0.0, 1e3, 2_147_483_648.0, 1e18, f64::NAN]);
    match draws.below(4) {
        0 => slot.max = number,
        1 => slot.min = number,
        2 => slot.default = number,
        _ => slot.advance = Some(nearly(&DimExpr::constant(2), subject, draws)),
    }
}

/// The grid, an argument or a view of a step.
fn steer(step: &mut Step, words: usize, subject: &Subject, draws: &mut Draws) {
    if draws.below(3) == 0 && !step.uses.is_empty() {
        let used = draws.below(step.uses.len());
        let view = Arc::make_mut(&mut step.uses[used].view);
        let axis = draws.below(2 * view.shape.len() + 1);
        let all = view.shape.iter_mut().chain(&mut view.strides).chain([&mut view.offset]);
        all.skip(axis).take(1).for_each(|e| *e = nearly(e, subject, draws));
        return;
    }
    let StepKind::Dispatch { call, grid } = &mut step.kind else { return };
    let word = draws.below(words + 2) as u32;
    if draws.below(2) == 0 {
        match grid {
            Grid::Static(groups) => groups[draws.below(3)] += 1,
            Grid::Frame { word: first, .. } => *first = FrameWord(word),
        }
    } else if !call.args.is_empty() {
        let at = draws.below(call.args.len());
        call.args[at] = ArgValue::Frame(word);
    }
}

/// Changes one or two bytes of a file in its sections that steer, each section as often as the others.
pub fn change_bytes(file: &mut [u8], sections: &[Range<usize>], draws: &mut Draws) {
    for _ in 0..1 + draws.below(2) {
        let section = &sections[draws.below(sections.len())];
        let at = section.start + draws.below(section.len());
        file[at] = match draws.below(8) {
            0..=2 => file[at] ^ 1 << draws.below(8),
            3 => file[at].wrapping_add(1),
            4 => file[at].wrapping_sub(1),
            5 => draws.of(&[0, 1, 2, 4, 0x7f, 0x80, 0xff]),
            6 => draws.bits() as u8,
            // Another byte of the section: numbers of rows, words and symbols that there are.
            _ => file[section.start + draws.below(section.len())],
        };
    }
    seal(file);
}
