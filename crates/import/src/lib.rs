//! Model files to pumice graphs, with untrusted input treated as such.
//!
//! In come folders and files that somebody else wrote; out come a graph and a [`WeightSource`] that reads weights by
//! name when they are asked for. Every length and offset is compared with the real file before anything is allocated
//! for it, names that a file gives for other files stay inside the model's folder, and whatever is wrong is an
//! [`ImportError`] that names the file, the thing in it and the remedy. Files are read, never mapped.
//!
//! Tools write files: [`GgufWriter`], and [`encode`](mod@encode) from f32 to blocks.
//!
//! Nothing here knows an architecture: what a configuration means is the business of `pumice-models`.

pub mod encode;
pub mod encoded;
pub mod error;
pub mod folder;
pub mod fuzz;
pub mod gguf;
pub mod kind;
pub mod memory;
pub mod model;
pub mod onnx;
pub mod safetensors;
pub mod seeded;
pub mod sharded;
pub mod source;
pub mod transform;

/// Keys or tensors of one file. The largest models in use have 140,000 tensors (2026).
pub const ENTRIES_LIMIT: usize = 1 << 20;

pub use encode::EncodeError;
pub use encoded::EncodedWeights;
pub use error::{FormatProblem, GgufPlace, GgufProblem, GgufWriteError, ImportError, IndexProblem};
pub use folder::ModelFolder;
pub use gguf::{
    GgmlType, GgufArray, GgufFile, GgufMetadata, GgufModel, GgufStrings, GgufTensor, GgufValue, GgufWriter,
};
pub use kind::FileKind;
pub use memory::MemoryWeights;
pub use model::Model;
pub use safetensors::SafetensorsFile;
pub use seeded::SeededWeights;
pub use sharded::ShardedWeights;
pub use source::{WeightBytes, WeightInfo, WeightSource};
pub use transform::{Transform, TransformedWeights};
