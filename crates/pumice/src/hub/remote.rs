//! What the hub says of a revision and of a file. In: names, answers that are not trusted. Out: a commit with the
//! names of its files; of a file etag and length. Never here: contents.

use super::client::{Answer, Asked, Client, header};
use super::error::HubError;
use super::file_name::{check_inside, is_commit, is_hex};
use crate::hub_name::ModelName;
use serde::Deserialize;

/// Bytes of a list. Of the largest repositories it has some.
const LIST_LIMIT: u64 = 16 << 20;
/// Names of contents.
const LONGEST_ETAG: usize = 128;

/// A revision's files.
#[derive(Debug)]
pub(super) struct Listing {
    pub commit: String,
    pub names: Vec<String>,
}

/// A file of a commit.
#[derive(Debug)]
pub(super) struct Remote {
    pub name: String,
    pub url: String,
    /// The name of its contents, safe as a file's name.
    pub etag: String,
    pub bytes: u64,
}

impl Remote {
    /// The sha256 of the contents, where the etag is one.
    pub fn sha256(&self) -> Option<&str> {
        is_hex(&self.etag, 64).then_some(&self.etag)
    }
}

#[derive(Deserialize)]
struct Reply {
    sha: String,
    #[serde(default)]
    siblings: Vec<Sibling>,
}

#[derive(Deserialize)]
struct Sibling {
    rfilename: String,
}

/// Asks for the commit of a revision and the names of its files.
///
/// # Errors
/// Everything of a request; an answer that is no list; [`HubError::FileName`] for a name that leads out of the
/// folder.
pub(super) fn list(client: &Client, name: &ModelName) -> Result<Listing, HubError> {
    let what = format!("{}@{}", name.repository(), name.revision());
    let asked = Asked { what: &what, repository: name.repository() };
    let mut answer = client.get(&client.list_url(name.repository(), name.revision()), 0, asked)?;
    let body = answer.body_mut().with_config().limit(LIST_LIMIT).read_to_vec();
    let body = body.map_err(|e| match e {
        ureq::Error::BodyExceedsLimit(_) => {
            asked.unusable(format!("its list has more than {LIST_LIMIT} bytes"))
        }
        _ => asked.broken("the list of files broke off"),
    })?;
    let reply: Reply =
        serde_json::from_slice(&body).map_err(|_| asked.unusable("it is no list of a model's files"))?;
    if !is_commit(&reply.sha) {
        return Err(asked.unusable("it names no commit"));
    }
    if is_commit(name.revision()) && name.revision() != reply.sha {
        return Err(asked.unusable("it is of another commit"));
    }
    let mut names: Vec<String> = reply.siblings.into_iter().map(|sibling| sibling.rfilename).collect();
    names.iter().try_for_each(|file| check_inside(name.repository(), file))?;
    names.sort();
    names.dedup();
    Ok(Listing { commit: reply.sha, names })
}

/// Asks for a file's etag and length.
///
/// # Errors
/// Everything of a request; an answer without them, or of another commit.
pub(super) fn file(client: &Client, repository: &str, commit: &str, name: &str) -> Result<Remote, HubError> {
    let (what, url) = (format!("{repository}/{name}"), client.file_url(repository, commit, name));
    let asked = Asked { what: &what, repository };
    let answer = client.head(&url, asked)?;
    if header(answer.headers(), "x-repo-commit") != Some(commit) {
        return Err(asked.unusable("it is not of the commit that was asked for"));
    }
    let etag = etag(&answer).ok_or_else(|| asked.unusable("it has no etag that names contents"))?;
    let bytes = length(&answer).ok_or_else(|| asked.unusable("it has no length"))?;
    Ok(Remote { name: name.to_owned(), url, etag, bytes })
}

/// The contents' etag: of a large file the linked one, without quotes and the mark of a weak one.
fn etag(answer: &Answer) -> Option<String> {
    let headers = answer.headers();
    let text = header(headers, "x-linked-etag").or_else(|| header(headers, "etag"))?;
    let text = text.trim_start_matches("W/").trim_matches('"');
    let is_plain = text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    (!text.is_empty() && text.len() <= LONGEST_ETAG && is_plain).then(|| text.to_owned())
}

/// The contents' length. That of an answer that leads away is the answer's own.
fn length(answer: &Answer) -> Option<u64> {
    let headers = answer.headers();
    let own = || header(headers, "content-length").filter(|_| answer.status().is_success());
    header(headers, "x-linked-size").or_else(own)?.parse().ok()
}
