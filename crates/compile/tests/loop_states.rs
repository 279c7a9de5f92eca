//! Loops that write states, planted faults: the checker refuses each plan in which a version of a state is read,
//! written or left where it is not what it says.

use pumice_compile::{Options, compile};
use pumice_cpu_ref::RefEval;
use pumice_ir::ops::kv_append::AppendMode;
use pumice_ir::{GraphBuilder, Value, f32, sym};
use pumice_plan::check::check;
use pumice_plan::{
    Access, FrameSlot, Plan, PlanValue, Program, Segment, Step, Use, VersionId, VersionOrigin,
};
use pumice_types::{Branch, DType, DimExpr, Target, When};

/// What ends the turns of a loop: the caller's symbol, which says how many there are, or the device.
#[derive(Clone, Copy, PartialEq)]
enum Ends {
    Counted,
    Found,
}

/// A cache that grows by two versions a turn and a state that is rewritten; both are read before and behind.
fn plan(target: &Target, ends: Ends) -> Plan {
    let g = GraphBuilder::new("g");
    let x = g.input("x", f32([sym("n", 0..=40), 6.into()]));
    let all = [g.cache("s", f32([8, 6]), 0), g.state("t", f32([8, 6]))];
    let read = |name: &str, of: [_; 2]| {
        g.output(&format!("{name}_s"), g.neg(g.state_read(of[0])));
        g.output(&format!("{name}_t"), g.neg(g.state_read(of[1])));
    };
    read("before", all);
    let turn = |g: &GraphBuilder, i: Value, [s, t]: [Value; 2]| {
        let row = g.unsqueeze(g.gather(x, i, 0), &[0]);
        let s = g.named("between").kv_append(s, row, i, 0, AppendMode::Circular);
        let s = g.kv_append(s, g.neg(row), i, 0, AppendMode::Linear);
        [s, g.state_write(t, g.add(g.state_read(t), g.state_read(s)))]
    };
    let [zero, one] = [0.0, 1.0].map(|n| g.constant_scalar(DType::I32, n));
    let all = match ends {
        Ends::Counted => g.loop_(g.dim_of(x, 0), all, turn),
        Ends::Found => {
            let rows = g.extent(x, 0);
            let [_, s, t] = g.named("loop").while_(
                40,
                [zero, all[0], all[1]],
                |g, [i, ..]| g.less(i, rows),
                |g, [i, s, t]| {
                    let [s, t] = turn(g, i, [s, t]);
                    [g.add(i, one), s, t]
                },
            );
            [s, t]
        }
    };
    read("behind", all);
    let plan =
        compile(&g.build().expect("sound"), target, &Options::default(), &RefEval).expect("it compiles");
    check(&plan).unwrap_or_else(|faults| panic!("{plan}\n{faults:?}"));
    plan
}

/// What the versions of a state are, with the steps of its loop.
struct Versions {
    before: VersionId,
    begins: VersionId,
    next: VersionId,
    left: VersionId,
    turn: std::ops::Range<usize>,
}

impl Versions {
    fn of(program: &Program, state: u32) -> Versions {
        let find = |wanted: &dyn Fn(VersionOrigin) -> bool| {
            let is_it = |v: &PlanValue| wanted(v.origin) && program.state_of(v.origin) == Some(state);
            VersionId(program.values.iter().position(is_it).expect("there is one") as u32)
        };
        let level = |s: &Segment| match s {
            Segment::Repeat { levels, .. } => Some(levels.clone()),
            _ => None,
        };
        let levels = program.segments.iter().find_map(level).expect("a loop");
        let [first, last] = [levels.start, levels.end - 1].map(|l| &program.levels[l as usize].steps);
        Versions {
            before: find(&|o| matches!(o, VersionOrigin::StateBefore(_))),
            begins: find(&|o| matches!(o, VersionOrigin::StateCarried(_))),
            next: find(&|o| matches!(o, VersionOrigin::Next(_))),
            left: find(&|o| matches!(o, VersionOrigin::Left(_))),
            turn: first.start as usize..last.end as usize,
        }
    }
}

/// A change of a plan; whether there was something to change.
type Change = fn(&mut Plan, &[Versions; 2]) -> bool;

fn program(plan: &mut Plan) -> &mut Program {
    &mut plan.runs[0].program
}

/// Uses of one version, by steps that are in the turn or not, name another.
fn renamed(
    plan: &mut Plan,
    turn: &std::ops::Range<usize>,
    inside: bool,
    which: impl Fn(&Use) -> bool,
    to: VersionId,
) -> bool {
    let mut changed = false;
    let steps = program(plan).steps.iter_mut().enumerate();
    for u in steps.filter(|(i, _)| turn.contains(i) == inside).flat_map(|(_, s)| &mut s.uses) {
        if which(u) {
            (u.content, changed) = (to, true);
        }
    }
    changed
}

fn reads(of: VersionId) -> impl Fn(&Use) -> bool {
    move |u| u.content == of && !u.access.writes()
}

fn writes(of: VersionId) -> impl Fn(&Use) -> bool {
    move |u| u.content == of && u.access == Access::ShaderWrite
}

/// Gives a version another origin.
fn becomes(plan: &mut Plan, version: VersionId, origin: VersionOrigin) -> bool {
    let value = &mut program(plan).values[version.0 as usize];
    std::mem::replace(&mut value.origin, origin) != origin
}

/// Where the steps run that write a version.
fn run_when(plan: &mut Plan, of: VersionId, when: impl Fn(&When) -> When) -> bool {
    let writers = |s: &&mut Step| s.uses.iter().any(writes(of));
    let writers: Vec<&mut Step> = program(plan).steps.iter_mut().filter(writers).collect();
    let any = !writers.is_empty();
    writers.into_iter().for_each(|s| s.when = when(&s.when));
    any
}

/// What is planted, what the checker says of it, and how.
const FAULTS: [(&str, &str, Change); 16] = [
    (
        "a state is not initialized to its end",
        "state s at states+0x0:192: it has fewer bytes than its slot",
        |p, _| {
            p.states[0].shape[0] -= 1;
            true
        },
    ),
    ("a turn reads what was before its loop", "reads s (3)", |p, [s, _]| {
        renamed(p, &s.turn, true, reads(s.begins), s.before)
    }),
    ("a turn reads it where it writes in place", "reads t (4)", |p, [_, t]| {
        renamed(p, &t.turn, true, reads(t.begins), t.before)
    }),
    ("a turn reads what the loop leaves", "finds loop.carry_3", |p, [s, _]| {
        renamed(p, &s.turn, true, reads(s.begins), s.left)
    }),
    ("what a turn begins with is read before", "reads loop.carry_3", |p, [s, _]| {
        renamed(p, &s.turn, false, reads(s.before), s.begins)
    }),
    ("what a turn begins with is read behind", "reads loop.carry_3", |p, [s, _]| {
        renamed(p, &s.turn, false, reads(s.left), s.begins)
    }),
    ("what a turn leaves is read behind", "reads loop.kv_append", |p, [s, _]| {
        renamed(p, &s.turn, false, reads(s.left), s.next)
    }),
    ("what was before is read behind", "reads s (3)", |p, [s, _]| {
        renamed(p, &s.turn, false, reads(s.left), s.before)
    }),
    ("what a turn begins with is written", "is a state that turns begin with", |p, [_, t]| {
        renamed(p, &t.turn, true, writes(t.next), t.begins)
    }),
    ("what a loop leaves is written", "is what a loop left", |p, [_, t]| {
        renamed(p, &t.turn, true, writes(t.next), t.left)
    }),
    ("a turn leaves a version of another state", "not in the place of what turns begin with", |p, [s, t]| {
        becomes(p, t.next, VersionOrigin::Next(s.begins))
    }),
    ("a turn leaves what was before", "not in the place of what turns begin with", |p, [s, _]| {
        becomes(p, s.next, VersionOrigin::Next(s.before))
    }),
    ("a turn leaves no version for the next", "reads loop.carry_3", |p, [s, _]| {
        becomes(p, s.next, VersionOrigin::StateAfter(0))
    }),
    ("no turn begins with it", "not in the place of what turns begin with", |p, [s, _]| {
        becomes(p, s.begins, VersionOrigin::StateAfter(0))
    }),
    ("a loop leaves a version of another state", "is not where its slot is", |p, [s, t]| {
        becomes(p, s.left, VersionOrigin::Left(t.begins))
    }),
    ("the run ends with what turns leave", "state s should hold loop.kv_append", |p, [s, _]| {
        std::mem::replace(&mut p.runs[0].states[0], s.next) == s.left
    }),
];

/// Where the device ends the loop.
const OF_FOUND: [(&str, &str, Change); 5] = [
    ("the host does not learn whether there is a turn", "the host does not learn the found", |p, _| {
        let word = p.runs[0].frame.words.iter_mut().find(|word| matches!(word, FrameSlot::Bound(_)));
        let Some(word) = word else { return false };
        let told = word.expression();
        told.map(|e| *word = FrameSlot::Expr(e)).is_some()
    }),
    ("two words say whether there is a turn", "is found in two words", |p, _| {
        let words = &mut p.runs[0].frame.words;
        let told = words.iter().find(|word| matches!(word, FrameSlot::Bound(_))).cloned();
        let spare = words.iter_mut().find(|word| matches!(word, FrameSlot::Temporary));
        spare.zip(told).map(|(word, told)| *word = told).is_some()
    }),
    ("an output is as long as turns are taken", "it has more bytes than its value", |p, _| {
        let Some(Segment::Repeat { running, .. }) = repeat(p).cloned() else { return false };
        let value = p.runs[0].outputs[0];
        p.runs[0].program.values[value.0 as usize].shape = [DimExpr::symbol(running)].into();
        true
    }),
    ("it is written behind the last turn", "behind the last turn of its loop", |p, [_, t]| {
        run_when(p, t.next, |_| When::ALWAYS)
    }),
    ("it is written in a branch of a turn", "is written where a choice was taken", |p, [_, t]| {
        run_when(p, t.next, |when| when.and(when.branches().last().expect("a turn").clone()))
    }),
];

/// Where turns are counted.
const OF_COUNTED: [(&str, &str, Change); 4] = [
    ("it is written in a branch of a turn", "it runs whatever is chosen", |p, [_, t]| {
        let Some(Segment::Repeat { running, .. }) = repeat(p).cloned() else { return false };
        let branch = Branch { taken: DimExpr::symbol(running), otherwise: false };
        run_when(p, t.next, |when| when.and(branch.clone()))
    }),
    ("nothing says how many turns there are", "finds whether its loop runs", |p, _| {
        let Some(Segment::Repeat { count, .. }) = repeat(p) else { return false };
        count.take().is_some()
    }),
    ("only the run finds how many turns there are", "is not known before the run", |p, _| {
        let Some(Segment::Repeat { running, count, .. }) = repeat(p) else { return false };
        count.replace(DimExpr::symbol(*running)).is_some()
    }),
    ("there may be more turns than at most", "a loop of 39 turns at most has 40", |p, _| {
        let Some(Segment::Repeat { turns, .. }) = repeat(p) else { return false };
        std::mem::replace(turns, 39) == 40
    }),
];

/// The first loop.
fn repeat(plan: &mut Plan) -> Option<&mut Segment> {
    program(plan).segments.iter_mut().find(|segment| matches!(segment, Segment::Repeat { .. }))
}

#[test]
fn planted_faults_are_found() {
    let kinds = [(Ends::Counted, &OF_COUNTED[..]), (Ends::Found, &OF_FOUND[..])];
    for (target, (ends, own)) in
        [Target::lavapipe(), Target::h200()].iter().flat_map(|t| kinds.map(|k| (t, k)))
    {
        let sound = plan(target, ends);
        let versions = [0, 1].map(|state| Versions::of(&sound.runs[0].program, state));
        for (what, said, change) in FAULTS.iter().chain(own) {
            let mut plan = sound.clone();
            assert!(change(&mut plan, &versions), "{what}: nothing to change\n{sound}");
            let faults = check(&plan).expect_err(what);
            assert!(faults.iter().any(|f| f.to_string().contains(said)), "{what}: {faults:#?}");
        }
    }
}

/// A state that turns carry is where it always is: no step copies it, and it has no other place.
#[test]
fn a_state_that_is_carried_is_not_copied() {
    for target in [Target::lavapipe(), Target::h200()] {
        let plan = plan(&target, Ends::Counted);
        let program = &plan.runs[0].program;
        for (state, slot) in (0..).zip(&plan.states) {
            let of = |v: &&PlanValue| program.state_of(v.origin) == Some(state);
            assert!(program.values.iter().filter(of).all(|v| v.span == slot.span), "{plan}");
        }
        let Versions { turn, .. } = Versions::of(program, 0);
        let copies = program.steps[turn].iter().filter(|s| s.reason.contains("state")).count();
        assert_eq!(copies, 0, "{plan}");
    }
}
