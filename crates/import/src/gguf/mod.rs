//! The GGUF format, versions 2 and 3, little-endian (ggml/docs/gguf.md): a header, typed metadata, a table of tensors,
//! and after padding the tensors' bytes.
//!
//! `header` decides from everything before the tensors' bytes and from the file's length whether a file is sound;
//! `file` reads tensors out of one that is; `write` makes such files. What a key means is not known here.

mod cursor;
mod file;
mod ggml_type;
mod header;
mod metadata;
mod shards;
mod strings;
mod tensors;
mod value;
mod write;

pub use cursor::{HEADER_LIMIT, NAME_LIMIT};
pub use file::{GgufFile, Reader};
pub use ggml_type::GgmlType;
pub use header::Header;
pub use metadata::GgufMetadata;
pub use shards::GgufModel;
pub use strings::GgufStrings;
pub use tensors::{GgufTensor, RANK_LIMIT};
pub use value::{GgufArray, GgufValue};
pub use write::GgufWriter;
