//! Plan files are input (F7): a file whose bytes were changed, its length and checksum made right again, is refused, or
//! runs and does no harm. No panic, no crash, no hang, no byte outside a region.

use pumice_cpu_ref::sample as data;
use pumice_plan::file::seal;
use pumice_plan::{CheckedPlan, Fingerprint, Kernels, Plan, PlanForm, kernels};
use pumice_tests::draws::Draws;
use pumice_tests::graphs::training::training_cases;
use pumice_tests::op_suite::{Case, Runner, cases};
use std::panic::{AssertUnwindSafe, catch_unwind};

const MOST_ELEMENTS: u64 = 1 << 10;
/// Bytes of a header, which [`seal`] makes right.
const HEADER: usize = 52;

/// Bytes of a file that are no fingerprint, by place: a change there is refused at once, and a fifth of a small file is
/// made of them.
fn places(file: &[u8]) -> Vec<usize> {
    let known = Kernels::built_in();
    let of = |decl: &'static pumice_plan::KernelDecl| {
        let code = decl.variants.iter().filter_map(|v| known.code(decl.name, v.name));
        code.chain(known.declaration(decl.name)).collect::<Vec<Fingerprint>>()
    };
    let all: Vec<Fingerprint> = kernels::all().flat_map(of).collect();
    let mut free = vec![true; file.len()];
    free[..HEADER].fill(false);
    for at in HEADER..file.len().saturating_sub(31) {
        if all.iter().any(|f| file[at..at + 32] == f.0) {
            free[at..at + 32].fill(false);
        }
    }
    (0..file.len()).filter(|&i| free[i]).collect()
}

/// One or two changes in the body: most of them small, so that many files are read to their end.
fn mutate(file: &[u8], places: &[usize], other: &[u8], seed: u64) -> Vec<u8> {
    let (mut bytes, mut draws) = (file.to_vec(), Draws(seed));
    for _ in 0..1 + draws.below(2) {
        let at = places[draws.below(places.len())];
        let end = (at + 1 + draws.below(16)).min(bytes.len());
        if at >= end {
            continue;
        }
        match draws.below(12) {
            0..=3 => bytes[at] ^= 1 << draws.below(8),
            4 => bytes[at] = bytes[at].wrapping_add(1),
            5 => bytes[at] = bytes[at].wrapping_sub(1),
            6 => bytes[at] = [0, 1, 2, 4, 0x7f, 0x80, 0xff][draws.below(7)],
            7 => bytes[at] = draws.bits() as u8,
            8 => _ = bytes.drain(at..end),
            9 => {
                let again = bytes[at..end].to_vec();
                bytes.splice(at..at, again);
            }
            10 => {
                // The largest number there is.
                bytes.splice(at..at + 1, [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]);
            }
            _ => {
                let from = draws.below(other.len());
                let piece = &other[from..(from + end - at).min(other.len())];
                bytes.splice(at..end, piece.iter().copied());
            }
        }
    }
    seal(&mut bytes);
    bytes
}

/// Small samples and programs that train, with the files of their plans.
fn corpus(runner: &Runner, form: PlanForm, each: usize) -> Vec<(Case, Vec<u8>, Vec<usize>)> {
    let small = cases(None).into_iter().filter(|c| (1..=MOST_ELEMENTS).contains(&c.elements()));
    let planned = small.step_by(each).chain(training_cases()).filter_map(|case| {
        let plan = runner.plan(case.sample.graph.as_ref().ok()?).ok()?.into_plan();
        let file = plan.to_bytes(form).unwrap_or_else(|e| panic!("{}: {e}", case.name()));
        let places = places(&file);
        Some((case, file, places))
    });
    planned.collect()
}

/// Runs a sample under a plan; every error but that of a byte outside its region is as good as a refusal.
fn run(runner: &Runner, case: &Case, plan: CheckedPlan) -> Result<bool, String> {
    let attempt = || -> Result<(), String> {
        let graph = case.sample.graph.as_ref().map_err(ToString::to_string)?;
        let bindings = data::bindings(&case.sample, graph);
        let exe = pumice_runtime::Executable::new(runner.device.clone(), plan, runner.host.clone());
        let exe = exe.map_err(|e| e.to_string())?;
        let mut session = data::session(&exe, &case.sample, graph, &bindings).map_err(|e| e.to_string())?;
        for i in 0..case.sample.runs {
            data::execute(&mut session, &case.sample, graph, &bindings, i).map_err(|e| e.to_string())?;
            for output in 0..graph.outputs().len() {
                session.read_output(output).map_err(|e| e.to_string())?;
            }
        }
        Ok(())
    };
    match attempt() {
        Ok(()) => Ok(true),
        Err(e) if e.contains("of the guard") || e.contains("device was lost") => Err(e),
        Err(_) => Ok(false),
    }
}

/// How the files ended.
#[derive(Default, Debug)]
struct Tally {
    unread: u64,
    refused: u64,
    failed: u64,
    ran: u64,
    wrong: Vec<String>,
}

impl Tally {
    fn add(&mut self, runner: &Runner, case: &Case, file: &[u8], seed: u64) {
        let outcome = catch_unwind(AssertUnwindSafe(|| match Plan::load(file) {
            Err(_) => {
                self.unread += 1;
                Ok(())
            }
            Ok(plan) => match CheckedPlan::new(plan) {
                Err(_) => {
                    self.refused += 1;
                    Ok(())
                }
                Ok(plan) => run(runner, case, plan).map(|ran| match ran {
                    true => self.ran += 1,
                    false => self.failed += 1,
                }),
            },
        }));
        let why = match outcome {
            Ok(Ok(())) => return,
            Ok(Err(why)) => why,
            Err(_) => "a panic".to_owned(),
        };
        self.wrong.push(format!("{}: seed {seed}: {why}", case.name()));
    }
}

/// So many mutated files of every `each`-th small sample's plan.
fn mutated(runner: &Runner, form: PlanForm, each: usize, files: u64) {
    let corpus = corpus(runner, form, each);
    let mut tally = Tally::default();
    for seed in 0..files {
        let (case, file, places) = &corpus[seed as usize % corpus.len()];
        let (_, other, _) = &corpus[(seed as usize * 7 + 3) % corpus.len()];
        tally.add(runner, case, &mutate(file, places, other, seed), seed);
    }
    let Tally { unread, refused, failed, ran, wrong } = tally;
    println!(
        "{} plans, {files} files: {unread} not read, {refused} refused, {failed} failed when run, {ran} ran",
        corpus.len()
    );
    assert!(wrong.is_empty(), "{} of them:\n{}", wrong.len(), wrong.join("\n"));
    assert!(unread > files / 20 && refused > files / 50 && ran > files / 100, "the mutants are of one kind");
}

mod on_interpreter {
    use super::*;

    #[test]
    fn mutated_files_are_refused_or_do_no_harm() {
        mutated(&Runner::interpreter(MOST_ELEMENTS), PlanForm::Explain, 8, 20_000);
    }

    #[test]
    #[ignore = "long: two hundred thousand files"]
    fn many_mutated_files_are_refused_or_do_no_harm() {
        mutated(&Runner::interpreter(MOST_ELEMENTS), PlanForm::Explain, 1, 200_000);
    }
}

mod on_device {
    use super::*;
    use pumice_tests::device;
    use pumice_vulkan::{DeviceOptions, Poison};

    /// Guards fail a run that touches another byte.
    fn runner() -> Runner {
        Runner::new(device::open(&DeviceOptions::default().poison(Some(Poison(0x7fc0_dead)))), MOST_ELEMENTS)
    }

    #[test]
    fn mutated_files_are_refused_or_do_no_harm() {
        mutated(&runner(), PlanForm::Run, 24, 1_500);
    }

    #[test]
    #[ignore = "long: two hundred thousand files"]
    fn many_mutated_files_are_refused_or_do_no_harm() {
        mutated(&runner(), PlanForm::Run, 1, 200_000);
    }
}
