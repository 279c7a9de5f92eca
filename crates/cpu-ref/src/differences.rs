//! Slopes of losses along a direction, by Richardson's extrapolation of central differences.
//!
//! In: the losses at any distance along the direction, unrounded. Out: the slope of each, or that it has a kink there.

/// The step with which rounding is no matter and functions of ordinary curvature are smooth; it is halved.
pub const STEP: f64 = 4e-3;
const HALVINGS: usize = 4;

/// A slope, and what rounding may make of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slope {
    /// The derivative along the direction.
    pub value: f64,
    /// How far rounding may take it from there.
    pub noise: f64,
}

/// A loss at two places.
#[derive(Clone, Copy)]
struct Pair {
    h: f64,
    up: f64,
    down: f64,
}

/// The slope of each loss at 0, where they are `at`; none where it does not settle over steps from `step` down to an
/// eighth of it, as at a kink. `losses` gives what they are at a distance.
///
/// # Errors
/// Those of `losses`.
pub fn slopes<E>(
    at: &[f64],
    step: f64,
    mut losses: impl FnMut(f64) -> Result<Vec<f64>, E>,
) -> Result<Vec<Option<Slope>>, E> {
    let mut seen = vec![Vec::new(); at.len()];
    for k in 0..HALVINGS {
        let h = step / f64::from(1u32 << k);
        let (up, down) = (losses(h)?, losses(-h)?);
        for (seen, (up, down)) in seen.iter_mut().zip(up.into_iter().zip(down)) {
            seen.push(Pair { h, up, down });
        }
    }
    let noise = 1e-11 * (STEP / step);
    Ok(seen.iter().zip(at).map(|(pairs, &at)| slope(pairs, at, noise)).collect())
}

/// The slope of one loss; `noise` is rounding's part of the loss over the step.
fn slope(pairs: &[Pair], at: f64, noise: f64) -> Option<Slope> {
    let size = pairs.iter().flat_map(|p| [p.up.abs(), p.down.abs()]).fold(0.0, f64::max);
    let mut rows = vec![pairs.iter().map(|p| (p.up - p.down) / (2.0 * p.h)).collect::<Vec<f64>>()];
    for k in 1..HALVINGS {
        let power = f64::from(4u32.pow(k as u32));
        let last = rows.last()?;
        rows.push(last.windows(2).map(|w| (power * w[1] - w[0]) / (power - 1.0)).collect());
    }
    let (value, before) = (*rows[HALVINGS - 1].last()?, *rows[HALVINGS - 2].last()?);
    let noise = size * noise;
    let settled = (value - before).abs() <= 1e-7 * value.abs().max(size * 1e-3) + noise;
    (value.is_finite() && settled && !bends(pairs, at, size, noise)).then_some(Slope { value, noise })
}

/// Whether the slopes of both sides differ however small the step: a kink is met exactly. What the difference of slopes
/// is at 0 is extrapolated, of c + a·h + b·h³.
fn bends(pairs: &[Pair], at: f64, size: f64, noise: f64) -> bool {
    let bend = |p: &Pair| ((p.up - at) - (at - p.down)) / p.h;
    let [.., wide, middle, narrow] = pairs else { return false };
    let [wide, middle, narrow] = [wide, middle, narrow].map(bend);
    let [first, second] = [2.0 * middle - wide, 2.0 * narrow - middle];
    ((8.0 * second - first) / 7.0).abs() > 1e-7 * size.max(1e-3) + 10.0 * noise
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slope_of(f: impl Fn(f64) -> f64, step: f64) -> Option<Slope> {
        slopes(&[f(0.0)], step, |h| Ok::<_, ()>(vec![f(h)])).expect("no error")[0]
    }

    #[test]
    fn smooth_functions_have_slopes_and_kinks_none() {
        for step in [STEP, STEP / 40.0, STEP / 400.0] {
            let found = slope_of(|x| (x + 0.3).sin().exp(), step).expect("smooth");
            let true_one = 0.3f64.cos() * 0.3f64.sin().exp();
            assert!((found.value - true_one).abs() <= 1e-9 + found.noise, "{found:?}, not {true_one}");
            assert_eq!(slope_of(f64::abs, step), None, "a kink at the place itself");
            let slight = |x: f64| (30.0 * x).sin() + 1e-5 * x.max(0.0);
            assert_eq!(slope_of(slight, step), None, "a slight one beside what curves");
            assert_eq!(slope_of(|x| (x - 0.6 * step).max(0.0), step), None, "a kink within the step");
            assert_eq!(slope_of(|x| (x - 0.1 * step).floor(), step), None, "a jump within the step");
        }
    }
}
