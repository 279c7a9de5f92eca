//! Where the hub is, who asks it, and where files are kept.

use std::fmt;
use std::path::PathBuf;

/// The hub's own address.
const ENDPOINT: &str = "https://huggingface.co";

/// What a caller says of the hub. Nothing is read from the environment.
#[derive(Clone)]
pub struct Options {
    pub(super) cache: PathBuf,
    pub(super) endpoint: String,
    pub(super) token: Option<String>,
    pub(super) is_offline: bool,
}

impl Options {
    /// Files are kept in the folder `cache`, laid out as huggingface_hub does
    /// (`models--ORG--REPO/{blobs,refs,snapshots}`), so that each finds what the other has fetched. The endpoint is
    /// `https://huggingface.co`.
    pub fn new(cache: impl Into<PathBuf>) -> Options {
        Options { cache: cache.into(), endpoint: ENDPOINT.to_owned(), token: None, is_offline: false }
    }

    /// Another address than `https://huggingface.co`.
    #[must_use]
    pub fn endpoint(mut self, url: impl Into<String>) -> Options {
        self.endpoint = url.into().trim_end_matches('/').to_owned();
        self
    }

    /// Who asks, for private models and those that are given on terms. It is sent to the endpoint's host alone, and
    /// no message and no `Debug` has it.
    #[must_use]
    pub fn token(mut self, token: Option<String>) -> Options {
        self.token = token;
        self
    }

    /// Only what the cache has; nothing is connected to.
    #[must_use]
    pub fn offline(mut self, is_offline: bool) -> Options {
        self.is_offline = is_offline;
        self
    }
}

/// An address without the user's name and password in it.
pub(super) fn without_user(url: &str) -> String {
    url.rsplit_once('@').map_or(url.to_owned(), |(_, rest)| format!("(hidden)@{rest}"))
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("cache", &self.cache)
            .field("endpoint", &without_user(&self.endpoint))
            .field("token", &self.token.as_ref().map(|_| "(hidden)"))
            .field("is_offline", &self.is_offline)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_not_shown() {
        let options = Options::new("/x").token(Some("hf_secret".to_owned())).endpoint("http://h/");
        let shown = format!("{options:?}");
        assert!(!shown.contains("secret") && shown.contains("hidden"), "{shown}");
        assert_eq!(options.endpoint, "http://h");
        let options = options.endpoint("https://me:secret@h");
        assert!(!format!("{options:?}").contains("secret"), "{options:?}");
    }
}
