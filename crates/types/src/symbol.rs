//! Symbols: the named extents that are bound when a program runs.

use crate::dim::DimExpr;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A symbol of one graph or plan: an index into its [`SymbolTable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SymbolId(pub u32);

/// A dynamic scalar of one graph or plan (OPS 2, `Scalar`): an index into its list of scalars.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ScalarId(pub u32);

/// What an expression may vary with. Shapes use symbols only; frame expressions may use both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Var {
    /// An extent bound by the inputs of a run.
    Symbol(SymbolId),
    /// An integer dynamic scalar, such as a position.
    Scalar(ScalarId),
}

impl Var {
    /// The symbol, if it is one.
    pub fn symbol(self) -> Option<SymbolId> {
        match self {
            Var::Symbol(id) => Some(id),
            Var::Scalar(_) => None,
        }
    }
}

/// A named extent with its bounds.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Symbol {
    /// The name users see.
    pub name: String,
    /// The smallest value it may be bound to.
    pub min: u64,
    /// The largest value it may be bound to; slots are sized for it.
    pub max: u64,
    /// Every value it is bound to is a multiple of this (1 = no promise).
    pub multiple_of: u64,
    /// Whether a step of the program finds its value while it runs, from 0 to `max`: then nobody binds it.
    #[serde(default)]
    pub found: bool,
}

impl fmt::Display for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}..={}", self.name, self.min, self.max)?;
        if self.multiple_of > 1 {
            write!(f, " step {}", self.multiple_of)?;
        }
        if self.found {
            write!(f, " found")?;
        }
        Ok(())
    }
}

/// The symbols of a graph or plan, in declaration order. Clones share them until one is changed.
#[derive(Clone, Debug, Default)]
pub struct SymbolTable(Arc<Symbols>);

#[derive(Clone, Debug, Default)]
struct Symbols {
    list: Vec<Symbol>,
    /// The first of each name.
    by_name: BTreeMap<String, SymbolId>,
}

impl SymbolTable {
    /// Adds a symbol and returns its id. Names are the caller's to keep unique.
    pub fn push(&mut self, symbol: Symbol) -> SymbolId {
        let symbols = Arc::make_mut(&mut self.0);
        let id = SymbolId(symbols.list.len() as u32);
        symbols.by_name.entry(symbol.name.clone()).or_insert(id);
        symbols.list.push(symbol);
        id
    }

    /// The symbol of that id, if the table has it.
    pub fn get(&self, id: SymbolId) -> Option<&Symbol> {
        self.0.list.get(id.0 as usize)
    }

    /// Gives a symbol another range, as a specialization does; an id that the table does not have changes nothing.
    pub fn set_range(&mut self, id: SymbolId, min: u64, max: u64) {
        // What stays as it is stays shared.
        if self.get(id).is_some_and(|s| (s.min, s.max) != (min, max)) {
            let symbol = &mut Arc::make_mut(&mut self.0).list[id.0 as usize];
            (symbol.min, symbol.max) = (min, max);
        }
    }

    /// A symbol from 0 to `max` that a program finds, which the table does not have yet: of that name, or where one
    /// has it, of the name with a number.
    pub fn new_found(&self, name: &str, max: u64) -> Symbol {
        let numbered = (2..).map(|i: u64| format!("{name}_{i}"));
        let mut names = std::iter::once(name.to_owned()).chain(numbered);
        let name = names.find(|name| self.find(name).is_none()).unwrap_or_default();
        Symbol { name, min: 0, max, multiple_of: 1, found: true }
    }

    /// The symbol of that name.
    pub fn find(&self, name: &str) -> Option<SymbolId> {
        self.0.by_name.get(name).copied()
    }

    /// All symbols with their ids, in order.
    pub fn iter(&self) -> impl Iterator<Item = (SymbolId, &Symbol)> {
        self.0.list.iter().enumerate().map(|(i, s)| (SymbolId(i as u32), s))
    }

    /// Those whose values a program finds, in order.
    pub fn found(&self) -> impl Iterator<Item = SymbolId> {
        self.iter().filter(|(_, s)| s.found).map(|(id, _)| id)
    }

    /// The same symbols, as a part of a program sees them: each has a value.
    #[must_use]
    pub fn all_bound(&self) -> SymbolTable {
        if self.found().next().is_none() {
            return self.clone();
        }
        self.iter().map(|(_, s)| Symbol { found: false, ..s.clone() }).collect()
    }

    /// Whether an expression names one whose value a program finds.
    pub fn names_found(&self, e: &DimExpr) -> bool {
        e.find_var(|v| v.symbol().is_some_and(|id| self.is_found(id))).is_some()
    }

    /// Whether an expression follows from symbols of the table alone that the caller binds, and from no scalar.
    pub fn are_bound(&self, e: &DimExpr) -> bool {
        let bound = |id: SymbolId| self.get(id).is_some_and(|s| !s.found);
        e.find_var(|v| !v.symbol().is_some_and(bound)).is_none()
    }

    /// Whether a program finds the value of that symbol.
    pub fn is_found(&self, id: SymbolId) -> bool {
        self.get(id).is_some_and(|s| s.found)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.list.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.list.is_empty()
    }
}

impl FromIterator<Symbol> for SymbolTable {
    fn from_iter<I: IntoIterator<Item = Symbol>>(symbols: I) -> SymbolTable {
        let mut table = SymbolTable::default();
        symbols.into_iter().for_each(|s| _ = table.push(s));
        table
    }
}

impl PartialEq for SymbolTable {
    fn eq(&self, other: &SymbolTable) -> bool {
        self.0.list == other.0.list
    }
}

impl Eq for SymbolTable {}

impl Hash for SymbolTable {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.list.hash(state);
    }
}

impl Serialize for SymbolTable {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.list.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for SymbolTable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<SymbolTable, D::Error> {
        Ok(Vec::<Symbol>::deserialize(deserializer)?.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_share_until_one_is_changed() {
        let symbol =
            |name: &str| Symbol { name: name.to_owned(), min: 1, max: 9, multiple_of: 1, found: false };
        let mut table: SymbolTable = [symbol("n"), symbol("m"), symbol("n")].into_iter().collect();
        let before = table.clone();
        assert_eq!((table.find("m"), table.find("n")), (Some(SymbolId(1)), Some(SymbolId(0))));
        table.set_range(SymbolId(1), 2, 3);
        assert_eq!(table.get(SymbolId(1)).map(|s| (s.min, s.max)), Some((2, 3)));
        assert_eq!(before.get(SymbolId(1)).map(|s| (s.min, s.max)), Some((1, 9)));
        assert_ne!(table, before);
    }

    #[test]
    fn a_table_is_written_as_its_list() {
        let symbol = Symbol { name: "n".to_owned(), min: 1, max: 9, multiple_of: 2, found: false };
        let table: SymbolTable = [symbol.clone()].into_iter().collect();
        let text = serde_json::to_string(&table).expect("written");
        assert_eq!(text, serde_json::to_string(&[symbol]).expect("written"));
        assert_eq!(serde_json::from_str::<SymbolTable>(&text).expect("read").find("n"), Some(SymbolId(0)));
    }
}
