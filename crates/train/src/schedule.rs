//! Learning rates by the number of updates that were made.

use crate::held::shown;
use std::f64::consts::PI;
use std::fmt;
use std::sync::Arc;

/// A learning rate for each update, by how many were made before it: rises linearly for [`Schedule::warmup`] updates,
/// then has its form until [`Schedule::total`], and stays as it is there. Everything is computed on the host in f64.
#[derive(Clone)]
pub struct Schedule {
    peak: f64,
    warmup: u64,
    total: Option<u64>,
    last: Option<f64>,
    form: Form,
}

/// A rate by the number of updates.
type Rate = Arc<dyn Fn(u64) -> f64 + Send + Sync>;

#[derive(Clone)]
enum Form {
    Constant,
    Linear,
    Cosine,
    Polynomial { power: f64 },
    Step { every: u64, factor: f64 },
    OneCycle,
    Custom(Rate),
}

/// The share of a one-cycle schedule in which rates rise, and what the peak is divided by at its begin and at its end
/// (PyTorch `OneCycleLR`).
const ONE_CYCLE: (f64, f64, f64) = (0.3, 25.0, 1e4 * 25.0);

impl Schedule {
    fn of(peak: f64, form: Form) -> Schedule {
        Schedule { peak, warmup: 0, total: None, last: None, form }
    }

    /// Always this rate, after the warm-up.
    pub fn constant(rate: f64) -> Schedule {
        Schedule::of(rate, Form::Constant)
    }

    /// From `peak` in a line to [`Schedule::last`] at the total.
    pub fn linear(peak: f64) -> Schedule {
        Schedule::of(peak, Form::Linear)
    }

    /// From `peak` along half a cosine to [`Schedule::last`] at the total.
    pub fn cosine(peak: f64) -> Schedule {
        Schedule::of(peak, Form::Cosine)
    }

    /// From `peak` by (1 − n/total) to this power, not below 0, to [`Schedule::last`] at the total.
    pub fn polynomial(peak: f64, power: f64) -> Schedule {
        Schedule::of(peak, Form::Polynomial { power })
    }

    /// `peak`, multiplied by `factor`, not below 0, after every so many updates.
    pub fn step(peak: f64, every: u64, factor: f64) -> Schedule {
        Schedule::of(peak, Form::Step { every, factor })
    }

    /// Along half a cosine from peak / 25 to `peak` in 0.3 of `total` updates, and along another to peak / 250,000
    /// (PyTorch `OneCycleLR`). It has neither a warm-up nor a last rate of one's own.
    pub fn one_cycle(peak: f64, total: u64) -> Schedule {
        Schedule::of(peak, Form::OneCycle).total(total)
    }

    /// Any function of the number of updates that were made before: 0 for the first one.
    pub fn by(rate: impl Fn(u64) -> f64 + Send + Sync + 'static) -> Schedule {
        Schedule::of(1.0, Form::Custom(Arc::new(rate)))
    }

    /// The first so many updates rise in a line: update n, counted from 1, has n / `updates` of the peak, which for a
    /// function of one's own is its first value. The form begins after them.
    #[must_use]
    pub fn warmup(self, updates: u64) -> Schedule {
        Schedule { warmup: updates, ..self }
    }

    /// Updates until the form is at its end, those of the warm-up included. Of a form without an end it is a mistake.
    #[must_use]
    pub fn total(self, updates: u64) -> Schedule {
        Schedule { total: Some(updates), ..self }
    }

    /// The rate at the end of a line, a cosine or a polynomial: 0 if nothing is said. Of other forms it is a mistake.
    #[must_use]
    pub fn last(self, rate: f64) -> Schedule {
        Schedule { last: Some(rate), ..self }
    }

    /// What is wrong with it, if anything is: a form that goes towards an end needs one, after the warm-up.
    pub(crate) fn mistake(&self) -> Option<String> {
        let ends = self.ends();
        if let Some(mistake) = self.mistake_of_form() {
            return Some(mistake);
        }
        match self.total {
            None if ends => return Some(format!("a {self:?} falls towards an end: say `.total(updates)`")),
            Some(total) if total <= self.warmup => {
                let warmup = self.warmup;
                return Some(format!("a {self:?} ends after {total} updates, of which {warmup} warm up"));
            }
            _ => {}
        }
        let first = self.rate(0);
        match self.stated().into_iter().find(|(_, rate)| *rate < 0.0) {
            Some((name, rate)) => Some(format!("{name} of a schedule is {rate}, and must not be below 0")),
            None => (!first.is_finite()).then(|| format!("a {self:?} begins with {first}")),
        }
    }

    /// Whether its form goes towards an end.
    fn ends(&self) -> bool {
        matches!(self.form, Form::Linear | Form::Cosine | Form::Polynomial { .. } | Form::OneCycle)
    }

    /// What is wrong with the numbers of its form, or that the form has no use for what was said.
    fn mistake_of_form(&self) -> Option<String> {
        let number = |name: &str, number: f64| {
            let is_one = number.is_finite() && number >= 0.0;
            (!is_one).then(|| {
                format!("the {name} of a {self:?} is {}, and must be finite and not below 0", shown(number))
            })
        };
        let has_last = self.ends() && !matches!(self.form, Form::OneCycle);
        match self.form {
            _ if self.last.is_some() && !has_last => {
                Some(format!("a {self:?} has no last rate of one's own"))
            }
            _ if self.total.is_some() && !self.ends() => {
                Some(format!("a {self:?} goes towards no end: leave out `.total(updates)`"))
            }
            Form::OneCycle if self.warmup > 0 => {
                Some(format!("a {self:?} rises by itself: leave out the warm-up"))
            }
            Form::Step { every: 0, .. } => {
                Some(format!("a {self:?} changes after every 0 updates: say at least 1"))
            }
            Form::Step { factor, .. } => number("factor", factor),
            Form::Polynomial { power } => number("power", power),
            _ => None,
        }
    }

    /// The rates that it is made of: its peak and what it ends with; of a function of one's own the first one.
    pub(crate) fn stated(&self) -> Vec<(&'static str, f64)> {
        match self.form {
            Form::Custom(_) => vec![("the first rate", self.rate(0))],
            Form::Linear | Form::Cosine | Form::Polynomial { .. } => {
                vec![("the rate", self.peak), ("the last rate", self.last.unwrap_or(0.0))]
            }
            _ => vec![("the rate", self.peak)],
        }
    }

    /// Whether its rates are known as far as anybody asks: a function of one's own may know no more than it needs.
    pub(crate) fn is_known_ahead(&self) -> bool {
        !matches!(self.form, Form::Custom(_))
    }

    /// The rate of the update before which so many were made.
    pub fn rate(&self, updates: u64) -> f64 {
        if updates < self.warmup {
            let peak = if let Form::Custom(rate) = &self.form { rate(0) } else { self.peak };
            return peak * (updates + 1) as f64 / self.warmup as f64;
        }
        let n = updates - self.warmup;
        let total = self.total.map(|total| total.saturating_sub(self.warmup));
        let last = self.last.unwrap_or(0.0);
        let between = |share: f64| last + (self.peak - last) * share;
        match &self.form {
            Form::Constant => self.peak,
            Form::Linear => between(1.0 - passed(n, total)),
            Form::Cosine => between((1.0 + (PI * passed(n, total)).cos()) / 2.0),
            Form::Polynomial { power } => between((1.0 - passed(n, total)).powf(*power)),
            Form::Step { every, factor } => self.peak * factor.powf((n / (*every).max(1)) as f64),
            Form::OneCycle => self.one_cycle_rate(n, total.unwrap_or(0)),
            Form::Custom(rate) => rate(n),
        }
    }

    /// Two halves of cosines, that meet at the peak.
    fn one_cycle_rate(&self, n: u64, total: u64) -> f64 {
        let (share, first, last) = ONE_CYCLE;
        let (n, end) = (n as f64, total.saturating_sub(1) as f64);
        let (n, top) = (n.min(end), (share * total as f64 - 1.0).max(0.0));
        let [first, last] = [self.peak / first, self.peak / last];
        let along = |from: f64, to: f64, at: f64| to + (from - to) / 2.0 * (1.0 + (PI * at).cos());
        if n <= top {
            along(first, self.peak, if top > 0.0 { n / top } else { 1.0 })
        } else {
            along(self.peak, last, (n - top) / (end - top))
        }
    }
}

/// How much of a form has passed: without an end nothing ever.
fn passed(n: u64, total: Option<u64>) -> f64 {
    match total {
        None => 0.0,
        Some(0) => 1.0,
        Some(total) => n.min(total) as f64 / total as f64,
    }
}

impl fmt::Debug for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let form = match &self.form {
            Form::Constant => "constant",
            Form::Linear => "linear",
            Form::Cosine => "cosine",
            Form::Polynomial { .. } => "polynomial",
            Form::Step { .. } => "step",
            Form::OneCycle => "one-cycle",
            Form::Custom(_) => "custom",
        };
        match self.form {
            // Its rates are not these numbers.
            Form::Custom(_) => write!(f, "{form} rate")?,
            _ => write!(f, "{form} rate of {}", shown(self.peak))?,
        }
        if self.warmup > 0 {
            write!(f, " after {} updates of warm-up", self.warmup)?;
        }
        self.total.map_or(Ok(()), |total| write!(f, " over {total} updates"))
    }
}
