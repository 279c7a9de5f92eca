//! The slope of a function of one number in f64, at kinks and infinities too.
//!
//! In: a function of ordinary size and a place. Out: its derivative there. A smooth function has that of central
//! differences. Where the slopes of both sides differ, or the function jumps, it is that of the side which goes on from
//! the value at the place: who defined the function there has chosen it. Where both sides do, it is that of the left
//! one (OPS 3.12: Elu, Celu, Selu), but 0 where one is the other's negative (Abs); at a pole that of the right one.

/// Steps of a place of ordinary size, the next one where one does not settle; and what is settled.
const STEPS: [f64; 5] = [1e-3, 1e-4, 1e-5, 1e-6, 1e-7];
const SETTLED: f64 = 1e-8;
/// What two sides may differ by, in their slopes and in what they lead to: relative, and regardless.
const EQUAL: f64 = 1e-5;
const CLOSE: f64 = 1e-7;
/// Powers of the step grow or fall by at least this over the last two steps.
const POWER: f64 = 3.0;
/// What a function grows by over the last step at least, of its size or of 1, where its slope has no bound. Less is
/// what is left of a derivative that was made of differences itself.
const NOISE: f64 = 2.0 * SETTLED;
/// Stands for infinity, where differences have a step.
const FAR: f64 = 1e150;

/// What a slope is at a kink.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Slope {
    /// Both sides say the same.
    Smooth(f64),
    /// They do not.
    Kink(f64),
}

/// The slope of `f` at a place; none where it has no value there.
pub(crate) fn slope(f: impl Fn(f64) -> f64, place: f64) -> Option<Slope> {
    let at = f(place);
    if at.is_nan() || place.is_nan() {
        return None;
    }
    if place.is_infinite() {
        return at_infinity(f, place.signum()).map(Slope::Smooth);
    }
    let size = place.abs().max(1.0);
    let scale = if at.is_finite() { at.abs() } else { 0.0 };
    let from = |by: f64| f(place + by);
    let [left, right] = [-size, size].map(|step| Side::of(from, step, scale));
    if let (Some(left), Some(right)) = (left, right)
        && is_equal(left.slope, right.slope)
    {
        let goes_on = left.leads_to(at) && right.leads_to(at);
        let slope = if goes_on { central(from, size, scale) } else { Some(left.slope) };
        return slope.map(Slope::Smooth);
    }
    let [left, right] = [left, right].map(|side| side.filter(|side| side.leads_to(at)));
    match (left, right) {
        (Some(left), Some(right)) if is_equal(left.slope, -right.slope) && at.is_finite() => Some(0.0),
        (_, Some(right)) if at.is_infinite() => Some(right.slope),
        (left, right) => left.or(right).map(|side| side.slope).or_else(|| central(from, size, scale)),
    }
    .map(Slope::Kink)
}

/// One side of a place.
#[derive(Clone, Copy, Debug)]
struct Side {
    slope: f64,
    /// What the function comes to at the place.
    limit: f64,
}

impl Side {
    /// From differences between places on that side alone, by the widest of the steps that settles.
    fn of(from: impl Fn(f64) -> f64, step: f64, size: f64) -> Option<Side> {
        let tried = STEPS.map(|part| Differences::between(&from, part * step));
        let settled = tried.iter().find(|d| is_settled(d.first, d.second, size));
        settled.map(Differences::side).or_else(|| Side::of_power(&tried, size))
    }

    /// The slope of a power of the step, which falls to 0 or grows beyond every bound.
    fn of_power(tried: &[Differences], size: f64) -> Option<Side> {
        let [.., wide, _, narrow] = tried else { return None };
        let slope = power(wide.second, narrow.second)?;
        let goes_on = |pair: &[Differences]| power_goes_on(slope, pair[0].second, pair[1].second);
        let seen = (narrow.second * narrow.by).abs() > NOISE * narrow.nearest.abs().max(size).max(1.0);
        if !tried.windows(2).all(goes_on) || slope.is_infinite() && !seen {
            return None;
        }
        let limit = power(wide.nearest, narrow.nearest).unwrap_or(narrow.nearest);
        Some(Side { slope, limit })
    }

    fn leads_to(&self, at: f64) -> bool {
        is_equal(self.limit, at)
    }
}

/// Extrapolated differences of one side.
struct Differences {
    first: f64,
    second: f64,
    /// The value nearest to the place, and how far it is.
    nearest: f64,
    by: f64,
}

impl Differences {
    fn between(from: impl Fn(f64) -> f64, h: f64) -> Differences {
        let at = [2.0 * h, h, h / 2.0, h / 4.0].map(from);
        let between = [0, 1, 2].map(|k| difference(at[k], at[k + 1]) / (h / f64::from(1u32 << k)));
        let [first, second] = [0, 1].map(|k| 2.0 * between[k + 1] - between[k]);
        Differences { first, second, nearest: at[3], by: h / 4.0 }
    }

    fn side(&self) -> Side {
        let slope = (4.0 * self.second - self.first) / 3.0;
        Side { slope, limit: self.nearest - slope * self.by }
    }
}

/// What a power of the step comes to, of which these are two values: 0 or infinity.
fn power(wide: f64, narrow: f64) -> Option<f64> {
    if narrow.abs() * POWER <= wide.abs() {
        Some(0.0)
    } else if narrow.abs() >= POWER * wide.abs() {
        Some(f64::INFINITY.copysign(narrow))
    } else {
        None
    }
}

/// Whether a slope that comes to 0 falls from a step to the next, or one that comes to infinity grows.
fn power_goes_on(slope: f64, wide: f64, narrow: f64) -> bool {
    if slope == 0.0 { narrow.abs() <= wide.abs() } else { narrow.abs() >= wide.abs() }
}

/// By the widest of the steps that settles.
fn central(from: impl Fn(f64) -> f64, place: f64, size: f64) -> Option<f64> {
    let mut widest = None;
    for h in STEPS.map(|step| step * place) {
        let [first, second, third] = [h, h / 2.0, h / 4.0].map(|h| difference(from(h), from(-h)) / (2.0 * h));
        let [a, b] = [(4.0 * second - first) / 3.0, (4.0 * third - second) / 3.0];
        let slope = (16.0 * b - a) / 15.0;
        if is_settled(a, b, size) {
            return Some(slope);
        }
        widest = widest.or(Some(slope));
    }
    widest
}

/// What the slope comes to far away: beyond every bound where the function does so at once.
fn at_infinity(f: impl Fn(f64) -> f64, sign: f64) -> Option<f64> {
    let far = f(sign * FAR);
    let grows = far.is_infinite() && f(sign) != far;
    if grows { Some(sign * far) } else { central(|by| f(sign * FAR + by), FAR, 0.0) }
}

/// 0 between equal infinities.
fn difference(x: f64, y: f64) -> f64 {
    if x == y { 0.0 } else { x - y }
}

fn is_settled(a: f64, b: f64, size: f64) -> bool {
    (a - b).abs() <= SETTLED * a.abs().max(b.abs()).max(size)
}

fn is_equal(x: f64, y: f64) -> bool {
    let close = (EQUAL * x.abs().max(y.abs())).max(CLOSE);
    x == y || x.is_finite() && y.is_finite() && (x - y).abs() <= close
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(f: impl Fn(f64) -> f64, place: f64) -> f64 {
        match slope(f, place).expect("a value") {
            Slope::Smooth(slope) | Slope::Kink(slope) => slope,
        }
    }

    #[test]
    fn a_kink_is_that_of_the_side_which_has_the_value() {
        let step = |x: f64| if x > 0.0 { 1.0 + 5.0 * x } else { 3.0 * x };
        assert!((found(step, 0.0) - 3.0).abs() < 1e-7, "the left one");
        assert!((found(|x| 1.0 - step(-x), 0.0) - 3.0).abs() < 1e-7, "the right one");
        assert!((found(|x: f64| x.exp().min(1.0), 0.0) - 1.0).abs() < 1e-7, "both: the left one");
        assert_eq!(found(|x: f64| 1.0 - x.abs(), 0.0), 0.0, "of an absolute value");
        assert_eq!(found(f64::signum, 0.0), 0.0, "level on both sides of a jump");
        assert!((found(|x: f64| x.sin().max(0.0), 0.4) - 0.4f64.cos()).abs() < 1e-9, "beside one");
    }

    /// A derivative that was made of differences is rough in its last digits, which is no slope without bound.
    #[test]
    fn slopes_of_slopes_are_finite() {
        let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
        let first = |x: f64| sigmoid(x) * (1.0 - sigmoid(x));
        for k in -4000..4000i32 {
            let x = f64::from(k) * 1.7e-3;
            let (s, third) = (sigmoid(x), found(|x| found(first, x), x));
            let exact = s * (1.0 - s) * (1.0 - 6.0 * s + 6.0 * s * s);
            assert!((third - exact).abs() < 2e-6, "{x}: {third}, not {exact}");
        }
    }

    #[test]
    fn ends_poles_and_infinities() {
        assert_eq!(found(|x| x.powf(1.5), 0.0), 0.0);
        assert_eq!(found(f64::sqrt, 0.0), f64::INFINITY);
        assert_eq!(found(|x| 1.0 / x, 0.0), f64::NEG_INFINITY);
        assert_eq!(found(|x| 1.0 / (1.0 + (-x).exp()), f64::NEG_INFINITY), 0.0);
        assert_eq!(found(f64::exp, f64::INFINITY), f64::INFINITY);
        assert!((found(|x| 2.0 * x, f64::INFINITY) - 2.0).abs() < 1e-9);
    }
}
