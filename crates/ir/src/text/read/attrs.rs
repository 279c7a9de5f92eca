//! Attributes: numbers, words, lists, data, and graphs in graphs.

use super::{MAX_DEPTH, Reader, Result, Scope};
use crate::attr::{AttrReader, AttrValue};
use crate::graph::Graph;
use crate::ops::Op;
use crate::text::lex::{TextError, Token};
use pumice_types::tensor::byte_count;
use pumice_types::{DType, DimExpr, Tensor};
use std::sync::Arc;

/// The value of an attribute that is one token.
fn one_token(token: &Token) -> Option<AttrValue> {
    match token {
        Token::Quoted(s) => Some(AttrValue::Str(s.clone())),
        Token::Float(f) => Some(AttrValue::Float(*f)),
        Token::Word(w) => match w.as_str() {
            "true" | "false" => Some(AttrValue::Bool(w == "true")),
            "nan" => Some(AttrValue::Float(f64::NAN)),
            "inf" => Some(AttrValue::Float(f64::INFINITY)),
            _ => None,
        },
        _ => None,
    }
}

impl Reader<'_> {
    pub(super) fn attrs(&mut self, graph: &Graph, scope: &Scope) -> Result<Vec<(String, AttrValue)>> {
        let mut attrs = Vec::new();
        if self.eat("{") {
            while !self.eat("}") {
                let key = self.name()?;
                self.expect("=")?;
                attrs.push((key, self.attr(graph, scope)?));
                self.eat(",");
            }
        }
        Ok(attrs)
    }

    fn attr(&mut self, graph: &Graph, scope: &Scope) -> Result<AttrValue> {
        if let Some(value) = one_token(self.peek()) {
            self.next += 1;
            return Ok(value);
        }
        match self.peek() {
            Token::Word(w) if w == "graph" => Ok(AttrValue::Graph(Arc::new(self.graph()?))),
            Token::Word(w) if w == "op" && self.is_word_after() => self.op(graph, scope),
            Token::Word(w) if w.parse::<DType>().is_ok() => self.dtype_or_data(),
            Token::Punct("[") => {
                self.next += 1;
                let dims = self.dims(graph, scope)?;
                let ints: Option<Vec<i64>> = dims.iter().map(DimExpr::as_const).collect();
                Ok(ints.map_or(AttrValue::Dims(dims), AttrValue::Ints))
            }
            Token::Punct("-") => self.negative(graph, scope),
            _ => {
                let d = self.dim(graph, scope)?;
                Ok(d.as_const().map_or(AttrValue::Dim(d), AttrValue::Int))
            }
        }
    }

    /// Whether two words stand side by side, as they do in no expression.
    fn is_word_after(&self) -> bool {
        matches!(self.tokens.get(self.next + 1), Some((Token::Word(_), _)))
    }

    /// `op name {attributes}`.
    fn op(&mut self, graph: &Graph, scope: &Scope) -> Result<AttrValue> {
        self.next += 1;
        let at = self.at();
        let name = self.name()?;
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return self.error("ops are nested too deep");
        }
        let attrs = self.attrs(graph, scope)?;
        self.depth -= 1;
        let fail = |message: String| TextError { at, message };
        match Op::read(&name, AttrReader::new(attrs)) {
            Some(Ok(op)) => Ok(AttrValue::Op(Arc::new(op))),
            Some(Err(e)) => Err(fail(format!("{name}: {e}"))),
            None => Err(fail(format!("there is no op `{name}`"))),
        }
    }

    fn negative(&mut self, graph: &Graph, scope: &Scope) -> Result<AttrValue> {
        match self.tokens.get(self.next + 1).map(|t| t.0.clone()) {
            Some(Token::Float(f)) => {
                self.next += 2;
                Ok(AttrValue::Float(-f))
            }
            Some(Token::Word(w)) if w == "inf" => {
                self.next += 2;
                Ok(AttrValue::Float(f64::NEG_INFINITY))
            }
            _ => {
                let d = self.dim(graph, scope)?;
                Ok(d.as_const().map_or(AttrValue::Dim(d), AttrValue::Int))
            }
        }
    }

    fn dtype_or_data(&mut self) -> Result<AttrValue> {
        let at = self.at();
        let dtype = self.dtype()?;
        if !self.eat("[") {
            return Ok(AttrValue::DType(dtype));
        }
        let mut shape = Vec::new();
        while !self.eat("]") {
            shape.push(self.extent()?);
            self.eat(",");
        }
        let fail = |e: pumice_types::TensorError| TextError { at, message: e.to_string() };
        byte_count(dtype, &shape).map_err(fail)?;
        let bytes = match self.take() {
            Token::Hex(bytes) => bytes,
            Token::Punct("[") => self.numbers(dtype)?,
            _ => return self.error("expected numbers in [ ] or data in x\"…\""),
        };
        Tensor::from_bytes(dtype, &shape, bytes).map(|t| AttrValue::Data(Arc::new(t))).map_err(fail)
    }

    fn numbers(&mut self, dtype: DType) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        while !self.eat("]") {
            match dtype {
                DType::F32 => {
                    let negative = self.eat("-");
                    let value = match self.take() {
                        Token::Float(f) => f as f32,
                        Token::Int(i) => i as f32,
                        _ => return self.error("expected a number"),
                    };
                    bytes.extend((if negative { -value } else { value }).to_le_bytes());
                }
                DType::I32 => {
                    let i = self.int()?;
                    let Ok(i) = i32::try_from(i) else { return self.error("not an i32") };
                    bytes.extend(i.to_le_bytes());
                }
                DType::I64 => bytes.extend(self.int()?.to_le_bytes()),
                _ => return self.error("data of this dtype is written as x\"…\""),
            }
            self.eat(",");
        }
        Ok(bytes)
    }
}
