//! Text to token ids and back, by the tokenizer that a model was trained with.
//!
//! One type over all kinds (`encoder`): byte-level BPE and SentencePiece from a GGUF file, and the files of a folder.
//! Text of a user is encoded with `parse_special` off: then no text can give a control token, and nobody can forge a
//! turn of a conversation.

use super::byte_level::ByteLevel;
use super::encoder::{Encoder, Frame, Place};
use super::error::TextError;
use super::gguf_sentencepiece::GgufSentencePiece;
use super::pieces::Pieces;
use super::specials::{Fragment, Specials};
use super::stream::DecodeStream;
use super::vocabulary::{TokenKind, Vocabulary};
use indexmap::IndexMap;
use std::sync::Arc;

/// The tokenizer of a language model.
pub struct TextTokenizer {
    encoder: Box<dyn Encoder>,
    pieces: Arc<Pieces>,
    ids: IndexMap<String, u32>,
    kinds: Vec<TokenKind>,
    /// Finds control tokens.
    control: Specials,
    bos: Option<u32>,
    eos: Option<u32>,
    frame: Frame,
}

/// What makes a tokenizer, whatever its kind. Lists count ids; an id without a token has no text.
pub(super) struct Parts<'p> {
    pub encoder: Box<dyn Encoder>,
    pub pieces: Pieces,
    pub tokens: &'p [&'p str],
    pub kinds: Vec<TokenKind>,
    pub bos: Option<u32>,
    pub eos: Option<u32>,
    pub frame: Frame,
}

impl TextTokenizer {
    /// Makes the tokenizer of a GGUF file's vocabulary.
    ///
    /// # Errors
    /// A kind of tokenizer or rules for words that are not known, and lists that do not fit together.
    pub fn new(vocabulary: &Vocabulary<'_>) -> Result<TextTokenizer, TextError> {
        let checked = vocabulary.check()?;
        let tokens = vocabulary.tokens;
        let (encoder, pieces): (Box<dyn Encoder>, _) = if vocabulary.model == "llama" {
            let leading = usize::from(vocabulary.add_space_prefix.unwrap_or(true));
            let pieces = Pieces::of_sentencepiece(tokens, &checked.kinds, leading);
            (Box::new(GgufSentencePiece::new(vocabulary, &checked)?), pieces)
        } else {
            let pieces = Pieces::of_byte_level(tokens, &checked.kinds);
            (Box::new(ByteLevel::new(vocabulary, &checked)?), pieces)
        };
        let (bos, eos) = (vocabulary.bos_token_id, vocabulary.eos_token_id);
        let before = bos.filter(|_| vocabulary.add_bos_token);
        let after = eos.filter(|_| vocabulary.add_eos_token);
        TextTokenizer::from_parts(Parts {
            encoder,
            pieces,
            tokens,
            kinds: checked.kinds,
            bos,
            eos,
            frame: Frame::new(before, after, true),
        })
    }

    pub(super) fn from_parts(parts: Parts<'_>) -> Result<TextTokenizer, TextError> {
        let with_text = (0u32..).zip(parts.tokens).filter(|(_, token)| !token.is_empty());
        Ok(TextTokenizer {
            encoder: parts.encoder,
            pieces: Arc::new(parts.pieces),
            ids: with_text.map(|(id, &token)| (token.to_owned(), id)).collect(),
            control: Specials::new(parts.tokens, &parts.kinds, &[TokenKind::Control])?,
            kinds: parts.kinds,
            bos: parts.bos,
            eos: parts.eos,
            frame: parts.frame,
        })
    }

    /// The ids of a text. With `parse_special` a control token that stands in the text becomes its id, as a rendered
    /// template wants it; without, it is text as any other. Nothing is added before or after.
    ///
    /// A byte that the vocabulary cannot spell is left out, as in training; SmolLM2 lacks six control characters and
    /// the planes of Unicode from 4 on.
    ///
    /// # Errors
    /// A text that the rules for words cannot cut.
    pub fn encode(&self, text: &str, parse_special: bool) -> Result<Vec<u32>, TextError> {
        self.encoder.encode(text, Place::Start, parse_special)
    }

    /// As [`TextTokenizer::encode`] without control tokens, of text that stands there.
    pub(super) fn encode_at(&self, text: &str, place: Place) -> Result<Vec<u32>, TextError> {
        self.encoder.encode(text, place, false)
    }

    pub(super) fn pieces(&self) -> &Arc<Pieces> {
        &self.pieces
    }

    /// As [`TextTokenizer::encode`], with what stands before and after a prompt: the token that begins a text where the
    /// model wants one and the text has none, the one that ends it where the model wants that.
    ///
    /// # Errors
    /// As [`TextTokenizer::encode`].
    pub fn encode_prompt(&self, text: &str, parse_special: bool) -> Result<Vec<u32>, TextError> {
        Ok(self.frame.prompt(self.encode(text, parse_special)?))
    }

    /// What stands before every prompt: the token that begins texts, where the model wants one.
    pub fn before_prompts(&self) -> &[u32] {
        &self.frame.before
    }

    /// A conversation with the token that begins a text, where the model wants one and there is none. From a folder its
    /// template alone decides.
    pub(super) fn begun(&self, ids: Vec<u32>) -> Vec<u32> {
        if self.frame.begins_conversations { self.frame.begun(ids) } else { ids }
    }

    /// Finds control tokens.
    pub(super) fn control(&self) -> &Specials {
        &self.control
    }

    /// A text in fragments at control tokens.
    pub(super) fn control_fragments<'t>(&self, text: &'t str) -> Result<Vec<Fragment<'t>>, TextError> {
        self.encoder.control_fragments(text)
    }

    /// The text of ids, control tokens written out. Bytes that no character has and ids that are no token become
    /// U+FFFD; an id beyond a folder's tokenizer has no text. The ids are a whole text: a space that encoding puts
    /// before one is not in it.
    pub fn decode(&self, ids: &[u32]) -> String {
        let (mut beginning, mut bytes) = (self.pieces.beginning(), Vec::new());
        ids.iter().for_each(|&id| beginning.write(&self.pieces, id, &mut bytes));
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The bytes that a token writes in the middle of a text; a control token's are its name. They may be a part of a
    /// character. None for an id that is no token.
    pub fn token_bytes(&self, id: u32) -> Option<&[u8]> {
        ((id as usize) < self.vocab_size()).then(|| self.pieces.bytes(id))
    }

    /// Decodes ids of a whole text as they arrive: all that comes out is what [`TextTokenizer::decode`] gives.
    pub fn stream(&self) -> DecodeStream {
        DecodeStream::new(self.pieces.clone())
    }

    /// As [`TextTokenizer::stream`], of ids that go on after others: a space that begins the first token is text.
    pub fn stream_after(&self) -> DecodeStream {
        DecodeStream::after(self.pieces.clone())
    }

    /// The id of a token by its text as the vocabulary spells it.
    pub fn token_id(&self, token: &str) -> Option<u32> {
        self.ids.get(token).copied()
    }

    /// Whether this token is structure and no text.
    pub fn is_control(&self, id: u32) -> bool {
        self.kinds.get(id as usize) == Some(&TokenKind::Control)
    }

    /// The token that begins a text.
    pub fn bos(&self) -> Option<u32> {
        self.bos
    }

    /// The token that the file names as ending a text.
    pub fn eos(&self) -> Option<u32> {
        self.eos
    }

    /// Number of tokens. A model may have logits for more: their rows are padding.
    pub fn vocab_size(&self) -> usize {
        self.kinds.len()
    }
}

impl std::fmt::Debug for TextTokenizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TextTokenizer").field("tokens", &self.vocab_size()).finish_non_exhaustive()
    }
}
