//! Products in random programs whose factors are rounded to f16 or bf16: of leaves and of exact values alone, since the
//! last digit of a computed factor may decide to which side it is rounded.

use super::{Garden, Item};
use pumice_ir::Value;
use pumice_ir::ops::conv::Conv;
use pumice_ir::ops::{Linear, MatMul, Rounding};
use pumice_types::{DType, DimExpr};

impl Garden<'_> {
    /// A product of rounded factors, with what a kernel may take in after it.
    pub(super) fn rounded_product(&mut self) -> Option<Item> {
        let x = self.factor();
        let c = self.width(x.value);
        let n = self.pick(if self.large { &[4, 64, 132, 1] } else { &[4, 6, 8, 1] });
        let rounding = self.pick(&[Rounding::F16, Rounding::Bf16]);
        let y = match self.below(4) {
            0 => {
                let w = self.param(&[c, n]);
                self.g.apply(MatMul { rounding, ..MatMul::default() }, &[x.value, w])
            }
            1 => self.convolved_rounded(x.value, rounding)?,
            with_bias => {
                let (w, bias) = (self.weight(&[n, c]), self.param(&[n]));
                let bias = (with_bias == 2).then_some(bias);
                self.g.apply_all(Linear { rounding }, &[Some(x.value), Some(w), bias])[0]
            }
        };
        let y = if self.below(2) == 0 { self.g.relu(y) } else { y };
        Some(self.about(y, 2.0 * x.size))
    }

    /// A value that every device has to the bit.
    fn factor(&mut self) -> Item {
        let exact = self.find(|s, i| {
            let ty = s.ty(i.value);
            i.exact && ty.dtype() == DType::F32 && ty.rank() == 2 && i.size <= 2048.0
        });
        match exact.filter(|_| self.below(2) == 0) {
            Some(item) => item,
            None => {
                let shape =
                    if self.large { [self.pick(&[1, 17, 40]), 64] } else { [self.pick(&[1, 3, 9]), 8] };
                let value = self.param(&shape);
                self.about(value, 1.0)
            }
        }
    }

    /// x\[rows, c\] as rows of two channels, under a window.
    fn convolved_rounded(&mut self, x: Value, rounding: Rounding) -> Option<Value> {
        let (g, c, rows) = (self.g, self.width(x), self.ty(x).shape[0].clone());
        if !c.is_multiple_of(2) {
            return None;
        }
        let seen = g.reshape_to(x, vec![rows.clone(), DimExpr::constant(2), DimExpr::from(c / 2)]);
        let groups = self.pick(&[1, 2]);
        let w = self.param(&[4, 2 / groups, 3]);
        let y = g.conv(seen, w, None, Conv { pads: vec![1, 1], groups, rounding, ..Conv::default() });
        Some(g.reshape_to(y, vec![rows, DimExpr::from(2 * c)]))
    }
}
