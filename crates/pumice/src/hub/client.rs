//! HTTP with the hub: requests, redirects, statuses. In: addresses. Out: answers with a status of success, or why
//! not. Never here: a file.
//!
//! Redirects are followed here and not by `ureq`, because the token goes to the endpoint's own scheme, host and port
//! and to no other, and because what the hub says of a file (etag, length) stands in the answer that leads away.
//! Addresses that a server gives are signed, so messages have names of files instead.

use super::error::HubError;
use super::options::{Options, without_user};
use std::time::Duration;
use ureq::http::header::{
    ACCEPT_ENCODING, AUTHORIZATION, HeaderMap, HeaderValue, LOCATION, RANGE, RETRY_AFTER,
};
use ureq::http::{Response, Uri};
use ureq::{Agent, Body};

/// An answer.
pub(super) type Answer = Response<Body>;

/// Redirects of one request.
const MOST_REDIRECTS: usize = 10;
/// A connection that is silent for so long is given up.
const SILENCE: Duration = Duration::from_secs(60);
/// Nobody answers within so long.
const CONNECT: Duration = Duration::from_secs(30);

/// A server that tokens may go to: scheme, host, port.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Origin {
    is_secure: bool,
    host: String,
    port: u16,
}

impl Origin {
    fn of(uri: &Uri) -> Option<Origin> {
        let is_secure = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return None,
        };
        let authority = uri.authority().filter(|a| !a.as_str().contains('@'))?;
        let port = authority.port_u16().unwrap_or(if is_secure { 443 } else { 80 });
        Some(Origin { is_secure, host: authority.host().to_ascii_lowercase(), port })
    }
}

/// What is asked for, for messages.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    /// `ORG/REPO`, with a file or a revision.
    pub what: &'a str,
    /// `ORG/REPO`.
    pub repository: &'a str,
}

impl Asked<'_> {
    /// The server's answer is not what the hub says.
    pub fn unusable(&self, problem: impl Into<String>) -> HubError {
        HubError::Answer { what: self.what.to_owned(), problem: problem.into() }
    }

    /// Nobody answered, or the answer broke off.
    pub fn broken(&self, reason: impl Into<String>) -> HubError {
        HubError::Connection { what: self.what.to_owned(), reason: reason.into() }
    }
}

/// Connections to the hub.
pub(super) struct Client {
    agent: Agent,
    endpoint: String,
    own: Origin,
    token: Option<HeaderValue>,
}

impl Client {
    /// Connects to nothing yet.
    pub fn new(options: &Options) -> Result<Client, HubError> {
        let wrong = || HubError::Endpoint { endpoint: without_user(&options.endpoint) };
        let uri: Uri = options.endpoint.parse().map_err(|_| wrong())?;
        let own = Origin::of(&uri).filter(|_| uri.query().is_none()).ok_or_else(wrong)?;
        let token = options.token.as_ref().map(|token| {
            let mut value = HeaderValue::try_from(format!("Bearer {token}")).map_err(|_| HubError::Token)?;
            value.set_sensitive(true);
            Ok(value)
        });
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .proxy(None)
            .user_agent(concat!("pumice/", env!("CARGO_PKG_VERSION")))
            .timeout_connect(Some(CONNECT))
            .timeout_recv_response(Some(SILENCE))
            .timeout_per_read(Some(SILENCE))
            .build()
            .new_agent();
        Ok(Client { agent, endpoint: options.endpoint.clone(), own, token: token.transpose()? })
    }

    /// The list of a revision's files. A revision's slashes are no separators there.
    pub fn list_url(&self, repository: &str, revision: &str) -> String {
        let revision = escaped(revision).replace('/', "%2F");
        format!("{}/api/models/{repository}/revision/{revision}", self.endpoint)
    }

    /// A file of a commit.
    pub fn file_url(&self, repository: &str, commit: &str, name: &str) -> String {
        format!("{}/{repository}/resolve/{commit}/{}", self.endpoint, escaped(name))
    }

    /// Where people look at a model.
    pub fn page(&self, repository: &str) -> String {
        format!("{}/{repository}", self.endpoint)
    }

    /// What the endpoint says of a file, wherever the file itself is.
    pub fn head(&self, url: &str, asked: Asked<'_>) -> Result<Answer, HubError> {
        let mut uri = parsed(url, asked)?;
        for _ in 0..MOST_REDIRECTS {
            let answer = self.send(&uri, true, None, asked)?;
            match self.redirect(&uri, &answer, asked)? {
                Some(next) if Origin::of(&next).as_ref() == Some(&self.own) => uri = next,
                Some(_) => return Ok(answer),
                None => return self.checked(&uri, answer, asked),
            }
        }
        Err(asked.unusable("it leads in circles"))
    }

    /// Contents, from byte `from` on where that is not 0.
    pub fn get(&self, url: &str, from: u64, asked: Asked<'_>) -> Result<Answer, HubError> {
        let mut uri = parsed(url, asked)?;
        for _ in 0..MOST_REDIRECTS {
            let range = (from > 0).then(|| format!("bytes={from}-"));
            let answer = self.send(&uri, false, range, asked)?;
            match self.redirect(&uri, &answer, asked)? {
                Some(next) => uri = next,
                None => return self.checked(&uri, answer, asked),
            }
        }
        Err(asked.unusable("it leads in circles"))
    }

    fn send(
        &self,
        uri: &Uri,
        is_head: bool,
        range: Option<String>,
        asked: Asked<'_>,
    ) -> Result<Answer, HubError> {
        let request = if is_head { self.agent.head(uri) } else { self.agent.get(uri) };
        // Lengths and ranges are of the file as it is.
        let mut request = request.header(ACCEPT_ENCODING, "identity");
        if let Some(token) = self.token.as_ref().filter(|_| Origin::of(uri).as_ref() == Some(&self.own)) {
            request = request.header(AUTHORIZATION, token);
        }
        if let Some(range) = range {
            request = request.header(RANGE, range);
        }
        request.call().map_err(|e| asked.broken(reason(&e)))
    }

    /// Where an answer leads, if it leads away.
    fn redirect(&self, from: &Uri, answer: &Answer, asked: Asked<'_>) -> Result<Option<Uri>, HubError> {
        if !matches!(answer.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
            return Ok(None);
        }
        let wrong = || asked.unusable("it leads to an address that is none");
        let location = header(answer.headers(), LOCATION.as_str()).ok_or_else(wrong)?;
        let scheme = from.scheme_str().unwrap_or_default();
        let next = match location.strip_prefix("//") {
            Some(rest) => format!("{scheme}://{rest}"),
            None if location.starts_with('/') => {
                format!("{scheme}://{}{location}", from.authority().map_or("", |a| a.as_str()))
            }
            None => location.to_owned(),
        };
        let next: Uri = next.parse().map_err(|_| wrong())?;
        let origin = Origin::of(&next).ok_or_else(wrong)?;
        if self.own.is_secure && !origin.is_secure {
            return Err(asked.unusable("it leads from https to http"));
        }
        Ok(Some(next))
    }

    fn checked(&self, uri: &Uri, answer: Answer, asked: Asked<'_>) -> Result<Answer, HubError> {
        let what = asked.what.to_owned();
        let is_gated = header(answer.headers(), "x-error-code") == Some("GatedRepo");
        match answer.status().as_u16() {
            200 | 206 => Ok(answer),
            // Of names, terms and tokens only the endpoint knows; elsewhere an address has run out.
            status if Origin::of(uri).as_ref() != Some(&self.own) => Err(HubError::Status { what, status }),
            status if status == 403 || (status == 401 && is_gated) => {
                Err(HubError::Forbidden { what, status, page: self.page(asked.repository) })
            }
            401 => Err(HubError::Unauthorized { what }),
            404 => Err(HubError::NotFound { what }),
            429 => {
                let seconds = header(answer.headers(), RETRY_AFTER.as_str());
                Err(HubError::TooMany { what, retry_after: seconds.and_then(|s| s.parse().ok()) })
            }
            status => Err(HubError::Status { what, status }),
        }
    }
}

fn parsed(url: &str, asked: Asked<'_>) -> Result<Uri, HubError> {
    url.parse().map_err(|_| asked.unusable("its address cannot be written"))
}

/// A header as text, if it is there and text.
pub(super) fn header<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim)
}

/// Everything but letters, digits and `._-~/` as `%XX`. A slash stays: it separates parts of names.
fn escaped(part: &str) -> String {
    let mut text = String::new();
    for byte in part.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'_' | b'-' | b'~' | b'/' => {
                text.push(byte.into())
            }
            _ => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}

/// Why a connection failed, without its address.
fn reason(error: &ureq::Error) -> String {
    match error {
        ureq::Error::Io(e) => e.to_string(),
        ureq::Error::Timeout(_) => "nothing came for a minute".to_owned(),
        ureq::Error::HostNotFound => "the host is not known".to_owned(),
        ureq::Error::Rustls(e) => e.to_string(),
        ureq::Error::Tls(e) => (*e).to_owned(),
        ureq::Error::Protocol(_) => "the answer is no HTTP".to_owned(),
        ureq::Error::LargeResponseHeader(..) => "the answer's header is too long".to_owned(),
        _ => "no connection".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(text: &str) -> Option<Origin> {
        Origin::of(&text.parse().expect("an address"))
    }

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        assert_eq!(origin("https://H.co/x"), origin("https://h.co:443/y?z"));
        for (one, other) in
            [("http://h", "https://h"), ("http://h:1", "http://h:2"), ("http://h", "http://h.h")]
        {
            assert_ne!(origin(one), origin(other), "{one}");
        }
        for none in ["ftp://h", "/x", "https://me:secret@h/"] {
            assert_eq!(origin(none), None, "{none}");
        }
    }

    #[test]
    fn endpoints_and_tokens_are_looked_at_first() {
        for wrong in ["", "huggingface.co", "file:///x", "http://", "http://a b", "https://me:secret@h"] {
            let options = Options::new("x").endpoint(wrong);
            let told = Client::new(&options).err().expect("refused");
            assert!(matches!(told, HubError::Endpoint { .. }), "{wrong}");
            assert!(!told.to_string().contains("secret"), "{told}");
        }
        let options = Options::new("x").token(Some("hf_\nsecret".to_owned()));
        let told = Client::new(&options).err().expect("refused").to_string();
        assert!(!told.contains("secret"), "{told}");
    }

    #[test]
    fn redirects_stay_secure() {
        let client = Client::new(&Options::new("x")).expect("an endpoint");
        let asked = Asked { what: "o/r/x", repository: "o/r" };
        let leads = |location: &str| {
            let answer = Response::builder().status(302).header(LOCATION, location);
            let answer = answer.body(Body::builder().data("")).expect("an answer");
            let next =
                client.redirect(&"https://huggingface.co/o/r?x".parse().expect("an address"), &answer, asked);
            next.map(|next| next.map(|uri| uri.to_string()))
        };
        for (location, to) in
            [("/a?b", "https://huggingface.co/a?b"), ("//h/a", "https://h/a"), ("https://h/", "https://h/")]
        {
            assert_eq!(leads(location).expect("leads").as_deref(), Some(to));
        }
        for location in ["http://h/", "http://huggingface.co/a", "a", ""] {
            assert!(matches!(leads(location), Err(HubError::Answer { .. })), "{location}");
        }
    }

    #[test]
    fn names_become_parts_of_an_address() {
        let client = Client::new(&Options::new("x").endpoint("http://h/hub/")).expect("an endpoint");
        let url = client.file_url("o/r", "01", "a b/é?#%.json");
        assert_eq!(url, "http://h/hub/o/r/resolve/01/a%20b/%C3%A9%3F%23%25.json");
        assert_eq!(client.list_url("o/r", "refs/pr/1"), "http://h/hub/api/models/o/r/revision/refs%2Fpr%2F1");
    }
}
