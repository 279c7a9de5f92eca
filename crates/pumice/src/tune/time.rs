//! Times of sessions, side by side. In: plans of the same work. Out: the median time of each. Operands are fresh random
//! numbers on the device; results stay there but for one element.

use super::grid::Case;
use super::{Scope, TuneError, Tuned};
use crate::device::Device;
use pumice_plan::Plan;
use pumice_runtime::{Executable, RunOptions, Session};
use std::time::Instant;

/// A case on the device, ready to run.
pub struct Loaded {
    exe: Executable,
    session: Session,
    /// Replays of a sample.
    replays: u32,
}

/// Seconds of load before the first sample, device time of a sample in microseconds, samples.
fn pace(scope: Scope) -> (f64, f64, usize) {
    match scope {
        Scope::Tiny => (0.0, 1.0, 3),
        Scope::Quick => (0.02, 2_000.0, 5),
        Scope::Brief => (0.02, 2_000.0, 5),
        Scope::Full => (0.1, 5_000.0, 9),
    }
}

impl Loaded {
    /// Compiles and loads a case, and fills its params and states.
    pub fn new(device: &Device, case: &Case) -> Tuned<Loaded> {
        let exe = crate::compile(&case.graph, device, &case.options)?;
        let mut session = exe.session()?;
        for (seed, param) in (0u64..).zip(&exe.plan().params) {
            exe.set_param(&param.name, &random(seed, &param.shape))?;
        }
        for (seed, state) in (100u64..).zip(&exe.plan().states) {
            session.state(&state.name)?.write_f32(&random(seed, &state.shape))?;
        }
        Ok(Loaded { exe, session, replays: 1 })
    }

    /// Its plan.
    pub fn plan(&self) -> &Plan {
        self.exe.plan()
    }

    /// Microseconds of one run, of as many replays as a sample has.
    fn sample(&mut self) -> Tuned<f64> {
        let options = RunOptions::default().steps(self.replays);
        Ok(self.session.time(&[], &options)? / f64::from(self.replays))
    }

    /// Runs for that long, then knows how many replays a sample needs.
    fn warm_up(&mut self, seconds: f64, sample_us: f64) -> Tuned<()> {
        let begin = Instant::now();
        let mut shortest = self.sample()?;
        while begin.elapsed().as_secs_f64() < seconds {
            shortest = shortest.min(self.sample()?);
        }
        self.replays = (sample_us / shortest.max(0.1)).ceil().clamp(1.0, 1000.0) as u32;
        Ok(())
    }
}

/// The median time of each, in microseconds: a sample of every one, then the next of every one.
pub fn side_by_side(cases: &mut [Loaded], scope: Scope) -> Tuned<Vec<f64>> {
    let (warm_s, sample_us, samples) = pace(scope);
    cases.iter_mut().try_for_each(|case| case.warm_up(warm_s, sample_us))?;
    let mut times = vec![Vec::new(); cases.len()];
    for _ in 0..samples {
        for (case, times) in cases.iter_mut().zip(&mut times) {
            times.push(case.sample()?);
        }
    }
    let medians = times.iter_mut().map(|times| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    });
    let medians: Vec<f64> = medians.collect();
    match medians.iter().position(|t| !t.is_finite() || *t <= 0.0) {
        Some(at) => Err(TuneError::NoTime(cases[at].plan().name.clone())),
        None => Ok(medians),
    }
}

/// Numbers in -1..1 for a tensor.
fn random(seed: u64, shape: &[u64]) -> Vec<f32> {
    let unit = |i| (pumice_ir::sample::random(seed, i) >> 40) as f32 / (1u64 << 23) as f32 - 1.0;
    (0..shape.iter().product()).map(unit).collect()
}
