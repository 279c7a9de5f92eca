//! Mutants of the numbers of a plan's calls: arguments, specialization constants and grids, each changed alone.
//!
//! In: a plan. Out: changes, each of one word, with whether the word steers (which bytes a kernel touches, how often,
//! from where) or is a value (eps, scale, a window, which of several sums). For tests alone: a mutant that steers is
//! refused or changes no result; a mutant of a value touches no other byte.

use super::error::ProgramRef;
use super::mutate::program_mut;
use crate::kernel::{ArgKind, ArgValue, KernelCall, KernelDecl, VARIES_ID};
use crate::plan::{Plan, Program};
use crate::step::{Grid, Step, StepId, StepKind};
use std::fmt;

/// One word of one call, and what it becomes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WordMutation {
    /// In which program.
    pub program: ProgramRef,
    /// Of which step.
    pub step: StepId,
    /// Which word.
    pub word: Word,
    /// What it becomes.
    pub to: ArgValue,
    /// Whether the word steers.
    pub steers: bool,
}

/// A word of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// An argument word.
    Arg(usize),
    /// A specialization constant, by its place in the call.
    Spec(usize),
    /// Groups along an axis of a static grid; the first frame word of another.
    Grid(usize),
}

impl fmt::Display for WordMutation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {:?} becomes {:?}", self.program, self.step, self.word, self.to)
    }
}

/// Arguments that are values: what a kernel computes with, not where.
const VALUE_ARGS: &[&str] = &[
    "code_inner",
    "code_extent",
    "code_block",
    "code_outer",
    "code_axis",
    "code_along",
    "start_lo",
    "start_hi",
    "delta_lo",
    "delta_hi",
    "largest",
    "sorted",
    "left",
    "right",
    "kv_len",
    "first_place",
    "pos",
    "base",
    "kernel",
    "step",
    "dilation",
    "begin",
    "end",
    "up",
    "gap",
    "hop",
    "inverse",
    "extent",
    "raises",
    "index_axis",
    "done",
    "period",
    "factor",
    "from",
    "stream",
    "groups",
    "groups_kept",
    "before",
    "after",
    "of_run",
];

/// Constants that choose what is computed of the same bytes.
const VALUE_SPECS: &[&str] = &[
    "code_inner",
    "code_extent",
    "code_block",
    "code_outer",
    "code_axis",
    "code_along",
    "code_round",
    "code_shared",
    "op",
    "beta",
    "log",
    "min",
    "last",
    "capped",
    "interleaved",
    "one_plus",
    "mode",
    "length",
    "place",
    "padded",
    "smallest",
    "tap_major",
    "signed",
    "bits",
    "round",
    "down",
    "product",
    "exclusive",
    "totals",
    "reverse",
    "inverse",
    "mirrored",
    "wrapped",
    "delta",
    "by_value",
    "after",
    "coupled",
    "act_f",
    "act_g",
    "act_h",
    "clips",
    "distribution",
    "gate",
    "normed",
    "centred",
    "along",
    "right",
];

/// Every mutation of a word there is, in a fixed order.
pub fn words(plan: &Plan) -> Vec<WordMutation> {
    let mut all = of_program(ProgramRef::Load, &plan.load);
    for (i, stream) in (0u32..).zip(&plan.streams) {
        all.extend(of_program(ProgramRef::Stream(i), &stream.program));
    }
    for (i, run) in (0u32..).zip(&plan.runs) {
        all.extend(of_program(ProgramRef::Run(i), &run.program));
    }
    all
}

fn of_program(program: ProgramRef, of: &Program) -> Vec<WordMutation> {
    let mut all = Vec::new();
    for (step, s) in (0u32..).map(StepId).zip(&of.steps) {
        let StepKind::Dispatch { call, grid } = &s.kind else { continue };
        let Ok(decl) = call.check() else { continue };
        for (word, from, steers) in of_call(decl, call).chain(of_grid(grid)) {
            let others = others(from).into_iter().filter(|to| *to != from);
            all.extend(others.map(|to| WordMutation { program, step, word, to, steers }));
        }
    }
    all
}

/// Words of a call with what they are, and whether they steer the kernel.
fn of_call(decl: &KernelDecl, call: &KernelCall) -> impl Iterator<Item = (Word, ArgValue, bool)> {
    let args = call.args.iter().enumerate().map(|(i, arg)| (Word::Arg(i), *arg, !is_value(decl, i)));
    let specs = call.spec.iter().enumerate().map(|(i, &(id, value))| {
        let name = decl.specs.iter().find(|s| s.id == id).map_or("", |s| s.name);
        (Word::Spec(i), ArgValue::U32(value), id != VARIES_ID && !VALUE_SPECS.contains(&name))
    });
    args.chain(specs)
}

fn of_grid(grid: &Grid) -> Vec<(Word, ArgValue, bool)> {
    match grid {
        Grid::Static(groups) => {
            (0..3).map(|axis| (Word::Grid(axis), ArgValue::U32(groups[axis]), true)).collect()
        }
        Grid::Frame { word, .. } => vec![(Word::Grid(0), ArgValue::Frame(word.0), true)],
    }
}

fn is_value(decl: &KernelDecl, word: usize) -> bool {
    decl.arg_of_word(word).is_some_and(|arg| arg.kind == ArgKind::F32 || VALUE_ARGS.contains(&arg.name))
}

/// Numbers near, far, and at the ends.
fn others(from: ArgValue) -> Vec<ArgValue> {
    match from {
        ArgValue::U32(v) => {
            let near = [v.wrapping_sub(1), v.wrapping_add(1), v.wrapping_add(4), v / 2, v.wrapping_mul(2)];
            let far = [0, 1, 3, 256, 1 << 30, 1 << 31, u32::MAX, v ^ 1 << 16];
            near.into_iter().chain(far).map(ArgValue::U32).chain([ArgValue::Frame(0)]).collect()
        }
        ArgValue::Frame(w) => {
            let frame = [w.wrapping_sub(1), w.wrapping_add(1), w.wrapping_add(7), 0, u32::MAX];
            let fixed = [0, 1, 2, 64, 1 << 20, u32::MAX].map(ArgValue::U32);
            frame.map(ArgValue::Frame).into_iter().chain(fixed).collect()
        }
    }
}

impl WordMutation {
    /// The kernel and the word's name, for people.
    pub fn kernel(&self, plan: &Plan) -> String {
        let program = match self.program {
            ProgramRef::Load => &plan.load,
            ProgramRef::Stream(i) => &plan.streams[i as usize].program,
            ProgramRef::Run(i) => &plan.runs[i as usize].program,
        };
        let StepKind::Dispatch { call, .. } = &program.steps[self.step.0 as usize].kind else {
            return String::new();
        };
        let Ok(decl) = call.check() else { return String::new() };
        let name = match self.word {
            Word::Arg(i) => decl.arg_of_word(i).map_or("?", |arg| arg.name),
            Word::Spec(i) => {
                let id = call.spec.get(i).map(|s| s.0);
                decl.specs.iter().find(|s| Some(s.id) == id).map_or("typed", |s| s.name)
            }
            Word::Grid(_) => "grid",
        };
        format!("{}.{} {name}", call.kernel, call.variant)
    }

    /// A copy of the plan with the change.
    pub fn apply(&self, plan: &Plan) -> Plan {
        let mut plan = plan.clone();
        let program = program_mut(&mut plan, self.program);
        self.change(&mut program.steps[self.step.0 as usize]);
        plan
    }

    fn change(&self, step: &mut Step) {
        let StepKind::Dispatch { call, grid } = &mut step.kind else { return };
        let number = match self.to {
            ArgValue::U32(v) | ArgValue::Frame(v) => v,
        };
        match (self.word, grid) {
            (Word::Arg(i), _) => call.args[i] = self.to,
            (Word::Spec(i), _) => call.spec[i].1 = number,
            (Word::Grid(axis), Grid::Static(groups)) => groups[axis] = number,
            (Word::Grid(_), Grid::Frame { word, .. }) => word.0 = number,
        }
    }
}
