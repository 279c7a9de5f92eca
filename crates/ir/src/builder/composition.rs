//! Methods that are made of other methods. In: the handle of a builder and operands. Out: nodes that are named after
//! the method, and mistakes that are told under its name. Never here: what a method computes.

use super::{GraphBuilder, Value};
use crate::attr::FloatRange;
use crate::error::{OpError, node_and_op};
use crate::graph::Constraint;
use crate::infer::Infer;
use crate::ops::{Identity, Op};
use crate::shape::ValueType;
use pumice_types::{DType, DimExpr};
use std::ops::Deref;
use std::panic::Location;

/// A composition while it is made: a handle whose nodes are called `name.op`, until [`Composition::last`]. The name is
/// that of the handle the method was called by, else the method's.
pub(crate) struct Composition {
    /// The handle for the parts.
    parts: GraphBuilder,
    /// The name of the whole.
    name: String,
}

impl Composition {
    /// The name of the whole.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The handle that makes the last node, which has the name of the whole.
    pub(crate) fn last(self) -> GraphBuilder {
        self.parts.named(&self.name)
    }

    /// The end of a composition: this op, narrowed where `dtype` is a 16-bit float, which is computed in f32, without
    /// the axes that are gone. The last node has the name of the whole.
    #[track_caller]
    pub(crate) fn finish(self, op: impl Into<Op>, inputs: &[Value], dtype: DType, gone: &[i64]) -> Value {
        let narrow = is_narrow(dtype);
        if !narrow && gone.is_empty() {
            return self.last().apply(op, inputs);
        }
        let wide = self.apply(op, inputs);
        if gone.is_empty() {
            return self.last().cast(wide, dtype);
        }
        let kept = if narrow { self.cast(wide, dtype) } else { wide };
        self.last().squeeze(kept, gone)
    }
}

impl Deref for Composition {
    type Target = GraphBuilder;

    fn deref(&self) -> &GraphBuilder {
        &self.parts
    }
}

impl Drop for Composition {
    fn drop(&mut self) {
        self.parts.inner.borrow_mut().scope.pop();
    }
}

impl GraphBuilder {
    /// Begins a composition. Its operands have been checked, so that its parts cause no mistakes.
    pub(crate) fn composition(&self, method: &str) -> Composition {
        let name = self.next_name.take().unwrap_or_else(|| method.to_owned());
        self.inner.borrow_mut().scope.push(name.clone());
        Composition { parts: GraphBuilder { inner: self.inner.clone(), next_name: None.into() }, name }
    }

    /// The types of the operands of a method. `Err`: the value that came out of a mistake, which is another's or that
    /// an operand is of another graph.
    #[track_caller]
    pub(crate) fn operand_types(
        &self,
        method: &'static str,
        operands: &[Value],
    ) -> Result<Vec<ValueType>, Value> {
        let mut types = Vec::with_capacity(operands.len());
        for &v in operands {
            match self.type_of(v) {
                Some(ty) => types.push(ty),
                // The node reports a foreign value and passes a mistaken one on.
                None => return Err(self.apply_as(method, Identity {}, &[v])),
            }
        }
        Ok(types)
    }

    /// Types of operands that the rule accepts; the rule sees them by these names. What it leaves to symbols becomes a
    /// condition of the graph, since the parts need not ask for it: a row that none of them reads is no mistake of
    /// theirs.
    #[track_caller]
    pub(crate) fn checked_operands(
        &self,
        method: &'static str,
        names: &'static [&'static str],
        operands: &[Value],
        rule: impl FnOnce(&Infer<'_>) -> Result<(), OpError>,
    ) -> Result<Vec<ValueType>, Value> {
        let operands: Vec<Option<Value>> = operands.iter().map(|&v| Some(v)).collect();
        self.checked_optional(method, names, &operands, rule)
    }

    /// As [`GraphBuilder::checked_operands`], of operands that may be absent; the types of those that are there.
    #[track_caller]
    pub(crate) fn checked_optional(
        &self,
        method: &'static str,
        names: &'static [&'static str],
        operands: &[Option<Value>],
        rule: impl FnOnce(&Infer<'_>) -> Result<(), OpError>,
    ) -> Result<Vec<ValueType>, Value> {
        let present: Vec<Value> = operands.iter().copied().flatten().collect();
        let types = self.operand_types(method, &present)?;
        let verdict = {
            let mut left = types.iter();
            let given: Vec<Option<&ValueType>> =
                operands.iter().map(|v| v.and_then(|_| left.next())).collect();
            let symbols = self.symbols().unwrap_or_default();
            let cx = Infer::new(&symbols, names, &given, &|_| None);
            no_blocks(method, &cx).and_then(|()| rule(&cx)).and_then(|()| cx.into_constraints())
        };
        // In no closure, whose place conditions would tell instead of the caller's.
        let constraints = match verdict {
            Ok(constraints) => constraints,
            Err(e) => return Err(self.wrong_call(method, e)),
        };
        match self.require(method, constraints) {
            Ok(()) => Ok(types),
            Err(e) => Err(self.wrong_call(method, e)),
        }
    }

    /// Makes conditions of the graph of what a method needs.
    #[track_caller]
    fn require(&self, method: &'static str, constraints: Vec<Constraint>) -> Result<(), OpError> {
        if constraints.is_empty() {
            return Ok(());
        }
        let node = node_and_op(&self.peek_next_node(method), method);
        self.inner.borrow_mut().require(constraints, &node, Location::caller())
    }

    /// As [`GraphBuilder::checked_optional`], with a type, or none, in the place of each operand.
    #[track_caller]
    pub(crate) fn checked_options(
        &self,
        method: &'static str,
        names: &'static [&'static str],
        operands: &[Option<Value>],
        rule: impl FnOnce(&Infer<'_>) -> Result<(), OpError>,
    ) -> Result<Vec<Option<ValueType>>, Value> {
        let mut types = self.checked_optional(method, names, operands, rule)?.into_iter();
        Ok(operands.iter().map(|v| v.and_then(|_| types.next())).collect())
    }

    /// Elements in which sums are made: 16-bit floats as f32.
    #[track_caller]
    pub(crate) fn widened(&self, x: Value, dtype: DType) -> Value {
        if is_narrow(dtype) { self.cast(x, DType::F32) } else { x }
    }

    /// The product of these axes' extents as an f32 of rank 0, for a value of that shape. It follows symbols.
    #[track_caller]
    pub(crate) fn count_of(&self, x: Value, shape: &[DimExpr], axes: &[usize]) -> Value {
        let known: f64 = axes.iter().filter_map(|&a| shape[a].as_const()).map(|n| n as f64).product();
        let mut count = None;
        for &axis in axes.iter().filter(|&&a| shape[a].as_const().is_none()) {
            let extent = self.cast(self.extent(x, axis as i64), DType::F32);
            count = Some(match count {
                None => extent,
                Some(count) => self.mul(count, extent),
            });
        }
        let known_scalar = self.constant_scalar(DType::F32, known);
        match count {
            None => known_scalar,
            Some(count) if known == 1.0 => count,
            Some(count) => self.mul(count, known_scalar),
        }
    }
}

/// Whether elements are computed in a wider dtype.
fn is_narrow(dtype: DType) -> bool {
    matches!(dtype, DType::F16 | DType::BF16)
}

/// Compositions compute with elements.
fn no_blocks(method: &'static str, cx: &Infer<'_>) -> Result<(), OpError> {
    let stored = (0..cx.len()).filter_map(|i| Some((i, cx.opt(i)?.encoding)));
    match stored.into_iter().find(|(_, encoding)| encoding.plain().is_none()) {
        Some((i, encoding)) => {
            let value = format!("operand `{}`", cx.name(i));
            Err(OpError::Blocks { value, encoding, op: method })
        }
        None => Ok(()),
    }
}

/// Refuses a number that is outside a range.
pub(crate) fn in_range(name: &'static str, value: f32, range: FloatRange) -> Result<(), OpError> {
    crate::attr::check_one(name, &value, Some(range)).map_err(OpError::from)
}
