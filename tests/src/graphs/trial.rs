//! One random program, tried on a device: what must hold of it, and how it is found out.
//!
//! In: a seed and a [`Rig`]. Out: nothing, or what is wrong, in one line. The evaluator of the unoptimized program is
//! the truth; how far from it a device may be is measured for every element by itself, by evaluating the program a few
//! times more with each result moved by what its op allows ([`pumice_cpu_ref::perturb`]).

use super::random;
use pumice_compile::{Barriers, CompileError, OptOptions, Options};
use pumice_cpu_ref::{
    Array, Data, EvalOptions, Evaluation, Interpreter, RefEval, RefHostOps, interp, sample as data,
};
use pumice_ir::form::Form;
use pumice_ir::{Graph, Sample};
use pumice_plan::{CheckedPlan, Placement, RegionKind};
use pumice_runtime::{Device, Executable, Session};
use pumice_types::{Bindings, Target, Tensor};
use std::cell::OnceCell;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Shaken evaluations: one alone may miss an element by chance.
const PERTURBATIONS: u64 = 3;
/// Further ones where an element lies outside: what moves an operand and what moves the sum that it goes into may
/// cancel in all of the first (seed 8000155, on one device: 1 of 3,000 programs).
const MORE_PERTURBATIONS: u64 = 13;
/// How many times as far as the perturbed evaluations an element may lie: they are draws, not the worst.
const OF_PERTURBED: f64 = 4.0;
/// What is close regardless, relative to the element: 4 units in the last place.
const RELATIVE: f64 = 4.8e-7;
/// What is close to zero regardless: subnormal terms of a sum may each be flushed (seen: 3e-38 in sums of dozens).
const FLUSHED: f64 = 1024.0 * f32::MIN_POSITIVE as f64;
/// Shares of the scratch that programs are given less than.
const LESS: [f64; 2] = [0.85, 0.6];
/// An output of which an element may be off by more than this part of the largest proves little there.
const LOOSE: f64 = 1e-2;

/// Outputs of every run, in the order of their declaration.
pub type Results = Vec<Vec<Tensor>>;

/// What programs are tried on.
pub struct Rig {
    /// What is compiled for.
    pub target: Target,
    /// The device; none: an interpreter whose step order and poison are the trial's own.
    pub device: Option<Arc<dyn Device>>,
}

/// How much is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// The compiled program against the evaluator.
    Plain,
    /// As well: other placement, barriers and passes; replayed and freshly recorded.
    Deep,
}

/// A program with its data and what it must give.
pub struct Trial {
    /// Program and data.
    pub sample: Sample,
    /// The program.
    pub graph: Graph,
    bindings: Bindings,
    options: Options,
    want: Vec<Vec<Array>>,
    /// How far perturbation moves each element of each output of each run, at most.
    moved: Moved,
    /// The same of more evaluations, made when an element lies outside.
    moved_more: OnceCell<Result<Moved, String>>,
    status: Vec<bool>,
}

/// A bound for each element of each output of each run.
type Moved = Vec<Vec<Vec<f64>>>;

/// What a passed trial says about itself.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Verdict {
    /// Outputs compared.
    pub outputs: u64,
    /// Of these, how many have an element that may move so far that it proves little.
    pub loose: u64,
    /// The largest difference found, as a part of what was allowed.
    pub worst: f64,
}

impl Verdict {
    /// Both together.
    pub fn with(self, other: Verdict) -> Verdict {
        Verdict {
            outputs: self.outputs + other.outputs,
            loose: self.loose + other.loose,
            worst: self.worst.max(other.worst),
        }
    }
}

impl Rig {
    /// The interpreter, for programs compiled as for lavapipe.
    pub fn interpreter() -> Rig {
        Rig { target: Target::lavapipe(), device: None }
    }

    /// A device.
    pub fn device(device: Arc<dyn Device>) -> Rig {
        Rig { target: device.target().clone(), device: Some(device) }
    }

    /// A device that runs the kernels which another one's figures and kind select, as far as its limits allow.
    pub fn selecting_as(device: Arc<dyn Device>, other: &Target) -> Rig {
        Rig { target: device.target().selecting_as(other), device: Some(device) }
    }

    fn device_for(&self, shuffle: u64) -> Arc<dyn Device> {
        self.device.clone().unwrap_or_else(|| {
            let poison = Some(if shuffle.is_multiple_of(2) { 0x7fc0_0bad } else { 0xffff_ffff });
            let options = interp::Options { seed: shuffle, poison };
            Arc::new(Interpreter::with(self.target.clone(), options))
        })
    }

    /// Tries the program of a seed; a panic is a failure like any other.
    pub fn try_seed(&self, seed: u64, depth: Depth) -> Result<Verdict, String> {
        without_panic(|| Trial::new(seed)?.run(self, depth))
    }

    /// Tries a program, as above.
    pub fn try_sample(&self, sample: Sample, depth: Depth) -> Result<Verdict, String> {
        without_panic(|| Trial::of(sample, Options::default())?.run(self, depth))
    }
}

/// What a trial says; a panic of it is a failure like any other.
pub(super) fn without_panic(trial: impl FnOnce() -> Result<Verdict, String>) -> Result<Verdict, String> {
    catch_unwind(AssertUnwindSafe(trial)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Err(format!("panicked: {}", text.unwrap_or("no message")))
    })
}

impl Trial {
    /// The program of a seed with what it must give.
    pub fn new(seed: u64) -> Result<Trial, String> {
        let (sample, options) = Trial::drawn(seed);
        Trial::of(sample, options)
    }

    /// The program of a seed, for comparing devices: nothing says how far its results may be off.
    pub fn of_bits(seed: u64) -> Result<Trial, String> {
        let (sample, options) = Trial::drawn(seed);
        Trial::unperturbed(sample, options)
    }

    /// The program of a seed, and how it is compiled.
    pub(super) fn drawn(seed: u64) -> (Sample, Options) {
        let sample = random::sample(seed);
        let cut = |g: &Graph| seed.is_multiple_of(3) && g.symbols().find("n").is_some();
        let specializations = match &sample.graph {
            Ok(graph) if cut(graph) => vec![("n".to_owned(), vec![1, 3])],
            _ => vec![],
        };
        // Params of random programs are small: every other seed lets them pass through.
        let stream_from = if seed.is_multiple_of(2) { 0 } else { u64::MAX };
        (sample, Options::default().specializations(specializations).stream_from(stream_from))
    }

    /// A program with its data, compiled with these options.
    pub fn of(sample: Sample, options: Options) -> Result<Trial, String> {
        let mut trial = Trial::unperturbed(sample, options)?;
        let Trial { sample, graph, want, moved, .. } = &mut trial;
        perturb(sample, graph, want, 0..PERTURBATIONS, moved)?;
        Ok(trial)
    }

    fn unperturbed(sample: Sample, options: Options) -> Result<Trial, String> {
        let graph = sample.graph.clone()?;
        pumice_ir::verify::verify(&graph, Form::Source).map_err(|e| format!("verifier: {e:?}"))?;
        let plain = evaluate(&sample, &graph, None)?;
        let status = plain.iter().map(|run| !run.status.is_empty()).collect();
        let want: Vec<Vec<Array>> = plain.into_iter().map(outputs).collect();
        let still = |run: &Vec<Array>| run.iter().map(|a| vec![0.0; a.len()]).collect();
        let moved: Moved = want.iter().map(still).collect();
        let (bindings, moved_more) = (data::bindings(&sample, &graph), OnceCell::new());
        Ok(Trial { sample, graph, bindings, options, want, moved, moved_more, status })
    }

    /// How far all perturbed evaluations move each element.
    fn moved_more(&self) -> Result<&Moved, String> {
        let draw = || {
            let mut moved = self.moved.clone();
            let seeds = PERTURBATIONS..PERTURBATIONS + MORE_PERTURBATIONS;
            perturb(&self.sample, &self.graph, &self.want, seeds, &mut moved)?;
            Ok(moved)
        };
        self.moved_more.get_or_init(draw).as_ref().map_err(Clone::clone)
    }

    /// One plan of the program on two devices that run the same kernels: the same bits.
    pub fn same_on(&self, one: &Rig, other: &Rig) -> Result<(), String> {
        let results = |rig: &Rig| {
            let plan = self.plan(&one.target, &self.options)?;
            self.replay(&mut self.session(rig, plan, 0)?)
        };
        same("another device", &results(one)?, &results(other)?)
    }

    /// How it is compiled.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The checked plan for a target.
    pub fn plan(&self, target: &Target, options: &Options) -> Result<CheckedPlan, String> {
        let plan = pumice_compile::compile(&self.graph, target, options, &RefEval);
        let plan = plan.map_err(|e| format!("compile: {e}"))?;
        let plan = CheckedPlan::new(plan).map_err(|e| format!("check: {e}"))?;
        let redundant = plan.report().redundant_barriers();
        if options.barriers == Barriers::Elided && redundant > 0 {
            return Err(format!("check: {redundant} redundant barriers"));
        }
        Ok(plan)
    }

    /// Compiles and runs it on a device, and compares.
    pub(super) fn run(&self, rig: &Rig, depth: Depth) -> Result<Verdict, String> {
        let plan = self.plan(&rig.target, &self.options)?;
        let mut session = self.session(rig, plan, 0)?;
        let fused = self.replay(&mut session)?;
        let mut verdict = self.compare(&fused)?;
        if depth == Depth::Deep {
            self.rewind(&mut session)?;
            let again = self.replay(&mut session)?;
            same("replayed", &again, &fused)?;
            drop(session);
            verdict = verdict.with(self.variants(rig, &fused)?);
        }
        Ok(verdict)
    }

    /// Other plans of the same program.
    fn variants(&self, rig: &Rig, fused: &Results) -> Result<Verdict, String> {
        let standard = || self.options.clone();
        let exact = [
            ("freshly recorded", standard()),
            ("bump", standard().placement(Placement::Bump)),
            ("naive barriers", standard().barriers(Barriers::Naive)),
            ("guard bytes", standard().guard_bytes(64)),
        ];
        for (shuffle, (what, options)) in (1..).zip(exact) {
            let other = self.outputs(rig, &options, shuffle).map_err(|e| format!("{what}: {e}"))?;
            same(what, &other, fused)?;
        }
        for share in LESS {
            self.with_less_memory(rig, fused, share).map_err(|e| format!("{share} of the scratch: {e}"))?;
        }
        let unfused = standard().opt(OptOptions::none());
        let unfused = self.outputs(rig, &unfused, 5).map_err(|e| format!("unfused: {e}"))?;
        self.compare(&unfused).map_err(|e| format!("unfused: {e}"))
    }

    /// A plan whose scratch is that share of what it needs, if there is one: the same bits. How many steps it has more.
    ///
    /// # Errors
    /// Other bits, or a plan that needs more.
    pub fn with_less_memory(&self, rig: &Rig, kept: &Results, share: f64) -> Result<u32, String> {
        let plan = self.plan(&rig.target, &self.options)?;
        let size = |kind| plan.region_size(kind).0;
        let scratch = size(RegionKind::Scratch);
        let fixed = size(RegionKind::Weights) + size(RegionKind::States);
        let memory = fixed + (scratch as f64 * share) as u64;
        let less = self.options.clone().memory(memory);
        match pumice_compile::compile(&self.graph, &rig.target, &less, &RefEval) {
            Err(CompileError::OutOfMemory { needed, .. }) if needed.0 > memory => return Ok(0),
            Err(e) => return Err(format!("compile: {e}")),
            Ok(plan) => drop(plan),
        }
        let plan = self.plan(&rig.target, &less)?;
        let again = plan.runs.iter().filter_map(|run| run.stats.again).map(|again| again.steps).sum();
        let needed = [RegionKind::Weights, RegionKind::States, RegionKind::Scratch];
        let needed: u64 = needed.iter().map(|&kind| plan.region_size(kind).0).sum();
        if needed > memory {
            return Err(format!("{needed} bytes, of {memory}"));
        }
        same("less memory", &self.replay(&mut self.session(rig, plan, 6)?)?, kept)?;
        Ok(again)
    }

    /// The results on a device.
    ///
    /// # Errors
    /// What is wrong with the plan or the device.
    pub fn results(&self, rig: &Rig) -> Result<Results, String> {
        self.outputs(rig, &self.options, 0)
    }

    fn outputs(&self, rig: &Rig, options: &Options, shuffle: u64) -> Result<Results, String> {
        let plan = self.plan(&rig.target, options)?;
        self.replay(&mut self.session(rig, plan, shuffle)?)
    }

    fn session(&self, rig: &Rig, plan: CheckedPlan, shuffle: u64) -> Result<Session, String> {
        let exe = Executable::new(rig.device_for(shuffle), plan, Arc::new(RefHostOps));
        let exe = exe.map_err(|e| format!("load: {e}"))?;
        for p in self.graph.params() {
            let tensor = data::leaf_tensor(&self.sample, &self.graph, p, &self.bindings, 0);
            let tensor = tensor.map_err(|e| e.to_string())?;
            exe.set_param_view(&self.graph.value(p).name, tensor.view()).map_err(|e| e.to_string())?;
        }
        let mut session = exe.session().map_err(|e| format!("session: {e}"))?;
        for name in session.missing_states().iter().map(ToString::to_string).collect::<Vec<_>>() {
            let state = self.graph.find(&name).ok_or_else(|| format!("no state {name}"))?;
            let tensor = data::leaf_tensor(&self.sample, &self.graph, state, &self.bindings, 0);
            let tensor = tensor.map_err(|e| e.to_string())?;
            session.state(&name).and_then(|mut s| s.write(tensor.view())).map_err(|e| e.to_string())?;
        }
        for (id, symbol) in self.graph.symbols().iter().filter(|(_, s)| !s.found) {
            let value = self.bindings.symbol(id).unwrap_or(symbol.max);
            session.bind_symbol(&symbol.name, value).map_err(|e| e.to_string())?;
        }
        Ok(session)
    }

    fn replay(&self, session: &mut Session) -> Result<Results, String> {
        let mut results = Vec::new();
        for run in 0..self.sample.runs {
            data::execute(session, &self.sample, &self.graph, &self.bindings, run)
                .map_err(|e| format!("run {run}: {e}"))?;
            let reported = !session.status().is_clean();
            if reported != self.status[run as usize] {
                return Err(format!("run {run}: status reported: {reported}, not by the evaluator"));
            }
            let outputs = session.outputs().map_err(|e| e.to_string())?.into_tensors();
            let stopped = self.graph.stop().is_some_and(|at| outputs[at].bytes() == [1]);
            if (session.replays(), session.stopped()) != (1, stopped) {
                let (replays, said) = (session.replays(), session.stopped());
                return Err(format!("run {run}: {replays} replays counted, stopped: {said}, not {stopped}"));
            }
            results.push(outputs);
        }
        Ok(results)
    }

    /// States and scalars as they were before the first run.
    fn rewind(&self, session: &mut Session) -> Result<(), String> {
        for v in self.graph.states() {
            let name = &self.graph.value(v).name;
            session.state(name).and_then(|mut s| s.reset()).map_err(|e| e.to_string())?;
        }
        for v in self.graph.scalars() {
            if let pumice_ir::Op::Scalar(scalar) = &self.graph.def(v).op {
                let name = &self.graph.value(v).name;
                session.set_scalar(name, scalar.default as i64).map_err(|e| e.to_string())?;
            }
        }
        Ok(())
    }

    /// Every element of every output of every run within what perturbation does to it.
    pub fn compare(&self, got: &Results) -> Result<Verdict, String> {
        let mut verdict = Verdict::default();
        for (run, (want, got)) in self.want.iter().zip(got).enumerate() {
            for (i, (want, got)) in want.iter().zip(got).enumerate() {
                let name = || format!("run {run}, output {}", self.graph.outputs()[i].name);
                let got = Array::from_tensor(got);
                let one = match close(want, &got, &self.moved[run][i]) {
                    Ok(one) => Ok(one),
                    Err(_) => close(want, &got, &self.moved_more()?[run][i]),
                };
                verdict = verdict.with(one.map_err(|e| format!("{}: {e}", name()))?);
            }
        }
        Ok(verdict)
    }
}

/// The two are the same bits.
fn same(what: &str, a: &Results, b: &Results) -> Result<(), String> {
    let differs = a.iter().zip(b).flat_map(|(a, b)| a.iter().zip(b)).position(|(a, b)| a != b);
    match differs {
        Some(i) => Err(format!("{what}: other bits in result {i}")),
        None if a.len() != b.len() => Err(format!("{what}: another number of runs")),
        None => Ok(()),
    }
}

fn outputs(run: Evaluation) -> Vec<Array> {
    run.outputs.iter().map(|a| a.as_ref().clone()).collect()
}

fn evaluate(sample: &Sample, graph: &Graph, perturb: Option<u64>) -> Result<Vec<Evaluation>, String> {
    let options = EvalOptions { perturb, ..EvalOptions::default() };
    data::evaluate(sample, graph, options).map_err(|e| format!("evaluator: {e}"))
}

/// Evaluates with results perturbed by each of these seeds, and widens the bounds to hold what comes out.
fn perturb(
    sample: &Sample,
    graph: &Graph,
    want: &[Vec<Array>],
    seeds: Range<u64>,
    moved: &mut Moved,
) -> Result<(), String> {
    for seed in seeds {
        let perturbed = evaluate(sample, graph, Some(seed))?.into_iter().map(outputs);
        for ((moved, want), perturbed) in moved.iter_mut().zip(want).zip(perturbed) {
            let each = moved.iter_mut().zip(want).zip(perturbed);
            each.for_each(|((moved, want), perturbed)| widen(moved, want, &perturbed));
        }
    }
    Ok(())
}

/// How far the elements lie apart, where that is more than before; infinite where one is finite and the other not.
fn widen(moved: &mut [f64], want: &Array, perturbed: &Array) {
    let apart = |x: f64, y: f64| if same_number(x, y) { 0.0 } else { (x - y).abs() };
    for ((moved, x), y) in moved.iter_mut().zip(want.to_f64()).zip(perturbed.to_f64()) {
        let by = apart(x, y);
        *moved = moved.max(if by.is_nan() { f64::INFINITY } else { by });
    }
}

fn same_number(x: f64, y: f64) -> bool {
    x == y || (x.is_nan() && y.is_nan())
}

/// Integers equal; every float within four times what perturbation moved that element by, and a little.
fn close(want: &Array, got: &Array, moved: &[f64]) -> Result<Verdict, String> {
    if want.dtype != got.dtype || want.shape != got.shape {
        return Err(format!("{}{:?}, not {}{:?}", got.dtype, got.shape, want.dtype, want.shape));
    }
    let (w, g) = (want.to_f64(), got.to_f64());
    if let (Data::Int(w), Data::Int(g)) = (&want.data, &got.data)
        && let Some(i) = (0..w.len()).find(|&i| w[i] != g[i])
    {
        return Err(format!("element {i} is {}, not {}", g[i], w[i]));
    }
    let largest = w.iter().filter(|x| x.is_finite()).fold(0.0, |m: f64, x| m.max(x.abs()));
    let (mut worst, mut loose) = (0.0f64, false);
    for (i, ((&x, &y), &moved)) in w.iter().zip(&g).zip(moved).enumerate() {
        let apart = if same_number(x, y) { 0.0 } else { (x - y).abs() };
        let least = if x.is_finite() { x.abs() * RELATIVE } else { 0.0 } + FLUSHED;
        let allowed = if want.dtype.is_float() { OF_PERTURBED * moved + least } else { 0.0 };
        if apart.is_nan() || apart > allowed {
            return Err(format!("element {i} is {y:e}, not {x:e} (±{allowed:.1e})"));
        }
        worst = worst.max(if allowed > 0.0 { apart / allowed } else { 0.0 });
        loose |= allowed > LOOSE * largest && largest > 0.0;
    }
    Ok(Verdict { outputs: 1, loose: u64::from(loose), worst })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pumice_ir::{Fill, f32};

    /// One element of the output is a small difference of large numbers and may be far off; the others may not. Judged
    /// by what moves the worst of its elements, an output with a wrong element beside the bad one was close.
    #[test]
    fn an_element_is_judged_by_its_own_terms() {
        let sample = Sample::graph("one bad element", |g| {
            let (x, y) = (g.input("x", f32([4u64])), g.input("y", f32([4u64])));
            g.output("z", g.sub(g.exp(x), g.exp(y)));
        });
        let sample = sample
            .fill("x", Fill::Floats(vec![12.0, 1.0, 2.0, 0.0]))
            .fill("y", Fill::Floats(vec![11.999_999, 0.5, 1.0, 2.0]));
        let trial = Trial::of(sample, Options::default()).expect("sound");
        let (want, moved) = (&trial.want[0][0], &trial.moved[0][0]);
        let largest = want.as_floats().iter().fold(0.0, |m: f64, x| m.max(x.abs()));
        let with_error = |at: usize| {
            let mut values = want.as_floats().to_vec();
            values[at] += 1e-3 * largest;
            close(want, &Array::floats(want.dtype, &want.shape, values), moved)
        };
        let bad = moved.iter().copied().fold(0.0, f64::max);
        assert!(
            OF_PERTURBED * bad > 1e-3 * largest,
            "the output as a whole may be off by that: {bad:e} of {largest}"
        );
        assert!(with_error(0).is_ok(), "the bad one");
        for at in 1..4 {
            assert!(with_error(at).is_err(), "element {at} is off by a thousandth of the largest");
        }
    }
}
