//! What a server does wrong is a typed error that says what to do, and nothing of it is taken later.

use super::server::{COMMIT, Faults, Server};
use super::{TOKEN, bytes, cache, fetch, folder, options};
use pumice::hub::{HubError, Options};
use std::fs;
use std::path::Path;

/// The error of a call, after which the cache has nothing to give.
fn refused(name: &str, faults: Faults) -> HubError {
    let (server, cache) = (Server::start(&folder()), cache(name));
    server.set(faults);
    let options = options(&server, &cache);
    let error = fetch("maker/tiny", &options).expect_err(name);
    check_nothing_is_taken(&server, options, name);
    let told = error.to_string();
    for secret in [TOKEN, "signature", "secret"] {
        assert!(!told.contains(secret), "{told}");
    }
    error
}

fn check_nothing_is_taken(server: &Server, options: Options, name: &str) {
    server.asked();
    let later = fetch("maker/tiny", &options.offline(true)).expect_err(name);
    assert!(matches!(later, HubError::Missing { .. }), "{name}: {later}");
    assert!(server.asked().is_empty());
}

#[test]
fn statuses_say_what_to_do() {
    let of = |path, status, header| {
        let name = format!("status-{status}-{}", path == "resolve");
        refused(&name, Faults { status: Some((path, status, header)), ..Faults::default() })
    };
    for path in ["/api/", "resolve"] {
        let told = of(path, 401, "");
        assert!(
            matches!(&told, HubError::Unauthorized { .. }) && told.to_string().contains("HF_TOKEN"),
            "{told}"
        );
        let told = of(path, 403, "x-error-code: GatedRepo\r\n");
        let page = told.to_string().contains("/maker/tiny in a browser");
        assert!(matches!(&told, HubError::Forbidden { status: 403, .. }) && page, "{told}");
        let told = of(path, 404, "x-error-code: RepoNotFound\r\n");
        assert!(
            matches!(&told, HubError::NotFound { .. }) && told.to_string().contains("look at the name"),
            "{told}"
        );
        let told = of(path, 429, "retry-after: 77\r\n");
        assert!(matches!(&told, HubError::TooMany { retry_after: Some(77), .. }), "{told}");
        assert!(told.to_string().contains("wait 77 seconds"), "{told}");
        let told = of(path, 500, "");
        assert!(matches!(&told, HubError::Status { status: 500, .. }), "{told}");
    }
    // An address that has run out is no matter of terms.
    let told = of("signature", 403, "");
    assert!(matches!(&told, HubError::Status { status: 403, .. }), "{told}");
    // A gated model without a token.
    let told = of("/api", 401, "x-error-code: GatedRepo\r\n");
    assert!(matches!(&told, HubError::Forbidden { status: 401, .. }), "{told}");
    let told = of("/ap", 429, "retry-after: soon\r\n");
    assert!(matches!(&told, HubError::TooMany { retry_after: None, .. }), "{told}");
}

#[test]
fn contents_that_are_not_what_was_announced_are_refused() {
    let told = refused("short", Faults { short: 10, ..Faults::default() });
    assert!(matches!(&told, HubError::Length { expected: 3, got: 0, .. }), "{told}");
    let told = refused("long", Faults { long: true, ..Faults::default() });
    assert!(matches!(&told, HubError::Length { .. }), "{told}");
    let told = refused("altered", Faults { altered: true, ..Faults::default() });
    assert!(matches!(&told, HubError::Hash { .. }), "{told}");
    let blobs = super::cache("altered").join("models--maker--tiny/blobs");
    assert!(!blobs.join(super::server::sha256(&bytes(50_000, 2))).exists());
}

/// hf-hub appends such an answer to the part.
#[test]
fn an_answer_to_another_range_is_refused_and_the_part_kept() {
    for (name, faults) in [
        ("whole", Faults { ignores_ranges: true, ..Faults::default() }),
        ("elsewhere", Faults { wrong_range: true, ..Faults::default() }),
    ] {
        let (server, cache) = (Server::start(&[("m-q8_0.gguf", bytes(5000, 1))]), cache(name));
        let options = options(&server, &cache);
        server.set(Faults { cut: Some(2000), ..Faults::default() });
        fetch("maker/tiny", &options).expect_err("cut");
        server.set(faults);
        let error = fetch("maker/tiny", &options).expect_err(name);
        let HubError::Range { part, .. } = &error else { panic!("{name}: {error}") };
        assert_eq!(fs::read(part).expect("kept"), bytes(5000, 1)[..2000], "{name}");
        check_nothing_is_taken(&server, options.clone(), name);
        // What the message says to do helps.
        fs::remove_file(part).expect("there");
        server.set(Faults { ignores_ranges: true, ..Faults::default() });
        fetch("maker/tiny", &options).expect("fetched");
    }
}

#[test]
fn names_that_lead_out_are_refused() {
    for (i, name) in
        ["../x", "/etc/x", "a/../../x.gguf", "C:\\\\x", "a\\\\x", "", "x\\u0000.gguf"].into_iter().enumerate()
    {
        let list = format!(
            r#"{{"sha":"{COMMIT}","siblings":[{{"rfilename":"config.json"}},{{"rfilename":"{name}"}}]}}"#
        );
        let told = refused(&format!("name-{i}"), Faults { list: Some(list), ..Faults::default() });
        assert!(matches!(&told, HubError::FileName { .. }), "{name}: {told}");
        assert!(!told.to_string().contains('\0'), "{told}");
    }
    // What is not taken may be called as it likes, and what is taken must be storable everywhere.
    let list = |name: &str| format!(r#"{{"sha":"{COMMIT}","siblings":[{{"rfilename":"{name}"}}]}}"#);
    let told = refused("device", Faults { list: Some(list("NUL.Q8_0.gguf")), ..Faults::default() });
    assert!(matches!(&told, HubError::FileName { .. }), "{told}");
}

#[test]
fn a_list_that_is_none_is_refused() {
    let deep = format!(r#"{{"sha":{}"#, "[".repeat(100_000));
    let huge = format!(r#"{{"sha":"{COMMIT}","siblings":[],"x":"{}"}}"#, "x".repeat(17 << 20));
    let other = r#"{"sha":"../../x","siblings":[]}"#.to_owned();
    let lists = ["", "{}", "[]", "\u{1}", r#"{"sha":7}"#, &deep, &huge, &other];
    for (i, list) in lists.into_iter().enumerate() {
        let told = refused(&format!("list-{i}"), Faults { list: Some(list.to_owned()), ..Faults::default() });
        assert!(matches!(&told, HubError::Answer { .. }), "{i}: {told}");
    }
    let empty = format!(r#"{{"sha":"{COMMIT}"}}"#);
    let told = refused("list-empty", Faults { list: Some(empty), ..Faults::default() });
    assert!(matches!(&told, HubError::NoModel { .. }), "{told}");
}

#[test]
fn what_resolve_says_is_looked_at() {
    let headers = [
        ("x-repo-commit", "other"),
        ("x-linked-etag", "\"../x\""),
        ("x-linked-etag", "\"\""),
        ("x-linked-etag", "\"a/b\""),
        ("x-linked-size", "-1"),
        ("x-linked-size", "many"),
        ("x-linked-size", "99999999999999999999999"),
    ];
    for (i, header) in headers.into_iter().enumerate() {
        let told = refused(&format!("header-{i}"), Faults { header: Some(header), ..Faults::default() });
        assert!(matches!(&told, HubError::Answer { .. }), "{header:?}: {told}");
    }
    for (i, location) in
        ["", "nowhere", "ftp://x/y", "http://", "http://me:secret@localhost/"].into_iter().enumerate()
    {
        let told =
            refused(&format!("location-{i}"), Faults { location: Some(location), ..Faults::default() });
        assert!(matches!(&told, HubError::Answer { .. }), "{location}: {told}");
    }
}

/// A list of another commit than the one that was named.
#[test]
fn a_commit_is_what_was_asked_for() {
    let (server, cache) = (Server::start(&folder()), cache("commit"));
    let other = format!("maker/tiny@{}", "0".repeat(40));
    let told = fetch(&other, &options(&server, &cache)).expect_err("another commit");
    assert!(
        matches!(&told, HubError::Answer { .. }) && told.to_string().contains("another commit"),
        "{told}"
    );
}

/// More bytes than any disk has: nothing is asked for.
#[test]
fn room_on_disk_is_looked_at_before() {
    let header = Some(("x-linked-size", "9000000000000000000"));
    let (server, cache) = (Server::start(&folder()), cache("room"));
    server.set(Faults { header, ..Faults::default() });
    let error = fetch("maker/tiny", &options(&server, &cache)).expect_err("too large");
    let HubError::Room { needed, path, .. } = &error else { panic!("{error}") };
    assert!(*needed >= 9_000_000_000_000_000_000 && path == &cache, "{error}");
    assert!(error.to_string().contains("HF_HUB_CACHE"), "{error}");
    assert!(server.asked().iter().all(|asked| asked.sent == 0));
}

#[test]
fn nobody_answers() {
    let told = |endpoint: &str| {
        let options = Options::new(cache("nobody")).endpoint(endpoint);
        fetch("maker/tiny", &options).expect_err("nobody")
    };
    let closed = std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("bound");
    for endpoint in [format!("http://{closed}"), "http://nobody.invalid".to_owned()] {
        let error = told(&endpoint);
        assert!(
            matches!(&error, HubError::Connection { .. }) && error.to_string().contains("HF_HUB_OFFLINE"),
            "{error}"
        );
    }
}

/// An index that names what the repository has not.
#[test]
fn shards_that_an_index_names_must_be_there() {
    let index =
        br#"{"weight_map":{"a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"}}"#;
    let files = [
        ("config.json", b"{}".to_vec()),
        ("model-00001-of-00002.safetensors", bytes(10, 1)),
        ("model.safetensors.index.json", index.to_vec()),
    ];
    let (server, cache) = (Server::start(&files), cache("index"));
    let options = options(&server, &cache);
    let told = fetch("maker/tiny", &options).expect_err("missing").to_string();
    assert!(told.contains("model-00002-of-00002.safetensors is not in the repository"), "{told}");
    check_nothing_is_taken(&server, options, "index");
    let server = Server::start(&[("m-q8_0-00001-of-00002.gguf", bytes(10, 1))]);
    let options = Options::new(&cache).endpoint(server.endpoint());
    let told = fetch("maker/tiny", &options).expect_err("missing").to_string();
    assert!(told.contains("m-q8_0-00002-of-00002.gguf is not in the repository"), "{told}");
    assert!(server.asked().iter().all(|asked| asked.method != "HEAD"));
}

/// A link in the way of a name's folder is not followed.
#[cfg(unix)]
#[test]
fn a_link_in_a_snapshot_is_not_written_through() {
    let (server, cache) = (Server::start(&folder()), cache("links"));
    let snapshot = cache.join("models--maker--tiny/snapshots").join(COMMIT);
    fs::create_dir_all(&snapshot).expect("a folder");
    let outside = cache.join("outside");
    fs::create_dir_all(&outside).expect("a folder");
    std::os::unix::fs::symlink(&outside, snapshot.join("1_Pooling")).expect("a link");
    let error = fetch("maker/tiny", &options(&server, &cache)).expect_err("a link");
    assert!(matches!(&error, HubError::Io { path, .. } if path.ends_with("1_Pooling")), "{error}");
    assert_eq!(fs::read_dir(outside).expect("there").count(), 0);
}

/// A ref that is no commit would be a path.
#[test]
fn a_ref_that_is_a_path_is_none() {
    let cache = cache("ref");
    let refs = cache.join("models--maker--tiny/refs");
    fs::create_dir_all(&refs).expect("a folder");
    fs::write(refs.join("main"), "../../..").expect("written");
    let error = fetch("maker/tiny", &Options::new(&cache).offline(true)).expect_err("none");
    assert!(matches!(&error, HubError::Missing { missing, .. } if missing[0] == "revision main"), "{error}");
    assert!(Path::new(&refs).exists());
}
