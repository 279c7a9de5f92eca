//! What a program takes, gives and keeps, as values that a caller can look at. In: a plan. Out: names, types and
//! bounds. Never here: bytes.

use crate::bind::show;
use pumice_plan::Plan;
use pumice_types::{DType, DimExpr, Encoding};
use std::fmt;

/// One extent of a tensor: prints as `784`, or `batch=1..=64`.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Extent {
    /// The extent, over the symbols of the plan.
    pub dim: DimExpr,
    /// The same with the names of the symbols.
    pub text: String,
    /// Smallest value in any run.
    pub min: u64,
    /// Largest value in any run.
    pub max: u64,
}

impl Extent {
    fn of(plan: &Plan, dim: &DimExpr) -> Extent {
        let (min, max) = (dim.lower(&plan.symbols), dim.upper(&plan.symbols));
        Extent { dim: dim.clone(), text: show(plan, dim), min, max }
    }

    /// The extent, where it is the same in every run.
    pub fn fixed(&self) -> Option<u64> {
        self.dim.as_extent()
    }
}

impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.fixed() {
            Some(n) => write!(f, "{n}"),
            None => write!(f, "{}={}..={}", self.text, self.min, self.max),
        }
    }
}

// The derived ones print every term of every expression.
pumice_types::debug_as_display!(Extent, TensorInfo);

/// An input, output, param or state: prints as `x: f32[batch=1..=64, 784]`.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TensorInfo {
    /// Its name.
    pub name: String,
    /// How its elements are stored.
    pub encoding: Encoding,
    /// Its extents, outermost first.
    pub shape: Vec<Extent>,
}

impl TensorInfo {
    pub(crate) fn of(
        plan: &Plan,
        name: &str,
        encoding: impl Into<Encoding>,
        shape: &[DimExpr],
    ) -> TensorInfo {
        let shape = shape.iter().map(|dim| Extent::of(plan, dim)).collect();
        TensorInfo { name: name.to_owned(), encoding: encoding.into(), shape }
    }

    /// With extents that are numbers.
    pub(crate) fn fixed(plan: &Plan, name: &str, encoding: impl Into<Encoding>, shape: &[u64]) -> TensorInfo {
        let shape: Vec<DimExpr> = shape.iter().map(|&n| DimExpr::from(n)).collect();
        TensorInfo::of(plan, name, encoding, &shape)
    }

    /// Type of its elements; of blocks, that of the values that they stand for.
    pub const fn dtype(&self) -> DType {
        self.encoding.dtype()
    }

    /// The shape, where it is the same in every run.
    pub fn fixed_shape(&self) -> Option<Vec<u64>> {
        self.shape.iter().map(Extent::fixed).collect()
    }
}

impl fmt::Display for TensorInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shape: Vec<String> = self.shape.iter().map(Extent::to_string).collect();
        write!(f, "{}: {}[{}]", self.name, self.encoding, shape.join(", "))
    }
}
