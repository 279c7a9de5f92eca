//! Nodes of random programs that draw numbers, choose among logits, and route rows to experts.

use super::{Garden, Item};
use pumice_ir::Value;
use pumice_ir::ops::random_normal::RandomNormal;
use pumice_ir::ops::random_numbers::{RandomKind, RandomNumbers};
use pumice_ir::ops::random_uniform::RandomUniform;
use pumice_ir::ops::sample::SampleOptions;
use pumice_ir::ops::top_k_moe_router::RouterGate;
use pumice_ir::ops::{GroupedMatMul, LossReduction, SoftmaxCrossEntropy, TopKMoeRouter};
use pumice_types::{DType, Tensor};

impl Garden<'_> {
    pub(super) fn chance(&mut self) -> Option<Item> {
        // Draws of a turn would be the same in every turn.
        match if self.looping { 3 + self.below(2) } else { self.below(5) } {
            0 => self.numbers(),
            1 => self.dropped(),
            2 => self.sampled(),
            3 => self.routed(),
            _ => self.biased_logits(),
        }
    }

    fn numbers(&mut self) -> Option<Item> {
        let g = self.g;
        let x = self.real();
        match self.below(3) {
            0 => Some(self.about(g.random_uniform_like(x.value, None, RandomUniform::default()), 1.0)),
            1 => Some(self.about(g.random_normal_like(x.value, None, RandomNormal::default()), 4.0)),
            _ => {
                let shape = self.ty(x.value).shape.to_vec();
                let stream = 1 + self.below(1 << 30) as u64;
                let source = g.random_source();
                let op = RandomNumbers { shape, stream, kind: RandomKind::Words };
                let words = g.apply(op, &[source.seed_low, source.seed_high, source.step]);
                let few = g.bitwise_and(words, g.constant_scalar(DType::U32, 7.0));
                Some(self.exact(g.cast(few, DType::F32), 7.0))
            }
        }
    }

    fn dropped(&mut self) -> Option<Item> {
        let x = self.real();
        Some(self.about(self.g.dropout_training(x.value, 0.25).0, 2.0 * x.size))
    }

    /// Exact numbers as logits: draws jump.
    fn sampled(&mut self) -> Option<Item> {
        let g = self.g;
        let x = self.find(|s, i| {
            let ty = s.ty(i.value);
            i.exact && ty.dtype() == DType::F32 && ty.rank() == 2
        })?;
        let top_k = Some(g.constant(Tensor::new(&[1 + self.below(4) as i32], &[]).ok()?));
        let cold = self.below(2) == 0;
        let temperature = cold.then(|| g.constant_scalar(DType::F32, 0.0));
        let options = SampleOptions { temperature, top_k, ..SampleOptions::default() };
        let (id, logprob) = g.sample(g.clip(x.value, Some(-8.0), Some(8.0)), options);
        if self.below(2) == 0 {
            return Some(self.about(logprob, 16.0));
        }
        Some(self.exact(g.cast(id, DType::F32), self.width(x.value) as f64))
    }

    /// Exact numbers as logits: which experts are taken jumps. Weights are about.
    fn routed(&mut self) -> Option<Item> {
        let g = self.g;
        let x = self.find(|s, i| {
            let ty = s.ty(i.value);
            i.exact && ty.dtype() == DType::F32 && ty.rank() == 2
        })?;
        let experts = self.width(x.value);
        let gate = self.pick(&RouterGate::ALL);
        let k = 1 + self.below(experts.min(4) as usize) as u64;
        let op = TopKMoeRouter { k, gate, norm: self.below(2) == 0, ..TopKMoeRouter::default() };
        let logits = g.clip(x.value, Some(-8.0), Some(8.0));
        let (weights, ids) = g.top_k_moe_router(logits, None, op);
        match self.below(4) {
            0 => Some(self.about(weights, 8.0)),
            1 => Some(self.exact(g.cast(ids, DType::F32), experts as f64)),
            2 => Some(self.exact(g.cast(g.expert_rows(ids, experts), DType::F32), 1e3)),
            _ => self.by_experts(x, ids),
        }
    }

    /// Each row by the matrices of its experts, of which there are as many as columns.
    fn by_experts(&mut self, x: Item, ids: Value) -> Option<Item> {
        let g = self.g;
        let (c, n, trans) = (self.width(x.value), self.pick(&[1, 4, 6]), self.below(2) == 0);
        let w = self.param(&if trans { [c, n, c] } else { [c, c, n] });
        let op = GroupedMatMul { trans, ..GroupedMatMul::default() };
        Some(self.about(g.grouped_matmul(x.value, w, ids, op), 2.0 * x.size))
    }

    /// The cross-entropy of each row with a class, or its gradient by the row.
    fn classified(&mut self, x: Item) -> Option<Item> {
        let (g, c) = (self.g, self.width(x.value));
        let class = g.constant(Tensor::new(&[self.below(c as usize) as i32], &[1]).ok()?);
        let target = g.expand_to(class, vec![self.ty(x.value).shape[0].clone()]);
        let op = SoftmaxCrossEntropy {
            reduction: LossReduction::None,
            label_smoothing: self.pick(&[0.0, 0.2]),
            scores_grad: true,
            ..SoftmaxCrossEntropy::default()
        };
        let results = g.apply_all(op, &[Some(x.value), Some(target)]);
        Some(match self.below(2) {
            0 => self.about(g.unsqueeze(results[0], &[1]), 2.0 * x.size + 8.0),
            _ => self.about(*results.get(2)?, 1.0),
        })
    }

    fn biased_logits(&mut self) -> Option<Item> {
        let g = self.g;
        let x = self.find(|s, i| s.ty(i.value).dtype() == DType::F32 && s.ty(i.value).rank() == 2)?;
        let x = self.calm(x);
        let c = self.width(x.value);
        if self.below(3) == 0 {
            return self.classified(x);
        }
        let ids: Vec<i32> = (0..3).map(|_| self.below(c as usize) as i32).collect();
        if self.below(2) == 0 {
            let bias = self.param(&[3]);
            let ids = g.constant(Tensor::new(&ids, &[3]).ok()?);
            return Some(self.about(g.logit_bias(x.value, ids, bias), x.size + 3.0));
        }
        let history = g.constant(Tensor::new(&ids, &[1, 3]).ok()?);
        let counts = g.expand_to(g.token_counts(history, c), self.ty(x.value).shape.to_vec());
        let penalty = g.constant_scalar(DType::F32, 1.25);
        Some(self.about(g.repetition_penalty(x.value, counts, penalty), 1.25 * x.size))
    }
}
