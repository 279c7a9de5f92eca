//! Which nodes may become one node.
//!
//! In: sets of nodes that a fusion wants. Out: whether the graph would stay without cycles if each set were one node,
//! all sets accepted before included. A path that leaves a set and comes back would be a cycle: the set would have to
//! run both before and after what lies on the path.

use super::facts::Facts;
use pumice_ir::{Graph, NodeId};

/// Disjoint sets of nodes, each of which is going to be one node.
pub struct Groups<'g> {
    graph: &'g Graph,
    facts: &'g Facts,
    of: Vec<Option<u32>>,
    members: Vec<Vec<NodeId>>,
    /// Node or group was visited in the search of that number.
    seen: Vec<u32>,
    wanted: Vec<u32>,
    search: u32,
}

impl<'g> Groups<'g> {
    /// No sets yet.
    pub fn new(graph: &'g Graph, facts: &'g Facts) -> Groups<'g> {
        let n = graph.nodes().len();
        let (of, members) = (vec![None; n], Vec::new());
        Groups { graph, facts, of, members, seen: vec![0; n], wanted: vec![0; n], search: 0 }
    }

    /// Whether a node is in a set.
    pub fn holds(&self, id: NodeId) -> bool {
        self.of[id.index()].is_some()
    }

    /// The set of a node.
    pub fn of(&self, id: NodeId) -> Option<usize> {
        self.of[id.index()].map(|g| g as usize)
    }

    /// Adds a set.
    pub fn claim(&mut self, mut nodes: Vec<NodeId>) -> usize {
        nodes.sort_unstable();
        let group = self.members.len();
        nodes.iter().for_each(|n| self.of[n.index()] = Some(group as u32));
        self.members.push(nodes);
        group
    }

    /// Moves the members of `from` into `into`; `from` is empty afterwards.
    pub fn unite(&mut self, into: usize, from: usize) {
        let moved = std::mem::take(&mut self.members[from]);
        moved.iter().for_each(|n| self.of[n.index()] = Some(into as u32));
        self.members[into].extend(moved);
        self.members[into].sort_unstable();
    }

    /// All sets that have members, in order of their making.
    pub fn iter(&self) -> impl Iterator<Item = &[NodeId]> {
        self.members.iter().map(Vec::as_slice).filter(|m| !m.is_empty())
    }

    /// As [`Groups::may_unite`], of two sets. The search never enters either: it ends there.
    pub fn may_unite_groups(&mut self, a: usize, b: usize) -> bool {
        let members = [a, b].map(|group| std::mem::take(&mut self.members[group]));
        let may = self.may_unite(&members[0], &members[1]);
        [self.members[a], self.members[b]] = members;
        may
    }

    /// Whether `a` and `b`, each of which may be one node, may be one node together. Values flow from `a` to `b`.
    pub fn may_unite(&mut self, a: &[NodeId], b: &[NodeId]) -> bool {
        // What is computed in one branch alone stays there.
        if let (Some(&a), Some(&b)) = (a.first(), b.first())
            && !self.facts.same_branches(a, b)
        {
            return false;
        }
        self.search += 1;
        let now = self.search;
        a.iter().chain(b).for_each(|n| self.wanted[n.index()] = now);
        // Whatever leaves `a` goes into `b`, so a way back would already be a cycle through `b`.
        let graph = self.graph;
        let facts = self.facts;
        let mut leaving = a.iter().flat_map(|&n| facts.successors(graph, n));
        leaving.all(|s| self.wanted[s.index()] == now) || !self.returns(a, b)
    }

    /// Whether a path leaves the wanted nodes and comes back, taking every set as one node.
    fn returns(&mut self, a: &[NodeId], b: &[NodeId]) -> bool {
        let now = self.search;
        let (graph, facts) = (self.graph, self.facts);
        let inside = |wanted: &[u32], n: NodeId| wanted[n.index()] == now;
        let mut open: Vec<NodeId> = a.iter().chain(b).flat_map(|&n| facts.successors(graph, n)).collect();
        open.retain(|&n| !inside(&self.wanted, n));
        while let Some(n) = open.pop() {
            if std::mem::replace(&mut self.seen[n.index()], now) == now {
                continue;
            }
            if inside(&self.wanted, n) {
                return true;
            }
            match self.of[n.index()] {
                Some(group) => {
                    // Entering a set at one member is entering it at all.
                    for &m in &self.members[group as usize] {
                        self.seen[m.index()] = now;
                        open.extend(facts.successors(graph, m).filter(|s| self.seen[s.index()] != now));
                    }
                }
                None => open.extend(facts.successors(graph, n).filter(|s| self.seen[s.index()] != now)),
            }
        }
        false
    }
}
