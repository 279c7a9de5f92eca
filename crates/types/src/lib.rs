//! What both sides of pumice's borders speak.
//!
//! Plain data and pure functions: element types, sizes with units, extents that may be symbolic, scalar
//! expressions, tensors at the host boundary, and the description of a device to compile for. Nothing here
//! knows an op, a plan or a GPU API.

pub mod bindings;
pub mod bytes;
pub mod dim;
pub mod dtype;
pub mod encoding;
pub mod errors;
pub mod escaped;
pub mod extents;
pub mod limits;
#[cfg(feature = "ndarray")]
mod ndarray;
pub mod philox;
pub mod precision;
pub mod scalar;
pub mod slots;
pub mod source;
pub mod symbol;
pub mod table;
pub mod target;
pub mod tensor;
pub mod when;
pub mod window;

pub use bindings::Bindings;
pub use bytes::{Bytes, Elems};
pub use dim::{DimExpr, EvalError};
pub use dtype::DType;
pub use encoding::{Code, Encoding, Scheme};
pub use escaped::Escaped;
pub use extents::{AttentionExtents, ProductExtents, ReductionExtents, RowExtents, RowKind};
pub use precision::Precision;
pub use source::{ByteSource, SourceError, Stored};
pub use symbol::{ScalarId, Symbol, SymbolId, SymbolTable, Var};
pub use table::{Bounds, EncodingClass, Table, TableError, TableId, TableRow};
pub use target::Target;
pub use tensor::{Element, MAX_RANK, Tensor, TensorError, TensorView};
pub use when::{Branch, When};
pub use window::WindowAxis;
