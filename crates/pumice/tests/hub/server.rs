//! A hub of one's own on 127.0.0.1: the list of a revision's files, resolve with etag, commit and linked etag and
//! length, ranges, and large files on a second host, `localhost` at another port, where addresses are signed. It does
//! wrong what a test asks for, and remembers what it was asked.

use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// The commit of every revision.
pub const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
/// The repository.
pub const REPOSITORY: &str = "maker/tiny";

/// What the server does wrong.
#[derive(Clone, Default)]
pub struct Faults {
    /// A status, and further lines of the header, for paths that contain a text.
    pub status: Option<(&'static str, u16, &'static str)>,
    /// Contents break off after so many bytes of an answer.
    pub cut: Option<usize>,
    /// Where contents break off, the connection stays open.
    pub stalls: bool,
    /// The whole file, whatever range is asked for.
    pub ignores_ranges: bool,
    /// A range that begins at another byte.
    pub wrong_range: bool,
    /// Contents are so many bytes shorter than announced by resolve.
    pub short: usize,
    /// Contents are longer than announced, in chunks without a length.
    pub long: bool,
    /// Another byte in contents.
    pub altered: bool,
    /// The list.
    pub list: Option<String>,
    /// Another header of resolve, in place of those with the same name.
    pub header: Option<(&'static str, &'static str)>,
    /// Where large files are said to be.
    pub location: Option<&'static str>,
}

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Whether it came to the host of large files.
    pub is_second: bool,
    pub method: String,
    pub path: String,
    pub authorization: Option<String>,
    /// The first byte of the range that was asked for.
    pub from: Option<usize>,
    /// Bytes of contents that were sent.
    pub sent: usize,
}

struct Contents {
    bytes: Vec<u8>,
    etag: String,
    is_large: bool,
}

#[derive(Default)]
struct State {
    files: BTreeMap<String, Contents>,
    faults: Faults,
    asked: Vec<Asked>,
}

/// Both hosts.
pub struct Server {
    state: Arc<Mutex<State>>,
    pub port: u16,
}

pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Server {
    /// Starts with these files. Safetensors and GGUF files are large: they have a sha256, and are on the second host.
    pub fn start(files: &[(&str, Vec<u8>)]) -> Server {
        let contents = |(name, bytes): &(&str, Vec<u8>)| {
            let is_large = name.ends_with(".gguf") || name.ends_with(".safetensors");
            let digest = sha256(bytes);
            let etag = if is_large { digest } else { digest[..40].to_owned() };
            ((*name).to_owned(), Contents { bytes: bytes.clone(), etag, is_large })
        };
        let state = State { files: files.iter().map(contents).collect(), ..State::default() };
        let state = Arc::new(Mutex::new(state));
        let listeners = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").expect("a port"));
        let [port, second] = [0, 1].map(|i| listeners[i].local_addr().expect("bound").port());
        for (listener, is_second) in listeners.into_iter().zip([false, true]) {
            let state = Arc::clone(&state);
            thread::spawn(move || {
                for stream in listener.incoming().flatten() {
                    let state = Arc::clone(&state);
                    // A client that goes away early is no failure.
                    thread::spawn(move || _ = answer(stream, &state, is_second, second));
                }
            });
        }
        Server { state, port }
    }

    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub fn set(&self, faults: Faults) {
        self.state.lock().expect("whole").faults = faults;
    }

    /// What was asked since the last call.
    pub fn asked(&self) -> Vec<Asked> {
        std::mem::take(&mut self.state.lock().expect("whole").asked)
    }
}

/// Answers one request, and closes the connection.
fn answer(stream: TcpStream, state: &Mutex<State>, is_second: bool, second: u16) -> std::io::Result<()> {
    let mut lines = BufReader::new(&stream).lines();
    let first = lines.next().unwrap_or(Ok(String::new()))?;
    let mut words = first.split(' ').map(str::to_owned);
    let mut asked = Asked {
        is_second,
        method: words.next().unwrap_or_default(),
        path: words.next().unwrap_or_default(),
        authorization: None,
        from: None,
        sent: 0,
    };
    for line in lines {
        let line = line?;
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(": ").unwrap_or((&line, ""));
        match name.to_ascii_lowercase().as_str() {
            "authorization" => asked.authorization = Some(value.to_owned()),
            "range" => {
                asked.from = value.strip_prefix("bytes=").and_then(|v| v.trim_end_matches('-').parse().ok())
            }
            _ => {}
        }
    }
    let (head, body) = {
        let state = state.lock().expect("whole");
        if is_second { contents(&state, &asked) } else { resolved(&state, &asked, second) }
    };
    let is_head = asked.method == "HEAD";
    let has_contents = !is_head && (is_second || head.contains("x-repo-commit")) && !head.starts_with("302");
    asked.sent = if has_contents { body.len() } else { 0 };
    state.lock().expect("whole").asked.push(asked);
    (&stream).write_all(format!("HTTP/1.1 {head}connection: close\r\n\r\n").as_bytes())?;
    if !is_head {
        (&stream).write_all(&body)?;
    }
    let stalls = state.lock().expect("whole").faults.stalls && is_second;
    if !stalls {
        stream.shutdown(Shutdown::Write)?;
    }
    // Bytes that are left unread would reset the connection before its last bytes are read.
    (&stream).take(1 << 16).read_to_end(&mut Vec::new())?;
    Ok(())
}

/// A status that a test asks for.
fn refusal(faults: &Faults, asked: &Asked) -> Option<(String, Vec<u8>)> {
    let (_, status, header) = faults.status.filter(|(part, ..)| asked.path.contains(part))?;
    Some((format!("{status} No\r\ncontent-length: 2\r\n{header}"), b"no".to_vec()))
}

/// The answer of the endpoint: status and header, body.
fn resolved(state: &State, asked: &Asked, second: u16) -> (String, Vec<u8>) {
    let faults = &state.faults;
    if let Some(answer) = refusal(faults, asked) {
        return answer;
    }
    if asked.path.starts_with(&format!("/api/models/{REPOSITORY}/revision/")) {
        let siblings: Vec<_> =
            state.files.keys().map(|name| serde_json::json!({ "rfilename": name })).collect();
        let list = serde_json::json!({ "id": REPOSITORY, "sha": COMMIT, "siblings": siblings });
        let body = faults.list.clone().unwrap_or_else(|| list.to_string()).into_bytes();
        return (format!("200 OK\r\ncontent-length: {}\r\n", body.len()), body);
    }
    // Of every revision there is one commit.
    let name =
        asked.path.strip_prefix(&format!("/{REPOSITORY}/resolve/")).and_then(|rest| rest.split_once('/'));
    let Some(file) = name.and_then(|(_, name)| state.files.get(name)) else {
        return ("404 Not Found\r\ncontent-length: 0\r\n".to_owned(), Vec::new());
    };
    let mut headers = vec![("x-repo-commit", COMMIT.to_owned())];
    if file.is_large {
        headers.push(("x-linked-etag", format!("\"{}\"", file.etag)));
        headers.push(("x-linked-size", file.bytes.len().to_string()));
        // A redirect has an etag and a length of its own.
        headers.push(("etag", "\"other\"".to_owned()));
    } else {
        headers.push(("etag", format!("W/\"{}\"", file.etag)));
    }
    if let Some((name, value)) = faults.header {
        headers.retain(|(own, _)| *own != name);
        headers.push((name, value.to_owned()));
    }
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    if !file.is_large {
        let (head, body) = part_of(faults, asked, &file.bytes);
        return (format!("{head}{headers}"), body);
    }
    let place = format!("http://localhost:{second}/{}?signature=secret", file.etag);
    let location = faults.location.map_or(place, str::to_owned);
    (format!("302 Found\r\n{headers}location: {location}\r\ncontent-length: 4\r\n"), b"away".to_vec())
}

/// The answer of the second host.
fn contents(state: &State, asked: &Asked) -> (String, Vec<u8>) {
    if let Some(answer) = refusal(&state.faults, asked) {
        return answer;
    }
    let etag = asked.path.trim_start_matches('/').split('?').next().unwrap_or_default();
    match state.files.values().find(|file| file.etag == etag) {
        Some(file) => part_of(&state.faults, asked, &file.bytes),
        None => ("404 Not Found\r\ncontent-length: 0\r\n".to_owned(), Vec::new()),
    }
}

/// The bytes that were asked for, with what goes wrong.
fn part_of(faults: &Faults, asked: &Asked, whole: &[u8]) -> (String, Vec<u8>) {
    // What resolve says of a file is right: only contents go wrong.
    let (faults, none) = (if asked.method == "HEAD" { None } else { Some(faults) }, Faults::default());
    let faults = faults.unwrap_or(&none);
    let mut bytes = whole[..whole.len() - faults.short.min(whole.len())].to_vec();
    if faults.altered
        && let Some(byte) = bytes.last_mut()
    {
        *byte ^= 1;
    }
    if faults.long {
        bytes.extend_from_slice(b"more");
        let chunk = [format!("{:x}\r\n", bytes.len()).as_bytes(), &bytes, b"\r\n0\r\n\r\n"].concat();
        return ("200 OK\r\ntransfer-encoding: chunked\r\n".to_owned(), chunk);
    }
    let from = asked.from.filter(|&from| !faults.ignores_ranges && from < bytes.len());
    let total = bytes.len();
    let mut body = bytes.split_off(from.unwrap_or(0));
    let length = body.len();
    body.truncate(faults.cut.unwrap_or(usize::MAX));
    let head = match from {
        Some(from) => {
            let from = if faults.wrong_range { from + 1 } else { from };
            format!(
                "206 Partial Content\r\ncontent-range: bytes {from}-{}/{total}\r\ncontent-length: {length}\r\n",
                total - 1
            )
        }
        None => format!("200 OK\r\ncontent-length: {length}\r\n"),
    };
    (head, body)
}
