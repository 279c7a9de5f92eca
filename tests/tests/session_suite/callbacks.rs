//! Code of the user that pumice calls: sources of params, their progress, host steps. Each is slow beside a second
//! model, and uses pumice again.
//!
//! The story: `read_params` called the user's source while it held the lock of the device's staging buffers. A slow
//! source stopped every other model, and one that read a param of another executable waited for itself for ever. So
//! each case has a time limit.

use crate::common::*;
use pumice_compile::Options;
use pumice_cpu_ref::RefHostOps;
use pumice_ir::ops::fft::Fft;
use pumice_ir::{Graph, GraphBuilder, f16 as f16s, f32, sym};
use pumice_plan::{CheckedPlan, Meaning, Plan, Use};
use pumice_runtime::{Executable, HostError, HostOps, HostStep, RuntimeError};
use pumice_tests::{Fixture, on_every_device};
use pumice_types::{Bindings, ByteSource, DType, SourceError, Stored};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

on_every_device!(
    a_slow_source_stops_nobody_else,
    a_slow_progress_stops_nobody_else,
    a_source_uses_other_models_and_its_own,
    a_progress_uses_other_models_and_its_own,
    a_source_of_streamed_and_widened_params_uses_models_that_stream,
    a_slow_host_step_stops_nobody_else,
    a_host_step_uses_other_models_and_its_own,
    a_host_step_runs_beside_one_who_waits_to_set,
);

/// Far more than any case takes.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);

/// Fails the test where `work` does not end in time. A thread that waits for ever cannot be ended, so the process is.
pub(crate) fn in_time<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let (done, ended) = channel::<()>();
    let name = what.to_owned();
    let watch = std::thread::spawn(move || {
        if ended.recv_timeout(LIMIT) == Err(RecvTimeoutError::Timeout) {
            eprintln!("{name}: no end after {LIMIT:?}");
            std::process::abort();
        }
    });
    let result = work();
    drop(done);
    watch.join().expect("the watch ends");
    result
}

const N: usize = 3 * 4;

/// y = x·w + v, with v derived from a param alone where it is loaded: `v` = tanh(u).
pub(crate) fn graph(name: &str) -> Graph {
    let g = GraphBuilder::new(name);
    let (x, w, u) =
        (g.input("x", f32([3u64, 4])), g.param("w", f32([3u64, 4])), g.param("u", f32([3u64, 4])));
    g.output("y", g.add(g.mul(x, w), g.tanh(u)));
    g.build().expect("sound")
}

fn plain(x: &[f32], w: &[f32], u: &[f32]) -> Vec<f32> {
    (0..N).map(|i| x[i] * w[i] + u[i].tanh()).collect()
}

/// A model whose params are set, and which is used in every way there is.
pub(crate) fn use_everything(exe: &Executable, seed: u32) {
    let (w, u, x) = (wave(N, seed), wave(N, seed + 1), tensor(&wave(N, seed + 2), &[3, 4]));
    let values: [(&str, &[f32]); 2] = [("w", &w), ("u", &u)];
    exe.read_params(&Values(&values), |_, _| {}).expect("read");
    let mut session = exe.session().expect("a session");
    let check = |session: &mut pumice_runtime::Session, w: &[f32]| {
        let y = run(session, &x).expect("runs");
        assert_close(&out(&y, "y"), &plain(&floats(&x), w, &u), 1e-6, "the other model");
    };
    check(&mut session, &w);
    let other = wave(N, seed + 3);
    set(exe, &[("w", &other)]);
    check(&mut session, &other);
    assert_eq!(floats(&exe.param("w").expect("set")), other);
    assert!(exe.missing_params().is_empty());
}

/// Params by name.
struct Values<'a>(&'a [(&'a str, &'a [f32])]);

impl ByteSource for Values<'_> {
    fn stored(&self, _: &str) -> Result<Stored, SourceError> {
        Ok(Stored { encoding: DType::F32.into(), shape: vec![3, 4] })
    }

    fn read_bytes(&self, name: &str, offset: u64, to: &mut [u8]) -> Result<(), SourceError> {
        let values = self.0.iter().find(|(n, _)| *n == name).map(|(_, values)| *values).expect("a param");
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        to.copy_from_slice(&bytes[offset as usize..][..to.len()]);
        Ok(())
    }
}

/// Values that call something before they give any.
struct Calling<'a, F: Fn() + Sync>(Values<'a>, F);

impl<F: Fn() + Sync> ByteSource for Calling<'_, F> {
    fn stored(&self, name: &str) -> Result<Stored, SourceError> {
        self.1();
        self.0.stored(name)
    }

    fn read_bytes(&self, name: &str, offset: u64, to: &mut [u8]) -> Result<(), SourceError> {
        self.1();
        self.0.read_bytes(name, offset, to)
    }
}

/// Says that it was called, and goes on when it is told to.
struct Slow {
    called: Sender<()>,
    go_on: Mutex<Receiver<()>>,
}

impl Slow {
    /// Runs `slow` with something that stops at its first call until `beside` has ended.
    fn while_it_waits(slow: impl FnOnce(&Slow) + Send, beside: impl FnOnce()) {
        let ((called, hear), (say, go_on)) = (channel(), channel());
        let stop = Slow { called, go_on: Mutex::new(go_on) };
        std::thread::scope(|scope| {
            let thread = scope.spawn(move || slow(&stop));
            hear.recv_timeout(LIMIT).expect("it is called");
            beside();
            drop(say);
            thread.join().expect("it ends");
        });
    }

    /// Only the first call waits: all others find that nobody says anything any more.
    fn call(&self) {
        let _ = self.called.send(());
        let _ = self.go_on.lock().expect("not poisoned").recv();
    }
}

fn a_slow_source_stops_nobody_else(fixture: &Fixture) {
    let (one, other) = (load(fixture, &graph("one")), load(fixture, &graph("other")));
    let (w, u) = (wave(N, 1), wave(N, 2));
    let values: [(&str, &[f32]); 2] = [("w", &w), ("u", &u)];
    in_time("a slow source", || {
        let read = |slow: &Slow| {
            one.read_params(&Calling(Values(&values), || slow.call()), |_, _| {}).expect("read");
        };
        Slow::while_it_waits(read, || use_everything(&other, 20));
    });
    assert_eq!(floats(&one.param("w").expect("set")), w);
}

fn a_slow_progress_stops_nobody_else(fixture: &Fixture) {
    let (one, other) = (load(fixture, &graph("one")), load(fixture, &graph("other")));
    let (w, u) = (wave(N, 1), wave(N, 2));
    let values: [(&str, &[f32]); 2] = [("w", &w), ("u", &u)];
    in_time("a slow progress", || {
        let read = |slow: &Slow| one.read_params(&Values(&values), |_, _| slow.call()).expect("read");
        Slow::while_it_waits(read, || use_everything(&other, 20));
    });
    assert_eq!(floats(&one.param("u").expect("set")), u);
}

/// What code called while `own` is loaded does: `other` works, `own` says what is not there yet, and refuses the rest.
fn use_while_loading(own: &Executable, other: &Executable) {
    use_everything(other, 30);
    let missing = own.missing_params();
    let mut session = own.session().expect("a session");
    match run(&mut session, &tensor(&wave(N, 3), &[3, 4])) {
        Err(RuntimeError::InsideSet) => assert!(!missing.is_empty()),
        Err(e) => panic!("{e}"),
        // The last call of a progress comes when all is done.
        Ok(_) => assert!(missing.is_empty()),
    }
    if missing.is_empty() {
        return;
    }
    refused!(own.set_param("w", &[0.0; N]), RuntimeError::InsideSet, "inside what sets its params");
    if missing.iter().any(|name| name == "w") {
        refused!(own.param("w"), RuntimeError::MissingParams { .. }, "`w`");
    }
}

/// The source is asked what it has before anything begins: then all is as it was.
fn a_source_uses_other_models_and_its_own(fixture: &Fixture) {
    let (own, other) = (load(fixture, &graph("own")), load(fixture, &graph("other")));
    let (w, u) = (wave(N, 1), wave(N, 2));
    let values: [(&str, &[f32]); 2] = [("w", &w), ("u", &u)];
    let calls = Mutex::new(0);
    in_time("a source that uses models", || {
        let again = || {
            let mut count = calls.lock().expect("not poisoned");
            *count += 1;
            match *count {
                // Two params were described; now they are read.
                3.. => use_while_loading(&own, &other),
                _ => assert_eq!(own.missing_params(), ["w", "u"]),
            }
        };
        own.read_params(&Calling(Values(&values), again), |_, _| {}).expect("read");
    });
    assert!(*calls.lock().expect("not poisoned") >= 4);
    let (mut s, x) = (own.session().expect("a session"), tensor(&wave(N, 5), &[3, 4]));
    let y = run(&mut s, &x).expect("runs");
    assert_close(&out(&y, "y"), &plain(&floats(&x), &w, &u), 1e-6, "afterwards");
}

fn a_progress_uses_other_models_and_its_own(fixture: &Fixture) {
    let (own, other) = (load(fixture, &graph("own")), load(fixture, &graph("other")));
    let (w, u) = (wave(N, 1), wave(N, 2));
    let values: [(&str, &[f32]); 2] = [("w", &w), ("u", &u)];
    let mut calls = 0;
    in_time("a progress that uses models", || {
        let progress = |_, _| {
            calls += 1;
            use_while_loading(&own, &other);
        };
        own.read_params(&Values(&values), progress).expect("read");
    });
    assert_eq!(calls, 3);
}

/// `w` is stored as f16 and filled from f32, so that f32 is rounded on the host; `u` passes through a stream.
fn streaming(fixture: &Fixture, name: &str) -> Executable {
    let g = GraphBuilder::new(name);
    let (x, w, u) =
        (g.input("x", f32([3u64, 4])), g.param("w", f16s([3u64, 4])), g.param("u", f32([3u64, 4])));
    g.output("y", g.add(g.mul(x, g.cast(w, DType::F32)), g.tanh(u)));
    let exe = fixture.executable(&g.build().expect("sound"), &Options::default().stream_from(1));
    assert_eq!(exe.plan().streams.len(), 1, "{}", exe.plan());
    exe
}

/// A stream and a param that is rounded on the way call the source elsewhere than one that is filled as it lies.
fn a_source_of_streamed_and_widened_params_uses_models_that_stream(fixture: &Fixture) {
    let (own, other) = (streaming(fixture, "own"), streaming(fixture, "other"));
    let (w, u, x) = (wave(N, 1), wave(N, 2), tensor(&wave(N, 5), &[3, 4]));
    let values: [(&str, &[f32]); 2] = [("w", &w), ("u", &u)];
    let check = |exe: &Executable, what: &str| {
        let y = run(&mut exe.session().expect("a session"), &x).expect("runs");
        assert_close(&out(&y, "y"), &plain(&floats(&x), &w, &u), 1e-6, what);
    };
    let calls = AtomicUsize::new(0);
    in_time("a source of streams", || {
        let again = || {
            calls.fetch_add(1, Ordering::Relaxed);
            other.read_params(&Values(&values), |_, _| {}).expect("read");
            check(&other, "the other model");
        };
        own.read_params(&Calling(Values(&values), again), |_, _| {}).expect("read");
    });
    assert_eq!(calls.into_inner(), 4, "each param is described and read");
    check(&own, "afterwards");
}

/// What a host step calls, once it is known.
type Call = Arc<OnceLock<Box<dyn Fn() + Send + Sync>>>;

/// Host steps that call something before they run.
struct CallingOps(Call);

struct CallingStep(Box<dyn HostStep>, Call);

impl HostOps for CallingOps {
    fn prepare(&self, plan: &Plan, meaning: &Meaning, uses: &[Use]) -> Result<Box<dyn HostStep>, HostError> {
        Ok(Box::new(CallingStep(RefHostOps.prepare(plan, meaning, uses)?, self.0.clone())))
    }
}

impl HostStep for CallingStep {
    fn run(&self, bindings: &Bindings, inputs: &[&[u8]], outputs: &mut [&mut [u8]]) -> Result<(), HostError> {
        if let Some(call) = self.1.get() {
            call();
        }
        self.0.run(bindings, inputs, outputs)
    }
}

/// A model with a host step in its run, the param `w` set, and what the host step calls.
fn with_host_step(fixture: &Fixture) -> (Executable, Call) {
    let g = GraphBuilder::new("host");
    let (x, w) = (g.input("x", f32([1.into(), sym("n", 2..=4), 1.into()])), g.param("w", f32([4u64, 1])));
    let product = g.narrow(g.mul(x, w), 1, 0, g.dim_of(x, 1));
    g.output("y", g.fft(product, Fft { onesided: true, ..Fft::default() }));
    let graph = g.build().expect("sound");
    let plan = CheckedPlan::new(fixture.plan(&graph, &Options::default())).expect("sound");
    let call = Call::default();
    let ops = Arc::new(CallingOps(call.clone()));
    let exe = Executable::new(fixture.device.clone(), plan, ops).expect("loads");
    set(&exe, &[("w", &[1.0; 4])]);
    (exe, call)
}

/// The sum of the values is the first number of their spectrum.
fn run_spectrum(exe: &Executable, what: &str) {
    let mut session = exe.session().expect("a session");
    let y = run(&mut session, &tensor(&[1.0, 2.0, 3.0, 4.0], &[1, 4, 1])).expect("runs");
    assert_close(&out(&y, "y")[..1], &[10.0], 1e-6, what);
}

fn a_slow_host_step_stops_nobody_else(fixture: &Fixture) {
    let ((exe, call), other) = (with_host_step(fixture), load(fixture, &graph("other")));
    in_time("a slow host step", || {
        let ((called, hear), (say, go_on)) = (channel(), channel());
        let stop = Slow { called, go_on: Mutex::new(go_on) };
        assert!(call.set(Box::new(move || stop.call())).is_ok());
        std::thread::scope(|scope| {
            scope.spawn(|| run_spectrum(&exe, "the slow one"));
            hear.recv_timeout(LIMIT).expect("it is called");
            use_everything(&other, 40);
            assert_eq!(floats(&exe.param("w").expect("set")), [1.0; 4]);
            drop(say);
        });
    });
}

fn a_host_step_uses_other_models_and_its_own(fixture: &Fixture) {
    let ((exe, call), other) = (with_host_step(fixture), load(fixture, &graph("other")));
    let (own, depth) = (exe.clone(), Mutex::new(0));
    let again = move || {
        let at = {
            let mut depth = depth.lock().expect("not poisoned");
            *depth += 1;
            *depth
        };
        if at > 2 {
            return;
        }
        use_everything(&other, 50);
        refused!(own.set_param("w", &[2.0; 4]), RuntimeError::SetInsideRun, "host step");
        assert_eq!(floats(&own.param("w").expect("set")), [1.0; 4]);
        run_spectrum(&own, "a run inside a run");
    };
    in_time("a host step that uses models", || {
        // The step holds its executable, which holds the step: they would keep each other alive.
        let again = Arc::new(Mutex::new(Some(again)));
        let kept = again.clone();
        let now = move || {
            let taken = kept.lock().expect("not poisoned").take();
            if let Some(again) = taken {
                again();
            }
        };
        assert!(call.set(Box::new(now)).is_ok());
        run_spectrum(&exe, "the outer run");
        assert!(again.lock().expect("not poisoned").is_none(), "it was called");
    });
    set(&exe, &[("w", &[1.0; 4])]);
    run_spectrum(&exe, "afterwards");
}

/// A second reader waited for the writer that waited for the first.
fn a_host_step_runs_beside_one_who_waits_to_set(fixture: &Fixture) {
    let (exe, call) = with_host_step(fixture);
    let ((called, hear), (say, go_on)) = (channel::<()>(), channel::<()>());
    let (once, own) = (Mutex::new(Some((called, go_on))), Mutex::new(Some(exe.clone())));
    let again = move || {
        let first = once.lock().expect("not poisoned").take();
        let own = own.lock().expect("not poisoned").take();
        let (Some((called, go_on)), Some(own)) = (first, own) else { return };
        called.send(()).expect("it is heard");
        let _ = go_on.recv();
        run_spectrum(&own, "in the thread of the run");
        std::thread::scope(|scope| {
            scope.spawn(|| run_spectrum(&own, "in a thread that the run waits for"));
        });
    };
    assert!(call.set(Box::new(again)).is_ok());
    in_time("a host step beside a waiting setter", || {
        std::thread::scope(|scope| {
            scope.spawn(|| run_spectrum(&exe, "the run"));
            hear.recv_timeout(LIMIT).expect("it is called");
            scope.spawn(|| set(&exe, &[("w", &[1.0; 4])]));
            // The setter has begun to wait, most likely; either way the run ends.
            std::thread::sleep(Duration::from_millis(50));
            drop(say);
        });
    });
}
