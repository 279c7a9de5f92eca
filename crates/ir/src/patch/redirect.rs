//! Redirections: every operand points at what finally replaces it, through chains of patches. New nodes keep what
//! they name, so that a patch may wrap the value it replaces.

use super::patched::{Patched, PatchedRef};
use crate::graph::Graph;
use std::ops::Range;

/// What leads from a value to its final replacement.
struct Redirections<'d> {
    graph: &'d Graph,
    redirect: &'d [Option<PatchedRef>],
}

impl Redirections<'_> {
    /// The end of the chain that begins at `r`; it stops before nodes of the patch `own`, whose operand it is.
    fn target(&self, mut r: PatchedRef, own: &Range<usize>) -> PatchedRef {
        // Values that replace each other in a circle end here, at one of them.
        for _ in 0..=self.redirect.len() {
            match self.next(r) {
                Some(next) if !own.contains(&next.node()) => r = next,
                _ => break,
            }
        }
        r
    }

    /// What replaces a value of the old graph; nothing where it stays, and for values of new nodes.
    fn next(&self, r: PatchedRef) -> Option<PatchedRef> {
        let node = self.graph.nodes.get(r.node())?;
        self.redirect[node.outputs[r.output as usize].index()]
    }
}

impl Patched<'_> {
    /// Points every operand at what finally replaces it.
    pub(super) fn follow_redirections(&mut self, graph: &Graph) {
        let redirections = Redirections { graph, redirect: &self.redirect };
        let total = self.nodes.len();
        for node in &self.nodes {
            let own = node.patch().map_or(0..0, |patch| {
                self.starts[patch]..self.starts.get(patch + 1).copied().unwrap_or(total)
            });
            let inputs = node.inputs.start as usize..node.inputs.end as usize;
            for input in self.inputs[inputs].iter_mut().flatten() {
                *input = redirections.target(*input, &own);
            }
        }
        let resolved = self.redirect.iter().map(|r| r.map(|r| redirections.target(r, &(0..0))));
        self.redirect = resolved.collect();
    }
}
