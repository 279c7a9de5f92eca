//! A device that keeps every region in a vector, runs any step by the word its meaning says, writes down every call,
//! and fails the n-th when told to. Fresh memory is 0xa5, so that nothing reads as zero by accident.

use pumice_plan::{CheckedPlan, Meaning, Plan, Program, RegionKind, Span, StepId, Use};
use pumice_runtime::Interrupt;
use pumice_runtime::device::FillWeights;
use pumice_runtime::values::Window;
use pumice_runtime::{
    Device, DeviceError, DeviceSession, Executable, HostError, HostOps, HostStep, Loaded, RuntimeError,
    StepTime,
};
use pumice_types::{Bindings, Target};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

/// What the device was asked to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Call {
    WriteWeights(Span),
    Stream(usize),
    RunLoad(Vec<u32>),
    Write(Span),
    Read(Span),
    Run { run: usize, repeats: u32 },
}

/// What tests see and steer.
#[derive(Default)]
pub struct Log {
    calls: Mutex<Vec<Call>>,
    /// Calls until one fails; negative for never.
    countdown: AtomicI64,
}

impl Log {
    /// Calls since the last look.
    pub fn take(&self) -> Vec<Call> {
        std::mem::take(&mut self.calls.lock().expect("no panic while held"))
    }

    /// How many runs were submitted since the last look.
    pub fn runs(&self) -> usize {
        self.take().iter().filter(|c| matches!(c, Call::Run { .. })).count()
    }

    /// The n-th call from now fails, counted from 0.
    pub fn fail_in(&self, n: i64) {
        self.countdown.store(n, Ordering::SeqCst);
    }

    fn call(&self, call: Option<Call>) -> Result<(), DeviceError> {
        self.calls.lock().expect("no panic while held").extend(call);
        match self.countdown.fetch_sub(1, Ordering::SeqCst) {
            0 => Err(DeviceError::Call { call: "fake".into(), code: "INJECTED".into() }),
            _ => Ok(()),
        }
    }
}

pub struct Fake {
    target: Target,
    log: Arc<Log>,
}

pub struct NoHost;

impl HostOps for NoHost {
    fn prepare(&self, _: &Plan, _: &Meaning, _: &[Use]) -> Result<Box<dyn HostStep>, HostError> {
        Err("the fake device runs host steps itself".into())
    }
}

/// The plan on a fresh fake device.
pub fn executable(plan: Plan) -> (Executable, Arc<Log>) {
    let log = Arc::new(Log::default());
    log.fail_in(-1);
    (try_executable(plan, &log).expect("a sound plan"), log)
}

/// The plan on a fresh fake device, or why not.
pub fn try_executable(plan: Plan, log: &Arc<Log>) -> Result<Executable, RuntimeError> {
    let device = Fake { target: Target::lavapipe(), log: Arc::clone(log) };
    Executable::new(Arc::new(device), CheckedPlan::unsound(plan), Arc::new(NoHost))
}

impl Device for Fake {
    fn name(&self) -> String {
        "fake".into()
    }
    fn target(&self) -> &Target {
        &self.target
    }
    fn load(&self, plan: CheckedPlan, _: Arc<dyn HostOps>) -> Result<Arc<dyn Loaded>, DeviceError> {
        self.log.call(None)?;
        let weights = Mutex::new(vec![0xa5; plan.region_size(RegionKind::Weights).0 as usize]);
        Ok(Arc::new(FakeLoaded { plan, weights: Arc::new(weights), log: Arc::clone(&self.log) }))
    }
}

struct FakeLoaded {
    plan: CheckedPlan,
    weights: Arc<Mutex<Vec<u8>>>,
    log: Arc<Log>,
}

fn range(span: Span) -> std::ops::Range<usize> {
    span.offset.0 as usize..span.end().0 as usize
}

impl Loaded for FakeLoaded {
    fn write_weights(&self, span: Span, bytes: &[u8]) -> Result<(), DeviceError> {
        self.log.call(Some(Call::WriteWeights(span)))?;
        self.weights.lock().expect("no panic while held")[range(span)].copy_from_slice(bytes);
        Ok(())
    }
    fn read_weights(&self, span: Span, bytes: &mut [u8]) -> Result<(), DeviceError> {
        self.log.call(None)?;
        bytes.copy_from_slice(&self.weights.lock().expect("no panic while held")[range(span)]);
        Ok(())
    }
    fn run_load(&self, steps: &[StepId]) -> Result<(), DeviceError> {
        self.log.call(Some(Call::RunLoad(steps.iter().map(|s| s.0).collect())))?;
        let mut regions: Vec<Vec<u8>> = vec![vec![]; 7];
        std::mem::swap(&mut regions[0], &mut self.weights.lock().expect("no panic while held"));
        let done = steps.iter().try_for_each(|s| step(&self.plan.load, s.0, &mut regions, &Bindings::new()));
        std::mem::swap(&mut regions[0], &mut self.weights.lock().expect("no panic while held"));
        done
    }
    fn stream(&self, stream: usize, fill: &mut FillWeights<'_>) -> Result<(), DeviceError> {
        self.log.call(Some(Call::Stream(stream)))?;
        let of = &self.plan.streams[stream];
        let mut scratch = vec![0xa5; of.room.size().0 as usize];
        fill(0, 0, &mut scratch[range(self.plan.params[of.param as usize].span)])?;
        let mut regions: Vec<Vec<u8>> = vec![vec![]; 7];
        regions[index(RegionKind::Scratch)] = scratch;
        std::mem::swap(&mut regions[0], &mut self.weights.lock().expect("no panic while held"));
        let steps = 0..of.program.steps.len() as u32;
        let done = steps.into_iter().try_for_each(|s| step(&of.program, s, &mut regions, &Bindings::new()));
        std::mem::swap(&mut regions[0], &mut self.weights.lock().expect("no panic while held"));
        done
    }
    fn session(self: Arc<Self>) -> Result<Box<dyn DeviceSession>, DeviceError> {
        self.log.call(None)?;
        let size = |kind| self.plan.region_size(kind).0 as usize;
        let regions = RegionKind::ALL.iter().map(|&k| vec![0xa5; size(k)]).collect();
        Ok(Box::new(FakeSession { loaded: self, regions, interrupt: Interrupt::default() }))
    }
    fn prepare(&self, _: &[usize]) -> Result<(), DeviceError> {
        self.log.call(None)
    }
}

struct FakeSession {
    loaded: Arc<FakeLoaded>,
    regions: Vec<Vec<u8>>,
    interrupt: Interrupt,
}

fn index(kind: RegionKind) -> usize {
    RegionKind::ALL.iter().position(|&k| k == kind).expect("listed")
}

impl DeviceSession for FakeSession {
    fn write(&mut self, span: Span, bytes: &[u8]) -> Result<(), DeviceError> {
        assert!(span.region != RegionKind::Weights && span.len.0 == bytes.len() as u64 && !bytes.is_empty());
        self.loaded.log.call(Some(Call::Write(span)))?;
        self.regions[index(span.region)][range(span)].copy_from_slice(bytes);
        Ok(())
    }
    fn read(&mut self, span: Span, bytes: &mut [u8]) -> Result<(), DeviceError> {
        assert!(span.region != RegionKind::Weights && span.len.0 == bytes.len() as u64 && !bytes.is_empty());
        self.loaded.log.call(Some(Call::Read(span)))?;
        bytes.copy_from_slice(&self.regions[index(span.region)][range(span)]);
        Ok(())
    }
    fn run(&mut self, run: usize, bindings: &Bindings, repeats: u32) -> Result<(), DeviceError> {
        self.loaded.log.call(Some(Call::Run { run, repeats }))?;
        if self.interrupt.is_set() {
            return Err(DeviceError::Interrupted);
        }
        (0..repeats).try_for_each(|_| self.replay(run, bindings))
    }
    fn run_profiled(&mut self, run: usize, bindings: &Bindings) -> Result<Vec<StepTime>, DeviceError> {
        self.run(run, bindings, 1)?;
        let steps = self.loaded.plan.runs[run].program.steps.len() as u32;
        Ok((0..steps).map(|s| StepTime { step: StepId(s), us: f64::from(s + 1) }).collect())
    }
    fn fork(&mut self, states: &[Span]) -> Result<Box<dyn DeviceSession>, DeviceError> {
        self.loaded.log.call(None)?;
        let mut regions: Vec<Vec<u8>> = self.regions.iter().map(|r| vec![0xa5; r.len()]).collect();
        for span in states {
            let from = &self.regions[index(span.region)][range(*span)];
            regions[index(span.region)][range(*span)].copy_from_slice(from);
        }
        let (loaded, interrupt) = (Arc::clone(&self.loaded), Interrupt::default());
        Ok(Box::new(FakeSession { loaded, regions, interrupt }))
    }
    fn interrupt_by(&mut self, interrupt: Interrupt) {
        self.interrupt = interrupt;
    }
}

impl FakeSession {
    /// Begins the replay in the status block, runs every step, advances the frame.
    fn replay(&mut self, run: usize, bindings: &Bindings) -> Result<(), DeviceError> {
        let loaded = Arc::clone(&self.loaded);
        let run = &loaded.plan.runs[run];
        let status = &mut self.regions[index(RegionKind::Status)];
        let mut block = words(status);
        pumice_plan::kernel::status::begin_replay(&mut block, loaded.plan.status_ops.len());
        block.iter().zip(status.chunks_exact_mut(4)).for_each(|(w, b)| b.copy_from_slice(&w.to_le_bytes()));
        self.regions[0].clone_from(&loaded.weights.lock().expect("no panic while held"));
        for s in 0..run.program.steps.len() as u32 {
            step(&run.program, s, &mut self.regions, bindings)?;
        }
        let frame = &mut self.regions[index(RegionKind::Frame)];
        let mut words: Vec<u32> = words(frame);
        run.frame.run_advance(&mut words, &[]);
        words.iter().zip(frame.chunks_exact_mut(4)).for_each(|(w, b)| b.copy_from_slice(&w.to_le_bytes()));
        Ok(())
    }
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|w| u32::from_le_bytes(w.try_into().expect("four bytes"))).collect()
}

fn step(program: &Program, s: u32, regions: &mut [Vec<u8>], bindings: &Bindings) -> Result<(), DeviceError> {
    let step = &program.steps[s as usize];
    let see = |u: &Use, regions: &[Vec<u8>]| {
        let window = Window::of(&u.view, bindings).expect("extents are bound");
        window.read(&regions[index(u.span.region)][range(u.span)], 0).expect("the view fits")
    };
    let natural = |indices: &[u16], regions: &[Vec<u8>]| -> Vec<Vec<u8>> {
        indices.iter().map(|&i| see(&step.uses[i as usize], regions)).collect()
    };
    let read: Vec<u16> = step.meaning.inputs.iter().map(|i| i.at).collect();
    let inputs = natural(&read, regions);
    let mut outputs = natural(&step.meaning.outputs, regions);
    let frame = words(&regions[index(RegionKind::Frame)]);
    compute(&step.meaning.graph.text, &inputs, &mut outputs, &frame)
        .map_err(|message| DeviceError::Host { origin: step.origin.to_string(), message })?;
    for (&i, natural) in step.meaning.outputs.iter().zip(&outputs) {
        let u = &step.uses[i as usize];
        let window = Window::of(&u.view, bindings).expect("extents are bound");
        window.write(natural, &mut regions[index(u.span.region)][range(u.span)], 0).expect("the view fits");
    }
    Ok(())
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|w| f32::from_le_bytes(w.try_into().expect("four bytes"))).collect()
}

/// What steps do. Outputs hold the bytes that lie there.
fn compute(what: &str, inputs: &[Vec<u8>], outputs: &mut [Vec<u8>], frame: &[u32]) -> Result<(), String> {
    let mut words = what.split(' ');
    let verb = words.next().unwrap_or("");
    let number = words.next().and_then(|w| w.parse::<f32>().ok()).unwrap_or(0.0);
    match verb {
        // out = in
        "copy" => outputs[0].copy_from_slice(&inputs[0]),
        // out = in0 + in1, in1 repeated
        "add" => {
            let (a, b) = (floats(&inputs[0]), floats(&inputs[1]));
            let sum = a.iter().zip(b.iter().cycle()).map(|(a, b)| a + b);
            outputs[0] = sum.flat_map(|v| v.to_le_bytes()).collect();
        }
        // out = number · in
        "scale" => outputs[0] = floats(&inputs[0]).iter().flat_map(|v| (v * number).to_le_bytes()).collect(),
        // out = in0 then in1
        "join" => outputs[0] = inputs.concat(),
        // row frame[0] of out = in
        "put_row" => {
            let at = frame[0] as usize * inputs[0].len();
            outputs[0][at..at + inputs[0].len()].copy_from_slice(&inputs[0]);
        }
        // out = frame[number]
        "word" => outputs[0] = frame[number as usize].to_le_bytes().to_vec(),
        // the op `number` reports position 5
        "report" => {
            outputs[0][..4].copy_from_slice(&1u32.to_le_bytes());
            let at = 4 + 4 * number as usize;
            outputs[0][at..at + 4].copy_from_slice(&5u32.to_le_bytes());
        }
        "fail" => return Err("told to".into()),
        _ => return Err(format!("unknown word {verb}")),
    }
    Ok(())
}
