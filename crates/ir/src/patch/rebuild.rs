//! The new graph from a patched graph and an order: old nodes and values are moved, new ones inferred, and what
//! replaces a value has its type.

use super::PatchError;
use super::patched::{NewNode, Origin, Patched, PatchedRef};
use crate::conditions::Conditions;
use crate::entity::ValueId;
use crate::graph::{Constraint, Graph, Node, ValueInfo};
use crate::infer::{Types, infer_node};
use crate::names::Names;
use crate::ops::Op;
use smallvec::SmallVec;
use std::sync::Arc;

type Inputs = SmallVec<[Option<ValueId>; 4]>;
type Outputs = SmallVec<[ValueId; 2]>;

/// What is left of the old graph while its nodes and values move.
struct Remains {
    nodes: Vec<Option<Node>>,
    values: Vec<Option<ValueInfo>>,
    /// The node and output that each value was.
    refs: Vec<PatchedRef>,
}

impl Remains {
    /// Takes nodes and values out of a graph; what stays is a graph without nodes.
    fn take(graph: &mut Graph) -> Remains {
        Remains {
            refs: graph.values.iter().map(|v| PatchedRef::of(v.def)).collect(),
            nodes: std::mem::take(&mut graph.nodes).into_iter().map(Some).collect(),
            values: std::mem::take(&mut graph.values).into_iter().map(Some).collect(),
        }
    }
}

/// The new graph, node by node.
struct Rebuilt {
    graph: Graph,
    names: Names,
    /// Of the new graph; made when the first node brings one.
    conditions: Option<Conditions>,
    /// The values in the new graph of each patched node that is in it.
    place: Vec<Outputs>,
}

impl Rebuilt {
    fn value(&self, r: PatchedRef) -> ValueId {
        self.place[r.node()][r.output as usize]
    }

    /// Moves a node of the old graph.
    fn move_node(&mut self, node: Node, inputs: Inputs, values: &mut [Option<ValueInfo>]) -> Outputs {
        let same = node.outputs.iter().filter_map(|v| values[v.index()].take());
        self.graph.push_node(node.op, inputs, same.map(|ValueInfo { ty, name, .. }| (ty, name)))
    }

    /// Adds a node of a patch under its name in the new graph, with the types that were inferred.
    fn add_node(
        &mut self,
        op: Op,
        name: Arc<str>,
        inputs: Inputs,
        (types, constraints): (Types, Vec<Constraint>),
    ) -> Outputs {
        let names = self.names.of_results(name, types.len());
        let graph = &mut self.graph;
        if !constraints.is_empty() {
            let conditions = self.conditions.get_or_insert_with(|| Conditions::of(&graph.constraints));
            conditions.append(&mut graph.constraints, constraints);
        }
        graph.push_node(op, inputs, types.into_iter().zip(names))
    }
}

impl Patched<'_> {
    /// The new graph. Old nodes and values are moved into it.
    pub(super) fn rebuild(&self, old: Graph, order: &[usize]) -> Result<Graph, PatchError> {
        let any_new = order.iter().any(|&i| self.nodes[i].patch().is_some());
        let names = if any_new { self.names(&old, order) } else { Names::default() };
        let mut graph = old;
        let mut remains = Remains::take(&mut graph);
        for symbol in self.patches.iter().filter_map(|p| p.found.clone()) {
            graph.symbols.push(symbol);
        }
        graph.nodes.reserve_exact(order.len());
        graph.values.reserve_exact(order.len());
        let place = vec![SmallVec::new(); self.nodes.len()];
        let mut rebuilt = Rebuilt { graph, names, conditions: None, place };
        for &i in order {
            let inputs: Inputs = self.inputs(i).iter().map(|r| r.map(|r| rebuilt.value(r))).collect();
            rebuilt.place[i] = match self.nodes[i].origin {
                Origin::Old { id, .. } => {
                    let node = remains.nodes[id.index()].take().expect("an order has a node once");
                    rebuilt.move_node(node, inputs, &mut remains.values)
                }
                Origin::New(new) => {
                    let name = rebuilt.names.unique(Arc::clone(new.name));
                    let inferred = self.infer(new, &name, &inputs, &rebuilt.graph)?;
                    rebuilt.add_node(new.op.clone(), name, inputs, inferred)
                }
            };
        }
        self.check_types(&remains, &rebuilt)?;
        Ok(self.with_interface(rebuilt, &remains.refs))
    }

    /// The graph whose outputs and feeds are the values that took the place of the old ones.
    fn with_interface(&self, rebuilt: Rebuilt, refs: &[PatchedRef]) -> Graph {
        let Rebuilt { mut graph, place, .. } = rebuilt;
        let at = |v: ValueId| {
            let r = self.target(v, refs[v.index()]);
            place[r.node()][r.output as usize]
        };
        graph.outputs.iter_mut().for_each(|o| o.value = at(o.value));
        graph.feeds.iter_mut().for_each(|f| f.state = at(f.state));
        graph
    }

    /// Names of the old values that stay, which new ones must not have.
    fn names(&self, old: &Graph, order: &[usize]) -> Names {
        let kept = order.iter().filter_map(|&i| match self.nodes[i].origin {
            Origin::Old { id, .. } => Some(&old.node(id).outputs),
            Origin::New(_) => None,
        });
        kept.flatten().map(|&v| Arc::clone(&old.value(v).name)).collect()
    }

    /// Types and constraints of a new node, with operands of the new graph; they name it as that graph does.
    fn infer(
        &self,
        NewNode { patch, op, .. }: NewNode<'_>,
        name: &str,
        inputs: &[Option<ValueId>],
        graph: &Graph,
    ) -> Result<(Types, Vec<Constraint>), PatchError> {
        infer_node(graph, op, name, inputs).map_err(|source| {
            let label = self.patches[patch as usize].label.clone();
            PatchError::Infer { label, node: name.to_string(), source }
        })
    }

    /// What replaces a value has its type. An old value that stays is in the new graph by now, and no more in `old`.
    fn check_types(&self, old: &Remains, new: &Rebuilt) -> Result<(), PatchError> {
        let graph = &new.graph;
        let value = |r: PatchedRef| new.place[r.node()].get(r.output as usize).map(|&v| graph.value(v));
        for patch in self.patches {
            for &(v, _) in &patch.replace {
                let was = old.refs[v.index()];
                let Some(new) = value(self.target(v, was)) else { continue };
                let Some(replaced) = value(was).or(old.values[v.index()].as_ref()) else { continue };
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
