//! The values that symbols and scalars have in one run.

use crate::symbol::{ScalarId, SymbolId, Var};
use serde::{Deserialize, Serialize};

/// Values of symbols and of integer scalars; anything may still be unbound.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bindings {
    symbols: Vec<Option<u64>>,
    scalars: Vec<Option<i64>>,
}

impl Bindings {
    /// Nothing bound.
    pub fn new() -> Bindings {
        Bindings::default()
    }

    /// Binds a symbol, replacing an earlier value.
    pub fn bind(&mut self, id: SymbolId, value: u64) {
        let i = id.0 as usize;
        if self.symbols.len() <= i {
            self.symbols.resize(i + 1, None);
        }
        self.symbols[i] = Some(value);
    }

    /// Binds an integer scalar, replacing an earlier value.
    pub fn bind_scalar(&mut self, id: ScalarId, value: i64) {
        let i = id.0 as usize;
        if self.scalars.len() <= i {
            self.scalars.resize(i + 1, None);
        }
        self.scalars[i] = Some(value);
    }

    /// The value of a symbol.
    pub fn symbol(&self, id: SymbolId) -> Option<u64> {
        self.symbols.get(id.0 as usize).copied().flatten()
    }

    /// The same scalars, and symbols numbered anew: symbol k has the value of the k-th of `symbols`.
    pub fn renumbered(&self, symbols: &[SymbolId]) -> Bindings {
        let symbols = symbols.iter().map(|&id| self.symbol(id)).collect();
        Bindings { symbols, scalars: self.scalars.clone() }
    }

    /// The value of a variable.
    pub fn get(&self, var: Var) -> Option<i64> {
        match var {
            Var::Symbol(id) => self.symbol(id).and_then(|v| i64::try_from(v).ok()),
            Var::Scalar(id) => self.scalars.get(id.0 as usize).copied().flatten(),
        }
    }
}
