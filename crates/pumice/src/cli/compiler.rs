//! What commands let their user say of compiling: another selection table, less exact arithmetic.

use super::kept_table;
use super::progress::Progress;
use crate::device::DeviceChoice;
use crate::embed::EmbedError;
use crate::embed::cli::choose;
use pumice_compile::Options;
use pumice_types::{Precision, Table};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Arguments of every command that compiles a model.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct CompilerArgs {
    /// Choose kernels by this table, which `pumice tune -o` wrote on the device, instead of the one that it comes
    /// with
    #[arg(long, value_name = "FILE")]
    pub table: Option<PathBuf>,
    /// What products do with their factors: exact, or rounded to f16 or bf16. There are no kernels for int8 yet
    #[arg(long, value_name = "PRECISION", default_value = "exact")]
    pub precision: Precision,
}

impl CompilerArgs {
    /// The table, where one is named.
    pub(crate) fn table(&self) -> Result<Option<Arc<Table>>, EmbedError> {
        self.table.as_deref().map(read).transpose()
    }

    /// Options with the arithmetic.
    pub(crate) fn options(&self) -> Options {
        Options::default().precision(self.precision)
    }

    /// The device that the argument names, with the table.
    pub(crate) fn device(
        &self,
        name: &str,
        cache: Option<PathBuf>,
        progress: &Progress,
    ) -> Result<DeviceChoice, EmbedError> {
        let table = self.table()?;
        let choice = choose(name, cache, progress)?;
        Ok(match table {
            Some(table) => DeviceChoice { device: choice.device.with_table(table), ..choice },
            None => choice,
        })
    }
}

fn read(path: &Path) -> Result<Arc<Table>, EmbedError> {
    let failed = |source| EmbedError::Io { path: path.to_owned(), action: "reading", source };
    let text = kept_table::text(path).map_err(failed)?;
    let table = Table::from_json(&text);
    Ok(Arc::new(table.map_err(|source| EmbedError::Table { path: path.to_owned(), source })?))
}
