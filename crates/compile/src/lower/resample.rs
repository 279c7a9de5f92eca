//! Elements of one axis or two by tables: words as they are, or floats that are weighted.

use super::Lower;
use super::two_axes::TwoAxes;
use crate::cx::{LowerCx, LowerResult};
use crate::step::StepBuilder;
use crate::unplaced::PlacedView;
use pumice_ir::NodeId;
use pumice_ir::ops::Resample;
use pumice_plan::kernel::{Bound, CallBuilder};
use pumice_plan::kernels::resample::{LINES, ResampleFloats, ResampleWords};

impl Lower for Resample {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let node = cx.graph.node(id);
        let x = cx.dense(node.input(0).ok_or("it has no operand")?)?;
        let mut tables: [Option<PlacedView>; 4] = Default::default();
        for (i, table) in tables.iter_mut().enumerate() {
            *table = node.input(1 + i).map(|value| cx.dense(value)).transpose()?;
            if let Some(table) = table {
                cx.fits_u32(&pumice_ir::shape::product(&table.view.shape), "a table")?;
            }
        }
        let y = cx.result(node.output())?;
        if y.is_empty() {
            return Ok(());
        }
        let axes = self.axes(x.view.shape.len()).map_err(|e| e.to_string())?;
        let of = TwoAxes::of(cx, [&x, &y], &axes)?;
        let mut step = StepBuilder::new();
        let [last, first, last_weights, first_weights] = bound(&mut step, &tables)?;
        let operands = [step.read(0, &x), last, first, step.write(&y)];
        let words = words(cx, &of, axes.len() as u32, operands)?;
        let call = if self.taps == 0 {
            words.into_call()
        } else {
            floats(words, self.taps, last_weights, first_weights)
        };
        step.dispatch_node(cx, id, call, &of.groups(LINES))
    }
}

/// Words that are taken as they are.
fn words(
    cx: &mut LowerCx<'_>,
    of: &TwoAxes,
    axes: u32,
    [x, last, first, y]: [Bound; 4],
) -> LowerResult<ResampleWords> {
    Ok(ResampleWords {
        variant: ResampleWords::plain,
        axes,
        outer: cx.arg(&of.outer),
        axis: cx.args(&of.axis)?,
        mid: cx.arg(&of.mid),
        inner: cx.arg(&of.inner),
        made: cx.args(&of.made)?,
        x,
        last,
        first,
        y,
        slots: Vec::new(),
        holes: Vec::new(),
    })
}

/// The tables as operands: those that are not there are the last axis's again.
fn bound(step: &mut StepBuilder, tables: &[Option<PlacedView>; 4]) -> LowerResult<[Bound; 4]> {
    let own: Vec<Option<Bound>> =
        tables.iter().enumerate().map(|(i, table)| Some(step.read(1 + i, table.as_ref()?))).collect();
    let [last, first, last_weights, first_weights] = &own[..] else { return Err("tables are four".into()) };
    let last = last.as_ref().ok_or("it has no table")?;
    let weights = last_weights.as_ref().unwrap_or(last);
    let again = |own: &Option<Bound>, last: &Bound| own.clone().unwrap_or_else(|| last.unread());
    Ok([last.clone(), again(first, last), weights.clone(), again(first_weights, weights)])
}

/// As words, weighted.
fn floats(of: ResampleWords, taps: i64, last_weights: Bound, first_weights: Bound) -> CallBuilder {
    let ResampleWords { axes, outer, axis, mid, inner, made, x, last, first, y, .. } = of;
    let call = ResampleFloats {
        variant: ResampleFloats::plain,
        axes,
        taps: taps as u32,
        outer,
        axis,
        mid,
        inner,
        made,
        x,
        last,
        first,
        last_weights,
        first_weights,
        y,
        slots: Vec::new(),
        holes: Vec::new(),
    };
    call.into_call()
}
