//! A graph for part of what a symbol may be bound to.

use crate::graph::Graph;
use pumice_types::{Symbol, SymbolId};

impl Graph {
    /// The graph whose symbol of that number has this name and range: what holds in the whole range holds in part of
    /// it. Entries of one program agree on symbols of one name, so that one entry of a narrower range names it
    /// otherwise. None where there is no such symbol or another one has the name, where a program finds it, and where
    /// the range is not within the old one, or empty.
    ///
    /// ```
    /// use pumice_ir::{GraphBuilder, f32, sym};
    /// let g = GraphBuilder::new("g");
    /// g.output("y", g.neg(g.input("x", f32([sym("n", 1..=64)]))));
    /// let graph = g.build()?;
    /// let n = graph.symbols().find("n").expect("it has one");
    /// let part = graph.with_symbol_within(n, "part", 1..=8).expect("within 1 to 64");
    /// assert_eq!(part.symbols().iter().map(|(_, s)| s.to_string()).collect::<Vec<_>>(), ["part=1..=8"]);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    pub fn with_symbol_within(
        &self,
        id: SymbolId,
        name: &str,
        range: std::ops::RangeInclusive<u64>,
    ) -> Option<Graph> {
        let (&min, &max) = (range.start(), range.end());
        let old = self.symbols.get(id).filter(|s| !s.found && s.min <= min && min <= max && max <= s.max)?;
        if self.symbols.find(name).is_some_and(|other| other != id) {
            return None;
        }
        let new = Symbol { name: name.to_owned(), min, max, ..old.clone() };
        let of =
            |(other, symbol): (SymbolId, &Symbol)| if other == id { new.clone() } else { symbol.clone() };
        Some(Graph { symbols: self.symbols.iter().map(of).collect(), ..self.clone() })
    }
}
