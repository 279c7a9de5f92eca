//! How often each op occurs in some programs: what shows that none is left out.

use super::inner_nodes;
use pumice_ir::Graph;
use std::collections::BTreeMap;

/// How often each op occurs in some programs, with how many have symbols, states, host ops.
#[derive(Default)]
pub struct Histogram {
    ops: BTreeMap<&'static str, u64>,
    graphs: u64,
    nodes: u64,
    /// Fewest and most nodes besides leaves.
    inner: Option<(usize, usize)>,
}

impl Histogram {
    /// Counts a program.
    pub fn add(&mut self, graph: &Graph) {
        self.graphs += 1;
        let n = inner_nodes(graph);
        let (fewest, most) = self.inner.unwrap_or((n, n));
        self.inner = Some((fewest.min(n), most.max(n)));
        let mut seen = BTreeMap::<&'static str, u64>::new();
        for (_, node) in graph.nodes() {
            self.nodes += 1;
            *seen.entry(node.op.name()).or_default() += 1;
        }
        // Random programs transform a symbolic axis where there is one.
        let is_on_host = graph
            .nodes()
            .any(|(_, node)| node.op.name() == "fft" && graph.ty(node.output()).static_shape().is_none());
        let mut some =
            |what: &'static str, there: bool| *self.ops.entry(what).or_default() += u64::from(there);
        some("(programs with symbols)", graph.symbols().iter().next().is_some());
        some("(programs with states)", !graph.states().is_empty());
        some("(programs with host ops)", is_on_host);
        seen.into_iter().for_each(|(op, n)| *self.ops.entry(op).or_default() += n);
    }

    /// How often an op, or a kind of programs, occurs.
    pub fn count(&self, what: &str) -> u64 {
        self.ops.get(what).copied().unwrap_or(0)
    }

    /// Fewest and most nodes of a program, leaves not counted.
    pub fn inner(&self) -> (usize, usize) {
        self.inner.unwrap_or_default()
    }

    /// Ops that occur less often than this.
    pub fn rarer_than(&self, least: u64) -> Vec<&'static str> {
        let only_made_by_passes = ["fused"];
        pumice_ir::Op::NAMES
            .iter()
            .copied()
            .filter(|op| self.count(op) < least && !only_made_by_passes.contains(op))
            .collect()
    }
}

impl std::fmt::Display for Histogram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (fewest, most) = self.inner.unwrap_or_default();
        let (graphs, nodes) = (self.graphs, self.nodes);
        writeln!(
            f,
            "{graphs} programs, {nodes} nodes, {fewest} to {most} of them in a program besides leaves"
        )?;
        let cells: Vec<String> = self.ops.iter().map(|(op, n)| format!("{op} {n}")).collect();
        cells.chunks(8).try_for_each(|line| writeln!(f, "  {}", line.join(", ")))
    }
}
