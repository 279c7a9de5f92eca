//! What a lowering sees: where values are, and the means to add steps.

use crate::draft::{Draft, DraftContent, DraftStep, Home, Located};
use crate::error::Unsupported;
use crate::meaning::{Meanings, StepMeaning};
use crate::scalars::Bodies;
use crate::select::Selection;
use crate::views::DenseViews;
use crate::{blocks, frame};
use indexmap::IndexSet;
use pumice_ir::{Graph, NodeId, Op, ValueId, ValueType};
use pumice_plan::kernel::{ArgValue, FloatStorage};
use pumice_plan::{Frame, FrameBuilder, FrameSlot, Grid, JoinedParams, Storage, View, dense_strides};
use pumice_types::{DType, DimExpr, ScalarId, Target};
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Group counts of one grid dimension that every device takes.
pub const MAX_GROUPS: u32 = 65_535;

/// Why one node cannot be lowered.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal(pub String);

impl<S: Into<String>> From<S> for Refusal {
    fn from(reason: S) -> Refusal {
        Refusal(reason.into())
    }
}

/// Result of lowering a node.
pub type LowerResult<T = ()> = Result<T, Refusal>;

/// What the plan's layout says of a graph's leaves.
#[derive(Clone, Debug)]
pub struct Leaves<'g> {
    /// For each constant of the graph, in the order of its leaves, its index in the plan.
    pub constants: Vec<u32>,
    /// Index of the first constant that lowering makes.
    pub hidden: u32,
    /// Params that lie side by side.
    pub joined: &'g [JoinedParams],
}

/// How often steps read and write a content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Touched {
    /// Uses that read.
    pub reads: u32,
    /// Uses that write.
    pub writes: u32,
}

/// What lowering made for one range of the symbols.
pub struct Made {
    /// Steps and buffers.
    pub draft: Draft,
    /// The frame.
    pub frame: Frame,
    /// Where the status block is.
    pub status: Located,
    /// Names of the ops in the status block.
    pub status_ops: IndexSet<String>,
    /// Conditions of bindings.
    pub checks: Vec<pumice_plan::RunCheck>,
    /// Constants that lowerings made.
    pub hidden: Vec<pumice_types::Tensor>,
}

/// Lowering in progress, for one range of the symbols.
pub struct LowerCx<'g> {
    /// The graph.
    pub graph: &'g Graph,
    /// What for.
    pub target: &'g Target,
    /// Which kernels are best on it.
    pub selection: &'g Selection,
    /// Steps and buffers so far.
    pub draft: Draft,
    /// The frame so far.
    pub frame: FrameBuilder,
    /// Names of the ops in the status block.
    pub status_ops: IndexSet<String>,
    /// Bindings conditions found by lowering.
    pub checks: Vec<pumice_plan::RunCheck>,
    /// Constants that lowerings made.
    pub hidden: Vec<pumice_types::Tensor>,
    /// Params that lie side by side.
    pub joined: &'g [JoinedParams],
    joined_contents: BTreeMap<u32, DraftContent>,
    constants: Vec<u32>,
    hidden_from: u32,
    users: Vec<SmallVec<[NodeId; 2]>>,
    places: Vec<Option<Located>>,
    /// By content, the values that were ever placed in it.
    placed: Vec<SmallVec<[ValueId; 4]>>,
    dense_views: DenseViews,
    /// By content, of the steps so far.
    touched: Vec<Touched>,
    /// For each leaf, its number among those of its kind.
    leaves: BTreeMap<ValueId, u32>,
    scalar_values: BTreeMap<ValueId, DimExpr>,
    /// By the content that was copied.
    dense_copies: BTreeMap<DraftContent, Vec<(Located, Located)>>,
    frame_content: DraftContent,
    status_content: DraftContent,
    meanings: Meanings<'g>,
    /// The expressions of elementwise nodes.
    pub bodies: Bodies<'g>,
    node: Option<NodeId>,
}

impl<'g> LowerCx<'g> {
    /// Nothing lowered yet. `status_ops` are the names that earlier ranges gave the status block: all ranges share
    /// them.
    pub fn new(
        graph: &'g Graph,
        target: &'g Target,
        selection: &'g Selection,
        leaves: Leaves<'g>,
        status_ops: IndexSet<String>,
    ) -> LowerCx<'g> {
        let mut draft = Draft::default();
        // Sizes of frame and status are known at the end; spans are fixed then.
        let word = ValueType::fixed(DType::U32, &[]);
        let frame_content = draft.add("frame", Home::Frame, &word, 0);
        let status_content = draft.add("status", Home::Status, &word, 0);
        LowerCx {
            graph,
            target,
            selection,
            draft,
            frame: FrameBuilder::new(),
            status_ops,
            checks: Vec::new(),
            hidden: Vec::new(),
            joined: leaves.joined,
            joined_contents: BTreeMap::new(),
            constants: leaves.constants,
            hidden_from: leaves.hidden,
            users: graph.users(),
            places: vec![None; graph.value_count()],
            placed: Vec::new(),
            dense_views: DenseViews::default(),
            touched: Vec::new(),
            leaves: leaf_numbers(graph),
            scalar_values: BTreeMap::new(),
            dense_copies: BTreeMap::new(),
            frame_content,
            status_content,
            meanings: Meanings::default(),
            bodies: Bodies::default(),
            node: None,
        }
    }

    /// What was made.
    pub fn finish(self) -> Made {
        Made {
            status: self.status(),
            draft: self.draft,
            frame: self.frame.build(),
            status_ops: self.status_ops,
            checks: self.checks,
            hidden: self.hidden,
        }
    }

    /// The content that params side by side are together. `one` is the content of one of them.
    pub fn joined_content(&mut self, set: u32, one: DraftContent, shape: &[DimExpr]) -> DraftContent {
        if let Some(&known) = self.joined_contents.get(&set) {
            return known;
        }
        let one = &self.draft.contents[one.0 as usize];
        let (name, ty) = (format!("{} and others", one.name), ValueType::new(one.ty.encoding, shape));
        let bytes = self.joined[set as usize].span.len.0;
        let content = self.draft.add(name, Home::Joined(set), &ty, bytes);
        self.joined_contents.insert(set, content);
        content
    }

    /// From now on steps are made for this node.
    pub fn begin(&mut self, node: NodeId) {
        self.node = Some(node);
    }

    /// From now on steps belong to no node: outputs, feeds.
    pub fn begin_ends(&mut self) {
        self.node = None;
    }

    /// The label of steps that are made now.
    pub fn origin(&self) -> Arc<str> {
        self.node
            .map_or_else(|| "io".into(), |n| Arc::clone(&self.graph.value(self.graph.node(n).output()).name))
    }

    /// A refusal with everything an error needs.
    pub fn unsupported(&self, id: NodeId, refusal: Refusal) -> Unsupported {
        let node = self.graph.node(id);
        let show = |v: ValueId| self.graph.ty(v).display(self.graph.symbols());
        let operands: Vec<String> = node.operands().map(show).collect();
        let results: Vec<String> = node.outputs.iter().map(|&v| show(v)).collect();
        Unsupported {
            node: self.graph.node_name(id).to_owned(),
            op: node.op.name(),
            types: format!("({}) -> {}", operands.join(", "), results.join(", ")),
            reason: refusal.0,
        }
    }

    /// Where the graph's constant of that index among its leaves lies.
    pub fn constant_home(&self, index: u32) -> LowerResult<Home> {
        let slot = self.constants.get(index as usize);
        slot.map(|&s| Home::Constant(s)).ok_or_else(|| "it has no place among the constants".into())
    }

    /// Where a value is, as elements.
    pub fn at(&mut self, value: ValueId) -> LowerResult<Located> {
        let at = self.stored(value)?;
        self.decoded(&at)
    }

    /// Where a value is, as it is stored: its elements may lie in blocks.
    pub fn stored(&self, value: ValueId) -> LowerResult<Located> {
        self.places[value.index()]
            .clone()
            .ok_or_else(|| format!("operand {} has no place", self.graph.value(value).name).into())
    }

    /// Says where a value is.
    pub fn place(&mut self, value: ValueId, at: Located) {
        let content = at.content.0 as usize;
        if self.placed.len() <= content {
            self.placed.resize_with(self.draft.contents.len(), SmallVec::new);
        }
        self.placed[content].push(value);
        self.places[value.index()] = Some(at);
    }

    /// The nodes that take a value, in their order.
    pub fn users(&self, value: ValueId) -> &[NodeId] {
        &self.users[value.index()]
    }

    /// Values whose place is in that content.
    pub fn placed_in(&self, content: DraftContent) -> SmallVec<[ValueId; 4]> {
        let mut values = self.placed.get(content.0 as usize).cloned().unwrap_or_default();
        values.retain(|v| self.places[v.index()].as_ref().is_some_and(|at| at.content == content));
        values.sort_unstable();
        values.dedup();
        values
    }

    /// Whether a value has a place already.
    pub fn is_placed(&self, value: ValueId) -> bool {
        self.places[value.index()].is_some()
    }

    /// Bytes of a dense tensor at the upper bounds, 64-bit.
    pub fn upper_bytes(&self, dtype: DType, storage: Storage, shape: &[DimExpr]) -> LowerResult<u64> {
        let symbols = self.graph.symbols();
        let upper: SmallVec<[u64; 8]> = shape.iter().map(|d| d.upper(symbols)).collect();
        pumice_types::tensor::element_count(&upper)
            .ok()
            .and_then(|n| storage.unit(dtype).bytes_of(n))
            .ok_or_else(|| Refusal("it has more bytes than 64 bits can count".into()))
    }

    /// A new dense buffer of any type.
    pub fn alloc(
        &mut self,
        name: impl Into<Arc<str>>,
        home: Home,
        storage: Storage,
        ty: &ValueType,
    ) -> LowerResult<Located> {
        let bytes = self.upper_bytes(ty.dtype(), storage, &ty.shape)?;
        let content = self.draft.add(name, home, ty, bytes);
        let view = self.dense_views.of(storage, ty);
        Ok(Located { content, part: None, view })
    }

    /// A new arena buffer for a value of the graph, which is placed there.
    pub fn result(&mut self, value: ValueId) -> LowerResult<Located> {
        let info = self.graph.value(value);
        let at = self.alloc(info.name.clone(), Home::Scratch, Storage::Arena, &info.ty)?;
        self.place(value, at.clone());
        Ok(at)
    }

    /// The version of a state that replaces this one.
    pub fn next_version(&mut self, state: ValueId, previous: DraftContent) -> Located {
        let info = self.graph.value(state);
        let buffer = self.draft.contents[previous.0 as usize].buffer;
        let content = self.draft.add_content(info.name.clone(), buffer, &info.ty, Some(previous));
        let view = View::dense(info.ty.dtype(), Storage::Natural, &info.ty.shape);
        Located { content, part: None, view: view.into() }
    }

    /// An argument from an expression; one that has a single value in this range of the symbols is a constant.
    pub fn arg(&mut self, expr: &DimExpr) -> ArgValue {
        match self.fixed(expr) {
            Some(value) => ArgValue::U32(value as u32),
            None => frame::arg(&mut self.frame, expr),
        }
    }

    /// The value of an expression that has only one in this range of the symbols.
    pub fn fixed(&self, expr: &DimExpr) -> Option<i64> {
        let (lo, hi) = expr.bounds(self.graph.symbols());
        (lo == hi).then_some(lo)
    }

    /// Whether an offset, stride or extent keeps groups of four elements together.
    pub fn by_four(&self, e: &DimExpr) -> bool {
        e.is(0) || e.divisor(self.graph.symbols()).is_multiple_of(4)
    }

    /// Arguments from expressions, the rest zero. Fails where there are more than `N`.
    pub fn args<const N: usize>(&mut self, exprs: &[DimExpr]) -> LowerResult<[ArgValue; N]> {
        if exprs.len() > N {
            return Err(format!("{} extents where the kernel takes {N}", exprs.len()).into());
        }
        let mut out = [ArgValue::ZERO; N];
        exprs.iter().zip(&mut out).for_each(|(e, o)| *o = self.arg(e));
        Ok(out)
    }

    /// A grid of so many groups, folded into the dimensions that the target allows, at most 65,535 each.
    pub fn grid(&mut self, groups: &DimExpr) -> LowerResult<Grid> {
        let [x, y, z] = self.target.limits.max_workgroup_count.map(|n| u64::from(n.clamp(1, MAX_GROUPS)));
        let upper = groups.upper(self.graph.symbols());
        if upper > x * y * z {
            return Err("it needs more workgroups than a grid can have".into());
        }
        let fold = |g: u64| [g.min(x), g.div_ceil(x).min(y), g.div_ceil(x * y)].map(|n| n as u32);
        if self.fixed(groups).is_some() {
            return Ok(Grid::Static(fold(upper)));
        }
        let one = || DimExpr::constant(1);
        let rest = groups.ceil_div(&x.into());
        let columns = if upper > x { groups.min_with(&x.into()) } else { groups.clone() };
        let rows = if upper > x { rest.min_with(&y.into()) } else { one() };
        let planes = if upper > x * y { rest.ceil_div(&y.into()) } else { one() };
        let word = self.frame.intern_grid([columns, rows, planes]);
        Ok(Grid::Frame { word, upper: fold(upper) })
    }

    /// `bound(upper of e) ≤ limit`, or a refusal: kernels count in 32 bits.
    pub fn fits_u32(&self, elements: &DimExpr, what: &str) -> LowerResult {
        let upper = elements.upper(self.graph.symbols());
        if upper > u64::from(u32::MAX >> 1) {
            return Err(format!("{what} has {upper} elements, kernels count to 2^31").into());
        }
        Ok(())
    }

    /// The number of the current node in the status block.
    pub fn status_number(&mut self) -> u32 {
        self.status_ops.insert_full(self.origin().to_string()).0 as u32
    }

    /// Where the status block is.
    pub fn status(&self) -> Located {
        let shape = [DimExpr::constant(1)];
        Located {
            content: self.status_content,
            part: None,
            view: View::dense(DType::U32, Storage::Arena, &shape).into(),
        }
    }

    /// The content of the frame.
    pub fn frame_content(&self) -> DraftContent {
        self.frame_content
    }

    /// The content of the status block.
    pub fn status_content(&self) -> DraftContent {
        self.status_content
    }

    /// A rank-0 value that lives in the frame.
    pub fn place_in_frame(&mut self, value: ValueId, slot: FrameSlot, expr: Option<DimExpr>) {
        let word = self.frame.intern(slot);
        let view = View {
            dtype: self.graph.ty(value).dtype(),
            storage: Storage::Arena,
            shape: Vec::new(),
            strides: Vec::new(),
            offset: DimExpr::constant(i64::from(word.0)),
        };
        self.place(value, Located { content: self.frame_content, part: None, view: view.into() });
        if let Some(expr) = expr {
            self.scalar_values.insert(value, expr);
        }
    }

    /// The frame expression that a rank-0 integer value is, if it is one: extents, integer scalars, constants, and
    /// sums, products and extrema of them.
    pub fn scalar_value(&self, value: ValueId) -> Option<DimExpr> {
        if let Some(e) = self.scalar_values.get(&value) {
            return Some(e.clone());
        }
        let data = self.graph.constant_data(value)?;
        let one = |v: Vec<i64>| (v.len() == 1).then(|| DimExpr::constant(v[0]));
        match data.dtype() {
            DType::I32 => one(data.to_vec::<i32>().ok()?.into_iter().map(i64::from).collect()),
            DType::I64 => one(data.to_vec::<i64>().ok()?),
            _ => None,
        }
    }

    /// The scalar of a `Scalar` node.
    pub fn scalar_id(&self, value: ValueId) -> Option<ScalarId> {
        let is_scalar = matches!(self.graph.def(value).op, Op::Scalar(_));
        self.leaves.get(&value).filter(|_| is_scalar).map(|&i| ScalarId(i))
    }

    /// The number of a leaf among those of its kind.
    pub fn leaf_number(&self, id: NodeId) -> LowerResult<u32> {
        let number = self.leaves.get(&self.graph.node(id).output()).copied();
        number.ok_or_else(|| "it is not in the graph's list of its kind".into())
    }

    /// The value as dense arena words, copied there if it is not.
    pub fn dense(&mut self, value: ValueId) -> LowerResult<Located> {
        let at = self.at(value)?;
        self.dense_at(&at, self.graph.value(value).name.clone())
    }

    /// As [`LowerCx::dense`], but 16-bit floats may stay as they are stored in params and states.
    pub fn dense_typed(&mut self, value: ValueId) -> LowerResult<Located> {
        let at = self.at(value)?;
        self.dense_typed_at(value, at)
    }

    /// As [`LowerCx::dense_typed`], and blocks may stay as well.
    pub fn dense_stored(&mut self, value: ValueId) -> LowerResult<Located> {
        let at = self.stored(value)?;
        let at = if blocks::is_readable(self, &at.view) { at } else { self.decoded(&at)? };
        self.dense_typed_at(value, at)
    }

    fn dense_typed_at(&mut self, value: ValueId, at: Located) -> LowerResult<Located> {
        if at.view.dtype.is_float() && at.view.is_dense() {
            return Ok(at);
        }
        self.dense(value)
    }

    /// A located value as dense arena words.
    pub fn dense_at(&mut self, at: &Located, name: impl Into<Arc<str>>) -> LowerResult<Located> {
        if at.view.is_words() && at.view.is_dense() {
            return Ok(at.clone());
        }
        if let Some(copy) = self.copy_of(at) {
            return Ok(copy);
        }
        let ty = ValueType::new(at.view.dtype, at.view.shape.clone());
        let to = self.alloc(name, Home::Scratch, Storage::Arena, &ty)?;
        let why = if at.view.is_words() {
            "its reader takes dense values, and these lie apart or in another order"
        } else {
            "its reader takes words, and it is stored otherwise"
        };
        crate::elementwise::copy(self, at, &to, why)?;
        self.remember_copy(at, &to);
        Ok(to)
    }

    /// Notes why the steps from `first` on are there, where they do not say it yet.
    pub fn because(&mut self, first: usize, why: &str) {
        let silent = self.draft.steps[first..].iter_mut().filter(|step| step.reason.is_empty());
        silent.for_each(|step| why.clone_into(&mut step.reason));
    }

    /// The dense copy that was made of a place.
    pub fn copy_of(&self, at: &Located) -> Option<Located> {
        let copies = self.dense_copies.get(&at.content);
        copies.into_iter().flatten().find(|(from, _)| from == at).map(|(_, copy)| copy.clone())
    }

    /// From now on that copy of a place serves whoever wants one.
    pub fn remember_copy(&mut self, at: &Located, copy: &Located) {
        self.dense_copies.entry(at.content).or_default().push((at.clone(), copy.clone()));
    }

    /// Data that a lowering needs and the graph does not name; it lies with the graph's constants.
    pub fn hidden_constant(&mut self, name: &str, data: pumice_types::Tensor) -> LowerResult<Located> {
        let index = match self.hidden.iter().position(|t| *t == data) {
            Some(i) => i,
            None => {
                self.hidden.push(data.clone());
                self.hidden.len() - 1
            }
        };
        let home = Home::Constant(self.hidden_from + index as u32);
        let ty = ValueType::fixed(data.dtype(), data.shape());
        self.alloc(name, home, Storage::Natural, &ty)
    }

    /// Adds a finished step.
    pub fn push(&mut self, step: DraftStep) {
        self.touched.resize(self.draft.contents.len(), Touched::default());
        for u in &step.uses {
            let touched = &mut self.touched[u.content.0 as usize];
            *(if u.access.writes() { &mut touched.writes } else { &mut touched.reads }) += 1;
        }
        self.draft.steps.push(step);
    }

    /// How often the steps so far read and write a content.
    pub fn touched(&self, content: DraftContent) -> Touched {
        self.touched.get(content.0 as usize).copied().unwrap_or_default()
    }
}

/// For each leaf, its number among those of its kind.
fn leaf_numbers(graph: &Graph) -> BTreeMap<ValueId, u32> {
    let constants = graph.leaves(|op| matches!(op, Op::Constant(_)));
    let kinds = [graph.inputs(), graph.params(), graph.states(), graph.scalars(), constants];
    kinds.into_iter().flat_map(|leaves| leaves.into_iter().zip(0..)).collect()
}

/// How a float view is stored, for a typed operand.
pub fn float_storage(view: &View) -> FloatStorage {
    FloatStorage::of(view)
}

/// Meaning of a node whose step reads every operand.
pub fn node_meaning(cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult<StepMeaning> {
    meaning_of(cx, id, false)
}

/// Meaning of a node whose step reads no constant of one element.
pub fn meaning_with_immediates(cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult<StepMeaning> {
    meaning_of(cx, id, true)
}

fn meaning_of(cx: &mut LowerCx<'_>, id: NodeId, immediates: bool) -> LowerResult<StepMeaning> {
    cx.meanings
        .of_node(cx.graph, cx.graph.node(id), immediates)
        .map_err(|e| Refusal(format!("its meaning is not a graph: {e}")))
}

/// A view of the same bytes with other extents and strides, in elements.
pub fn restride(at: &Located, shape: Vec<DimExpr>, strides: Vec<DimExpr>, offset: DimExpr) -> Located {
    let view = View { dtype: at.view.dtype, storage: at.view.storage, shape, strides, offset };
    Located { content: at.content, part: at.part, view: view.into() }
}

/// The same dense elements under another shape.
pub fn reshaped(at: &Located, shape: &[DimExpr]) -> Located {
    restride(at, shape.to_vec(), dense_strides(shape), at.view.offset.clone())
}
