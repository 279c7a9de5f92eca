//! The plan checker: a sound plan passes, every mutant that brute force calls wrong is flagged.

mod device;
mod file;
mod plans;
mod print;
mod sketch;
mod strangers;
mod unwritten;

use pumice_plan::check::{CheckError, Fault, ProgramRef, check, judge::brute_force, mutate::mutations};
use pumice_plan::kernel::Feature;
use pumice_plan::{Access, Barrier, InputError, InputUse, Plan, RegionKind, Segment, StepKind};
use pumice_types::Bytes;

fn faults(plan: &Plan) -> Vec<CheckError> {
    check(plan).err().unwrap_or_default()
}

fn assert_fault(plan: &Plan, wanted: impl Fn(&Fault) -> bool) {
    let found = faults(plan);
    assert!(found.iter().any(|e| wanted(&e.fault)), "found only {found:#?}");
}

#[test]
fn a_sound_plan_passes() {
    let plan = plans::everything();
    let report = check(&plan).unwrap_or_else(|e| panic!("{e:#?}"));
    assert_eq!(brute_force(&plan), Ok(()));
    assert_eq!(report.runs[0].steps, plan.runs[0].stats.steps);
    assert_eq!(report.runs[0].levels, 7);
    // The advance waits for readers of the frame in level 4; the barrier before level 5 is between them already.
    assert_eq!((report.runs[0].barriers, report.redundant_barriers()), (4, 1));
    assert!(report.runs[0].pairs > 4);
}

#[test]
fn every_wrong_mutant_is_flagged() {
    let plan = plans::everything();
    let (mut wrong, mut harmless, mut strict) = (0, 0, 0);
    for mutation in mutations(&plan) {
        let mutant = mutation.apply(&plan);
        let flagged = check(&mutant).is_err();
        match brute_force(&mutant) {
            Err(why) => {
                wrong += 1;
                assert!(flagged, "not flagged: {mutation}: {why}");
            }
            Ok(()) => {
                harmless += 1;
                strict += u32::from(flagged);
            }
        }
    }
    println!(
        "{wrong} wrong mutants, all flagged; {harmless} harmless ones, {strict} of them refused all the same"
    );
    assert!(wrong > 300 && harmless > 10, "{wrong} {harmless}");
}

#[test]
fn a_barrier_too_many_is_counted() {
    let mut plan = plans::everything();
    let run = &mut plan.runs[0];
    // Level 0 begins a segment: the seam barrier is there already.
    run.program.levels[0].barrier =
        Some(Barrier { from_shader_write: true, to_shader: true, ..Barrier::default() });
    run.stats.barriers += 1;
    assert_eq!(check(&plan).map(|r| r.redundant_barriers()), Ok(2));
}

#[test]
fn hazards_name_both_steps() {
    let mut plan = plans::everything();
    plan.runs[0].program.levels[1].barrier = None;
    plan.runs[0].stats.barriers -= 1;
    let found = faults(&plan);
    let text: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert!(
        text.iter()
            .any(|t| t
                == "run 0: s3 (sum): RAW of s1 and s3 on scratch+0x0:64: nothing between them orders them"),
        "{text:#?}"
    );
    assert!(found.iter().all(|e| e.program == Some(ProgramRef::Run(0))));
}

#[test]
fn places_are_checked() {
    let mut plan = plans::everything();
    plan.regions[RegionKind::Scratch as usize].chunks = vec![Bytes(256), Bytes(256)];
    assert_fault(&plan, |f| matches!(f, Fault::Slot { why: "it ends outside its region", .. }));

    let mut plan = plans::everything();
    plan.states[0].span.region = RegionKind::Scratch;
    assert_fault(&plan, |f| matches!(f, Fault::Slot { why: "it belongs in another region", .. }));

    let mut plan = plans::everything();
    plan.target.limits.max_allocation = Bytes(256);
    assert_fault(&plan, |f| matches!(f, Fault::Region { .. }));

    let mut plan = plans::everything();
    plan.target.limits.memory = Bytes(1000);
    assert_fault(&plan, |f| matches!(f, Fault::Memory { .. }));

    let mut plan = plans::everything();
    let total = plan.regions[RegionKind::Scratch as usize].chunks[0].0;
    plan.regions[RegionKind::Scratch as usize].chunks = vec![Bytes(256), Bytes(total - 256)];
    assert_eq!(faults(&plan), vec![], "slots of 64 bytes cross no border");
}

#[test]
fn names_of_the_status_block_are_those_of_the_steps() {
    let mut plan = plans::everything();
    plan.status_ops[0] = "another".into();
    assert_fault(
        &plan,
        |f| matches!(f, Fault::Meaning(why) if why == "its status number 0 is that of another"),
    );

    // A second name, as another range might bring it: the run resets one word too few.
    let mut plan = plans::everything();
    plan.status_ops.push("of another range".into());
    assert_fault(
        &plan,
        |f| matches!(f, Fault::Structure(why) if why.contains("begins the replay in the status block of 2 ops")),
    );
}

/// Inputs of a meaning are bound by name, whatever their order; the step is named where one is not bound once.
#[test]
fn inputs_of_meanings_are_bound_by_name() {
    let sums = |plan: &mut Plan, change: &dyn Fn(&mut Vec<InputUse>)| {
        let mut steps = plan.runs[0].program.steps.iter_mut();
        change(
            &mut steps
                .find(|s| &*s.origin == "sum" && s.meaning.inputs.len() > 1)
                .expect("a sum")
                .meaning
                .inputs,
        );
    };
    let refused = |change: &dyn Fn(&mut Vec<InputUse>)| {
        let mut plan = plans::everything();
        sums(&mut plan, change);
        let found = faults(&plan);
        assert!(found.iter().all(|e| e.to_string().contains("(sum)")), "{found:#?}");
        found.into_iter().map(|e| e.fault).collect::<Vec<_>>()
    };
    assert_eq!(refused(&|inputs| inputs.reverse()), []);
    let stray = InputUse { name: "other".into(), at: 0 };
    let fault = |error| [Fault::Input(error)];
    assert_eq!(refused(&|inputs| inputs.push(stray.clone())), fault(InputError::Unknown("other".into())));
    assert_eq!(refused(&|inputs| inputs[0] = stray.clone()), fault(InputError::Unknown("other".into())));
    assert_eq!(
        refused(&|inputs| inputs[1].name = inputs[0].name.clone()),
        fault(InputError::Twice("i0".into()))
    );
    assert_eq!(refused(&|inputs| _ = inputs.pop()), fault(InputError::Missing("i1".into())));

    // Without a graph there is nothing to name.
    let mut run = plans::everything().into_run_form();
    assert_eq!(faults(&run), []);
    let steps = &mut run.runs[0].program.steps;
    let dispatch = steps.iter_mut().find(|s| !s.is_host() && !s.meaning.inputs.is_empty());
    dispatch.expect("a dispatch").meaning.inputs[0].name = "i0".into();
    assert_fault(&run, |f| *f == Fault::Input(InputError::Unknown("i0".into())));
}

#[test]
fn ranges_cover_every_binding_once() {
    let mut plan = plans::everything();
    let mut second = plan.runs[0].clone();
    (plan.runs[0].ranges, second.ranges) = (vec![(1, 2)], vec![(3, 4)]);
    plan.runs.push(second);
    assert_eq!(faults(&plan), vec![]);
    plan.runs[1].ranges = vec![(4, 4)];
    assert_fault(&plan, |f| matches!(f, Fault::Ranges(w) if w == "0 runs cover n=3"));
    plan.runs[1].ranges = vec![(2, 4)];
    assert_fault(&plan, |f| matches!(f, Fault::Ranges(w) if w == "2 runs cover n=2"));
    plan.runs[1].ranges = vec![(3, 5)];
    assert_fault(&plan, |f| matches!(f, Fault::Ranges(_)));
}

#[test]
fn a_smaller_range_may_use_the_front_of_a_slot() {
    let mut plan = plans::everything();
    plan.symbols.set_range(pumice_types::SymbolId(0), 1, 9);
    assert_fault(&plan, |f| matches!(f, Fault::Slot { what, .. } if what == "input x"));
}

/// The product of the extents before the 0 passes 64 bits; the output has no bytes all the same.
#[test]
fn an_output_without_elements_fits_whatever_its_other_extents_are() {
    let shape = |last| [1 << 40, 1 << 40, last].map(pumice_types::DimExpr::constant).into();
    let mut plan = plans::everything();
    plan.outputs[0].shape = shape(0);
    assert_eq!(faults(&plan), vec![]);
    plan.outputs[0].shape = shape(1);
    assert_fault(&plan, |f| matches!(f, Fault::Slot { why: "its extents have no value", .. }));
}

/// A kernel without the feature of its own gets it from what its hole computes; two words that are moved need none.
#[test]
fn holes_that_compute_with_64_bit_integers_need_them() {
    use pumice_types::scalar::{RegType, ScalarExpr};
    let is_int64 = |f: &Fault| matches!(f, Fault::Feature { feature: Feature::Int64, .. });
    let with = |expr: ScalarExpr| {
        let mut plan = plans::everything();
        plan.target.features.int64 = false;
        let StepKind::Dispatch { call, .. } = &mut plan.load.steps[0].kind else { panic!("a dispatch") };
        call.holes[0].expr = expr;
        faults(&plan).iter().any(|e| is_int64(&e.fault))
    };
    let computed = |f: fn(&pumice_types::scalar::ScalarBuilder, pumice_types::scalar::Reg) -> _, ty| {
        ScalarExpr::unary(ty, f).expect("well typed")
    };
    assert!(!with(ScalarExpr::identity(RegType::I64)));
    assert!(!with(computed(|b, x| b.add(x, x), RegType::I32)));
    assert!(with(computed(|b, x| b.add(x, x), RegType::I64)));
    assert!(with(computed(|b, x| b.convert(x, RegType::F32), RegType::I64)));
    assert!(with(computed(|b, x| b.convert(x, RegType::I64), RegType::F32)));
}

#[test]
fn grids_and_frames_are_checked() {
    let mut plan = plans::everything();
    plan.target.limits.max_workgroup_count = [0; 3];
    assert_fault(&plan, |f| matches!(f, Fault::Grid { dimension: 0, groups: 1, limit: 0 }));

    let mut plan = plans::everything();
    plan.runs[0].frame.advance[0].a = 2;
    assert_fault(&plan, |f| matches!(f, Fault::Frame(w) if w.contains("the host would write")));

    let mut plan = plans::everything();
    plan.runs[0].frame.advance[1].dst.0 = 99;
    assert_fault(&plan, |f| matches!(f, Fault::Frame(w) if w.contains("past")));

    let mut plan = plans::everything();
    plan.scalars[0].advance = None;
    assert_fault(&plan, |f| matches!(f, Fault::Structure(_)));
}

#[test]
fn structure_is_checked() {
    let mut plan = plans::everything();
    plan.runs[0].program.segments.remove(1);
    assert_fault(&plan, |f| matches!(f, Fault::Structure(_)));

    let mut plan = plans::everything();
    plan.runs[0].program.levels[2].steps.end += 1;
    assert_fault(&plan, |f| matches!(f, Fault::Structure(_)));

    let mut plan = plans::everything();
    plan.runs[0].program.segments = vec![Segment::Gpu { levels: 0..7 }];
    assert_fault(&plan, |f| matches!(f, Fault::Structure(w) if w == "a host step in a GPU segment"));

    let mut plan = plans::everything();
    plan.runs[0].outputs.clear();
    assert_fault(&plan, |f| matches!(f, Fault::Structure(_)));

    let mut plan = plans::everything();
    plan.runs[0].program.steps[1].uses[0].content.0 = 1000;
    assert_fault(&plan, |f| matches!(f, Fault::Use { .. }));
}

#[test]
fn accesses_of_other_kinds_are_refused() {
    for access in [Access::TransferRead, Access::TransferWrite, Access::HostRead, Access::HostWrite] {
        let mut plan = plans::everything();
        plan.runs[0].program.steps[1].uses[0].access = access;
        assert_fault(&plan, |f| matches!(f, Fault::Use { index: 0, .. }));
    }
}

/// A plan with a thousand steps is checked in milliseconds; the limit leaves room for a slow machine.
#[test]
fn a_large_plan_is_checked_quickly() {
    let plan = plans::chain(1000);
    let start = std::time::Instant::now();
    let report = check(&plan).unwrap_or_else(|e| panic!("{:#?}", &e[..3.min(e.len())]));
    let took = start.elapsed();
    assert_eq!(report.runs[0].steps, 1000);
    println!("{took:?}");
    assert!(took.as_millis() < 500, "{took:?}");
}

/// A kernel's loops stay within what the target's driver lets them iterate.
#[test]
fn loops_that_the_driver_would_end_are_refused() {
    const PER: u32 = 3;
    let mut plan = plans::everything();
    let call = plan.runs[0].program.steps.iter_mut().find_map(|s| match &mut s.kind {
        StepKind::Dispatch { call, .. } if call.kernel.0 == "elementwise_flat" => Some(call),
        _ => None,
    });
    let call = call.expect("an elementwise step");
    call.spec.retain(|s| s.0 != PER);
    call.spec.push((PER, 65_535));
    call.spec.sort_by_key(|s| s.0);
    let refused = |f: &Fault| matches!(f, Fault::LoopTurns { kernel, turns: 65_536, limit: 65_535 } if kernel == "elementwise_flat.plain");
    assert_fault(&plan, refused);
    plan.target.limits.loop_turns = None;
    assert!(
        !faults(&plan).iter().any(|e| matches!(e.fault, Fault::LoopTurns { .. })),
        "other drivers have no limit"
    );
}

/// Every way in which a stream and its param can disagree, or a stream with another program.
#[test]
fn streams_are_checked() {
    let refused = |change: fn(&mut Plan), wanted: &str| {
        let mut plan = plans::everything();
        change(&mut plan);
        let found: Vec<String> = faults(&plan).iter().map(ToString::to_string).collect();
        assert!(found.iter().any(|f| f.contains(wanted)), "{wanted}: {found:#?}");
    };
    refused(|p| p.streams[0].param = 7, "stream of 7: it is no param");
    refused(|p| p.streams[0].param = 0, "stream of w: the param is kept");
    refused(|p| p.streams.clear(), "stream of t: there is none");
    refused(|p| p.streams.push(p.streams[0].clone()), "stream of t: there are several");
    refused(|p| p.streams[0].room.kind = RegionKind::States, "its room is not scratch");
    refused(|p| p.streams[0].room.chunks.clear(), "it ends outside its region");
    refused(|p| p.streams[0].room.chunks = vec![Bytes(1 << 60)], "the largest allocation");
    refused(|p| p.params[1].span.len = Bytes(32), "the param has other bytes than its place");
    refused(|p| p.params[1].span.offset = Bytes(0), "it is not where its slot is");
    refused(|p| p.states[0].init = pumice_plan::StateInit::Param(1), "a state begins as the param");
    // The room is there beside the weights.
    refused(
        |p| p.target.limits.memory = p.region_size(RegionKind::Weights) + Bytes(511),
        "weights and its room are more than the target has",
    );
    // What the stream leaves is where another program leaves something.
    refused(
        |p| p.streams[0].program.values[2].span = p.load.values[1].span,
        "derived weight wd and derived weight td share bytes",
    );
    // The param is used again by what is made of it.
    refused(
        |p| {
            let place = p.params[1].span;
            p.streams[0].program.values[1].span = place;
            for u in p.streams[0].program.steps.iter_mut().flat_map(|s| &mut s.uses) {
                if u.span.region == RegionKind::Scratch {
                    u.span = place;
                }
            }
        },
        "stream 0",
    );
}

/// Bytes of a streamed param are read by its own stream alone, and a stream reads no other param.
#[test]
fn streamed_bytes_are_read_by_their_stream_alone() {
    let reads = |program: &mut pumice_plan::Program, from: &str, to: pumice_plan::PlanValue| {
        let at = program.values.iter().position(|v| *v.name == *from).expect("a value");
        let span = to.span;
        program.values[at] = to;
        for u in program.steps.iter_mut().flat_map(|s| &mut s.uses) {
            if u.content.0 as usize == at {
                u.span = span;
            }
        }
    };
    let is_not_there = |f: &Fault, name: &str| matches!(f, Fault::NotThere { param, .. } if param == name);
    let mut plan = plans::everything();
    let streamed = plan.streams[0].program.values[0].clone();
    reads(&mut plan.runs[0].program, "w", streamed.clone());
    assert_fault(&plan, |f| is_not_there(f, "t"));
    let mut plan = plans::everything();
    reads(&mut plan.load, "w", streamed);
    assert_fault(&plan, |f| is_not_there(f, "t"));
    let mut plan = plans::everything();
    let kept = plan.load.values[0].clone();
    reads(&mut plan.streams[0].program, "t", kept);
    assert_fault(&plan, |f| is_not_there(f, "w"));
}
