//! Extents as text, the form that `.ir` text reads back.

use super::{Atom, DimExpr};
use crate::symbol::{ScalarId, SymbolId, Var};
use std::fmt;

impl DimExpr {
    /// Writes the expression with the variables' names; the form that `.ir` text reads back.
    pub fn write(&self, out: &mut dyn fmt::Write, name: &dyn Fn(Var) -> String) -> fmt::Result {
        let mut first = true;
        for term in self.terms.iter() {
            let coefficient = term.coefficient;
            match (first, coefficient < 0) {
                (true, true) => out.write_str("-")?,
                (false, true) => out.write_str(" - ")?,
                (false, false) => out.write_str(" + ")?,
                (true, false) => {}
            }
            first = false;
            let magnitude = coefficient.unsigned_abs();
            if magnitude != 1 {
                write!(out, "{magnitude}*")?;
            }
            for (i, factor) in term.factors.iter().enumerate() {
                if i > 0 {
                    out.write_str("*")?;
                }
                factor.write(out, name)?;
            }
        }
        match (first, self.constant) {
            (true, c) => write!(out, "{c}"),
            (false, 0) => Ok(()),
            (false, c) if c < 0 => write!(out, " - {}", c.unsigned_abs()),
            (false, c) => write!(out, " + {c}"),
        }
    }

    /// The expression as text, with the variables' names.
    pub fn display(&self, name: &dyn Fn(Var) -> String) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = self.write(&mut text, name);
        text
    }
}

impl Atom {
    fn write(&self, out: &mut dyn fmt::Write, name: &dyn Fn(Var) -> String) -> fmt::Result {
        let call = match self {
            Atom::Var(v) => return out.write_str(&name(*v)),
            Atom::FloorDiv(_) => "floordiv",
            Atom::CeilDiv(_) => "ceildiv",
            Atom::Min(_) => "min",
            Atom::Max(_) => "max",
        };
        let (a, b) = self.operands().expect("every atom but Var has operands");
        write!(out, "{call}(")?;
        a.write(out, name)?;
        out.write_str(", ")?;
        b.write(out, name)?;
        out.write_str(")")
    }
}

impl fmt::Display for DimExpr {
    /// With variables as `s0`, `d0`; use [`DimExpr::display`] for their names.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, &|v| match v {
            Var::Symbol(SymbolId(i)) => format!("s{i}"),
            Var::Scalar(ScalarId(i)) => format!("d{i}"),
        })
    }
}
