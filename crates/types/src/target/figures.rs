//! Figures of a device in words, and those that a caller gives in their place.

use super::Tuning;
use std::fmt;

/// Figures of a device that a caller knows; where there is none, the device's own stays.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    /// As [`Tuning::compute_units`].
    pub compute_units: Option<u32>,
    /// As [`Tuning::level_us`].
    pub level_us: Option<f64>,
    /// As [`Tuning::dispatch_us`].
    pub dispatch_us: Option<f64>,
    /// As [`Tuning::submit_us`].
    pub submit_us: Option<f64>,
    /// As [`Tuning::bytes_per_us`].
    pub bytes_per_us: Option<f64>,
    /// As [`Tuning::f32_flops_per_us`].
    pub f32_flops_per_us: Option<f64>,
    /// As [`Tuning::rounded_flops_per_us`].
    pub rounded_flops_per_us: Option<f64>,
}

/// A figure that no device can have.
#[derive(Clone, Copy, PartialEq, thiserror::Error)]
#[error("the figure `{name}` is {value}; it must be a number above 0")]
pub struct FigureError {
    /// Which.
    pub name: &'static str,
    /// What it is.
    pub value: f64,
}

crate::debug_as_display!(FigureError);

impl Figures {
    /// Every figure of a device but its compute units: what is measured.
    pub fn rates(tuning: &Tuning) -> Figures {
        Figures {
            compute_units: None,
            level_us: Some(tuning.level_us),
            dispatch_us: Some(tuning.dispatch_us),
            submit_us: Some(tuning.submit_us),
            bytes_per_us: Some(tuning.bytes_per_us),
            f32_flops_per_us: Some(tuning.f32_flops_per_us),
            rounded_flops_per_us: tuning.rounded_flops_per_us,
        }
    }

    fn all(&self) -> [(&'static str, Option<f64>); 7] {
        [
            ("compute_units", self.compute_units.map(f64::from)),
            ("level_us", self.level_us),
            ("dispatch_us", self.dispatch_us),
            ("submit_us", self.submit_us),
            ("bytes_per_us", self.bytes_per_us),
            ("f32_flops_per_us", self.f32_flops_per_us),
            ("rounded_flops_per_us", self.rounded_flops_per_us),
        ]
    }

    /// Whether nothing is left to be measured but compute units.
    pub fn has_every_rate(&self) -> bool {
        let rates = &self.all()[1..6];
        rates.iter().all(|(_, value)| value.is_some())
    }

    /// The names of those that are given.
    pub fn names(&self) -> Vec<&'static str> {
        self.all().into_iter().filter_map(|(name, value)| value.map(|_| name)).collect()
    }

    /// Whether each is a number above 0.
    ///
    /// # Errors
    /// The first that is not.
    pub fn check(&self) -> Result<(), FigureError> {
        let wrong = |value: f64| !(value.is_finite() && value > 0.0);
        let mut given = self.all().into_iter().filter_map(|(name, value)| Some((name, value?)));
        given
            .find(|(_, value)| wrong(*value))
            .map_or(Ok(()), |(name, value)| Err(FigureError { name, value }))
    }

    /// A device's figures with these in their place.
    #[must_use]
    pub fn over(&self, tuning: &Tuning) -> Tuning {
        Tuning {
            compute_units: self.compute_units.unwrap_or(tuning.compute_units),
            level_us: self.level_us.unwrap_or(tuning.level_us),
            dispatch_us: self.dispatch_us.unwrap_or(tuning.dispatch_us),
            submit_us: self.submit_us.unwrap_or(tuning.submit_us),
            bytes_per_us: self.bytes_per_us.unwrap_or(tuning.bytes_per_us),
            f32_flops_per_us: self.f32_flops_per_us.unwrap_or(tuning.f32_flops_per_us),
            rounded_flops_per_us: self.rounded_flops_per_us.or(tuning.rounded_flops_per_us),
        }
    }
}

/// A number with two digits: as exact as a rate is that is measured in milliseconds, so that one card has one.
pub fn two_digits(value: f64) -> f64 {
    format!("{value:.1e}").parse().unwrap_or(value)
}

/// `132 compute units, level 2.2 us, dispatch 0.16 us, submission 35 us, 4.19 TB/s, 50.9 TFLOPS`.
impl fmt::Display for Tuning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = if self.compute_units == 1 { "unit" } else { "units" };
        write!(f, "{} compute {units}, level {} us", self.compute_units, self.level_us)?;
        write!(f, ", dispatch {} us, submission {} us", self.dispatch_us, self.submit_us)?;
        write!(f, ", {}, {} of f32", rate(self.bytes_per_us, "B/s"), rate(self.f32_flops_per_us, "FLOPS"))?;
        match self.rounded_flops_per_us {
            Some(rounded) => write!(f, ", {} of 16 bits", rate(rounded, "FLOPS")),
            None => Ok(()),
        }
    }
}

/// So many a microsecond, in thousands of millions or in millions of millions a second.
fn rate(per_us: f64, unit: &str) -> String {
    // A sum of decimals shows what is not there; four digits are more than any rate has.
    let shown = |value: f64| format!("{value:.3e}").parse().unwrap_or(value);
    if per_us >= 1e6 {
        format!("{} T{unit}", shown(per_us / 1e6))
    } else {
        format!("{} G{unit}", shown(per_us / 1e3))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Target;

    #[test]
    fn given_figures_stand_in_the_place_of_a_devices_own() {
        let own = Target::h200().tuning;
        assert_eq!(Figures::default().over(&own), own);
        assert_eq!(
            Figures::rates(&own).over(&Target::lavapipe().tuning),
            Tuning { compute_units: 2, ..own.clone() }
        );
        let given = Figures { compute_units: Some(64), bytes_per_us: Some(1e6), ..Figures::default() };
        assert_eq!(given.over(&own), Tuning { compute_units: 64, bytes_per_us: 1e6, ..own });
        assert_eq!(given.names(), ["compute_units", "bytes_per_us"]);
        assert!(!given.has_every_rate() && Figures::rates(&Target::h200().tuning).has_every_rate());
        assert_eq!(given.check(), Ok(()));
    }

    #[test]
    fn a_figure_that_no_device_has_is_refused_by_name() {
        for value in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let given = Figures { level_us: Some(2.0), submit_us: Some(value), ..Figures::default() };
            assert_eq!(given.check().expect_err("refused").name, "submit_us");
        }
        let none = Figures { compute_units: Some(0), ..Figures::default() };
        assert!(none.check().expect_err("refused").to_string().contains("`compute_units` is 0"));
    }

    #[test]
    fn figures_are_said_in_words() {
        assert_eq!(
            Target::h200().tuning.to_string(),
            "132 compute units, level 2.2 us, dispatch 0.16 us, submission 35 us, 4.19 TB/s, 50.9 TFLOPS of f32"
        );
        let lavapipe = Target::lavapipe().tuning.to_string();
        assert!(lavapipe.ends_with("24 GB/s, 50 GFLOPS of f32"), "{lavapipe}");
    }

    #[test]
    fn two_digits_are_kept() {
        assert_eq!([4.193e6, 2.249, 0.1604, 35.4].map(two_digits), [4.2e6, 2.2, 0.16, 35.0]);
    }
}
