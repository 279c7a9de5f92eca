//! Plans as files (F7): every plan is loaded as it was saved and saved again the same, runs the same, and takes the
//! memory and the time that a user would expect.

use pumice_compile::Options;
use pumice_models::decoder::{DecoderConfig, decoder_graph};
use pumice_models::specialize;
use pumice_plan::{CheckedPlan, Plan, PlanForm};
use pumice_tests::graphs::{eight_billion, random};
use pumice_tests::op_suite::cases;
use pumice_types::{Bindings, ScalarId, SymbolId, Target};
use std::time::{Duration, Instant};

/// Both forms of a plan: loaded as they were saved, saved again the same, sound.
fn goes_round(plan: Plan) -> usize {
    let name = plan.name.clone();
    let run = plan.clone().into_run_form();
    let mut bytes = 0;
    for (form, plan) in [(PlanForm::Explain, plan), (PlanForm::Run, run)] {
        let file = plan.to_bytes(form).unwrap_or_else(|e| panic!("{name}: {e}"));
        let loaded = Plan::load(&file).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(loaded.to_bytes(form).unwrap_or_else(|e| panic!("{name}: {e}")), file, "{name}");
        // NaN of a constant or of a figure is not equal to itself; bytes are.
        assert!(loaded == plan || format!("{loaded:?}") == format!("{plan:?}"), "{name}: {form:?}");
        CheckedPlan::new(loaded).unwrap_or_else(|e| panic!("{name}: {form:?}: {e}"));
        bytes = file.len();
    }
    bytes
}

fn plans(target: &Target) -> impl Iterator<Item = Plan> + use<'_> {
    let samples = cases(None).into_iter().filter_map(|c| c.sample.graph.ok()).step_by(3);
    let programs = (0..150).filter_map(|seed| random::sample(seed).graph.ok());
    let compile = |graph: pumice_ir::Graph| {
        pumice_compile::compile(&graph, target, &Options::default(), &pumice_cpu_ref::RefEval).ok()
    };
    samples.chain(programs).filter_map(compile)
}

#[test]
fn samples_and_random_programs_go_round() {
    for target in [Target::lavapipe(), Target::h200()] {
        let bytes: Vec<usize> = plans(&target).map(goes_round).collect();
        println!("{}: {} plans, {} bytes", target.name, bytes.len(), bytes.iter().sum::<usize>());
        assert!(bytes.len() > 400, "{}", bytes.len());
    }
}

fn tiny(target: &Target) -> Plan {
    let graph = decoder_graph("tiny", &DecoderConfig::tiny()).expect("sound");
    let options = Options::default().specializations(specialize::decoder());
    pumice_compile::compile(&graph, target, &options, &pumice_cpu_ref::RefEval).expect("it compiles")
}

#[test]
fn decoders_go_round() {
    [Target::lavapipe(), Target::h200()].iter().for_each(|t| _ = goes_round(tiny(t)));
}

/// The plans of an 8B model take less than 3 MB, however slow the machine is.
#[test]
fn plans_of_a_large_model_are_small_files() {
    let bytes = goes_round(eight_billion::plan(&eight_billion::graph()));
    println!("{bytes} bytes");
    assert!(bytes <= 3_000_000, "{bytes} bytes");
}

/// What a new binding of a large plan from a file takes: layers are alike, so that few rules are evaluated; a repeated
/// one takes none.
#[test]
fn bindings_of_a_large_plan_are_looked_at_once() {
    let file = eight_billion::plan(&eight_billion::graph()).to_bytes(PlanForm::Run).expect("saved");
    let plan = CheckedPlan::new(Plan::load(&file).expect("as it was saved")).expect("sound");
    let run = plan.runs.len() - 1;
    let (low, _) = plan.runs[run].ranges[0];
    let mut times = Vec::new();
    let mut counts = Vec::new();
    for t in (low..low + 100).chain([low]) {
        let mut bindings = Bindings::new();
        bindings.bind(SymbolId(0), t);
        for (i, scalar) in (0u32..).zip(&plan.scalars) {
            bindings.bind_scalar(ScalarId(i), scalar.default as i64);
        }
        let words = plan.runs[run].frame.evaluate(&bindings, &|_| 0).expect("every word has a value");
        let before = plan.rule_evaluations();
        let begin = Instant::now();
        let mut allowance = plan.begin_replays(run, 1).expect("one replay");
        plan.check_replay(run, &bindings, &words, &mut allowance).expect("sound");
        times.push(begin.elapsed());
        counts.push(plan.rule_evaluations() - before);
    }
    let repeated = counts.pop();
    times.pop();
    times.sort_unstable();
    println!("{} evaluations a binding, median {:?}", counts[0], times[times.len() / 2]);
    assert_eq!(repeated, Some(0));
    // 158 of 427 steps: what differs from layer to layer is evaluated for each.
    let steps = plan.runs[run].program.steps.len() as u64;
    assert!(counts.iter().all(|&n| n == counts[0] && n > 0 && n < steps / 2), "{counts:?} of {steps} steps");
}

#[test]
#[ignore = "long: times are those of a release build"]
fn plans_of_a_large_model_are_there_at_once() {
    let file = eight_billion::plan(&eight_billion::graph()).to_bytes(PlanForm::Run).expect("saved");
    let fastest = (0..5).map(|_| {
        let begin = Instant::now();
        CheckedPlan::new(Plan::load(&file).expect("as it was saved")).expect("sound");
        begin.elapsed()
    });
    let fastest = fastest.min().unwrap_or_default();
    println!("{fastest:?}");
    assert!(fastest <= Duration::from_millis(100), "{fastest:?}");
}

mod on_interpreter {
    use super::*;
    use pumice_cpu_ref::RefHostOps;
    use pumice_runtime::{DeviceError, Executable, RuntimeError};
    use pumice_tests::Fixture;
    use std::sync::Arc;

    /// What steps mean is not in the run form, and the interpreter runs nothing else.
    #[test]
    fn the_run_form_is_refused_by_name() {
        let fixture = Fixture::interpreter();
        let plan = CheckedPlan::new(tiny(&fixture.target).into_run_form()).expect("sound");
        let refused = Executable::new(fixture.device, plan, Arc::new(RefHostOps)).expect_err("no meanings");
        assert!(
            matches!(&refused, RuntimeError::Device(DeviceError::NoMeanings { plan }) if plan == "tiny"),
            "{refused}"
        );
    }
}

mod on_device {
    use super::*;
    use pumice_models::decoder::seeded;
    use pumice_plan::{Fingerprint, KernelCall};
    use pumice_runtime::{DeviceError, Executable, RuntimeError};
    use pumice_tests::Fixture;
    use pumice_types::TensorView;
    use pumice_vulkan::codegen::FloatControls;
    use pumice_vulkan::{Addressing, CheckedInKernels, DeviceOptions, KernelSource};
    use std::sync::Arc;

    /// Logits after a prompt, and the tokens that follow, of the plan as it is given.
    fn tokens(fixture: &Fixture, plan: Plan) -> (Vec<u8>, Vec<u8>) {
        let model = seeded(decoder_graph("tiny", &DecoderConfig::tiny()).expect("sound"), 5).expect("fits");
        let exe = fixture.load(plan);
        for id in model.graph.params() {
            let name = &model.graph.value(id).name;
            exe.set_param_view(name, model.weights.load(name).expect("made").view()).expect("fits");
        }
        let mut session = exe.session().expect("a session");
        let prompt = [7, 250, 3, 99, 0, 31, 64, 200, 128];
        let out = session.run(&[("ids", TensorView::i32(&prompt, [1, 9]))]).expect("runs");
        let logits = out.get("logits").expect("there").bytes().to_vec();
        session.run_steps(&[("ids", TensorView::i32(&[-1], [1, 1]))], 12).expect("runs");
        let history = session.state("history").expect("there").read_range(1, 9..21).expect("rows");
        (logits, history.bytes().to_vec())
    }

    /// The file's run form computes the same bits as the plan that it was saved from.
    #[test]
    fn a_loaded_plan_computes_the_same() {
        let fixture = Fixture::vulkan();
        let plan = tiny(&fixture.target);
        let loaded = Plan::load(&plan.to_bytes(PlanForm::Run).expect("saved")).expect("as it was saved");
        assert_eq!(tokens(&fixture, plan), tokens(&fixture, loaded));
    }

    /// The checked-in kernels, and another code for one of them.
    struct Another;

    impl KernelSource for Another {
        fn spirv(&self, call: &KernelCall, form: Addressing, to: FloatControls) -> Result<Vec<u32>, String> {
            CheckedInKernels.spirv(call, form, to)
        }

        fn code(&self, kernel: &str, variant: &str) -> Option<Fingerprint> {
            match kernel {
                "rms_norm" => Some(Fingerprint::of(b"another")),
                _ => CheckedInKernels.code(kernel, variant),
            }
        }

        fn identity(&self) -> [u8; 32] {
            [7; 32]
        }
    }

    #[test]
    fn another_code_on_the_device_is_refused_by_name() {
        let fixture = Fixture::vulkan_with(&DeviceOptions::default().kernels(Arc::new(Another)));
        let plan = CheckedPlan::new(tiny(&fixture.target)).expect("sound");
        let refused = Executable::new(fixture.device, plan, Arc::new(pumice_cpu_ref::RefHostOps));
        let refused = refused.expect_err("another code");
        assert!(
            matches!(&refused, RuntimeError::Device(DeviceError::OtherKernel { kernel, .. }) if kernel == "rms_norm"),
            "{refused}"
        );
    }
}
