//! What is there of a value: how many of its bytes are written, by steps or by the host, and that nothing reads on.
//!
//! A span is sized for the largest extents, and a version is followed by spans. So a value that is as long as was found
//! holds its version to the end of its span, and what lies behind its elements nobody wrote. Laws:
//! - a step reads within the elements of the value that it reads, whatever symbols and scalars are;
//! - an output has no more bytes than its value;
//! - what the load program derives fills its span: runs read it there without knowing its shape.
//!
//! That the elements of a value are written is for `coverage`, that the host writes the spans of params, constants and
//! states to their ends for `interface`.

use super::Scope;
use super::bounds::Corners;
use super::error::{Fault, Findings};
use super::footprint::ViewElements;
use super::numbers::{At, Number};
use crate::plan::{IoSlot, PlanValue, VersionOrigin};
use crate::step::{Access, Step, StepId, StepKind, Use, VersionId};
use crate::view::{Storage, Unit};
use pumice_types::tensor::byte_count;
use pumice_types::{Bindings, DType, DimExpr, EvalError};

/// Of each value of a program, how wide its elements are written.
#[derive(Debug, Default)]
pub(super) struct Written {
    units: Vec<Option<Unit>>,
}

impl Written {
    /// Of a program. Values of one place in a loop are written alike, or as the narrowest.
    pub fn of(scope: &Scope<'_>) -> Written {
        let values = &scope.program.values;
        let mut units: Vec<Option<Unit>> = vec![None; values.len()];
        let writes = scope.program.steps.iter().flat_map(|step| &step.uses);
        for u in writes.filter(|u| matches!(u.access, Access::ShaderWrite | Access::HostWrite)) {
            narrow(&mut units[place(scope, u.content)], u.view.storage.unit(u.view.dtype));
        }
        for (i, v) in values.iter().enumerate() {
            units[i] = unit_of_input(scope, v).or(units[place(scope, VersionId(i as u32))]);
        }
        Written { units }
    }

    /// Bytes of a value that hold it, from its first on; more than its span has where it does not fit.
    fn bytes<'b>(&self, scope: &Scope<'_>, id: VersionId, at: At<'b>) -> Result<Number<'b>, EvalError> {
        let value = &scope.program.values[id.0 as usize];
        let whole = Number::from(value.span.len.0);
        let Some(unit) = self.units[id.0 as usize] else { return Ok(whole) };
        match elements_of(scope, value) {
            Some(shape) if unit.elements == 1 => Ok(count(shape, at)? * unit.bytes),
            Some(shape) => Ok(count(shape, at)?.div_ceil(unit.elements) * unit.bytes),
            None => Ok(whole),
        }
    }

    /// Whether a use of a step reads within what is written at all bindings, as one sees without looking at any.
    pub fn is_within(&self, scope: &Scope<'_>, step: &Step, u: &Use) -> bool {
        let (value, unit) = (&scope.program.values[u.content.0 as usize], self.units[u.content.0 as usize]);
        let (Some(unit), Some(shape)) = (unit, elements_of(scope, value)) else { return true };
        if u.access.writes() {
            return true;
        }
        if shape.iter().all(|d| d.as_const().is_some()) {
            // The span ends where the elements do: `bounds` looks at that.
            let written = self.bytes(scope, u.content, At::from(&Bindings::new())).map(Number::fixed);
            return written.is_ok_and(|written| written >= value.span.len.0.into());
        }
        let same = || u.view.is_dense() && *u.view.shape == *shape;
        let copies = matches!(step.kind, StepKind::Copy);
        !copies && u.span.offset == value.span.offset && u.view.storage.unit(u.view.dtype) == unit && same()
    }

    /// A use that reads behind what is written at some bindings.
    pub fn fault_at(
        &self,
        scope: &Scope<'_>,
        step: &Step,
        (index, u): (usize, &Use),
        at: At<'_>,
    ) -> Option<Fault> {
        let value = &scope.program.values[u.content.0 as usize];
        let covered = match step.kind {
            // A copy takes its span, whatever its view shows.
            StepKind::Copy => Ok(Number::from(u.span.len.0)),
            _ => ViewElements::of(&u.view, at).map(|shown| shown.covered().1),
        };
        let before = i128::from(u.span.offset.0) - i128::from(value.span.offset.0);
        let end = covered.map(|end| if end > 0 { end + before } else { 0.into() });
        match end.and_then(|end| Ok((end, self.bytes(scope, u.content, at)?))) {
            Ok((end, written)) if end <= written => None,
            Ok((end, written)) => {
                let (end, written) = (end.fixed(), written.fixed_extent());
                Some(Fault::Unwritten { index, value: scope.name(u.content), end, written })
            }
            Err(why) => Some(Fault::Expression { what: format!("use {index}"), why: why.to_string() }),
        }
    }

    /// Checks what a step reads.
    pub fn check(
        &self,
        scope: &Scope<'_>,
        corners: &Corners,
        (id, step): (StepId, &Step),
        findings: &mut Findings,
    ) {
        for (index, u) in step.uses.iter().enumerate().filter(|(_, u)| !self.is_within(scope, step, u)) {
            let mut all = corners.all().chain(&corners.inside);
            if let Some(fault) = all.find_map(|at| self.fault_at(scope, step, (index, u), at.into())) {
                findings.at(id, &step.origin, fault);
            }
        }
    }

    /// Checks what the load program derives.
    pub fn check_derived(&self, scope: &Scope<'_>, findings: &mut Findings) {
        for (i, value) in scope.program.values.iter().enumerate() {
            let is_made = value.origin == VersionOrigin::Derived && self.units[i].is_some();
            let nothing = Bindings::new();
            let written = || self.bytes(scope, VersionId(i as u32), At::from(&nothing));
            let fills = || written().is_ok_and(|bytes| bytes.fixed_extent() >= value.span.len.0);
            if is_made && scope.run.is_none() && !fills() {
                let what = format!("derived weight {}", value.name);
                findings.add(Fault::Slot { what, span: value.span, why: "it has fewer bytes than its slot" });
            }
        }
    }

    /// Checks that outputs at their actual extents are there.
    pub fn check_outputs(&self, scope: &Scope<'_>, corners: &Corners, findings: &mut Findings) {
        let Some(run) = scope.run else { return };
        for (slot, id) in scope.outputs().iter().zip(&run.outputs) {
            let mut all = corners.all().chain(&corners.inside);
            if let Some(fault) = all.find_map(|bindings| self.misfit(scope, (slot, *id), bindings.into())) {
                findings.add(fault);
            }
        }
    }

    /// Why an output at its extents under these bindings does not fit the bytes that hold it.
    pub fn misfit(&self, scope: &Scope<'_>, (slot, id): (&IoSlot, VersionId), at: At<'_>) -> Option<Fault> {
        let value = scope.program.value(id)?;
        let extents = slot.shape.iter().map(|d| at.extent(d).ok()).collect::<Option<Vec<Number<'_>>>>();
        let bytes = extents.and_then(|e| bytes_of(slot.dtype, &e));
        let inside = value.span.offset == slot.span.offset && slot.span.contains(&value.span);
        let written = || self.bytes(scope, id, at).unwrap_or(0.into());
        let why = match bytes {
            Some(bytes) if bytes > value.span.len.0 => "it has more bytes than its slot",
            Some(bytes) if bytes > 0 && !inside => "it is not the front of its slot",
            Some(bytes) if bytes > written() => "it has more bytes than its value",
            Some(_) => return None,
            None => "its extents have no value",
        };
        Some(Fault::Slot { what: format!("output {}", slot.name), span: value.span, why })
    }
}

/// The extents that say how much of a value is written; none where it is there to the end of its span.
pub(super) fn elements_of<'p>(scope: &Scope<'p>, value: &'p PlanValue) -> Option<&'p [DimExpr]> {
    use VersionOrigin as O;
    match value.origin {
        O::Input(slot) => scope.plan.inputs.get(slot as usize).map(|s| &*s.shape),
        O::Step | O::Derived | O::Carried => Some(&value.shape),
        O::Next(_) | O::Left(_) if scope.program.state_of(value.origin).is_none() => Some(&value.shape),
        _ => None,
    }
}

/// How wide the host writes the elements of an input; none of any other value.
fn unit_of_input(scope: &Scope<'_>, value: &PlanValue) -> Option<Unit> {
    let VersionOrigin::Input(slot) = value.origin else { return None };
    let dtype = scope.plan.inputs.get(slot as usize).map_or(value.dtype(), |s| s.dtype);
    Some(Storage::Natural.unit(dtype))
}

/// Number of the value whose place a value is in.
fn place(scope: &Scope<'_>, id: VersionId) -> usize {
    match scope.program.values[id.0 as usize].origin {
        VersionOrigin::Next(first) | VersionOrigin::Left(first) => first.0 as usize,
        _ => id.0 as usize,
    }
}

/// Of two widths the narrower.
fn narrow(known: &mut Option<Unit>, unit: Unit) {
    let is_narrower =
        |k: &Unit| unit.bytes.saturating_mul(k.elements) < k.bytes.saturating_mul(unit.elements);
    if known.as_ref().is_none_or(is_narrower) {
        *known = Some(unit);
    }
}

fn count<'b>(shape: &[DimExpr], at: At<'b>) -> Result<Number<'b>, EvalError> {
    shape.iter().try_fold(Number::from(1), |n, d| Ok(n * at.extent(d)?))
}

/// Bytes of a tensor; none where they pass 64 bits.
fn bytes_of<'b>(dtype: DType, extents: &[Number<'b>]) -> Option<Number<'b>> {
    let width = byte_count(dtype, &[]).ok()?;
    let bytes = extents.iter().fold(Number::from(width), |all, extent| all * *extent);
    let most = u64::MAX.into();
    if bytes.is_within(0, most) {
        return Some(bytes);
    }
    if extents.iter().any(|extent| *extent == 0) {
        return Some(0.into());
    }
    (bytes <= most).then_some(bytes)
}
