//! Disjoint ranges of the symbols, each with a plan of its own.

use crate::error::CompileError;
use crate::interface::NamedGraph;
use pumice_ir::Graph;
use pumice_types::SymbolTable;

/// The symbol tables of all combinations of ranges of an entry; one with the full ranges where nothing is cut, as no
/// symbol is that only other entries have. Left out are
/// combinations that a condition of the graph excludes: nothing can be planned for extents that contradict each other.
pub fn ranges(entry: &NamedGraph, cuts: &[(String, Vec<u64>)]) -> Result<Vec<SymbolTable>, CompileError> {
    let NamedGraph { graph, symbols, .. } = entry;
    let mut tables = vec![graph.symbols().clone()];
    for (name, ends) in cuts {
        let wrong = |why: &str| CompileError::Options(format!("specialization of symbol `{name}`: {why}"));
        let id = graph.symbols().find(name).ok_or_else(|| wrong("the graph has no such symbol"))?;
        if graph.symbols().is_found(id) {
            return Err(wrong("only the run finds its value, which chooses no plan"));
        }
        if !ends.windows(2).all(|w| w[0] < w[1]) {
            return Err(wrong("the ends of its ranges must ascend"));
        }
        if !symbols.contains(&id) {
            continue;
        }
        let mut next = Vec::new();
        for table in &tables {
            let (mut lo, max) = table.get(id).map_or((0, 0), |s| (s.min, s.max));
            let inside = ends.iter().copied().filter(|&e| e >= lo && e < max).collect::<Vec<_>>();
            for hi in inside.into_iter().chain([max]) {
                let mut t = table.clone();
                t.set_range(id, lo, hi);
                lo = hi + 1;
                next.push(t);
            }
        }
        tables = next;
    }
    tables.retain(|table| !excluded(graph, table));
    if tables.is_empty() {
        return Err(CompileError::Options(
            "the conditions of the graph exclude every range of its symbols".into(),
        ));
    }
    Ok(tables)
}

/// Whether a condition holds nowhere in these ranges.
fn excluded(graph: &Graph, table: &SymbolTable) -> bool {
    graph.constraints().iter().any(|c| c.excludes(table))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pumice_ir::{GraphBuilder, f32, sym};
    use pumice_types::DimExpr;

    #[test]
    fn ranges_are_disjoint_and_cover() {
        let g = GraphBuilder::new("g");
        let x = g.input("x", f32([sym("n", 1..=100)]));
        g.output("y", x);
        let graph = NamedGraph::main(g.build().expect("one input, one output"));
        let cut = |ends: &[u64]| {
            ranges(&graph, &[("n".into(), ends.to_vec())]).map(|t| {
                t.iter().map(|t| t.iter().next().map(|(_, s)| (s.min, s.max)).expect("n")).collect::<Vec<_>>()
            })
        };
        assert_eq!(cut(&[1, 8]), Ok(vec![(1, 1), (2, 8), (9, 100)]));
        assert_eq!(cut(&[100, 200]), Ok(vec![(1, 100)]));
        assert!(cut(&[8, 1]).is_err());
        assert!(ranges(&graph, &[("m".into(), vec![1])]).is_err());
    }
    /// \[n, 3\] seen as \[3, 2\] wants n to be 2: the range of 1 alone was once planned, with views past their ends.
    #[test]
    fn ranges_that_a_condition_excludes_are_left_out() {
        let g = GraphBuilder::new("g");
        let x = g.input("x", f32([sym("n", 1..=2), 3.into()]));
        g.output("y", g.reshape_to(x, vec![DimExpr::constant(3), DimExpr::constant(2)]));
        let graph = NamedGraph::main(g.build().expect("sound for n = 2"));
        let tables = ranges(&graph, &[("n".into(), vec![1])]).expect("one is left");
        let left: Vec<(u64, u64)> =
            tables.iter().flat_map(|t| t.iter().map(|(_, s)| (s.min, s.max)).collect::<Vec<_>>()).collect();
        assert_eq!(left, [(2, 2)]);
    }
}
