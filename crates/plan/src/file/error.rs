//! Why bytes are no plan, or a plan does not become bytes.

use std::io;

/// A plan that cannot be saved, or bytes that are not the file of a plan that this build can run.
#[derive(thiserror::Error)]
pub enum PlanFileError {
    /// The file begins otherwise than plans do.
    #[error("this is no plan file: it does not begin as one")]
    NotAPlan,
    /// The file was written in another format.
    #[error(
        "the plan file has format version {found}, this build of pumice reads version {known}; compile the model again"
    )]
    Version {
        /// In the file.
        found: u32,
        /// The only one that is read.
        known: u32,
    },
    /// The file ends early, or goes on after its end.
    #[error("the plan file says that it has {expected} bytes, it has {given}")]
    Length {
        /// Bytes that the header asks for.
        expected: u64,
        /// Bytes there are.
        given: u64,
    },
    /// What is no regular file, such as a pipe, states more bytes than a plan has.
    #[error(
        "the plan says that it has {expected} bytes; where it is no regular file, at most {most} are read"
    )]
    TooLong {
        /// Bytes that the header asks for.
        expected: u64,
        /// Bytes that are read at most.
        most: u64,
    },
    /// The bytes are not those that were written.
    #[error("the plan file is damaged: its checksum is not that of its bytes")]
    Checksum,
    /// The bytes are not what a plan is made of.
    #[error("the plan file is damaged: {0}")]
    Malformed(String),
    /// A number of a table's row that there is not.
    #[error("the plan file is damaged: it names {table} {row} of {rows}")]
    Row {
        /// The table.
        table: &'static str,
        /// The row asked for.
        row: u32,
        /// Rows there are.
        rows: usize,
    },
    /// What the file describes is larger than its length allows: a small file that would fill the memory.
    #[error("the plan file of {bytes} bytes describes a plan of more than {most} bytes")]
    Size {
        /// Length of the file.
        bytes: usize,
        /// The most that a plan from a file of this length may take in memory, about.
        most: usize,
    },
    /// A kernel that this build does not have.
    #[error(
        "the plan uses kernel `{kernel}`, which this build of pumice does not have; compile the model again"
    )]
    UnknownKernel {
        /// The kernel.
        kernel: String,
    },
    /// A variant that the kernel does not have here.
    #[error(
        "the plan uses variant `{variant}` of kernel `{kernel}`, which this build of pumice does not have; compile the \
         model again"
    )]
    UnknownVariant {
        /// The kernel.
        kernel: String,
        /// The variant.
        variant: String,
    },
    /// A kernel whose declaration has changed since the plan was made.
    #[error(
        "the plan was made for another kernel `{kernel}`: its declaration differs from this build's; compile the model again"
    )]
    OtherDeclaration {
        /// The kernel.
        kernel: String,
    },
    /// A kernel whose code has changed since the plan was made.
    #[error(
        "the plan was made for another kernel `{kernel}`: the code of its variant `{variant}` differs from this build's; \
         compile the model again"
    )]
    OtherCode {
        /// The kernel.
        kernel: String,
        /// The variant.
        variant: String,
    },
    /// The explain form of a plan that has only its run form left.
    #[error("plan `{plan}` has only its run form: what explains it is not there to be saved")]
    NoExplanations {
        /// The plan.
        plan: String,
    },
    /// The file cannot be read or written.
    #[error("the plan file cannot be read or written: {0}")]
    Io(#[from] io::Error),
}

pumice_types::debug_as_display!(PlanFileError);
