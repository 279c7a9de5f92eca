//! Symbols: the named extents that are bound when a program runs.

use serde::{Deserialize, Serialize};
use std::fmt;

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
}

impl fmt::Display for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}..={}", self.name, self.min, self.max)?;
        if self.multiple_of > 1 {
            write!(f, " step {}", self.multiple_of)?;
        }
        Ok(())
    }
}

/// The symbols of a graph or plan, in declaration order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SymbolTable(Vec<Symbol>);

impl SymbolTable {
    /// Adds a symbol and returns its id. Names are the caller's to keep unique.
    pub fn push(&mut self, symbol: Symbol) -> SymbolId {
        self.0.push(symbol);
        SymbolId(self.0.len() as u32 - 1)
    }

    /// The symbol of that id, if the table has it.
    pub fn get(&self, id: SymbolId) -> Option<&Symbol> {
        self.0.get(id.0 as usize)
    }

    /// For narrowing a symbol's range, as a specialization does.
    pub fn get_mut(&mut self, id: SymbolId) -> Option<&mut Symbol> {
        self.0.get_mut(id.0 as usize)
    }

    /// The symbol of that name.
    pub fn find(&self, name: &str) -> Option<SymbolId> {
        self.0.iter().position(|s| s.name == name).map(|i| SymbolId(i as u32))
    }

    /// All symbols with their ids, in order.
    pub fn iter(&self) -> impl Iterator<Item = (SymbolId, &Symbol)> {
        self.0.iter().enumerate().map(|(i, s)| (SymbolId(i as u32), s))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
