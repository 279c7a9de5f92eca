//! Times of a session's runs. In: a session that is ready to run. Out: median, smallest and largest of enough samples,
//! taken after the case itself has kept the device busy. Never here: what is timed.

use crate::row::Outcome;
use pumice::{RunOptions, Session, TensorView};
use std::process::Command;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Named inputs.
pub type Inputs<'a> = [(&'a str, TensorView<'a>)];

/// How long a case is warmed up and sampled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// Seconds of load before the first sample.
    pub warm_s: f64,
    /// Device time that a sample should have, in microseconds.
    pub sample_us: f64,
    /// Samples.
    pub samples: usize,
}

impl Pace {
    /// What figures are taken with.
    pub const FULL: Pace = Pace { warm_s: 0.4, sample_us: 20_000.0, samples: 11 };
    /// Enough to see that it runs.
    pub const QUICK: Pace = Pace { warm_s: 0.05, sample_us: 2_000.0, samples: 3 };
}

/// Samples in short, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Times {
    /// The middle one.
    pub median: f64,
    /// The shortest.
    pub min: f64,
    /// The longest.
    pub max: f64,
    /// How many.
    pub samples: usize,
    /// Replays in one submission of a sample.
    pub replays: u32,
    /// Whether the first and the last quarter agree within 3 %.
    pub steady: bool,
}

impl Times {
    /// Of samples in the order they were taken.
    pub fn of(samples: &[f64]) -> Times {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let at = |i: usize| sorted.get(i).copied().unwrap_or(f64::NAN);
        let quarter = (samples.len() / 4).max(1);
        let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len().max(1) as f64;
        let (first, last) = (
            mean(&samples[..quarter.min(samples.len())]),
            mean(&samples[samples.len().saturating_sub(quarter)..]),
        );
        Times {
            median: at(sorted.len() / 2),
            min: at(0),
            max: at(sorted.len().saturating_sub(1)),
            samples: samples.len(),
            replays: 1,
            steady: (first - last).abs() <= 0.03 * first.min(last),
        }
    }

    /// The same for one of `n` equal parts.
    pub fn over(self, n: f64) -> Times {
        Times { median: self.median / n, min: self.min / n, max: self.max / n, ..self }
    }
}

/// The device's time of one run, from as many replays per submission as a sample needs. Samples that drift are taken
/// once more.
pub fn device(session: &mut Session, inputs: &Inputs<'_>, pace: Pace) -> Outcome<Times> {
    let once = warm_up(pace.warm_s, || Ok(session.time(inputs, &RunOptions::default())?))?;
    let replays = (pace.sample_us / once.max(0.1)).ceil().clamp(1.0, 1000.0) as u32;
    let options = RunOptions::default().steps(replays);
    let mut times = Times::default();
    for _ in 0..2 {
        warm_up(pace.warm_s / 4.0, || Ok(session.time(inputs, &options)?))?;
        let sample = |_| Ok(session.time(inputs, &options)? / f64::from(replays));
        let samples = (0..pace.samples).map(sample).collect::<Outcome<Vec<f64>>>()?;
        times = Times { replays, ..Times::of(&samples) };
        if times.steady {
            break;
        }
    }
    Ok(times)
}

/// The device's time of a run that has a submission to itself.
pub fn device_once(session: &mut Session, inputs: &Inputs<'_>, pace: Pace) -> Outcome<Times> {
    warm_up(pace.warm_s, || Ok(session.time(inputs, &RunOptions::default())?))?;
    let sample = |_| Ok(session.time(inputs, &RunOptions::default())?);
    Ok(Times::of(&(0..5 * pace.samples).map(sample).collect::<Outcome<Vec<f64>>>()?))
}

/// Wall time of `work`, which returns nothing.
pub fn host(samples: usize, warm_s: f64, mut work: impl FnMut() -> Outcome) -> Outcome<Times> {
    let mut timed = || {
        let begin = Instant::now();
        work()?;
        Ok(begin.elapsed().as_secs_f64() * 1e6)
    };
    warm_up(warm_s, &mut timed)?;
    Ok(Times::of(&(0..samples).map(|_| timed()).collect::<Outcome<Vec<f64>>>()?))
}

/// Works for at least that long and at least once; returns the shortest time seen.
fn warm_up(seconds: f64, mut work: impl FnMut() -> Outcome<f64>) -> Outcome<f64> {
    let begin = Instant::now();
    let mut shortest = work()?;
    while begin.elapsed().as_secs_f64() < seconds {
        shortest = shortest.min(work()?);
    }
    Ok(shortest)
}

/// The first NVIDIA card's processor clock in MHz, where its tool answers.
pub fn processor_mhz() -> Option<u32> {
    let mut ask = Command::new("nvidia-smi");
    let out = ask.args(["--query-gpu=clocks.sm", "--format=csv,noheader,nounits"]).output().ok()?;
    String::from_utf8(out.stdout).ok()?.lines().next()?.trim().parse().ok()
}

/// The date in UTC, `2026-11-21`, from days since 1970 in the proleptic Gregorian calendar.
pub fn today() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    // Years that begin in March, in cycles of 400 years of 146,097 days; 0000-03-01 lies 719,468 days before 1970.
    let days = seconds / 86_400 + 719_468;
    let (cycle, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let of_month = of_year - (153 * month + 2) / 5 + 1;
    let (month, carry) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    format!("{:04}-{month:02}-{of_month:02}", 400 * cycle + year + carry)
}
