//! Values that several steps write, or one through a view with holes: together the writes fill the value, and no two
//! of them share an element. Tried where the run's ranges end.

use super::Scope;
use super::bounds::Corners;
use super::error::{Fault, Findings};
use super::numbers::{At, Number};
use crate::plan::{PlanValue, Program, VersionOrigin};
use crate::step::{Access, Step, StepId, Use, VersionId};
use crate::view::View;
use pumice_types::DimExpr;
use std::collections::BTreeMap;

/// Above this many runs of contiguous elements only their number is compared.
const MOST_RUNS: u64 = 1 << 16;

/// How the steps so far have written each value that they make.
pub(super) struct Coverage {
    written: Vec<Written>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Written {
    Not,
    /// By one use that says it all.
    Whole,
    InParts,
}

impl Coverage {
    /// Nothing is written.
    pub fn new(scope: &Scope<'_>) -> Coverage {
        Coverage { written: vec![Written::Not; scope.program.values.len()] }
    }

    /// What a step writes.
    pub fn add(&mut self, scope: &Scope<'_>, step: &Step) {
        for (value, u) in writes(scope, step) {
            let written = &mut self.written[u.content.0 as usize];
            let says_all = *written == Written::Not && whole(value, u);
            *written = if says_all { Written::Whole } else { Written::InParts };
        }
    }

    /// Checks the values that are written in parts.
    pub fn check(&self, scope: &Scope<'_>, corners: &Corners, findings: &mut Findings) {
        for (id, uses) in &self.parts(scope) {
            let value = &scope.program.values[id.0 as usize];
            if let Some(why) =
                corners.defaults.iter().find_map(|b| filled_at(scope, value, uses, b.into()).err())
            {
                findings.add(Fault::Coverage { name: scope.name(*id), why });
            }
        }
    }

    /// Values that are written in parts, with the uses that write them.
    pub fn parts(&self, scope: &Scope<'_>) -> BTreeMap<VersionId, Vec<UseAt>> {
        let mut parts: BTreeMap<VersionId, Vec<UseAt>> = BTreeMap::new();
        if !self.written.contains(&Written::InParts) {
            return parts;
        }
        for (step, s) in scope.steps() {
            for (index, u) in s.uses.iter().enumerate().filter(|(_, u)| makes(scope.program, u).is_some()) {
                if self.written[u.content.0 as usize] == Written::InParts {
                    parts.entry(u.content).or_default().push(UseAt { step, index });
                }
            }
        }
        parts
    }
}

/// A use, by its step and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct UseAt {
    pub step: StepId,
    pub index: usize,
}

impl UseAt {
    /// The use; it is there.
    pub fn of(self, program: &Program) -> &Use {
        &program.steps[self.step.0 as usize].uses[self.index]
    }
}

/// The value that a use makes, if it writes one that steps make.
fn makes<'p>(program: &'p Program, u: &Use) -> Option<&'p PlanValue> {
    let writes = matches!(u.access, Access::ShaderWrite | Access::HostWrite);
    let value = &program.values[u.content.0 as usize];
    use VersionOrigin as O;
    let made = matches!(value.origin, O::Step | O::Derived | O::Carried | O::Next(_));
    // What is not written of a state stays.
    let of_state = program.state_of(value.origin).is_some();
    (writes && made && !of_state).then_some(value)
}

/// The uses by which a step writes values that steps make.
fn writes<'p>(scope: &Scope<'p>, step: &'p Step) -> impl Iterator<Item = (&'p PlanValue, &'p Use)> {
    step.uses.iter().filter_map(|u| Some((makes(scope.program, u)?, u)))
}

/// Whether a write of as many elements, row-major and contiguous, says it all.
fn whole(value: &PlanValue, u: &Use) -> bool {
    let elements = |shape: &[DimExpr]| shape.iter().fold(DimExpr::constant(1), |n, d| n * d);
    let same = || *u.view.shape == *value.shape || elements(&u.view.shape) == elements(&value.shape);
    u.span == value.span && u.view.is_dense() && same()
}

/// As [`filled`], by those of the uses whose steps run at these bindings. Where none does, nothing reads the value:
/// `versions` follows that.
pub(super) fn filled_at(
    scope: &Scope<'_>,
    value: &PlanValue,
    uses: &[UseAt],
    bound: At<'_>,
) -> Result<(), String> {
    let mut running = Vec::with_capacity(uses.len());
    for at in uses {
        let when = &scope.program.steps[at.step.0 as usize].when;
        if bound.takes(when).map_err(|e| e.to_string())? {
            running.push(at.of(scope.program));
        }
    }
    if running.is_empty() { Ok(()) } else { filled(value, &running, bound) }
}

/// `Err` says what is missing or written twice.
fn filled(value: &PlanValue, uses: &[&Use], at: At<'_>) -> Result<(), String> {
    let unit = uses[0].view.storage.unit(uses[0].view.dtype);
    if unit.elements != 1 || uses.iter().any(|u| u.view.storage.unit(u.view.dtype) != unit) {
        return Err("its writers see elements of several widths".into());
    }
    let wanted = count(&value.shape, at)?;
    let (mut written, mut pieces) = (Number::from(0), Number::from(0));
    for u in uses {
        let n = count(&u.view.shape, at)?;
        written = written + n;
        pieces = pieces + n.checked_div(contiguous(&u.view, at)?.1).unwrap_or(0.into());
    }
    if written != wanted {
        return Err(format!("{wanted} elements, {written} written"));
    }
    if pieces > MOST_RUNS { Ok(()) } else { each_once(value, uses, unit.bytes, at) }
}

/// Uses that write as many elements as there are write each of them once.
fn each_once(value: &PlanValue, uses: &[&Use], width: u64, at: At<'_>) -> Result<(), String> {
    let mut all = Vec::new();
    for u in uses {
        if count(&u.view.shape, at)? == 0 {
            continue; // Its other extents are no number of pieces: one of 2^44 beside a 0 took as many bytes.
        }
        let first = (u.span.offset - value.span.offset).0 / width;
        runs(&u.view, at, first.into(), &mut all)?;
    }
    all.sort_unstable_by_key(|run| run.0);
    let mut next = Number::from(0);
    for &(start, length) in &all {
        if start != next {
            let what = if start < next { "written twice" } else { "not written" };
            return Err(format!("element {} is {what}", start.min(next)));
        }
        next = start + length;
    }
    Ok(())
}

fn count<'b>(shape: &[DimExpr], at: At<'b>) -> Result<Number<'b>, String> {
    let mut extents = shape.iter().map(|d| at.extent(d).map_err(|e| e.to_string()));
    extents.try_fold(Number::from(1), |all, extent| Ok(all * extent?))
}

/// How many outer axes a view has besides those innermost ones whose elements lie one after the other, and the elements
/// of these.
fn contiguous<'b>(view: &View, at: At<'b>) -> Result<(usize, Number<'b>), String> {
    if view.shape.len() != view.strides.len() {
        return Err(format!("a view of {} extents has {} strides", view.shape.len(), view.strides.len()));
    }
    let (mut outer, mut length) = (view.shape.len(), Number::from(1));
    for (extent, stride) in view.shape.iter().zip(&view.strides).rev() {
        if at.number(stride).map_err(|e| e.to_string())? != length {
            break;
        }
        (outer, length) = (outer - 1, length * at.extent(extent).map_err(|e| e.to_string())?);
    }
    Ok((outer, length))
}

/// The contiguous elements of a view that has some, from element `first` of the value on: where they begin, and how
/// many.
fn runs<'b>(
    view: &View,
    at: At<'b>,
    first: Number<'b>,
    all: &mut Vec<(Number<'b>, Number<'b>)>,
) -> Result<(), String> {
    let number = |e: &DimExpr| at.number(e).map_err(|e| e.to_string());
    let (outer, length) = contiguous(view, at)?;
    let mut starts = vec![first + number(&view.offset)?];
    for (extent, stride) in view.shape[..outer].iter().zip(&view.strides) {
        let (extent, stride) = (number(extent)?.fixed_extent(), number(stride)?);
        starts = starts.iter().flat_map(|s| (0..extent).map(move |i| *s + stride * i)).collect();
    }
    all.extend(starts.into_iter().map(|start| (start, length)));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::region::{RegionKind, Span};
    use crate::view::Storage;
    use pumice_types::{Bindings, Bytes, DType};
    use std::sync::Arc;

    /// A written view of 2^44 rows of nothing made the checker list its rows.
    #[test]
    fn rows_without_elements_are_not_listed() {
        let dims = |d: &[i64]| d.iter().map(|&n| DimExpr::constant(n)).collect::<Vec<_>>();
        let span = Span::new(RegionKind::Scratch, Bytes(0), Bytes(64));
        let used = |shape: &[i64]| {
            let view = Arc::new(View::dense(DType::F32, Storage::Arena, &dims(shape)));
            Use { span, access: Access::ShaderWrite, content: VersionId(0), view }
        };
        let value = PlanValue {
            name: "y".into(),
            origin: VersionOrigin::Step,
            encoding: DType::F32.into(),
            shape: dims(&[16]).into(),
            span,
            live: None,
        };
        let (all, nothing) = (used(&[16]), used(&[1 << 44, 0]));
        let bindings = Bindings::new();
        let at = At::from(&bindings);
        assert_eq!(filled(&value, &[&all, &nothing], at), Ok(()));
        assert!(filled(&value, &[&nothing], at).is_err());
    }
}
