//! Nodes of random programs that sum: reductions, products, norms.

use super::{Garden, Item};
use pumice_ir::ops::glu::{GluAct, GluPacking};
use pumice_ir::ops::{LayerNorm, NormGrad, NormSums, RmsNorm};
use pumice_types::DType;

impl Garden<'_> {
    pub(super) fn reduced(&mut self) -> Option<Item> {
        let g = self.g;
        if self.below(4) == 0 {
            return self.reduced_exactly();
        }
        let x = self.real();
        let rank = self.ty(x.value).rank() as i64;
        let axis = if rank > 1 && self.below(3) == 0 { rank - 2 } else { -1 };
        let keep = axis == -1;
        let (value, size) = match self.below(6) {
            0 | 1 => (g.reduce_sum(x.value, &[axis], keep), 4.0 * x.size),
            2 => (g.reduce_mean(x.value, &[axis], keep), x.size),
            3 => (g.reduce_max(x.value, &[axis], keep), x.size),
            4 => (g.reduce_min(x.value, &[axis], keep), x.size),
            _ => (g.reduce_prod(g.tanh(x.value), &[axis], keep), 1.0),
        };
        Some(self.about(value, size))
    }

    /// Of integers, which wrap, and the places of the largest and the smallest.
    fn reduced_exactly(&mut self) -> Option<Item> {
        let g = self.g;
        let number = |t: DType| t != DType::Bool;
        let x = self.find(|s, i| i.exact && s.ty(i.value).rank() > 0 && number(s.ty(i.value).dtype()))?;
        let dtype = self.ty(x.value).dtype();
        let value = match self.below(6) {
            0 => g.arg_max(x.value, -1, true),
            1 => g.arg_max_i32(x.value, -1, true),
            2 => g.arg_min(x.value, -1, true),
            3 => g.arg_min_i32(x.value, -1, true),
            4 => g.reduce_max(x.value, &[-1], true),
            _ if dtype.is_float() => g.reduce_min(x.value, &[-1], true),
            _ => g.reduce_sum(x.value, &[-1], true),
        };
        Some(self.exact(value, x.size.max(100.0)))
    }

    pub(super) fn row_op(&mut self) -> Option<Item> {
        let g = self.g;
        let x = self.real();
        let c = self.width(x.value);
        let (value, size) = match self.below(6) {
            0 => (g.softmax(x.value, -1), 1.0),
            1 => (g.log_softmax(x.value, -1), 5.0),
            2 => {
                let (gamma, beta) = (self.param(&[c]), self.param(&[c]));
                let spread = self.spread(x, c);
                (g.layer_norm(spread, gamma, (self.below(2) == 0).then_some(beta), 1e-5), 4.0)
            }
            3 => {
                let (spread, gamma) = (self.spread(x, c), self.param(&[c]));
                (g.rms_norm(spread, gamma, 1e-5), 4.0)
            }
            4 => return Some(self.norm_gradient(x, c)),
            _ if self.ty(x.value).rank() > 1 => (g.softmax(x.value, -2), 1.0),
            _ => (g.softmax(x.value, 0), 1.0),
        };
        Some(self.about(value, size))
    }

    /// What the gradient of a norm is made of, with an ε that keeps it from growing.
    fn norm_gradient(&mut self, x: Item, c: u64) -> Item {
        let g = self.g;
        let (dy, factor) = (g.tanh(x.value), self.param(&[c]));
        if self.below(2) == 0 {
            let op = NormSums { axis: -1, of: -1, run: 3 };
            let (turned, plain) = g.norm_sums(x.value, dy, factor, Some(self.param(&[c])), op);
            return self.about(g.add(turned, plain), 3.0 * x.size + 9.0);
        }
        let op = NormGrad { centred: self.below(2) == 0, epsilon: 1.0, ..NormGrad::default() };
        let spread = self.spread(x, c);
        self.about(g.norm_grad(spread, dy, Some(factor), op)[0], 20.0)
    }

    /// x with something added that differs from column to column: a norm of equal numbers magnifies last digits.
    fn spread(&mut self, x: Item, c: u64) -> pumice_ir::Value {
        let p = self.param(&[c]);
        self.g.add(x.value, p)
    }

    pub(super) fn product(&mut self) -> Option<Item> {
        let g = self.g;
        let x = self.real();
        let (c, rank) = (self.width(x.value), self.ty(x.value).rank());
        let widths = if self.large { [4, 64, 132, 1] } else { [4, 6, 8, 1] };
        let n = self.pick(&widths);
        if self.below(8) == 0 {
            return self.stretched_product();
        }
        let value = match self.below(6) {
            0 => {
                let w = self.param(&[c, n]);
                g.matmul(x.value, w)
            }
            1 => {
                let (w, b) = (self.weight(&[n, c]), self.param(&[n]));
                g.linear(x.value, w, Some(b))
            }
            2 => {
                let w = self.weight(&[n, c]);
                g.linear(x.value, w, None)
            }
            3 => {
                let w = self.param(&[n, c]);
                g.matmul(x.value, g.transpose(w, &[1, 0]))
            }
            4 => {
                // Two of one operand, for the pass that merges them.
                let (v, w) = (self.weight(&[4, c]), self.weight(&[4, c]));
                let q = g.linear(x.value, v, None);
                self.keep(Item { value: q, size: 2.0 * x.size, exact: false });
                g.linear(x.value, w, None)
            }
            _ if rank >= 2 => {
                let mut perm: Vec<i64> = (0..rank as i64).collect();
                perm.swap(rank - 1, rank - 2);
                let scores = g.matmul(x.value, g.transpose(x.value, &perm));
                g.matmul(g.softmax(scores, -1), x.value)
            }
            _ => return None,
        };
        Some(self.about(value, 2.0 * x.size))
    }

    /// A product of params with three or four batch axes, each operand stretched along some, with something after it.
    fn stretched_product(&mut self) -> Option<Item> {
        let g = self.g;
        let (rows, c, n) = (self.pick(&[1, 3]), self.pick(&[1, 4, 7]), self.pick(&[1, 2, 4]));
        let batch: Vec<u64> = (0..self.pick(&[3, 4])).map(|_| self.pick(&[2, 3])).collect();
        let mut operand = |matrix: [u64; 2]| {
            let axes: Vec<u64> = batch.iter().map(|&d| if self.below(2) == 0 { 1 } else { d }).collect();
            self.param(&[&axes[..], &matrix].concat())
        };
        let (a, b, bias) = (operand([rows, c]), operand([c, n]), operand([1, n]));
        let product = g.matmul(a, b);
        let value = if self.below(2) == 0 { g.relu(g.add(product, bias)) } else { product };
        Some(self.about(value, 4.0))
    }

    /// x + something, then a norm or not: what a layer ends with.
    pub(super) fn residual(&mut self) -> Option<Item> {
        let g = self.g;
        let x = self.real();
        let c = self.width(x.value);
        let (w, b) = (self.param(&[c, c]), self.param(&[c]));
        let y = g.add(x.value, g.linear(x.value, w, Some(b)));
        self.keep(Item { value: y, size: 3.0 * x.size, exact: false });
        if self.below(2) == 0 {
            return None;
        }
        let gamma = self.param(&[c]);
        let normal = match self.below(3) {
            0 => {
                let (normal, inverse) = g.rms_norm_with_statistics(y, gamma, None, RmsNorm::default());
                g.mul(normal, g.tanh(inverse))
            }
            1 => {
                let op = LayerNorm { epsilon: 0.5, ..LayerNorm::default() };
                let (normal, mean, inverse) = g.layer_norm_with_statistics(y, Some(gamma), None, op);
                g.add(normal, g.mul(g.tanh(mean), inverse))
            }
            _ => g.rms_norm(y, gamma, 1e-5),
        };
        Some(self.about(normal, 3.0))
    }

    pub(super) fn composite(&mut self) -> Option<Item> {
        let g = self.g;
        let x = self.real();
        let c = self.width(x.value);
        let act = self.pick(&[GluAct::Swish, GluAct::Gelu, GluAct::GeluTanh, GluAct::Relu, GluAct::Sigmoid]);
        let value = match self.below(2) {
            0 if c.is_multiple_of(2) => g.glu_packed(x.value, act, GluPacking::Concat, -1),
            _ => {
                let y = self.twin(x);
                g.glu(x.value, y.value, act)
            }
        };
        Some(self.about(value, x.size * x.size))
    }
}
