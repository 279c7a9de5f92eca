//! Types: dtypes and encodings with their extents, which are expressions of symbols and of the scalars above.

use super::{MAX_DEPTH, Reader, Result, Scope};
use crate::graph::Graph;
use crate::shape::ValueType;
use crate::text::lex::{TextError, Token};
use pumice_types::encoding::UnknownEncoding;
use pumice_types::{DType, DimExpr, Encoding};

impl Reader<'_> {
    pub(super) fn dtype(&mut self) -> Result<DType> {
        let at = self.at();
        self.name()?
            .parse()
            .map_err(|e: pumice_types::dtype::UnknownDType| TextError { at, message: e.to_string() })
    }

    pub(super) fn ty(&mut self, graph: &Graph, scope: &Scope) -> Result<ValueType> {
        let at = self.at();
        let encoding: Encoding =
            self.name()?.parse().map_err(|e: UnknownEncoding| TextError { at, message: e.to_string() })?;
        self.expect("[")?;
        Ok(ValueType::new(encoding, self.dims(graph, scope)?))
    }

    /// Expressions up to `]`.
    pub(super) fn dims(&mut self, graph: &Graph, scope: &Scope) -> Result<Vec<DimExpr>> {
        let mut dims = Vec::new();
        while !self.eat("]") {
            dims.push(self.dim(graph, scope)?);
            self.eat(",");
        }
        Ok(dims)
    }

    pub(super) fn dim(&mut self, graph: &Graph, scope: &Scope) -> Result<DimExpr> {
        let negative = self.eat("-");
        let mut sum = match *self.peek() {
            // Only the smallest integer has a magnitude that is none: its sign belongs to it.
            Token::Int(i64::MIN) if negative => {
                self.next += 1;
                DimExpr::constant(i64::MIN)
            }
            _ if negative => self.term(graph, scope)? * DimExpr::constant(-1),
            _ => self.term(graph, scope)?,
        };
        loop {
            if self.eat("+") {
                sum = sum + self.term(graph, scope)?;
            } else if self.eat("-") {
                sum = sum - self.term(graph, scope)?;
            } else if sum.is_too_large() {
                let most = DimExpr::MOST_ATOMS;
                return self.error(format!(
                    "the expression has more than {most} variables and operations, or divides 0 by 0"
                ));
            } else {
                return Ok(sum);
            }
        }
    }

    fn term(&mut self, graph: &Graph, scope: &Scope) -> Result<DimExpr> {
        let mut product = self.factor(graph, scope)?;
        while self.eat("*") {
            product = product * self.factor(graph, scope)?;
        }
        Ok(product)
    }

    fn factor(&mut self, graph: &Graph, scope: &Scope) -> Result<DimExpr> {
        if let Token::Int(i) = *self.peek() {
            if i == i64::MIN {
                return self.error("the integer is too large");
            }
            self.next += 1;
            return Ok(DimExpr::constant(i));
        }
        if self.eat("$") {
            let at = self.at();
            let name = self.name()?;
            let id = scope.scalars.get(&name).copied();
            let message = format!("there is no scalar `{name}` above");
            return id.map(DimExpr::scalar).ok_or(TextError { at, message });
        }
        let at = self.at();
        let name = self.name()?;
        if !self.eat("(") {
            let message = format!("there is no symbol `{name}`");
            return graph.symbols.find(&name).map(DimExpr::symbol).ok_or(TextError { at, message });
        }
        self.depth += 1;
        if self.depth > 8 * MAX_DEPTH {
            return self.error("the expression is nested too deep");
        }
        let a = self.dim(graph, scope)?;
        self.expect(",")?;
        let b = self.dim(graph, scope)?;
        self.expect(")")?;
        self.depth -= 1;
        match name.as_str() {
            "floordiv" => Ok(a.floor_div(&b)),
            "ceildiv" => Ok(a.ceil_div(&b)),
            "min" => Ok(a.min_with(&b)),
            "max" => Ok(a.max_with(&b)),
            _ => Err(TextError { at, message: format!("`{name}` is not floordiv, ceildiv, min or max") }),
        }
    }
}
