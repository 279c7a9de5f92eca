//! Random graphs for the passes: values that are used more than once, products that share operands, residuals, norms,
//! movement, casts, states. A pure function of the seed.

use pumice_ir::ops::glu::GluAct;
use pumice_ir::sample::random;
use pumice_ir::{Graph, GraphBuilder, Value, ValueType, f32, sym, tensor};
use pumice_types::{DType, DimExpr};
use std::cell::Cell;

/// A generator of one graph.
pub struct Random {
    g: GraphBuilder,
    seed: u64,
    drawn: Cell<u64>,
    pool: Vec<Value>,
    params: usize,
}

/// The graph of that seed, or what the builder says.
pub fn graph(seed: u64) -> Result<Graph, String> {
    let g = GraphBuilder::new("random");
    let mut r = Random { g, seed, drawn: Cell::new(0), pool: Vec::new(), params: 0 };
    r.leaves();
    let nodes = 5 + r.below(50);
    for _ in 0..nodes {
        r.node();
    }
    r.state();
    r.outputs();
    r.g.build().map_err(|e| e.to_string())
}

impl Random {
    fn below(&self, n: u64) -> u64 {
        self.drawn.set(self.drawn.get() + 1);
        random(self.seed, self.drawn.get()) % n
    }

    fn pick<T: Copy>(&self, list: &[T]) -> T {
        list[self.below(list.len() as u64) as usize]
    }

    fn leaves(&mut self) {
        let rows = if self.below(5) == 0 { sym("n", 1..=5) } else { 3u64.into() };
        let shapes = [vec![2u64.into(), rows.clone(), 4u64.into()], vec![rows, 4u64.into()]];
        for (i, shape) in shapes.into_iter().enumerate() {
            self.pool.push(self.g.input(&format!("x{i}"), f32(shape)));
        }
        self.pool.push(self.g.input("h", tensor(DType::F16, [3u64, 4])));
        self.pool.push(self.g.constant_scalar(DType::F32, self.pick(&[0.0, -0.0, 1.0, 2.0])));
    }

    fn param(&mut self, shape: &[u64]) -> Value {
        self.params += 1;
        self.g.param(&format!("p{}", self.params), f32(shape.iter().copied()))
    }

    fn ty(&self, v: Value) -> ValueType {
        self.g.type_of(v).expect("the generator makes no mistakes")
    }

    /// Mostly a recent value: deep graphs have the longer chains.
    fn any(&self) -> Value {
        let n = self.pool.len() as u64;
        let back = self.below(n.min(if self.below(4) == 0 { n } else { 5 }));
        self.pool[(n - 1 - back) as usize]
    }

    fn float(&self) -> Value {
        let v = self.any();
        match self.ty(v).dtype() {
            DType::F32 => v,
            _ => self.g.cast(v, DType::F32),
        }
    }

    /// A float value with a last axis of four.
    fn row(&mut self) -> Value {
        let v = self.float();
        if self.ty(v).shape.last().is_some_and(|d| d.is(4)) {
            return v;
        }
        let p = self.param(&[4]);
        if self.ty(v).shape.last().is_none_or(|d| d.is(1)) { self.g.add(v, p) } else { self.pool[1] }
    }

    fn node(&mut self) {
        let v = match self.below(12) {
            0 | 1 => self.unary(),
            2..=4 => self.binary(),
            5 => self.products(),
            6 => self.residual(),
            7 => self.movement(),
            8 => self.dtype(),
            9 => self.row_op(),
            10 => self.attention(),
            _ => self.composite(),
        };
        if self.ty(v).static_shape().is_none_or(|s| s.iter().product::<u64>() < 5000) {
            self.pool.push(v);
        }
    }

    fn unary(&mut self) -> Value {
        let x = self.float();
        let g = &self.g;
        match self.below(8) {
            0 => g.relu(x),
            1 => g.neg(x),
            2 => g.tanh(x),
            3 => g.gelu(x),
            4 => g.abs(x),
            5 => g.identity(x),
            6 => g.sigmoid(x),
            _ => g.neg(g.neg(x)),
        }
    }

    fn binary(&mut self) -> Value {
        let a = self.float();
        let mut b = self.float();
        if !broadcast(&self.ty(a).shape, &self.ty(b).shape) {
            b = if self.below(2) == 0 { a } else { self.g.constant_scalar(DType::F32, 1.0) };
        }
        let (a, b) = if self.below(2) == 0 { (a, b) } else { (b, a) };
        match self.below(5) {
            0 | 1 => self.g.add(a, b),
            2 => self.g.mul(a, b),
            3 => self.g.sub(a, b),
            _ => self.g.max(&[a, b]),
        }
    }

    /// One to three products of one operand, the last of them going on.
    fn products(&mut self) -> Value {
        let x = self.row();
        let mut last = x;
        for _ in 0..1 + self.below(3) {
            let n = self.pick(&[4u64, 4, 8, 1]);
            last = match self.below(5) {
                0 => {
                    let (w, b) = (self.param(&[n, 4]), self.param(&[n]));
                    self.g.linear(x, w, Some(b))
                }
                1 => {
                    let w = self.param(&[4, n]);
                    self.g.matmul(x, w)
                }
                2 => {
                    let w = self.param(&[n, 4]);
                    self.g.linear(x, w, None)
                }
                3 => self.stretched_product(n),
                _ => {
                    let w = self.param(&[n, 4]);
                    self.g.matmul(x, self.g.transpose(w, &[1, 0]))
                }
            };
            self.pool.push(last);
        }
        last
    }

    /// A product with three or four batch axes, each operand stretched along some, and what may become its epilogue.
    fn stretched_product(&mut self, n: u64) -> Value {
        let batch: Vec<u64> = (0..self.pick(&[3, 4])).map(|_| self.pick(&[2, 3])).collect();
        let mut operand = |matrix: [u64; 2]| {
            let axes: Vec<u64> = batch.iter().map(|&d| if self.below(2) == 0 { 1 } else { d }).collect();
            self.param(&[&axes[..], &matrix].concat())
        };
        let (a, b, bias) = (operand([2, 4]), operand([4, n]), operand([1, n]));
        let product = self.g.matmul(a, b);
        if self.below(2) == 0 { self.g.relu(self.g.add(product, bias)) } else { product }
    }

    /// x + r, after a norm or not.
    fn residual(&mut self) -> Value {
        let (x, r) = (self.row(), self.row());
        let s = if broadcast(&self.ty(x).shape, &self.ty(r).shape) { self.g.add(x, r) } else { x };
        if self.below(2) == 0 {
            self.pool.push(s);
        }
        if self.ty(s).rank() == 0 {
            return s;
        }
        let (gamma, beta) = (self.param(&[4]), self.param(&[4]));
        match self.below(3) {
            0 => self.g.layer_norm(s, gamma, Some(beta), 1e-5),
            1 => self.g.rms_norm(s, gamma, 1e-5),
            _ => s,
        }
    }

    fn movement(&mut self) -> Value {
        let x = self.any();
        let ty = self.ty(x);
        let rank = ty.rank() as i64;
        match self.below(5) {
            0 => {
                let mut perm: Vec<i64> = (0..rank).collect();
                for i in (1..perm.len()).rev() {
                    perm.swap(i, self.below(i as u64 + 1) as usize);
                }
                self.g.transpose(x, &perm)
            }
            1 => self.g.reshape_to(x, vec![ty.elements()]),
            2 => {
                let mut shape = ty.shape.to_vec();
                shape.insert(0, DimExpr::constant(2));
                if rank < 4 { self.g.expand_to(x, shape) } else { x }
            }
            3 if rank > 0 => self.g.unsqueeze(self.g.narrow(x, rank - 1, 0u64, 1u64), &[0]),
            _ => x,
        }
    }

    fn dtype(&mut self) -> Value {
        let to = self.pick(&[DType::F16, DType::I32, DType::I64, DType::F32, DType::BF16]);
        let x = self.any();
        let y = self.g.cast(x, to);
        if self.below(2) == 0 { self.g.cast(y, self.ty(x).dtype()) } else { y }
    }

    fn row_op(&mut self) -> Value {
        let x = self.row();
        match self.below(3) {
            0 => self.g.softmax(x, -1),
            1 => self.g.reduce_mean(x, &[-1], true),
            _ => {
                let c = self.g.greater(x, self.g.constant_scalar(DType::F32, 0.0));
                self.g.select(c, x, self.g.constant_scalar(DType::F32, -1.0))
            }
        }
    }

    fn attention(&mut self) -> Value {
        let x = self.row();
        let ty = self.ty(x);
        if ty.rank() != 3 {
            return x;
        }
        let split =
            vec![ty.shape[0].clone(), ty.shape[1].clone(), DimExpr::constant(2), DimExpr::constant(2)];
        let mut heads = [x; 3];
        for h in &mut heads {
            let (w, b) = (self.param(&[4, 4]), self.param(&[4]));
            let y = self.g.reshape_to(self.g.linear(x, w, Some(b)), split.clone());
            *h = self.g.transpose(y, &[0, 2, 1, 3]);
        }
        let y = self.g.apply(pumice_ir::ops::Attention::default(), &heads);
        self.g.reshape_to(self.g.transpose(y, &[0, 2, 1, 3]), ty.shape.to_vec())
    }

    fn composite(&mut self) -> Value {
        let x = self.row();
        match self.below(4) {
            0 => self.g.glu(x, self.g.neg(x), GluAct::Gelu),
            1 => self.g.split(x, -1, &[1, 3]).swap_remove(0),
            2 => self.g.concat(&[x, x], -1),
            _ => self.g.sum(&[x, x, self.g.tanh(x)]),
        }
    }

    /// In a fifth of the graphs a state is read, written and read again.
    fn state(&mut self) {
        if self.below(5) != 0 {
            return;
        }
        let x = self.row();
        let ty = self.ty(x);
        let Some(shape) = ty.static_shape() else { return };
        let s = self.g.state("s", f32(shape));
        let before = self.g.state_read(s);
        let sum = self.g.add(before, x);
        self.pool.push(self.g.relu(sum));
        let after = self.g.state_write(s, self.g.mul(sum, x));
        self.pool.push(self.g.add(self.g.state_read(after), x));
    }

    fn outputs(&mut self) {
        let last = *self.pool.last().expect("there are leaves");
        self.g.output("last", last);
        for i in 0..self.below(4) {
            let v = self.any();
            self.g.output(&format!("y{i}"), v);
        }
    }
}

/// Whether two shapes broadcast with certainty.
fn broadcast(a: &[DimExpr], b: &[DimExpr]) -> bool {
    a.iter().rev().zip(b.iter().rev()).all(|(x, y)| x == y || x.is(1) || y.is(1))
}
