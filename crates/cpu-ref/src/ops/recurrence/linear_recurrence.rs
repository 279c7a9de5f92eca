//! `LinearRecurrence`: a matrix for each head, step by step.

use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::tolerance::Tolerance;
use pumice_ir::ops::LinearRecurrence;

/// Operands and extents.
struct Steps<'a> {
    op: &'a LinearRecurrence,
    cx: &'a EvalCx<'a>,
    /// Whether terms are taken by their size.
    sizes: bool,
    batches: usize,
    steps: usize,
    hq: usize,
    hk: usize,
    hv: usize,
    keys: usize,
    values: usize,
}

impl<'a> Steps<'a> {
    fn of(op: &'a LinearRecurrence, cx: &'a EvalCx<'a>, sizes: bool) -> Steps<'a> {
        let extent = |i: usize, axis: usize| cx.arg(i).shape[axis] as usize;
        let (batches, steps, hq, keys) = (extent(0, 0), extent(0, 1), extent(0, 2), extent(0, 3));
        let (hk, hv, values) = (extent(1, 2), extent(2, 2), extent(2, 3));
        Steps { op, cx, sizes, batches, steps, hq, hk, hv, keys, values }
    }

    fn number(&self, v: f64) -> f64 {
        if self.sizes { v.abs() } else { v }
    }

    fn element(&self, operand: usize, at: usize) -> f64 {
        self.number(self.cx.arg(operand).as_floats()[at])
    }

    /// The factor of key i in this row and head of v.
    fn decay(&self, row: usize, head: usize, i: usize) -> f64 {
        let Some(decay) = self.cx.opt(3) else { return 1.0 };
        let of_head = row * self.hv + head;
        let g = match self.cx.opt(4) {
            Some(rates) => decay.as_floats()[of_head] * rates.as_floats()[head * self.keys + i],
            None if decay.shape.len() == 4 => decay.as_floats()[of_head * self.keys + i],
            None => decay.as_floats()[of_head],
        };
        g.exp()
    }

    fn beta(&self, row: usize, head: usize) -> f64 {
        match self.cx.opt(5) {
            None => 1.0,
            Some(beta) if beta.shape[2] == 1 => self.element(5, row),
            Some(_) => self.element(5, row * self.hv + head),
        }
    }

    /// Where key i of column j lies in the state of a head of a batch.
    fn place(&self, of: usize, i: usize, j: usize) -> usize {
        match self.op.by_value {
            true => (of * self.values + j) * self.keys + i,
            false => (of * self.keys + i) * self.values + j,
        }
    }

    /// Key i that this head of v reads.
    fn key(&self, row: usize, head: usize, i: usize) -> f64 {
        self.element(1, (row * self.hk + head * self.hk / self.hv) * self.keys + i)
    }

    /// One step of one column: what is added for each key.
    fn advance(&self, row: usize, head: usize, j: usize, column: &mut [f64]) {
        let key = |i: usize| self.key(row, head, i);
        column.iter_mut().enumerate().for_each(|(i, s)| *s *= self.decay(row, head, i));
        let mut u = self.element(2, (row * self.hv + head) * self.values + j);
        if self.op.delta {
            let known: f64 = column.iter().enumerate().map(|(i, s)| s * key(i)).sum();
            u = if self.sizes { u + known } else { u - known };
        }
        u *= self.beta(row, head);
        column.iter_mut().enumerate().for_each(|(i, s)| *s += key(i) * u);
    }

    /// What the heads of q that share this one read.
    fn read(&self, row: usize, head: usize, (j, column): (usize, &[f64]), o: &mut [f64]) {
        let heads = self.hq.max(self.hv);
        let shared = heads / self.hv;
        for out in head * shared..(head + 1) * shared {
            let q = (row * self.hq + out * self.hq / heads) * self.keys;
            let sum: f64 = column.iter().enumerate().map(|(i, s)| s * self.element(0, q + i)).sum();
            o[(row * heads + out) * self.values + j] = self.number(f64::from(self.op.scale)) * sum;
        }
    }

    /// One column of a head of a batch, from its first step to its last: what it is then.
    fn column(&self, [b, head, j]: [usize; 3], o: &mut [f64]) -> Vec<f64> {
        let of = b * self.hv + head;
        let first = |i: usize| self.cx.opt(6).map_or(0.0, |_| self.element(6, self.place(of, i, j)));
        let mut column: Vec<f64> = (0..self.keys).map(first).collect();
        for row in b * self.steps..(b + 1) * self.steps {
            self.advance(row, head, j, &mut column);
            self.read(row, head, (j, &column), o);
        }
        column
    }

    /// Results, and the last states.
    fn walk(&self) -> [Vec<f64>; 2] {
        let heads = self.hq.max(self.hv);
        let mut o = vec![0.0; self.batches * self.steps * heads * self.values];
        let mut last = vec![0.0; self.batches * self.hv * self.keys * self.values];
        for n in 0..self.batches * self.hv * self.values {
            let (of, j) = (n / self.values, n % self.values);
            let column = self.column([of / self.hv, of % self.hv, j], &mut o);
            column.iter().enumerate().for_each(|(i, &s)| last[self.place(of, i, j)] = s);
        }
        [o, last]
    }
}

impl Eval for LinearRecurrence {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let results = Steps::of(self, cx, false).walk();
        results.into_iter().zip(cx.outputs).map(|(v, (d, shape))| Array::floats(*d, shape, v)).collect()
    }

    /// The class of a sum over keys for each step (OPS 3.8).
    fn tolerance(&self, cx: &EvalCx<'_>) -> Tolerance {
        let shape = &cx.arg(0).shape;
        let (steps, k) = (shape[1].max(1), shape[3]);
        Tolerance::Sum { k, more: Tolerance::of_sum(k) * (steps - 1) as f64 }
    }

    fn magnitude(&self, cx: &EvalCx<'_>) -> Vec<f64> {
        let [o, last] = Steps::of(self, cx, true).walk();
        if cx.result == 0 { o } else { last }
    }
}
