//! `Slice`.

use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::index::{offsets, strides};
use crate::ops::elementwise::exact;
use pumice_ir::ops::Slice;
use pumice_types::{Bindings, DimExpr, SymbolTable};

impl Eval for Slice {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let x = cx.arg(0);
        let mut walk = strides(&x.shape);
        let mut first = 0;
        let actual: Vec<DimExpr> = x.shape.iter().map(|&d| d.into()).collect();
        let ranges = bound(self, cx.bindings).ranges(&actual, &SymbolTable::default());
        for range in ranges.expect("inference has accepted the ranges") {
            let start = range.start.as_const().expect("all extents are constants here");
            first += start * walk[range.axis];
            walk[range.axis] = walk[range.axis].saturating_mul(range.step);
        }
        let (_, shape) = cx.out();
        let from = offsets(shape, &walk, first);
        vec![x.gathered(shape, |i| from[i])]
    }
    exact!();
}

/// The op with its expressions evaluated.
fn bound(op: &Slice, bindings: &Bindings) -> Slice {
    let known = |list: &[DimExpr]| {
        list.iter().map(|e| e.eval(bindings).map_or_else(|_| e.clone(), DimExpr::constant)).collect()
    };
    Slice { starts: known(&op.starts), ends: known(&op.ends), ..op.clone() }
}
