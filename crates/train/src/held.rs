//! Numbers of a recipe as the device has them: f64 here, f32 there.

/// A number as the device has it, so that what the host computes of it belongs to it.
pub(crate) fn in_f32(number: f64) -> f64 {
    f64::from(number as f32)
}

/// What f32 makes of a number that it does not hold: another one than itself and its neighbours, which is infinite, or
/// 0 where it was not.
pub(crate) fn lost(number: f64) -> Option<f64> {
    let held = in_f32(number);
    let is_lost = number.is_finite() && (held.is_infinite() || (held == 0.0 && number != 0.0));
    is_lost.then_some(held)
}

/// What is wrong with a number that must be in `low..high`, in f64 as in f32.
pub(crate) fn outside(name: &str, number: f64, low: f64, high: f64) -> Option<String> {
    let (range, held) = (low..high, in_f32(number));
    if !range.contains(&number) {
        return Some(format!("{name} is {}, not in {low}..{high}", shown(number)));
    }
    let wrong = !range.contains(&held) || lost(number).is_some();
    wrong.then(|| format!("{name} is {}, which is {held} in f32", shown(number)))
}

/// A number with few digits, be it large or small.
pub(crate) fn shown(number: f64) -> String {
    let many = number != 0.0 && !(1e-5..1e16).contains(&number.abs());
    if many && number.is_finite() { format!("{number:e}") } else { number.to_string() }
}
