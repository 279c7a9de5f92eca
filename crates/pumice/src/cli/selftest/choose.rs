//! Which samples run as which device would plan them.
//!
//! Every sample runs as the device itself plans it. Some are planned again as devices would that select otherwise (of
//! the other kind, with few compute units, without subgroups): of each op enough for every kernel variant that it meets
//! there, so that every variant that the device can run is run. Samples of long axes, which a driver may not let loops
//! walk, run on every device but the interpreter, however many elements they have, as the device plans them.

use super::super::trial::{code, largest, plan, variant_of};
use super::threads::{Event, in_order};
use crate::device::{Device, DeviceKind};
use crate::error::Error;
use pumice_compile::CompileError;
use pumice_ir::{Graph, Sample};
use pumice_plan::CheckedPlan;
use pumice_types::Target;
use std::collections::BTreeMap;
use std::time::Duration;

/// Samples of an op in which a kernel variant is run that only other devices would select. With two an H200 takes 37 s
/// on a cold cache and with six 43 (driver 580.159.04), lavapipe on two cores 284 and 334 s (2026-11-23).
const ENOUGH: usize = 3;

/// In how many samples of an op a kernel variant was taken.
pub type Met = BTreeMap<(&'static str, String), usize>;

/// What is done with a sample.
#[derive(Debug, Default)]
pub struct Choice {
    /// It has a value of too many elements.
    pub too_large: bool,
    /// Why it cannot be planned for some target, where that is a defect.
    pub wrong: Vec<String>,
    /// Why the compiler refuses it, on a device without 64-bit integers.
    pub refused: Option<Vec<String>>,
    /// For which targets it is run.
    pub targets: Vec<usize>,
}

/// The device itself; as the other kind of device; as a GPU of few compute units, which has large tiles for small
/// products; as one without subgroups; and as a CPU driver without subgroups, with and without 64-bit integers. Other
/// limits stay what they are, so all of them run.
pub fn selections(own: Target) -> Vec<Target> {
    const FEW_UNITS: u32 = 4;
    let of_kind = |cpu: bool| if cpu { Target::lavapipe().table } else { Target::h200().table };
    let mut other = own.clone().with_table(of_kind(!own.features.cpu));
    if !own.features.cpu {
        // Sums of more terms in one loop than a CPU driver lets iterate are not what its kernels are made for.
        other.limits.loop_turns = own.limits.loop_turns.or(Target::lavapipe().limits.loop_turns);
    }
    let mut few = own.clone().with_table(of_kind(false));
    few.tuning.compute_units = FEW_UNITS;
    let mut plain = few.clone();
    let mut alone = other.clone().with_table(of_kind(true));
    for target in [&mut plain, &mut alone] {
        target.features.subgroup_arithmetic = false;
        target.features.subgroup_shuffle = false;
    }
    let mut words = alone.clone();
    words.features.int64 = false;
    vec![own, other, few, plain, alone, words]
}

/// What is done with each sample, after those that `met` knows. The first target is the device's own.
pub fn choices(
    device: &Device,
    targets: &[Target],
    limit: u64,
    samples: &[(&'static str, Sample)],
    met: &mut Met,
) -> Vec<Choice> {
    let interpreter = device.kind() == DeviceKind::Interpreter;
    let mut choices = Vec::new();
    let planned = |i: usize| Planned::of(&samples[i].1, targets, limit, interpreter);
    in_order(samples.len(), Duration::MAX, planned, |event| {
        if let Event::Result(i, planned) = event {
            choices.push(planned.choose(samples[i].0, met));
        }
    });
    choices
}

/// A sample with the code that each target gives it, before targets are chosen.
#[derive(Debug, Default)]
struct Planned {
    choice: Choice,
    codes: Vec<(usize, Vec<String>)>,
}

impl Planned {
    fn of(sample: &Sample, targets: &[Target], limit: u64, interpreter: bool) -> Planned {
        let mut planned = Planned::default();
        let graph = match &sample.graph {
            Ok(graph) => graph,
            Err(why) => {
                planned.choice.wrong.push(format!("the sample is no graph: {why}"));
                return planned;
            }
        };
        let large = largest(graph, sample) > limit;
        if large && (interpreter || !sample.is_long_axis()) {
            planned.choice.too_large = true;
            return planned;
        }
        let most = if large { 1 } else { targets.len() };
        planned.plan(graph, &targets[..most.min(targets.len())]);
        planned
    }

    /// Plans a graph for every target that would get a plan of its own.
    fn plan(&mut self, graph: &Graph, targets: &[Target]) {
        let mut plans: Vec<(&Target, CheckedPlan)> = Vec::new();
        for (i, target) in targets.iter().enumerate() {
            // What only lacks abilities that a plan does not need would get the same one.
            let selects_alike = |t: &Target| t.table == target.table && t.tuning == target.tuning;
            if plans.iter().any(|(t, plan)| selects_alike(t) && plan.needs().lacks(target).is_empty()) {
                continue;
            }
            match plan(graph, target) {
                Ok(plan) => {
                    self.codes.push((i, code(&plan)));
                    plans.push((target, plan));
                }
                Err(Error::Compile(CompileError::Unsupported(nodes))) if !target.features.int64 => {
                    // What the device itself runs is not left out for want of another one's abilities.
                    let reasons = || nodes.into_iter().map(|n| n.reason).collect();
                    self.choice.refused = (i == 0).then(reasons);
                    break;
                }
                Err(why) => self.choice.wrong.push(why.to_string()),
            }
        }
    }

    /// Takes the device's own plan, and each other one that runs other code with a variant that was not met often
    /// enough.
    fn choose(mut self, op: &'static str, met: &mut Met) -> Choice {
        let mut seen: Vec<&Vec<String>> = Vec::new();
        for (target, code) in &self.codes {
            if seen.contains(&code) {
                continue;
            }
            let mut variants: Vec<String> = code.iter().cloned().map(variant_of).collect();
            variants.sort();
            variants.dedup();
            let rare = |v: &String| met.get(&(op, v.clone())).is_none_or(|n| *n < ENOUGH);
            if *target == 0 || variants.iter().any(rare) {
                variants.into_iter().for_each(|v| *met.entry((op, v)).or_default() += 1);
                self.choice.targets.push(*target);
                seen.push(code);
            }
        }
        self.choice
    }
}

#[cfg(test)]
mod tests {
    use super::super::{GPU_ELEMENTS, runnable};
    use super::*;
    use pumice_ir::Op;
    use std::collections::BTreeSet;

    /// Every variant that an H200 can run is chosen for some sample, and of an op no more than is enough, beside what
    /// it selects itself.
    #[test]
    fn a_gpu_runs_every_variant() {
        let targets = selections(Target::h200());
        let mut missing: BTreeSet<String> = runnable(&targets).into_iter().collect();
        let (mut met, mut own, mut others) = (BTreeMap::new(), 0, 0);
        for op in Op::NAMES {
            for sample in Op::samples(op) {
                let planned = Planned::of(&sample, &targets, GPU_ELEMENTS, false);
                let codes = planned.codes.clone();
                let choice = planned.choose(op, &mut met);
                own += usize::from(choice.targets.first() == Some(&0));
                others += choice.targets.len().saturating_sub(1);
                for (_, code) in codes.iter().filter(|(target, _)| choice.targets.contains(target)) {
                    code.iter().for_each(|c| _ = missing.remove(&variant_of(c.clone())));
                }
            }
        }
        assert_eq!(missing, BTreeSet::new());
        println!("{own} as the device plans them, {others} as others would");
        assert!(own > 5000 && (500..own).contains(&others), "{own} {others}");
    }
}
