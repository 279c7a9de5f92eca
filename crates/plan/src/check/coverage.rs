//! Values that several steps write, or one through a view with holes: together the writes fill the value, and no two
//! of them share an element. Tried where the run's ranges end.

use super::Scope;
use super::bounds::Corners;
use super::error::{Fault, Findings};
use crate::plan::{ContentOrigin, PlanValue};
use crate::step::{Access, ContentId, Step, Use, View};
use pumice_types::{Bindings, DimExpr};
use std::collections::BTreeMap;
use std::ops::Range;

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
        if !self.written.contains(&Written::InParts) {
            return;
        }
        let mut parts: BTreeMap<ContentId, Vec<&Use>> = BTreeMap::new();
        for (_, u) in scope.program.steps.iter().flat_map(|step| writes(scope, step)) {
            if self.written[u.content.0 as usize] == Written::InParts {
                parts.entry(u.content).or_default().push(u);
            }
        }
        for (id, uses) in parts {
            let value = &scope.program.values[id.0 as usize];
            if let Some(why) = corners.defaults.iter().find_map(|b| filled(value, &uses, b).err()) {
                findings.add(Fault::Coverage { name: scope.name(id), why });
            }
        }
    }
}

/// The uses by which a step writes values that steps make.
fn writes<'p>(scope: &Scope<'p>, step: &'p Step) -> impl Iterator<Item = (&'p PlanValue, &'p Use)> {
    let program = scope.program;
    let uses = step.uses.iter().filter(|u| matches!(u.access, Access::ShaderWrite | Access::HostWrite));
    let of = uses.map(|u| (&program.values[u.content.0 as usize], u));
    of.filter(|(v, _)| matches!(v.origin, ContentOrigin::Step | ContentOrigin::Derived))
}

/// Whether a write of as many elements, row-major and contiguous, says it all.
fn whole(value: &PlanValue, u: &Use) -> bool {
    let elements = |shape: &[DimExpr]| shape.iter().fold(DimExpr::constant(1), |n, d| n * d);
    let same = || *u.view.shape == *value.shape || elements(&u.view.shape) == elements(&value.shape);
    u.span == value.span && u.view.is_dense() && same()
}

/// `Err` says what is missing or written twice.
fn filled(value: &PlanValue, uses: &[&Use], bindings: &Bindings) -> Result<(), String> {
    let unit = uses[0].view.storage.unit(uses[0].view.dtype);
    if unit.elements != 1 || uses.iter().any(|u| u.view.storage.unit(u.view.dtype) != unit) {
        return Err("its writers see elements of several widths".into());
    }
    let width = unit.bytes;
    let wanted = count(&value.shape, bindings)?;
    let mut written = 0u64;
    let mut pieces = 0u64;
    for u in uses {
        let n = count(&u.view.shape, bindings)?;
        written = written.saturating_add(n);
        pieces = pieces.saturating_add(n / inner(&u.view, bindings)?.max(1));
    }
    if written != wanted {
        return Err(format!("{wanted} elements, {written} written"));
    }
    if pieces > MOST_RUNS {
        return Ok(());
    }
    let mut all = Vec::new();
    for u in uses {
        let first = (u.span.offset - value.span.offset).0 / width;
        runs(&u.view, bindings, i128::from(first), &mut all)?;
    }
    all.sort_unstable_by_key(|r| r.start);
    let mut next = 0;
    for run in all.iter().filter(|r| !r.is_empty()) {
        if run.start != next {
            let what = if run.start < next { "written twice" } else { "not written" };
            return Err(format!("element {} is {what}", run.start.min(next)));
        }
        next = run.end;
    }
    Ok(())
}

fn count(shape: &[DimExpr], bindings: &Bindings) -> Result<u64, String> {
    let extents = shape.iter().map(|d| d.eval_extent(bindings).map_err(|e| e.to_string()));
    extents.collect::<Result<Vec<u64>, _>>().map(|e| e.into_iter().fold(1, u64::saturating_mul))
}

/// Elements of the innermost axis, where they are contiguous.
fn inner(view: &View, bindings: &Bindings) -> Result<u64, String> {
    match (view.shape.last(), view.strides.last()) {
        (Some(extent), Some(stride)) if stride.is(1) => {
            extent.eval_extent(bindings).map_err(|e| e.to_string())
        }
        _ => Ok(1),
    }
}

/// The contiguous elements of a view, from element `first` of the value on.
fn runs(view: &View, bindings: &Bindings, first: i128, all: &mut Vec<Range<i128>>) -> Result<(), String> {
    let eval = |e: &DimExpr| e.eval(bindings).map(i128::from).map_err(|e| e.to_string());
    let length = inner(view, bindings)?;
    let contiguous = view.strides.last().is_some_and(|s| s.is(1));
    let outer = view.shape.len() - usize::from(contiguous);
    let mut starts = vec![first + eval(&view.offset)?];
    for (extent, stride) in view.shape[..outer].iter().zip(&view.strides) {
        let (extent, stride) = (eval(extent)?, eval(stride)?);
        starts = starts.iter().flat_map(|s| (0..extent).map(move |i| s + i * stride)).collect();
    }
    all.extend(starts.into_iter().map(|s| s..s + i128::from(length)));
    Ok(())
}
