//! The vocabulary of a GGUF file: its keys under `tokenizer.ggml` as plain data.

use crate::error::ModelError;
use crate::text::Vocabulary;
use pumice_import::GgufModel;
use std::path::Path;

/// Keys that name a token that ends an answer besides `eos_token_id`: of a turn, of a message.
const ENDS: [&str; 2] = ["tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"];

/// Tokens that end an answer; none where the file has no vocabulary.
///
/// # Errors
/// A vocabulary that contradicts itself, an id that the model does not have.
pub(super) fn end_of_sequence(file: &GgufModel, path: &Path, vocab: u64) -> Result<Vec<u32>, ModelError> {
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
    file: &GgufModel,
    path: &Path,
    use_it: impl FnOnce(&Vocabulary<'_>) -> Result<R, ModelError>,
) -> Result<R, ModelError> {
    let m = file.metadata();
    let tokens: Vec<&str> = m.strings("tokenizer.ggml.tokens")?.iter().collect();
    let model = m.str("tokenizer.ggml.model")?;
    // SentencePiece merges by scores.
    let merges = if model == "llama" { None } else { Some(m.strings("tokenizer.ggml.merges")?) };
    let merges: Vec<&str> = merges.into_iter().flat_map(|merges| merges.iter()).collect();
    let pre = m.str_if_any("tokenizer.ggml.pre")?.unwrap_or("default");
    let adds_bos = Vocabulary::adds_bos(model, pre);
    use_it(&Vocabulary {
        model,
        pre,
        tokens: &tokens,
        token_type: m.i32s_if_any("tokenizer.ggml.token_type")?.unwrap_or(&[]),
        merges: &merges,
        bos_token_id: token_id(file, path, "tokenizer.ggml.bos_token_id")?,
        eos_token_id: token_id(file, path, "tokenizer.ggml.eos_token_id")?,
        add_bos_token: m.bool_if_any("tokenizer.ggml.add_bos_token")?.unwrap_or(adds_bos),
        scores: m.f32s_if_any("tokenizer.ggml.scores")?.unwrap_or(&[]),
        unknown_token_id: token_id(file, path, "tokenizer.ggml.unknown_token_id")?,
        add_eos_token: m.bool_if_any("tokenizer.ggml.add_eos_token")?.unwrap_or(false),
        add_space_prefix: m.bool_if_any("tokenizer.ggml.add_space_prefix")?,
        name: m.str_if_any("general.name")?.unwrap_or(""),
    })
}

fn token_id(file: &GgufModel, path: &Path, key: &str) -> Result<Option<u32>, ModelError> {
    let given = file.metadata().u64_if_any(key)?;
    let id = |id| u32::try_from(id).map_err(|_| wrong(path, key, "is no token id".to_owned()));
    given.map(id).transpose()
}

fn wrong(path: &Path, field: &str, problem: String) -> ModelError {
    let (file, remedy) = (path.to_owned(), "use another file of the model".to_owned());
    ModelError::Field { file, field: field.to_owned(), problem, remedy }
}
