//! Plans of programs that train (G8), mutated: what brute force over all bytes calls wrong, the checker refuses. In
//! [`mutants`](../mutants.rs), [`mutated_files`](../mutated_files.rs) and [`mutated_frames`](../mutated_frames.rs) the
//! same programs are altered word by word and byte by byte.

use pumice_compile::Options;
use pumice_plan::check::mutate::{Change, Mutation, mutations};
use pumice_plan::check::{ProgramRef, check, judge::brute_force};
use pumice_plan::{Plan, StepId};
use pumice_tests::graphs::training::{Training, trainings};
use pumice_types::Target;

/// The plan of all entries of a program.
fn plan(training: &Training) -> Plan {
    let options = Options::default().precision(training.precision);
    let plan = pumice::plan_entries(&training.graphs.entries(), &Target::lavapipe(), &options);
    plan.unwrap_or_else(|e| panic!("{}: {e}", training.name)).into_plan()
}

/// How mutants ended.
#[derive(Default)]
struct Tally {
    wrong: usize,
    harmless: usize,
    /// Harmless ones that are refused.
    strict: usize,
    missed: Vec<String>,
}

impl Tally {
    fn add(&mut self, name: &str, plan: &Plan, mutation: &Mutation) {
        let mutant = mutation.apply(plan);
        let is_refused = check(&mutant).is_err();
        match brute_force(&mutant) {
            Err(_) if is_refused => self.wrong += 1,
            Err(why) => self.missed.push(format!("{name}: {mutation}: {why}")),
            Ok(()) => {
                self.harmless += 1;
                self.strict += usize::from(is_refused);
            }
        }
    }
}

/// Of each plan about so many mutants, spread over all.
fn mutated(most: usize, least: usize) {
    let mut tally = Tally::default();
    let programs = trainings();
    for training in &programs {
        let plan = plan(training);
        assert_eq!(brute_force(&plan), Ok(()), "{}", training.name);
        let all = mutations(&plan);
        let step = all.len().div_ceil(most).max(1);
        all.iter().step_by(step).for_each(|mutation| tally.add(training.name, &plan, mutation));
    }
    let Tally { wrong, harmless, strict, missed } = tally;
    println!(
        "{} programs: {wrong} wrong mutants refused, {} not; {harmless} harmless, {strict} of them refused all the same",
        programs.len(),
        missed.len()
    );
    assert!(missed.is_empty(), "{} not refused:\n{}", missed.len(), missed.join("\n"));
    assert!(programs.len() >= 30 && wrong >= least, "{wrong} of {} programs", programs.len());
}

#[test]
fn every_wrong_mutant_is_refused() {
    mutated(40, 600);
}

#[test]
#[ignore = "long: two thousand mutants of each program"]
fn every_wrong_mutant_of_many_is_refused() {
    mutated(2_000, 20_000);
}

/// The steps of a run that write a trained weight.
fn updates(training: &Training, plan: &Plan, run: usize) -> Vec<StepId> {
    let is_weight = |name: &str| training.graphs.trained.iter().any(|t| t.name == name);
    let weights: Vec<_> = plan.states.iter().filter(|s| is_weight(&s.name)).map(|s| s.span).collect();
    let steps = (0..).map(StepId).zip(&plan.runs[run].program.steps);
    let writes = |step: &pumice_plan::Step| {
        let written = step.uses.iter().filter(|u| u.access.writes());
        written.into_iter().any(|u| weights.iter().any(|w| w.overlaps(&u.span)))
    };
    steps.filter(|(_, step)| writes(step)).map(|(id, _)| id).collect()
}

/// An update waits for its gradient and for the flag, and every reader of the weight for nothing: one level earlier it
/// is before one of them.
#[test]
fn an_update_one_level_earlier_is_refused() {
    let (mut moved, mut kept) = (0, Vec::new());
    for training in trainings() {
        let plan = plan(&training);
        for run in 0..plan.runs.len() {
            for step in updates(&training, &plan, run) {
                let mutation =
                    Mutation { program: ProgramRef::Run(run as u32), change: Change::Earlier { step } };
                moved += 1;
                if check(&mutation.apply(&plan)).is_ok() {
                    kept.push(format!("{}: {mutation}", training.name));
                }
            }
        }
    }
    println!("{moved} updates moved");
    assert!(kept.is_empty(), "{} accepted:\n{}", kept.len(), kept.join("\n"));
    assert!(moved >= 60, "{moved}");
}
