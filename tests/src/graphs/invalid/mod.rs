//! Programs of which about half are invalid somewhere: a pure function of the seed.
//!
//! In: a seed. Out: a program, or every mistake that the builder found in it. Ops come from the samples of all ops,
//! with their attributes, on operands that fit them, on whatever is there, or on operands that are changed a little:
//! another extent, dtype or rank, a symbol in the place of a number. What is done with a program is in [`run`].

mod catalogue;
pub mod run;

pub use catalogue::{Catalogue, Entry, Leaf};

use pumice_ir::sample::random as draw;
use pumice_ir::shape::DimSpec;
use pumice_ir::{
    AttrReader, AttrValue, BuildErrors, FeedKind, Graph, GraphBuilder, Op, Value, dim, sym, tensor,
};
use pumice_types::{DType, DimExpr};

/// Extents that somebody might write.
const EXTENTS: [u64; 10] = [0, 1, 1, 2, 3, 4, 5, 7, 8, 16];

/// Extents that nobody can mean.
const ABSURD: [u64; 4] = [1 << 24, 1 << 33, 1 << 62, u64::MAX];

/// The program of a seed.
pub fn program(catalogue: &Catalogue, seed: u64) -> Result<Graph, BuildErrors> {
    let g = GraphBuilder::new("invalid");
    let care = [100, 99, 97, 80][(seed % 4) as usize];
    let mut author = Author { g: &g, catalogue, seed, draws: 0, pool: Vec::new(), names: 0, care };
    author.write();
    g.build()
}

struct Author<'g> {
    g: &'g GraphBuilder,
    catalogue: &'g Catalogue,
    seed: u64,
    draws: u64,
    pool: Vec<Value>,
    names: u64,
    /// Of a hundred things, how many are done rightly.
    care: usize,
}

impl Author<'_> {
    fn below(&mut self, n: usize) -> usize {
        self.draws += 1;
        (draw(self.seed, self.draws) % n.max(1) as u64) as usize
    }

    fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn slips(&mut self) -> bool {
        self.below(100) >= self.care
    }

    fn write(&mut self) {
        for _ in 0..1 + self.below(3) {
            let ty = self.any_type();
            let leaf = self.any_leaf(ty);
            self.pool.push(leaf);
        }
        for _ in 0..1 + self.below(12) {
            let mut made = self.node();
            self.pool.append(&mut made);
        }
        self.outputs();
    }

    fn name(&mut self, what: &str) -> String {
        if self.slips() && self.one_in(4) {
            return self.pick(&["", "x", "twice", "a b\"", "constant"]).to_owned();
        }
        self.names += 1;
        format!("{what}{}", self.names)
    }

    fn extent(&mut self) -> DimSpec {
        if self.slips() && self.one_in(4) {
            return self.odd_extent();
        }
        match self.below(6) {
            0 => sym("n", 1..=4),
            1 => sym("m", 0..=3),
            _ => dim(self.pick(&EXTENTS)),
        }
    }

    fn odd_extent(&mut self) -> DimSpec {
        match self.below(8) {
            0 => sym("n", 0..=9),
            1 => sym("wide", 1..=1 << 40),
            #[allow(clippy::reversed_empty_ranges)]
            2 => sym("empty", 5..=2),
            3 => sym("step", 0..=8).multiple_of(3),
            4 => sym("", 1..=2),
            5 => DimSpec::Expr(DimExpr::constant(-1)),
            6 => sym("none", 0..=0).multiple_of(0),
            _ => dim(self.pick(&ABSURD)),
        }
    }

    fn any_type(&mut self) -> (DType, Vec<DimSpec>) {
        let dtype = if self.one_in(3) { self.pick(&DType::ALL) } else { DType::F32 };
        let rank = if self.slips() { self.below(9) } else { self.below(4) };
        (dtype, (0..rank).map(|_| self.extent()).collect())
    }

    fn any_leaf(&mut self, (dtype, dims): (DType, Vec<DimSpec>)) -> Value {
        let fixed = dims.iter().all(|d| matches!(d, DimSpec::Expr(_)));
        let (g, ty) = (self.g, tensor(dtype, dims));
        match self.below(8) {
            0 | 1 if fixed || self.slips() => {
                let name = self.name("w");
                g.param(&name, ty)
            }
            2 => {
                let v = self.pick(&[0.0, 1.0, -3.0, 1e30, f64::NAN]);
                g.constant_scalar(dtype, v)
            }
            3 if self.slips() => {
                let name = self.name("s");
                g.state(&name, ty)
            }
            4 if self.one_in(3) => {
                let odd = self.slips();
                let least = if odd { self.pick(&[-5.0, 9.0, f64::NAN]) } else { 0.0 };
                let dtype = if odd { self.pick(&DType::ALL) } else { DType::I32 };
                let name = self.name("k");
                g.scalar(&name, tensor::<u64>(dtype, []), least, 6.0, 2.0)
            }
            _ => {
                let name = self.name("x");
                g.input(&name, ty)
            }
        }
    }

    /// An op of the catalogue on operands.
    fn node(&mut self) -> Vec<Value> {
        let entry = self.catalogue.entry(self.below(self.catalogue.len())).clone();
        let op = if self.slips() { self.changed(&entry.op) } else { entry.op.clone() };
        // One symbol in the place of one number keeps shapes that fit together together.
        let loose = if self.one_in(3) { self.one_extent(&entry) } else { None };
        let mut operands = Vec::new();
        for leaf in &entry.operands {
            operands.push(match leaf {
                None => None,
                Some(_) if self.slips() && self.one_in(6) => None,
                Some(leaf) => Some(self.operand(leaf, loose)),
            });
        }
        if self.slips() && self.one_in(8) {
            operands.push(self.pool.last().copied());
        }
        let mut made = self.g.apply_all(op, &operands);
        made.truncate(4);
        made
    }

    fn one_extent(&mut self, entry: &Entry) -> Option<u64> {
        let all: Vec<u64> = entry.operands.iter().flatten().flat_map(|l| l.shape.clone()).collect();
        if all.is_empty() { None } else { Some(self.pick(&all)).filter(|e| *e > 0) }
    }

    fn operand(&mut self, leaf: &Leaf, loose: Option<u64>) -> Value {
        if self.slips() && !self.pool.is_empty() {
            let i = self.below(self.pool.len());
            return self.pool[i];
        }
        if self.below(3) > 0
            && let Some(v) = self.fitting(leaf, loose)
        {
            return v;
        }
        let dims = self.dims(leaf, loose);
        let dtype = if self.slips() { self.pick(&DType::ALL) } else { leaf.dtype };
        let v = match (&leaf.constant, leaf.state) {
            (Some(data), _) if !self.slips() => self.g.constant(data.as_ref().clone()),
            (_, Some(axis)) if !self.slips() => {
                let name = self.name("s");
                let dims = if self.slips() { dims } else { leaf.shape.iter().map(|&e| dim(e)).collect() };
                match axis {
                    Some(axis) => self.g.cache(&name, tensor(dtype, dims), axis),
                    None => self.g.state(&name, tensor(dtype, dims)),
                }
            }
            _ => self.any_leaf_of(leaf, dtype, dims),
        };
        self.pool.push(v);
        v
    }

    fn any_leaf_of(&mut self, leaf: &Leaf, dtype: DType, dims: Vec<DimSpec>) -> Value {
        if let Some((least, most)) = leaf.scalar {
            let name = self.name("k");
            return self.g.scalar(&name, tensor(dtype, dims), least, most, least);
        }
        let fixed = dims.iter().all(|d| matches!(d, DimSpec::Expr(_)));
        let (name, param) = (self.name("x"), self.one_in(3));
        if param && (fixed || self.slips()) {
            self.g.param(&name, tensor(dtype, dims))
        } else {
            self.g.input(&name, tensor(dtype, dims))
        }
    }

    fn dims(&mut self, leaf: &Leaf, loose: Option<u64>) -> Vec<DimSpec> {
        let mut dims: Vec<DimSpec> = leaf
            .shape
            .iter()
            .map(|&e| if Some(e) == loose { sym(&format!("d{e}"), 1..=e) } else { dim(e) })
            .collect();
        if self.slips() && !dims.is_empty() {
            let i = self.below(dims.len());
            match self.below(3) {
                0 => drop(dims.remove(i)),
                1 => dims.insert(i, dim(2)),
                _ => dims[i] = self.extent(),
            }
        }
        dims
    }

    /// A value of the pool of the type that is asked for.
    fn fitting(&mut self, leaf: &Leaf, loose: Option<u64>) -> Option<Value> {
        if leaf.state.is_some() || leaf.constant.is_some() || leaf.scalar.is_some() {
            return None;
        }
        let fits = |v: &Value| {
            let Some(ty) = self.g.type_of(*v) else { return false };
            let extent = |(d, e): (&DimExpr, &u64)| match loose {
                Some(l) if l == *e => d.as_symbol().is_some(),
                _ => d.as_extent() == Some(*e),
            };
            ty.dtype() == leaf.dtype
                && ty.rank() == leaf.shape.len()
                && ty.shape.iter().zip(&leaf.shape).all(extent)
        };
        let found: Vec<Value> = self.pool.iter().copied().filter(fits).collect();
        if found.is_empty() { None } else { Some(self.pick(&found)) }
    }

    /// The op with an attribute that is a little different.
    fn changed(&mut self, op: &Op) -> Op {
        let mut attrs: Vec<(String, AttrValue)> =
            op.attrs().into_iter().map(|(n, v)| (n.to_owned(), v)).collect();
        if attrs.is_empty() {
            return op.clone();
        }
        let i = self.below(attrs.len());
        let other = [-1, 0, 1, 2, 3, 7, -9, i64::MAX, i64::MIN, 1 << 33];
        match &mut attrs[i].1 {
            AttrValue::Int(v) => *v = self.pick(&other),
            AttrValue::Ints(list) => match self.below(3) {
                0 => drop(list.pop()),
                1 => list.push(self.pick(&other)),
                _ => {
                    let at = self.below(list.len());
                    if let Some(v) = list.get_mut(at) {
                        *v = self.pick(&other);
                    }
                }
            },
            AttrValue::Dims(list) => match self.below(2) {
                0 => drop(list.pop()),
                _ => list.push(DimExpr::constant(self.pick(&other))),
            },
            AttrValue::Dim(d) => *d = DimExpr::constant(self.pick(&other)),
            AttrValue::Float(v) => *v = self.pick(&[0.0, -1.0, f64::NAN, f64::INFINITY, 1e300]),
            AttrValue::Bool(v) => *v = !*v,
            AttrValue::DType(d) => *d = self.pick(&DType::ALL),
            _ => {}
        }
        match Op::read(op.name(), AttrReader::new(attrs)) {
            Some(Ok(changed)) => changed,
            _ => op.clone(),
        }
    }

    fn outputs(&mut self) {
        let count = 1 + self.below(3);
        for k in 0..count {
            let i = self.pool.len() - 1 - self.below(self.pool.len()).min(self.below(self.pool.len()));
            let name = if self.slips() { self.name("y") } else { format!("out{k}") };
            self.g.output(&name, self.pool[i]);
        }
        if self.slips() {
            let i = self.below(self.pool.len());
            let (state, kind) = (self.pool[i], self.feed_kind());
            let output = self.pick(&["out0", "out1", "nowhere"]);
            self.g.feed(output, state, kind);
        }
    }

    fn feed_kind(&mut self) -> FeedKind {
        let mut number = || DimExpr::constant(self.pick(&[-1i64, 0, 1, 3, i64::MAX]));
        let (a, b, c) = (number(), number(), number());
        match self.below(3) {
            0 => FeedKind::Whole,
            1 => FeedKind::Prefix { axis: self.below(9), len: a },
            _ => FeedKind::Row { axis: self.below(9), src: a, dst: b, count: c },
        }
    }
}
