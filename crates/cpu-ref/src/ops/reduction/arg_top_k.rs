//! `ArgTopK`: one run of a whole axis.

use super::arg_sort_runs::places;
use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::ops::elementwise::exact;
use pumice_ir::ops::{ArgSortRuns, ArgTopK};

impl Eval for ArgTopK {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let &ArgTopK { axis, largest, index_dtype, .. } = self;
        let (run, sorted, keep, whole) = (i64::MAX, 0, Some(self.k.clone()), true);
        places(cx, &ArgSortRuns { axis, run, sorted, keep, whole, largest, index_dtype })
    }
    exact!();
}
