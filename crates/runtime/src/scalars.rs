//! Dynamic scalars on the host: what may be set, the bits the frame gets, and how they advance with the device.
//! Integers are exact; an f32 scalar holds the value rounded to f32.

use crate::error::RuntimeError;
use pumice_plan::{Plan, Run, ScalarSlot};
use pumice_types::{Bindings, DType, ScalarId};
use std::fmt;

/// The value of a dynamic scalar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ScalarValue {
    /// Of an integer scalar.
    Int(i64),
    /// Of an f32 scalar.
    Float(f64),
}

impl ScalarValue {
    /// As a float; exact up to 2⁵³.
    pub fn as_f64(self) -> f64 {
        match self {
            ScalarValue::Int(v) => v as f64,
            ScalarValue::Float(v) => v,
        }
    }

    /// As an integer, if it is one.
    pub fn as_i64(self) -> Option<i64> {
        match self {
            ScalarValue::Int(v) => Some(v),
            ScalarValue::Float(v) => integer(v),
        }
    }
}

/// The integer a float is, if it is one that 64 bits hold.
fn integer(value: f64) -> Option<i64> {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    (value.fract() == 0.0 && (-LIMIT..LIMIT).contains(&value)).then_some(value as i64)
}

macro_rules! from {
    ($($t:ty => $v:ident),*) => {$(
        impl From<$t> for ScalarValue {
            fn from(value: $t) -> ScalarValue {
                ScalarValue::$v(value.into())
            }
        }
    )*};
}
from!(i32 => Int, u32 => Int, i64 => Int, f32 => Float, f64 => Float);

impl fmt::Display for ScalarValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScalarValue::Int(v) => v.fmt(f),
            ScalarValue::Float(v) => v.fmt(f),
        }
    }
}

/// Checks the declarations.
pub(crate) fn check_slots(plan: &Plan) -> Result<(), RuntimeError> {
    for slot in &plan.scalars {
        let wrong = |what: &str| RuntimeError::plan(plan, format!("scalar `{}` {what}", slot.name));
        let integral = matches!(slot.dtype, DType::I32 | DType::U32);
        if !integral && slot.dtype != DType::F32 {
            return Err(wrong("is neither i32, u32 nor f32"));
        }
        if slot.advance.is_some() && !integral {
            return Err(wrong("advances and is no integer"));
        }
        accept(slot, ScalarValue::Float(slot.default))
            .map_err(|e| wrong(&format!("has a bad default: {e}")))?;
    }
    Ok(())
}

/// The values before any was set.
pub(crate) fn defaults(plan: &Plan) -> Result<Vec<ScalarValue>, RuntimeError> {
    plan.scalars.iter().map(|s| accept(s, ScalarValue::Float(s.default))).collect()
}

/// The value as the scalar holds it, if its dtype and range allow.
pub(crate) fn accept(slot: &ScalarSlot, value: ScalarValue) -> Result<ScalarValue, RuntimeError> {
    let held = match (slot.dtype, value) {
        (DType::F32, v) => ScalarValue::Float(f64::from(v.as_f64() as f32)),
        (_, v) => v.as_i64().map(ScalarValue::Int).ok_or_else(|| RuntimeError::ScalarFraction {
            name: slot.name.clone(),
            dtype: slot.dtype,
            value: v.as_f64(),
        })?,
    };
    check(slot, held, 0).map(|()| held)
}

/// Whether the value is in the scalar's range and dtype. NaN is in no range.
pub(crate) fn check(slot: &ScalarSlot, value: ScalarValue, replay: u32) -> Result<(), RuntimeError> {
    let (min, max) = match slot.dtype {
        DType::I32 => (slot.min.max(i32::MIN.into()), slot.max.min(i32::MAX.into())),
        DType::U32 => (slot.min.max(0.0), slot.max.min(u32::MAX.into())),
        // The bounds are rounded as the value was, so that a bound itself can be set.
        _ => (f64::from(slot.min as f32), f64::from(slot.max as f32)),
    };
    let value = value.as_f64();
    if (min..=max).contains(&value) {
        return Ok(());
    }
    Err(RuntimeError::ScalarRange { name: slot.name.clone(), value, replay, min, max })
}

/// The 32 bits the frame holds. The value is in range.
pub(crate) fn bits(value: ScalarValue) -> u32 {
    match value {
        ScalarValue::Int(v) => v as u32,
        ScalarValue::Float(v) => (v as f32).to_bits(),
    }
}

/// Binds the integer scalars.
pub(crate) fn bind(values: &[ScalarValue], bindings: &mut Bindings) {
    for (i, value) in values.iter().enumerate() {
        if let ScalarValue::Int(v) = value {
            bindings.bind_scalar(ScalarId(i as u32), *v);
        }
    }
}

/// Adds to every scalar what the device adds at the end of a replay of a run. `bindings` hold the values before it.
pub(crate) fn advance(
    (plan, run): (&Plan, &Run),
    bindings: &Bindings,
    values: &mut [ScalarValue],
    replay: u32,
) -> Result<(), RuntimeError> {
    for (id, value) in (0..).map(ScalarId).zip(values) {
        if let (Some(by), ScalarValue::Int(v)) = (plan.advance_of(run, id), value) {
            let by = by.eval(bindings).map_err(|source| {
                let slot = &plan.scalars[id.0 as usize];
                let what = format!("the advance of scalar `{}`", slot.name);
                RuntimeError::NoValue { what, source, replay }
            })?;
            *v = v.saturating_add(by);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(dtype: DType, min: f64, max: f64) -> ScalarSlot {
        ScalarSlot { name: "s".into(), dtype, min, max, default: min, advance: None }
    }

    #[test]
    fn ranges_and_types_are_kept() {
        let i = slot(DType::I32, -4.0, 1e12);
        assert_eq!(accept(&i, 7.0f64.into()).ok(), Some(ScalarValue::Int(7)));
        assert!(matches!(accept(&i, 7.5f64.into()), Err(RuntimeError::ScalarFraction { .. })));
        assert!(matches!(accept(&i, (1i64 << 31).into()), Err(RuntimeError::ScalarRange { .. })));
        assert!(accept(&i, i32::MAX.into()).is_ok());
        assert!(matches!(accept(&i, (-5).into()), Err(RuntimeError::ScalarRange { .. })));
        let f = slot(DType::F32, 0.0, 0.1);
        assert_eq!(accept(&f, 0.1f64.into()).ok(), Some(ScalarValue::Float(f64::from(0.1f32))));
        assert!(accept(&f, f64::NAN.into()).is_err());
        assert_eq!(bits(ScalarValue::Int(-1)), u32::MAX);
        assert_eq!(bits(ScalarValue::Float(1.0)), 1f32.to_bits());
    }
}
