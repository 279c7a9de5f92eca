//! Texts to token ids: a `tokenizer.json` that somebody else wrote, used without its own padding and truncation.
//!
//! The file is untrusted. The `tokenizers` crate reports most of what is wrong as errors but meets some files with a
//! panic; every call into it is therefore fenced, and a panic becomes the typed error that it should have been.

use crate::error::ModelError;
use crate::sentence::SentenceSpec;
use pumice_import::{ImportError, ModelFolder};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use tokenizers::{Encoding, ModelWrapper, PostProcessor, Tokenizer, TruncationParams};

/// The largest vocabularies in use need a quarter of it.
const LIMIT: u64 = 128 << 20;

/// Token ids of several texts as one tensor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenBatch {
    /// Ids, [batch, seq] row-major; positions after a row's length hold the padding id.
    pub ids: Vec<i32>,
    /// Tokens of each row.
    pub lengths: Vec<i32>,
    /// Number of rows.
    pub batch: usize,
    /// Length of the longest row, at least 1.
    pub seq: usize,
}

impl TokenBatch {
    /// Puts rows of ids beside each other; `pad` fills the shorter ones.
    pub fn pack<R: AsRef<[i32]>>(rows: &[R], pad: i32) -> TokenBatch {
        let seq = rows.iter().map(|r| r.as_ref().len()).max().unwrap_or(0).max(1);
        let mut batch = TokenBatch { batch: rows.len(), seq, ..TokenBatch::default() };
        for row in rows {
            let row = row.as_ref();
            batch.ids.extend_from_slice(row);
            batch.ids.resize(batch.ids.len() + seq - row.len(), pad);
            batch.lengths.push(row.len() as i32);
        }
        batch
    }
}

/// The tokens of one text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Encoded {
    /// Their ids, specials included.
    pub ids: Vec<i32>,
    /// How many tokens of the text did not fit.
    pub cut: usize,
}

/// A tokenizer with the limits of the model that it belongs to.
pub struct SentenceTokenizer {
    inner: Tokenizer,
    /// As `inner`, without a limit.
    whole: Tokenizer,
    file: PathBuf,
    vocab: u64,
    pad: i32,
    max_tokens: usize,
    lowercase: bool,
    prompt: String,
}

impl SentenceTokenizer {
    /// Reads the folder's `tokenizer.json`. `vocab` is the number of rows in the token table, `pad` the id for padding.
    pub fn open(
        folder: &ModelFolder,
        spec: &SentenceSpec,
        vocab: u64,
        pad: u64,
    ) -> Result<SentenceTokenizer, ModelError> {
        const FILE: &str = "tokenizer.json";
        let text = folder.read_text(FILE, LIMIT)?.ok_or_else(|| ImportError::Missing {
            path: folder.file(FILE),
            remedy: "save the model's fast tokenizer into the folder".to_owned(),
        })?;
        SentenceTokenizer::from_json(&folder.file(FILE), &text, spec, vocab, pad)
    }

    /// Reads the text of a `tokenizer.json`; `file` names it in messages.
    pub fn from_json(
        file: &Path,
        text: &str,
        spec: &SentenceSpec,
        vocab: u64,
        pad: u64,
    ) -> Result<SentenceTokenizer, ModelError> {
        let wrong =
            |problem: String, remedy| ModelError::Tokenizer { file: file.to_owned(), problem, remedy };
        let mut inner = fenced(|| Tokenizer::from_bytes(text.as_bytes()))
            .map_err(|reason| wrong(reason, "the file is damaged or of another kind: get it again"))?;
        inner.with_padding(None);
        if let ModelWrapper::BPE(bpe) = inner.get_model()
            && bpe.dropout.is_some()
        {
            // Dropout is for training; with it, a text would not have one result.
            let mut bpe = bpe.clone();
            bpe.dropout = None;
            inner.with_model(bpe);
        }
        let max_tokens = usize::try_from(spec.max_tokens).unwrap_or(usize::MAX);
        let specials = inner.get_post_processor().map_or(0, |p| p.added_tokens(false));
        leaves_capacity(file, spec, specials, max_tokens)?;
        let damaged = |reason| wrong(reason, "the file is damaged or of another kind: get it again");
        let mut whole = inner.clone();
        fenced(|| whole.with_truncation(None).map(|_| ())).map_err(damaged)?;
        let truncation = TruncationParams { max_length: max_tokens, ..TruncationParams::default() };
        fenced(|| inner.with_truncation(Some(truncation)).map(|_| ())).map_err(damaged)?;
        Ok(SentenceTokenizer {
            inner,
            whole,
            file: file.to_owned(),
            vocab,
            pad: pad as i32,
            max_tokens,
            lowercase: spec.lowercase,
            prompt: spec.prompt.clone(),
        })
    }

    /// Tokens of the longest text, specials included.
    pub fn max_tokens(&self) -> usize {
        self.max_tokens
    }

    /// The id that fills short rows.
    pub fn pad(&self) -> i32 {
        self.pad
    }

    /// Token ids of one text, specials included, cut to the model's length. `index` is the text's number in messages.
    pub fn encode(&self, index: usize, text: &str) -> Result<Vec<i32>, ModelError> {
        Ok(self.encode_counted(index, text)?.ids)
    }

    /// As [`SentenceTokenizer::encode`], with the number of tokens that were cut off.
    pub fn encode_counted(&self, index: usize, text: &str) -> Result<Encoded, ModelError> {
        let wrong = |problem| ModelError::Text { text: index, problem };
        let file = self.file.display();
        let text = format!("{}{text}", self.prompt);
        let text = if self.lowercase { text.to_lowercase() } else { text };
        let encoding = fenced(|| self.inner.encode_fast(text.as_str(), true))
            .map_err(|reason| wrong(format!("{file}: {reason}")))?;
        if let Some(problem) = self.wrong_ids(&encoding) {
            return Err(wrong(format!("{file}: {problem}")));
        }
        let of_the_text = |e: &Encoding| e.get_special_tokens_mask().iter().filter(|&&m| m == 0).count();
        let cut = match encoding.get_overflowing().as_slice() {
            [] => 0,
            // A tokenizer that cuts stops reading early: only one that does not counts what was left out.
            _ => fenced(|| self.whole.encode_fast(text.as_str(), false))
                .map_err(|reason| wrong(format!("{file}: {reason}")))?
                .len()
                .saturating_sub(of_the_text(&encoding)),
        };
        // vocab is at most 2²⁴, so every id fits.
        Ok(Encoded { ids: encoding.get_ids().iter().map(|&id| id as i32).collect(), cut })
    }

    /// Why the model cannot take the ids of a text, if it cannot.
    fn wrong_ids(&self, encoding: &Encoding) -> Option<String> {
        let ids = encoding.get_ids();
        let (given, limit) = (ids.len(), self.max_tokens);
        if given > limit {
            return Some(format!(
                "{given} tokens although {limit} is the limit; its post-processor repeats the text"
            ));
        }
        let position = ids.iter().position(|&id| u64::from(id) >= self.vocab)?;
        let token = encoding.get_tokens().get(position).cloned().unwrap_or_default();
        Some(format!(
            "token `{token}` has id {}, `vocab_size` in config.json is {}; take both files from one model",
            ids[position], self.vocab
        ))
    }

    /// Token ids of several texts as one tensor.
    pub fn encode_batch<S: AsRef<str>>(&self, texts: &[S]) -> Result<TokenBatch, ModelError> {
        let rows = texts.iter().enumerate().map(|(i, t)| self.encode(i, t.as_ref()));
        Ok(TokenBatch::pack(&rows.collect::<Result<Vec<_>, _>>()?, self.pad))
    }
}

/// Special tokens leave something of a text.
fn leaves_capacity(
    file: &Path,
    spec: &SentenceSpec,
    specials: usize,
    max_tokens: usize,
) -> Result<(), ModelError> {
    if specials < max_tokens {
        return Ok(());
    }
    if spec.limit_chosen {
        let problem = format!(
            "{max_tokens} leaves nothing for a text, because {specials} special tokens are added to each; take {} or more",
            specials + 1
        );
        return Err(ModelError::Option { option: "max_tokens", problem });
    }
    let problem = format!("it adds {specials} special tokens, the model takes {max_tokens} tokens in all");
    Err(ModelError::Tokenizer { file: file.to_owned(), problem, remedy: "take all files from one model" })
}

/// Runs a call into the `tokenizers` crate; its errors and its panics become one kind of reason.
pub(crate) fn fenced<T>(call: impl FnOnce() -> tokenizers::Result<T>) -> Result<T, String> {
    // What the closure borrowed is dropped or read-only afterwards, so a half-done change cannot be seen.
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(result) => result.map_err(|e| shorten(&e.to_string())),
        Err(payload) => {
            let message = payload.downcast_ref::<String>().map(String::as_str);
            let message = message.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("no message");
            Err(shorten(&format!("the tokenizer gave up: {message}")))
        }
    }
}

/// Messages may quote the file, and a hostile one is long.
fn shorten(message: &str) -> String {
    message.chars().take(400).collect()
}
