//! What depends on symbols, tried where the run's ranges end: views stay inside their spans.
//! Grids stay under their stated bounds by intervals.
//!
//! Every combination of smallest and largest symbols is tried, with scalars at their defaults, smallest and largest
//! values; of more than four symbols the two extremes, and choices in many combinations; a combination that the run's
//! own conditions refuse is left out. Extents are sums of products of what is not
//! negative, so what holds at these corners holds between them.

use super::Scope;
use super::error::{Fault, Findings};
use super::expressions::symbols_of;
use super::footprint::ViewElements;
use super::numbers::At;
use super::scalars::integers;
use crate::frame::FrameSlot;
use crate::plan::{Plan, Run};
use crate::region::Span;
use crate::step::{Grid, Step, StepId, StepKind, Use};
use crate::view::View;
use pumice_types::{Bindings, DType, DimExpr, ScalarId, SymbolId, SymbolTable};

/// With more symbols only the two extreme corners are tried, and combinations of choices.
const MOST_SYMBOLS: usize = 4;

/// Bindings at the ends of a run's ranges.
pub(super) struct Corners {
    /// With the scalars' defaults.
    pub defaults: Vec<Bindings>,
    /// With the scalars' smallest and largest values; empty where no scalar is an integer.
    pub extremes: Vec<Bindings>,
    /// Some values between the ends, for what is no sum of products.
    pub inside: Vec<Bindings>,
    /// The symbols within the ranges.
    pub symbols: SymbolTable,
}

impl Corners {
    /// Of a program; no symbol is bound while weights are loaded.
    pub fn of_program(scope: &Scope<'_>) -> Corners {
        let symbols = symbols_of(scope);
        match scope.run {
            Some(run) => Corners::of(scope.plan, run, symbols),
            None => {
                let (extremes, inside) = (Vec::new(), Vec::new());
                Corners { defaults: vec![Bindings::new()], extremes, inside, symbols }
            }
        }
    }

    /// Of a run; combinations that its conditions refuse are left out.
    fn of(plan: &Plan, run: &Run, table: SymbolTable) -> Corners {
        let symbols: Vec<Bindings> = symbol_corners(plan, run);
        let with = |symbols: &[Bindings], value: fn(&crate::plan::ScalarSlot) -> f64| {
            let mut all = symbols.to_vec();
            for b in &mut all {
                for (i, s) in plan.scalars.iter().enumerate().filter(|(_, s)| s.dtype != DType::F32) {
                    b.bind_scalar(ScalarId(i as u32), value(s) as i64);
                }
            }
            all.retain(|b| allowed(run, b));
            all
        };
        let integers = plan.scalars.iter().any(|s| s.dtype != DType::F32);
        let mut extremes = if integers { with(&symbols, |s| s.min) } else { Vec::new() };
        extremes.extend(if integers { with(&symbols, |s| s.max) } else { Vec::new() });
        let inside = with(&inside(plan, run), |s| s.default);
        Corners { defaults: with(&symbols, |s| s.default), extremes, inside, symbols: table }
    }

    /// Where the ranges end.
    pub fn all(&self) -> impl Iterator<Item = &Bindings> {
        self.defaults.iter().chain(&self.extremes)
    }
}

fn symbol_corners(plan: &Plan, run: &Run) -> Vec<Bindings> {
    let mut ends = Vec::new();
    for ((_, s), &(lo, hi)) in plan.symbols.iter().zip(&run.ranges) {
        let step = s.multiple_of.max(1);
        let hi = hi - hi % step;
        let Some(lo) = lo.checked_next_multiple_of(step).filter(|lo| *lo <= hi) else {
            return Vec::new(); // No value in this range is allowed.
        };
        ends.push([lo, hi]);
    }
    let corner = |upper: &dyn Fn(usize) -> bool| {
        let mut b = Bindings::new();
        for (i, pair) in ends.iter().enumerate() {
            b.bind(SymbolId(i as u32), pair[usize::from(upper(i))]);
        }
        b
    };
    if ends.len() <= MOST_SYMBOLS {
        return (0..1u32 << ends.len()).map(|mask| corner(&|i| mask >> i & 1 == 1)).collect();
    }
    let mut corners = vec![corner(&|_| false), corner(&|_| true)];
    let choices: Vec<usize> =
        plan.symbols.iter().filter(|(_, s)| s.found && s.max == 1).map(|(id, _)| id.0 as usize).collect();
    // All combinations of choices that stand beside one another, and of every fourth: one in another is as likely both.
    for (mask, far) in (0..if choices.is_empty() { 0 } else { 1u32 << MOST_SYMBOLS })
        .flat_map(|mask| [(mask, false), (mask, true)])
    {
        corners.push(corner(&|i| match choices.binary_search(&i) {
            Ok(k) => mask >> (if far { k / MOST_SYMBOLS } else { k } % MOST_SYMBOLS) & 1 == 1,
            Err(_) => far,
        }));
    }
    corners
}

/// Values between the ends of the ranges, different ones for different symbols.
fn inside(plan: &Plan, run: &Run) -> Vec<Bindings> {
    const PLACES: [(u64, u64); 3] = [(1, 3), (2, 5), (7, 8)];
    let at = |(part, of): (u64, u64)| {
        let mut b = Bindings::new();
        for (i, ((_, s), &(lo, hi))) in plan.symbols.iter().zip(&run.ranges).enumerate() {
            let step = s.multiple_of.max(1);
            let place = lo + (u128::from(hi.saturating_sub(lo)) * u128::from(part) / u128::from(of)) as u64;
            let value = place.saturating_add(i as u64).min(hi) / step * step;
            b.bind(SymbolId(i as u32), if value < lo { hi / step * step } else { value });
        }
        b
    };
    if plan.symbols.is_empty() { Vec::new() } else { PLACES.map(at).to_vec() }
}

fn allowed(run: &Run, bindings: &Bindings) -> bool {
    run.checks.iter().all(|c| c.value.eval(bindings).is_ok_and(|v| (c.min..=c.max).contains(&v)))
}

/// Checks what of a step depends on symbols.
pub(super) fn check(
    scope: &Scope<'_>,
    corners: &Corners,
    (id, step): (StepId, &Step),
    findings: &mut Findings,
) {
    for (index, u) in step.uses.iter().enumerate() {
        if let Some(fault) = view(index, u, corners) {
            findings.at(id, &step.origin, fault);
        }
    }
    if let (StepKind::Dispatch { grid: Grid::Frame { word, upper }, .. }, Some(run)) = (&step.kind, scope.run)
        && let Some(fault) = grid(scope, run, corners, (word.0, upper))
    {
        findings.at(id, &step.origin, fault);
    }
}

fn view(index: usize, u: &Use, corners: &Corners) -> Option<Fault> {
    let try_one = |bindings: &Bindings| view_at(index, &u.view, u.span, bindings);
    if u.view.is_static() {
        return try_one(&Bindings::new());
    }
    corners.all().find_map(try_one)
}

/// A view that leaves its span at some bindings.
pub(super) fn view_at<'b>(index: usize, view: &View, span: Span, at: impl Into<At<'b>>) -> Option<Fault> {
    match ViewElements::of(view, at).map(|s| s.covered()) {
        Ok((start, end)) if start >= 0 && end <= span.len.0 => None,
        Ok((start, end)) => Some(Fault::View { index, start: start.fixed(), end: end.fixed(), span }),
        Err(why) => {
            Some(Fault::Expression { what: format!("the view of use {index}"), why: why.to_string() })
        }
    }
}

/// Every value that the words of a grid may have is within its stated bound: by their bounds, not at corners.
fn grid(scope: &Scope<'_>, run: &Run, corners: &Corners, (word, upper): (u32, &[u32; 3])) -> Option<Fault> {
    let symbols = &corners.symbols;
    let range = |id: ScalarId| scope.plan.scalars.get(id.0 as usize).map_or((i64::MIN, i64::MAX), integers);
    for (dimension, &limit) in upper.iter().enumerate() {
        let slot = run.frame.words.get(word as usize + dimension)?;
        let (low, high) = match slot {
            FrameSlot::Expr(e) => e.bounds_with(symbols, &range),
            FrameSlot::Bound(s) => DimExpr::symbol(*s).bounds(symbols),
            _ => return Some(Fault::Frame(format!("a grid in word {word}, which is {slot:?}"))),
        };
        if low < 0 {
            let what = format!("grid dimension {dimension}");
            return Some(Fault::Expression { what, why: format!("it may be {low}") });
        }
        if high > i64::from(limit) {
            return Some(Fault::Grid { dimension, groups: high.unsigned_abs(), limit: limit.into() });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::Storage;

    fn covered_by(shape: &[i64], strides: &[i64]) -> Result<(i128, i128), pumice_types::EvalError> {
        let dims = |v: &[i64]| v.iter().map(|&d| DimExpr::constant(d)).collect();
        let (shape, strides, offset) = (dims(shape), dims(strides), DimExpr::constant(3));
        let view = View { dtype: DType::F32, storage: Storage::Arena, shape, strides, offset };
        ViewElements::of(&view, &Bindings::new())
            .map(|s| s.covered())
            .map(|(low, high)| (low.fixed(), high.fixed()))
    }

    #[test]
    fn views_reach_from_their_first_to_their_last_element() {
        assert_eq!(covered_by(&[2, 3], &[8, 1]), Ok((12, 56)));
        assert_eq!(covered_by(&[2, 3], &[8, -1]), Ok((4, 48)));
    }

    #[test]
    fn views_without_elements_reach_nothing_whatever_their_strides_are() {
        assert_eq!(covered_by(&[0, 3], &[8, 1]), Ok((0, 0)));
        let far = [i64::MAX; 4];
        assert_eq!(covered_by(&[i64::MAX, i64::MAX, i64::MAX, 0], &far), Ok((0, 0)));
        let (low, high) = covered_by(&far, &far).expect("a value");
        assert!(low == 12 && high > 1 << 100, "{low} {high}");
    }
}
