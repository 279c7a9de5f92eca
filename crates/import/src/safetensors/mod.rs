//! The safetensors format: 8 bytes of header length, a JSON header, the tensors' bytes without gaps.
//!
//! `header` decides from the header's bytes and the file's length whether a file is sound; `file` reads tensors out of
//! one that is.

mod file;
mod file_type;
mod header;

pub use file::{Reader, SafetensorsFile};
pub use file_type::FileType;
pub use header::{Entry, HEADER_LIMIT, Header};
