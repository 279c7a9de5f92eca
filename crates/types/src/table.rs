//! Selection tables: what was measured on a class of devices, and which kernel that makes the best for which shapes.
//!
//! A table is data: rows in an order, read from JSON, given to the compiler as part of a [`Target`](crate::Target). It
//! knows families, candidates, measures and figures by name alone; what the names mean, and that a table uses none that
//! does not exist, is the compiler's (`pumice-compile`, `select`). `pumice tune` makes them. Never here:
//! a kernel, a choice, a file.

mod bounds;

pub use bounds::Bounds;

use crate::dtype::DType;
use crate::encoding::Encoding;
use crate::escaped::Escaped;
use crate::precision::Precision;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt;

/// The figures of a class of devices.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// The class: `h200`, `lavapipe`, or the name of the device that was measured.
    pub class: String,
    /// Device, driver and date of the measurements.
    pub measured: String,
    /// Of a family, the first row that holds for a shape and whose candidate the device can run is taken.
    pub rows: Vec<TableRow>,
}

/// What is taken for a class of shapes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableRow {
    /// The family of kernels, or a question about one: `matmul`, `matmul.parts`, `attention`.
    pub family: String,
    /// How the operand is stored that the family asks about; none: any way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub encodings: Vec<EncodingClass>,
    /// The arithmetic that the row is for.
    #[serde(default, skip_serializing_if = "Precision::is_exact")]
    pub precision: Precision,
    /// The class of shapes: bounds of measures by name, all of which must hold.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub when: BTreeMap<String, Bounds>,
    /// The candidate: `kernel.variant`, or a rule by name.
    pub take: String,
    /// Figures of the candidate by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub figures: BTreeMap<String, f64>,
}

/// How an operand is stored, as far as kernels differ by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EncodingClass {
    /// f32 words.
    F32,
    /// 16-bit floats.
    Half,
    /// Blocks that share scales.
    Blocks,
    /// Codes beside scales.
    Codes,
}

impl EncodingClass {
    /// Of an encoding; everything that is not a narrower float is read as words.
    pub const fn of(encoding: Encoding) -> EncodingClass {
        match encoding {
            Encoding::Plain(DType::F16 | DType::BF16) => EncodingClass::Half,
            Encoding::Plain(_) => EncodingClass::F32,
            Encoding::Blocks(_) => EncodingClass::Blocks,
            Encoding::Codes(_) => EncodingClass::Codes,
        }
    }
}

/// Which table a plan was made with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableId {
    /// The table's class.
    pub class: String,
    /// The first 16 hexadecimal digits of the SHA-256 of its rows as JSON.
    pub hash: String,
}

/// A table that cannot be read.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("this is no selection table: {}", Escaped(.0))]
pub struct TableError(String);

crate::debug_as_display!(TableError);

impl Table {
    /// Reads a table from its JSON text.
    ///
    /// # Errors
    /// Text that is no JSON, fields that are missing or unknown, bounds that hold nothing.
    pub fn from_json(text: &str) -> Result<Table, TableError> {
        serde_json::from_str(text).map_err(|e| TableError(e.to_string()))
    }

    /// The JSON text, a row a line.
    ///
    /// # Errors
    /// A figure that is no number.
    pub fn to_json(&self) -> Result<String, TableError> {
        let json = |row: &TableRow| serde_json::to_string(row).map_err(|e| TableError(e.to_string()));
        if let Some((row, name)) = self.rows.iter().find_map(|r| r.not_a_number().map(|name| (r, name))) {
            return Err(TableError(format!("{} of {} in {} is no number", name, row.take, row.family)));
        }
        let rows = self.rows.iter().map(json).collect::<Result<Vec<_>, _>>()?;
        let text = |s: &str| serde_json::Value::from(s).to_string();
        let rows = rows.iter().map(|r| format!("    {r}")).collect::<Vec<_>>().join(",\n");
        Ok(format!(
            "{{\n  \"class\": {},\n  \"measured\": {},\n  \"rows\": [\n{rows}\n  ]\n}}\n",
            text(&self.class),
            text(&self.measured)
        ))
    }

    /// The rows of a family, in order.
    pub fn family<'a>(&'a self, family: &'a str) -> impl Iterator<Item = &'a TableRow> + Clone + 'a {
        self.rows.iter().filter(move |r| r.family == family)
    }

    /// What a plan keeps of the table.
    pub fn id(&self) -> TableId {
        // A figure that is no number is `null` here; the compiler has refused it before.
        let rows = serde_json::to_vec(&self.rows).unwrap_or_default();
        let hash = Sha256::digest(rows).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        TableId { class: self.class.clone(), hash }
    }

    /// The checked-in table of a profile.
    pub(crate) fn built_in(text: &str) -> Table {
        Table::from_json(text).expect("checked-in tables are read by a test")
    }
}

impl TableRow {
    /// The first figure that is infinite or no number.
    pub fn not_a_number(&self) -> Option<&str> {
        self.figures.iter().find(|(_, value)| !value.is_finite()).map(|(name, _)| name.as_str())
    }
}

impl fmt::Display for TableId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", Escaped(&self.class), Escaped(&self.hash))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Target;

    /// A table is a file of anybody.
    #[test]
    fn what_a_table_says_reaches_no_terminal_as_it_is() {
        let id = Table { class: "a\u{1b}[31m".to_owned(), ..Table::default() }.id();
        assert!(id.to_string().starts_with(r"a\u{1b}[31m:"), "{id}");
        let error = Table::from_json(r#"{"\u001b[2J": 1}"#).expect_err("unknown");
        assert!(error.to_string().contains(r"\u{1b}[2J"), "{error:?}");
    }

    #[test]
    fn the_built_in_tables_are_written_as_they_are_read() {
        for (text, class, table) in [
            (crate::target::H200_TABLE, "h200", Target::h200().table),
            (crate::target::LAVAPIPE_TABLE, "lavapipe", Target::lavapipe().table),
            (crate::target::GPU_TABLE, "gpu", Target::gpu_table()),
        ] {
            assert_eq!(table.class, class);
            let written = table.to_json().expect("numbers");
            let unlike = written.lines().zip(text.lines()).find(|(written, read)| written != read);
            assert_eq!(unlike, None, "{class}");
            assert_eq!(written.len(), text.len(), "{class}");
        }
    }

    /// The one GPU that was measured is the best guess for the others. A figure that was measured anew on it is carried
    /// over, or the difference stands here with its reason.
    #[test]
    fn gpus_that_nobody_measured_get_the_rows_of_the_one_that_was() {
        let exact = |table: &Table| -> Vec<TableRow> {
            table.rows.iter().filter(|row| row.precision.is_exact()).cloned().collect()
        };
        let (measured, others) = (exact(&Target::h200().table), exact(&Target::gpu_table()));
        for (measured, other) in measured.iter().zip(&others) {
            assert_eq!(measured, other);
        }
        assert_eq!(measured.len(), others.len());
    }

    #[test]
    fn a_changed_figure_changes_the_hash_and_a_class_does_not() {
        let table = Target::h200().table;
        let (mut figure, mut class) = (Table::clone(&table), Table::clone(&table));
        let row = figure.rows.iter_mut().find(|r| !r.figures.is_empty()).expect("there are figures");
        row.figures.values_mut().for_each(|v| *v += 1.0);
        class.class = "another".into();
        assert_ne!(figure.id().hash, table.id().hash);
        assert_eq!(class.id().hash, table.id().hash);
        assert_eq!(table.id().hash.len(), 16);
    }

    #[test]
    fn what_is_no_table_is_refused_in_words() {
        let refused = |text: &str| Table::from_json(text).expect_err(text).to_string();
        let row = |row: &str| refused(&format!(r#"{{"class":"a","measured":"b","rows":[{row}]}}"#));
        assert!(refused("{}").contains("class"), "{}", refused("{}"));
        assert!(row(r#"{"family":"f"}"#).contains("take"));
        assert!(row(r#"{"family":"f","take":"t","whenever":{}}"#).contains("whenever"));
        assert!(row(r#"{"family":"f","take":"t","when":{"n":"5..=4"}}"#).contains("5..=4"));
        assert!(row(r#"{"family":"f","take":"t","precision":"f64"}"#).contains("f64"));
        let mut table = Table::clone(&Target::h200().table);
        table.rows[0].figures.insert("x".into(), f64::NAN);
        assert!(table.to_json().expect_err("NaN").to_string().contains("x of"));
    }
}
