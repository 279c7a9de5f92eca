//! Programs of several graphs: entries share params, states, scalars and symbols, and nothing else.

use pumice::ops::Fft;
use pumice::{
    Device, Entry, Executable, Graph, GraphBuilder, Options, Placement, PlanForm, RuntimeError, Session,
    TensorView, f32, i32, sym,
};
use pumice_plan::{Plan, check};

/// Adds a batch, times a weight, to a sum, and counts the runs.
fn step() -> Graph {
    let g = GraphBuilder::new("step");
    let runs = g.scalar_advancing("runs", 0, 100, 0, 1.into());
    let x = g.input("x", f32([sym("batch", 1..=64), 8.into()]));
    let w = g.param("w", f32([8, 4]));
    let sum = g.state("sum", f32([4]));
    let of_batch = g.reduce_sum(g.matmul(x, w), &[0], false);
    let next = g.add(g.state_read(sum), of_batch);
    g.state_write(sum, next);
    g.output("next", next);
    g.output("runs", g.add(runs, g.constant_scalar(pumice::DType::I32, 0.0)));
    g.build().expect("sound")
}

/// Tells the sum, and what a batch of another type and rank adds up to with a weight that the step does not have.
fn tell() -> Graph {
    let g = GraphBuilder::new("tell");
    let x = g.input("x", i32([sym("rows", 1..=5)]));
    let b = g.param("b", f32([4]));
    let sum = g.state_read(g.state("sum", f32([4])));
    let runs = g.scalar_advancing("runs", 0, 100, 0, 1.into());
    g.output("shifted", g.add(sum, b));
    g.output("rows", g.reduce_sum(x, &[0], false));
    g.output("again", g.add(runs, g.constant_scalar(pumice::DType::I32, 0.0)));
    g.build().expect("sound")
}

/// Reads the sum and has no symbol, no input, no scalar and no param.
fn read() -> Graph {
    let g = GraphBuilder::new("read");
    let sum = g.state_read(g.state("sum", f32([4])));
    g.output("twice", g.add(sum, sum));
    g.build().expect("sound")
}

fn options() -> Options {
    Options::default().specialize("batch", [1, 8])
}

fn compiled(device: &Device, options: &Options) -> Executable {
    let (step, tell, read) = (step(), tell(), read());
    let entries = [("step", &step), ("tell", &tell), ("read", &read)];
    let exe = pumice::compile_entries(&entries, device, options).expect("compiles");
    exe.set_param("w", &(0..32).map(|i| (i % 5) as f32).collect::<Vec<_>>()).expect("of 32");
    exe.set_param("b", &[100.0, 200.0, 300.0, 400.0]).expect("of 4");
    exe
}

fn floats(session: &mut Session, name: &str) -> Vec<f32> {
    session.output(name).and_then(|t| t.to_vec::<f32>().map_err(|e| unreachable!("{e}"))).expect("an output")
}

/// What `step` adds for a batch of ones.
fn of_ones(rows: u64) -> Vec<f32> {
    let column = |j: u64| (0..8).map(|i| ((i * 4 + j) % 5) as f32).sum::<f32>() * rows as f32;
    (0..4).map(column).collect()
}

fn entries_share_states_params_and_scalars(device: &Device) {
    for placement in [Placement::Packed, Placement::Bump] {
        let exe = compiled(device, &options().placement(placement));
        assert_eq!(exe.entries(), ["step", "tell", "read"]);
        let names = |entry: &str| exe.inputs_of(entry).expect("an entry").len();
        assert_eq!([names("step"), names("tell"), names("read")], [1, 1, 0]);
        let mut session = exe.session().expect("a session");
        let mut expected = [0.0; 4];
        for rows in [1u64, 8, 3, 64] {
            let ones = vec![1.0; 8 * rows as usize];
            let step = session.entry("step").expect("an entry");
            step.run_steps(&[("x", TensorView::f32(&ones, [rows, 8]))], 2).expect("runs");
            of_ones(rows).iter().zip(&mut expected).for_each(|(a, b)| *b += 2.0 * a);
            assert_eq!(floats(step, "next"), expected);
            assert!(step.output("rows").is_err());
            let tell = session.entry("tell").expect("an entry");
            tell.run(&[("x", TensorView::i32(&[1, 2, 3], [3]))]).expect("runs");
            let shifted: Vec<f32> = (1..).zip(&expected).map(|(i, e)| e + 100.0 * i as f32).collect();
            assert_eq!(floats(tell, "shifted"), shifted);
            assert_eq!(tell.output("rows").expect("there").to_vec::<i32>().expect("i32"), [6]);
            let read = session.entry("read").expect("an entry");
            read.run(&[]).expect("runs");
            assert_eq!(floats(read, "twice"), expected.map(|e| 2.0 * e));
        }
        // Two replays of `step` and one of `tell` each time; `read` has no such scalar.
        assert_eq!(session.scalar("runs").expect("a scalar").as_i64(), Some(12));
        let mut fork = session.fork().expect("a fork");
        assert_eq!(fork.entry_name(), "read");
        fork.run(&[]).expect("runs");
        assert_eq!(floats(&mut fork, "twice"), expected.map(|e| 2.0 * e));
    }
}

#[test]
fn what_is_wrong_with_a_call_names_the_entry_s_own_things() {
    let exe = compiled(&Device::cpu(), &options());
    let mut session = exe.session().expect("a session");
    let unknown = session.entry("other").map(|_| ()).expect_err("no such entry");
    assert_eq!(unknown.to_string(), "there is no entry `other`; the plan has `step`, `tell`, `read`");
    let wrong = session.run(&[("x", TensorView::i32(&[1], [1]))]).expect_err("x is f32 there");
    assert!(matches!(wrong, RuntimeError::DType { .. }), "{wrong}");
    let read = session.entry("read").expect("an entry");
    let wrong = read.run(&[("x", TensorView::i32(&[1], [1]))]).expect_err("it has no input");
    assert!(matches!(wrong, RuntimeError::UnknownName { .. }), "{wrong}");
    assert!(matches!(session.output("twice"), Err(RuntimeError::NoResults)));
}

/// Bound inputs stay with their entry; an entry that runs in between does not touch them.
fn bound_inputs_stay_with_their_entry(device: &Device) {
    let exe = compiled(device, &options());
    let mut session = exe.session().expect("a session");
    session.bind_input("x", TensorView::f32(&[1.0; 8], [1, 8])).expect("bound");
    let tell = session.entry("tell").expect("an entry");
    tell.bind_input("x", TensorView::i32(&[7, 8], [2])).expect("bound");
    tell.run(&[]).expect("runs");
    assert_eq!(tell.output("rows").expect("there").to_vec::<i32>().expect("i32"), [15]);
    let step = session.entry("step").expect("an entry");
    step.run(&[]).expect("runs");
    assert_eq!(floats(step, "next"), of_ones(1));
}

/// The plan says once what entries share, and comes back from its file as it was.
#[test]
fn a_plan_has_shared_things_once() {
    let exe = compiled(&Device::cpu(), &options());
    let plan: &Plan = exe.plan();
    let names: Vec<&str> = plan.entries.iter().map(|e| e.name.as_str()).collect();
    assert_eq!(names, ["step", "tell", "read"]);
    // Three ranges of `batch` for the step alone.
    let entries: Vec<u32> = plan.runs.iter().map(|run| run.entry).collect();
    assert_eq!(entries, [0, 0, 0, 1, 2]);
    assert_eq!((plan.params.len(), plan.states.len(), plan.scalars.len()), (2, 1, 1));
    assert_eq!((plan.inputs.len(), plan.outputs.len()), (2, 6));
    let text = plan.to_string();
    let labels =
        ["entry step  batch=1 rows=1..=5", "entry tell  batch=1..=64 rows=1..=5", "entry read\noutput twice"];
    labels.iter().for_each(|label| assert!(text.contains(label), "{label} in\n{text}"));
    for form in [PlanForm::Explain, PlanForm::Run] {
        let bytes = plan.to_bytes(form).expect("a file");
        let loaded = Plan::load(&bytes).expect("a plan");
        assert_eq!(loaded.to_bytes(form).expect("a file"), bytes);
        check::check(&loaded).expect("sound");
    }
}

/// The checker follows each entry's own inputs, outputs, runs and scalars.
#[test]
fn entries_that_are_none_are_refused() {
    let exe = compiled(&Device::cpu(), &options());
    let refused = |change: &dyn Fn(&mut Plan)| -> String {
        let mut plan: Plan = (**exe.plan()).clone();
        change(&mut plan);
        let faults = check::check(&plan).expect_err("it is wrong now");
        faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    type Change<'c> = &'c dyn Fn(&mut Plan);
    let cases: [(&str, Change<'_>); 11] = [
        ("`tell` does not name rows=1..=5, which its runs need", &|p| p.entries[1].symbols.clear()),
        ("run 0 is for some values of batch=1..=64", &|p| p.entries[0].symbols.clear()),
        ("entries: there are 0", &|p| p.entries.clear()),
        ("the name `step` is empty or that of two", &|p| p.entries[2].name = "step".into()),
        ("run 0 is of entry 9", &|p| p.runs[0].entry = 9),
        ("their inputs 1..2 do not begin at 2", &|p| p.entries[0].inputs = 0..2),
        ("they have 5 outputs, there are 6", &|p| p.entries[2].outputs = 5..5),
        ("the scalars that advance of `read`", &|p| p.entries[2].advancing = vec![pumice::ScalarId(1)]),
        ("0 runs cover batch=1 rows=1 of entry `read`", &|p| p.runs.truncate(4)),
        ("a scalar advances or replays stop: true; a step advances the frame: false", &|p| {
            p.entries[2].advancing = vec![pumice::ScalarId(0)];
        }),
        ("it is an input of another entry", &|p| {
            let values = p.runs[3].program.values.iter_mut();
            values.for_each(|v| {
                if let pumice_plan::VersionOrigin::Input(i) = &mut v.origin {
                    *i = 0;
                }
            });
        }),
    ];
    for (what, change) in cases {
        let said = refused(change);
        assert!(said.contains(what), "{what} in\n{said}");
    }
}

/// A loop of a recurrent layer finds a symbol while it is compiled, in the entry that has it alone.
fn passes_may_find_symbols_in_one_entry(device: &Device) {
    let plain = read();
    let recurrent = {
        let g = GraphBuilder::new("recurrent");
        let x = g.input("x", f32([sym("steps", 1..=40), 2.into(), 3.into()]));
        let (w, r) = (g.param("w", f32([1, 16, 3])), g.param("r", f32([1, 16, 4])));
        let (_, last, _) = g.lstm([x, w, r], Default::default(), Default::default());
        g.output("last", last);
        g.build().expect("sound")
    };
    let exe =
        pumice::compile_entries(&[("read", &plain), ("layer", &recurrent)], device, &Options::default());
    let exe = exe.expect("compiles");
    let weights = |n: usize| (0..n).map(|i| (i as f32 * 0.7).sin() * 0.5).collect::<Vec<_>>();
    let single = pumice::compile(&recurrent, device, &Options::default()).expect("compiles");
    for exe in [&exe, &single] {
        exe.set_param("w", &weights(48)).expect("of 48");
        exe.set_param("r", &weights(64)).expect("of 64");
    }
    let (mut session, mut alone) = (exe.session().expect("a session"), single.session().expect("a session"));
    for steps in [1u64, 7, 40] {
        let x = weights(6 * steps as usize);
        let inputs = [("x", TensorView::f32(&x, [steps, 2, 3]))];
        session.entry("read").expect("an entry").run(&[]).expect("runs");
        let layer = session.entry("layer").expect("an entry").run(&inputs).expect("runs");
        let apart = alone.run(&inputs).expect("runs");
        let [a, b] = [&layer, &apart].map(|o| o.get("last").expect("an output").bytes().to_vec());
        assert_eq!(a, b, "{steps} steps");
    }
}

/// Extents that are found, host steps, constants that lowering makes and params side by side, in unlike entries.
fn whatever_entries_are_made_of_stays_apart(device: &Device) {
    let found = {
        let g = GraphBuilder::new("found");
        let x = g.input("x", f32([sym("n", 1..=9)]));
        let at = g.non_zero(g.relu(x));
        let (a, b) = (g.param("a", f32([4, 8])), g.param("b", f32([4, 8])));
        g.output("rows", at);
        g.output("joined", g.reduce_sum(g.concat(&[a, b], 0), &[0, 1], false));
        g.build().expect("sound")
    };
    let host = {
        let g = GraphBuilder::new("host");
        let x = g.input("x", f32([1, 2, 16, 16]));
        let spectrum = g.fft(g.input("wave", f32([3, 24, 1])), Fft { onesided: true, ..Fft::default() });
        let (a, b) = (g.param("a", f32([4, 8])), g.param("b", f32([4, 8])));
        g.output("joined", g.concat(&[b, a], 0));
        g.output("spectrum", spectrum);
        g.output("rows", g.non_zero(x));
        g.build().expect("sound")
    };
    let exe = pumice::compile_entries(&[("found", &found), ("host", &host)], device, &Options::default());
    let exe = exe.expect("compiles");
    let alone =
        [&found, &host].map(|graph| pumice::compile(graph, device, &Options::default()).expect("compiles"));
    let mut session = exe.session().expect("a session");
    let values: Vec<f32> = (0..32).map(|i| i as f32).collect();
    for exe in alone.iter().chain([&exe]) {
        exe.set_param("a", &values).expect("of 32");
        exe.set_param("b", &values).expect("of 32");
    }
    let x = [0.0, 1.0, -1.0, 3.0, 0.0];
    let image: Vec<f32> = (0..512).map(|i| (i % 7) as f32 * 0.125).collect();
    let wave: Vec<f32> = (0..72).map(|i| (i as f32 * 0.3).sin()).collect();
    let first = [("x", TensorView::f32(&x, [5]))];
    let second =
        [("x", TensorView::f32(&image, [1, 2, 16, 16])), ("wave", TensorView::f32(&wave, [3, 24, 1]))];
    for _ in 0..2 {
        for (entry, single, inputs) in [("found", &alone[0], &first[..]), ("host", &alone[1], &second[..])] {
            let together = session.entry(entry).expect("an entry").run(inputs).expect("runs");
            let apart = single.session().expect("a session").run(inputs).expect("runs");
            for output in single.outputs() {
                let [a, b] = [&together, &apart].map(|o| o.get(&output.name).expect("an output"));
                assert_eq!((a.shape(), a.bytes()), (b.shape(), b.bytes()), "{entry} {}", output.name);
            }
        }
    }
}

#[test]
fn one_graph_is_the_entry_main() {
    let exe = pumice::compile(&read(), &Device::cpu(), &Options::default()).expect("compiles");
    assert_eq!(exe.entries(), [Entry::MAIN]);
}

/// Tests on the interpreter, and on a Vulkan device.
macro_rules! on_devices {
    ($($name:ident)*) => {
        mod on_interpreter {
            $(
                #[test]
                fn $name() {
                    super::$name(&pumice::Device::cpu());
                }
            )*
        }

        mod on_device {
            use pumice::Device;

            pub(super) fn open() -> Device {
                pumice_tests::device::facade()
            }

            $(
                #[test]
                fn $name() {
                    super::$name(&open());
                }
            )*
        }
    };
}
on_devices! { passes_may_find_symbols_in_one_entry entries_share_states_params_and_scalars bound_inputs_stay_with_their_entry whatever_entries_are_made_of_stays_apart }
