//! `modules.json`: which modules a sentence encoder has, in which folders.

use crate::config::fields::{Fields, parse_json};
use crate::error::{ModelError, Note};
use crate::sentence::CONFIG_LIMIT;
use pumice_import::ModelFolder;
use serde_json::Value;
use std::path::Path;

const FILE: &str = "modules.json";

/// Where the modules are.
#[derive(Clone, Debug)]
pub struct Modules {
    /// The folder with config.json, tokenizer and weights.
    pub transformer: ModelFolder,
    /// The pooling's folder, where there is one.
    pub pooling: Option<ModelFolder>,
    /// Whether the result is normalized.
    pub normalize: bool,
}

/// A module by the last word of its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Module {
    Transformer,
    Pooling,
    Normalize,
}

impl Modules {
    /// Reads the folder's modules.json; without one, the modules are the folder itself and, if there, `1_Pooling`.
    pub fn read(root: &ModelFolder, notes: &mut Vec<Note>) -> Result<Modules, ModelError> {
        match root.read_text(FILE, CONFIG_LIMIT)? {
            Some(text) => Modules::parse(root, &text),
            None => {
                let here = root.file(FILE);
                notes.push(Note(format!("{} is missing: embeddings are not normalized", here.display())));
                let pooling = root
                    .file("1_Pooling")
                    .is_dir()
                    .then(|| root.subfolder("1_Pooling", &here))
                    .transpose()?;
                Ok(Modules { transformer: root.clone(), pooling, normalize: false })
            }
        }
    }

    fn parse(root: &ModelFolder, text: &str) -> Result<Modules, ModelError> {
        let file = root.file(FILE);
        let modules = modules(&file, text)?;
        let [(Module::Transformer, transformer), (Module::Pooling, pooling), rest @ ..] = modules.as_slice()
        else {
            return Err(order(&file));
        };
        if !matches!(rest, [] | [(Module::Normalize, _)]) {
            return Err(order(&file));
        }
        Ok(Modules {
            transformer: root.subfolder(transformer, &file)?,
            pooling: Some(root.subfolder(pooling, &file)?),
            normalize: !rest.is_empty(),
        })
    }
}

/// The modules with their folders, in the order listed.
pub(super) fn modules(file: &Path, text: &str) -> Result<Vec<(Module, String)>, ModelError> {
    let Value::Array(list) = parse_json(file, text)? else {
        return Err(ModelError::Field {
            file: file.to_owned(),
            field: "the whole file".to_owned(),
            problem: "is not a list of modules".to_owned(),
            remedy: "get the file again from where the model comes from".to_owned(),
        });
    };
    let module = |(i, value): (usize, Value)| {
        let fields = Fields::of(file, &format!("[{i}]"), value)?;
        let name = fields.required_text("type")?;
        let module = match name.rsplit('.').next() {
            Some("Transformer") => Module::Transformer,
            Some("Pooling") => Module::Pooling,
            Some("Normalize") => Module::Normalize,
            _ => {
                let remedy = "models of Transformer, Pooling and Normalize can be run";
                return Err(fields.wrong("type", format!("is \"{name}\""), remedy));
            }
        };
        Ok((module, fields.text("path")?.unwrap_or_default().to_owned()))
    };
    list.into_iter().enumerate().map(module).collect()
}

fn order(file: &Path) -> ModelError {
    ModelError::Field {
        file: file.to_owned(),
        field: "type".to_owned(),
        problem: "lists other modules than Transformer, Pooling and, possibly, Normalize, in this order"
            .to_owned(),
        remedy: "only such models can be run".to_owned(),
    }
}
