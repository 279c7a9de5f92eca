//! The vocabulary of a GGUF file: its keys under `tokenizer.ggml` as plain data.

use crate::error::ModelError;
use crate::text::{PreTokenizer, Vocabulary};
use pumice_import::GgufFile;
use std::path::Path;

/// Keys that name a token that ends an answer besides `eos_token_id`: of a turn, of a message.
const ENDS: [&str; 2] = ["tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"];

/// Tokens that end an answer; none where the file has no vocabulary.
///
/// # Errors
/// A vocabulary that contradicts itself, an id that the model does not have.
pub(super) fn end_of_sequence(file: &GgufFile, path: &Path, vocab: u64) -> Result<Vec<u32>, ModelError> {
    let has_tokens = file.metadata().get("tokenizer.ggml.tokens").is_some();
    if !has_tokens {
        return Ok(Vec::new());
    }
    let mut ends = with_vocabulary(file, path, |vocabulary| Ok(vocabulary.end_of_sequence()))?;
    for key in ENDS {
        ends.extend(token_id(file, path, key)?);
    }
    ends.sort_unstable();
    ends.dedup();
    match ends.iter().find(|&&id| u64::from(id) >= vocab) {
        None => Ok(ends),
        Some(id) => Err(wrong(
            path,
            "tokenizer.ggml.eos_token_id",
            format!("is {id}, and the model has {vocab} tokens"),
        )),
    }
}

/// Hands over what the file says.
///
/// # Errors
/// Keys that are missing or of another type, what is not done here; those of `use_it`.
pub(super) fn with_vocabulary<R>(
    file: &GgufFile,
    path: &Path,
    use_it: impl FnOnce(&Vocabulary<'_>) -> Result<R, ModelError>,
) -> Result<R, ModelError> {
    let m = file.metadata();
    let tokens: Vec<&str> = m.strings("tokenizer.ggml.tokens")?.iter().collect();
    let merges: Vec<&str> = m.strings("tokenizer.ggml.merges")?.iter().collect();
    let pre = m.str_if_any("tokenizer.ggml.pre")?.unwrap_or("default");
    // Rules that are not known are refused with the vocabulary.
    let adds_bos = PreTokenizer::named(pre).is_ok_and(PreTokenizer::adds_bos);
    if m.bool_if_any("tokenizer.ggml.add_eos_token")? == Some(true) {
        let problem = "is true, and no token is put after a prompt here".to_owned();
        return Err(wrong(path, "tokenizer.ggml.add_eos_token", problem));
    }
    use_it(&Vocabulary {
        model: m.str("tokenizer.ggml.model")?,
        pre,
        tokens: &tokens,
        token_type: m.i32s_if_any("tokenizer.ggml.token_type")?.unwrap_or(&[]),
        merges: &merges,
        bos_token_id: token_id(file, path, "tokenizer.ggml.bos_token_id")?,
        eos_token_id: token_id(file, path, "tokenizer.ggml.eos_token_id")?,
        add_bos_token: m.bool_if_any("tokenizer.ggml.add_bos_token")?.unwrap_or(adds_bos),
    })
}

fn token_id(file: &GgufFile, path: &Path, key: &str) -> Result<Option<u32>, ModelError> {
    let given = file.metadata().u64_if_any(key)?;
    let id = |id| u32::try_from(id).map_err(|_| wrong(path, key, "is no token id".to_owned()));
    given.map(id).transpose()
}

fn wrong(path: &Path, field: &str, problem: String) -> ModelError {
    let (file, remedy) = (path.to_owned(), "use another file of the model".to_owned());
    ModelError::Field { file, field: field.to_owned(), problem, remedy }
}
