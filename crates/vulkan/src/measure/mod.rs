//! Measures what a device nobody has measured can do: levels, dispatches, submissions, bytes, f32 products, and, where
//! the driver does not say them, compute units. With kernels of this repository, on the device's own clock.
//!
//! In: an open device. Out: [`Figures`] with two digits each, so that one card has one set of them. Some hundred
//! milliseconds, most of which the driver takes to make three kernels. Never here: when it is done and where the
//! figures are kept (`figure_file`).

mod bench;
mod kernels;

use crate::error::device_error;
use crate::gpu::Gpu;
use crate::submit::Begin;
use bench::{Bench, Work};
use kernels::Kernels;
use pumice_runtime::device::DeviceError;
use pumice_types::target::{Figures, two_digits};
use std::time::{Duration, Instant};

/// Samples of each figure, of which the median counts.
const SAMPLES: usize = 9;
/// Clocks rise under load: so long are products computed before the first sample.
const WARM_UP: Duration = Duration::from_millis(60);
/// Levels of a list.
const LEVELS: usize = 128;
/// Dispatches of a level.
const DISPATCHES: usize = 256;
/// More groups than a device has compute units are not tried.
const MOST_UNITS: u32 = 1024;

/// The figures; compute units only where the driver says none.
///
/// # Errors
/// Where the queue has no timestamps, or the device fails.
pub(crate) fn figures(gpu: &Gpu, said_units: Option<u32>) -> Result<Figures, DeviceError> {
    let kernels = Kernels::new(gpu)?;
    let bench = Bench::new(gpu, &kernels)?;
    let compute_units = match said_units {
        Some(units) => units,
        None => units(&bench)?,
    };
    let product = bench.product(compute_units.saturating_mul(2), kernels::TERMS)?;
    warm_up(&bench, &product)?;
    let chain = bench.chain(LEVELS)?;
    let crowd = bench.crowd(DISPATCHES)?;
    let stream = bench.stream()?;
    let [chain, crowd, stream, product_us] = medians(&bench, [&chain, &crowd, &stream, &product])?;
    let level_us = chain / LEVELS as f64;
    let dispatch_us = (crowd - level_us) / (DISPATCHES - 1) as f64;
    // Not less than a hundredth of the whole: where a clock is coarse a difference may be none.
    let beside_level = |us: f64| (us - level_us).max(us / 100.0);
    let flops = product.work / beside_level(product_us);
    Ok(Figures {
        compute_units: said_units.is_none().then_some(compute_units),
        level_us: Some(two_digits(level_us)),
        dispatch_us: Some(two_digits(dispatch_us.max(level_us / 1000.0))),
        submit_us: Some(two_digits(submission(gpu)?)),
        bytes_per_us: Some(two_digits(bench.stream_bytes() / beside_level(stream))),
        f32_flops_per_us: Some(two_digits(flops * kernels.tile_share)),
        rounded_flops_per_us: None,
    })
}

fn warm_up(bench: &Bench<'_>, product: &Work) -> Result<(), DeviceError> {
    let begin = Instant::now();
    while begin.elapsed() < WARM_UP {
        bench.us(product)?;
    }
    Ok(())
}

/// The median time of each, in microseconds: a sample of every one, then the next of every one.
fn medians<const N: usize>(bench: &Bench<'_>, works: [&Work; N]) -> Result<[f64; N], DeviceError> {
    let mut times = [const { Vec::new() }; N];
    for _ in 0..SAMPLES {
        for (work, times) in works.iter().zip(&mut times) {
            times.push(bench.us(work)?);
        }
    }
    Ok(times.map(median))
}

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples.get(samples.len() / 2).copied().unwrap_or(0.0)
}

/// Time of a submission of nothing, as the host sees it: the shortest, since whatever else the host does only adds (the
/// median of ten openings on an H100 was 12 us, and once 33).
fn submission(gpu: &Gpu) -> Result<f64, DeviceError> {
    let nothing = gpu.closing_list()?;
    let one =
        || gpu.run_timed(&[&nothing], gpu.wait_policy.usual(), Begin::AtSubmission).map_err(device_error);
    one()?;
    (0..2 * SAMPLES).try_fold(f64::INFINITY, |shortest, _| Ok(one()?.min(shortest)))
}

/// How many tiles of a product take no longer than one: each has a compute unit to itself, and with one more some unit
/// has two. A tile keeps its unit busy, so two take twice as long.
fn units(bench: &Bench<'_>) -> Result<u32, DeviceError> {
    let one = tiles(bench, 1)?.min(tiles(bench, 1)?);
    largest(MOST_UNITS, &mut |groups| Ok(tiles(bench, groups)? < 1.5 * one))
}

/// Microseconds of so many tiles of a product, once the clocks are up.
fn tiles(bench: &Bench<'_>, groups: u32) -> Result<f64, DeviceError> {
    let product = bench.product(groups, kernels::TERMS / 4)?;
    bench.us(&product)?;
    let mut samples = [0.0; 3];
    for sample in &mut samples {
        *sample = bench.us(&product)?;
    }
    Ok(median(samples.to_vec()))
}

/// The largest number up to `most` that fits, where all up to it do and 1 does. Twice as many are tried each time until
/// too many are, then halves: large numbers, which take long, are tried only where smaller ones fit.
fn largest(most: u32, fits: &mut impl FnMut(u32) -> Result<bool, DeviceError>) -> Result<u32, DeviceError> {
    let mut low = 1;
    let mut high = 2;
    while high <= most && fits(high)? {
        (low, high) = (high, 2 * high);
    }
    high = high.min(most + 1);
    while high - low > 1 {
        let middle = u32::midpoint(low, high);
        if fits(middle)? { low = middle } else { high = middle }
    }
    Ok(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_step_is_found_in_few_measurements() {
        for units in [1u32, 2, 7, 132, 1023, 1024, 5000] {
            let mut measured = Vec::new();
            let mut fits = |groups| {
                measured.push(groups);
                Ok(groups <= units)
            };
            assert_eq!(largest(1024, &mut fits).expect("no device"), units.min(1024));
            assert!(
                measured.len() <= 20 && measured.iter().all(|groups| *groups <= 2 * units),
                "{measured:?}"
            );
        }
    }

    #[test]
    fn the_median_is_no_mean() {
        assert_eq!(median(vec![3.0, 900.0, 1.0]), 3.0);
        assert_eq!(median(Vec::new()), 0.0);
    }
}
