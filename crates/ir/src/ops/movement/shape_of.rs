//! Extents as values: `shape`, `size`.

use crate::builder::{GraphBuilder, Value};
use crate::ops::{Concat, Constant, Identity};
use pumice_types::{DType, DimExpr, Tensor};
use std::sync::Arc;

impl GraphBuilder {
    /// The extents of the axes from `start` on and before `end` (ONNX Shape): x\[…\] → i64\[max(end − start, 0)\]. Both
    /// count from the last axis where negative and are clamped to the rank; no `end` is the rank. Extents that are
    /// numbers are a constant.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32, sym};
    /// let g = GraphBuilder::new("g");
    /// let x = g.input("x", f32([sym("n", 1..=64), 8.into()]));
    /// g.output("extents", g.shape(x, 0, None));
    /// assert_eq!(g.build()?.outputs().len(), 1);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn shape(&self, x: Value, start: i64, end: Option<i64>) -> Value {
        let shape = match self.operand_types("shape", &[x]) {
            Ok(types) => types[0].shape.to_vec(),
            Err(mistake) => return mistake,
        };
        let rank = shape.len() as i64;
        let place = |at: i64| (if at < 0 { at.saturating_add(rank) } else { at }).clamp(0, rank) as usize;
        let (start, end) = (place(start), place(end.unwrap_or(rank)));
        let taken = shape.get(start..end).unwrap_or_default();
        if let Some(numbers) = taken.iter().map(DimExpr::as_const).collect::<Option<Vec<i64>>>() {
            return self.numbers("shape", &numbers, &[numbers.len() as u64]);
        }
        let g = self.composition("shape");
        let extents: Vec<Value> =
            (start..end).map(|axis| g.unsqueeze(g.wide_extent(x, axis), &[0])).collect();
        g.last().apply(Concat { axis: 0 }, &extents)
    }

    /// How many elements there are (ONNX Size): x\[…\] → i64\[\]. A constant where all extents are numbers.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32, sym};
    /// let g = GraphBuilder::new("g");
    /// let x = g.input("x", f32([sym("n", 1..=64), 8.into()]));
    /// g.output("elements", g.size(x));
    /// assert_eq!(g.build()?.outputs().len(), 1);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn size(&self, x: Value) -> Value {
        let shape = match self.operand_types("size", &[x]) {
            Ok(types) => types[0].shape.to_vec(),
            Err(mistake) => return mistake,
        };
        let Some(known) = known_product(&shape) else {
            let reason = "it has more than 2^63 - 1 elements".into();
            return self.wrong_call("size", crate::OpError::Invalid(reason));
        };
        let symbolic: Vec<usize> =
            (0..shape.len()).filter(|&axis| shape[axis].as_const().is_none()).collect();
        if symbolic.is_empty() || known == 0 {
            return self.numbers("size", &[known], &[]);
        }
        let g = self.composition("size");
        let factors = symbolic.into_iter().map(|axis| g.wide_extent(x, axis));
        let n = factors.fold(g.numbers("known", &[known], &[]), |n, factor| g.mul(n, factor));
        g.last().apply(Identity {}, &[n])
    }

    /// The extent of an axis as i64\[\].
    #[track_caller]
    fn wide_extent(&self, x: Value, axis: usize) -> Value {
        self.cast(self.extent(x, axis as i64), DType::I64)
    }

    /// A constant of i64.
    #[track_caller]
    fn numbers(&self, method: &'static str, values: &[i64], shape: &[u64]) -> Value {
        match Tensor::new(values, shape) {
            Ok(data) => self.apply_as(method, Constant { data: Arc::new(data) }, &[]),
            Err(e) => self.wrong_call(method, crate::OpError::Invalid(e.to_string())),
        }
    }
}

/// The product of the extents that are numbers; `None` beyond i64.
fn known_product(shape: &[DimExpr]) -> Option<i64> {
    let mut known = shape.iter().filter_map(DimExpr::as_const);
    if known.clone().any(|n| n == 0) {
        return Some(0);
    }
    known.try_fold(1i64, i64::checked_mul)
}
