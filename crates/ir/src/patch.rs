//! Patches: the only way a graph becomes another graph.
//!
//! A pass returns patches; applying them makes a graph with new nodes in and old values redirected, drops nodes
//! that became unused, sorts what is out of order, and infers the types of every new node. A patch that would change
//! the type of a value it replaces is a defect of the pass and is refused.

use crate::attr::AttrError;
use crate::conditions::Conditions;
use crate::entity::{NodeId, ValueId};
use crate::error::OpError;
use crate::graph::{Constraint, Graph, Node, ValueInfo};
use crate::infer::{Types, infer_node};
use crate::names::Names;
use crate::ops::Op;
use crate::shape::ValueType;
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::Arc;

/// A value in a patch: of the graph, or of one of the patch's nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchRef {
    /// A value of the graph that is patched.
    Old(ValueId),
    /// Output `.1` of the patch's node number `.0`.
    New(u32, u16),
}

/// A new node.
#[derive(Clone, Debug, PartialEq)]
pub struct PatchNode {
    /// Its op.
    pub op: Op,
    /// Its operands; refer to earlier nodes of the patch only.
    pub inputs: Vec<Option<PatchRef>>,
    /// Name its values should have; made unique if taken.
    pub name: Arc<str>,
}

/// One labelled change of a graph.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Patch {
    /// What it does, with the names of the nodes: `fold constant scale`.
    pub label: String,
    /// New nodes.
    pub nodes: Vec<PatchNode>,
    /// Values of the graph that every user sees replaced.
    pub replace: Vec<(ValueId, PatchRef)>,
}

impl Patch {
    /// An empty patch.
    pub fn new(label: impl Into<String>) -> Patch {
        // Most replace one value by one node, and a pass may find very many.
        Patch { label: label.into(), nodes: Vec::with_capacity(1), replace: Vec::with_capacity(1) }
    }

    /// Adds a node; the result is its first output.
    pub fn add(&mut self, op: impl Into<Op>, name: impl Into<Arc<str>>, inputs: &[PatchRef]) -> PatchRef {
        self.add_opt(op, name, inputs.iter().map(|&i| Some(i)).collect())
    }

    /// Adds a node with optional operands; the result is its first output.
    pub fn add_opt(
        &mut self,
        op: impl Into<Op>,
        name: impl Into<Arc<str>>,
        inputs: Vec<Option<PatchRef>>,
    ) -> PatchRef {
        self.nodes.push(PatchNode { op: op.into(), inputs, name: name.into() });
        PatchRef::New(self.nodes.len() as u32 - 1, 0)
    }

    /// Redirects every use of a value.
    pub fn replace(&mut self, old: ValueId, new: PatchRef) {
        self.replace.push((old, new));
    }
}

/// A patch that cannot be applied: a defect of the pass that made it.
#[derive(Clone, PartialEq, thiserror::Error)]
pub enum PatchError {
    /// A new node's types cannot be inferred.
    #[error("patch `{label}`: new node {node}: {source}")]
    Infer {
        /// The patch.
        label: String,
        /// The node.
        node: String,
        /// Why.
        source: OpError,
    },
    /// A replacement has another type.
    #[error("patch `{label}` replaces {name}: {old} by {new}")]
    Type {
        /// The patch.
        label: String,
        /// The value.
        name: String,
        /// Its type.
        old: String,
        /// The type of the replacement.
        new: String,
    },
    /// Nodes depend on each other in a circle.
    #[error("patches {labels:?} leave a cycle through {node}")]
    Cycle {
        /// The patches.
        labels: Vec<String>,
        /// A node on the cycle.
        node: String,
    },
    /// A reference to a node the patch does not have.
    #[error("patch `{label}` refers to node {index}, which it does not have")]
    Reference {
        /// The patch.
        label: String,
        /// The index.
        index: u32,
    },
    /// An attribute of a rebuilt op is wrong.
    #[error(transparent)]
    Attr(#[from] AttrError),
}

pumice_types::debug_as_display!(PatchError);

impl Graph {
    /// The graph with the patches applied. Replaced values, and whatever only they needed, are gone; leaves stay.
    pub fn apply(&self, patches: &[Patch]) -> Result<Graph, PatchError> {
        self.clone().applied(patches)
    }

    /// As [`Graph::apply`]: what stays is moved, not copied.
    pub fn applied(self, patches: &[Patch]) -> Result<Graph, PatchError> {
        let draft = Draft::new(&self, patches)?;
        let order = draft.order(&self)?;
        if patches.is_empty() && order.iter().copied().eq(0..self.nodes.len()) {
            return Ok(self);
        }
        draft.rebuild(self, &order)
    }

    /// The graph without nodes whose values nothing needs. Leaves stay: they are the program's interface.
    pub fn without_dead_nodes(&self) -> Result<Graph, PatchError> {
        self.apply(&[])
    }
}

/// Old and new nodes side by side, with redirections resolved.
struct Draft<'p> {
    patches: &'p [Patch],
    /// Index of the first new node of each patch, counted after the old nodes.
    starts: Vec<usize>,
    nodes: Vec<DraftNode<'p>>,
    /// Operands of all nodes, one node after the other.
    inputs: Vec<Option<DraftRef>>,
    redirect: Vec<Option<DraftRef>>,
}

struct DraftNode<'p> {
    origin: Origin<'p>,
    /// Where its operands are among those of all nodes.
    inputs: Range<u32>,
    /// Where it wants to stand: position of the last old node it replaces, new ones before it.
    position: (u32, u32),
}

/// Where a node comes from.
#[derive(Clone, Copy)]
enum Origin<'p> {
    Old {
        id: NodeId,
        /// Whether it is a leaf of the interface.
        is_interface: bool,
    },
    New {
        patch: u32,
        op: &'p Op,
        name: &'p Arc<str>,
    },
}

impl DraftNode<'_> {
    fn is_interface(&self) -> bool {
        matches!(self.origin, Origin::Old { is_interface: true, .. })
    }

    fn patch(&self) -> Option<usize> {
        match self.origin {
            Origin::Old { .. } => None,
            Origin::New { patch, .. } => Some(patch as usize),
        }
    }
}

/// An output of a draft node.
#[derive(Clone, Copy)]
struct DraftRef {
    node: u32,
    output: u16,
}

impl DraftRef {
    fn new(node: usize, output: u16) -> DraftRef {
        DraftRef { node: node as u32, output }
    }

    fn node(self) -> usize {
        self.node as usize
    }
}

/// The draft node and output that a value of the graph is.
fn old_ref(graph: &Graph, v: ValueId) -> DraftRef {
    let (node, output) = graph.value(v).def;
    DraftRef { node: node.0, output }
}

impl<'p> Draft<'p> {
    fn new(graph: &Graph, patches: &'p [Patch]) -> Result<Draft<'p>, PatchError> {
        let new: usize = patches.iter().map(|p| p.nodes.len()).sum();
        let mut draft = Draft {
            patches,
            starts: Vec::with_capacity(patches.len()),
            nodes: Vec::with_capacity(graph.nodes.len() + new),
            inputs: Vec::with_capacity(2 * graph.nodes.len()),
            redirect: vec![None; graph.values.len()],
        };
        for (id, node) in graph.nodes() {
            let origin = Origin::Old { id, is_interface: node.op.is_leaf_interface() };
            let inputs = node.inputs.iter().map(|v| Ok(v.map(|v| old_ref(graph, v))));
            draft.push(origin, inputs, (id.0, u32::MAX))?;
        }
        for (p, patch) in patches.iter().enumerate() {
            let start = draft.nodes.len();
            draft.starts.push(start);
            let resolve = |r: PatchRef| match r {
                PatchRef::Old(v) => Ok(old_ref(graph, v)),
                PatchRef::New(i, o) if (i as usize) < patch.nodes.len() => {
                    Ok(DraftRef::new(start + i as usize, o))
                }
                PatchRef::New(index, _) => Err(PatchError::Reference { label: patch.label.clone(), index }),
            };
            let anchor = patch.replace.iter().map(|(v, _)| graph.value(*v).def.0.0).max().unwrap_or(0);
            for (i, node) in patch.nodes.iter().enumerate() {
                let origin = Origin::New { patch: p as u32, op: &node.op, name: &node.name };
                draft.push(
                    origin,
                    node.inputs.iter().map(|r| r.map(resolve).transpose()),
                    (anchor, i as u32),
                )?;
            }
            for &(v, r) in &patch.replace {
                draft.redirect[v.index()] = Some(resolve(r)?);
            }
        }
        draft.follow_redirections(graph);
        Ok(draft)
    }

    fn push(
        &mut self,
        origin: Origin<'p>,
        inputs: impl Iterator<Item = Result<Option<DraftRef>, PatchError>>,
        position: (u32, u32),
    ) -> Result<(), PatchError> {
        let start = self.inputs.len() as u32;
        for input in inputs {
            self.inputs.push(input?);
        }
        self.nodes.push(DraftNode { origin, inputs: start..self.inputs.len() as u32, position });
        Ok(())
    }

    /// Operands of a node by position.
    fn inputs(&self, node: usize) -> &[Option<DraftRef>] {
        let Range { start, end } = self.nodes[node].inputs;
        &self.inputs[start as usize..end as usize]
    }

    /// The nodes that a node takes operands from.
    fn nodes_before(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        self.inputs(node).iter().flatten().map(|r| r.node())
    }

    /// Points every operand at what finally replaces it. New nodes keep what they name, so that a patch may wrap the
    /// value it replaces.
    fn follow_redirections(&mut self, graph: &Graph) {
        let redirect = &self.redirect;
        let old_count = graph.nodes.len();
        let target =
            |mut r: DraftRef, from_patch: Option<usize>, starts: &[usize], ends: &dyn Fn(usize) -> usize| {
                for _ in 0..=redirect.len() {
                    if r.node() >= old_count {
                        break;
                    }
                    let v = graph.nodes[r.node()].outputs[r.output as usize];
                    match redirect[v.index()] {
                        Some(next) => {
                            let own = from_patch.is_some_and(|p| (starts[p]..ends(p)).contains(&next.node()));
                            if own {
                                break;
                            }
                            r = next;
                        }
                        None => break,
                    }
                }
                r
            };
        let total = self.nodes.len();
        let starts = self.starts.clone();
        let ends = |p: usize| starts.get(p + 1).copied().unwrap_or(total);
        for node in &self.nodes {
            let (patch, inputs) = (node.patch(), node.inputs.start as usize..node.inputs.end as usize);
            for input in self.inputs[inputs].iter_mut().flatten() {
                *input = target(*input, patch, &starts, &ends);
            }
        }
        let resolved: Vec<Option<DraftRef>> =
            redirect.iter().map(|r| r.map(|r| target(r, None, &starts, &ends))).collect();
        self.redirect = resolved;
    }

    fn target_of(&self, graph: &Graph, v: ValueId) -> DraftRef {
        self.target(v, old_ref(graph, v))
    }

    /// What takes the place of a value of the old graph, which was `old`.
    fn target(&self, v: ValueId, old: DraftRef) -> DraftRef {
        self.redirect[v.index()].unwrap_or(old)
    }

    /// Nodes that are needed, operands first, otherwise as they stood.
    fn order(&self, graph: &Graph) -> Result<Vec<usize>, PatchError> {
        let mut wanted: Vec<usize> =
            (0..self.nodes.len()).filter(|&i| self.nodes[i].is_interface()).collect();
        wanted.extend(graph.outputs.iter().map(|o| self.target_of(graph, o.value).node()));
        wanted.extend(graph.final_states().into_iter().map(|v| self.target_of(graph, v).node()));
        let mut live = vec![false; self.nodes.len()];
        while let Some(i) = wanted.pop() {
            if !std::mem::replace(&mut live[i], true) {
                wanted.extend(self.nodes_before(i));
            }
        }
        let mut by_position: Vec<usize> = (0..self.nodes.len()).filter(|&i| live[i]).collect();
        by_position.sort_by_key(|&i| (self.nodes[i].position, i));
        self.topological(graph, &by_position)
    }

    /// Depth-first, so that a node comes as soon after its operands as the old order allows. Iterative: graphs are
    /// deep. The leaves of the interface keep their order, by which scalars are numbered in extents, and params, inputs
    /// and states in a plan: where one comes earlier than it did, those before it do too.
    fn topological(&self, graph: &Graph, by_position: &[usize]) -> Result<Vec<usize>, PatchError> {
        #[derive(Clone, Copy, PartialEq)]
        enum Mark {
            New,
            Open,
            Done,
        }
        let mut mark = vec![Mark::New; self.nodes.len()];
        let mut order = Vec::with_capacity(by_position.len());
        let mut leaves = (0..self.nodes.len()).filter(|&i| self.nodes[i].is_interface());
        let mut stack = Vec::new();
        for &root in by_position {
            stack.push(root);
            while let Some(&i) = stack.last() {
                match mark[i] {
                    Mark::Done => {
                        stack.pop();
                    }
                    Mark::Open => {
                        if self.nodes[i].is_interface() {
                            for leaf in leaves.by_ref().take_while(|&leaf| leaf != i) {
                                // A state begins as a constant, which is no leaf of the interface.
                                for node in self.nodes_before(leaf).chain([leaf]) {
                                    if mark[node] != Mark::Done {
                                        mark[node] = Mark::Done;
                                        order.push(node);
                                    }
                                }
                            }
                        }
                        mark[i] = Mark::Done;
                        order.push(i);
                        stack.pop();
                    }
                    Mark::New => {
                        mark[i] = Mark::Open;
                        for j in self.nodes_before(i) {
                            match mark[j] {
                                Mark::New => stack.push(j),
                                Mark::Open => {
                                    return Err(PatchError::Cycle {
                                        labels: self.patches.iter().map(|p| p.label.clone()).collect(),
                                        node: self.name(graph, j).to_owned(),
                                    });
                                }
                                Mark::Done => {}
                            }
                        }
                    }
                }
            }
        }
        Ok(order)
    }

    fn name<'a>(&self, graph: &'a Graph, node: usize) -> &'a str
    where
        'p: 'a,
    {
        match self.nodes[node].origin {
            Origin::Old { id, .. } => graph.node_name(id),
            Origin::New { name, .. } => name,
        }
    }

    /// Names of the old values that stay, which new ones must not have.
    fn names(&self, old: &Graph, order: &[usize]) -> Names {
        let kept = order.iter().filter_map(|&i| match self.nodes[i].origin {
            Origin::Old { id, .. } => Some(&old.node(id).outputs),
            Origin::New { .. } => None,
        });
        kept.flatten().map(|&v| Arc::clone(&old.value(v).name)).collect()
    }

    /// The new graph. Old nodes and values are moved into it.
    fn rebuild(&self, mut old: Graph, order: &[usize]) -> Result<Graph, PatchError> {
        let any_new = order.iter().any(|&i| self.nodes[i].patch().is_some());
        let mut names = if any_new { self.names(&old, order) } else { Names::default() };
        let mut conditions: Option<Conditions> = None;
        let mut nodes: Vec<Option<Node>> = std::mem::take(&mut old.nodes).into_iter().map(Some).collect();
        let refs: Vec<DraftRef> =
            old.values.iter().map(|v| DraftRef { node: v.def.0.0, output: v.def.1 }).collect();
        let mut values: Vec<Option<ValueInfo>> =
            std::mem::take(&mut old.values).into_iter().map(Some).collect();
        let mut graph = Graph {
            name: std::mem::take(&mut old.name),
            symbols: std::mem::take(&mut old.symbols),
            nodes: Vec::with_capacity(order.len()),
            values: Vec::with_capacity(order.len()),
            outputs: std::mem::take(&mut old.outputs),
            feeds: std::mem::take(&mut old.feeds),
            stop: old.stop,
            constraints: std::mem::take(&mut old.constraints),
        };
        let mut place: Vec<SmallVec<[ValueId; 2]>> = vec![SmallVec::new(); self.nodes.len()];
        for &i in order {
            let draft = &self.nodes[i];
            let inputs: SmallVec<[Option<ValueId>; 4]> =
                self.inputs(i).iter().map(|r| r.map(|r| place[r.node()][r.output as usize])).collect();
            place[i] = match draft.origin {
                Origin::Old { id, .. } => {
                    let Node { op, outputs, .. } =
                        nodes[id.index()].take().expect("an order has a node once");
                    let same = outputs.iter().filter_map(|v| values[v.index()].take());
                    graph.push_node(op, inputs, same.map(|ValueInfo { ty, name, .. }| (ty, name)))
                }
                Origin::New { patch, op, name } => {
                    let (types, constraints) = self.infer((patch as usize, op, name), &inputs, &graph)?;
                    let value_names = names.of_results(Arc::clone(name), types.len());
                    if !constraints.is_empty() {
                        let conditions = conditions.get_or_insert_with(|| Conditions::of(&graph.constraints));
                        conditions.append(&mut graph.constraints, constraints);
                    }
                    graph.push_node(op.clone(), inputs, types.into_iter().zip(value_names))
                }
            };
        }
        self.check_types((&values, &refs), &graph, &place)?;
        let at = |v: ValueId| {
            let r = self.target(v, refs[v.index()]);
            place[r.node()][r.output as usize]
        };
        graph.outputs.iter_mut().for_each(|o| o.value = at(o.value));
        graph.feeds.iter_mut().for_each(|f| f.state = at(f.state));
        Ok(graph)
    }

    /// Types and constraints of a new node, with operands of the new graph.
    fn infer(
        &self,
        (patch, op, name): (usize, &Op, &str),
        inputs: &[Option<ValueId>],
        graph: &Graph,
    ) -> Result<(Types, Vec<Constraint>), PatchError> {
        let (ty, constant) = (|v: ValueId| graph.ty(v), |v: ValueId| graph.constant_data(v));
        infer_node(op, name, inputs, &graph.symbols, &ty, &constant).map_err(|source| {
            let label = self.patches[patch].label.clone();
            PatchError::Infer { label, node: name.to_owned(), source }
        })
    }

    /// What replaces a value has its type. An old value that stays is in the new graph by now, and no more in `old`.
    fn check_types(
        &self,
        (old, refs): (&[Option<ValueInfo>], &[DraftRef]),
        graph: &Graph,
        place: &[SmallVec<[ValueId; 2]>],
    ) -> Result<(), PatchError> {
        let value = |r: DraftRef| place[r.node()].get(r.output as usize).map(|&v| graph.value(v));
        for patch in self.patches {
            for &(v, _) in &patch.replace {
                let was = refs[v.index()];
                let Some(new) = value(self.target(v, was)) else { continue };
                let Some(replaced) = value(was).or(old[v.index()].as_ref()) else { continue };
                if replaced.ty != new.ty {
                    return Err(PatchError::Type {
                        label: patch.label.clone(),
                        name: replaced.name.to_string(),
                        old: replaced.ty.display(&graph.symbols),
                        new: new.ty.display(&graph.symbols),
                    });
                }
            }
        }
        Ok(())
    }
}

impl Graph {
    pub(crate) fn push_node(
        &mut self,
        op: Op,
        inputs: SmallVec<[Option<ValueId>; 4]>,
        results: impl IntoIterator<Item = (ValueType, Arc<str>)>,
    ) -> SmallVec<[ValueId; 2]> {
        let id = NodeId(self.nodes.len() as u32);
        let mut outputs = SmallVec::new();
        for (i, (ty, name)) in results.into_iter().enumerate() {
            outputs.push(ValueId::new(self.values.len()));
            self.values.push(ValueInfo { name, ty, def: (id, i as u16) });
        }
        self.nodes.push(Node { op, inputs, outputs: outputs.clone() });
        outputs
    }

    /// The data of a value that is a constant.
    pub fn constant_data(&self, v: ValueId) -> Option<&pumice_types::Tensor> {
        match &self.def(v).op {
            Op::Constant(c) => Some(&c.data),
            _ => None,
        }
    }
}
