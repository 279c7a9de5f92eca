//! What an op sees while its result types are inferred.

use crate::entity::ValueId;
use crate::error::{OpError, node_and_op};
use crate::graph::{Constraint, Graph, Relation};
use crate::ops::Op;
use crate::place::Place;
use crate::shape::{ValueType, display_dim};
use pumice_types::{DType, DimExpr, MAX_RANK, Scheme, SymbolTable, Var};
use smallvec::SmallVec;
use std::cell::RefCell;
use std::sync::Arc;

/// Result types of an op.
pub type Types = SmallVec<[ValueType; 2]>;

/// Operand types of one node, with the symbols they mention.
pub struct Infer<'a> {
    symbols: &'a SymbolTable,
    names: &'static [&'static str],
    operands: &'a [Option<&'a ValueType>],
    constants: &'a dyn Fn(usize) -> Option<&'a pumice_types::Tensor>,
    constraints: RefCell<Vec<Constraint>>,
}

impl<'a> Infer<'a> {
    /// For an op with these operand names and operand types. `constants` gives an operand's data where it is a
    /// constant.
    pub fn new(
        symbols: &'a SymbolTable,
        names: &'static [&'static str],
        operands: &'a [Option<&'a ValueType>],
        constants: &'a dyn Fn(usize) -> Option<&'a pumice_types::Tensor>,
    ) -> Infer<'a> {
        Infer { symbols, names, operands, constants, constraints: RefCell::default() }
    }

    /// Symbols of the graph.
    pub fn symbols(&self) -> &SymbolTable {
        self.symbols
    }

    /// Number of operands, absent ones in the middle counted.
    pub fn len(&self) -> usize {
        self.operands.len()
    }

    /// Whether there are no operands.
    pub fn is_empty(&self) -> bool {
        self.operands.is_empty()
    }

    /// The name of an operand; of a variadic op, its last name for all further ones.
    pub fn name(&self, i: usize) -> &'static str {
        let name = self.names.get(i).or(self.names.last()).copied().unwrap_or("operand");
        name.trim_end_matches(['?', '*'])
    }

    /// The type of an operand that must be there.
    pub fn ty(&self, i: usize) -> Result<&'a ValueType, OpError> {
        self.opt(i).ok_or_else(|| OpError::MissingOperand(self.name(i)))
    }

    /// The type of an optional operand.
    pub fn opt(&self, i: usize) -> Option<&'a ValueType> {
        self.operands.get(i).copied().flatten()
    }

    /// The data of an operand that is a constant.
    pub fn constant(&self, i: usize) -> Option<&'a pumice_types::Tensor> {
        (self.constants)(i)
    }

    /// Errors unless the operand's dtype is one of these.
    pub fn expect_dtype(&self, i: usize, allowed: &[DType]) -> Result<DType, OpError> {
        let dtype = self.ty(i)?.dtype();
        if allowed.contains(&dtype) {
            return Ok(dtype);
        }
        let names: Vec<&str> = allowed.iter().map(|d| d.name()).collect();
        Err(OpError::DType {
            operand: self.name(i),
            dtype,
            expected: format!("expected {}", names.join(", ")),
        })
    }

    /// Errors unless two operands have one dtype.
    pub fn same_dtype(&self, a: usize, b: usize) -> Result<DType, OpError> {
        let (x, y) = (self.ty(a)?.dtype(), self.ty(b)?.dtype());
        if x == y {
            return Ok(x);
        }
        Err(OpError::DTypeMismatch { a: self.name(a), a_dtype: x, b: self.name(b), b_dtype: y })
    }

    /// Errors unless the operand has this rank.
    pub fn expect_rank(&self, i: usize, rank: usize) -> Result<(), OpError> {
        let given = self.ty(i)?.rank();
        if given == rank {
            return Ok(());
        }
        Err(OpError::Rank { operand: self.name(i), rank: given, expected: format!("expected {rank}") })
    }

    /// An axis in [−rank, rank−1] as an index.
    pub fn axis(&self, axis: i64, rank: usize) -> Result<usize, OpError> {
        normalize_axis(axis, rank)
    }

    /// Distinct axes as sorted indices.
    pub fn axes(&self, axes: &[i64], rank: usize) -> Result<Vec<usize>, OpError> {
        let mut out = Vec::with_capacity(axes.len());
        for &a in axes {
            let i = normalize_axis(a, rank)?;
            if out.contains(&i) {
                return Err(OpError::DuplicateAxis(a));
            }
            out.push(i);
        }
        out.sort_unstable();
        Ok(out)
    }

    /// What was left to symbols, as conditions that a run must keep. Errors: one of more terms than conditions may
    /// have.
    pub(crate) fn into_constraints(self) -> Result<Vec<Constraint>, OpError> {
        let constraints = self.constraints.into_inner();
        limited_constraints(&constraints)?;
        Ok(constraints)
    }

    /// Requires two extents to be equal: provably unequal is an error, undecided becomes a constraint that is checked
    /// when symbols are bound.
    pub fn equal(&self, a: &DimExpr, b: &DimExpr, what: &str) -> Result<(), OpError> {
        self.require(a, Relation::Equal, b, what)
    }

    /// Requires an extent not to exceed another: provably larger is an error, undecided becomes a constraint.
    pub fn at_most(&self, a: &DimExpr, b: &DimExpr, what: &str) -> Result<(), OpError> {
        self.require(a, Relation::AtMost, b, what)
    }

    /// Requires extents that a caller states not to be negative: what symbols decide becomes a constraint. One that is
    /// negative always is refused of every result.
    pub fn not_negative(&self, shape: &[DimExpr]) -> Result<(), OpError> {
        let stated = shape.iter().enumerate().filter(|(_, extent)| extent.bounds(self.symbols).1 >= 0);
        for (axis, extent) in stated {
            self.at_most(&DimExpr::constant(0), extent, &format!("zero and the extent of axis {axis}"))?;
        }
        Ok(())
    }

    /// Requires a relation of two extents: what never holds is an error, what symbols decide becomes a constraint.
    pub(crate) fn require(
        &self,
        a: &DimExpr,
        relation: Relation,
        b: &DimExpr,
        what: &str,
    ) -> Result<(), OpError> {
        if a == b {
            return Ok(());
        }
        let (left, right) = (a.clone(), b.clone());
        let wanted =
            Constraint { left, relation, right, what: what.into(), place: Place::Unknown, of_method: false };
        let difference = wanted.difference().within(self.symbols);
        let ((low, high), (least, most)) = (difference.bounds(self.symbols), wanted.allowed());
        let ordered = || relation == Relation::AtMost && a.is_at_most(b, self.symbols);
        if least <= low && high <= most || ordered() {
            return Ok(());
        }
        if wanted.excludes_all(low, high) {
            let (a, b) = (display_dim(a, self.symbols), display_dim(b, self.symbols));
            return Err(match relation {
                Relation::AtMost => OpError::ExtentExceeds { what: what.to_owned(), a, b },
                _ => OpError::ExtentMismatch { what: what.to_owned(), a, b },
            });
        }
        self.constraints.borrow_mut().push(wanted);
        Ok(())
    }

    /// NumPy broadcast of two shapes (OPS 1.1), where which extents are 1 is known when building.
    pub fn broadcast(&self, a: &[DimExpr], b: &[DimExpr]) -> Result<Vec<DimExpr>, OpError> {
        let rank = a.len().max(b.len());
        let at = |s: &[DimExpr], i: usize| (i + s.len()).checked_sub(rank).map(|j| s[j].clone());
        (0..rank)
            .map(|i| match (at(a, i), at(b, i)) {
                (Some(x), Some(y)) if x.is(1) => Ok(y),
                (Some(x), Some(y)) if y.is(1) => Ok(x),
                (Some(x), Some(y)) => {
                    self.require(&x, Relation::Broadcast, &y, "broadcast extents")
                        .map_err(|_| OpError::BroadcastMismatch { a: self.show(a), b: self.show(b) })?;
                    Ok(if y.as_const().is_some() { y } else { x })
                }
                (x, y) => Ok(x.or(y).expect("i < rank, so one of the shapes has the axis")),
            })
            .collect()
    }

    /// As [`Infer::broadcast`], of whole types: where both have one shape, the result shares it.
    pub fn broadcast_shapes(
        &self,
        a: &Arc<[DimExpr]>,
        b: &Arc<[DimExpr]>,
    ) -> Result<Arc<[DimExpr]>, OpError> {
        if a == b { Ok(Arc::clone(a)) } else { Ok(self.broadcast(a, b)?.into()) }
    }

    /// Requires `from` to broadcast to exactly `to` (unidirectional).
    pub fn broadcast_to(&self, from: &[DimExpr], to: &[DimExpr]) -> Result<(), OpError> {
        let mismatch = || OpError::BroadcastMismatch { a: self.show(from), b: self.show(to) };
        if from.len() > to.len() {
            return Err(mismatch());
        }
        for (x, y) in from.iter().rev().zip(to.iter().rev()) {
            if !x.is(1) {
                // Only the first stretches, so one that is never 1 is simply equal.
                let (low, high) = x.bounds(self.symbols);
                let stretches = (low..=high).contains(&1);
                let relation = if stretches { Relation::Broadcast } else { Relation::Equal };
                self.require(x, relation, y, "broadcast extents").map_err(|_| mismatch())?;
            }
        }
        Ok(())
    }

    /// The result of another op over the operands from one on; what it leaves to symbols is left here, too.
    pub(crate) fn result_of(&self, op: &Op, first: usize) -> Result<ValueType, OpError> {
        let operands = self.operands.get(first..).unwrap_or(&[]);
        let present: SmallVec<[bool; 4]> = operands.iter().map(Option::is_some).collect();
        all_operands(op.operand_names(), &present)?;
        limited_attributes(op)?;
        let constants = |i: usize| (self.constants)(i + first);
        let inner = Infer::new(self.symbols, op.operand_names(), operands, &constants);
        let types = op.infer(&inner)?;
        self.constraints.borrow_mut().extend(inner.constraints.into_inner());
        types.into_iter().next().ok_or_else(|| OpError::Invalid(format!("{} has no result", op.name())))
    }

    /// The extent as a constant, or an error that says what needs it.
    pub fn constant_extent(&self, dim: &DimExpr, what: &str) -> Result<u64, OpError> {
        dim.as_extent().ok_or_else(|| OpError::ExtentUnsupported {
            what: what.to_owned(),
            extent: display_dim(dim, self.symbols),
        })
    }

    /// Errors where an expression follows from what only the run finds.
    pub fn known_before(&self, extent: &DimExpr, what: &str) -> Result<(), OpError> {
        match self.symbols.names_found(extent) {
            true => {
                Err(OpError::FoundLate { what: what.to_owned(), extent: display_dim(extent, self.symbols) })
            }
            false => Ok(()),
        }
    }

    /// A shape as text.
    pub fn show(&self, shape: &[DimExpr]) -> String {
        let dims: Vec<String> = shape.iter().map(|d| display_dim(d, self.symbols)).collect();
        format!("[{}]", dims.join(", "))
    }
}

/// An axis in [−rank, rank−1] as an index.
pub fn normalize_axis(axis: i64, rank: usize) -> Result<usize, OpError> {
    let r = rank as i64;
    if (-r..r).contains(&axis) {
        Ok(axis.rem_euclid(r) as usize)
    } else {
        Err(OpError::AxisOutOfRange { axis, rank })
    }
}

/// One result type.
pub fn one(dtype: DType, shape: impl Into<Arc<[DimExpr]>>) -> Result<Types, OpError> {
    Ok(smallvec::smallvec![ValueType::new(dtype, shape)])
}

/// Types and constraints of one node whose operands are in the graph; the driver shared by builder, patches and text.
pub fn infer_node(
    graph: &Graph,
    op: &Op,
    name: &str,
    inputs: &[Option<ValueId>],
) -> Result<(Types, Vec<Constraint>), OpError> {
    let (types, mut constraints) = infer_types(graph, op, inputs)?;
    tell_node(&mut constraints, &node_and_op(name, op.name()));
    Ok((types, constraints))
}

/// Conditions say of which node they are.
pub(crate) fn tell_node(constraints: &mut [Constraint], node: &str) {
    constraints.iter_mut().for_each(|c| c.what = format!("{node}: {}", c.what).into());
}

/// As [`infer_node`], for who keeps no constraint: they do not say of which node they are.
pub fn infer_types(
    graph: &Graph,
    op: &Op,
    inputs: &[Option<ValueId>],
) -> Result<(Types, Vec<Constraint>), OpError> {
    let (names, symbols) = (op.operand_names(), &graph.symbols);
    all_operands(names, &inputs.iter().map(Option::is_some).collect::<SmallVec<[bool; 4]>>())?;
    only_known_symbols(op, symbols)?;
    limited_attributes(op)?;
    let operands: SmallVec<[Option<&ValueType>; 4]> = inputs.iter().map(|v| v.map(|v| graph.ty(v))).collect();
    if !op.handles_blocks() {
        let operand = |i: usize| format!("operand `{}`", names.get(i).or(names.last()).unwrap_or(&"operand"));
        operands.iter().enumerate().try_for_each(|(i, t)| no_blocks(op, *t, || operand(i)))?;
    }
    let constants = |i: usize| inputs.get(i).copied().flatten().and_then(|v| graph.constant_data(v));
    let infer = Infer::new(symbols, names, &operands, &constants);
    let types = op.infer(&infer)?;
    let constraints = infer.constraints.into_inner();
    allowed_results(op, &types, &constraints, symbols)?;
    Ok((types, constraints))
}

/// Operands that an op must have are there, and no more than it takes.
fn all_operands(names: &[&'static str], present: &[bool]) -> Result<(), OpError> {
    let variadic = names.last().is_some_and(|n| n.ends_with('*'));
    if !variadic && present.len() > names.len() {
        return Err(OpError::TooManyOperands { most: names.len(), given: present.len() });
    }
    for (i, operand) in names.iter().enumerate() {
        let required = !operand.ends_with(['?', '*']);
        if required && !present.get(i).is_some_and(|is| *is) {
            return Err(OpError::MissingOperand(operand));
        }
    }
    Ok(())
}

/// What holds of the results of every op.
fn allowed_results(
    op: &Op,
    types: &[ValueType],
    constraints: &[Constraint],
    symbols: &SymbolTable,
) -> Result<(), OpError> {
    if let Some(t) = types.iter().find(|t| t.rank() > MAX_RANK) {
        return Err(OpError::RankTooHigh(t.rank()));
    }
    types.iter().try_for_each(|t| limited_extents(&t.shape))?;
    limited_constraints(constraints)?;
    types.iter().try_for_each(|t| no_negative_extent(&t.shape, symbols))?;
    if !op.handles_blocks() {
        types.iter().try_for_each(|t| no_blocks(op, Some(t), || "its result".to_owned()))?;
    }
    types.iter().try_for_each(whole_blocks)
}

/// Only ops that say so see blocks; to all others values are elements.
fn no_blocks(op: &Op, ty: Option<&ValueType>, value: impl Fn() -> String) -> Result<(), OpError> {
    match ty.map(|t| t.encoding) {
        Some(encoding) if encoding.plain().is_none() => {
            Err(OpError::Blocks { value: value().replace(['?', '*'], ""), encoding, op: op.name() })
        }
        _ => Ok(()),
    }
}

/// Blocks lie along the last axis, and no row ends inside one.
fn whole_blocks(ty: &ValueType) -> Result<(), OpError> {
    let Some(elements) = ty.encoding.scheme().map(Scheme::elements) else { return Ok(()) };
    let axis = ty.rank().saturating_sub(1);
    let extent = ty.shape.last().map_or(Some(1), DimExpr::as_extent).unwrap_or(1);
    if extent.is_multiple_of(elements) {
        return Ok(());
    }
    Err(OpError::CutBlock { axis, extent, encoding: ty.encoding })
}

/// Attributes are expressions over this graph's symbols.
fn only_known_symbols(op: &Op, symbols: &SymbolTable) -> Result<(), OpError> {
    let mut unknown = None;
    op.visit_dims(&mut |d| {
        let is_unknown = |v: Var| v.symbol().is_some_and(|id| id.0 as usize >= symbols.len());
        unknown = unknown.or(d.find_var(is_unknown).and_then(Var::symbol));
    });
    unknown.map_or(Ok(()), |id| Err(OpError::UnknownSymbol(id.0)))
}

fn too_large(what: impl Into<String>) -> OpError {
    OpError::ExtentTooLarge { what: what.into(), most: DimExpr::MOST_ATOMS }
}

fn limited_attributes(op: &Op) -> Result<(), OpError> {
    let mut found = false;
    op.visit_dims(&mut |d| found |= d.is_too_large());
    if found { Err(too_large("an extent that it is given")) } else { Ok(()) }
}

/// Strides, sizes and offsets are products of extents, so these must be within the limit too.
fn limited_extents(shape: &[DimExpr]) -> Result<(), OpError> {
    if let Some(axis) = shape.iter().position(DimExpr::is_too_large) {
        return Err(too_large(format!("the extent of axis {axis}")));
    }
    let of_product = DimExpr::product_atoms(shape);
    if of_product > DimExpr::MOST_ATOMS { Err(too_large("the product of the extents")) } else { Ok(()) }
}

fn limited_constraints(constraints: &[Constraint]) -> Result<(), OpError> {
    match constraints.iter().find(|c| c.left.is_too_large() || c.right.is_too_large()) {
        Some(c) => Err(too_large(format!("what must hold of extents ({})", c.what))),
        None => Ok(()),
    }
}

fn no_negative_extent(shape: &[DimExpr], symbols: &SymbolTable) -> Result<(), OpError> {
    let negative = |d: &DimExpr| d.bounds(symbols).1 < 0;
    match shape.iter().position(negative) {
        Some(axis) => {
            Err(OpError::NegativeExtent { axis, extent: crate::shape::display_dim(&shape[axis], symbols) })
        }
        None => Ok(()),
    }
}
