//! Models of a hub that each test starts on 127.0.0.1: fetched whole and in pieces, refused with what to do, found
//! again without a server, and run.

mod commands;
mod concurrent;
mod pieces;
mod python;
mod refused;
mod server;

use pumice::hub::{self, Event, Fetched, Form, HubError, ModelName, Options};
use server::Server;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// What no message has.
const TOKEN: &str = "hf_secret";

/// An empty cache of a test's own.
fn cache(name: &str) -> PathBuf {
    let folder =
        PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("hub-{}", std::process::id())).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn options(server: &Server, cache: &Path) -> Options {
    Options::new(cache).endpoint(server.endpoint()).token(Some(TOKEN.to_owned()))
}

fn named(name: &str) -> ModelName {
    name.parse().expect("a name")
}

fn fetch(name: &str, options: &Options) -> Result<Fetched, HubError> {
    hub::fetch(&named(name), Form::Any, options, &mut |_| ControlFlow::Continue(()))
}

/// Bytes that repeat nothing, from a seed.
fn bytes(count: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(2).wrapping_add(1);
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..count).map(|_| next()).collect()
}

/// The files of a folder, as far as the hub's part knows them.
fn folder() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("config.json", b"{}".to_vec()),
        ("tokenizer.json", bytes(3000, 1)),
        ("1_Pooling/config.json", b"{ }".to_vec()),
        ("model.safetensors", bytes(50_000, 2)),
        ("pytorch_model.bin", bytes(100, 3)),
        ("run.py", b"import os".to_vec()),
    ]
}

#[test]
fn a_folder_is_fetched_once_and_found_again() {
    let (server, cache) = (Server::start(&folder()), cache("folder"));
    let options = options(&server, &cache);
    let mut heard = Vec::new();
    let fetched = hub::fetch(&named("maker/tiny"), Form::Any, &options, &mut |event| {
        if let Event::Bytes { done, of, .. } = event {
            heard.push((done, of));
        }
        ControlFlow::Continue(())
    });
    let fetched = fetched.expect("fetched");
    assert_eq!(fetched.commit, server::COMMIT);
    assert_eq!(
        fetched.files,
        ["1_Pooling/config.json", "config.json", "tokenizer.json", "model.safetensors"]
    );
    for (name, contents) in folder().into_iter().take(4) {
        assert_eq!(fs::read(fetched.path.join(name)).expect(name), contents, "{name}");
    }
    let sum = 2 + 3000 + 3 + 50_000;
    assert!(
        heard.is_sorted() && heard.iter().all(|&(_, of)| of == sum) && heard.last() == Some(&(sum, sum)),
        "{heard:?}"
    );
    let asked = server.asked();
    assert!(!asked.iter().any(|a| a.path.contains("pytorch_model") || a.path.contains("run.py")));
    // The list is asked for again, and nothing else.
    assert_eq!(fetch("maker/tiny", &options).expect("found"), fetched);
    assert_eq!(server.asked().len(), 1);
    let offline = options.offline(true);
    assert_eq!(fetch("maker/tiny", &offline).expect("found"), fetched);
    assert_eq!(fetch(&format!("maker/tiny@{}", server::COMMIT), &offline).expect("found"), fetched);
    assert!(server.asked().is_empty(), "offline nothing is connected to");
}

/// The token goes to the endpoint's port alone: `localhost` at another one is another host.
#[test]
fn the_second_host_never_sees_the_token() {
    let (server, cache) = (Server::start(&folder()), cache("token"));
    fetch("maker/tiny", &options(&server, &cache)).expect("fetched");
    let (second, first): (Vec<_>, Vec<_>) = server.asked().into_iter().partition(|asked| asked.is_second);
    assert_eq!(second.len(), 1);
    assert!(second.iter().all(|asked| asked.authorization.is_none()), "{second:?}");
    let bearer = format!("Bearer {TOKEN}");
    assert!(first.iter().all(|asked| asked.authorization.as_deref() == Some(&bearer)), "{first:?}");
}

#[cfg(unix)]
#[test]
fn the_cache_is_laid_out_as_pythons() {
    let (server, cache) = (Server::start(&folder()), cache("layout"));
    fetch("maker/tiny@v1", &options(&server, &cache)).expect("fetched");
    let repository = cache.join("models--maker--tiny");
    assert_eq!(fs::read_to_string(repository.join("refs/v1")).expect("a ref"), server::COMMIT);
    let snapshot = repository.join("snapshots").join(server::COMMIT);
    let weights = server::sha256(&bytes(50_000, 2));
    let link = |name: &str| fs::read_link(snapshot.join(name)).expect("a link");
    assert_eq!(link("model.safetensors"), Path::new("../../blobs").join(&weights));
    let pooling = &server::sha256(b"{ }")[..40];
    assert_eq!(link("1_Pooling/config.json"), Path::new("../../../blobs").join(pooling));
    let blobs: Vec<_> = fs::read_dir(repository.join("blobs")).expect("there").flatten().collect();
    assert_eq!(blobs.len(), 4, "no part is left: {blobs:?}");
}

#[test]
fn a_gguf_is_taken_by_its_quant_and_its_shards_together() {
    let files = [
        ("m-Q4_K_M.gguf", bytes(10, 1)),
        ("m-q8_0-00001-of-00002.gguf", bytes(20, 2)),
        ("m-q8_0-00002-of-00002.gguf", bytes(30, 3)),
        ("mmproj-F16.gguf", bytes(10, 4)),
        ("model.safetensors", bytes(10, 5)),
        ("config.json", b"{}".to_vec()),
    ];
    let (server, cache) = (Server::start(&files), cache("quants"));
    let options = options(&server, &cache);
    let usual = fetch("maker/tiny", &options).expect("fetched");
    assert!(usual.path.ends_with("m-Q4_K_M.gguf"), "{usual:?}");
    let shards = fetch("maker/tiny:Q8_0", &options).expect("fetched");
    assert!(shards.path.ends_with("m-q8_0-00001-of-00002.gguf") && shards.files.len() == 2, "{shards:?}");
    let told = fetch("maker/tiny:q5_0", &options).expect_err("none").to_string();
    assert!(told.contains("Q4_K_M, q8_0"), "{told}");
    let offline = options.offline(true);
    assert_eq!(fetch("maker/tiny:q8_0", &offline).expect("found"), shards);
    fs::remove_file(shards.path.with_file_name("m-q8_0-00002-of-00002.gguf")).expect("there");
    let told = fetch("maker/tiny:q8_0", &offline).expect_err("missing").to_string();
    assert!(told.contains("m-q8_0-00002-of-00002.gguf") && told.contains("HF_HUB_OFFLINE"), "{told}");
    let told = fetch("maker/other", &offline).expect_err("missing").to_string();
    assert!(told.contains("revision main") && told.contains("models--maker--other"), "{told}");
}
