//! Scatters: which kernel reduces updates of which dtype.

use crate::cx::{LowerCx, LowerResult};
use crate::rows::rounding;
use crate::select::scatter::Group;
use crate::step::StepBuilder;
use crate::unplaced::PlacedView;
use pumice_ir::NodeId;
use pumice_ir::ops::scatter::ScatterReduction;
use pumice_ir::shape::product;
use pumice_plan::kernel::{ArgValue, CallBuilder};
use pumice_plan::kernels::scatter::{ScatterFloats, ScatterListedFloats, ScatterWords, mode};
use pumice_types::{DType, DimExpr};

/// Operands of a scatter, dense, and its result.
pub(super) struct Scatter {
    pub data: PlacedView,
    pub idx: PlacedView,
    pub updates: PlacedView,
    pub y: PlacedView,
    pub reduction: ScatterReduction,
}

/// How indices mean places; see the kernel.
pub(super) struct Indexed {
    pub elements: bool,
    pub along: u32,
    pub parts: u32,
    pub inner: DimExpr,
    pub count: DimExpr,
    pub dims: Vec<DimExpr>,
    pub taken: Vec<DimExpr>,
}

impl Scatter {
    /// Operands and result of a node.
    pub fn of(cx: &mut LowerCx<'_>, id: NodeId, reduction: ScatterReduction) -> LowerResult<Scatter> {
        let node = cx.graph.node(id);
        let data = cx.dense(node.input(0).ok_or("it has no data")?)?;
        let idx = cx.dense(node.input(1).ok_or("it has no indices")?)?;
        let updates = cx.dense(node.input(2).ok_or("it has no updates")?)?;
        let y = cx.result(node.output())?;
        Ok(Scatter { data, idx, updates, y, reduction })
    }

    /// The step, where there is something to write.
    pub fn emit(&self, cx: &mut LowerCx<'_>, id: NodeId, indexed: &Indexed) -> LowerResult {
        let elements = product(&self.y.view.shape);
        if self.y.is_empty() {
            return Ok(());
        }
        let indices = product(&self.idx.view.shape);
        cx.fits_u32(&elements, "the result")?;
        cx.fits_u32(&indices, "the index tensor")?;
        cx.fits_u32(&product(&self.updates.view.shape), "the updates")?;
        if let Some(group) = self.group(cx, indexed) {
            return self.listed(cx, id, indexed, group);
        }
        let number = cx.status_number();
        let mut step = StepBuilder::new();
        let call = ScatterFloats {
            variant: ScatterFloats::plain,
            mode: mode_of(self.reduction),
            wide: u32::from(self.idx.view.dtype.arena_bytes() == 8),
            elements: u32::from(indexed.elements),
            n: cx.arg(&elements),
            indices: cx.arg(&indices),
            count: cx.arg(&indexed.count),
            inner: cx.arg(&indexed.inner),
            parts: ArgValue::U32(indexed.parts),
            along: ArgValue::U32(indexed.along),
            dims: cx.args(&indexed.dims)?,
            taken: cx.args(&indexed.taken)?,
            op: ArgValue::U32(number),
            data: step.read(0, &self.data),
            idx: step.read(1, &self.idx),
            updates: step.read(2, &self.updates),
            y: step.write(&self.y),
            status: step.status(cx, number),
            slots: Vec::new(),
            holes: if self.adds_floats() { rounding(self.data.view.dtype, "epilogue")? } else { Vec::new() },
        };
        let call = self.of_dtype(call.into_call());
        step.dispatch_node(cx, id, call, &elements.max_with(&indices).ceil_div(&DimExpr::constant(256)))
    }

    /// What groups make that list the updates of their places; none where every element looks for itself.
    fn group(&self, cx: &LowerCx<'_>, indexed: &Indexed) -> Option<Group> {
        if indexed.elements || !self.adds_floats() {
            return None;
        }
        let upper = |d: &DimExpr| d.upper(cx.graph.symbols());
        let (places, inner) = (upper(&product(&indexed.dims)), upper(&indexed.inner));
        cx.selection.scatter.group(places, inner, upper(&indexed.count), cx.target)
    }

    /// The step whose groups list.
    fn listed(&self, cx: &mut LowerCx<'_>, id: NodeId, indexed: &Indexed, group: Group) -> LowerResult {
        let number = cx.status_number();
        let mut step = StepBuilder::new();
        let call = ScatterListedFloats {
            variant: ScatterListedFloats::plain,
            mode: mode_of(self.reduction),
            wide: u32::from(self.idx.view.dtype.arena_bytes() == 8),
            rows: group.rows,
            columns: group.columns,
            n: cx.arg(&product(&self.y.view.shape)),
            count: cx.arg(&indexed.count),
            inner: cx.arg(&indexed.inner),
            parts: ArgValue::U32(indexed.parts),
            dims: cx.args(&indexed.dims)?,
            op: ArgValue::U32(number),
            data: step.read(0, &self.data),
            idx: step.read(1, &self.idx),
            updates: step.read(2, &self.updates),
            y: step.write(&self.y),
            status: step.status(cx, number),
            slots: Vec::new(),
            holes: rounding(self.data.view.dtype, "epilogue")?,
        };
        let rows = product(&indexed.dims).ceil_div(&DimExpr::from(u64::from(group.rows)));
        let columns = indexed.inner.ceil_div(&DimExpr::from(u64::from(group.columns)));
        step.dispatch_node(cx, id, call.into_call(), &(rows * columns))
    }

    fn of_dtype(&self, call: CallBuilder) -> CallBuilder {
        match self.adds_floats() {
            true => call,
            false => of_words(call.of(&ScatterWords::DECL, ScatterWords::plain), self.data.view.dtype),
        }
    }

    fn adds_floats(&self) -> bool {
        reduces_floats(self.data.view.dtype, self.reduction)
    }
}

/// Whether floats are computed with; what is moved, and integers, are words.
pub(super) fn reduces_floats(dtype: DType, reduction: ScatterReduction) -> bool {
    dtype.is_float() && reduction != ScatterReduction::Set
}

/// The constants of a kernel of words.
pub(super) fn of_words(call: CallBuilder, dtype: DType) -> CallBuilder {
    let signed = matches!(dtype, DType::I8 | DType::I16 | DType::I32 | DType::I64);
    call.constant("pair", u32::from(dtype.arena_bytes() == 8))
        .constant("signed", u32::from(signed))
        .constant("bits", dtype.bits().min(32))
}

pub(super) fn mode_of(reduction: ScatterReduction) -> u32 {
    match reduction {
        ScatterReduction::Set => mode::SET,
        ScatterReduction::Add => mode::ADD,
        ScatterReduction::Mul => mode::MUL,
        ScatterReduction::Max => mode::MAX,
        ScatterReduction::Min => mode::MIN,
    }
}
