//! Frames are input: a plan whose frame words, expressions, scalars, grids or advance were changed is refused, when it
//! is checked or before the binding at which it is wrong, or it runs and touches no byte outside its views: at every
//! binding of its symbol, not only those that the checker samples. A plan wrong only at s = 37 ended in SIGSEGV.
//!
//! Two devices with guards poison memory with two patterns: what reads bytes that nobody wrote gives two results.

use pumice_compile::{Options, compile};
use pumice_cpu_ref::{RefEval, RefHostOps};
use pumice_ir::{Graph, GraphBuilder, f32, i32, sym};
use pumice_plan::{
    AdvanceKind, AdvanceOp, ArgValue, CheckedPlan, FrameSlot, FrameWord, Grid, Plan, StepKind,
};
use pumice_runtime::{Device, Executable, Session};
use pumice_tests::device;
use pumice_tests::draws::Draws;
use pumice_types::{DimExpr, ScalarId, SymbolId, TensorView};
use pumice_vulkan::{DeviceOptions, Poison};
use std::sync::Arc;

/// Every value of the symbol is run.
const MOST: u64 = 44;
const WIDTH: usize = 8;

/// Steps of several families over s rows, a scalar that advances, and a stop.
fn graph() -> Graph {
    let g = GraphBuilder::new("rows");
    let x = g.input("x", f32([sym("s", 1..=MOST), (WIDTH as u64).into()]));
    let t = g.scalar_advancing("t", 0, 1000, 0, DimExpr::constant(2));
    let limit = g.scalar("limit", i32::<u64>([]), -1.0, 1e6, 999.0);
    let seen = g.state("seen", i32([1u64]));
    g.state_write(seen, g.reshape(t, &[1]));
    let turned = g.transpose(x, &[1, 0]);
    let square = g.matmul(x, turned);
    g.output("soft", g.softmax(square, -1));
    g.output("turned", g.add(turned, turned));
    g.output("enough", g.greater_or_equal(t, limit));
    g.stop("enough");
    g.build().unwrap_or_else(|e| panic!("{e}"))
}

/// An expression that is nearly another: at one binding, at some, or at all.
fn nearly(e: &DimExpr, draws: &mut Draws) -> DimExpr {
    let (s, t) = (DimExpr::symbol(SymbolId(0)), DimExpr::scalar(ScalarId(0)));
    let number = |n: i64| DimExpr::constant(n);
    let far = number(draws.of(&[1, 4, 1 << 12, 1 << 20, 1 << 30, 1 << 31, -1, -(1 << 20)]));
    let only_at = |at: i64| {
        let square = &s * &s - &s * number(2 * at) + number(at * at);
        (number(1) - square).max_with(&number(0))
    };
    match draws.below(7) {
        0..=2 => e + only_at(1 + draws.below(MOST as usize) as i64) * far,
        3 => e + far,
        4 => e + t * far,
        5 => e.min_with(&far),
        _ => s.max_with(e) + number(1 << 31),
    }
}

/// One change to what steers a run.
fn mutate(plan: &mut Plan, draws: &mut Draws) {
    let words = plan.runs[0].frame.words.len();
    match draws.below(8) {
        0..=2 => {
            let at = draws.below(words);
            let other = plan.runs[0].frame.words[draws.below(words)].clone();
            let slot = &mut plan.runs[0].frame.words[at];
            *slot = match &*slot {
                FrameSlot::Expr(e) => FrameSlot::Expr(nearly(e, draws)),
                FrameSlot::Bound(id) => FrameSlot::Expr(nearly(&DimExpr::symbol(*id), draws)),
                _ => other,
            };
        }
        3 => {
            let ops = plan.runs[0].frame.advance.len();
            let number = draws.of(&[0, 1, words as u32 - 1, words as u32, 1 << 20, 1 << 31, u32::MAX]);
            let kinds = [
                AdvanceKind::Const,
                AdvanceKind::Copy,
                AdvanceKind::Mul,
                AdvanceKind::Min,
                AdvanceKind::ClearIf,
            ];
            let kind = draws.of(&kinds);
            let op: &mut AdvanceOp = &mut plan.runs[0].frame.advance[draws.below(ops)];
            match draws.below(4) {
                0 => op.a = number,
                1 => op.b = number,
                2 => op.dst = FrameWord(number),
                _ => op.op = kind,
            }
        }
        4 => {
            let scalar = draws.below(plan.scalars.len());
            let slot = &mut plan.scalars[scalar];
            let number = draws.of(&[-1.0, 0.0, 1e3, 2_147_483_648.0, 1e18, f64::NAN]);
            match draws.below(4) {
                0 => slot.max = number,
                1 => slot.min = number,
                2 => slot.default = number,
                _ => slot.advance = Some(nearly(&DimExpr::constant(2), draws)),
            }
        }
        _ => steer(plan, words, draws),
    }
}

/// A grid, an argument or a view of some step.
fn steer(plan: &mut Plan, words: usize, draws: &mut Draws) {
    let steps = plan.runs[0].program.steps.len();
    let step = &mut plan.runs[0].program.steps[draws.below(steps)];
    if draws.below(3) == 0 && !step.uses.is_empty() {
        let used = draws.below(step.uses.len());
        let view = Arc::make_mut(&mut step.uses[used].view);
        let axis = draws.below(view.shape.len() + 1);
        let e = view.shape.get_mut(axis).unwrap_or(&mut view.offset);
        *e = nearly(e, draws);
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

struct Runner {
    devices: [Arc<dyn Device>; 2],
    plan: Plan,
    values: Vec<f32>,
}

/// How mutants ended.
#[derive(Debug, Default)]
struct Tally {
    refused: u64,
    refused_at_a_binding: u64,
    ran: u64,
    wrong: Vec<String>,
}

impl Runner {
    fn new() -> Runner {
        let open =
            |poison| device::open(&DeviceOptions::default().poison(Some(Poison(poison)))) as Arc<dyn Device>;
        let devices = [open(0x7fc0_dead), open(0x3f80_0001)];
        let plan = compile(&graph(), devices[0].target(), &Options::default(), &RefEval);
        let values = (0..MOST as usize * WIDTH).map(|i| (i as f32 * 0.37).sin()).collect();
        Runner { devices, plan: plan.unwrap_or_else(|e| panic!("{e}")), values }
    }

    fn session(&self, plan: &CheckedPlan, device: usize) -> Result<Session, String> {
        let exe = Executable::new(self.devices[device].clone(), plan.clone(), Arc::new(RefHostOps));
        exe.and_then(|exe| exe.session()).map_err(|e| e.to_string())
    }

    /// The outputs for a binding: three replays in one submission.
    fn outputs(&self, session: &mut Session, s: u64) -> Result<Vec<Vec<u8>>, String> {
        let rows = &self.values[..s as usize * WIDTH];
        session.set_scalar("t", 0).map_err(|e| e.to_string())?;
        let out = session.run_steps(&[("x", TensorView::f32(rows, [s, WIDTH as u64]))], 3);
        let out = out.map_err(|e| e.to_string())?;
        (0..3).map(|i| out.at(i).map(|t| t.bytes().to_vec()).map_err(|e| e.to_string())).collect()
    }

    /// Runs a mutant at every binding on both devices.
    fn run(&self, plan: &CheckedPlan, tally: &mut Tally) -> Result<(), String> {
        let harmless = |why: &String| {
            !["of the guard", "device was lost", "defect", "outside its region"]
                .iter()
                .any(|w| why.contains(w))
        };
        let mut sessions = Vec::new();
        for device in 0..2 {
            match self.session(plan, device) {
                Ok(session) => sessions.push(session),
                Err(why) if harmless(&why) => return Ok(()),
                Err(why) => return Err(why),
            }
        }
        for s in 1..=MOST {
            let both: Vec<_> = sessions.iter_mut().map(|session| self.outputs(session, s)).collect();
            if both[0] != both[1] {
                return Err(format!("s = {s}: two poisons give two results"));
            }
            match &both[0] {
                Ok(_) => tally.ran += 1,
                Err(why) if harmless(why) => tally.refused_at_a_binding += 1,
                Err(why) => return Err(format!("s = {s}: {why}")),
            }
        }
        Ok(())
    }
}

fn mutants(count: u64) {
    let runner = Runner::new();
    let mut tally = Tally::default();
    runner.run(&CheckedPlan::new(runner.plan.clone()).expect("sound"), &mut tally).expect("it runs");
    assert_eq!((tally.ran, tally.refused_at_a_binding), (MOST, 0), "the plan itself runs everywhere");
    for seed in 0..count {
        let (mut plan, mut draws) = (runner.plan.clone(), Draws(seed));
        mutate(&mut plan, &mut draws);
        match CheckedPlan::new(plan) {
            Err(_) => tally.refused += 1,
            Ok(plan) => {
                if let Err(why) = runner.run(&plan, &mut tally) {
                    tally.wrong.push(format!("seed {seed}: {why}"));
                }
            }
        }
    }
    println!(
        "{count} mutants: {} refused, {} bindings refused, {} run",
        tally.refused, tally.refused_at_a_binding, tally.ran
    );
    assert!(tally.wrong.is_empty(), "{}:\n{}", tally.wrong.len(), tally.wrong.join("\n"));
    assert!(tally.refused > count / 3 && tally.refused_at_a_binding > count / 50, "{tally:?}");
}

mod on_device {
    #[test]
    fn mutated_frames_are_refused_or_touch_no_other_byte_at_any_binding() {
        super::mutants(400);
    }

    #[test]
    #[ignore = "long: a hundred thousand plans"]
    fn many_mutated_frames_are_refused_or_touch_no_other_byte_at_any_binding() {
        super::mutants(100_000);
    }
}
