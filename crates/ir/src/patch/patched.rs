//! A patched graph before it is rebuilt: old and new nodes side by side, their operands pointing at what finally
//! replaces them. In: a graph and patches. Never here: types; `rebuild` infers them.

use super::{Patch, PatchError, PatchRef};
use crate::entity::{NodeId, ValueId};
use crate::graph::Graph;
use crate::ops::Op;
use pumice_types::SymbolId;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Old and new nodes side by side, with redirections resolved.
pub(super) struct Patched<'p> {
    pub(super) patches: &'p [Patch],
    /// Index of the first new node of each patch, counted after the old nodes.
    pub(super) starts: Vec<usize>,
    pub(super) nodes: Vec<PatchedNode<'p>>,
    /// Operands of all nodes, one node after the other.
    pub(super) inputs: Vec<Option<PatchedRef>>,
    /// What takes the place of each value of the old graph that is replaced.
    pub(super) redirect: Vec<Option<PatchedRef>>,
    /// By node, those that find extents which its attributes name. Extents of operands were found before these.
    finders: BTreeMap<usize, Vec<usize>>,
}

pub(super) struct PatchedNode<'p> {
    pub(super) origin: Origin<'p>,
    /// Where its operands are among those of all nodes.
    pub(super) inputs: Range<u32>,
    /// Where it wants to stand: position of the last old node it replaces, new ones before it.
    pub(super) position: (u32, u32),
}

/// Where a node comes from.
#[derive(Clone, Copy)]
pub(super) enum Origin<'p> {
    Old {
        id: NodeId,
        /// Whether it is a leaf of the interface.
        is_interface: bool,
    },
    New(NewNode<'p>),
}

/// A node that a patch brings.
#[derive(Clone, Copy)]
pub(super) struct NewNode<'p> {
    /// The number of its patch.
    pub(super) patch: u32,
    pub(super) op: &'p Op,
    pub(super) name: &'p Arc<str>,
}

impl PatchedNode<'_> {
    pub(super) fn is_interface(&self) -> bool {
        matches!(self.origin, Origin::Old { is_interface: true, .. })
    }

    fn op<'a>(&'a self, graph: &'a Graph) -> &'a Op {
        match self.origin {
            Origin::Old { id, .. } => &graph.node(id).op,
            Origin::New(new) => new.op,
        }
    }

    pub(super) fn patch(&self) -> Option<usize> {
        match self.origin {
            Origin::Old { .. } => None,
            Origin::New(new) => Some(new.patch as usize),
        }
    }
}

/// An output of a patched node.
#[derive(Clone, Copy)]
pub(super) struct PatchedRef {
    pub(super) node: u32,
    pub(super) output: u16,
}

impl PatchedRef {
    fn new(node: usize, output: u16) -> PatchedRef {
        PatchedRef { node: node as u32, output }
    }

    /// The patched node and output that a value of the old graph is, by what defines it.
    pub(super) fn of((node, output): (NodeId, u16)) -> PatchedRef {
        PatchedRef { node: node.0, output }
    }

    /// The patched node and output that a value of the old graph is.
    pub(super) fn old(graph: &Graph, v: ValueId) -> PatchedRef {
        PatchedRef::of(graph.value(v).def)
    }

    pub(super) fn node(self) -> usize {
        self.node as usize
    }
}

impl<'p> Patched<'p> {
    pub(super) fn new(graph: &Graph, patches: &'p [Patch]) -> Result<Patched<'p>, PatchError> {
        let finding = patches.iter().filter(|p| p.found.is_some());
        let labels: Vec<String> = finding.map(|p| p.label.clone()).collect();
        if labels.len() > 1 {
            return Err(PatchError::Symbols { labels });
        }
        let new: usize = patches.iter().map(|p| p.nodes.len()).sum();
        let mut patched = Patched {
            patches,
            starts: Vec::with_capacity(patches.len()),
            nodes: Vec::with_capacity(graph.nodes.len() + new),
            inputs: Vec::with_capacity(2 * graph.nodes.len()),
            redirect: vec![None; graph.values.len()],
            finders: BTreeMap::new(),
        };
        for (id, node) in graph.nodes() {
            let origin = Origin::Old { id, is_interface: node.op.is_leaf_interface() };
            let inputs = node.inputs.iter().map(|v| Ok(v.map(|v| PatchedRef::old(graph, v))));
            patched.push(origin, inputs, (id.0, u32::MAX))?;
        }
        for (number, patch) in (0..).zip(patches) {
            patched.push_patch(graph, number, patch)?;
        }
        patched.follow_redirections(graph);
        patched.find_extents(graph);
        Ok(patched)
    }

    /// Adds the nodes of a patch and what it replaces.
    fn push_patch(&mut self, graph: &Graph, number: u32, patch: &'p Patch) -> Result<(), PatchError> {
        let start = self.nodes.len();
        self.starts.push(start);
        let resolve = |r: PatchRef| match r {
            PatchRef::Old(v) => Ok(PatchedRef::old(graph, v)),
            PatchRef::New(i, o) if (i as usize) < patch.nodes.len() => {
                Ok(PatchedRef::new(start + i as usize, o))
            }
            PatchRef::New(index, _) => Err(PatchError::Reference { label: patch.label.clone(), index }),
        };
        let anchor = patch.replace.iter().map(|(v, _)| graph.value(*v).def.0.0).max().unwrap_or(0);
        for (i, node) in (0..).zip(&patch.nodes) {
            let origin = Origin::New(NewNode { patch: number, op: &node.op, name: &node.name });
            self.push(origin, node.inputs.iter().map(|r| r.map(resolve).transpose()), (anchor, i))?;
        }
        for &(v, r) in &patch.replace {
            self.redirect[v.index()] = Some(resolve(r)?);
        }
        Ok(())
    }

    fn push(
        &mut self,
        origin: Origin<'p>,
        inputs: impl Iterator<Item = Result<Option<PatchedRef>, PatchError>>,
        position: (u32, u32),
    ) -> Result<(), PatchError> {
        let start = self.inputs.len() as u32;
        for input in inputs {
            self.inputs.push(input?);
        }
        self.nodes.push(PatchedNode { origin, inputs: start..self.inputs.len() as u32, position });
        Ok(())
    }

    /// Which nodes find the extents that attributes name.
    fn find_extents(&mut self, graph: &Graph) {
        if graph.symbols().found().next().is_none() && self.patches.iter().all(|p| p.found.is_none()) {
            return;
        }
        let ops: Vec<&Op> = self.nodes.iter().map(|node| node.op(graph)).collect();
        let finders = ops.iter().enumerate().filter_map(|(i, op)| Some((op.finds()?, i)));
        let finders: BTreeMap<SymbolId, usize> = finders.collect();
        for (i, op) in ops.into_iter().enumerate().filter(|(_, op)| op.finds().is_none()) {
            let mut found = Vec::new();
            op.visit_symbols(&mut |id| found.extend(finders.get(&id)));
            if !found.is_empty() {
                self.finders.insert(i, found);
            }
        }
    }

    /// Operands of a node by position.
    pub(super) fn inputs(&self, node: usize) -> &[Option<PatchedRef>] {
        let Range { start, end } = self.nodes[node].inputs;
        &self.inputs[start as usize..end as usize]
    }

    /// The nodes that a node takes operands from, and those that find the extents that it is given.
    pub(super) fn nodes_before(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        let finders = self.finders.get(&node).into_iter().flatten().copied();
        self.inputs(node).iter().flatten().map(|r| r.node()).chain(finders)
    }

    pub(super) fn target_of(&self, graph: &Graph, v: ValueId) -> PatchedRef {
        self.target(v, PatchedRef::old(graph, v))
    }

    /// What takes the place of a value of the old graph, which was `old`.
    pub(super) fn target(&self, v: ValueId, old: PatchedRef) -> PatchedRef {
        self.redirect[v.index()].unwrap_or(old)
    }

    pub(super) fn name<'a>(&self, graph: &'a Graph, node: usize) -> &'a str
    where
        'p: 'a,
    {
        match self.nodes[node].origin {
            Origin::Old { id, .. } => graph.node_name(id),
            Origin::New(new) => new.name,
        }
    }
}
