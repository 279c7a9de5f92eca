//! What a device must do for sessions: hold regions, run load steps, replay runs. Vulkan and the interpreter both
//! implement it, so a test of one is a test of the other. Nothing here knows an op.

use crate::custom::{CustomError, HostError};
use crate::interrupt::Interrupt;
use pumice_plan::{CheckedPlan, InputError, Lack, Meaning, Plan, RegionKind, Span, StepId, Use};
use pumice_types::{Bindings, Bytes, SourceError, Target};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The device failed, or was asked for more than it has.
#[derive(thiserror::Error)]
pub enum DeviceError {
    /// Memory that does not fit, found before or while it is taken.
    #[error("{what} needs {needed}, the device has {available}; {remedy}")]
    OutOfMemory {
        /// What it was for.
        what: String,
        /// Bytes asked for.
        needed: Bytes,
        /// Bytes there are.
        available: Bytes,
        /// What would help.
        remedy: String,
    },
    /// The device's limits or features fall short of what the plan uses.
    #[error(
        "the plan, made for {made_for}, uses more than this device has: {}; compile it for this device",
        lacks.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    )]
    Lacks {
        /// Name of the target that the plan was made for.
        made_for: String,
        /// Each limit and feature, one at least.
        lacks: Vec<Lack>,
    },
    /// The interpreter runs what steps mean, and the plan has only its run form.
    #[error(
        "plan `{plan}` has only its run form, and the interpreter runs what steps mean; save the plan in its explain form"
    )]
    NoMeanings {
        /// The plan.
        plan: String,
    },
    /// The device's code of a kernel is not the one that plans are made for.
    #[error(
        "the device has another code for variant `{variant}` of kernel `{kernel}` than plans are made for"
    )]
    OtherKernel {
        /// The kernel.
        kernel: String,
        /// The variant.
        variant: String,
    },
    /// More than the device says it can do, found before the driver is asked.
    #[error("{needed} are needed, {limit} of the device is {most}")]
    Limit {
        /// The limit's name in the Vulkan specification.
        limit: String,
        /// Bytes, or a count.
        needed: u64,
        /// The limit.
        most: u64,
    },
    /// A driver call failed.
    #[error("{call} returned {code}")]
    Call {
        /// Name of the call.
        call: String,
        /// Name of the result code.
        code: String,
    },
    /// The device is gone; a new one must be opened.
    #[error("the device was lost: {0}")]
    Lost(String),
    /// The device has ended nothing for as long as is waited: ten seconds, or fifty bounds of a submission, on a
    /// CPU driver sixty times as long. It counts as lost, what the submission uses is never freed, and a new one must
    /// be opened.
    #[error("the device has ended nothing for {waited:?}{}; it counts as lost", of_levels(plan, *levels))]
    Stalled {
        /// Name of the plan; empty where none ran.
        plan: String,
        /// First and last level of the submission; `None`: a copy.
        levels: Option<(u32, u32)>,
        /// How long nothing had ended.
        waited: Duration,
    },
    /// The session's [`Interrupt`] was set, and the run ended early.
    #[error("the run was interrupted; states hold what its steps wrote until then")]
    Interrupted,
    /// Whoever fills the weights could not.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// A host step failed.
    #[error("host step {origin}: {message}")]
    Host {
        /// The step's origin.
        origin: String,
        /// Why.
        message: String,
    },
    /// A host step calls an op of a user, which failed.
    #[error("host step {origin}: {error}")]
    Custom {
        /// The step's origin.
        origin: String,
        /// What happened.
        error: CustomError,
    },
    /// Host steps of the plan call ops of users that are not registered.
    #[error("plan `{plan}`: {}", CustomError::Unknown { names: names.clone() })]
    UnknownOps {
        /// The plan.
        plan: String,
        /// Each name, once.
        names: Vec<String>,
    },
    /// A step does not bind the inputs of what it means.
    #[error("step {step}: its meaning: {error}")]
    Input {
        /// The step's origin.
        step: String,
        /// Which input.
        error: InputError,
    },
    /// The device cannot do what the plan asks for; `check` should have said so (a defect of pumice).
    #[error("the plan asks for {0}, which this device does not do; this is a defect of pumice")]
    Unsupported(String),
    /// A span outside its region (a defect of pumice).
    #[error("{0} is outside its region; this is a defect of pumice")]
    Span(Span),
    /// A kernel wrote outside a region's memory; found on devices whose memory is poisoned (a defect of pumice).
    #[error(
        "a kernel wrote {side} chunk {chunk} of region {region}, at byte {byte} of the guard; this is a defect of pumice"
    )]
    Guard {
        /// The region.
        region: RegionKind,
        /// Which of its chunks.
        chunk: usize,
        /// `before` or `after` it.
        side: &'static str,
        /// Bytes from the guard's beginning.
        byte: u64,
    },
    /// The process was forked after the device was opened.
    #[error("the device was opened by another process; open it again after fork")]
    Forked,
}

pumice_types::debug_as_display!(DeviceError);

impl DeviceError {
    /// What a host step of that origin failed by.
    pub fn of_host(origin: &str, error: HostError) -> DeviceError {
        let origin = origin.to_owned();
        match error {
            HostError::Failed(message) => DeviceError::Host { origin, message },
            HostError::Custom(error) => DeviceError::Custom { origin, error },
        }
    }
}

fn of_levels(plan: &str, levels: Option<(u32, u32)>) -> String {
    match levels {
        None => String::new(),
        Some((first, last)) if first == last => format!(", a submission of level {first} of plan `{plan}`"),
        Some((first, last)) => format!(", a submission of levels {first} to {last} of plan `{plan}`"),
    }
}

/// Refuses a plan where the device's limits or features fall short of what it uses.
///
/// # Errors
/// [`DeviceError::Lacks`] with all of them.
pub fn check_limits(plan: &CheckedPlan, device: &Target) -> Result<(), DeviceError> {
    let lacks = plan.lacks(device);
    if lacks.is_empty() {
        return Ok(());
    }
    Err(DeviceError::Lacks { made_for: plan.target.name.clone(), lacks })
}

/// Time of one step of the last profiled run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepTime {
    /// Which step.
    pub step: StepId,
    /// Duration on the device (or the host, for host steps), in microseconds.
    pub us: f64,
}

/// A host step that is ready to run.
pub trait HostStep: Send + Sync {
    /// Runs it. `inputs` and `outputs` are natural, dense bytes at the actual extents, in the order of
    /// `Meaning::inputs` and `Meaning::outputs`. What an input is says its name there, and its place does not.
    ///
    /// # Errors
    /// Why it failed; it becomes [`DeviceError::Host`] or [`DeviceError::Custom`].
    fn run(&self, bindings: &Bindings, inputs: &[&[u8]], outputs: &mut [&mut [u8]]) -> Result<(), HostError>;
}

/// Prepares host steps from their meaning when a plan is loaded. cpu-ref implements it for every op.
pub trait HostOps: Send + Sync {
    /// Prepares the step, or says why it cannot.
    ///
    /// # Errors
    /// Why it cannot; it becomes [`DeviceError::Host`] or [`DeviceError::Custom`] of [`Device::load`].
    fn prepare(&self, plan: &Plan, meaning: &Meaning, uses: &[Use]) -> Result<Box<dyn HostStep>, HostError>;

    /// Names of the ops of users that the plan calls and that nobody registered, each once: all of them are told before
    /// anything is loaded. What is not told here is refused by `prepare`.
    fn missing(&self, _plan: &Plan) -> Vec<String> {
        Vec::new()
    }
}

/// Something plans run on.
pub trait Device: Send + Sync {
    /// The name people know it by.
    fn name(&self) -> String;
    /// What to compile for.
    fn target(&self) -> &Target;
    /// Bytes that weights, states and scratch can take now, besides what the device holds for others; none where the
    /// device does not know.
    fn free_memory(&self) -> Option<Bytes> {
        None
    }
    /// Takes memory for the weights and makes the plan ready; the caller writes constants and params afterwards.
    /// Pipelines may be made later, when first needed.
    ///
    /// # Errors
    /// [`DeviceError::Lacks`] where the device's limits or features fall short of what the plan uses,
    /// [`DeviceError::OutOfMemory`] where the weights do not fit, [`DeviceError::Host`] for a host step that
    /// cannot be prepared, [`DeviceError::Unsupported`] for a plan that this device refuses; else the device
    /// failed.
    fn load(&self, plan: CheckedPlan, host: Arc<dyn HostOps>) -> Result<Arc<dyn Loaded>, DeviceError>;
    /// Makes the pipelines of plans, in parallel, without loading them: no memory of the device is taken. Later loads
    /// of plans with the same kernels find them. A device without pipelines does nothing.
    ///
    /// # Errors
    /// [`DeviceError::Lacks`] as [`Device::load`]; [`DeviceError::Unsupported`] for a kernel that this device refuses;
    /// else the device failed.
    fn prepare(&self, _plans: &[CheckedPlan]) -> Result<(), DeviceError> {
        Ok(())
    }
}

/// Fills bytes where they belong: number of the span, first byte in it, and the bytes to fill.
pub type FillWeights<'f> = dyn FnMut(usize, u64, &mut [u8]) -> Result<(), SourceError> + 'f;

/// A plan on a device, with one copy of the weights.
pub trait Loaded: Send + Sync {
    /// Writes part of region `weights`. The caller holds off every run meanwhile.
    ///
    /// # Errors
    /// [`DeviceError::Span`] for a span outside the region, or of another length than `bytes`; else the
    /// device failed.
    fn write_weights(&self, span: Span, bytes: &[u8]) -> Result<(), DeviceError>;
    /// Fills parts of region `weights`, each in pieces and in order, in memory that the device reads from where it has
    /// such; waits once, at the end. The caller holds off every run meanwhile. Where it fails, what was filled is
    /// unknown.
    ///
    /// # Errors
    /// As [`Loaded::write_weights`]; [`DeviceError::Source`] where `fill` fails.
    fn fill_weights(&self, spans: &[Span], fill: &mut FillWeights<'_>) -> Result<(), DeviceError> {
        const PIECE: u64 = 1 << 20;
        let most = spans.iter().map(|s| s.len.0).max().unwrap_or(0);
        let mut buffer = vec![0; most.min(PIECE) as usize];
        for (i, span) in spans.iter().enumerate() {
            let mut done = 0;
            while done < span.len.0 {
                let piece = &mut buffer[..(span.len.0 - done).min(PIECE) as usize];
                fill(i, done, piece)?;
                let len = Bytes(piece.len() as u64);
                self.write_weights(Span { offset: span.offset + Bytes(done), len, ..*span }, piece)?;
                done += len.0;
            }
        }
        Ok(())
    }
    /// Passes the param of a stream through: takes its scratch, lets `fill` give the param's bytes there, in pieces and
    /// in order (as those of span 0), runs its steps, and gives the scratch back. The caller holds off every run
    /// meanwhile. Where it fails, what is derived from the param is unknown.
    ///
    /// # Errors
    /// As [`Loaded::run_load`]; [`DeviceError::Source`] where `fill` fails; [`DeviceError::Unsupported`] for a stream
    /// that the plan does not have.
    fn stream(&self, stream: usize, fill: &mut FillWeights<'_>) -> Result<(), DeviceError>;
    /// Reads part of region `weights`.
    ///
    /// # Errors
    /// As [`Loaded::write_weights`].
    fn read_weights(&self, span: Span, bytes: &mut [u8]) -> Result<(), DeviceError>;
    /// Runs these steps of the load program, in order. The caller holds off every run meanwhile.
    ///
    /// # Errors
    /// [`DeviceError::OutOfMemory`] where the steps' own scratch does not fit, [`DeviceError::Host`] for a host
    /// step that fails, [`DeviceError::Guard`] for a kernel that wrote outside its region; else the device
    /// failed.
    fn run_load(&self, steps: &[StepId]) -> Result<(), DeviceError>;
    /// Takes memory for states, scratch, io, frame and status; contents are undefined.
    ///
    /// # Errors
    /// [`DeviceError::OutOfMemory`] where they do not fit; else the device failed.
    fn session(self: Arc<Self>) -> Result<Box<dyn DeviceSession>, DeviceError>;
    /// Creates the pipelines of these runs now, in parallel, instead of at the first replay.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] for a run that the plan does not have; else the device failed.
    fn prepare(&self, runs: &[usize]) -> Result<(), DeviceError>;
}

/// The regions of one session and its recordings.
pub trait DeviceSession: Send {
    /// Writes part of any region but `weights`, after the session's last run has ended.
    ///
    /// # Errors
    /// [`DeviceError::Span`] for a span outside its region, or of another length than `bytes`; else the
    /// device failed.
    fn write(&mut self, span: Span, bytes: &[u8]) -> Result<(), DeviceError>;
    /// Makes part of a region zero, under the rules of `write`. A device that can fill does better than this.
    ///
    /// # Errors
    /// As [`DeviceSession::write`].
    fn clear(&mut self, span: Span) -> Result<(), DeviceError> {
        const PIECE: u64 = 1 << 20;
        let zeros = vec![0; span.len.0.min(PIECE) as usize];
        let mut at = Span { len: Bytes::ZERO, ..span };
        while at.offset < span.end() {
            at.len = Bytes(PIECE).min(span.end() - at.offset);
            self.write(at, &zeros[..at.len.0 as usize])?;
            at.offset += at.len;
        }
        Ok(())
    }
    /// Reads part of any region but `weights`, after the session's last run has ended.
    ///
    /// # Errors
    /// As [`DeviceSession::write`].
    fn read(&mut self, span: Span, bytes: &mut [u8]) -> Result<(), DeviceError>;
    /// Replays a run `repeats` times, one after the other, and waits. Frame and inputs are in place; `bindings` hold
    /// the scalars of the first replay, the frame advances. With host steps in the run `repeats` is 1.
    ///
    /// # Errors
    /// [`DeviceError::Host`] for a host step that fails, [`DeviceError::Guard`] for a kernel that wrote
    /// outside its region, [`DeviceError::Unsupported`] for a run that the plan does not have; else the
    /// device failed.
    fn run(&mut self, run: usize, bindings: &Bindings, repeats: u32) -> Result<(), DeviceError>;
    /// As `run`, with the device's time from the first step's begin to the last one's end, in microseconds. The
    /// default, and runs with host steps, are timed from outside.
    ///
    /// # Errors
    /// As [`DeviceSession::run`], and [`DeviceError::Call`] where the device's queue has no timestamps.
    fn run_timed(&mut self, run: usize, bindings: &Bindings, repeats: u32) -> Result<f64, DeviceError> {
        let begin = Instant::now();
        self.run(run, bindings, repeats)?;
        Ok(begin.elapsed().as_secs_f64() * 1e6)
    }
    /// As `run` with one repeat, with the time of every step that ran; of a loop's steps that of the first turn.
    ///
    /// # Errors
    /// As [`DeviceSession::run_timed`].
    fn run_profiled(&mut self, run: usize, bindings: &Bindings) -> Result<Vec<StepTime>, DeviceError>;
    /// A new session with a copy of these parts of this one's states; everything else is undefined.
    ///
    /// # Errors
    /// As [`Loaded::session`].
    fn fork(&mut self, states: &[Span]) -> Result<Box<dyn DeviceSession>, DeviceError>;
    /// Lets this end the runs of the session: whoever sees it set between two submissions, or two steps of the host,
    /// makes no further one, waits for what is under way, and fails with [`DeviceError::Interrupted`].
    fn interrupt_by(&mut self, interrupt: Interrupt);
}
