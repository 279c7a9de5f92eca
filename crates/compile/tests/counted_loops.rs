//! Loops whose turns the caller's symbols count, planted faults: the checker refuses each plan in which the number of
//! turns may have no value, follows from what the run finds or from a scalar, or is that of another loop; and each in
//! which something that a turn makes is read behind the loop, where there may have been no turn.

use pumice_compile::{Options, compile};
use pumice_cpu_ref::RefEval;
use pumice_ir::{GraphBuilder, Value, bool_, f32, sym};
use pumice_plan::check::check;
use pumice_plan::{Plan, Segment, VersionId, VersionOrigin};
use pumice_types::{DimExpr, ScalarId, SymbolId, Target};

/// A loop of n turns in a branch, and one of m turns; none of either is as well.
fn plan(target: &Target) -> Plan {
    let g = GraphBuilder::new("g");
    let x = g.input("x", f32([6]));
    let n = g.dim_of(g.input("n", f32([sym("n", 0..=40)])), 0);
    let m = g.dim_of(g.input("m", f32([sym("m", 0..=20)])), 0);
    let step = |g: &GraphBuilder, [y]: [Value; 1]| {
        let mean = g.reduce_mean(g.mul(y, y), &[0], true);
        [g.add(g.mul(y, mean), x)]
    };
    let looped = |g: &GraphBuilder| g.loop_(n.clone(), [x], |g, _, y| step(g, y));
    let [y] = g.if_(g.input("c", bool_::<u64>([])), looped, |g| [g.neg(x)]);
    let [z] = g.loop_(m, [x], |g, _, z| step(g, z));
    g.output("y", g.neg(y));
    g.output("z", g.neg(z));
    let plan = compile(&g.build().expect("sound"), target, &Options::default(), &RefEval);
    let plan = plan.expect("it compiles");
    check(&plan).unwrap_or_else(|faults| panic!("{plan}\n{faults:?}"));
    plan
}

/// The loops: the most turns, and how many there are.
fn loops(plan: &mut Plan) -> Vec<(&mut u32, &mut Option<DimExpr>)> {
    let segments = plan.runs[0].program.segments.iter_mut();
    let of_loops = segments.filter_map(|segment| match segment {
        Segment::Repeat { turns, count, .. } => Some((turns, count)),
        _ => None,
    });
    of_loops.collect()
}

/// Steps of the loop after which there is another one, and the first step behind it that reads what it left.
fn turn(plan: &Plan, at: usize) -> std::ops::Range<usize> {
    let program = &plan.runs[0].program;
    let levels = program.segments.iter().filter_map(|segment| match segment {
        Segment::Repeat { levels, .. } => Some(levels.clone()),
        _ => None,
    });
    let levels = levels.clone().nth(at).expect("two loops");
    let [first, last] = [levels.start, levels.end - 1].map(|l| &program.levels[l as usize].steps);
    first.start as usize..last.end as usize
}

fn refused(plan: &Plan, why: &str) {
    let faults = check(plan).err().unwrap_or_default();
    assert!(faults.iter().any(|f| f.to_string().contains(why)), "{why}: {faults:#?}\n{plan}");
}

fn number(n: i64) -> DimExpr {
    DimExpr::constant(n)
}

#[test]
fn a_number_of_turns_has_a_value_whatever_the_caller_binds() {
    let sound = plan(&Target::lavapipe());
    let n = DimExpr::symbol(SymbolId(0));
    // It has none for n = 0, where the interval of the minimum is 40 at most all the same; and for n = 7 alone.
    let square = &n * &n - &n * number(14) + number(49);
    for by in [n.clone(), square] {
        let count = number(1000).floor_div(&by).min_with(&number(40));
        let mut plan = sound.clone();
        *loops(&mut plan)[0].1 = Some(count);
        refused(&plan, "may have no value");
    }
    // No value passes 64 bits, but what leads to it does.
    let far = &n * number(1 << 40) * &n * number(1 << 40);
    let mut plan = sound;
    *loops(&mut plan)[0].1 = Some(far.min_with(&number(40)));
    refused(&plan, "may have no value");
}

#[test]
fn a_number_of_turns_follows_from_what_the_caller_binds_alone() {
    let sound = plan(&Target::lavapipe());
    let found = sound.symbols.found().next().expect("a choice");
    let of_found = DimExpr::symbol(found) * number(40);
    let of_scalar = DimExpr::scalar(ScalarId(0)).min_with(&number(40));
    for count in [of_found, of_scalar.max_with(&number(0))] {
        let mut plan = sound.clone();
        *loops(&mut plan)[0].1 = Some(count);
        assert!(check(&plan).is_err(), "{plan}");
    }
}

#[test]
fn a_number_of_turns_is_that_of_its_loop_where_the_largest_differ() {
    let sound = plan(&Target::lavapipe());
    assert_eq!(loops(&mut sound.clone()).iter().map(|l| *l.0).collect::<Vec<_>>(), [40, 20]);
    let mut exchanged = sound.clone();
    let mut all = loops(&mut exchanged);
    let [(_, a), (_, b)] = &mut all[..] else { panic!("two loops") };
    std::mem::swap(*a, *b);
    refused(&exchanged, "a loop of 40 turns at most has 20");
    refused(&exchanged, "a loop of 20 turns at most has 40");
    let mut fewer = sound;
    *loops(&mut fewer)[1].0 = 19;
    refused(&fewer, "a loop of 19 turns at most has 20");
}

/// A step behind the loop, or an output, names what the last turn made on its way: where there is no turn nothing has
/// made it.
#[test]
fn what_a_turn_makes_on_its_way_is_not_there_behind_the_loop() {
    let sound = plan(&Target::lavapipe());
    for at in [0, 1] {
        let turn = turn(&sound, at);
        let program = &sound.runs[0].program;
        let is_step = |id: VersionId| program.values[id.0 as usize].origin == VersionOrigin::Step;
        let made: Vec<VersionId> = program.steps[turn.clone()]
            .iter()
            .flat_map(|s| &s.uses)
            .filter(|u| u.access.writes() && is_step(u.content))
            .map(|u| u.content)
            .collect();
        let last = *made.last().expect("a turn makes something on its way");
        let span = program.values[last.0 as usize].span;
        let mut changed = 0;
        for step in turn.end..program.steps.len() {
            for index in 0..program.steps[step].uses.len() {
                let mut plan = sound.clone();
                let used = &mut plan.runs[0].program.steps[step].uses[index];
                if used.access.writes() || used.span.len != span.len {
                    continue;
                }
                (used.content, used.span) = (last, span);
                // Nothing, or what another step has left in that place.
                refused(&plan, "and finds ");
                changed += 1;
            }
        }
        assert!(changed > 0 || at == 1, "{sound}");
    }
}
