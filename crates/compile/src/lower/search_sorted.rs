//! Where values would stand among numbers in order: one step.

use super::Lower;
use super::arg_reduce::key_kind;
use crate::cx::{LowerCx, LowerResult};
use crate::step::StepBuilder;
use pumice_ir::NodeId;
use pumice_ir::ops::SearchSorted;
use pumice_ir::shape::product;
use pumice_plan::kernels::sort::SearchSorted as Kernel;
use pumice_types::DType;

impl Lower for SearchSorted {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let node = cx.graph.node(id);
        let mut operand = |k: usize| cx.dense(node.input(k).ok_or("it lacks an operand")?);
        let (sorted, values) = (operand(0)?, operand(1)?);
        let y = cx.result(node.output())?;
        let (m, n) = (product(&sorted.view.shape), product(&values.view.shape));
        if y.is_empty() {
            return Ok(());
        }
        cx.fits_u32(&m, "what is in order")?;
        cx.fits_u32(&n, "the values")?;
        let mut step = StepBuilder::new();
        let call = Kernel {
            variant: Kernel::plain,
            kind: key_kind(sorted.view.dtype),
            right: u32::from(self.right),
            wide: u32::from(y.view.dtype == DType::I64),
            m: cx.arg(&m),
            n: cx.arg(&n),
            sorted: step.read(0, &sorted),
            values: step.read(1, &values),
            y: step.write(&y),
            slots: Vec::new(),
            holes: Vec::new(),
        };
        step.dispatch_node(cx, id, call.into_call(), &n.ceil_div(&256.into()))
    }
}
