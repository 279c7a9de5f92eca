//! Extents that must be equal and that only the run finds: nobody can refuse what it finds, so operands are cut to the
//! smallest, and the run reports where they are not equal.
//!
//! In: a node whose conditions the builder refuses. Out: operands that are as long as it needs, each after the report.
//! Which axes must be equal is asked of the op: it is shown operands in which each axis in question is a symbol of its
//! own. Never here: a condition on anything but two axes of operands, and operands that the run may leave out; these
//! stay refused.

use super::inner::Inner;
use super::{CallSite, Value};
use crate::entity::ValueId;
use crate::graph::{Constraint, Relation};
use crate::infer::{Infer, infer_types};
use crate::ops::{After, Extent, InBoth, Op, Range, Slice};
use crate::shape::ValueType;
use pumice_types::{DType, DimExpr, Symbol, SymbolTable};
use smallvec::SmallVec;

/// Operands of a node by position.
pub(super) type Inputs = SmallVec<[Option<ValueId>; 4]>;

/// An axis of an operand whose extent a refused condition names.
#[derive(Clone)]
struct Axis {
    operand: usize,
    axis: usize,
    extent: DimExpr,
    /// Axes of one number must be equal.
    class: usize,
}

/// Axes that must be equal and may not be.
struct Unlike {
    axes: Vec<Axis>,
    /// The smallest of their extents.
    least: DimExpr,
    /// The largest of their extents.
    most: DimExpr,
}

/// The nodes that are made for one: what they are named after, and where it was made.
#[derive(Clone, Copy)]
struct For<'a> {
    name: &'a str,
    site: CallSite,
}

impl Inner {
    /// The operands cut so that the extents which the node needs to be equal are. None where that cannot be.
    pub(super) fn cut_alike(&mut self, op: &Op, name: &str, ids: &Inputs, site: CallSite) -> Option<Inputs> {
        let mut cut = ids.clone();
        for unlike in self.unlike(op, ids)? {
            self.cut_class(&unlike, &mut cut, For { name, site })?;
        }
        Some(cut)
    }

    /// Operands with the first elements of axes that must be equal, after the report.
    fn cut_class(&mut self, unlike: &Unlike, operands: &mut Inputs, of: For<'_>) -> Option<()> {
        let mut first = operands.clone();
        let mut concerned = Vec::new();
        for (operand, value) in first.iter_mut().enumerate() {
            let own = unlike.axes.iter().filter(|a| a.operand == operand);
            let axes: Vec<i64> = own.map(|a| a.axis as i64).collect();
            if !axes.is_empty() {
                *value = Some(self.first_elements((*value)?, axes, &unlike.least, of)?);
                concerned.push(operand);
            }
        }
        let report = self.report(unlike, &first, of)?;
        for operand in concerned {
            operands[operand] = Some(self.part(After {}, "matched", &[first[operand]?, report], of)?);
        }
        Some(())
    }

    fn first_elements(
        &mut self,
        value: ValueId,
        axes: Vec<i64>,
        least: &DimExpr,
        of: For<'_>,
    ) -> Option<ValueId> {
        let (starts, ends) = (vec![DimExpr::constant(0); axes.len()], vec![least.clone(); axes.len()]);
        self.part(Slice { starts, ends, axes, steps: Vec::new(), exact: false }, "cut", &[value], of)
    }

    /// Every place of the longest axis that is not one of the shortest is reported; the first one is where that ends.
    fn report(&mut self, unlike: &Unlike, first: &Inputs, of: For<'_>) -> Option<ValueId> {
        let Axis { operand, axis, .. } = unlike.axes.first()?;
        let least = self.part(Extent { axis: *axis as i64 }, "least", &[first[*operand]?], of)?;
        let (start, len) = (DimExpr::constant(0), unlike.most.clone());
        let places = self.part(Range { start, delta: 1, len, dtype: DType::I32 }, "places", &[], of)?;
        self.part(InBoth {}, "extents", &[places, least], of)
    }

    /// A node that is made for another.
    fn part(&mut self, op: impl Into<Op>, name: &str, inputs: &[ValueId], of: For<'_>) -> Option<ValueId> {
        let inputs: Vec<Option<Value>> =
            inputs.iter().map(|&id| Some(Value { id: Ok(id), graph: self.id })).collect();
        self.add(op.into(), format!("{}.{name}", of.name), &inputs, of.site)[0].valid()
    }

    /// Axes of operands that the node needs to be equal, and that only the run could tell to be.
    fn unlike(&self, op: &Op, ids: &Inputs) -> Option<Vec<Unlike>> {
        let may_be_absent = op.branches().is_some() || op.loops().is_some() || op.carries().is_some();
        if may_be_absent || op.state_operand().is_some() || op.body().is_some() {
            return None;
        }
        let open = self.open_conditions(op, ids)?;
        let named: Vec<&DimExpr> = open.iter().flat_map(|c| [&c.left, &c.right]).collect();
        let mut axes = Vec::new();
        for (operand, v) in ids.iter().enumerate() {
            let shape = v.map_or(&[][..], |v| &self.graph.ty(v).shape);
            for (axis, extent) in shape.iter().enumerate().filter(|(_, e)| named.contains(e) && !e.is(1)) {
                axes.push(Axis { operand, axis, extent: extent.clone(), class: axes.len() });
            }
        }
        self.classify(op, ids, &mut axes)?;
        Some((0..axes.len()).filter_map(|class| self.of_class(&axes, class)).collect())
    }

    /// Conditions of equality that only the run could look at.
    fn open_conditions(&self, op: &Op, ids: &Inputs) -> Option<Vec<Constraint>> {
        let symbols = &self.graph.symbols;
        symbols.found().next()?;
        let (_, mut conditions) = infer_types(&self.graph, op, ids).ok()?;
        let is_open = |c: &Constraint| c.names_found(symbols) && !self.conditions.imply(c);
        conditions.retain(|c| c.relation != Relation::AtMost && is_open(c));
        (!conditions.is_empty()).then_some(conditions)
    }

    /// Gives axes that must be equal one number: the op is asked, with a symbol of its own for each.
    fn classify(&self, op: &Op, ids: &Inputs, axes: &mut [Axis]) -> Option<()> {
        let graph = &self.graph;
        let (symbols, types) = self.with_own_symbols(ids, axes)?;
        let types: Vec<Option<&ValueType>> = types.iter().map(Option::as_ref).collect();
        let constants = |i: usize| ids.get(i).copied().flatten().and_then(|v| graph.constant_data(v));
        let cx = Infer::new(&symbols, op.operand_names(), &types, &constants);
        op.infer(&cx).ok()?;
        let axis_of = |e: &DimExpr| (e.as_symbol()?.0 as usize).checked_sub(graph.symbols.len());
        for c in cx.into_constraints().ok()?.iter().filter(|c| c.relation != Relation::AtMost) {
            if let (Some(a), Some(b)) = (axis_of(&c.left), axis_of(&c.right)) {
                let (kept, gone) = (axes[a].class, axes[b].class);
                axes.iter_mut().filter(|axis| axis.class == gone).for_each(|axis| axis.class = kept);
            }
        }
        Some(())
    }

    /// The types of operands in which each of these axes is a symbol of its own, after those of the graph.
    fn with_own_symbols(&self, ids: &Inputs, axes: &[Axis]) -> Option<(SymbolTable, Vec<Option<ValueType>>)> {
        let known = &self.graph.symbols;
        let mut symbols = known.clone();
        let types = ids.iter().map(|v| v.map(|v| self.graph.ty(v).clone()));
        let mut types: Vec<Option<ValueType>> = types.collect();
        for (at, axis) in axes.iter().enumerate() {
            let (min, max) = (axis.extent.lower(known), axis.extent.upper(known));
            let own = Symbol { name: format!("axis {at}"), min, max, multiple_of: 1, found: true };
            let own = DimExpr::symbol(symbols.push(own));
            let ty = types[axis.operand].as_mut()?;
            let mut shape = ty.shape.to_vec();
            shape[axis.axis] = own;
            ty.shape = shape.into();
        }
        Some((symbols, types))
    }

    /// The axes of one number, if they may be unlike and only the run knows.
    fn of_class(&self, axes: &[Axis], class: usize) -> Option<Unlike> {
        let symbols = &self.graph.symbols;
        let axes: Vec<Axis> = axes.iter().filter(|axis| axis.class == class).cloned().collect();
        let extents = || axes.iter().map(|axis| axis.extent.clone());
        let least = extents().reduce(|a, b| a.min_with(&b))?.within(symbols);
        let most = extents().reduce(|a, b| a.max_with(&b))?.within(symbols);
        let found = extents().any(|e| symbols.names_found(&e));
        (found && least != most).then_some(Unlike { axes, least, most })
    }
}
