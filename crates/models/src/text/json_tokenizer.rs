//! A folder's `tokenizer.json`, through the `tokenizers` crate, with the ids that the crate gives.
//!
//! The file is a stranger's: calls into the crate are fenced. Where control tokens are text, the crate is told so;
//! where merging makes one all the same, the text is refused. Text that follows a control token is cut as such: only
//! the first text gets the space that Metaspace puts before a whole.

use super::encoder::{Encoder, Frame, Place};
use super::error::TextError;
use super::json_pieces::pieces;
use super::settings::FolderSettings;
use super::specials::Fragment;
use super::tokenizer::{Parts, TextTokenizer};
use super::vocabulary::{MOST_TOKENS, TokenKind};
use crate::tokenizer::fenced;
use std::collections::BTreeSet;
use std::path::Path;
use tokenizers::pre_tokenizers::metaspace::PrependScheme;
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::tokenizer::{OffsetReferential, OffsetType, PreTokenizer};
use tokenizers::{AddedVocabulary, Encoding, Model, ModelWrapper, PreTokenizerWrapper, Token, Tokenizer};

struct JsonTokenizer {
    inner: Tokenizer,
    /// Tokens that are found where control tokens are text.
    text_only: AddedVocabulary,
    /// How text that follows a control token is cut, where that is another way.
    middle: Option<PreTokenizerWrapper>,
    control: BTreeSet<u32>,
}

const DAMAGED: &str = "the file is damaged or of another kind: get it again";
/// A space for which a sign of three bytes is written makes three.
const MOST_GROWTH: u64 = 1000;
const OTHER: &str = "take a model with BPE";

impl TextTokenizer {
    /// Reads the text of a `tokenizer.json`; `file` names it in messages. What stands around a prompt is the file's
    /// post-processor's, where the settings do not say otherwise.
    ///
    /// # Errors
    /// A file that is none or contradicts itself; a model other than BPE; settings that the file has no token for.
    pub fn from_json(file: &Path, text: &str, settings: &FolderSettings) -> Result<TextTokenizer, TextError> {
        let wrong =
            |problem, remedy| TextError::TokenizerFile { file: file.display().to_string(), problem, remedy };
        let damaged = |problem| wrong(problem, DAMAGED);
        let inner = read(text).map_err(damaged)?;
        supported(inner.get_model()).map_err(|problem| wrong(problem, OTHER))?;
        let (tokens, kinds) = vocabulary(&inner).map_err(damaged)?;
        let id_of = |token: &Option<String>| token.as_ref().and_then(|token| inner.token_to_id(token));
        let (bos, eos) = (id_of(&settings.bos), id_of(&settings.eos));
        let frame = frame(&inner, settings, bos, eos)
            .map_err(|problem| wrong(problem, "take all files from one model"))?;
        let pieces = pieces(&inner, tokens.len()).map_err(|problem| wrong(problem, OTHER))?;
        let tokens: Vec<&str> = tokens.iter().map(String::as_str).collect();
        TextTokenizer::from_parts(Parts {
            encoder: Box::new(JsonTokenizer::new(inner, &kinds)),
            pieces,
            tokens: &tokens,
            kinds,
            bos,
            eos,
            frame,
        })
    }
}

/// Without what a file may ask for that has no place here: cut texts, filled rows, chance.
pub(super) fn read(text: &str) -> Result<Tokenizer, String> {
    let mut inner = fenced(|| Tokenizer::from_bytes(text.as_bytes()))?;
    inner.with_padding(None);
    fenced(|| inner.with_truncation(None).map(|_| ()))?;
    let normalizer = serde_json::to_value(inner.get_normalizer()).map_err(|e| e.to_string())?;
    let growth = growth(&normalizer);
    if growth > MOST_GROWTH {
        return Err(format!(
            "its normalizer makes a text up to {growth} times as long, {MOST_GROWTH} is the most"
        ));
    }
    if let ModelWrapper::BPE(bpe) = inner.get_model()
        && bpe.dropout.is_some()
    {
        let mut bpe = bpe.clone();
        bpe.dropout = None;
        inner.with_model(bpe);
    }
    Ok(inner)
}

/// How many times as long replacements make a text at most. One after the other they multiply, and five that write 200
/// letters for one asked for all memory there is.
fn growth(normalizer: &serde_json::Value) -> u64 {
    if let Some(all) = normalizer["normalizers"].as_array() {
        return all.iter().map(growth).fold(1, u64::saturating_mul);
    }
    let Some(content) = normalizer["content"].as_str().filter(|_| normalizer["type"] == "Replace") else {
        return 1;
    };
    // What an expression finds may be nothing.
    let found = normalizer["pattern"]["String"].as_str().map_or(0, str::len);
    let written = content.len() as u64;
    if found == 0 { written.saturating_add(1) } else { written.div_ceil(found as u64).max(1) }
}

fn supported(model: &ModelWrapper) -> Result<(), String> {
    let name = match model {
        ModelWrapper::BPE(_) => return Ok(()),
        ModelWrapper::Unigram(_) => "Unigram",
        ModelWrapper::WordPiece(_) => "WordPiece",
        ModelWrapper::WordLevel(_) => "WordLevel",
    };
    Err(format!("its model is {name}, which is not supported yet for language models"))
}

/// Tokens by id, without a text where an id has none, and their kinds.
pub(super) fn vocabulary(inner: &Tokenizer) -> Result<(Vec<String>, Vec<TokenKind>), String> {
    let ids = inner.get_vocab(true);
    let most = ids.values().max().map_or(0, |&id| id as usize);
    if ids.is_empty() || most >= MOST_TOKENS {
        return Err(format!("its ids go to {most} where 0 to {} make sense", MOST_TOKENS - 1));
    }
    let mut tokens = vec![String::new(); most + 1];
    for (token, id) in ids {
        tokens[id as usize] = token;
    }
    let mut kinds = vec![TokenKind::Normal; tokens.len()];
    for (&id, added) in inner.get_added_vocabulary().get_added_tokens_decoder() {
        // An added token may stand at an id of the model's, under another text.
        let id = id as usize;
        kinds[id] = if added.special { TokenKind::Control } else { TokenKind::UserDefined };
        tokens[id].clone_from(&added.content);
    }
    // It says that something could not be said, whoever wrote it, and is no structure.
    if let ModelWrapper::BPE(bpe) = inner.get_model()
        && let Some(id) = bpe.unk_token.as_ref().and_then(|token| inner.token_to_id(token))
    {
        kinds[id as usize] = TokenKind::Unknown;
    }
    Ok((tokens, kinds))
}

/// What the post-processor puts around a text, changed as the settings say.
pub(super) fn frame(
    inner: &Tokenizer,
    settings: &FolderSettings,
    bos: Option<u32>,
    eos: Option<u32>,
) -> Result<Frame, String> {
    // No token has this id.
    const TEXT: u32 = u32::MAX;
    let text = Encoding::from_tokens(vec![Token::new(TEXT, String::new(), (0, 0))], 0);
    let around = fenced(|| inner.post_process(text, None, true))?;
    let mut sides = around.get_ids().split(|&id| id == TEXT);
    let (Some(before), Some(after), None) = (sides.next(), sides.next(), sides.next()) else {
        return Err("its post-processor does not write the text once".to_owned());
    };
    let mut frame = Frame { before: before.to_vec(), after: after.to_vec(), begins_conversations: false };
    if let Some(wanted) = settings.add_bos_token {
        let bos = wanted_token(wanted, bos, "bos")?;
        let rest = frame.before.iter().copied().skip(usize::from(bos == frame.before.first().copied()));
        frame.before = bos.filter(|_| wanted).into_iter().chain(rest).collect();
    }
    if let Some(wanted) = settings.add_eos_token {
        let eos = wanted_token(wanted, eos, "eos")?;
        if eos == frame.after.last().copied() {
            frame.after.pop();
        }
        frame.after.extend(eos.filter(|_| wanted));
    }
    Ok(frame)
}

fn wanted_token(wanted: bool, id: Option<u32>, name: &str) -> Result<Option<u32>, String> {
    if wanted && id.is_none() {
        return Err(format!("it has no token for `{name}_token`, and `add_{name}_token` is true"));
    }
    Ok(id)
}

impl JsonTokenizer {
    fn new(inner: Tokenizer, kinds: &[TokenKind]) -> JsonTokenizer {
        let mut text_only = inner.get_added_vocabulary().clone();
        text_only.set_encode_special_tokens(true);
        let middle = inner.get_pre_tokenizer().and_then(of_the_middle);
        let is_control = |&id: &u32| kinds[id as usize] == TokenKind::Control;
        let control = (0..kinds.len() as u32).filter(is_control).collect();
        JsonTokenizer { inner, text_only, middle, control }
    }

    fn ids(&self, text: &str, place: Place, added: &AddedVocabulary) -> Result<Vec<u32>, String> {
        let middle = self.middle.as_ref().filter(|_| place == Place::Middle);
        fenced(|| {
            let mut text = added.extract_and_normalize(self.inner.get_normalizer(), text);
            if let Some(cuts) = middle.or(self.inner.get_pre_tokenizer()) {
                cuts.pre_tokenize(&mut text)?;
            }
            self.inner.get_model().tokenize_in_pretokenized(&mut text, None)?;
            Ok(text.into_encoding(None, 0, OffsetType::None)?.get_ids().to_vec())
        })
    }
}

/// How text that does not begin the whole is cut, where that differs.
fn of_the_middle(cuts: &PreTokenizerWrapper) -> Option<PreTokenizerWrapper> {
    match cuts {
        PreTokenizerWrapper::Metaspace(metaspace) if metaspace.prepend_scheme == PrependScheme::First => {
            let mut metaspace = metaspace.clone();
            metaspace.set_prepend_scheme(PrependScheme::Never);
            Some(PreTokenizerWrapper::Metaspace(metaspace))
        }
        PreTokenizerWrapper::Sequence(steps) => {
            let steps: &[PreTokenizerWrapper] = steps.as_ref();
            let other: Vec<Option<PreTokenizerWrapper>> = steps.iter().map(of_the_middle).collect();
            let differs = other.iter().any(Option::is_some);
            let step = |(step, other): (&PreTokenizerWrapper, Option<PreTokenizerWrapper>)| {
                other.unwrap_or_else(|| step.clone())
            };
            let steps = steps.iter().zip(other).map(step).collect();
            differs.then(|| PreTokenizerWrapper::Sequence(Sequence::new(steps)))
        }
        _ => None,
    }
}

impl Encoder for JsonTokenizer {
    fn encode(&self, text: &str, place: Place, parse_special: bool) -> Result<Vec<u32>, TextError> {
        let added = if parse_special { self.inner.get_added_vocabulary() } else { &self.text_only };
        let ids = self.ids(text, place, added).map_err(|problem| TextError::Encode { problem })?;
        match ids.iter().find(|id| !parse_special && self.control.contains(id)) {
            Some(&id) => {
                let token = self.inner.id_to_token(id).unwrap_or_default();
                let problem = format!("by merging it makes the control token `{token}`; leave that text out");
                Err(TextError::Encode { problem })
            }
            None => Ok(ids),
        }
    }

    fn control_fragments<'t>(&self, text: &'t str) -> Result<Vec<Fragment<'t>>, TextError> {
        let found = fenced(|| {
            let added = self.inner.get_added_vocabulary();
            let parts = added.extract_and_normalize(self.inner.get_normalizer(), text);
            let parts = parts.get_splits(OffsetReferential::Original, OffsetType::Byte);
            let token = |tokens: &Option<Vec<Token>>| tokens.as_ref()?.first().map(|token| token.id);
            let tokens = parts.iter().filter_map(|(_, bytes, tokens)| Some((*bytes, token(tokens)?)));
            Ok(tokens.filter(|(_, id)| self.control.contains(id)).collect::<Vec<_>>())
        });
        let mut fragments = Vec::new();
        let mut done = 0;
        for ((start, end), id) in found.map_err(|problem| TextError::Encode { problem })? {
            let before = text.get(done..start).filter(|before| !before.is_empty());
            fragments.extend(before.map(Fragment::Text));
            fragments.push(Fragment::Token(id));
            done = end;
        }
        fragments.extend(text.get(done..).filter(|rest| !rest.is_empty()).map(Fragment::Text));
        Ok(fragments)
    }
}
