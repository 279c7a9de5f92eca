//! Attention and rotation in random programs: both layouts, every mask, windows, shared key heads, scale, softcap.

use super::{Garden, Item};
use pumice_ir::ops::Rounding;
use pumice_ir::ops::attention::AttentionLayout;
use pumice_ir::ops::attention_grad::AttentionFactor;
use pumice_ir::ops::attention_operands::AttentionOperands;
use pumice_ir::ops::{Attention, AttentionGrad, AttentionMerge, AttentionParts, Rotary};
use pumice_ir::shape::DimSpec;
use pumice_ir::{Fill, Value, tensor};
use pumice_types::{DType, DimExpr};

impl Garden<'_> {
    /// x\[rows, c\] as two query heads over one or two key heads, and back.
    pub(super) fn attention(&mut self) -> Option<Item> {
        let x = self.rows_of_heads()?;
        let (shape, c) = (self.ty(x.value).shape, self.width(x.value));
        let layout = self.pick(&[AttentionLayout::Bshd, AttentionLayout::Bhsd]);
        let mut q = self.heads(x.value, 2, layout);
        if self.below(2) == 0 {
            q = self.turned(q, layout);
        }
        let k = match self.below(2) {
            0 => self.g.tanh(q),
            _ => {
                let first = self.g.narrow(x.value, -1, 0u64, c / 2);
                self.heads(first, 1, layout)
            }
        };
        let v = if self.below(2) == 0 { k } else { self.g.neg(k) };
        let mask = self.mask(&shape[0]);
        let op = self.settings(layout);
        // Parts are refused where they are wider than their kernels.
        let has_parts = self.width(v).is_multiple_of(4) && self.width(v) <= 128;
        let y = if has_parts && self.below(3) == 0 {
            let parts = 1 + self.below(3) as u64;
            let of_parts = self.g.attention_parts(q, k, v, mask, None, AttentionParts::of(&op, parts));
            self.g.attention_merge(of_parts, AttentionMerge { layout, lse: false })
        } else if self.below(2) == 0 {
            self.g.attention(q, k, v, mask, None, op)
        } else {
            return Some(self.extended_attention([q, k, v], mask, op, x.size, &shape));
        };
        let y = self.joined_heads(y, layout, shape.to_vec());
        Some(self.about(y, x.size))
    }

    /// With a place, sinks, slopes, and the logarithms of sums as factors of the rows.
    fn extended_attention(
        &mut self,
        qkv: [Value; 3],
        mask: Option<Value>,
        op: Attention,
        size: f64,
        shape: &[DimExpr],
    ) -> Item {
        let (g, layout) = (self.g, op.layout);
        let mut of_heads = || (self.below(2) == 0).then(|| self.param(&[2]));
        let (sinks, alibi) = (of_heads(), of_heads());
        let offset = (self.below(2) == 0).then_some(self.position);
        let operands = AttentionOperands { mask, kv_len: None, offset, sinks, alibi, source: None };
        let (mut y, lse) = g.attention_with(qkv, operands, op.clone());
        if alibi.is_none() && self.below(3) == 0 {
            let gradient = self.gradient(qkv, [y, lse], [mask, None, offset], &op);
            y = g.mul(y, gradient);
        }
        let y = self.joined_heads(y, layout, shape.to_vec());
        if self.below(2) == 0 {
            return self.about(y, size);
        }
        let factors = g.reduce_max(g.sigmoid(lse), &[0, 1], false);
        let factors = g.reshape_to(factors, vec![shape[0].clone(), DimExpr::constant(1)]);
        self.about(g.mul(y, factors), size)
    }

    /// The largest of each place of the heads of a gradient of an attention, by queries, keys or values, within 1.
    fn gradient(
        &mut self,
        qkv: [Value; 3],
        [y, lse]: [Value; 2],
        rules: [Option<Value>; 3],
        op: &Attention,
    ) -> Value {
        let (g, layout) = (self.g, op.layout);
        let [of_batch, of_heads, of_rows, of_width] = layout.axes().map(|axis| axis as i64);
        let squares = g.transpose(g.square(y), &[of_batch, of_heads, of_rows, of_width]);
        let delta = g.reduce_sum(squares, &[3], false);
        let operands: Vec<Option<Value>> =
            qkv.into_iter().chain([y, lse, delta]).map(Some).chain(rules).collect();
        let of = self.pick(&[AttentionFactor::Queries, AttentionFactor::KeysAndValues]);
        let gradients = g.attention_grad(AttentionGrad::of(op, of), &operands);
        g.reduce_max(g.tanh(gradients[self.below(gradients.len())]), &[of_heads], true)
    }

    /// A value of \[rows, c\] whose rows are two heads of an even width.
    pub(super) fn rows_of_heads(&mut self) -> Option<Item> {
        let x = self.find(|s, i| {
            let ty = s.ty(i.value);
            ty.dtype() == DType::F32 && ty.rank() == 2 && s.width(i.value).is_multiple_of(4)
        })?;
        Some(self.calm(x))
    }

    /// x\[rows, n·w\] → \[1, rows, n, w\], or with heads before rows.
    pub(super) fn heads(&mut self, x: Value, n: u64, layout: AttentionLayout) -> Value {
        let (g, width, rows) = (self.g, self.width(x) / n, self.ty(x).shape[0].clone());
        let constant = |v: u64| DimExpr::constant(v as i64);
        let y = g.reshape_to(x, vec![constant(1), rows, constant(n), constant(width)]);
        match layout {
            AttentionLayout::Bshd => y,
            AttentionLayout::Bhsd => g.transpose(y, &[0, 2, 1, 3]),
        }
    }

    /// The way back.
    pub(super) fn joined_heads(&mut self, y: Value, layout: AttentionLayout, shape: Vec<DimExpr>) -> Value {
        let y = match layout {
            AttentionLayout::Bshd => y,
            AttentionLayout::Bhsd => self.g.transpose(y, &[0, 2, 1, 3]),
        };
        self.g.reshape_to(y, shape)
    }

    /// Turned by the position, wholly or in part, or by tables.
    pub(super) fn turned(&mut self, q: Value, layout: AttentionLayout) -> Value {
        let width = self.width(q);
        let n_rot = if self.below(3) == 0 { Some(width as i64 / 2 / 2 * 2) } else { None };
        let interleaved = self.below(2) == 0;
        let magnitude = [1.0, 0.75][self.below(2)];
        let op = Rotary { layout, interleaved, n_rot, magnitude, ..Rotary::default() };
        if self.below(3) > 0 {
            return self.g.rotary(q, self.position, op);
        }
        let name = self.name("factors");
        self.fill(&name, Fill::Uniform(0.5, 4.0));
        let pairs = n_rot.map_or(width, |n| n as u64) / 2;
        let factors = self.g.param(&name, tensor(DType::F32, [pairs]));
        self.g.rotary_by_factors(q, self.position, factors, op)
    }

    fn settings(&mut self, layout: AttentionLayout) -> Attention {
        Attention {
            layout,
            scale: [None, None, Some(0.3)][self.below(3)],
            causal: self.below(2) == 0,
            softcap: [0.0, 5.0][self.below(2)],
            left: [-1, -1, 1][self.below(3)],
            right: [-1, -1, 0, 2][self.below(4)],
            rounding: Rounding::None,
            ..Attention::default()
        }
    }

    /// Which keys each query may see, told or added; or nothing.
    fn mask(&mut self, rows: &DimExpr) -> Option<Value> {
        let kind = self.below(4);
        let square = || [DimSpec::Expr(rows.clone()), DimSpec::Expr(rows.clone())];
        let name = self.name("mask");
        match kind {
            0 => {
                self.fill(&name, Fill::Range(0, 2));
                Some(self.g.input(&name, tensor(DType::Bool, square())))
            }
            1 => {
                self.fill(&name, Fill::Floats(vec![0.0, f64::NEG_INFINITY, 0.5, -2.0, 1.0]));
                Some(self.g.input(&name, tensor(DType::F32, square())))
            }
            _ => None,
        }
    }
}
