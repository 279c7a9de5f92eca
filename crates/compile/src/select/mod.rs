//! Which kernel a step takes: candidates by family, chosen by the figures of the target's table.
//!
//! A family's file says what its candidates are, when each can be used at all, what a table may ask of shapes
//! (measures) and which figures its rows have. Which candidate is best where is data: rows of
//! [`Table`](pumice_types::Table), read once for a compilation by [`Selection::read`], which refuses what it does not
//! know. Never here: a size at which one kernel begins to be faster than another, operands, strides.

pub mod apart;
pub mod attention;
pub mod columns;
pub mod elementwise;
pub mod few_queries;
pub mod lanes;
pub mod matmul;
pub mod reduce;
mod rule;
pub mod softmax;

use crate::error::CompileError;
use pumice_types::{Precision, Target};

pub use rule::Rule;

/// What a target's table says, by family.
#[derive(Clone, Debug)]
pub struct Selection {
    /// The arithmetic of products.
    pub precision: Precision,
    /// Matrix products.
    pub matmul: matmul::Rules,
    /// Attention.
    pub attention: attention::Rules,
    /// Attention of few queries over many keys.
    pub few_queries: few_queries::Rules,
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
    /// Elementwise steps.
    pub elementwise: elementwise::Rules,
}

impl Selection {
    /// Reads the rows of the target's table for an arithmetic.
    ///
    /// # Errors
    /// [`CompileError::Precision`] for an arithmetic that no kernel has; [`CompileError::Table`] where the table names what
    /// does not exist, or lacks a family.
    pub fn read(target: &Target, precision: Precision) -> Result<Selection, CompileError> {
        if !precision.is_exact() {
            return Err(CompileError::Precision { asked: precision });
        }
        let reader = rule::Reader { table: &target.table, precision };
        Selection::of(&reader).map_err(|why| CompileError::Table { class: target.table.class.clone(), why })
    }

    /// The rules of a device whose table is sound.
    #[cfg(test)]
    fn exact(target: &Target) -> Selection {
        Selection::read(target, Precision::Exact).expect("a table")
    }

    fn of(reader: &rule::Reader<'_>) -> Result<Selection, String> {
        reader.knows(&[
            matmul::FAMILIES,
            attention::FAMILIES,
            few_queries::FAMILIES,
            reduce::FAMILIES,
            apart::FAMILIES,
            lanes::FAMILIES,
            softmax::FAMILIES,
            columns::FAMILIES,
            elementwise::FAMILIES,
        ])?;
        Ok(Selection {
            precision: reader.precision,
            matmul: matmul::Rules::read(reader)?,
            attention: attention::Rules::read(reader)?,
            few_queries: few_queries::Rules::read(reader)?,
            reduce: reduce::Rules::read(reader)?,
            apart: apart::Rules::read(reader)?,
            rows: lanes::RowRules::read(reader)?,
            softmax_rows: softmax::Rules::read(reader)?,
            softmax_columns: columns::SoftmaxRules::read(reader)?,
            elementwise: elementwise::Rules::read(reader)?,
        })
    }
}

#[cfg(test)]
mod tests;
