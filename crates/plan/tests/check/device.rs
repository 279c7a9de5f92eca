//! What a plan needs of a device: each limit and feature that falls short is said, whatever targets are called.

use pumice_plan::check::check;
use pumice_plan::kernel::Feature;
use pumice_plan::{CheckedPlan, DeviceIndex, Grid, Lack, Limit, Plan, Span, StepKind};
use pumice_types::Bytes;

use crate::plans;

#[test]
fn a_checked_plan_knows_what_it_needs() {
    let plan = CheckedPlan::new(plans::everything()).expect("sound");
    let mut device = plan.target.clone();
    device.name = "another".into();
    assert_eq!(plan.lacks(&device), []);
    device.limits.max_push_constants = 4;
    device.limits.max_allocation = Bytes(64);
    device.limits.max_workgroup_invocations = 128;
    let lacks = plan.lacks(&device);
    let short = |limit: Limit| {
        lacks.iter().any(
            |l| matches!(l, Lack::Limit { limit: m, needed, available } if *m == limit && needed > available),
        )
    };
    assert!(short(Limit::PushConstants) && short(Limit::Allocation), "{lacks:?}");
    assert!(short(Limit::WorkgroupThreads), "{lacks:?}");
    assert_eq!(lacks.len(), 3);
    assert!(lacks[0].to_string().contains("the device has"), "{}", lacks[0]);
}

/// Plans have one device so far; a span of another one is refused wherever it stands.
#[test]
fn spans_of_another_device_are_refused() {
    type Spans = fn(&mut Plan) -> Vec<&mut Span>;
    let places: [(&str, Spans); 4] = [
        ("param", |p| p.params.iter_mut().map(|s| &mut s.span).collect()),
        ("input", |p| p.inputs.iter_mut().map(|s| &mut s.span).collect()),
        ("value", |p| p.runs[0].program.values.iter_mut().map(|v| &mut v.span).collect()),
        ("use", |p| {
            p.runs[0].program.steps.iter_mut().flat_map(|s| &mut s.uses).map(|u| &mut u.span).collect()
        }),
    ];
    for (what, spans) in places {
        for i in 0..spans(&mut plans::everything()).len() {
            let mut plan = plans::everything();
            spans(&mut plan)[i].device = DeviceIndex(1);
            assert!(check(&plan).is_err(), "{what} {i}");
        }
    }
    let mut plan = plans::everything();
    plan.states[0].span.device = DeviceIndex(1);
    let faults = check(&plan).expect_err("another device");
    assert!(faults.iter().any(|f| f.to_string().contains("names another device than 0")), "{faults:?}");
}

#[test]
fn variants_need_their_features() {
    let mut plan = plans::everything();
    let dispatch = plan.runs[0].program.steps.iter_mut().find_map(|s| match &mut s.kind {
        StepKind::Dispatch { call, grid } => Some((call, grid)),
        _ => None,
    });
    let (call, grid) = dispatch.expect("there is one");
    (call.kernel.0, call.variant) = ("matmul_f32".into(), "t128".into());
    *grid = Grid::Static([1, 70_000, 1]);
    let needs = pumice_plan::Needs::of(&plan);
    let mut device = plan.target.clone();
    assert!(
        needs
            .lacks(&device)
            .iter()
            .any(|l| matches!(l, Lack::Limit { limit: Limit::WorkgroupsY, needed: 70_000, .. }))
    );
    assert!(needs.limits().contains(&(Limit::SharedMemory, 33_792)));
    (call_mut(&mut plan).kernel.0, call_mut(&mut plan).variant) = ("attention_lanes".into(), "w32".into());
    device.features.int64 = false;
    assert!(pumice_plan::Needs::of(&plan).lacks(&device).contains(&Lack::Feature(Feature::Int64)));
}

fn call_mut(plan: &mut pumice_plan::Plan) -> &mut pumice_plan::KernelCall {
    let calls = plan.runs[0].program.steps.iter_mut().filter_map(|s| match &mut s.kind {
        StepKind::Dispatch { call, .. } => Some(call),
        _ => None,
    });
    calls.into_iter().next().expect("there is one")
}
