//! What can go wrong between a name and its files. Each says what to do; none has a token or a signed address.

use std::path::PathBuf;

/// Why a model was not found or not fetched.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum HubError {
    /// An endpoint that is no `http` or `https` address, or has a user's name in it.
    #[error("the endpoint `{}` is no address such as https://huggingface.co (HF_ENDPOINT)", endpoint.escape_debug())]
    Endpoint {
        /// As it was given.
        endpoint: String,
    },
    /// A token with characters that no header takes.
    #[error(
        "the token has characters that no token has: look at HF_TOKEN, or at the file `token` of HF_HOME"
    )]
    Token,
    /// Nobody answered, or the answer broke off. What has come is kept.
    #[error(
        "{what}: {reason}; what has come is kept: call again, or take what is there with HF_HUB_OFFLINE=1"
    )]
    Connection {
        /// What was asked for.
        what: String,
        /// The system's reason.
        reason: String,
    },
    /// The hub wants to know who asks: 401.
    #[error(
        "{what}: there is no such model or file, or it is private: look at the name, and give a token that may read it \
         (HF_TOKEN; https://huggingface.co/settings/tokens makes one) (status 401)"
    )]
    Unauthorized {
        /// What was asked for.
        what: String,
    },
    /// The model is given to those who have agreed to its terms, or the token may not read it: 403.
    #[error(
        "{what}: access is refused (status {status}): open {page} in a browser, agree to the terms, and give a token of that \
         account which may read gated repositories (HF_TOKEN)"
    )]
    Forbidden {
        /// What was asked for.
        what: String,
        /// 403, or 401 of a gated model without a token.
        status: u16,
        /// Where the terms are.
        page: String,
    },
    /// 404.
    #[error("{what}: there is no such model, revision or file: look at the name (status 404)")]
    NotFound {
        /// What was asked for.
        what: String,
    },
    /// 429.
    #[error(
        "{what}: the hub has been asked too often (status 429): wait {}, or give a token (HF_TOKEN), which may ask more",
        retry_after.map_or("some minutes".to_owned(), |s| format!("{s} seconds"))
    )]
    TooMany {
        /// What was asked for.
        what: String,
        /// Seconds to wait, where the hub says so.
        retry_after: Option<u64>,
    },
    /// Any other status that is no success.
    #[error("{what}: the server answers with status {status}: try again later")]
    Status {
        /// What was asked for.
        what: String,
        /// It.
        status: u16,
    },
    /// An answer that is not what the hub says.
    #[error("{what}: the server's answer cannot be used: {problem}")]
    Answer {
        /// What was asked for.
        what: String,
        /// Why.
        problem: String,
    },
    /// A name in the server's list that leads out of a folder, or that some system cannot store.
    #[error("{repository}: the file name `{}` is refused: it {problem}", name.escape_debug())]
    FileName {
        /// `ORG/REPO`.
        repository: String,
        /// As the server has it.
        name: String,
        /// Why.
        problem: &'static str,
    },
    /// Several models of one encoding.
    #[error(
        "{repository} has several files of `{quant}`: {}; name more of one of them, as in {repository}:{}",
        matches.join(", "), example(matches)
    )]
    Ambiguous {
        /// `ORG/REPO`.
        repository: String,
        /// What was wanted.
        quant: String,
        /// The first file of each.
        matches: Vec<String>,
    },
    /// No file of that encoding.
    #[error("{repository} has no GGUF file of `{quant}`; {}", there(available))]
    NoQuant {
        /// `ORG/REPO`.
        repository: String,
        /// What was wanted.
        quant: String,
        /// Encodings that there are.
        available: Vec<String>,
    },
    /// Nothing that is read here.
    #[error(
        "{repository} has neither a GGUF file that is taken without being named nor a folder with config.json and \
         safetensors; {}",
        there(available)
    )]
    NoModel {
        /// `ORG/REPO`.
        repository: String,
        /// Encodings of GGUF files that there are.
        available: Vec<String>,
    },
    /// Files that belong to the model and are not there: in the repository, or offline in the cache.
    #[error("{repository}: {} not in {place}: {remedy}", names(missing))]
    Missing {
        /// `ORG/REPO`.
        repository: String,
        /// Their names.
        missing: Vec<String>,
        /// Where they were looked for.
        place: String,
        /// What to do.
        remedy: &'static str,
    },
    /// A part that the server does not continue.
    #[error(
        "{what}: the server sent something else than the rest that was asked for ({problem}); the part is kept: try \
         again later, or delete {} to begin anew",
        part.display()
    )]
    Range {
        /// What was asked for.
        what: String,
        /// How.
        problem: String,
        /// What has come before.
        part: PathBuf,
    },
    /// A file that is not as long as the hub says.
    #[error(
        "{what}: {expected} bytes are announced, and the server has {got}: nothing of it is used; try again later"
    )]
    Length {
        /// What was asked for.
        what: String,
        /// Bytes of the file.
        expected: u64,
        /// Bytes that there were.
        got: u64,
    },
    /// A file with another sha256 than the hub says. It is deleted.
    #[error(
        "{what}: its sha256 is {got}, and {expected} was announced: what came is deleted; fetch it again"
    )]
    Hash {
        /// What was asked for.
        what: String,
        /// Of the file.
        expected: String,
        /// Of what came.
        got: String,
    },
    /// Too little room.
    #[error(
        "{needed} bytes are to be fetched, and {} has room for {available}: make room, or name another folder with \
         HF_HUB_CACHE",
        path.display()
    )]
    Room {
        /// Bytes that are missing.
        needed: u64,
        /// Bytes that are free.
        available: u64,
        /// The cache.
        path: PathBuf,
    },
    /// A file of the cache cannot be read or written.
    #[error("{}: {action} failed: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// The system's reason.
        source: std::io::Error,
    },
    /// Who listens wants no more. What has come is kept.
    #[error("fetching was stopped; what has come is kept, and the next call goes on with it")]
    Stopped,
}

pumice_types::debug_as_display!(HubError);

fn there(available: &[String]) -> String {
    match available {
        [] => "it has no GGUF file".to_owned(),
        some => format!("its GGUF files have {}: name one as :QUANT", some.join(", ")),
    }
}

fn names(missing: &[String]) -> String {
    const SHOWN: usize = 8;
    let mut text = missing[..missing.len().min(SHOWN)].join(", ");
    if missing.len() > SHOWN {
        text.push_str(&format!(" and {} more", missing.len() - SHOWN));
    }
    format!("{text} {}", if missing.len() == 1 { "is" } else { "are" })
}

/// What names one of several files and no other: its name without the ending.
fn example(matches: &[String]) -> String {
    let first = matches.first().map_or("", |name| super::quant::stem(name));
    first.rsplit('/').next().unwrap_or(first).to_owned()
}
