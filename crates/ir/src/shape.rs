//! Types of values, and the short forms in which users write them.

use pumice_types::{DType, DimExpr, Encoding, SymbolTable, Var};
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;
use std::sync::Arc;

/// The type of a value: encoding and extents.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ValueType {
    /// How its elements are stored where it is stored. Only params and what takes parts of them are in blocks.
    pub encoding: Encoding,
    /// Extents, outermost first. Empty for rank 0.
    pub shape: Arc<[DimExpr]>,
}

impl ValueType {
    /// A type.
    pub fn new(encoding: impl Into<Encoding>, shape: impl Into<Arc<[DimExpr]>>) -> ValueType {
        ValueType { encoding: encoding.into(), shape: shape.into() }
    }

    /// A type of constant extents.
    pub fn fixed(encoding: impl Into<Encoding>, shape: &[u64]) -> ValueType {
        ValueType::new(encoding, shape.iter().map(|&d| d.into()).collect::<Vec<_>>())
    }

    /// Type of its elements; of blocks, that of the values that they stand for: f32.
    pub const fn dtype(&self) -> DType {
        self.encoding.dtype()
    }

    /// Number of axes.
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// Number of elements, as an expression.
    pub fn elements(&self) -> DimExpr {
        product(&self.shape)
    }

    /// The extents, if all are constant.
    pub fn static_shape(&self) -> Option<Vec<u64>> {
        self.shape.iter().map(DimExpr::as_extent).collect()
    }

    /// `f32[batch, 784]`.
    pub fn display(&self, symbols: &SymbolTable) -> String {
        let dims: Vec<String> = self.shape.iter().map(|d| display_dim(d, symbols)).collect();
        format!("{}[{}]", self.encoding, dims.join(", "))
    }
}

/// Product of extents; 1 for none.
pub fn product(shape: &[DimExpr]) -> DimExpr {
    shape.iter().fold(DimExpr::constant(1), |a, b| a * b)
}

/// An extent with the names of its symbols.
pub fn display_dim(dim: &DimExpr, symbols: &SymbolTable) -> String {
    dim.display(&|v| match v {
        Var::Symbol(id) => symbols.get(id).map_or_else(|| format!("s{}", id.0), |s| s.name.clone()),
        Var::Scalar(id) => format!("${}", id.0),
    })
}

/// One extent as a user writes it: a number, a symbol declared on the spot, or an expression of the builder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DimSpec {
    /// An expression over symbols the builder knows.
    Expr(DimExpr),
    /// A symbol with its range.
    Symbol {
        /// Its name; the same name with the same range is the same symbol.
        name: String,
        /// Smallest and largest value.
        range: RangeInclusive<u64>,
        /// Every binding is a multiple of this.
        multiple_of: u64,
    },
}

impl DimSpec {
    /// Promises that every binding of the symbol is a multiple of `m`, which lets vector kernels be used.
    pub fn multiple_of(self, m: u64) -> DimSpec {
        match self {
            DimSpec::Symbol { name, range, .. } => DimSpec::Symbol { name, range, multiple_of: m },
            other => other,
        }
    }
}

/// A symbolic extent.
pub fn sym(name: &str, range: RangeInclusive<u64>) -> DimSpec {
    DimSpec::Symbol { name: name.to_owned(), range, multiple_of: 1 }
}

/// A constant extent.
pub fn dim(extent: u64) -> DimSpec {
    DimSpec::Expr(extent.into())
}

impl From<u64> for DimSpec {
    fn from(extent: u64) -> DimSpec {
        dim(extent)
    }
}

impl From<DimExpr> for DimSpec {
    fn from(expr: DimExpr) -> DimSpec {
        DimSpec::Expr(expr)
    }
}

/// A type as a user writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeSpec {
    /// How elements are stored.
    pub encoding: Encoding,
    /// Extents.
    pub dims: Vec<DimSpec>,
}

/// A type of any dtype, or of a param in blocks: `tensor(Scheme::Q4_0, [576, 1536])`.
pub fn tensor<D: Into<DimSpec>>(
    encoding: impl Into<Encoding>,
    dims: impl IntoIterator<Item = D>,
) -> TypeSpec {
    TypeSpec { encoding: encoding.into(), dims: dims.into_iter().map(Into::into).collect() }
}

impl From<ValueType> for TypeSpec {
    fn from(ty: ValueType) -> TypeSpec {
        tensor(ty.encoding, ty.shape.iter().cloned())
    }
}

macro_rules! short_forms {
    ($($name:ident => $dtype:ident),*) => {$(
        #[doc = concat!("A `", stringify!($dtype), "` tensor: `", stringify!($name), "([2, 3])`, `", stringify!($name), "([sym(\"batch\", 1..=64), 784.into()])`.")]
        pub fn $name<D: Into<DimSpec>>(dims: impl IntoIterator<Item = D>) -> TypeSpec {
            tensor(DType::$dtype, dims)
        }
    )*};
}
short_forms!(f32 => F32, f16 => F16, bf16 => BF16, i32 => I32, i64 => I64, u32 => U32, bool_ => Bool);
