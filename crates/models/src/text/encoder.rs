//! What one kind of tokenizer must do; [`TextTokenizer`](super::TextTokenizer) is the same over all kinds.

use super::error::TextError;
use super::specials::Fragment;

/// Where a text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Place {
    /// Nothing stands before it.
    Start,
    /// A control token stands before it.
    Middle,
}

/// One kind of tokenizer.
pub(super) trait Encoder: Send + Sync {
    /// The ids of a text, nothing added before or after. Control tokens are read with `parse_special` alone.
    fn encode(&self, text: &str, place: Place, parse_special: bool) -> Result<Vec<u32>, TextError>;

    /// The text cut at its control tokens. What a token takes along (spaces beside it) is in no fragment.
    fn control_fragments<'t>(&self, text: &'t str) -> Result<Vec<Fragment<'t>>, TextError>;
}

/// What stands before and after a prompt.
#[derive(Clone, Debug, Default)]
pub(super) struct Frame {
    /// Ids before it.
    pub before: Vec<u32>,
    /// Ids after it.
    pub after: Vec<u32>,
    /// Whether the ids before a prompt stand before a conversation as well, where its template wrote none.
    pub begins_conversations: bool,
}

impl Frame {
    /// One token before and one after, where there are any.
    pub fn new(before: Option<u32>, after: Option<u32>, begins_conversations: bool) -> Frame {
        Frame {
            before: before.into_iter().collect(),
            after: after.into_iter().collect(),
            begins_conversations,
        }
    }

    /// With the ids that begin a text, where it does not begin with them.
    pub fn begun(&self, mut ids: Vec<u32>) -> Vec<u32> {
        if !ids.starts_with(&self.before) {
            ids.splice(0..0, self.before.iter().copied());
        }
        ids
    }

    /// A prompt with all that stands around it.
    pub fn prompt(&self, ids: Vec<u32>) -> Vec<u32> {
        let mut ids = self.begun(ids);
        ids.extend(&self.after);
        ids
    }
}
