//! Values while they are lowered: where each is, in what view; buffers for those that have no place yet.

use super::{Leaves, LowerCx, LowerResult, Refusal};
use crate::unplaced::{PlacedView, StorageClass, UnplacedVersion};
use crate::views::DenseViews;
use pumice_ir::{Graph, NodeId, Op, ValueId, ValueType};
use pumice_plan::{FrameSlot, Storage, View};
use pumice_types::{DType, DimExpr, ScalarId, Tensor};
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What is known of values.
pub(super) struct Values {
    users: Vec<SmallVec<[NodeId; 2]>>,
    places: Vec<Option<PlacedView>>,
    /// By version, the values that were ever placed in it.
    placed: Vec<SmallVec<[ValueId; 4]>>,
    /// For each leaf, its number among those of its kind.
    leaves: BTreeMap<ValueId, u32>,
    /// Expressions of the frame that values are.
    scalars: BTreeMap<ValueId, DimExpr>,
    dense_views: DenseViews,
    joined_versions: BTreeMap<u32, UnplacedVersion>,
    constants: Vec<u32>,
    hidden_from: u32,
    /// Constants that lowerings made.
    pub(super) hidden: Vec<Tensor>,
    /// Values that are made where branches join, and what they are there.
    joined: BTreeMap<ValueId, ValueId>,
    /// What branches join has a place before the branches are lowered.
    join_places: BTreeMap<ValueId, PlacedView>,
}

impl Values {
    /// Of a graph of which nothing has a place.
    pub(super) fn of(graph: &Graph, leaves: Leaves<'_>) -> Values {
        Values {
            users: graph.users(),
            places: vec![None; graph.value_count()],
            placed: Vec::new(),
            leaves: leaf_numbers(graph),
            scalars: BTreeMap::new(),
            dense_views: DenseViews::default(),
            joined_versions: BTreeMap::new(),
            constants: leaves.constants,
            hidden_from: leaves.hidden,
            hidden: Vec::new(),
            joined: BTreeMap::new(),
            join_places: BTreeMap::new(),
        }
    }
}

impl LowerCx<'_> {
    /// The version that params side by side are together. `one` is the version of one of them.
    pub fn joined_version(&mut self, set: u32, one: UnplacedVersion, shape: &[DimExpr]) -> UnplacedVersion {
        if let Some(&known) = self.values.joined_versions.get(&set) {
            return known;
        }
        let one = &self.unplaced.versions[one.0 as usize];
        let (name, ty) = (format!("{} and others", one.name), ValueType::new(one.ty.encoding, shape));
        let bytes = self.joined[set as usize].span.len.0;
        let version = self.unplaced.add(name, StorageClass::Joined(set), &ty, bytes);
        self.values.joined_versions.insert(set, version);
        version
    }

    /// Where the graph's constant of that index among its leaves lies.
    pub fn constant_class(&self, index: u32) -> LowerResult<StorageClass> {
        let slot = self.values.constants.get(index as usize);
        slot.map(|&s| StorageClass::Constant(s)).ok_or_else(|| "it has no place among the constants".into())
    }

    /// Where a value is, as it is stored: its elements may lie in blocks.
    pub fn stored(&self, value: ValueId) -> LowerResult<PlacedView> {
        self.values.places[value.index()]
            .clone()
            .ok_or_else(|| format!("operand {} has no place", self.graph.value(value).name).into())
    }

    /// Says where a value is.
    pub fn place(&mut self, value: ValueId, at: PlacedView) {
        let version = at.version.0 as usize;
        if self.values.placed.len() <= version {
            self.values.placed.resize_with(self.unplaced.versions.len(), SmallVec::new);
        }
        self.values.placed[version].push(value);
        self.values.places[value.index()] = Some(at);
    }

    /// The nodes that take a value, in their order.
    pub fn users(&self, value: ValueId) -> &[NodeId] {
        &self.values.users[value.index()]
    }

    /// The nodes that read a value, in their order.
    pub fn readers(&self, value: ValueId) -> impl Iterator<Item = NodeId> + '_ {
        let reads = move |id: &NodeId| self.graph.node(*id).reads().any(|v| v == value);
        self.users(value).iter().copied().filter(reads)
    }

    /// Values whose place is in that version.
    pub fn placed_in(&self, version: UnplacedVersion) -> SmallVec<[ValueId; 4]> {
        let mut values = self.values.placed.get(version.0 as usize).cloned().unwrap_or_default();
        values.retain(|v| self.values.places[v.index()].as_ref().is_some_and(|at| at.version == version));
        values.sort_unstable();
        values.dedup();
        values
    }

    /// Whether a value has a place already.
    pub fn is_placed(&self, value: ValueId) -> bool {
        self.values.places[value.index()].is_some()
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
        class: StorageClass,
        storage: Storage,
        ty: &ValueType,
    ) -> LowerResult<PlacedView> {
        let bytes = self.upper_bytes(ty.dtype(), storage, &ty.shape)?;
        let version = self.unplaced.add(name, class, ty, bytes);
        let view = self.values.dense_views.of(storage, ty);
        Ok(PlacedView { version, part: None, view })
    }

    /// From now on the value, which is made in a branch alone, is made in the place where the branches join.
    pub fn make_in(&mut self, value: ValueId, join: ValueId) {
        self.values.joined.entry(value).or_insert(join);
    }

    /// Whether a value is made where branches join.
    pub fn is_joined(&self, value: ValueId) -> bool {
        self.values.joined.contains_key(&value)
    }

    /// The place that both branches write.
    pub fn join(&mut self, value: ValueId) -> LowerResult<PlacedView> {
        // One in a branch of another: what that joins is its own result.
        let outer = self.values.joined.get(&value).copied();
        if let Some(known) = self.values.join_places.get(&outer.unwrap_or(value)) {
            return Ok(known.clone());
        }
        if let Some(outer) = outer {
            return self.join(outer);
        }
        let info = self.graph.value(value);
        let at = self.alloc(info.name.clone(), StorageClass::Scratch, Storage::Arena, &info.ty)?;
        self.unplaced.joins.insert(at.version);
        self.values.join_places.insert(value, at.clone());
        Ok(at)
    }

    /// A new arena buffer for a value of the graph, which is placed there.
    pub fn result(&mut self, value: ValueId) -> LowerResult<PlacedView> {
        if self.values.joined.contains_key(&value) {
            let at = self.join(value)?;
            self.place(value, at.clone());
            return Ok(at);
        }
        let info = self.graph.value(value);
        let at = self.alloc(info.name.clone(), StorageClass::Scratch, Storage::Arena, &info.ty)?;
        self.place(value, at.clone());
        Ok(at)
    }

    /// The version of a state that replaces this one.
    pub fn next_version(&mut self, state: ValueId, previous: UnplacedVersion) -> PlacedView {
        let info = self.graph.value(state);
        let buffer = self.unplaced.versions[previous.0 as usize].buffer;
        let version = self.unplaced.add_version(info.name.clone(), buffer, &info.ty, Some(previous));
        let view = View::dense(info.ty.dtype(), Storage::Natural, &info.ty.shape);
        PlacedView { version, part: None, view: view.into() }
    }

    /// What follows on a version in its place, in the arena.
    pub fn next_of(&mut self, value: ValueId, previous: &PlacedView) -> PlacedView {
        let info = self.graph.value(value);
        let buffer = self.unplaced.versions[previous.version.0 as usize].buffer;
        let version = self.unplaced.add_version(info.name.clone(), buffer, &info.ty, Some(previous.version));
        PlacedView { version, ..previous.clone() }
    }

    /// Whether a place has what follows on a version there.
    pub fn follows_on(&self, at: &PlacedView, previous: &PlacedView) -> bool {
        let replaces = self.unplaced.versions[at.version.0 as usize].replaces;
        replaces == Some(previous.version) && at.view == previous.view && at.part == previous.part
    }

    /// A rank-0 value that lives in the frame.
    pub fn place_in_frame(&mut self, value: ValueId, slot: FrameSlot, expr: Option<DimExpr>) {
        let word = self.intern(expr.as_slice(), |words| words.intern(slot));
        let (number, version) = self.found.in_row(word).unwrap_or((word.0, self.frame_version));
        let view = View {
            dtype: self.graph.ty(value).dtype(),
            storage: Storage::Arena,
            shape: Vec::new(),
            strides: Vec::new(),
            offset: DimExpr::constant(i64::from(number)),
        };
        self.place(value, PlacedView { version, part: None, view: view.into() });
        if let Some(expr) = expr {
            self.values.scalars.insert(value, expr);
        }
    }

    /// The frame expression that a rank-0 integer value is, if it is one: extents, integer scalars, constants, and
    /// sums, products and extrema of them.
    pub fn scalar_value(&self, value: ValueId) -> Option<DimExpr> {
        if let Some(e) = self.values.scalars.get(&value) {
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
        self.values.leaves.get(&value).filter(|_| is_scalar).map(|&i| ScalarId(i))
    }

    /// The number of a leaf among those of its kind.
    pub fn leaf_number(&self, id: NodeId) -> LowerResult<u32> {
        let number = self.values.leaves.get(&self.graph.node(id).output()).copied();
        number.ok_or_else(|| "it is not in the graph's list of its kind".into())
    }

    /// Data that a lowering needs and the graph does not name; it lies with the graph's constants.
    pub fn hidden_constant(&mut self, name: &str, data: Tensor) -> LowerResult<PlacedView> {
        let index = match self.values.hidden.iter().position(|t| *t == data) {
            Some(i) => i,
            None => {
                self.values.hidden.push(data.clone());
                self.values.hidden.len() - 1
            }
        };
        let class = StorageClass::Constant(self.values.hidden_from + index as u32);
        let ty = ValueType::fixed(data.dtype(), data.shape());
        self.alloc(name, class, Storage::Natural, &ty)
    }
}

/// For each leaf, its number among those of its kind.
fn leaf_numbers(graph: &Graph) -> BTreeMap<ValueId, u32> {
    let constants = graph.leaves(|op| matches!(op, Op::Constant(_)));
    let kinds = [graph.inputs(), graph.params(), graph.states(), graph.scalars(), constants];
    kinds.into_iter().flat_map(|leaves| leaves.into_iter().zip(0..)).collect()
}
