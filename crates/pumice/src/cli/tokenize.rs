//! `pumice tokenize`: the tokens of a text, as `pumice generate --prompt` reads it.
//!
//! In: a model (of which no tensor is read) and a text. Out: ids, with the bytes that each writes.

use super::hub::{HubArgs, Takes};
use super::piece::TokenText;
use super::progress::Progress;
use super::words::count;
use super::{CommandError, Outcome, texts};
use crate::error::Error;
use pumice_models::{LanguageModel, LanguageOptions, ModelError, TextTokenizer};
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Arguments of `pumice tokenize`.
#[derive(clap::Args, Clone, Debug)]
pub struct TokenizeArgs {
    /// A GGUF file, a folder in Hugging Face layout, or a name in the hub such as ORG/REPO:Q4_K_M (feature hub)
    #[arg(long, short, value_name = "MODEL")]
    pub model: PathBuf,
    /// What the program knows of the hub
    #[command(flatten)]
    pub hub: HubArgs,
    /// The text; `-` is the standard input
    #[arg(long, short, value_name = "TEXT", required_unless_present = "file")]
    pub prompt: Option<String>,
    /// The text of this file
    #[arg(long, short, value_name = "FILE", conflicts_with = "prompt")]
    pub file: Option<PathBuf>,
    /// Add no token before and after the text, such as the one that begins texts
    #[arg(long)]
    pub no_bos: bool,
    /// Read control tokens that stand in the text as text
    #[arg(long)]
    pub no_parse_special: bool,
    /// Pass over this key of the model's configuration, which nobody knows here; may be given several times
    #[arg(long, value_name = "K")]
    pub ignore_key: Vec<String>,
    /// Print one JSON object: `tokens` (how many), `ids`, and `pieces`, each with `id`, `text`, and `bytes` where they
    /// are no whole characters
    #[arg(long)]
    pub json: bool,
}

/// The form of `--json`.
#[derive(Serialize)]
struct Report<'r> {
    tokens: usize,
    ids: &'r [u32],
    pieces: Vec<TokenText<'r>>,
}

/// Runs the command. Tokens go to `out`; how many there are goes to `log`.
///
/// # Errors
/// A model whose vocabulary cannot be read; a text that cannot be read or encoded; an output that cannot be written.
pub fn run(args: &TokenizeArgs, out: &mut dyn Write, log: &mut dyn Write) -> Outcome {
    let text = texts::given(args.prompt.as_deref(), args.file.as_deref())?.unwrap_or_default();
    let model = args.hub.located(&args.model, Takes::Any, &Progress::new(), log)?;
    let tokenizer = tokenizer(&model, &args.ignore_key).map_err(Error::from)?;
    let encoded = if args.no_bos {
        tokenizer.encode(&text, !args.no_parse_special)
    } else {
        tokenizer.encode_prompt(&text, !args.no_parse_special)
    };
    let ids = encoded.map_err(|e| Error::from(ModelError::from(e)))?;
    if args.json {
        let pieces = ids.iter().map(|&id| TokenText::of(Some(&tokenizer), id)).collect();
        let report = Report { tokens: ids.len(), ids: &ids, pieces };
        let text = serde_json::to_string(&report).map_err(|e| CommandError::Write(e.into()))?;
        writeln!(out, "{text}")?;
        return Ok(true);
    }
    for &id in &ids {
        writeln!(out, "{id:>7}  {}", quoted(tokenizer.token_bytes(id).unwrap_or_default()))?;
    }
    out.flush()?;
    writeln!(log, "{}", count(ids.len(), "token"))?;
    Ok(true)
}

fn tokenizer(model: &Path, ignored: &[String]) -> Result<TextTokenizer, ModelError> {
    LanguageModel::open(model, &LanguageOptions::default().ignored_keys(ignored))?.tokenizer()
}

/// Characters as they are, line ends and what cannot be seen as escapes; a part of a character as its bytes.
fn quoted(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => format!("{text:?}"),
        Err(_) => format!("\"{}\"", bytes.escape_ascii()),
    }
}
