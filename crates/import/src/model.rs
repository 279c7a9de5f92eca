//! What an importer makes: a graph and the weights of its parameters.

use crate::error::ImportError;
use crate::safetensors::SafetensorsFile;
use crate::source::WeightSource;
use pumice_ir::Graph;
use pumice_types::Encoding;
use std::path::Path;

/// A program with the weights for its parameters, under the parameters' names.
pub struct Model {
    /// The program.
    pub graph: Graph,
    /// Its weights, read when asked for.
    pub weights: Box<dyn WeightSource>,
}

/// Where weights and a graph's parameters differ.
#[derive(thiserror::Error)]
pub enum MismatchError {
    /// A parameter without a tensor, or a tensor that cannot be described.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// A tensor of another type or shape than its parameter.
    #[error("{origin}: tensor `{tensor}` is {found}, the graph has a param {needed}; {remedy}")]
    Type {
        /// The weights.
        origin: String,
        /// The tensor.
        tensor: String,
        /// Its type.
        found: String,
        /// The parameter's type.
        needed: String,
        /// What to do.
        remedy: String,
    },
}

pumice_types::debug_as_display!(MismatchError);

impl Model {
    /// A graph of one's own with the weights of a safetensors file, under the names of its params.
    ///
    /// # Errors
    /// A file that cannot be read or is damaged, before any tensor is read.
    pub fn from_safetensors(graph: Graph, path: impl AsRef<Path>) -> Result<Model, ImportError> {
        Ok(Model { graph, weights: Box::new(SafetensorsFile::open(path.as_ref())?) })
    }

    /// Whether every parameter has a tensor of its encoding and shape. Reads no tensor data.
    pub fn check(&self) -> Result<(), MismatchError> {
        for id in self.graph.params() {
            let value = self.graph.value(id);
            let info = self.weights.describe(&value.name)?;
            let same_shape = Some(&info.shape) == value.ty.static_shape().as_ref();
            if info.encoding != value.ty.encoding || !same_shape {
                let remedy = match same_shape {
                    true => stored_otherwise(info.encoding),
                    false => "take weights and configuration from one model".to_owned(),
                };
                return Err(MismatchError::Type {
                    origin: self.weights.origin(),
                    tensor: value.name.to_string(),
                    found: format!("{}{:?}", info.encoding, info.shape),
                    needed: value.ty.display(self.graph.symbols()),
                    remedy,
                });
            }
        }
        Ok(())
    }
}

/// A param has the type that the file has; ops widen it, at no cost, where they read it.
fn stored_otherwise(encoding: Encoding) -> String {
    let widened = match encoding {
        Encoding::Blocks(_) => "dequantize it",
        Encoding::Codes(_) => "take its values by dequantize_linear with its scales",
        Encoding::Plain(_) => "cast it",
    };
    format!("declare the param as {encoding}, as the file has it, and {widened} in the graph")
}
