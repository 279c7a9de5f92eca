//! Values inside the last run, read by name, and the search for the first NaN or infinity. Needs a `Bump` plan, whose
//! intermediate values keep their bytes. A debugging aid: it reads every value it looks at.
//!
//! States are not searched: beyond their valid prefix they may hold anything.

use crate::error::{NameKind, RuntimeError};
use crate::session::Session;
use crate::tables::part;
use crate::values::{ValueError, Window, to_f32};
use pumice_plan::{
    Placement, Plan, PlanValue, Program, RegionKind, Span, StepId, Storage, VersionId, VersionOrigin, View,
};
use pumice_types::tensor::unravel;
use pumice_types::{Encoding, Tensor};
use std::fmt;
use std::sync::Arc;

/// The first value of a run that is not a finite number.
#[derive(Clone, Debug, PartialEq)]
pub struct NonFinite {
    /// Name of the value (or input).
    pub value: String,
    /// The step that wrote it; `None` for an input.
    pub step: Option<StepId>,
    /// Names of the nodes that step computes; empty for an input.
    pub origin: String,
    /// Its index, per axis.
    pub index: Vec<u64>,
    /// The number.
    pub number: f32,
}

impl fmt::Display for NonFinite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`{:?} is {}", self.value, self.index, self.number)?;
        match self.step {
            Some(step) => write!(f, ", written by {step} ({})", self.origin),
            None => f.write_str(", an input"),
        }
    }
}

impl Session {
    /// The first value of the last run, inputs first and then in the order of the steps, that holds a NaN or an
    /// infinity. `None` if there is none. An input that was bound since is searched as it is now.
    ///
    /// # Errors
    /// [`RuntimeError::Packed`] for a plan that uses bytes again, [`RuntimeError::NoResults`] where no run
    /// has left any, [`RuntimeError::Device`] where a read fails.
    pub fn find_non_finite(&mut self) -> Result<Option<NonFinite>, RuntimeError> {
        self.search(|v| !v.is_finite())
    }

    /// As `find_non_finite`, for NaN alone: masks hold infinities by right.
    ///
    /// # Errors
    /// As [`Session::find_non_finite`].
    pub fn find_nan(&mut self) -> Result<Option<NonFinite>, RuntimeError> {
        self.search(f32::is_nan)
    }

    /// A value of the last run by its name in the graph.
    ///
    /// # Errors
    /// As [`Session::find_non_finite`], and [`RuntimeError::UnknownName`] for a name that no value of the run
    /// has.
    pub fn read_value(&mut self, name: &str) -> Result<Tensor, RuntimeError> {
        let inner = Arc::clone(&self.inner);
        let program = &inner.plan.runs[self.bump_run()?].program;
        // The last of a name is what the name means at the end of the run.
        let found = program.values.iter().enumerate().rev().find(|(_, v)| *v.name == *name);
        let Some((id, value)) = found else {
            let known = program.values.iter().map(|v| v.name.to_string()).collect();
            return Err(RuntimeError::UnknownName { kind: NameKind::Value, name: name.to_owned(), known });
        };
        let view = view_of(program, VersionId(id as u32), value);
        let (bytes, window) = self.read_view(value.span, &view)?;
        Tensor::from_bytes(value.dtype(), window.shape(), bytes).map_err(|source| {
            let name = name.to_owned();
            RuntimeError::Tensor { kind: NameKind::Value, name, source }
        })
    }

    /// The run of the last results, if intermediate values can be read.
    fn bump_run(&self) -> Result<usize, RuntimeError> {
        match self.inner.plan.placement {
            Placement::Packed => Err(RuntimeError::Packed),
            Placement::Bump => self.results.ok_or(RuntimeError::NoResults),
        }
    }

    fn search(&mut self, bad: impl Fn(f32) -> bool) -> Result<Option<NonFinite>, RuntimeError> {
        let inner = Arc::clone(&self.inner);
        let run = self.bump_run()?;
        match self.search_inputs(&inner.plan, &bad)? {
            None => self.search_steps(&inner.plan.runs[run].program, &bad),
            found => Ok(found),
        }
    }

    /// The first bad number of the inputs that are on the device.
    fn search_inputs(
        &mut self,
        plan: &Plan,
        bad: &impl Fn(f32) -> bool,
    ) -> Result<Option<NonFinite>, RuntimeError> {
        for (slot, i) in plan.inputs.iter().zip(0..).filter(|(s, _)| s.dtype.is_float()) {
            if !self.inputs[i].resident {
                continue;
            }
            let view = View::dense(slot.dtype, Storage::Natural, &slot.shape);
            if let Some((index, number)) = self.first_bad(slot.span, &view, bad)? {
                let (value, origin) = (slot.name.clone(), String::new());
                return Ok(Some(NonFinite { value, step: None, origin, index, number }));
            }
        }
        Ok(None)
    }

    /// The first bad number that a step wrote.
    fn search_steps(
        &mut self,
        program: &Program,
        bad: &impl Fn(f32) -> bool,
    ) -> Result<Option<NonFinite>, RuntimeError> {
        for (s, step) in program.steps.iter().enumerate() {
            for u in step.uses.iter().filter(|u| u.access.writes() && u.view.dtype.is_float()) {
                if !matches!(u.span.region, RegionKind::Scratch | RegionKind::IoIn | RegionKind::IoOut) {
                    continue;
                }
                if let Some((index, number)) = self.first_bad(u.span, &u.view, bad)? {
                    let value = program.value(u.content).map_or_else(String::new, |v| v.name.to_string());
                    let (step, origin) = (Some(StepId(s as u32)), step.origin.to_string());
                    return Ok(Some(NonFinite { value, step, origin, index, number }));
                }
            }
        }
        Ok(None)
    }

    /// The index of the first bad number of a view, and the number.
    fn first_bad(
        &mut self,
        span: Span,
        view: &View,
        bad: impl Fn(f32) -> bool,
    ) -> Result<Option<(Vec<u64>, f32)>, RuntimeError> {
        let (bytes, window) = self.read_view(span, view)?;
        let values = to_f32(view.dtype, &bytes);
        let found = values.iter().position(|&v| bad(v));
        Ok(found.map(|at| (unravel(at as u64, window.shape()), values[at])))
    }

    /// The elements of a view of a span of this session, at the extents of the last run, as natural dense bytes.
    fn read_view(&mut self, span: Span, view: &View) -> Result<(Vec<u8>, Window), RuntimeError> {
        let wrong = |plan: &Plan, e: ValueError| RuntimeError::plan(plan, format!("{span}: {e}"));
        let plan = self.inner.plan.clone();
        let window = Window::of(view, &self.bindings).map_err(|e| wrong(&plan, e))?;
        let range = window.byte_range(span.len.0).map_err(|e| wrong(&plan, e))?;
        let mut bytes = vec![0; (range.end - range.start) as usize];
        if !bytes.is_empty() {
            let span = part(span, range.start, bytes.len() as u64);
            match span.region {
                RegionKind::Weights => self.inner.loaded.read_weights(span, &mut bytes)?,
                _ => self.device.read(span, &mut bytes)?,
            }
        }
        let natural = window.read(&bytes, range.start).map_err(|e| wrong(&plan, e))?;
        Ok((natural, window))
    }
}

/// How a value's bytes are seen: as some step sees them whole, or else dense.
fn view_of(program: &Program, id: VersionId, value: &PlanValue) -> View {
    let whole = |u: &&pumice_plan::Use| {
        u.content == id
            && u.span == value.span
            && *u.view.shape == *value.shape
            && u.view.dtype == value.dtype()
    };
    let uses = program.steps.iter().flat_map(|s| &s.uses);
    uses.filter(whole).map(|u| View::clone(&u.view)).next().unwrap_or_else(|| {
        let natural = match value.origin {
            VersionOrigin::Step => value.span.region != RegionKind::Scratch,
            _ => true,
        };
        let storage = match value.encoding {
            encoding @ (Encoding::Blocks(_) | Encoding::Codes(_)) => Storage::Encoded(encoding),
            Encoding::Plain(_) if natural => Storage::Natural,
            Encoding::Plain(_) => Storage::Arena,
        };
        View::dense(value.dtype(), storage, &value.shape)
    })
}
