//! What is cut is gone on with: only the rest is asked for.

use super::server::{Faults, Server, sha256};
use super::{bytes, cache, fetch, named, options};
use pumice::hub::{self, Form, HubError};
use std::fs;
use std::ops::ControlFlow;

const BYTES: usize = 700_001;

fn model() -> Vec<(&'static str, Vec<u8>)> {
    vec![("m-q8_0.gguf", bytes(BYTES, 9))]
}

/// Cut at fifty places, the beginning and the last byte among them.
#[test]
fn a_download_that_is_cut_goes_on_with_the_rest() {
    let server = Server::start(&model());
    for i in 0..50 {
        let cache = cache(&format!("cut-{i}"));
        let options = options(&server, &cache);
        let cut = match i {
            0 => 0,
            1 => 1,
            49 => BYTES - 1,
            i => i * BYTES / 50 + i,
        };
        server.set(Faults { cut: Some(cut), ..Faults::default() });
        let error = fetch("maker/tiny", &options).expect_err("cut");
        assert!(matches!(&error, HubError::Connection { .. }), "{error}");
        server.set(Faults::default());
        let missing = fetch("maker/tiny", &options.clone().offline(true)).expect_err("nothing is whole");
        assert!(matches!(missing, HubError::Missing { .. }), "{missing}");
        server.asked();
        let fetched = fetch("maker/tiny", &options).expect("fetched");
        let whole = fs::read(&fetched.path).expect("there");
        assert_eq!(sha256(&whole), sha256(&bytes(BYTES, 9)));
        let of_contents: Vec<_> = server.asked().into_iter().filter(|asked| asked.is_second).collect();
        assert_eq!(of_contents.len(), 1);
        // What had come is not sent again, to the byte.
        assert_eq!((of_contents[0].from.unwrap_or(0), of_contents[0].sent), (cut, BYTES - cut), "{cut}");
        fs::remove_dir_all(cache).expect("removed");
    }
}

/// A listener that wants no more is Ctrl-C's place in a library: the part stays.
#[test]
fn a_download_that_is_stopped_keeps_what_has_come() {
    let (server, cache) = (Server::start(&model()), cache("stopped"));
    let options = options(&server, &cache);
    let mut heard = 0;
    let stopped = hub::fetch(&named("maker/tiny"), Form::Any, &options, &mut |_| {
        heard += 1;
        if heard == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert!(matches!(stopped, Err(HubError::Stopped)), "{stopped:?}");
    server.asked();
    fetch("maker/tiny", &options).expect("fetched");
    let sent: usize = server.asked().iter().map(|asked| asked.sent).sum();
    assert!(sent > 0 && sent < BYTES, "{sent}");
}

/// Ctrl-C ends the program at once; what it had written is the part.
#[cfg(unix)]
#[test]
fn a_program_that_is_killed_leaves_a_part() {
    let (server, cache) = (Server::start(&model()), cache("killed"));
    server.set(Faults { stalls: true, cut: Some(300_000), ..Faults::default() });
    let program = std::process::Command::new(env!("CARGO_BIN_EXE_pumice"))
        .args(["inspect", "maker/tiny", "--target", "h200"])
        .env("HF_HUB_CACHE", &cache)
        .env("HF_ENDPOINT", server.endpoint())
        .env_remove("HF_HUB_OFFLINE")
        .stderr(std::process::Stdio::null())
        .spawn();
    let mut program = program.expect("starts");
    let part = cache
        .join("models--maker--tiny/blobs")
        .join(format!("{}.pumice.incomplete", sha256(&bytes(BYTES, 9))));
    let length = || fs::metadata(&part).map_or(0, |known| known.len());
    for _ in 0..600 {
        if length() == 300_000 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let sent = std::process::Command::new("kill").args(["-INT", &program.id().to_string()]).status();
    assert!(sent.expect("kill").success() && !program.wait().expect("ends").success());
    assert_eq!(length(), 300_000);
    server.set(Faults::default());
    server.asked();
    fetch("maker/tiny", &options(&server, &cache)).expect("fetched");
    let sent: usize = server.asked().iter().map(|asked| asked.sent).sum();
    assert_eq!(sent, BYTES - 300_000);
}

/// A part that is longer than the file belongs to nothing.
#[test]
fn a_part_that_cannot_be_is_begun_anew() {
    let (server, cache) = (Server::start(&model()), cache("longer"));
    let blobs = cache.join("models--maker--tiny/blobs");
    fs::create_dir_all(&blobs).expect("a folder");
    let part = blobs.join(format!("{}.pumice.incomplete", sha256(&bytes(BYTES, 9))));
    fs::write(&part, bytes(BYTES + 1, 9)).expect("written");
    let fetched = fetch("maker/tiny", &options(&server, &cache)).expect("fetched");
    assert_eq!(fs::read(fetched.path).expect("there"), bytes(BYTES, 9));
    // One of the right length and other bytes is found by its hash, without a request for contents.
    fs::remove_dir_all(cache.join("models--maker--tiny")).expect("there");
    fs::create_dir_all(&blobs).expect("a folder");
    fs::write(&part, bytes(BYTES, 8)).expect("written");
    server.asked();
    let error = fetch("maker/tiny", &options(&server, &cache)).expect_err("other bytes");
    assert!(matches!(&error, HubError::Hash { .. }) && !part.exists(), "{error}");
    assert!(server.asked().iter().all(|asked| !asked.is_second));
}
