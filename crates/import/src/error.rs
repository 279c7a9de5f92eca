//! What can be wrong with a file: typed, with the place in it and what to do about it.

mod gguf;

pub use gguf::{GgufPlace, GgufProblem, GgufWriteError};

use crate::kind::FileKind;
use std::path::PathBuf;

/// Why a file could not be used.
#[derive(thiserror::Error)]
pub enum ImportError {
    /// The operating system refused.
    #[error("{}: {action} failed: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A file that is needed is not there.
    #[error("{} is missing; {remedy}", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
        /// What to do.
        remedy: String,
    },
    /// A path that is not what it should be: a folder instead of a file, a device, a pipe.
    #[error("{} is not {expected}", path.display())]
    WrongKind {
        /// The path.
        path: PathBuf,
        /// What it should be.
        expected: &'static str,
    },
    /// A file larger than any honest one of its kind.
    #[error("{} has {bytes} bytes, more than the {limit} that are read of such a file", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size.
        bytes: u64,
        /// The largest that is read.
        limit: u64,
    },
    /// Text that is not JSON of the expected form.
    #[error("{}: {source}; the file is damaged or of another kind", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// Where and why.
        source: serde_json::Error,
    },
    /// A safetensors file that breaks the format.
    #[error("{}: {problem}; {}", path.display(), problem.remedy())]
    Safetensors {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: FormatProblem,
    },
    /// A GGUF file that breaks the format.
    #[error("{}: {problem}; {}", path.display(), problem.remedy())]
    Gguf {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: GgufProblem,
    },
    /// Metadata without a key that is needed.
    #[error("{}: the metadata has no `{key}` ({expected}); convert the model again with a current converter", path.display())]
    MissingKey {
        /// The file.
        path: PathBuf,
        /// The key.
        key: String,
        /// What its value should be.
        expected: &'static str,
    },
    /// A metadata value of another type than its key needs.
    #[error("{}: `{key}` is {found}, {expected} is needed; convert the model again with a current converter", path.display())]
    WrongValue {
        /// The file.
        path: PathBuf,
        /// The key.
        key: String,
        /// What its value should be.
        expected: &'static str,
        /// What it is, in short.
        found: String,
    },
    /// An index of shards that does not add up.
    #[error("{}: {problem}; get the model again, all files from one revision", path.display())]
    Index {
        /// The index file.
        path: PathBuf,
        /// What is wrong.
        problem: IndexProblem,
    },
    /// A file names a path outside its model's folder.
    #[error("{}: `{named}` {reason}; put every file of the model into one folder", file.display())]
    Path {
        /// The file that names it.
        file: PathBuf,
        /// The path as named there.
        named: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A tensor that the source does not have.
    #[error("{origin} has no tensor `{tensor}`{}", nearest.as_ref().map_or(String::new(), |n| format!("; the nearest name is `{n}`")))]
    UnknownTensor {
        /// The source.
        origin: String,
        /// The name asked for.
        tensor: String,
        /// A name it has.
        nearest: Option<String>,
    },
    /// A tensor of a type that pumice does not compute with.
    #[error("{origin}: tensor `{tensor}` is {dtype}, which is not supported; {remedy}")]
    UnsupportedDType {
        /// The source.
        origin: String,
        /// The tensor.
        tensor: String,
        /// Its type in the file.
        dtype: String,
        /// What to do: which types are.
        remedy: String,
    },
    /// A buffer that is not as long as the tensor.
    #[error("{origin}: tensor `{tensor}` has {expected} bytes, the buffer for it has {given}")]
    BufferLength {
        /// The source.
        origin: String,
        /// The tensor.
        tensor: String,
        /// Its bytes.
        expected: u64,
        /// The buffer's bytes.
        given: u64,
    },
    /// The host has no memory for a tensor.
    #[error(
        "{origin}: no memory for the {bytes} bytes of tensor `{tensor}`; close other programs or use a smaller model"
    )]
    OutOfMemory {
        /// The source.
        origin: String,
        /// The tensor.
        tensor: String,
        /// Its bytes.
        bytes: u64,
    },
    /// A tensor that another file has in another layout, which this one cannot be brought into.
    #[error(
        "{origin}: tensor `{tensor}`, {encoding} of extents {shape:?}, cannot be brought into the layout of a GGUF file"
    )]
    Transform {
        /// The source.
        origin: String,
        /// The tensor.
        tensor: String,
        /// How it is stored.
        encoding: pumice_types::Encoding,
        /// Its extents.
        shape: Vec<u64>,
    },
    /// Values that an encoding does not hold.
    #[error("{origin}: tensor `{tensor}`: {source}")]
    Encode {
        /// The source.
        origin: String,
        /// The tensor.
        tensor: String,
        /// Why not.
        source: crate::encode::EncodeError,
    },
    /// Weights that cannot be made up for a graph.
    #[error("no weights can be made for parameter `{tensor}`: {reason}")]
    Unmakeable {
        /// The parameter.
        tensor: String,
        /// Why not.
        reason: String,
    },
}

pumice_types::debug_as_display!(ImportError);

/// How a safetensors file breaks its format.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormatProblem {
    /// A file that is something else.
    #[error("this is {0}, no safetensors file")]
    OtherFile(FileKind),
    /// More tensors than any honest file has.
    #[error("the header describes {count} tensors, {limit} are read")]
    TooMany {
        /// Tensors described.
        count: usize,
        /// The most that are read.
        limit: usize,
    },
    /// Fewer than the 8 bytes that every file begins with.
    #[error("the file has {0} bytes and cannot hold the 8-byte header length")]
    TooShort(u64),
    /// The header would end past the file.
    #[error("the header is declared as {declared} bytes, the file has {available} after the length")]
    HeaderTruncated {
        /// Bytes declared.
        declared: u64,
        /// Bytes there.
        available: u64,
    },
    /// A header larger than the format allows.
    #[error("the header is declared as {declared} bytes, the format allows {limit}")]
    HeaderTooLarge {
        /// Bytes declared.
        declared: u64,
        /// The format's limit.
        limit: u64,
    },
    /// The header is not a JSON object of the format's form.
    #[error("the header is not what the format demands: {0}")]
    Header(String),
    /// One name twice.
    #[error("`{0}` is described twice")]
    Duplicate(String),
    /// More axes than any tensor has.
    #[error("tensor `{tensor}` has {rank} axes")]
    Rank {
        /// The tensor.
        tensor: String,
        /// Its axes.
        rank: usize,
    },
    /// The extents' product does not fit 64 bits.
    #[error("tensor `{tensor}` of shape {shape:?} has more bytes than 64 bits can count")]
    Overflow {
        /// The tensor.
        tensor: String,
        /// Its shape.
        shape: Vec<u64>,
    },
    /// Packed elements that do not fill whole bytes.
    #[error("tensor `{tensor}` of shape {shape:?} does not fill whole bytes")]
    PartialByte {
        /// The tensor.
        tensor: String,
        /// Its shape.
        shape: Vec<u64>,
    },
    /// The offsets do not span what dtype and shape need.
    #[error(
        "tensor `{tensor}` needs {expected} bytes by its dtype and shape, its offsets {begin}..{end} do not span that"
    )]
    Span {
        /// The tensor.
        tensor: String,
        /// Bytes by dtype and shape.
        expected: u64,
        /// First offset.
        begin: u64,
        /// Last offset.
        end: u64,
    },
    /// The tensor ends past the file.
    #[error("tensor `{tensor}` ends at data offset {end}, the file's data has {available} bytes")]
    Truncated {
        /// The tensor.
        tensor: String,
        /// Its end.
        end: u64,
        /// Bytes of data in the file.
        available: u64,
    },
    /// Bytes that belong to no tensor.
    #[error("bytes {begin}..{end} of the data belong to no tensor")]
    Hole {
        /// Where the hole begins.
        begin: u64,
        /// Where it ends.
        end: u64,
    },
    /// Bytes that belong to two tensors.
    #[error("tensor `{tensor}` begins at data offset {begin}, inside tensor `{other}`")]
    Overlap {
        /// The later tensor.
        tensor: String,
        /// The earlier one.
        other: String,
        /// Where the later one begins.
        begin: u64,
    },
}

pumice_types::debug_as_display!(FormatProblem);

impl FormatProblem {
    /// What the user can do.
    pub fn remedy(&self) -> &'static str {
        match self {
            FormatProblem::OtherFile(kind) => kind.remedy(FileKind::Safetensors),
            FormatProblem::TooShort(_)
            | FormatProblem::HeaderTruncated { .. }
            | FormatProblem::Truncated { .. } => {
                "the file is cut short (an interrupted download): get it again"
            }
            FormatProblem::HeaderTooLarge { .. } | FormatProblem::Header(_) => {
                "this is not a safetensors file, or it is damaged: get it again"
            }
            _ => "the file is damaged or made by a faulty writer: get it again, or save the model anew",
        }
    }
}

/// How an index of shards contradicts its shards or itself.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
pub enum IndexProblem {
    /// One tensor with two entries.
    #[error("tensor `{0}` is listed twice")]
    Duplicate(String),
    /// More shards than are opened at a time.
    #[error("it names {0} files, more than are opened at a time")]
    TooManyShards(usize),
    /// A shard without a tensor it should have.
    #[error("tensor `{tensor}` should be in `{shard}` and is not")]
    NotInShard {
        /// The tensor.
        tensor: String,
        /// The file.
        shard: String,
    },
    /// More tensors than any honest model has.
    #[error("it lists {count} tensors, {limit} are read")]
    TooMany {
        /// Tensors listed.
        count: usize,
        /// The most that are read.
        limit: usize,
    },
    /// No tensor at all.
    #[error("`weight_map` is empty")]
    Empty,
}

pumice_types::debug_as_display!(IndexProblem);
