//! Mutants of what steers a run: frame words, expressions, scalars, advance programs, grids, arguments and views, each
//! changed in the plan or in the bytes of its file.
//!
//! In: a seed. Out: how the mutant ended: not read, refused, refused at its bindings, or run at every binding that the
//! program has, not only at those that the checker samples. Two devices with guards poison memory with two patterns:
//! what reads bytes that nobody wrote gives two results or two reports, and what writes outside its views breaks a
//! guard. What reports gives outputs as any other run, which are compared.

mod change;
mod subjects;

use crate::device;
use crate::draws::Draws;
use pumice_compile::{Options, compile};
use pumice_cpu_ref::{RefEval, RefHostOps};
use pumice_plan::file::steering;
use pumice_plan::{CheckedPlan, Plan, PlanForm};
use pumice_runtime::{Device, Executable, OnStatus, RunOptions, RunStatus, Session};
use pumice_types::{DType, Tensor, TensorView};
use pumice_vulkan::{DeviceOptions, Poison};
use serde::Serialize;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use subjects::{Binding, Subject, subjects};

/// Replays of a call: with the second a scalar has advanced, with the third from what it advanced to.
const REPLAYS: u32 = 3;

/// How mutants ended.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Tally {
    /// Mutants made.
    pub mutants: u64,
    /// Files that are not read.
    pub not_read: u64,
    /// Plans that the checker refuses.
    pub refused: u64,
    /// Plans that are refused at some binding, or by a device.
    pub refused_at_a_binding: u64,
    /// Plans that run at every binding.
    pub ran: u64,
    /// Bindings at which mutants ran, those of plans that are refused at others among them.
    pub bindings: u64,
    /// Of these, the ones at which ops reported.
    pub reported: u64,
    /// What is wrong, by seed.
    pub wrong: Vec<String>,
}

/// A program with its plan, its file and its data.
struct Original {
    subject: Subject,
    plan: Plan,
    file: Vec<u8>,
    sections: Vec<Range<usize>>,
    /// Inputs at each binding.
    feeds: Vec<Vec<(String, Tensor)>>,
}

/// Two devices, and the programs whose mutants they run.
pub struct Mutants {
    devices: [Arc<dyn Device>; 2],
    originals: Vec<Original>,
}

/// How many bindings a mutant ran at, at how many of these ops reported, and how many it refused.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Ran {
    ran: u64,
    reported: u64,
    refused: u64,
}

/// What a call gives: the outputs of its last replay, and what ops reported.
#[derive(PartialEq)]
struct Given {
    outputs: Vec<Vec<u8>>,
    status: RunStatus,
}

/// A mutant.
enum Mutant {
    Unread,
    Refused,
    Checked(CheckedPlan),
}

impl Mutants {
    /// Opens the devices and compiles the programs.
    ///
    /// # Panics
    /// Where there is no device, or a program does not run at all of its bindings.
    pub fn new() -> Mutants {
        let open =
            |poison| device::open(&DeviceOptions::default().poison(Some(Poison(poison)))) as Arc<dyn Device>;
        let devices = [open(0x7fc0_dead), open(0x3f80_0001)];
        let originals = subjects().map(|subject| Original::new(subject, devices[0].as_ref())).into();
        let mutants = Mutants { devices, originals };
        for original in &mutants.originals {
            let name = original.subject.graph.name();
            let plan = CheckedPlan::new(original.plan.clone()).unwrap_or_else(|e| panic!("{name}: {e}"));
            let ran = mutants.run(original, &plan).map(|ran| (ran.ran, ran.refused));
            assert_eq!(ran, Ok((original.feeds.len() as u64, 0)), "{name} itself runs everywhere");
        }
        mutants
    }

    /// Whether the mutant of a seed is one of these programs; of all where none is named.
    pub fn is_of(&self, seed: u64, names: &[String]) -> bool {
        let name = self.originals[seed as usize % self.originals.len()].subject.graph.name();
        names.is_empty() || names.iter().any(|wanted| wanted == name)
    }

    /// Makes the mutant of a seed, runs it, and counts how it ended.
    pub fn try_seed(&self, seed: u64, tally: &mut Tally) {
        tally.mutants += 1;
        let original = &self.originals[seed as usize % self.originals.len()];
        let outcome = catch_unwind(AssertUnwindSafe(|| match original.mutant(seed) {
            Mutant::Unread => {
                tally.not_read += 1;
                Ok(())
            }
            Mutant::Refused => {
                tally.refused += 1;
                Ok(())
            }
            Mutant::Checked(plan) => self.run(original, &plan).map(|ran| tally.add(ran)),
        }));
        let why = match outcome {
            Ok(Ok(())) => return,
            Ok(Err(why)) => why,
            Err(_) => "a panic".to_owned(),
        };
        tally.wrong.push(format!("seed {seed}, {}: {why}", original.subject.graph.name()));
    }

    /// Runs a plan at every binding on both devices.
    fn run(&self, original: &Original, plan: &CheckedPlan) -> Result<Ran, String> {
        let mut ran = Ran::default();
        let mut sessions = Vec::new();
        for device in &self.devices {
            match session(device, plan) {
                Ok(session) => sessions.push(session),
                Err(why) if is_refusal(&why) => return Ok(ran),
                Err(why) => return Err(why),
            }
        }
        for (binding, feeds) in original.subject.bindings.iter().zip(&original.feeds) {
            let mut both = sessions.iter_mut().map(|session| given(session, binding, feeds));
            match (both.next(), both.next()) {
                (Some(a), Some(b)) if a != b => {
                    return Err(format!("{binding:?}: two poisons give two results"));
                }
                (Some(Err(why)), _) if is_refusal(&why) => ran.refused += 1,
                (Some(Err(why)), _) => return Err(format!("{binding:?}: {why}")),
                (Some(Ok(given)), _) => {
                    ran.ran += 1;
                    ran.reported += u64::from(!given.status.is_clean());
                }
                (None, _) => {}
            }
        }
        Ok(ran)
    }
}

impl Default for Mutants {
    fn default() -> Mutants {
        Mutants::new()
    }
}

impl Original {
    fn new(subject: Subject, device: &dyn Device) -> Original {
        let plan = compile(&subject.graph, device.target(), &Options::default(), &RefEval);
        let plan = plan.unwrap_or_else(|e| panic!("{e}"));
        let file = plan.to_bytes(PlanForm::Run).unwrap_or_else(|e| panic!("{e}"));
        let sections = steering(&file).unwrap_or_else(|e| panic!("{e}"));
        let sections = sections.into_iter().filter(|s| !s.is_empty()).collect();
        let feeds = subject.bindings.iter().map(|binding| feeds(&plan, binding)).collect();
        Original { subject, plan, file, sections, feeds }
    }

    /// Every second one is made of the file's bytes.
    fn mutant(&self, seed: u64) -> Mutant {
        let mut draws = Draws(seed);
        let plan = if draws.below(2) == 0 {
            let mut file = self.file.clone();
            change::change_bytes(&mut file, &self.sections, &mut draws);
            let Ok(plan) = Plan::load(&file) else { return Mutant::Unread };
            plan
        } else {
            let mut plan = self.plan.clone();
            change::change(&mut plan, &self.subject, &mut draws);
            plan
        };
        CheckedPlan::new(plan).map_or(Mutant::Refused, Mutant::Checked)
    }
}

impl Tally {
    fn add(&mut self, ran: Ran) {
        let everywhere = ran.ran > 0 && ran.refused == 0;
        self.ran += u64::from(everywhere);
        self.refused_at_a_binding += u64::from(!everywhere);
        self.bindings += ran.ran;
        self.reported += ran.reported;
    }

    /// Panics with what is wrong.
    ///
    /// # Panics
    /// Where something is.
    pub fn assert_clean(&self) {
        println!("{self}");
        assert!(self.wrong.is_empty(), "{}:\n{}", self.wrong.len(), self.wrong.join("\n"));
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} mutants: {} not read, {} refused, {} refused at a binding, {} ran everywhere, {} bindings run, \
             {} of them with a report, {} wrong",
            self.mutants,
            self.not_read,
            self.refused,
            self.refused_at_a_binding,
            self.ran,
            self.bindings,
            self.reported,
            self.wrong.len()
        )
    }
}

/// Numbers between -1 and 1.
fn numbers(shape: &[u64]) -> Vec<f32> {
    (0..shape.iter().product()).map(|i: u64| (i as f32 * 0.37).sin()).collect()
}

/// Data of every input at a binding: floats, and integers that are 0.
fn feeds(plan: &Plan, binding: &Binding) -> Vec<(String, Tensor)> {
    let symbols = binding.symbols();
    let feed = |input: &pumice_plan::IoSlot| {
        let extents = input.shape.iter().map(|d| d.eval_extent(&symbols));
        let shape: Vec<u64> = extents.collect::<Result<_, _>>().unwrap_or_else(|e| panic!("{e}"));
        let tensor = match input.dtype {
            DType::I32 => Tensor::new(&vec![0; shape.iter().product::<u64>() as usize], &shape),
            _ => Tensor::new(&numbers(&shape), &shape),
        };
        (input.name.to_string(), tensor.unwrap_or_else(|e| panic!("{}: {e}", input.name)))
    };
    plan.inputs.iter().map(feed).collect()
}

fn session(device: &Arc<dyn Device>, plan: &CheckedPlan) -> Result<Session, String> {
    let exe = Executable::new(device.clone(), plan.clone(), Arc::new(RefHostOps));
    let mut session = exe.and_then(|exe| exe.session()).map_err(|e| e.to_string())?;
    for name in session.missing_states() {
        let state = plan.states.iter().find(|s| s.name == name).ok_or("a state that is not the plan's")?;
        let value = Tensor::new(&numbers(&state.shape), &state.shape).map_err(|e| e.to_string())?;
        session.state(&name).and_then(|mut s| s.write(value.view())).map_err(|e| e.to_string())?;
    }
    Ok(session)
}

/// Runs one call. An op that reports is no error: an error of that kind would hide the outputs.
fn given(session: &mut Session, binding: &Binding, feeds: &[(String, Tensor)]) -> Result<Given, String> {
    let (name, value) = binding.scalar;
    session.set_scalar(name, value).map_err(|e| e.to_string())?;
    let inputs: Vec<(&str, TensorView<'_>)> =
        feeds.iter().map(|(name, tensor)| (name.as_str(), tensor.view())).collect();
    let options = RunOptions::default().steps(REPLAYS).on_status(OnStatus::Report);
    let out = session.run_with(&inputs, &options).map_err(|e| e.to_string())?;
    let outputs = out.iter().map(|(_, tensor)| tensor.bytes().to_vec()).collect();
    Ok(Given { outputs, status: session.status().clone() })
}

/// Whether an error says no before any harm is done. Of a defect it may be, where it says that the plan was changed.
pub fn is_refusal(why: &str) -> bool {
    let harm = ["of the guard", "device was lost", "outside its region"].iter().any(|w| why.contains(w));
    let defect = why.contains("defect") && !why.contains("it was changed after it was made");
    !harm && !defect
}
