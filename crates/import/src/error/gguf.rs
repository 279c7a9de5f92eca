//! How a GGUF file breaks its format.

use crate::kind::FileKind;
use pumice_types::TensorError;
use std::fmt;

/// What of a GGUF file was being read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GgufPlace {
    /// Magic, version and counts.
    Header,
    /// All keys and values.
    Metadata,
    /// A key of the metadata, counted from 0.
    Key(u64),
    /// The value of a key.
    Value(String),
    /// All entries of the tensor table.
    Tensors,
    /// An entry of the tensor table, counted from 0.
    Tensor(u64),
}

impl fmt::Display for GgufPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GgufPlace::Header => f.write_str("the header"),
            GgufPlace::Metadata => f.write_str("the metadata"),
            GgufPlace::Key(index) => write!(f, "key {index} of the metadata"),
            GgufPlace::Value(key) => write!(f, "the value of `{key}`"),
            GgufPlace::Tensors => f.write_str("the tensor table"),
            GgufPlace::Tensor(index) => write!(f, "entry {index} of the tensor table"),
        }
    }
}

/// How a GGUF file breaks its format, or which form of the format is not read.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
pub enum GgufProblem {
    /// A file that is something else.
    #[error("this is {0}, no GGUF file")]
    OtherFile(FileKind),
    /// A file for machines with the other byte order.
    #[error("the file is big-endian (version {version}), only little-endian files are read")]
    BigEndian {
        /// Its version, in its own byte order.
        version: u32,
    },
    /// A version that is not read.
    #[error("the file is of GGUF version {0}, versions 2 and 3 are read")]
    Version(u32),
    /// A length or count that the rest of the file cannot hold.
    #[error("{place} needs at least {needed} bytes, the file has {available} left")]
    Truncated {
        /// What was being read.
        place: GgufPlace,
        /// Bytes needed at least.
        needed: u64,
        /// Bytes left.
        available: u64,
    },
    /// More metadata than any honest file has.
    #[error("with {place} the metadata and the tensor table pass the {limit} bytes that are read of them")]
    HeaderTooLarge {
        /// What was being read.
        place: GgufPlace,
        /// The most that is read.
        limit: u64,
    },
    /// More keys or tensors than any honest file has.
    #[error("{place} has {count} entries, {limit} are read")]
    TooMany {
        /// The metadata or the tensor table.
        place: GgufPlace,
        /// Entries declared.
        count: u64,
        /// The most that are read.
        limit: u64,
    },
    /// A key or name longer than any is.
    #[error("{place} has a name of {bytes} bytes, {limit} are allowed")]
    NameTooLong {
        /// What was being read.
        place: GgufPlace,
        /// Its bytes.
        bytes: u64,
        /// The most that are allowed.
        limit: u64,
    },
    /// Text that is not UTF-8.
    #[error("{place} is not UTF-8 text")]
    Utf8 {
        /// What was being read.
        place: GgufPlace,
    },
    /// One key twice.
    #[error("the metadata has `{0}` twice")]
    DuplicateKey(String),
    /// One tensor twice.
    #[error("tensor `{0}` is described twice")]
    DuplicateTensor(String),
    /// A value of no known type.
    #[error("`{key}` is of value type {number}, which the format does not have")]
    ValueType {
        /// The key.
        key: String,
        /// The number of the type.
        number: u32,
    },
    /// An array whose elements are arrays.
    #[error("`{0}` is an array of arrays, which is not read")]
    NestedArray(String),
    /// A boolean that is neither 0 nor 1.
    #[error("`{key}` has a boolean of value {byte}, only 0 and 1 are allowed")]
    Bool {
        /// The key.
        key: String,
        /// The byte.
        byte: u8,
    },
    /// An alignment that cannot be.
    #[error("`general.alignment` is {0}, it must be a u32 and a power of two")]
    Alignment(String),
    /// More axes than a tensor can have.
    #[error("tensor `{tensor}` has {rank} axes, at most {limit} are read")]
    Rank {
        /// The tensor.
        tensor: String,
        /// Its axes.
        rank: u32,
        /// The most that are read.
        limit: u32,
    },
    /// Extents that have no size in bytes.
    #[error("tensor `{tensor}`: {source}")]
    Extents {
        /// The tensor.
        tensor: String,
        /// Why not.
        source: TensorError,
    },
    /// A tensor that does not begin at a multiple of the alignment.
    #[error(
        "tensor `{tensor}` begins at data offset {offset}, which is no multiple of the alignment {alignment}"
    )]
    Misaligned {
        /// The tensor.
        tensor: String,
        /// Its offset.
        offset: u64,
        /// The file's alignment.
        alignment: u64,
    },
    /// A tensor that ends after the file does.
    #[error(
        "tensor `{tensor}` of {bytes} bytes begins at data offset {offset}, the file's data has {available}"
    )]
    Outside {
        /// The tensor.
        tensor: String,
        /// Its offset.
        offset: u64,
        /// Its bytes; of a type that is not read, the least it can have.
        bytes: u64,
        /// Bytes of data in the file.
        available: u64,
    },
    /// Bytes that belong to two tensors.
    #[error("tensor `{tensor}` begins at data offset {offset}, inside tensor `{other}`")]
    Overlap {
        /// The later tensor.
        tensor: String,
        /// The earlier one.
        other: String,
        /// Where the later one begins.
        offset: u64,
    },
    /// Files that do not make one model together.
    #[error("{0}")]
    Shard(String),
}

pumice_types::debug_as_display!(GgufProblem);

impl GgufProblem {
    /// What the user can do.
    pub fn remedy(&self) -> &'static str {
        match self {
            GgufProblem::OtherFile(kind) => kind.remedy(FileKind::Gguf),
            GgufProblem::Truncated { .. } | GgufProblem::Outside { .. } => {
                "the file is cut short (an interrupted download) or damaged: get it again"
            }
            GgufProblem::BigEndian { .. } | GgufProblem::Version(_) | GgufProblem::NestedArray(_) => {
                "convert the model again with a current converter, to little-endian GGUF version 3"
            }
            GgufProblem::Shard(_) => {
                "put all shards of one model beside each other, as they are called, and give the first"
            }
            _ => "the file is damaged or made by a faulty writer: get it again, or convert the model anew",
        }
    }
}

/// Why a GGUF file could not be written.
#[derive(thiserror::Error)]
pub enum GgufWriteError {
    /// A description that would break the format.
    #[error("no GGUF file is written: {0}")]
    Problem(#[from] GgufProblem),
    /// An encoding that the format has no number for.
    #[error("no GGUF file is written: tensor `{tensor}` is {encoding}, which GGUF does not have; convert it")]
    NoType {
        /// The tensor.
        tensor: String,
        /// Its encoding.
        encoding: pumice_types::Encoding,
    },
    /// A shard that there is not.
    #[error("no GGUF file is written: there is no shard {number} among {count}, which are counted from 0")]
    NoShard {
        /// Its number.
        number: u16,
        /// How many there are.
        count: u16,
    },
    /// The output refused.
    #[error("writing a GGUF file failed: {0}; what was written is not complete")]
    Io(#[from] std::io::Error),
    /// The bytes of a tensor could not be had.
    #[error("writing a GGUF file failed at a tensor: {0}; what was written is not complete")]
    Tensor(#[from] crate::error::ImportError),
}

pumice_types::debug_as_display!(GgufWriteError);
