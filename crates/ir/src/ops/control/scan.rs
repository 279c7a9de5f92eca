//! `scan`: a body over the slices of values, with what each turn leaves to the next and what it gives besides.

use super::counted::{Counted, Turn};
use super::turns::resolved;
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::Infer;
use pumice_types::DimExpr;

/// An axis of a scan, and in which direction turns go along it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScanAxis {
    /// The axis; of an output, of the result that has one more.
    pub axis: i64,
    /// Whether the first turn has the last slice.
    pub reverse: bool,
}

impl ScanAxis {
    /// From the first slice on.
    pub fn forward(axis: i64) -> ScanAxis {
        ScanAxis { axis, reverse: false }
    }

    /// From the last slice on.
    pub fn reverse(axis: i64) -> ScanAxis {
        ScanAxis { axis, reverse: true }
    }
}

/// Attributes of [`scan`](GraphBuilder::scan) (ONNX Scan's axes and directions). By default every axis is the first
/// and every direction forward.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scan {
    /// The axis of each scan input along which it is cut; none where all are the first.
    pub inputs: Vec<ScanAxis>,
    /// The axis of each output along which its rows are stacked; none where all are the first.
    pub outputs: Vec<ScanAxis>,
    /// How many turns there are; by default as many as the scan inputs have slices. A scan without inputs needs it.
    pub length: Option<DimExpr>,
}

/// What a scan returns: what the last turn left, and the outputs of all.
pub(super) type Scanned = (Vec<Value>, Vec<Value>);

impl GraphBuilder {
    /// `(carried, outputs) = body(carried, slices)`, a turn for each slice of the scan inputs; what the last turn left,
    /// and the outputs of all turns, stacked (ONNX Scan; `jax.lax.scan`). Few turns that are known
    /// ([`unroll`](GraphBuilder::unroll)) are built one after the other; of more the body is recorded once
    /// ([`while_`](GraphBuilder::while_)), and a turn writes its outputs into one row of a buffer. Without a turn
    /// carried values are what they were, and outputs have no rows.
    ///
    /// A slice is its input without the axis, an output gets one more. All inputs have one extent along their axes.
    /// Carried values keep their types, and outputs have the same in every turn.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32, sym};
    /// # use pumice_ir::ops::scan::Scan;
    /// let g = GraphBuilder::new("decayed");
    /// let (x, h) = (g.input("x", f32([sym("steps", 0..=2048), 64.into()])), g.input("h", f32([64])));
    /// let turn = |g: &GraphBuilder, [h]: [_; 1], [x]: [_; 1]| {
    ///     let h = g.tanh(g.add(h, x));
    ///     ([h], [g.square(h)])
    /// };
    /// let ([last], [energies]) = g.scan([h], [x], turn, Scan::default());
    /// g.output("last", last);
    /// g.output("energies", energies);
    /// g.build()?;
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn scan<const N: usize, const M: usize, const K: usize>(
        &self,
        carried: [Value; N],
        inputs: [Value; M],
        body: impl Fn(&GraphBuilder, [Value; N], [Value; M]) -> ([Value; N], [Value; K]),
        op: Scan,
    ) -> ([Value; N], [Value; K]) {
        let body = |g: &GraphBuilder, carried: &[Value], slices: &[Value]| {
            let (carried, slices) = (std::array::from_fn(|i| carried[i]), std::array::from_fn(|i| slices[i]));
            let (next, outputs) = body(g, carried, slices);
            (next.to_vec(), outputs.to_vec())
        };
        let (last, outputs) = self.scan_values(&carried, &inputs, body, op);
        (std::array::from_fn(|i| last[i]), std::array::from_fn(|i| outputs[i]))
    }

    /// [`scan`](GraphBuilder::scan) over any number of values; `body` leaves as many as are carried, and gives as many
    /// outputs in every turn.
    #[track_caller]
    pub fn scan_values(
        &self,
        carried: &[Value],
        inputs: &[Value],
        body: impl Fn(&GraphBuilder, &[Value], &[Value]) -> (Vec<Value>, Vec<Value>),
        op: Scan,
    ) -> (Vec<Value>, Vec<Value>) {
        let (turns, axes) = match self.turns_of(inputs, &op) {
            Ok(known) => known,
            Err(mistake) => {
                // Who takes the results apart finds as many as the body gives.
                let of = |values: &[Value]| vec![mistake; values.len()];
                let (_, outputs) = body(self, &of(carried), &of(inputs));
                return (of(carried), of(&outputs));
            }
        };
        let turn = |g: &GraphBuilder, turn: Turn, carried: &[Value]| {
            let slice = |(&x, &axis): (&Value, &(usize, bool))| turn.slice(g, x, axis);
            let slices: Vec<Value> = inputs.iter().zip(&axes).map(slice).collect();
            body(g, carried, &slices)
        };
        self.counted_turns(carried, &turn, &Counted { method: "scan", turns, outputs: &op.outputs })
    }

    /// How many turns there are, and the axes of the inputs.
    #[track_caller]
    fn turns_of(&self, inputs: &[Value], op: &Scan) -> Result<(DimExpr, Vec<(usize, bool)>), Value> {
        let mut known = None;
        let rule = |cx: &Infer<'_>| {
            let types = (0..inputs.len()).map(|i| cx.ty(i)).collect::<Result<Vec<_>, _>>()?;
            let axes = resolved(&op.inputs, "scan inputs", types.iter().map(|ty| ty.rank()))?;
            let extents = types.iter().zip(&axes).map(|(ty, &(axis, _))| &ty.shape[axis]);
            let all: Vec<&DimExpr> = op.length.iter().chain(extents).collect();
            let constant = all.iter().copied().find(|d| d.as_const().is_some());
            let turns = constant.or(all.first().copied()).ok_or_else(|| {
                OpError::Invalid("no scan input says how many turns there are: give a length".to_owned())
            })?;
            for extent in &all {
                cx.equal(turns, extent, "turns of two scan inputs")?;
            }
            cx.at_most(&DimExpr::constant(0), turns, "no turn, and the number of turns")?;
            known = Some((turns.clone(), axes));
            Ok(())
        };
        self.checked_operands("scan", &["inputs*"], inputs, rule)?;
        Ok(known.expect("the rule has accepted them"))
    }
}
