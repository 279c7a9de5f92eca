//! How long a text may be: `sentence_bert_config.json`, else `tokenizer_config.json`, else the position table.

use crate::config::EncoderConfig;
use crate::config::fields::Fields;
use crate::error::{ModelError, Note};
use crate::sentence::CONFIG_LIMIT;
use pumice_import::ModelFolder;

/// The names that sentence-transformers has written over time, in the order in which it looks for them.
const FILES: [&str; 5] = [
    "sentence_bert_config.json",
    "sentence_roberta_config.json",
    "sentence_distilbert_config.json",
    "sentence_camembert_config.json",
    "sentence_xlm-roberta_config.json",
];

/// Tokens of the longest text, and whether texts are lowercased first. A limit beyond the position table is lowered to
/// it, with a note.
pub fn read(
    folder: &ModelFolder,
    config: &EncoderConfig,
    notes: &mut Vec<Note>,
) -> Result<(u64, bool), ModelError> {
    let (mut limit, mut lowercase) = (None, false);
    for name in FILES {
        let Some(text) = folder.read_text(name, CONFIG_LIMIT)? else { continue };
        let fields = Fields::parse(&folder.file(name), &text)?;
        limit = fields.integer("max_seq_length", 1..=u64::MAX)?.map(|n| (n, fields.file().to_owned()));
        lowercase = fields.flag("do_lower_case")?;
        break;
    }
    if limit.is_none() {
        limit = tokenizer_limit(folder)?;
    }
    let most = config.max_tokens();
    match limit {
        Some((n, file)) if n > most => {
            let file = file.display();
            notes.push(Note(format!(
                "{file} allows {n} tokens, the position table has {most}: {most} are used"
            )));
            Ok((most, lowercase))
        }
        Some((n, _)) => Ok((n, lowercase)),
        None => Ok((most, lowercase)),
    }
}

/// `model_max_length`, unless it is one of the huge numbers that stand for "no limit".
fn tokenizer_limit(folder: &ModelFolder) -> Result<Option<(u64, std::path::PathBuf)>, ModelError> {
    const FILE: &str = "tokenizer_config.json";
    let Some(text) = folder.read_text(FILE, CONFIG_LIMIT)? else { return Ok(None) };
    let fields = Fields::parse(&folder.file(FILE), &text)?;
    let limit = fields.number("model_max_length")?.filter(|&n| (1.0..1e9).contains(&n));
    Ok(limit.map(|n| (n as u64, fields.file().to_owned())))
}
