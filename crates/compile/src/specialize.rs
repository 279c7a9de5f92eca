//! Disjoint ranges of the symbols, each with a plan of its own.

use crate::error::CompileError;
use pumice_ir::Graph;
use pumice_types::SymbolTable;

/// The symbol tables of all combinations of ranges; one with the full ranges where nothing is cut.
pub fn ranges(graph: &Graph, cuts: &[(String, Vec<u64>)]) -> Result<Vec<SymbolTable>, CompileError> {
    let mut tables = vec![graph.symbols().clone()];
    for (name, ends) in cuts {
        let wrong = |why: &str| CompileError::Options(format!("specialization of symbol `{name}`: {why}"));
        let id = graph.symbols().find(name).ok_or_else(|| wrong("the graph has no such symbol"))?;
        if !ends.windows(2).all(|w| w[0] < w[1]) {
            return Err(wrong("the ends of its ranges must ascend"));
        }
        let mut next = Vec::new();
        for table in &tables {
            let (mut lo, max) = table.get(id).map_or((0, 0), |s| (s.min, s.max));
            let inside = ends.iter().copied().filter(|&e| e >= lo && e < max).collect::<Vec<_>>();
            for hi in inside.into_iter().chain([max]) {
                let mut t = table.clone();
                if let Some(s) = t.get_mut(id) {
                    (s.min, s.max) = (lo, hi);
                }
                lo = hi + 1;
                next.push(t);
            }
        }
        tables = next;
    }
    Ok(tables)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pumice_ir::{GraphBuilder, f32, sym};

    #[test]
    fn ranges_are_disjoint_and_cover() {
        let g = GraphBuilder::new("g");
        let x = g.input("x", f32([sym("n", 1..=100)]));
        g.output("y", x);
        let graph = g.build().expect("one input, one output");
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
}
