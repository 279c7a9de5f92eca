//! Branches whose results have unlike extents that the run finds. Each result is as long as the larger may be, zeros
//! after its elements, so that both have one place; how many of them count is a value of the branches, too, and becomes
//! an extent. So what only one branch finds is found only there.

use super::found_count::LARGEST;
use crate::builder::{GraphBuilder, Value};
use crate::ops::{ExtentOf, If};
use crate::shape::ValueType;
use pumice_types::{DimExpr, SymbolTable};

/// An axis along which two branches are unlike, and the most elements that there are.
type Unlike = (usize, u64);

impl GraphBuilder {
    /// Axes whose extents differ in values that are otherwise of one type, and follow from what the run finds. None
    /// where there is none: [`If`] says what else is wrong.
    pub(super) fn unlike_axes(&self, values: [Value; 2]) -> Option<Vec<Unlike>> {
        let [a, b] = [self.type_of(values[0])?, self.type_of(values[1])?];
        if a.encoding != b.encoding || a.encoding.plain().is_none() || a.rank() != b.rank() {
            return None;
        }
        let symbols = self.symbols()?;
        let axes: Vec<Unlike> = (0..a.rank()).filter_map(|axis| unlike(&a, &b, axis, &symbols)).collect();
        let counted = axes.iter().all(|(_, most)| *most <= LARGEST.unsigned_abs());
        (counted && !axes.is_empty()).then_some(axes)
    }

    /// The value of the branch that is taken, as long as that finds it.
    #[track_caller]
    pub(super) fn join_unlike(&self, taken: &DimExpr, values: [Value; 2], axes: Vec<Unlike>) -> Value {
        let g = self.composition("if");
        let join = |of: [Value; 2]| g.apply(If { taken: taken.clone() }, &of);
        let extents = axes.iter().map(|(axis, most)| {
            let count = join(values.map(|v| g.extent(v, *axis as i64)));
            let extent = g.found_symbol(*most);
            g.apply(ExtentOf { extent: extent.clone() }, &[count]);
            extent
        });
        let extents: Vec<DimExpr> = extents.collect();
        let long = |v: Value| axes.iter().fold(v, |v, unlike| g.with_zeros(v, *unlike));
        let joined = join(values.map(long));
        let last = axes.len() - 1;
        let first = axes.iter().zip(&extents).take(last);
        let cut = first.fold(joined, |v, ((axis, _), n)| g.narrow(v, *axis as i64, 0u64, n.clone()));
        g.last().narrow(cut, axes[last].0 as i64, 0u64, extents[last].clone())
    }

    /// The value with zeros after its elements along an axis, so many together.
    #[track_caller]
    fn with_zeros(&self, value: Value, (axis, most): Unlike) -> Value {
        let Some(ty) = self.type_of(value) else { return value };
        let mut shape = ty.shape.to_vec();
        shape[axis] = DimExpr::from(most) - &shape[axis];
        if shape[axis].is(0) {
            return value;
        }
        let zeros = self.expand_to(self.constant_scalar(ty.dtype(), 0.0), shape);
        self.concat(&[value, zeros], axis as i64)
    }
}

/// The axis, if its extents differ and the run finds one of them.
fn unlike(a: &ValueType, b: &ValueType, axis: usize, symbols: &SymbolTable) -> Option<Unlike> {
    let (a, b) = (&a.shape[axis], &b.shape[axis]);
    let found = symbols.names_found(a) || symbols.names_found(b);
    let differ = !(a - b).within(symbols).is(0);
    (found && differ).then(|| (axis, a.upper(symbols).max(b.upper(symbols))))
}
