//! The builder: methods take `&self` and collect mistakes; [`GraphBuilder::build`] returns all of them at once.

mod alike;
mod composition;
mod inner;
mod mistake;

pub(crate) use composition::{Composition, in_range};
pub use mistake::{BuildErrors, CallSite, Mistake};

use crate::conditions::Conditions;
use crate::entity::{NodeId, ValueId};
use crate::error::{BuildError, OpError};
use crate::graph::{Graph, Output};
use crate::ops::source::{RandomSource, stream_of};
use crate::ops::{Constant, Input, Op, Param, Scalar, State};
use crate::place::Place;
use crate::shape::{TypeSpec, ValueType};
use crate::state::{Feed, FeedKind};
use crate::verify;
use inner::Inner;
use pumice_types::{DType, DimExpr, ScalarId, SymbolTable, Tensor};
use std::cell::RefCell;
use std::panic::Location;
use std::rc::Rc;
use std::sync::Arc;

/// A value of a builder. Copy it around freely; a value that came out of a mistake is accepted everywhere and causes
/// no further ones. [`GraphBuilder::check`] tells which mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value {
    /// The value, or the number of the mistake it came out of.
    id: Result<ValueId, usize>,
    /// Which builder's, by its address: no two that live at the same time have the same.
    graph: usize,
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

/// The results of a node that has so many, or its one mistake for each.
pub(crate) fn all_or_mistake<const N: usize>(results: &[Value]) -> [Value; N] {
    std::array::from_fn(|i| results.get(i).copied().unwrap_or(results[0]))
}

impl Graph {
    /// The finished graph, an imported one too, open again: values are found by their names
    /// ([`GraphBuilder::find`]), outputs stay and more may be added.
    ///
    /// ```
    /// use pumice_ir::{GraphBuilder, f32};
    /// let g = GraphBuilder::new("g");
    /// g.output("y", g.tanh(g.param("w", f32([3]))));
    /// let g = g.build()?.edit();
    /// let (w, y) = (g.find("w").expect("a param"), g.find("tanh").expect("a value"));
    /// g.output("dw", g.grad(g.reduce_sum(y, &[0], false), &[w])[0]);
    /// assert_eq!(g.build()?.outputs().len(), 2);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    pub fn edit(&self) -> GraphBuilder {
        let g = GraphBuilder::new(&self.name);
        g.inner.borrow_mut().reopen(self.clone());
        g
    }
}

impl Value {
    /// The value, unless it came out of a mistake.
    pub(crate) fn valid(self) -> Option<ValueId> {
        self.id.ok()
    }
}

impl GraphBuilder {
    /// An empty graph of that name.
    pub fn new(name: &str) -> GraphBuilder {
        GraphBuilder::with_symbols(name, SymbolTable::default())
    }

    /// An empty graph that already has these symbols, by the same ids. Whoever runs it binds all of them.
    pub fn with_symbols(name: &str, symbols: SymbolTable) -> GraphBuilder {
        let inner = Rc::new(RefCell::new(Inner::new(name, symbols.all_bound())));
        inner.borrow_mut().id = Rc::as_ptr(&inner).addr();
        GraphBuilder { inner, next_name: RefCell::new(None) }
    }

    /// An empty graph that is a part of another: it has its symbols, by the same ids, and what that graph's conditions
    /// say holds here, without being conditions of the part.
    pub fn part_of(name: &str, graph: &Graph) -> GraphBuilder {
        let g = GraphBuilder::with_symbols(name, graph.symbols().clone());
        if !graph.constraints().is_empty() {
            g.inner.borrow_mut().conditions = Conditions::of(graph.constraints());
        }
        g
    }

    /// Reserves capacity for so many more nodes with one value each: a small graph then never grows, of which there may
    /// be many.
    pub fn reserve(&self, nodes: usize) {
        let graph = &mut self.inner.borrow_mut().graph;
        graph.nodes.reserve_exact(nodes);
        graph.values.reserve_exact(nodes);
    }

    /// Loops that are built from now on, and whose turns are known and at most so many, have their turns built one
    /// after the other: 16 before it is called. Of more turns, and of 0 here, the body is recorded once and replayed.
    pub fn unroll(&self, most: u64) {
        self.inner.borrow_mut().unroll = most;
    }

    /// Whether so many turns are built one after the other.
    pub(crate) fn unrolls(&self, turns: i64) -> bool {
        u64::try_from(turns).is_ok_and(|turns| turns <= self.inner.borrow().unroll)
    }

    /// A tensor the caller gives for every run. No extent of it is one that the run finds.
    #[track_caller]
    pub fn input(&self, name: &str, ty: impl Into<TypeSpec>) -> Value {
        self.typed_leaf(name, ty.into(), |ty| Input { ty }.into())
    }

    /// A stored tensor, set by name.
    #[track_caller]
    pub fn param(&self, name: &str, ty: impl Into<TypeSpec>) -> Value {
        self.typed_leaf(name, ty.into(), |ty| Param { ty }.into())
    }

    /// A persistent tensor that begins as zeros.
    #[track_caller]
    pub fn state(&self, name: &str, ty: impl Into<TypeSpec>) -> Value {
        self.typed_leaf(name, ty.into(), |ty| State { ty, capacity_axis: None, given: false }.into())
    }

    /// A persistent tensor of which only a prefix along `axis` is valid: a cache. Begins as zeros.
    #[track_caller]
    pub fn cache(&self, name: &str, ty: impl Into<TypeSpec>, axis: i64) -> Value {
        self.typed_leaf(name, ty.into(), |ty| State { ty, capacity_axis: Some(axis), given: false }.into())
    }

    /// A persistent tensor that begins as the value of a param or constant.
    #[track_caller]
    pub fn state_from(&self, name: &str, init: Value) -> Value {
        // A mistaken or foreign value is reported, or passed on, by the node itself; any type will do until then.
        let ty = self.type_of(init).unwrap_or(ValueType::new(DType::F32, []));
        self.leaf(name, State { ty, capacity_axis: None, given: false }.into(), &[init])
    }

    /// A persistent tensor that begins as what is set by its name, as a param is: a weight that runs update. A run
    /// before it is set is an error.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// let g = GraphBuilder::new("g");
    /// let w = g.state_given("w", f32([3]));
    /// let now = g.state_read(w);
    /// g.state_write(w, g.mul(now, g.input("factor", f32([1]))));
    /// g.output("w before", now);
    /// # assert!(g.build().is_ok());
    /// ```
    #[track_caller]
    pub fn state_given(&self, name: &str, ty: impl Into<TypeSpec>) -> Value {
        self.typed_leaf(name, ty.into(), |ty| State { ty, capacity_axis: None, given: true }.into())
    }

    /// A number that may change from run to run: rank 0, i32, u32 or f32, within `min..=max`.
    #[track_caller]
    pub fn scalar(&self, name: &str, ty: impl Into<TypeSpec>, min: f64, max: f64, default: f64) -> Value {
        self.typed_leaf(name, ty.into(), |ty| Scalar { ty, min, max, default, advance: None }.into())
    }

    /// An i32 scalar to which `by` is added on the device at the end of every replay.
    #[track_caller]
    pub fn scalar_advancing(&self, name: &str, min: i32, max: i32, default: i32, by: DimExpr) -> Value {
        let ty = ValueType::new(DType::I32, []);
        let (min, max, default) = (f64::from(min), f64::from(max), f64::from(default));
        self.leaf(name, Scalar { ty, min, max, default, advance: Some(by) }.into(), &[])
    }

    /// Data written in the graph.
    #[track_caller]
    pub fn constant(&self, data: Tensor) -> Value {
        self.apply(Constant { data: Arc::new(data) }, &[])
    }

    /// A rank-0 constant of a float or integer dtype; integers and 16-bit floats take the nearest value they can hold.
    #[track_caller]
    pub fn constant_scalar(&self, dtype: DType, value: f64) -> Value {
        self.constant(scalar_tensor(dtype, value))
    }

    /// Names a result. Order of declaration is order of return; a value may be several outputs.
    #[track_caller]
    pub fn output(&self, name: &str, value: Value) {
        let site = Location::caller();
        let mut inner = self.inner.borrow_mut();
        if name.is_empty() {
            inner.mistake(BuildError::EmptyName("an output"), site);
        }
        if inner.outputs.contains_key(name) {
            inner.mistake(BuildError::DuplicateName(name.to_owned()), site);
        }
        if inner.is_foreign(value) {
            inner.mistake(BuildError::ForeignValue { node: name.to_owned(), operand: 0 }, site);
        } else if let Ok(value) = value.id {
            let index = inner.graph.outputs.len();
            // Of two with one name, which is a mistake, feeds take the first.
            inner.outputs.entry(name.to_owned()).or_insert(index);
            inner.graph.outputs.push(Output { name: name.to_owned(), value });
        } else {
            inner.lost.insert(name.to_owned());
        }
    }

    /// After every run, (part of) a state becomes (part of) an output declared before.
    #[track_caller]
    pub fn feed(&self, output: &str, state: Value, kind: FeedKind) {
        let site = Location::caller();
        let mut inner = self.inner.borrow_mut();
        if inner.is_foreign(state) {
            let node = format!("the feed of `{output}`");
            inner.mistake(BuildError::ForeignValue { node, operand: 1 }, site);
            return;
        }
        let Ok(state) = state.id else { return };
        inner.fed.push((output.to_owned(), site));
        match inner.outputs.get(output).copied() {
            Some(output) => inner.graph.feeds.push(Feed { output, state, kind, place: Place::Source(site) }),
            None if inner.lost.contains(output) => {}
            None => {
                let state =
                    inner.graph.values.get(state.index()).map_or(String::new(), |v| v.name.to_string());
                let reason = "there is no such output; declare it before the feed".to_owned();
                inner.mistake(BuildError::Feed { output: output.to_owned(), state, reason }, site);
            }
        }
    }

    /// Where this output, one bool that was declared before, is true after a replay, the later replays of the same
    /// submission do nothing: they write no state and no output, report nothing and advance no scalar. The host learns
    /// how many replays counted; the one that stopped does. Every submission begins anew.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// # use pumice_types::DType;
    /// let g = GraphBuilder::new("g");
    /// let sum = g.reduce_sum(g.input("x", f32([4])), &[0], false);
    /// g.output("enough", g.greater(sum, g.constant_scalar(DType::F32, 1.0)));
    /// g.stop("enough");
    /// assert_eq!(g.build()?.stop(), Some(0));
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn stop(&self, output: &str) {
        let site = Location::caller();
        let mut inner = self.inner.borrow_mut();
        let wrong = |reason: &str| BuildError::Stop { output: output.to_owned(), reason: reason.to_owned() };
        match inner.outputs.get(output).copied() {
            Some(_) if inner.graph.stop.is_some() => _ = inner.mistake(wrong("another output does"), site),
            Some(at) => {
                inner.stops = Some(site);
                inner.graph.stop = Some(at);
            }
            None if inner.lost.contains(output) => {}
            None => _ = inner.mistake(wrong("there is no such output; declare it first"), site),
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
    /// method of the handle. Nodes made by `self` meanwhile, such as operands written inline, keep their own names. A
    /// name that is taken gets a number, as nodes without a name do, which are called by their op: `total_2`,
    /// `total_3`, … Mistakes and plans name nodes so.
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
    #[track_caller]
    pub fn apply(&self, op: impl Into<Op>, inputs: &[Value]) -> Value {
        let inputs: Vec<Option<Value>> = inputs.iter().map(|&v| Some(v)).collect();
        self.apply_all(op, &inputs)[0]
    }

    /// Applies any op; the results are all its values (one invalid value if there is a mistake).
    #[track_caller]
    pub fn apply_all(&self, op: impl Into<Op>, inputs: &[Option<Value>]) -> Vec<Value> {
        let op = op.into();
        let name = self.next_node(op.name());
        self.inner.borrow_mut().add(op, name, inputs, Location::caller())
    }

    /// A node that draws random numbers from `stream`, or from one that its final name gives.
    #[track_caller]
    pub(crate) fn apply_streamed(
        &self,
        name: &str,
        stream: Option<u32>,
        op: impl FnOnce(u64) -> Op,
        inputs: &[Option<Value>],
    ) -> Vec<Value> {
        let name = self.next_node(name);
        let name = self.inner.borrow_mut().names.unique(name.into());
        // The op may ask the builder something.
        let op = op(stream.map_or_else(|| stream_of(&name), u64::from));
        self.inner.borrow_mut().add_named(op, name, inputs, Location::caller())
    }

    /// A new symbol of the scope's name whose value the program finds.
    pub(crate) fn found_symbol(&self, max: u64) -> DimExpr {
        let mut inner = self.inner.borrow_mut();
        let symbol = inner.graph.symbols.new_found(&inner.scope.join("."), max);
        DimExpr::symbol(inner.graph.symbols.push(symbol))
    }

    /// A u32 scalar of all words, 0 until it is set.
    #[track_caller]
    pub(crate) fn word_scalar(&self, name: &str, advance: Option<DimExpr>) -> Value {
        let ty = ValueType::new(DType::U32, []);
        self.leaf(name, Scalar { ty, min: 0.0, max: f64::from(u32::MAX), default: 0.0, advance }.into(), &[])
    }

    /// The graph's own source of random numbers, once it is declared.
    pub(crate) fn own_source(&self) -> Option<RandomSource> {
        self.inner.borrow().source
    }

    pub(crate) fn keep_source(&self, source: RandomSource) {
        self.inner.borrow_mut().source = Some(source);
    }

    /// As [`GraphBuilder::apply`], of a method whose op has another name: the node is called as the method.
    #[track_caller]
    pub(crate) fn apply_as(&self, method: &str, op: impl Into<Op>, inputs: &[Value]) -> Value {
        self.next_name.borrow_mut().get_or_insert_with(|| method.to_owned());
        self.apply(op, inputs)
    }

    /// A node whose op states the types of its results; without a name of its own it has this one.
    #[track_caller]
    pub(crate) fn apply_typed(
        &self,
        name: &str,
        results: Vec<TypeSpec>,
        op: impl FnOnce(Vec<ValueType>) -> Op,
        inputs: &[Value],
    ) -> Vec<Value> {
        let (site, count) = (Location::caller(), results.len().max(1));
        self.next_name.borrow_mut().get_or_insert_with(|| name.to_owned());
        // Every wrong symbol is a mistake of its own; the first stands for the values.
        let types: Vec<_> = results.into_iter().map(|ty| self.inner.borrow_mut().resolve(ty, site)).collect();
        let mut values = match types.into_iter().collect::<Result<Vec<_>, _>>() {
            Ok(types) => {
                let inputs: Vec<Option<Value>> = inputs.iter().map(|&v| Some(v)).collect();
                self.apply_all(op(types), &inputs)
            }
            Err(mistake) => vec![Value { id: Err(mistake), graph: self.inner.borrow().id }],
        };
        // A mistake yields one invalid value; callers take the results apart by number.
        let first = values[0];
        values.resize(count, first);
        values
    }

    /// A mistake in a call of a method; the value that came out of it.
    #[track_caller]
    pub(crate) fn wrong_call(&self, method: &'static str, source: OpError) -> Value {
        let node = self.next_node(method);
        self.inner.borrow_mut().wrong(BuildError::Op { node, op: method, source }, Location::caller())[0]
    }

    /// The name of the node made next, within the scopes: that of [`GraphBuilder::named`], else this.
    fn next_node(&self, default: &str) -> String {
        let name = self.peek_next_node(default);
        self.next_name.take();
        name
    }

    /// As [`GraphBuilder::next_node`], for who makes none yet.
    pub(crate) fn peek_next_node(&self, default: &str) -> String {
        let base = self.next_name.borrow().clone().unwrap_or_else(|| default.to_owned());
        let inner = self.inner.borrow();
        inner.scope.iter().chain([&base]).map(String::as_str).collect::<Vec<_>>().join(".")
    }

    /// Whether a value came out of a mistake, so that the place of a mistake can be found before
    /// [`GraphBuilder::build`] tells all of them.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// let g = GraphBuilder::new("g");
    /// let sum = g.add(g.input("x", f32([2])), g.input("y", f32([3])));
    /// let mistake = g.check(g.relu(sum)).unwrap_err();
    /// assert!(mistake.to_string().starts_with("add: shapes [2] and [3] do not broadcast, at "));
    /// ```
    ///
    /// # Errors
    /// The mistake: its own, or that of the first operand that came out of one.
    pub fn check(&self, value: Value) -> Result<(), Mistake> {
        let inner = self.inner.borrow();
        match value.id {
            Err(number) if value.graph == inner.id => inner.errors.get(number).cloned().map_or(Ok(()), Err),
            _ if inner.is_foreign(value) => {
                let error = BuildError::ForeignValue { node: "the value".to_owned(), operand: 0 };
                Err(Mistake { error, site: None })
            }
            _ => Ok(()),
        }
    }

    /// Every mistake so far that a call of its own showed. [`GraphBuilder::build`] also looks at how nodes go together.
    pub fn mistakes(&self) -> Vec<Mistake> {
        self.inner.borrow().errors.clone()
    }

    /// Looks at the graph so far.
    pub(crate) fn look<R>(&self, at: impl FnOnce(&Graph) -> R) -> R {
        at(&self.inner.borrow().graph)
    }

    /// The places of the true elements of a mask, where they were made already.
    pub(crate) fn known_places(&self, mask: Value) -> Option<Value> {
        self.inner.borrow().places.get(&mask.id.ok()?).copied()
    }

    /// Remembers the places of the true elements of a mask.
    pub(crate) fn know_places(&self, mask: Value, places: Value) {
        if let (Ok(id), Ok(_)) = (mask.id, places.id) {
            self.inner.borrow_mut().places.insert(id, places);
        }
    }

    /// The type of a value; none if it came out of a mistake.
    pub fn type_of(&self, value: Value) -> Option<ValueType> {
        let inner = self.inner.borrow();
        let own = value.id.ok().filter(|_| !inner.is_foreign(value));
        own.and_then(|v| inner.graph.values.get(v.index())).map(|v| v.ty.clone())
    }

    /// A value of the graph so far as one of this builder: of a graph that was opened, whose values keep their ids, the
    /// way to them without a search by name.
    pub fn value_of(&self, id: ValueId) -> Value {
        Value { id: Ok(id), graph: self.inner.borrow().id }
    }

    /// As [`GraphBuilder::apply_all`], under a name that is not of the scope.
    pub(crate) fn apply_named(&self, op: Op, name: &str, inputs: &[Option<Value>]) -> Vec<Value> {
        self.inner.borrow_mut().add(op, name.to_owned(), inputs, Location::caller())
    }

    /// What `body` gives; the nodes that it makes are told to be of this place.
    pub(crate) fn at_site<R>(&self, site: CallSite, body: impl FnOnce(&GraphBuilder) -> R) -> R {
        let before = self.inner.borrow_mut().made_at.replace(site);
        let result = body(self);
        self.inner.borrow_mut().made_at = before;
        result
    }

    /// Gives a node another op, which has these results more.
    pub(crate) fn become_op(&self, node: NodeId, op: Op, more: Vec<(ValueType, String)>) -> Vec<Value> {
        let mut inner = self.inner.borrow_mut();
        let id = inner.id;
        let values = inner.become_op(node, op, more);
        values.into_iter().map(|v| Value { id: Ok(v), graph: id }).collect()
    }

    /// A mistake of a graph at a place; the value that came out of it.
    pub(crate) fn wrong_build(&self, error: BuildError, site: CallSite) -> Value {
        self.inner.borrow_mut().wrong(error, site)[0]
    }

    /// The value of that name, if there is one: of a graph that was opened, the way to its values.
    pub fn find(&self, name: &str) -> Option<Value> {
        let inner = self.inner.borrow();
        inner.graph.find(name).map(|id| Value { id: Ok(id), graph: inner.id })
    }

    /// A leaf of a graph that is built already.
    #[track_caller]
    pub(crate) fn leaf_again(&self, name: &str, op: Op) -> Value {
        self.leaf(name, op, &[])
    }

    /// The symbols so far; none while the builder is being asked something else.
    pub fn symbols(&self) -> Option<SymbolTable> {
        self.inner.try_borrow().ok().map(|inner| inner.graph.symbols.clone())
    }

    /// The extent of an axis as an expression. An axis that the value does not have is a mistake of the graph, reported
    /// by [`GraphBuilder::build`]; of a value that came out of a mistake there is nothing more to tell.
    #[track_caller]
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

    /// A dynamic scalar as a variable of feeds and of other scalars' advances. Any other value is a mistake of the
    /// graph, reported by [`GraphBuilder::build`], and so is the use of a scalar of a float dtype.
    #[track_caller]
    pub fn scalar_expr(&self, scalar: Value) -> DimExpr {
        if self.type_of(scalar).is_none() {
            self.refuse_foreign("scalar_expr", scalar);
            return DimExpr::constant(0);
        }
        let position = self.inner.borrow().graph.scalars().iter().position(|s| Ok(*s) == scalar.id);
        if let Some(i) = position {
            return DimExpr::scalar(ScalarId(i as u32));
        }
        let reason = "it is not a dynamic scalar".to_owned();
        self.refuse(scalar, "scalar_expr", OpError::Invalid(reason));
        DimExpr::constant(0)
    }

    /// A mistake in what was asked of a value of this builder.
    #[track_caller]
    fn refuse(&self, value: Value, op: &'static str, source: OpError) {
        let site = Location::caller();
        let mut inner = self.inner.borrow_mut();
        let info = value.id.ok().and_then(|v| inner.graph.values.get(v.index()));
        let node = info.map_or_else(String::new, |v| v.name.to_string());
        inner.mistake(BuildError::Op { node, op, source }, site);
    }

    /// A mistake where a value is another builder's; one that came out of a mistake causes no further ones.
    #[track_caller]
    fn refuse_foreign(&self, node: &str, value: Value) {
        let site = Location::caller();
        let mut inner = self.inner.borrow_mut();
        if inner.is_foreign(value) {
            inner.mistake(BuildError::ForeignValue { node: node.to_owned(), operand: 0 }, site);
        }
    }

    /// The finished graph, or every mistake: of nodes, outputs and feeds by themselves, or, where there is none, of how
    /// they go together (states, feeds, scalars).
    ///
    /// # Errors
    /// [`BuildErrors`], never empty.
    pub fn build(self) -> Result<Graph, BuildErrors> {
        // Handles of `named` that are still there are left with an empty graph.
        let inner = self.inner.replace(Inner::new("", SymbolTable::default()));
        if !inner.errors.is_empty() {
            return Err(BuildErrors(inner.errors));
        }
        let at_its_site = |error: BuildError| Mistake { site: inner.site_of(&error), error };
        let errors: Vec<Mistake> = verify::program_rules(&inner.graph).into_iter().map(at_its_site).collect();
        if !errors.is_empty() {
            return Err(BuildErrors(errors));
        }
        let sites = inner.sites();
        let mut graph = inner.graph;
        graph.sites = sites;
        graph.renumber();
        graph.shrink();
        Ok(graph)
    }

    #[track_caller]
    fn typed_leaf(&self, name: &str, spec: TypeSpec, op: impl FnOnce(ValueType) -> Op) -> Value {
        let site = Location::caller();
        let ty = self.inner.borrow_mut().resolve(spec, site);
        match ty {
            Ok(ty) => self.leaf(name, op(ty), &[]),
            Err(mistake) => Value { id: Err(mistake), graph: self.inner.borrow().id },
        }
    }

    #[track_caller]
    fn leaf(&self, name: &str, op: Op, inputs: &[Value]) -> Value {
        let site = Location::caller();
        let mut inner = self.inner.borrow_mut();
        if name.is_empty() {
            inner.mistake(BuildError::EmptyName(op.name()), site);
        }
        if inner.names.contain(name) {
            inner.mistake(BuildError::DuplicateName(name.to_owned()), site);
        }
        let inputs: Vec<Option<Value>> = inputs.iter().map(|&v| Some(v)).collect();
        inner.add(op, name.to_owned(), &inputs, site)[0]
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

    /// A name went to the first node made after `named`, which was an operand written inline.
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
        let name = |v: Value| graph.value(v.id.expect("no mistake")).name.to_string();
        assert_eq!(
            [name(total), name(first), name(second), name(third)],
            ["total", "s.twice", "s.neg", "neg"]
        );
        assert!(["mul", "root"].iter().all(|n| graph.find(n).is_some()), "{graph:?}");
    }
}
