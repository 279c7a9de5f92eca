//! What a conversation's texts became, kept from one turn to the next: a turn encodes what is new.

use super::encoder::Place;
use super::error::TextError;
use super::pieces::Pieces;
use super::tokenizer::TextTokenizer;
use indexmap::IndexMap;
use indexmap::map::Entry;
use std::fmt;
use std::sync::Arc;

/// The texts between a conversation's control tokens with their ids, of its last turn and no others. For
/// [`TextTokenizer::encode_turns`]; empty to begin with.
#[derive(Clone, Default)]
pub struct EncodedTexts {
    /// Whose ids they are: those of another tokenizer are not taken.
    pieces: Option<Arc<Pieces>>,
    by_text: IndexMap<(String, Place), Arc<[u32]>>,
}

impl EncodedTexts {
    pub(super) fn of(tokenizer: &TextTokenizer) -> EncodedTexts {
        EncodedTexts { pieces: Some(tokenizer.pieces().clone()), by_text: IndexMap::new() }
    }

    /// The ids of a text, from here, from the turn before, or encoded. They are here then.
    pub(super) fn take(
        &mut self,
        tokenizer: &TextTokenizer,
        before: &EncodedTexts,
        text: &str,
        place: Place,
    ) -> Result<&[u32], TextError> {
        let entry = match self.by_text.entry((text.to_owned(), place)) {
            Entry::Occupied(known) => return Ok(known.into_mut()),
            Entry::Vacant(entry) => entry,
        };
        let is_same = before.pieces.as_ref().is_some_and(|pieces| Arc::ptr_eq(pieces, tokenizer.pieces()));
        let ids = match before.by_text.get(entry.key()).filter(|_| is_same) {
            Some(ids) => ids.clone(),
            None => tokenizer.encode_at(text, place)?.into(),
        };
        Ok(entry.insert(ids))
    }
}

impl fmt::Debug for EncodedTexts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EncodedTexts").field("texts", &self.by_text.len()).finish_non_exhaustive()
    }
}
