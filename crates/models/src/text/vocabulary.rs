//! What a GGUF file says about its tokenizer, as plain data, and the laws that it must keep before a tokenizer is made.

use super::error::TextError;
use super::pre_tokenizer::PreTokenizer;
use indexmap::IndexMap;

const MODELS: &[&str] = &["gpt2", "llama"];
/// More than sixty times the largest in use, and it keeps an id inside an `i32`.
pub(super) const MOST_TOKENS: usize = 1 << 24;

/// Control tokens that end an answer in the formats of conversations in use; a file names only one of its own.
const END_OF_SEQUENCE: [&str; 9] = [
    "<|im_end|>",
    "<|endoftext|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end_of_text|>",
    "<|end|>",
    "<end_of_turn>",
    "<EOT>",
    "</s>",
];

/// The keys under `tokenizer.ggml` of one file.
#[derive(Clone, Copy, Debug, Default)]
pub struct Vocabulary<'a> {
    /// `model`: the kind of tokenizer, "gpt2" for byte-level BPE, "llama" for SentencePiece's BPE.
    pub model: &'a str,
    /// `pre`: how text is cut into words before merging, see [`PreTokenizer`].
    pub pre: &'a str,
    /// `tokens`: the text of each id. Byte-level BPE writes bytes in its alphabet; SentencePiece writes spaces as ▁ and
    /// bytes as `<0x0A>`.
    pub tokens: &'a [&'a str],
    /// `token_type`: one per token, see [`TokenKind`]. Empty where the file has none: all tokens are normal then.
    pub token_type: &'a [i32],
    /// `merges`: pairs of tokens, divided by one space, the first to be merged first. For byte-level BPE alone.
    pub merges: &'a [&'a str],
    /// `bos_token_id`: the token that begins a text.
    pub bos_token_id: Option<u32>,
    /// `eos_token_id`: the token that ends a text or an answer.
    pub eos_token_id: Option<u32>,
    /// `add_bos_token`: whether the model was trained to see the first of them before every text.
    pub add_bos_token: bool,
    /// `scores`: one per token; the higher is merged first. Empty where the file has none: all are equal then. For
    /// SentencePiece alone.
    pub scores: &'a [f32],
    /// `unknown_token_id`: the token for what the vocabulary cannot say. For SentencePiece alone, which has one of that
    /// kind where this is not given.
    pub unknown_token_id: Option<u32>,
    /// `add_eos_token`: whether a prompt ends with the token that ends a text.
    pub add_eos_token: bool,
    /// `add_space_prefix`: whether a space is put before text that begins the whole or follows a token found in full.
    /// For SentencePiece alone, which does so where this is not given.
    pub add_space_prefix: Option<bool>,
    /// `general.name`. Tokens of Phi-3 take the spaces after them along, which no other key of a file tells.
    pub name: &'a str,
}

/// The kinds that `token_type` counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// 1: made by merging.
    Normal,
    /// 2: stands for what the vocabulary cannot say.
    Unknown,
    /// 3: structure, as the beginning of a turn; text can only write it when asked to.
    Control,
    /// 4: text that is one token wherever it stands.
    UserDefined,
    /// 5: has a place and no use.
    Unused,
    /// 6: one byte.
    Byte,
}

impl TokenKind {
    pub(super) fn from_number(number: i32) -> Option<TokenKind> {
        Some(match number {
            1 => TokenKind::Normal,
            2 => TokenKind::Unknown,
            3 => TokenKind::Control,
            4 => TokenKind::UserDefined,
            5 => TokenKind::Unused,
            6 => TokenKind::Byte,
            _ => return None,
        })
    }

    /// The number that counts it.
    pub(super) fn number(self) -> i32 {
        match self {
            TokenKind::Normal => 1,
            TokenKind::Unknown => 2,
            TokenKind::Control => 3,
            TokenKind::UserDefined => 4,
            TokenKind::Unused => 5,
            TokenKind::Byte => 6,
        }
    }

    /// Whether merging may use and make it. Words of a text must never become structure by merging.
    pub fn merges(self) -> bool {
        !matches!(self, TokenKind::Control | TokenKind::Unknown)
    }
}

/// A vocabulary whose lists fit together.
pub(super) struct Checked<'a> {
    /// Ids by text.
    pub ids: IndexMap<&'a str, u32>,
    /// Kinds by id.
    pub kinds: Vec<TokenKind>,
    /// Both sides of each merge that makes a token which merging may make.
    pub merges: Vec<(&'a str, &'a str)>,
}

impl<'a> Vocabulary<'a> {
    /// Tokens that end an answer, in order: the file's own, and control tokens known to do so.
    pub fn end_of_sequence(&self) -> Vec<u32> {
        let is_end = |(token, kind): &(&&str, &i32)| {
            TokenKind::from_number(**kind) == Some(TokenKind::Control) && END_OF_SEQUENCE.contains(*token)
        };
        let of_kind = (0u32..).zip(self.tokens.iter().zip(self.token_type));
        let mut end_of_sequence: Vec<u32> =
            of_kind.filter(|(_, token)| is_end(token)).map(|(id, _)| id).collect();
        end_of_sequence.extend(self.eos_token_id);
        end_of_sequence.sort_unstable();
        end_of_sequence.dedup();
        end_of_sequence
    }

    /// Whether text begins with the token for it where a file does not say so: as llama.cpp has it for a kind and its
    /// rules for words.
    pub fn adds_bos(model: &str, pre: &str) -> bool {
        model == "llama" || PreTokenizer::named(pre).is_ok_and(PreTokenizer::adds_bos)
    }

    /// Whether a token found in full takes the spaces after it along. llama.cpp goes by the name of the model, too.
    pub(super) fn takes_spaces(&self, token: &str) -> bool {
        let name = self.name.to_ascii_lowercase();
        let is_phi3 = name.contains("phi-3") || name.contains("phi3");
        is_phi3 && !["<unk>", "<s>", "<|endoftext|>"].contains(&token)
    }

    /// Finds what does not fit together.
    pub(super) fn check(&self) -> Result<Checked<'a>, TextError> {
        if !MODELS.contains(&self.model) {
            // A file names this kind by the model that first had it.
            let model = if self.model == "t5" { "t5 (Unigram)" } else { self.model };
            let model = shorten(model);
            return Err(TextError::TokenizerModel { model, known: MODELS });
        }
        let ids = self.ids()?;
        let kinds = self.kinds()?;
        let is_byte_level = self.model == "gpt2";
        let merges = if is_byte_level { self.checked_merges(&ids, &kinds)? } else { Vec::new() };
        for (field, id) in [
            ("tokenizer.ggml.bos_token_id", self.bos_token_id),
            ("tokenizer.ggml.eos_token_id", self.eos_token_id),
            ("tokenizer.ggml.unknown_token_id", self.unknown_token_id),
        ] {
            if let Some(id) = id.filter(|&id| id as usize >= self.tokens.len()) {
                let problem = format!("is {id} where the ids are 0 to {}", self.tokens.len() - 1);
                return Err(TextError::Vocabulary { field, problem });
            }
        }
        Ok(Checked { ids, kinds, merges })
    }

    fn kinds(&self) -> Result<Vec<TokenKind>, TextError> {
        if self.token_type.is_empty() {
            return Ok(vec![TokenKind::Normal; self.tokens.len()]);
        }
        if self.token_type.len() != self.tokens.len() {
            let problem = format!("has {} entries for {} tokens", self.token_type.len(), self.tokens.len());
            return Err(TextError::Vocabulary { field: "tokenizer.ggml.token_type", problem });
        }
        let kind = |(id, &number): (usize, &i32)| {
            TokenKind::from_number(number).ok_or_else(|| TextError::Token {
                id,
                token: shorten(self.tokens[id]),
                problem: format!("has type {number} where 1 to 6 are known"),
            })
        };
        self.token_type.iter().enumerate().map(kind).collect()
    }

    fn ids(&self) -> Result<IndexMap<&'a str, u32>, TextError> {
        if self.tokens.is_empty() || self.tokens.len() > MOST_TOKENS {
            let problem = format!("has {} tokens where 1 to {MOST_TOKENS} make sense", self.tokens.len());
            return Err(TextError::Vocabulary { field: "tokenizer.ggml.tokens", problem });
        }
        let mut ids = IndexMap::with_capacity(self.tokens.len());
        for (id, &token) in self.tokens.iter().enumerate() {
            let wrong = |problem| TextError::Token { id, token: shorten(token), problem };
            if token.is_empty() {
                return Err(wrong("has no text".to_owned()));
            }
            if let Some(earlier) = ids.insert(token, id as u32) {
                return Err(wrong(format!("is token {earlier} too")));
            }
        }
        Ok(ids)
    }

    /// Merges that make structure are left out: only a reader who parses control tokens gets one.
    fn checked_merges(
        &self,
        ids: &IndexMap<&'a str, u32>,
        kinds: &[TokenKind],
    ) -> Result<Vec<(&'a str, &'a str)>, TextError> {
        let mut merges = Vec::with_capacity(self.merges.len());
        let mut made = String::new();
        for (rank, &merge) in self.merges.iter().enumerate() {
            let wrong = |problem| TextError::Merge { rank, merge: shorten(merge), problem };
            let Some((left, right)) = merge.split_once(' ').filter(|(l, r)| !l.is_empty() && !r.is_empty())
            else {
                return Err(wrong("is not two tokens divided by one space".to_owned()));
            };
            made.clear();
            made.extend([left, right]);
            let mut usable = true;
            for token in [left, right, &made] {
                match ids.get(token) {
                    Some(&id) => usable &= kinds[id as usize].merges(),
                    None => return Err(wrong(format!("needs `{}`, which is no token", shorten(token)))),
                }
            }
            if usable {
                merges.push((left, right));
            }
        }
        Ok(merges)
    }
}

/// Messages quote the file, and a damaged one has long tokens.
fn shorten(token: &str) -> String {
    token.chars().take(80).collect()
}
