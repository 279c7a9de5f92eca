//! `ExpertRows`.

use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::ops::elementwise::exact;
use pumice_ir::ops::ExpertRows;

impl Eval for ExpertRows {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let (ids, (dtype, shape)) = (cx.arg(0).as_ints(), cx.out());
        let mut of_expert: Vec<Vec<i64>> = vec![Vec::new(); self.experts as usize + 1];
        for (row, &id) in ids.iter().enumerate() {
            let inside = usize::try_from(id).ok().filter(|&e| e < self.experts as usize);
            of_expert[inside.unwrap_or(self.experts as usize)].push(row as i64);
        }
        let mut before = 0;
        let starts = of_expert.iter().map(|rows| {
            let start = before;
            before += rows.len() as i64;
            start
        });
        let mut all: Vec<i64> = starts.collect();
        all.extend(of_expert.concat());
        vec![Array::ints(dtype, shape, all)]
    }
    exact!();
}
