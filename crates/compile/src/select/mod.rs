//! Which kernel a step takes: candidates by family, chosen by the figures of the target's table.
//!
//! A family's file says what its measures and rules are; what a candidate is and which shapes it takes, its
//! declaration says (`pumice_plan::kernel::roles`). Which candidate is best where is data: rows of
//! [`Table`](pumice_types::Table), read once for a compilation by [`Selection::read`], which refuses what it does not
//! know. All families choose alike ([`family`]). Never here: a size at which one kernel begins to be faster than
//! another, operands, strides, what kind of kernel was chosen.

pub mod apart;
pub mod attention;
pub mod attention_grad;
pub mod choice;
pub mod columns;
pub mod convolution;
pub mod elementwise;
pub mod experts;
pub mod family;
pub mod lanes;
pub mod large_groups;
pub mod matmul;
mod read;
pub mod reduce;
pub mod scatter;
pub mod softmax;
pub mod split_attention;
pub mod transform;

use crate::error::CompileError;
use pumice_types::{Precision, Target};

pub use choice::Choice;
pub use family::FamilyDecl;

/// Why a step has no kernel: no candidate of its family takes such a shape on the target.
pub const NO_KERNEL: &str = "no kernel of the target takes it";

/// Every family.
pub const FAMILIES: &[&FamilyDecl] = &[
    matmul::PRODUCT,
    matmul::TILE,
    matmul::PARTS,
    matmul::DECODED,
    experts::TILE,
    convolution::METHOD,
    convolution::WINDOWS,
    convolution::PHASES,
    attention::ATTENTION,
    attention_grad::QUERIES,
    attention_grad::KEYS,
    split_attention::PARTS,
    split_attention::SPLIT,
    reduce::ROWS,
    reduce::COLUMNS,
    reduce::ONE_BY_ONE,
    reduce::ARG,
    reduce::PARTS,
    columns::REDUCE,
    apart::APART,
    lanes::ROWS,
    softmax::ROWS,
    columns::SOFTMAX,
    scatter::ROWS,
    elementwise::FLAT,
    elementwise::STRIDED,
    elementwise::CROSSED,
    elementwise::TRANSPOSED,
    transform::FIXED,
    large_groups::RECURRENT,
    large_groups::SELECT,
];

/// What a target's table says, by family.
#[derive(Clone, Debug)]
pub struct Selection {
    /// Matrix products.
    pub matmul: matmul::Rules,
    /// Products by experts.
    pub experts: experts::Rules,
    /// Convolutions.
    pub convolution: convolution::Rules,
    /// Attention.
    pub attention: attention::Rules,
    /// Gradients of attention.
    pub attention_grad: attention_grad::Rules,
    /// Attention of few queries over many keys.
    pub split_attention: split_attention::Rules,
    /// Reductions.
    pub reduce: reduce::Rules,
    /// Reductions over axes that are no neighbours.
    pub apart: apart::Rules,
    /// Norms and softmax over rows.
    pub rows: lanes::RowRules,
    /// Softmax over rows.
    pub softmax_rows: softmax::Rules,
    /// Softmax over columns.
    pub softmax_columns: columns::SoftmaxRules,
    /// Rows that go where indices say.
    pub scatter: scatter::Rules,
    /// Elementwise steps.
    pub elementwise: elementwise::Rules,
    /// Passes of transforms.
    pub transform: transform::Rules,
    /// Kernels of large groups.
    pub large_groups: large_groups::Rules,
}

impl Selection {
    /// Reads the rows of the target's table, for a program in that precision.
    ///
    /// # Errors
    /// [`CompileError::Precision`] for an arithmetic that no kernel has; [`CompileError::Table`] where the table names
    /// what does not exist, or lacks a family.
    pub fn read(target: &Target, precision: Precision) -> Result<Selection, CompileError> {
        if precision == Precision::Int8 {
            return Err(CompileError::Precision { asked: precision });
        }
        let reader = read::Reader { table: &target.table };
        Selection::of(&reader).map_err(|why| CompileError::Table { class: target.table.class.clone(), why })
    }

    /// The rules of a device whose table is sound.
    #[cfg(test)]
    fn exact(target: &Target) -> Selection {
        Selection::read(target, Precision::Exact).expect("a table")
    }

    fn of(reader: &read::Reader<'_>) -> Result<Selection, String> {
        reader.knows(FAMILIES)?;
        let read = |decl| reader.family(decl);
        Ok(Selection {
            matmul: matmul::Rules::read(reader)?,
            experts: experts::Rules(read(experts::TILE)?),
            convolution: convolution::Rules {
                method: read(convolution::METHOD)?,
                windows: read(convolution::WINDOWS)?,
                phases: read(convolution::PHASES)?,
            },
            attention: attention::Rules(read(attention::ATTENTION)?),
            attention_grad: attention_grad::Rules::read(reader)?,
            split_attention: split_attention::Rules {
                parts: read(split_attention::PARTS)?,
                split: read(split_attention::SPLIT)?,
            },
            reduce: reduce::Rules {
                rows: read(reduce::ROWS)?,
                columns: read(reduce::COLUMNS)?,
                one_by_one: read(reduce::ONE_BY_ONE)?,
                arg: read(reduce::ARG)?,
                parts: read(reduce::PARTS)?,
                narrower: columns::Narrower(read(columns::REDUCE)?),
            },
            apart: apart::Rules(read(apart::APART)?),
            rows: lanes::RowRules(read(lanes::ROWS)?),
            softmax_rows: softmax::Rules(read(softmax::ROWS)?),
            softmax_columns: columns::SoftmaxRules(columns::Narrower(read(columns::SOFTMAX)?)),
            scatter: scatter::Rules(read(scatter::ROWS)?),
            transform: transform::Rules(read(transform::FIXED)?),
            large_groups: large_groups::Rules {
                recurrent: read(large_groups::RECURRENT)?,
                select: read(large_groups::SELECT)?,
            },
            elementwise: elementwise::Rules {
                flat: read(elementwise::FLAT)?,
                strided: read(elementwise::STRIDED)?,
                crossed: read(elementwise::CROSSED)?,
                transposed: read(elementwise::TRANSPOSED)?,
            },
        })
    }
}

#[cfg(test)]
mod tests;
