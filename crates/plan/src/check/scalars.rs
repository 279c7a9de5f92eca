//! Dynamic scalars: a type that the frame holds, a default within the range, and what is added to integers alone.

use super::error::{Fault, Findings};
use crate::plan::{Plan, ScalarSlot};
use pumice_types::DType;

/// Checks every scalar.
pub(super) fn check(plan: &Plan, findings: &mut Findings) {
    for slot in &plan.scalars {
        if let Some(why) = fault(slot) {
            findings.add(Fault::Frame(format!("scalar {}: {why}", slot.name)));
        }
    }
}

fn fault(slot: &ScalarSlot) -> Option<&'static str> {
    let integer = slot.dtype != DType::F32;
    let Some((low, high)) = range(slot) else { return Some("it is neither i32, u32 nor f32") };
    // A float is rounded when it is set, as its bounds are.
    let default = if integer { slot.default } else { f64::from(slot.default as f32) };
    if !(low..=high).contains(&default) {
        return Some("its default is outside its range");
    }
    if integer && slot.default.fract() != 0.0 {
        return Some("its default is no integer");
    }
    (slot.advance.is_some() && !integer).then_some("it advances and is no integer")
}

/// Smallest and largest value that may be set; none for a type that no scalar has.
fn range(slot: &ScalarSlot) -> Option<(f64, f64)> {
    match slot.dtype {
        DType::I32 => Some((slot.min.max(i32::MIN.into()), slot.max.min(i32::MAX.into()))),
        DType::U32 => Some((slot.min.max(0.0), slot.max.min(u32::MAX.into()))),
        DType::F32 => Some((f64::from(slot.min as f32), f64::from(slot.max as f32))),
        _ => None,
    }
}

/// Smallest and largest integer that a scalar is when a replay begins: what is set is compared with its range, and
/// what it advances to is, before the replays are submitted.
pub(super) fn integers(slot: &ScalarSlot) -> (i64, i64) {
    match range(slot) {
        Some((low, high)) if slot.dtype != DType::F32 => (low.ceil() as i64, high.floor() as i64),
        _ => (i64::MIN, i64::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_defaults_and_types_are_laws() {
        let slot = |dtype, min, max, default| ScalarSlot {
            name: "s".to_owned(),
            dtype,
            min,
            max,
            default,
            advance: None,
        };
        assert_eq!(fault(&slot(DType::I32, -4.0, 1e12, 7.0)), None);
        assert_eq!(integers(&slot(DType::I32, -4.0, 1e12, 7.0)), (-4, i64::from(i32::MAX)));
        assert!(fault(&slot(DType::I32, 0.0, 9.0, 0.5)).is_some());
        assert!(fault(&slot(DType::I32, 9.0, 0.0, 4.0)).is_some());
        assert!(fault(&slot(DType::U32, f64::NAN, f64::NAN, f64::NAN)).is_some());
        assert!(fault(&slot(DType::I64, 0.0, 9.0, 4.0)).is_some());
        let advancing = ScalarSlot { advance: Some(1u64.into()), ..slot(DType::F32, 0.0, 1.0, 0.0) };
        assert!(fault(&advancing).is_some());
    }
}
