//! The builder: methods take `&self` and collect mistakes; [`GraphBuilder::build`] returns all of them at once.

use crate::entity::ValueId;
use crate::error::{BuildError, OpError};
use crate::graph::{Graph, Output};
use crate::infer::infer_node;
use crate::ops::{Constant, Input, Op, Param, Scalar, State};
use crate::patch::unique_name;
use crate::shape::{DimSpec, TypeSpec, ValueType};
use crate::state::{Feed, FeedKind};
use crate::verify;
use pumice_types::{DType, DimExpr, ScalarId, Symbol, SymbolTable, Tensor};
use smallvec::SmallVec;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

/// A value of a builder. Copy it around freely; a value that came out of a mistake is accepted everywhere and causes
/// no further ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value {
    /// None if it came out of a mistake.
    id: Option<ValueId>,
    /// Which builder's, by its address: no two that live at the same time have the same.
    graph: usize,
}

impl Value {
    const NONE: Value = Value { id: None, graph: 0 };
}

/// Every mistake of a graph.
#[derive(Clone, Debug, PartialEq)]
pub struct BuildErrors(pub Vec<BuildError>);

impl fmt::Display for BuildErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.len() {
            1 => write!(f, "1 mistake in the graph:")?,
            n => write!(f, "{n} mistakes in the graph:")?,
        }
        self.0.iter().try_for_each(|e| write!(f, "\n  {e}"))
    }
}

impl std::error::Error for BuildErrors {}

struct Inner {
    graph: Graph,
    /// What the values of this builder carry.
    id: usize,
    taken: BTreeSet<String>,
    scope: Vec<String>,
    errors: Vec<BuildError>,
}

/// Builds a [`Graph`].
///
/// ```
/// use pumice_ir::{GraphBuilder, f32, sym};
/// let g = GraphBuilder::new("mlp");
/// let x = g.input("x", f32([sym("batch", 1..=64), 784.into()]));
/// let w = g.param("w", f32([784, 10]));
/// g.output("logits", g.matmul(x, w));
/// let graph = g.build()?;
/// assert_eq!(graph.outputs().len(), 1);
/// # Ok::<(), pumice_ir::BuildErrors>(())
/// ```
pub struct GraphBuilder {
    inner: Rc<RefCell<Inner>>,
    /// The name of the next node made by this handle.
    next_name: RefCell<Option<String>>,
}

impl GraphBuilder {
    /// An empty graph of that name.
    pub fn new(name: &str) -> GraphBuilder {
        GraphBuilder::with_symbols(name, SymbolTable::default())
    }

    /// An empty graph that already has these symbols, by the same ids.
    pub fn with_symbols(name: &str, symbols: SymbolTable) -> GraphBuilder {
        let inner = Rc::new(RefCell::new(Inner::new(name, symbols)));
        inner.borrow_mut().id = Rc::as_ptr(&inner).addr();
        GraphBuilder { inner, next_name: RefCell::new(None) }
    }

    /// A tensor the caller gives for every run.
    pub fn input(&self, name: &str, ty: impl Into<TypeSpec>) -> Value {
        let ty = self.resolve(ty.into());
        self.leaf(name, Input { ty }.into(), &[])
    }

    /// A stored tensor, set by name.
    pub fn param(&self, name: &str, ty: impl Into<TypeSpec>) -> Value {
        let ty = self.resolve(ty.into());
        self.leaf(name, Param { ty }.into(), &[])
    }

    /// A persistent tensor that begins as zeros.
    pub fn state(&self, name: &str, ty: impl Into<TypeSpec>) -> Value {
        let ty = self.resolve(ty.into());
        self.leaf(name, State { ty, capacity_axis: None }.into(), &[])
    }

    /// A persistent tensor of which only a prefix along `axis` is valid: a cache. Begins as zeros.
    pub fn cache(&self, name: &str, ty: impl Into<TypeSpec>, axis: i64) -> Value {
        let ty = self.resolve(ty.into());
        self.leaf(name, State { ty, capacity_axis: Some(axis) }.into(), &[])
    }

    /// A persistent tensor that begins as the value of a param or constant.
    pub fn state_from(&self, name: &str, init: Value) -> Value {
        let Some(ty) = self.type_of(init) else {
            self.refuse_foreign(name, init);
            return Value::NONE;
        };
        self.leaf(name, State { ty, capacity_axis: None }.into(), &[init])
    }

    /// A number that may change from run to run: rank 0, i32, u32 or f32, within `min..=max`.
    pub fn scalar(&self, name: &str, ty: impl Into<TypeSpec>, min: f64, max: f64, default: f64) -> Value {
        let ty = self.resolve(ty.into());
        self.leaf(name, Scalar { ty, min, max, default, advance: None }.into(), &[])
    }

    /// An i32 scalar to which `by` is added on the device at the end of every replay.
    pub fn scalar_advancing(&self, name: &str, min: i32, max: i32, default: i32, by: DimExpr) -> Value {
        let ty = ValueType::new(DType::I32, []);
        let (min, max, default) = (f64::from(min), f64::from(max), f64::from(default));
        self.leaf(name, Scalar { ty, min, max, default, advance: Some(by) }.into(), &[])
    }

    /// Data written in the graph.
    pub fn constant(&self, data: Tensor) -> Value {
        self.apply(Constant { data: Arc::new(data) }, &[])
    }

    /// A rank-0 constant of a float or integer dtype; integers and 16-bit floats take the nearest value they can hold.
    pub fn constant_scalar(&self, dtype: DType, value: f64) -> Value {
        self.constant(scalar_tensor(dtype, value))
    }

    /// Names a result. Order of declaration is order of return; a value may be several outputs.
    pub fn output(&self, name: &str, value: Value) {
        let mut inner = self.inner.borrow_mut();
        if name.is_empty() {
            inner.errors.push(BuildError::EmptyName("an output"));
        }
        if inner.graph.outputs.iter().any(|o| o.name == name) {
            inner.errors.push(BuildError::DuplicateName(name.to_owned()));
        }
        if inner.is_foreign(value) {
            inner.errors.push(BuildError::ForeignValue { node: name.to_owned(), operand: 0 });
        } else if let Some(value) = value.id {
            inner.graph.outputs.push(Output { name: name.to_owned(), value });
        }
    }

    /// After every run, (part of) a state becomes (part of) an output declared before.
    pub fn feed(&self, output: &str, state: Value, kind: FeedKind) {
        let mut inner = self.inner.borrow_mut();
        if inner.is_foreign(state) {
            let node = format!("the feed of `{output}`");
            return inner.errors.push(BuildError::ForeignValue { node, operand: 1 });
        }
        let Some(state) = state.id else { return };
        match inner.graph.outputs.iter().position(|o| o.name == output) {
            Some(output) => inner.graph.feeds.push(Feed { output, state, kind }),
            None => {
                let state = inner.graph.values.get(state.index()).map_or(String::new(), |v| v.name.clone());
                let reason = "there is no such output; declare it before the feed".to_owned();
                inner.errors.push(BuildError::Feed { output: output.to_owned(), state, reason });
            }
        }
    }

    /// Names made inside begin with `scope.`; the plan counts levels per layer by these names.
    pub fn scoped<R>(&self, scope: &str, body: impl FnOnce(&GraphBuilder) -> R) -> R {
        self.inner.borrow_mut().scope.push(scope.to_owned());
        let result = body(self);
        self.inner.borrow_mut().scope.pop();
        result
    }

    /// The same graph under a handle that gives its name (inside the current scope) to the first node made by an op
    /// method of the handle. Nodes made by `self` meanwhile, such as operands written inline, keep their own names.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// let g = GraphBuilder::new("g");
    /// let x = g.input("x", f32([4]));
    /// g.output("y", g.named("total").add(g.mul(x, x), x));
    /// let graph = g.build()?;
    /// assert!(graph.find("total").is_some() && graph.find("mul").is_some());
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[must_use = "the name belongs to the handle that is returned"]
    pub fn named(&self, name: &str) -> GraphBuilder {
        GraphBuilder { inner: Rc::clone(&self.inner), next_name: RefCell::new(Some(name.to_owned())) }
    }

    /// Applies any op to operands that are all there; the result is its first value.
    pub fn apply(&self, op: impl Into<Op>, inputs: &[Value]) -> Value {
        let inputs: Vec<Option<Value>> = inputs.iter().map(|&v| Some(v)).collect();
        self.apply_all(op, &inputs)[0]
    }

    /// Applies any op; the results are all its values (one invalid value if there is a mistake).
    pub fn apply_all(&self, op: impl Into<Op>, inputs: &[Option<Value>]) -> Vec<Value> {
        let op = op.into();
        let mut inner = self.inner.borrow_mut();
        let base = self.next_name.take().unwrap_or_else(|| op.name().to_owned());
        let scoped = inner.scope.iter().chain([&base]).map(String::as_str).collect::<Vec<_>>().join(".");
        inner.add(op, scoped, inputs)
    }

    /// The type of a value; none if it came out of a mistake.
    pub fn type_of(&self, value: Value) -> Option<ValueType> {
        let inner = self.inner.borrow();
        let own = value.id.filter(|_| !inner.is_foreign(value));
        own.and_then(|v| inner.graph.values.get(v.index())).map(|v| v.ty.clone())
    }

    /// The symbols so far; none while the builder is being asked something else.
    pub(crate) fn symbols(&self) -> Option<SymbolTable> {
        self.inner.try_borrow().ok().map(|inner| inner.graph.symbols.clone())
    }

    /// The extent of an axis as an expression. An axis that the value does not have is a mistake of the graph, told by
    /// [`GraphBuilder::build`]; of a value that came out of a mistake there is nothing more to tell.
    pub fn dim_of(&self, value: Value, axis: usize) -> DimExpr {
        let Some(ty) = self.type_of(value) else {
            self.refuse_foreign("dim_of", value);
            return DimExpr::constant(1);
        };
        if let Some(extent) = ty.shape.get(axis) {
            return extent.clone();
        }
        let axis = i64::try_from(axis).unwrap_or(i64::MAX);
        self.refuse(value, "dim_of", OpError::AxisOutOfRange { axis, rank: ty.shape.len() });
        DimExpr::constant(1)
    }

    /// A dynamic scalar as a variable of feeds and of other scalars' advances. Any other value is a mistake of the graph,
    /// told by [`GraphBuilder::build`], and so is the use of a scalar of a float dtype.
    pub fn scalar_expr(&self, scalar: Value) -> DimExpr {
        if self.type_of(scalar).is_none() {
            self.refuse_foreign("scalar_expr", scalar);
            return DimExpr::constant(0);
        }
        let position = self.inner.borrow().graph.scalars().iter().position(|s| Some(*s) == scalar.id);
        if let Some(i) = position {
            return DimExpr::scalar(ScalarId(i as u32));
        }
        let reason = "it is not a dynamic scalar".to_owned();
        self.refuse(scalar, "scalar_expr", OpError::Invalid(reason));
        DimExpr::constant(0)
    }

    /// A mistake in what was asked of a value of this builder.
    fn refuse(&self, value: Value, op: &'static str, source: OpError) {
        let mut inner = self.inner.borrow_mut();
        let info = value.id.and_then(|v| inner.graph.values.get(v.index()));
        let node = info.map_or_else(String::new, |v| v.name.clone());
        inner.errors.push(BuildError::Op { node, op, source });
    }

    /// A mistake where a value is another builder's; one that came out of a mistake causes no further ones.
    fn refuse_foreign(&self, node: &str, value: Value) {
        let mut inner = self.inner.borrow_mut();
        if inner.is_foreign(value) {
            inner.errors.push(BuildError::ForeignValue { node: node.to_owned(), operand: 0 });
        }
    }

    /// The finished graph, or every mistake: of nodes, outputs and feeds by themselves, or, where there is none, of how they
    /// go together (states, feeds, scalars).
    ///
    /// # Errors
    /// [`BuildErrors`], never empty.
    pub fn build(self) -> Result<Graph, BuildErrors> {
        // Handles of `named` that are still there are left with an empty graph.
        let inner = self.inner.replace(Inner::new("", SymbolTable::default()));
        let Inner { graph, mut errors, .. } = inner;
        if errors.is_empty() {
            errors = verify::program_rules(&graph);
        }
        if errors.is_empty() { Ok(graph) } else { Err(BuildErrors(errors)) }
    }

    fn leaf(&self, name: &str, op: Op, inputs: &[Value]) -> Value {
        let mut inner = self.inner.borrow_mut();
        if name.is_empty() {
            inner.errors.push(BuildError::EmptyName(op.name()));
        }
        if inner.taken.contains(name) {
            inner.errors.push(BuildError::DuplicateName(name.to_owned()));
        }
        let inputs: Vec<Option<Value>> = inputs.iter().map(|&v| Some(v)).collect();
        inner.add(op, name.to_owned(), &inputs)[0]
    }

    fn resolve(&self, spec: TypeSpec) -> ValueType {
        let mut inner = self.inner.borrow_mut();
        let shape = spec.dims.into_iter().map(|d| inner.resolve_dim(d)).collect::<Vec<_>>();
        ValueType::new(spec.dtype, shape)
    }
}

impl Inner {
    fn new(name: &str, symbols: SymbolTable) -> Inner {
        let graph = Graph {
            name: name.to_owned(),
            symbols,
            nodes: Vec::new(),
            values: Vec::new(),
            outputs: Vec::new(),
            feeds: Vec::new(),
            constraints: Vec::new(),
        };
        Inner { graph, id: 0, taken: BTreeSet::new(), scope: Vec::new(), errors: Vec::new() }
    }

    /// Whether a value came from another builder.
    fn is_foreign(&self, value: Value) -> bool {
        value.id.is_some_and(|id| value.graph != self.id || id.index() >= self.graph.values.len())
    }

    fn add(&mut self, op: Op, name: String, inputs: &[Option<Value>]) -> Vec<Value> {
        for (operand, v) in inputs.iter().enumerate() {
            match v {
                Some(v) if self.is_foreign(*v) => {
                    self.errors.push(BuildError::ForeignValue { node: name, operand });
                    return vec![Value::NONE];
                }
                Some(v) if v.id.is_none() => return vec![Value::NONE],
                _ => {}
            }
        }
        let mut ids: SmallVec<[Option<ValueId>; 4]> = inputs.iter().map(|v| v.and_then(|v| v.id)).collect();
        while ids.last() == Some(&None) {
            ids.pop();
        }
        let graph = &self.graph;
        let inferred =
            infer_node(&op, &name, &ids, &graph.symbols, &|v| graph.ty(v), &|v| graph.constant_data(v));
        match inferred {
            Ok((types, constraints)) => {
                for c in constraints {
                    if !self.graph.constraints.contains(&c) {
                        self.graph.constraints.push(c);
                    }
                }
                let first = unique_name(&mut self.taken, name);
                let mut names = vec![first.clone()];
                names.extend((1..types.len()).map(|i| unique_name(&mut self.taken, format!("{first}.{i}"))));
                let values = self.graph.push_node(op, ids, types.into_vec(), names);
                values.into_iter().map(|v| Value { id: Some(v), graph: self.id }).collect()
            }
            Err(source) => {
                self.errors.push(BuildError::Op { node: name, op: op.name(), source });
                vec![Value::NONE]
            }
        }
    }

    fn resolve_dim(&mut self, spec: DimSpec) -> DimExpr {
        let (name, range, multiple_of) = match spec {
            DimSpec::Expr(e) => return e,
            DimSpec::Symbol { name, range, multiple_of } => (name, range, multiple_of),
        };
        let symbol = Symbol { name: name.clone(), min: *range.start(), max: *range.end(), multiple_of };
        let mut wrong = |reason: &str| {
            self.errors.push(BuildError::Symbol { name: name.clone(), reason: reason.to_owned() });
            DimExpr::constant(1)
        };
        if name.is_empty() {
            return wrong("it needs a name");
        }
        if symbol.min > symbol.max || multiple_of == 0 || symbol.max > i64::MAX as u64 {
            return wrong("its range is empty, its step is 0, or its end passes 2^63");
        }
        match self.graph.symbols.find(&name) {
            None => DimExpr::symbol(self.graph.symbols.push(symbol)),
            Some(id) if self.graph.symbols.get(id) == Some(&symbol) => DimExpr::symbol(id),
            Some(_) => wrong("it is declared twice with different ranges"),
        }
    }
}

/// A rank-0 tensor nearest to a value.
pub fn scalar_tensor(dtype: DType, value: f64) -> Tensor {
    let tensor = match dtype {
        DType::F32 => Tensor::new(&[value as f32], &[]),
        DType::F16 => Tensor::new(&[half::f16::from_f64(value)], &[]),
        DType::BF16 => Tensor::new(&[half::bf16::from_f64(value)], &[]),
        DType::I8 => Tensor::new(&[value as i8], &[]),
        DType::U8 => Tensor::new(&[value as u8], &[]),
        DType::I16 => Tensor::new(&[value as i16], &[]),
        DType::U16 => Tensor::new(&[value as u16], &[]),
        DType::I32 => Tensor::new(&[value as i32], &[]),
        DType::U32 => Tensor::new(&[value as u32], &[]),
        DType::I64 => Tensor::new(&[value as i64], &[]),
        DType::U64 => Tensor::new(&[value as u64], &[]),
        DType::Bool => Tensor::bools(&[value != 0.0], &[]),
    };
    tensor.expect("one element of rank 0")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::f32;

    /// A name went to the first node made behind `named`, which was an operand written inline.
    #[test]
    fn a_name_belongs_to_its_handle() {
        let g = GraphBuilder::new("g");
        let x = g.input("x", f32([4u64]));
        let total = g.named("total").add(g.mul(x, x), g.named("root").sqrt(x));
        let twice = g.named("twice");
        let (first, second) = g.scoped("s", |g| (twice.neg(x), g.neg(x)));
        let third = twice.neg(x);
        g.output("y", total);
        let graph = g.build().expect("a graph");
        let name = |v: Value| graph.value(v.id.expect("no mistake")).name.as_str();
        assert_eq!(
            [name(total), name(first), name(second), name(third)],
            ["total", "s.twice", "s.neg", "neg"]
        );
        assert!(["mul", "root"].iter().all(|n| graph.find(n).is_some()), "{graph:?}");
    }
}
