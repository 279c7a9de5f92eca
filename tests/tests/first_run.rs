//! What the first run costs on a driver that compiles kernels for the CPU: how many kernels a model needs, how often
//! each body is copied in them, and that preparing prepares.
//!
//! A toy transformer took 119 s in its first run on lavapipe, MiniLM 27 s: kernels had a copy of the hole and of its
//! loads and stores for each of 64 pieces of a tile or 16 quads of a row. None of the figures here depends on the
//! machine.

use pumice_compile::{Options, compile};
use pumice_cpu_ref::RefEval;
use pumice_ir::{Graph, GraphBuilder, f32};
use pumice_models::offline::OfflineEncoder;
use pumice_models::{EncoderOptions, specialize};
use pumice_plan::kernel::KernelCall;
use pumice_plan::{Plan, StepKind};
use pumice_tests::graphs::heat::heat;
use pumice_tests::graphs::vit::{Heads, linear_residual, vit};
use pumice_tests::op_suite::checked;
use pumice_types::{DType, Target};
use pumice_vulkan::codegen::FloatControls;
use pumice_vulkan::{Addressing, CheckedInKernels, KernelSource};
use rspirv::dr::Operand;
use rspirv::spirv::{LoopControl, Op};
use std::collections::{BTreeMap, BTreeSet};

fn plan(graph: &Graph, options: &Options) -> Plan {
    let plan = compile(graph, &Target::lavapipe(), options, &RefEval).expect("compiles");
    checked(&plan).unwrap_or_else(|e| panic!("{}: {e}", graph.name()));
    plan
}

/// The calls of the load program and of one run.
fn calls(plan: &Plan, run: usize) -> Vec<&KernelCall> {
    let steps = plan.load.steps.iter().chain(&plan.runs[run].program.steps);
    let call = |kind| match kind {
        &StepKind::Dispatch { ref call, .. } | &StepKind::Advance { ref call } => Some(call),
        _ => None,
    };
    steps.filter_map(|s| call(&s.kind)).collect()
}

/// Kernels that a driver compiles for these calls.
fn kernels(calls: &[&KernelCall]) -> usize {
    let key = |c: &&KernelCall| format!("{} {} {:?} {:?}", c.kernel, c.variant, c.spec, c.holes);
    calls.iter().map(key).collect::<BTreeSet<_>>().len()
}

#[test]
fn models_need_few_kernels() {
    let minilm = OfflineEncoder::new(1, &EncoderOptions::default()).expect("sound").model.graph;
    let encoder = Options::default().specializations(specialize::encoder());
    for (graph, options, most) in [
        (vit(Heads::Attention), Options::default(), 11),
        (vit(Heads::ByHand), Options::default(), 13),
        (linear_residual(), Options::default(), 2),
        (heat(512), Options::default(), 8),
        (minilm, encoder, 20),
    ] {
        let plan = plan(&graph, &options);
        let found = kernels(&calls(&plan, 0));
        assert!(found <= most, "{}: {found} kernels, {most} at most", graph.name());
    }
}

/// `outputs` outputs `x·c + d` with other numbers each.
fn scaled(outputs: u32) -> Graph {
    let g = GraphBuilder::new("scaled");
    let x = g.input("x", f32([1000u64]));
    for i in 0..outputs {
        let number = |v: f64| g.constant_scalar(DType::F32, v);
        g.output(&format!("y{i}"), g.add(g.mul(x, number(f64::from(i) + 0.5)), number(-f64::from(i))));
    }
    g.build().expect("sound")
}

/// 2,000 outputs with as many numbers took a kernel each, and 119 s.
#[test]
fn literals_that_many_bodies_differ_in_are_words_of_the_call() {
    let of = |outputs| kernels(&calls(&plan(&scaled(outputs), &Options::default()), 0));
    assert!(of(40) <= 2, "{} kernels", of(40));
    // Few bodies keep their numbers: a compiler can fold them.
    assert!(of(3) >= 3, "{} kernels", of(3));
}

/// How often each hole's body stands in the code of a kernel once functions are inlined and loops unrolled that the
/// shader asks to unroll.
fn copies(words: &[u32]) -> BTreeMap<String, u64> {
    let module = rspirv::dr::load_words(words).expect("SPIR-V");
    let names: BTreeMap<u32, String> = module
        .debug_names
        .iter()
        .filter_map(|i| match i.operands.as_slice() {
            [Operand::IdRef(id), Operand::LiteralString(text)] => {
                Some((*id, text.split('(').next()?.to_owned()))
            }
            _ => None,
        })
        .collect();
    let constants: BTreeMap<u32, u64> = module
        .types_global_values
        .iter()
        .filter_map(|i| match (i.class.opcode, i.operands.as_slice()) {
            (Op::Constant, [Operand::LiteralBit32(n)]) => Some((i.result_id?, u64::from(*n))),
            _ => None,
        })
        .collect();
    let mut calls: Vec<(u32, u32, u64)> = Vec::new();
    for function in &module.functions {
        let (caller, mut loops) = (function.def_id().expect("an id"), Vec::<(u32, u64)>::new());
        if names.get(&caller).is_some_and(|n| n == "keep_holes") {
            continue;
        }
        for block in &function.blocks {
            let label = block.label_id().expect("a label");
            loops.retain(|l| l.0 != label);
            for i in &block.instructions {
                match (i.class.opcode, i.operands.as_slice()) {
                    (Op::LoopMerge, [Operand::IdRef(end), _, Operand::LoopControl(control), ..]) => {
                        let unrolled = control.contains(LoopControl::UNROLL);
                        loops.push((*end, if unrolled { 0 } else { 1 }));
                    }
                    (Op::ULessThan, [_, Operand::IdRef(n)]) => {
                        if let Some(trips) = loops.last_mut().filter(|l| l.1 == 0) {
                            trips.1 = constants.get(n).copied().unwrap_or(16);
                        }
                    }
                    (Op::FunctionCall, [Operand::IdRef(callee), ..]) => {
                        calls.push((caller, *callee, loops.iter().map(|l| l.1.max(1)).product()));
                    }
                    _ => {}
                }
            }
        }
    }
    fn of(function: u32, calls: &[(u32, u32, u64)]) -> u64 {
        let callers: Vec<_> = calls.iter().filter(|c| c.1 == function).collect();
        // The entry point is called by nobody; nor is a hole that nothing needs.
        callers.iter().map(|c| c.2 * of(c.0, calls).max(1)).sum()
    }
    let holes = names.iter().filter(|(_, name)| name.starts_with("hole_"));
    holes.map(|(&id, name)| (name.clone(), of(id, &calls))).collect()
}

/// The pieces of a tile, the quads of a row and the elements of a run are loops with one body.
#[test]
fn no_kernel_of_a_cpu_driver_has_many_copies_of_a_body() {
    let minilm = OfflineEncoder::new(1, &EncoderOptions::default()).expect("sound").model.graph;
    let encoder = Options::default().specializations(specialize::encoder());
    let mut seen = BTreeSet::new();
    for (graph, options) in [
        (vit(Heads::Attention), Options::default()),
        (vit(Heads::ByHand), Options::default()),
        (heat(512), Options::default()),
        (minilm, encoder),
    ] {
        let plan = plan(&graph, &options);
        for call in (0..plan.runs.len()).flat_map(|run| calls(&plan, run)) {
            if !seen.insert((call.kernel.clone(), call.variant.clone())) {
                continue;
            }
            let words = CheckedInKernels.spirv(call, Addressing::Address, FloatControls::default());
            for (hole, copies) in copies(&words.expect("a module")) {
                // Attention rounds each quad of its result where it is stored; nothing else stands in that hole.
                let most = if call.kernel.0 == "attention_lanes" { 64 } else { 4 };
                assert!(copies <= most, "{}: {copies} copies of {hole}", call.label());
            }
        }
    }
    assert!(seen.len() > 8);
}

mod on_device {
    use super::*;
    use pumice_plan::CheckedPlan;
    use pumice_tests::Fixture;
    use pumice_types::TensorView;
    use pumice_vulkan::{Call, DeviceOptions, KernelObserver};
    use std::sync::{Arc, Mutex};

    #[test]
    fn literals_as_words_give_the_same_numbers() {
        let fixture = Fixture::vulkan();
        let exe = fixture.executable(&scaled(40), &Options::default());
        let x: Vec<f32> = (0..1000).map(|i| i as f32 / 8.0).collect();
        let outputs =
            exe.session().expect("a session").run(&[("x", TensorView::f32(&x, [1000]))]).expect("ran");
        for i in 0..40 {
            let y = outputs.get(&format!("y{i}")).expect("there").to_vec::<f32>().expect("floats");
            let want: Vec<f32> = x.iter().map(|x| x * (i as f32 + 0.5) - i as f32).collect();
            assert_eq!(y, want, "output {i}");
        }
    }

    /// A CPU driver compiled at the first dispatch, in the middle of the first run, whatever had been prepared.
    #[test]
    fn preparing_makes_every_kernel_and_tells_of_each() {
        let heard: Arc<Mutex<Vec<(usize, usize)>>> = Arc::default();
        let log = heard.clone();
        let observer: KernelObserver =
            Arc::new(move |p| log.lock().expect("not poisoned").push((p.done, p.total)));
        let fixture = Fixture::vulkan_with(&DeviceOptions::default().observer(observer));
        let exe = fixture.executable(&linear_residual(), &Options::default());
        let calls = fixture.vulkan.as_ref().expect("a Vulkan device").calls().clone();
        let made = || (calls.count(Call::CreateComputePipelines), calls.count(Call::CmdDispatch));
        let before = made();
        exe.prepare().expect("prepared");
        let after = made();
        let kernels = after.0 - before.0;
        assert!(kernels > 0);
        if fixture.device.target().features.cpu {
            assert_eq!(after.1 - before.1, kernels, "a dispatch of nothing for each kernel");
        }
        let reports = std::mem::take(&mut *heard.lock().expect("not poisoned"));
        assert!(reports.iter().all(|t| t.1 as u64 == kernels), "{reports:?}");
        assert_eq!(reports.last(), Some(&(kernels as usize, kernels as usize)));
        for (name, n) in [("linear.weight", 64 * 64), ("linear.bias", 64)] {
            exe.set_param(name, &vec![0.5; n]).expect("set");
        }
        let x = vec![1.0f32; 17 * 64];
        let mut session = exe.session().expect("a session");
        session.run(&[("x", TensorView::f32(&x, [17, 64]))]).expect("ran");
        assert_eq!(made().0, after.0, "the run makes no kernel");
        assert!(heard.lock().expect("not poisoned").is_empty(), "nor tells of one");
    }

    /// The kernels of a plan are made before it is loaded, in no memory of the device; what is loaded then needs no
    /// other.
    #[test]
    fn a_device_prepares_a_plan_that_is_not_loaded() {
        let fixture = Fixture::vulkan();
        let vulkan = fixture.vulkan.as_ref().expect("a Vulkan device");
        let made = || vulkan.calls().count(Call::CreateComputePipelines);
        let graph = linear_residual();
        let plans = [CheckedPlan::new(fixture.plan(&graph, &Options::default())).expect("sound")];
        let before = made();
        fixture.device.prepare(&plans).expect("prepared");
        let after = made();
        assert!(after > before);
        assert_eq!(vulkan.live_bytes(), pumice_types::Bytes::ZERO);
        fixture.device.prepare(&plans).expect("prepared again");
        let exe = fixture.executable(&graph, &Options::default());
        exe.prepare().expect("prepared");
        assert_eq!(made(), after, "every kernel was there");
    }
}
