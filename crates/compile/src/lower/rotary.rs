//! Rotary position embedding.

use super::{Lower, LowerResult};
use crate::cx::LowerCx;
use crate::step::StepBuilder;
use crate::unplaced::PlacedView;
use pumice_ir::ops::{Rotary, attention::AttentionLayout};
use pumice_ir::{Node, NodeId, ValueId};
use pumice_plan::Access;
use pumice_plan::kernel::{ArgValue, Bound, CallBuilder, HoleFill};
use pumice_plan::kernels::rotary::{Rotary as Kernel, position, source};
use pumice_types::DimExpr;

/// Batch, sequence, heads of a view in that layout, as (extent, stride).
fn axes(at: &PlacedView, layout: AttentionLayout) -> [(DimExpr, DimExpr); 3] {
    let axis = |i: usize| (at.view.shape[i].clone(), at.view.strides[i].clone());
    match layout {
        AttentionLayout::Bhsd => [axis(0), axis(2), axis(1)],
        AttentionLayout::Bshd => [axis(0), axis(1), axis(2)],
    }
}

impl Lower for Rotary {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let node = cx.graph.node(id);
        let v = node.input(0).ok_or("it has no operand")?;
        let at = cx.at(v)?;
        let readable = at.view.is_words() && at.view.strides[3].is(1);
        let x = if readable { at } else { cx.dense(v)? };
        let y = cx.result(node.output())?;
        if y.is_empty() {
            return Ok(());
        }
        let width = cx.graph.ty(v).shape[3].as_extent().ok_or("the head dimension is symbolic")?;
        let n_rot = self.rotated(width).map_err(|e| e.to_string())?;
        let width = u32::try_from(width).map_err(|_| "the head dimension passes 32 bits")?;
        let positions = Positions::of(cx, node.input(1))?;
        let angles = Angles::of(self, cx, node, n_rot)?;
        let (extents, number) = (axes(&x, self.layout).map(|axis| axis.0), cx.status_number());
        Rotation { op: self, n_rot, extents, width, positions, angles, number }.emit(cx, id, &x, &y)
    }
}

/// Where positions come from.
enum Positions {
    /// There are none: row s is at position s.
    Rows,
    /// The frame knows the first; a use of the frame says so to the meaning.
    FromFrame(DimExpr, PlacedView),
    /// Memory: one for each row, or the first of each batch.
    Stored(PlacedView),
}

impl Positions {
    fn of(cx: &mut LowerCx<'_>, value: Option<ValueId>) -> LowerResult<Positions> {
        let Some(value) = value else { return Ok(Positions::Rows) };
        match cx.scalar_value(value) {
            Some(first) => Ok(Positions::FromFrame(first, cx.at(value)?)),
            None => Ok(Positions::Stored(cx.dense(value)?)),
        }
    }

    /// Whether there is one for every row.
    fn per_row(&self) -> bool {
        matches!(self, Positions::Stored(at) if at.view.shape.len() == 2)
    }

    /// Where the kernel finds them.
    fn source(&self) -> u32 {
        if matches!(self, Positions::Stored(_)) { position::I32 } else { position::BASE }
    }

    /// The first, if the frame knows it.
    fn first(&self) -> Option<&DimExpr> {
        if let Positions::FromFrame(first, _) = self { Some(first) } else { None }
    }

    /// The kernel's operand; one that is not read is `x` again.
    fn bind(&self, step: &mut StepBuilder, x: &Bound) -> Bound {
        match self {
            Positions::Rows => x.unread(),
            Positions::FromFrame(_, at) => {
                step.read(1, at);
                x.unread()
            }
            Positions::Stored(at) => step.read(1, at),
        }
    }
}

/// Where cos and sin come from.
enum Angles {
    /// Tables of them, the rows picked by positions or in their order.
    Tables { cos: PlacedView, sin: PlacedView, by_position: bool },
    /// Computed from turns; factors that they are over already.
    Turns(PlacedView, Option<PlacedView>),
    /// Computed from turns over factors.
    OverFactors(PlacedView, PlacedView),
}

impl Angles {
    fn of(op: &Rotary, cx: &mut LowerCx<'_>, node: &Node, n_rot: u64) -> LowerResult<Angles> {
        match (node.input(2), node.input(3)) {
            (Some(cos), Some(sin)) => {
                let by_position = node.input(1).is_some();
                Ok(Angles::Tables { cos: cx.dense(cos)?, sin: cx.dense(sin)?, by_position })
            }
            _ => Angles::computed(op, cx, node.input(4), n_rot),
        }
    }

    fn computed(
        op: &Rotary,
        cx: &mut LowerCx<'_>,
        factors: Option<ValueId>,
        n_rot: u64,
    ) -> LowerResult<Angles> {
        let Some(factors) = factors else { return Ok(Angles::Turns(turns_table(cx, op, n_rot, &[])?, None)) };
        let data = cx.graph.constant_data(factors).and_then(|data| data.to_vec::<f32>().ok());
        // Others make NaN, which no table of turns holds.
        if let Some(all) = data.filter(|all| all.iter().all(|f| f.is_normal())) {
            let table = turns_table(cx, op, n_rot, &all)?;
            return Ok(Angles::Turns(table, Some(cx.dense(factors)?)));
        }
        Ok(Angles::OverFactors(bases_table(cx, op, n_rot)?, cx.dense(factors)?))
    }

    fn source(&self) -> u32 {
        match self {
            Angles::Tables { by_position: true, .. } => source::TABLE_BY_POSITION,
            Angles::Tables { .. } => source::TABLE_BY_ROW,
            Angles::Turns(..) => source::COMPUTED,
            Angles::OverFactors(..) => source::COMPUTED_OVER_FACTORS,
        }
    }

    /// Rows of the table where positions pick them, the distance of batches in it where they do not.
    fn table(&self) -> DimExpr {
        match self {
            Angles::Tables { cos, by_position, .. } if *by_position || cos.view.shape.len() == 3 => {
                cos.view.shape[cos.view.shape.len() - 2].clone()
            }
            _ => DimExpr::constant(0),
        }
    }

    /// The kernel's operands `cos` and `sin`.
    fn bind(&self, step: &mut StepBuilder, x: &Bound) -> [Bound; 2] {
        match self {
            Angles::Tables { cos, sin, .. } => [step.read(2, cos), step.read(3, sin)],
            Angles::Turns(turns, factors) => {
                let turns = step.touch(turns, Access::ShaderRead);
                [turns, factors.as_ref().map_or(x.unread(), |at| step.read(4, at))]
            }
            Angles::OverFactors(bases, factors) => {
                [step.touch(bases, Access::ShaderRead), step.read(4, factors)]
            }
        }
    }
}

/// A rotation of rows that are not empty.
struct Rotation<'a> {
    op: &'a Rotary,
    /// Elements of a row that are rotated.
    n_rot: u64,
    /// Extents of batch, sequence and heads.
    extents: [DimExpr; 3],
    width: u32,
    positions: Positions,
    angles: Angles,
    /// The op in the status block.
    number: u32,
}

/// The kernel's operands.
struct Operands {
    x: Bound,
    cos: Bound,
    sin: Bound,
    positions: Bound,
    y: Bound,
    status: Bound,
}

impl Rotation<'_> {
    fn emit(&self, cx: &mut LowerCx<'_>, id: NodeId, x: &PlacedView, y: &PlacedView) -> LowerResult {
        let mut step = StepBuilder::new();
        let operands = self.bind(cx, &mut step, x, y);
        let holes = crate::rows::rounding(y.view.dtype, "epilogue")?;
        let call = self.call(cx, operands, holes);
        step.dispatch_node(cx, id, call, &self.groups())
    }

    fn bind(&self, cx: &LowerCx<'_>, step: &mut StepBuilder, x: &PlacedView, y: &PlacedView) -> Operands {
        let strides = |at| axes(at, self.op.layout).map(|axis| axis.1);
        let bound = step.read(0, x).along(strides(x));
        let positions = self.positions.bind(step, &bound);
        let [cos, sin] = self.angles.bind(step, &bound);
        let y = step.write(y).along(strides(y));
        let reports = self.angles.source() == source::TABLE_BY_POSITION;
        let status = if reports { step.status(cx, self.number) } else { step.status_unused(cx) };
        Operands { x: bound, cos, sin, positions, y, status }
    }

    fn call(&self, cx: &mut LowerCx<'_>, operands: Operands, holes: Vec<HoleFill>) -> CallBuilder {
        let [batch, seq, heads] = &self.extents;
        let per_row = self.positions.per_row();
        let pos_batch = if per_row { seq.clone() } else { DimExpr::constant(0) };
        let Operands { x, cos, sin, positions, y, status } = operands;
        let call = Kernel {
            variant: Kernel::plain,
            interleaved: u32::from(self.op.interleaved),
            source: self.angles.source(),
            position: self.positions.source(),
            dim: self.width,
            n_rot: self.n_rot as u32,
            per_row: u32::from(per_row),
            base: self.positions.first().map_or(ArgValue::ZERO, |first| cx.arg(first)),
            batch: cx.arg(batch),
            seq: cx.arg(seq),
            heads: cx.arg(heads),
            pos_batch: cx.arg(&pos_batch),
            table: cx.arg(&self.angles.table()),
            attn: ArgValue::f32(self.op.magnitude),
            op: ArgValue::U32(self.number),
            x,
            cos,
            sin,
            positions,
            y,
            status,
            slots: Vec::new(),
            holes,
        };
        call.into_call()
    }

    /// A thread for each pair that is rotated and for each element that is not.
    fn groups(&self) -> DimExpr {
        let [batch, seq, heads] = &self.extents;
        let pairs = DimExpr::from(u64::from(self.width)) - DimExpr::constant((self.n_rot / 2) as i64);
        (batch * seq * heads * pairs).ceil_div(&DimExpr::constant(256))
    }
}

/// θ^(−2i/n_rot) · freq_scale / 2π: how often pair i turns from one position to the next.
fn turns(op: &Rotary, n_rot: u64, i: u64) -> f64 {
    let exponent = -2.0 * i as f64 / n_rot as f64;
    f64::from(op.theta).powf(exponent) * f64::from(op.freq_scale) / std::f64::consts::TAU
}

/// round(2⁶⁴ · turns / factor) mod 2⁶⁴ for every pair, low word first.
fn turns_table(cx: &mut LowerCx<'_>, op: &Rotary, n_rot: u64, factors: &[f32]) -> LowerResult<PlacedView> {
    let words = (0..n_rot / 2).flat_map(|i| {
        let turns = turns(op, n_rot, i) / factors.get(i as usize).map_or(1.0, |f| f64::from(*f));
        let fraction = turns - turns.floor();
        // 2⁶⁴ · fraction in two halves: an f64 has 53 bits, the rest are zeros.
        let bits = (fraction * 2f64.powi(64)) as u64;
        [bits as u32, (bits >> 32) as u32]
    });
    table(cx, "rotary_turns", words.collect())
}

/// The turns of every pair in four words: 64 bits with the highest set, low word first, the exponent of the two that
/// they are multiplied by, and 1 where they are negative.
fn bases_table(cx: &mut LowerCx<'_>, op: &Rotary, n_rot: u64) -> LowerResult<PlacedView> {
    let words = (0..n_rot / 2).flat_map(|i| {
        let turns = turns(op, n_rot, i);
        let (bits, size) = (turns.to_bits(), turns.abs());
        if !size.is_normal() {
            return [0; 4];
        }
        let mantissa = (bits << 11) | 1 << 63;
        let exponent = (bits >> 52 & 0x7ff) as i32 - 1086;
        [mantissa as u32, (mantissa >> 32) as u32, exponent as u32, u32::from(turns < 0.0)]
    });
    table(cx, "rotary_bases", words.collect())
}

fn table(cx: &mut LowerCx<'_>, name: &str, words: Vec<u32>) -> LowerResult<PlacedView> {
    let data = pumice_types::Tensor::new(&words, &[words.len() as u64]).map_err(|e| e.to_string())?;
    cx.hidden_constant(name, data)
}
