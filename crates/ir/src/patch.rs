//! Patches: the only way a graph becomes another graph.
//!
//! A pass returns patches; applying them copies the graph with new nodes in and old values redirected, drops nodes
//! that became unused, sorts what is out of order, and infers the types of every new node. A patch that would change
//! the type of a value it replaces is a defect of the pass and is refused.

use crate::attr::AttrError;
use crate::conditions::Conditions;
use crate::entity::{NodeId, ValueId};
use crate::error::OpError;
use crate::graph::{Constraint, Graph, Node, Output, ValueInfo};
use crate::infer::{Types, infer_node};
use crate::names::Names;
use crate::ops::Op;
use crate::shape::ValueType;
use smallvec::SmallVec;
use std::cell::LazyCell;

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
    pub name: String,
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
        Patch { label: label.into(), ..Patch::default() }
    }

    /// Adds a node; the result is its first output.
    pub fn add(&mut self, op: impl Into<Op>, name: impl Into<String>, inputs: &[PatchRef]) -> PatchRef {
        self.add_opt(op, name, inputs.iter().map(|&i| Some(i)).collect())
    }

    /// Adds a node with optional operands; the result is its first output.
    pub fn add_opt(
        &mut self,
        op: impl Into<Op>,
        name: impl Into<String>,
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
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
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

impl Graph {
    /// The graph with the patches applied. Replaced values, and whatever only they needed, are gone; leaves stay.
    pub fn apply(&self, patches: &[Patch]) -> Result<Graph, PatchError> {
        let draft = Draft::new(self, patches)?;
        draft.rebuild(&draft.order()?)
    }

    /// The graph without nodes whose values nothing needs. Leaves stay: they are the program's interface.
    pub fn without_dead_nodes(&self) -> Result<Graph, PatchError> {
        self.apply(&[])
    }
}

/// Old and new nodes side by side, with redirections resolved.
struct Draft<'g> {
    graph: &'g Graph,
    patches: &'g [Patch],
    /// Index of the first new node of each patch, counted after the old nodes.
    starts: Vec<usize>,
    nodes: Vec<DraftNode<'g>>,
    redirect: Vec<Option<DraftRef>>,
}

struct DraftNode<'g> {
    op: &'g Op,
    name: &'g str,
    inputs: SmallVec<[Option<DraftRef>; 4]>,
    /// Of an old node, its id.
    old: Option<NodeId>,
    patch: Option<usize>,
    /// Where it wants to stand: position of the last old node it replaces, new ones before it.
    position: (usize, usize),
}

/// Output `.1` of draft node `.0`.
type DraftRef = (usize, u16);

impl<'g> Draft<'g> {
    fn new(graph: &'g Graph, patches: &'g [Patch]) -> Result<Draft<'g>, PatchError> {
        let mut draft = Draft {
            graph,
            patches,
            starts: Vec::with_capacity(patches.len()),
            nodes: Vec::with_capacity(graph.nodes.len()),
            redirect: vec![None; graph.values.len()],
        };
        let old_ref = |v: ValueId| (graph.value(v).def.0.index(), graph.value(v).def.1);
        for (id, node) in graph.nodes() {
            draft.nodes.push(DraftNode {
                op: &node.op,
                name: graph.node_name(id),
                inputs: node.inputs.iter().map(|v| v.map(old_ref)).collect(),
                old: Some(id),
                patch: None,
                position: (id.index(), usize::MAX),
            });
        }
        for (p, patch) in patches.iter().enumerate() {
            let start = draft.nodes.len();
            draft.starts.push(start);
            let resolve = |r: PatchRef| match r {
                PatchRef::Old(v) => Ok(old_ref(v)),
                PatchRef::New(i, o) if (i as usize) < patch.nodes.len() => Ok((start + i as usize, o)),
                PatchRef::New(index, _) => Err(PatchError::Reference { label: patch.label.clone(), index }),
            };
            let anchor = patch.replace.iter().map(|(v, _)| graph.value(*v).def.0.index()).max().unwrap_or(0);
            for (i, node) in patch.nodes.iter().enumerate() {
                let inputs = node.inputs.iter().map(|r| r.map(resolve).transpose());
                draft.nodes.push(DraftNode {
                    op: &node.op,
                    name: &node.name,
                    inputs: inputs.collect::<Result<_, _>>()?,
                    old: None,
                    patch: Some(p),
                    position: (anchor, i),
                });
            }
            for &(v, r) in &patch.replace {
                draft.redirect[v.index()] = Some(resolve(r)?);
            }
        }
        draft.follow_redirections();
        Ok(draft)
    }

    /// Points every operand at what finally replaces it. New nodes keep what they name, so that a patch may wrap the
    /// value it replaces.
    fn follow_redirections(&mut self) {
        let (graph, redirect) = (self.graph, &self.redirect);
        let old_count = graph.nodes.len();
        let target =
            |mut r: DraftRef, from_patch: Option<usize>, starts: &[usize], ends: &dyn Fn(usize) -> usize| {
                for _ in 0..=redirect.len() {
                    if r.0 >= old_count {
                        break;
                    }
                    let v = graph.nodes[r.0].outputs[r.1 as usize];
                    match redirect[v.index()] {
                        Some(next) => {
                            let own = from_patch.is_some_and(|p| (starts[p]..ends(p)).contains(&next.0));
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
        for node in &mut self.nodes {
            for input in node.inputs.iter_mut().flatten() {
                *input = target(*input, node.patch, &starts, &ends);
            }
        }
        let resolved: Vec<Option<DraftRef>> =
            redirect.iter().map(|r| r.map(|r| target(r, None, &starts, &ends))).collect();
        self.redirect = resolved;
    }

    fn target_of(&self, v: ValueId) -> DraftRef {
        let def = self.graph.value(v).def;
        self.redirect[v.index()].unwrap_or((def.0.index(), def.1))
    }

    /// Nodes that are needed, operands first, otherwise as they stood.
    fn order(&self) -> Result<Vec<usize>, PatchError> {
        let mut wanted: Vec<usize> = (0..self.nodes.len())
            .filter(|&i| self.nodes[i].op.is_leaf_interface() && self.nodes[i].old.is_some())
            .collect();
        wanted.extend(self.graph.outputs.iter().map(|o| self.target_of(o.value).0));
        wanted.extend(self.graph.final_states().into_iter().map(|v| self.target_of(v).0));
        let mut live = vec![false; self.nodes.len()];
        while let Some(i) = wanted.pop() {
            if !std::mem::replace(&mut live[i], true) {
                wanted.extend(self.nodes[i].inputs.iter().flatten().map(|r| r.0));
            }
        }
        let mut by_position: Vec<usize> = (0..self.nodes.len()).filter(|&i| live[i]).collect();
        by_position.sort_by_key(|&i| (self.nodes[i].position, i));
        self.topological(&by_position)
    }

    /// Depth-first, so that a node comes as soon after its operands as the old order allows. Iterative: graphs are
    /// deep. The leaves of the interface keep their order, by which scalars are numbered in extents, and params, inputs
    /// and states in a plan: where one comes earlier than it did, those before it do too.
    fn topological(&self, by_position: &[usize]) -> Result<Vec<usize>, PatchError> {
        #[derive(Clone, Copy, PartialEq)]
        enum Mark {
            New,
            Open,
            Done,
        }
        let mut mark = vec![Mark::New; self.nodes.len()];
        let mut order = Vec::with_capacity(by_position.len());
        let is_interface = |i: usize| self.nodes[i].op.is_leaf_interface() && self.nodes[i].old.is_some();
        let mut leaves = (0..self.nodes.len()).filter(|&i| is_interface(i));
        for &root in by_position {
            let mut stack = vec![root];
            while let Some(&i) = stack.last() {
                match mark[i] {
                    Mark::Done => {
                        stack.pop();
                    }
                    Mark::Open => {
                        if is_interface(i) {
                            for leaf in leaves.by_ref().take_while(|&leaf| leaf != i) {
                                // A state begins as a constant, which is no leaf of the interface.
                                let init = self.nodes[leaf].inputs.iter().flatten().map(|r| r.0);
                                for node in init.chain([leaf]) {
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
                        let before = self.nodes[i].inputs.iter().flatten().map(|r| r.0);
                        for j in before {
                            match mark[j] {
                                Mark::New => stack.push(j),
                                Mark::Open => {
                                    return Err(PatchError::Cycle {
                                        labels: self.patches.iter().map(|p| p.label.clone()).collect(),
                                        node: self.nodes[j].name.to_owned(),
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

    fn rebuild(&self, order: &[usize]) -> Result<Graph, PatchError> {
        let old = self.graph;
        let mut graph = Graph {
            name: old.name.clone(),
            symbols: old.symbols.clone(),
            nodes: Vec::with_capacity(order.len()),
            values: Vec::with_capacity(order.len()),
            outputs: Vec::new(),
            feeds: old.feeds.clone(),
            stop: old.stop,
            constraints: old.constraints.clone(),
        };
        let kept = order.iter().filter_map(|&i| self.nodes[i].old).flat_map(|n| &old.node(n).outputs);
        let mut names: LazyCell<Names, _> =
            LazyCell::new(|| kept.map(|&v| old.value(v).name.clone()).collect());
        let mut conditions = LazyCell::new(|| Conditions::of(&old.constraints));
        let mut place: Vec<SmallVec<[ValueId; 2]>> = vec![SmallVec::new(); self.nodes.len()];
        for &i in order {
            let draft = &self.nodes[i];
            let inputs: SmallVec<[Option<ValueId>; 4]> =
                draft.inputs.iter().map(|r| r.map(|(n, o)| place[n][o as usize])).collect();
            place[i] = match draft.old {
                Some(id) => {
                    let same = old.node(id).outputs.iter().map(|&v| old.value(v));
                    let results = same.map(|v| (v.ty.clone(), v.name.clone()));
                    graph.push_node(draft.op.clone(), inputs, results)
                }
                None => {
                    let (types, constraints) = self.infer(draft, &inputs, &graph)?;
                    let value_names = names.of_results(draft.name.to_owned(), types.len());
                    if !constraints.is_empty() {
                        conditions.append(&mut graph.constraints, constraints);
                    }
                    graph.push_node(draft.op.clone(), inputs, types.into_iter().zip(value_names))
                }
            };
        }
        self.check_types(&graph, &place)?;
        let at = |v: ValueId| {
            let (n, o) = self.target_of(v);
            place[n][o as usize]
        };
        graph.outputs =
            old.outputs.iter().map(|o| Output { name: o.name.clone(), value: at(o.value) }).collect();
        graph.feeds.iter_mut().for_each(|f| f.state = at(f.state));
        Ok(graph)
    }

    /// Types and constraints of a new node, with operands of the new graph.
    fn infer(
        &self,
        node: &DraftNode<'_>,
        inputs: &[Option<ValueId>],
        graph: &Graph,
    ) -> Result<(Types, Vec<Constraint>), PatchError> {
        let (ty, constant) = (|v: ValueId| graph.ty(v), |v: ValueId| graph.constant_data(v));
        infer_node(node.op, node.name, inputs, &graph.symbols, &ty, &constant).map_err(|source| {
            let label = node.patch.map_or_else(|| "no patch".to_owned(), |p| self.patches[p].label.clone());
            PatchError::Infer { label, node: node.name.to_owned(), source }
        })
    }

    fn check_types(&self, graph: &Graph, place: &[SmallVec<[ValueId; 2]>]) -> Result<(), PatchError> {
        for patch in self.patches {
            for &(v, _) in &patch.replace {
                let (n, o) = self.target_of(v);
                let Some(&new) = place[n].get(o as usize) else { continue };
                if self.graph.ty(v) != graph.ty(new) {
                    return Err(PatchError::Type {
                        label: patch.label.clone(),
                        name: self.graph.value(v).name.clone(),
                        old: self.graph.ty(v).display(&self.graph.symbols),
                        new: graph.ty(new).display(&graph.symbols),
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
        results: impl IntoIterator<Item = (ValueType, String)>,
    ) -> SmallVec<[ValueId; 2]> {
        let id = NodeId(self.nodes.len() as u32);
        let mut outputs = SmallVec::new();
        for (i, (ty, name)) in results.into_iter().enumerate() {
            outputs.push(ValueId(self.values.len() as u32));
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
