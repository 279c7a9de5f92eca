//! The figures of a device, and where each is from: measured with a profile, said by the driver, measured here, given
//! by the caller, or estimated from what the driver says.
//!
//! In: a [`Snapshot`]. Out: [`Tuning`] with its sources. Pure: what is measured is `measure`'s.

use crate::snapshot::{DeviceKind, Snapshot};
use pumice_types::Target;
use pumice_types::target::{FigureError, Figures, Tuning, two_digits};
use std::fmt;

/// Where a figure is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The profile of this very device: measured with much time, in the table's company.
    Profile,
    /// The driver says it.
    Driver,
    /// Measured when the device was first opened with a cache folder.
    Measured,
    /// Computed from what the driver says.
    Estimated,
}

impl Source {
    fn words(self) -> &'static str {
        match self {
            Source::Profile => "of its profile",
            Source::Driver => "said by the driver",
            Source::Measured => "measured",
            Source::Estimated => "estimated",
        }
    }
}

/// What a device's figures are from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FigureSources {
    /// Of its compute units.
    pub units: Source,
    /// Of its rates.
    pub rates: Source,
    /// Names of the figures that the caller gave in their place.
    pub given: Vec<&'static str>,
}

impl FigureSources {
    /// Puts figures of the caller in the place of a device's own.
    pub(crate) fn give(&mut self, figures: &Figures, tuning: &mut Tuning) -> Result<(), FigureError> {
        figures.check()?;
        *tuning = figures.over(tuning);
        self.given = figures.names();
        Ok(())
    }
}

impl fmt::Display for FigureSources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "units {}, rates {}", self.units.words(), self.rates.words())?;
        if self.given.is_empty() { Ok(()) } else { write!(f, "; given: {}", self.given.join(", ")) }
    }
}

/// The figures of a device that the profile, if there is one, or its driver gives reason for.
pub(crate) fn of(s: &Snapshot, profile: Option<&Target>) -> (Tuning, FigureSources) {
    let from = |units, rates| FigureSources { units, rates, given: Vec::new() };
    if let Some(profile) = profile {
        return (profile.tuning.clone(), from(Source::Profile, Source::Profile));
    }
    let units = s.compute_units.map_or(Source::Estimated, |_| Source::Driver);
    (estimated(s), from(units, Source::Estimated))
}

/// A GiB in bytes.
const GIB: f64 = (1u64 << 30) as f64;

/// Estimates. Levels, dispatches and submissions take a GPU with memory of its own as long as an H200: they are one
/// way through a driver and a front end, whatever stands behind it. A compute unit of such a card multiplies 385 GFLOPS
/// (an H200's 50.9 TFLOPS of 132). Memory gives 6 GB/s for each unit, and 24 GB/s for each GiB: large memories are wide
/// ones. So an H200 is estimated at 4.2 TB/s (4.19 measured), an H100 at 2.7. GPUs that share the host's memory get
/// half the arithmetic, the first term alone, and twice as long levels.
fn estimated(s: &Snapshot) -> Tuning {
    let own_memory = matches!(s.kind, DeviceKind::Discrete | DeviceKind::Virtual);
    if s.kind == DeviceKind::Cpu {
        return Target::lavapipe().tuning;
    }
    // Nobody has said how many: of few there are more in most cases, which costs less than the opposite.
    let compute_units = s.compute_units.unwrap_or(if own_memory { 32 } else { 8 });
    let units = f64::from(compute_units);
    let memory = s.heaps.iter().filter(|h| h.device_local).map(|h| h.size).max().unwrap_or(0) as f64 / GIB;
    let (level_us, dispatch_us, submit_us) = if own_memory { (2.2, 0.16, 35.0) } else { (4.4, 0.32, 50.0) };
    let (wide, flops) = if own_memory { (memory, 0.385e6) } else { (0.0, 0.19e6) };
    Tuning {
        compute_units,
        level_us,
        dispatch_us,
        submit_us,
        bytes_per_us: two_digits(6e3 * units + 24e3 * wide),
        f32_flops_per_us: two_digits(flops * units),
        rounded_flops_per_us: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device_plan::DevicePlan;

    fn h200() -> Snapshot {
        serde_json::from_str(include_str!("../tests/snapshots/h200.json")).expect("a snapshot")
    }

    /// The one GPU whose figures are known shows what the estimate is worth.
    #[test]
    fn the_estimate_of_a_measured_card_is_near_what_was_measured() {
        let (guess, known) = (estimated(&h200()), Target::h200().tuning);
        assert_eq!(guess.compute_units, known.compute_units);
        let pairs = [
            (guess.level_us, known.level_us),
            (guess.dispatch_us, known.dispatch_us),
            (guess.submit_us, known.submit_us),
            (guess.bytes_per_us, known.bytes_per_us),
            (guess.f32_flops_per_us, known.f32_flops_per_us),
        ];
        for (guess, known) in pairs {
            assert!((guess / known - 1.0).abs() < 0.05, "{guess} {known}");
        }
    }

    /// An H100: as many units, 80 GB at 3.0 TB/s.
    #[test]
    fn a_card_nobody_measured_is_estimated_from_its_units_and_its_memory() {
        let mut s = Snapshot { name: "NVIDIA H100 80GB HBM3".into(), ..h200() };
        s.heaps[0].size = 79 << 30;
        let plan = DevicePlan::new(&s).expect("usable");
        assert_eq!((plan.figures.units, plan.figures.rates), (Source::Driver, Source::Estimated));
        let t = &plan.target.tuning;
        assert_eq!((t.compute_units, t.f32_flops_per_us), (132, 51e6));
        assert!((t.bytes_per_us / 3.0e6 - 1.0).abs() < 0.15, "{}", t.bytes_per_us);
    }

    #[test]
    fn without_units_there_is_a_small_number_that_goes_by_the_kind() {
        let of = |kind| {
            let s = Snapshot { compute_units: None, kind, name: "Some GPU".into(), ..h200() };
            let plan = DevicePlan::new(&s).expect("usable");
            assert_eq!(plan.figures.units, Source::Estimated);
            plan.target.tuning
        };
        let (discrete, integrated) = (of(DeviceKind::Discrete), of(DeviceKind::Integrated));
        assert_eq!((discrete.compute_units, integrated.compute_units), (32, 8));
        assert!(integrated.bytes_per_us < discrete.bytes_per_us && integrated.level_us > discrete.level_us);
    }

    #[test]
    fn sources_are_said() {
        let plan = DevicePlan::new(&h200()).expect("usable");
        assert_eq!(plan.figures.to_string(), "units of its profile, rates of its profile");
        let (mut figures, mut tuning) = (plan.figures, plan.target.tuning);
        let given = Figures { level_us: Some(3.0), ..Figures::default() };
        figures.give(&given, &mut tuning).expect("a figure");
        assert!(figures.to_string().ends_with("; given: level_us"), "{figures}");
        assert_eq!(tuning.level_us, 3.0);
        assert!(figures.give(&Figures { level_us: Some(-3.0), ..given }, &mut tuning).is_err());
    }
}
