//! Two processes that want the same file: one fetches it, the other waits for its lock and finds it.

use super::server::{Server, sha256};
use super::{bytes, cache, fetch, named, options};
use pumice::hub::{self, Event, Form};
use std::fs::{self, File};
use std::ops::ControlFlow;
use std::thread;
use std::time::Duration;

const BYTES: usize = 2_000_000;

#[test]
fn of_many_that_want_a_file_one_fetches_it() {
    let (server, cache) = (Server::start(&[("m-q8_0.gguf", bytes(BYTES, 4))]), cache("many"));
    let options = options(&server, &cache);
    let ends: Vec<_> = thread::scope(|scope| {
        let begun: Vec<_> = (0..8).map(|_| scope.spawn(|| fetch("maker/tiny", &options))).collect();
        begun.into_iter().map(|thread| thread.join().expect("no panic").expect("fetched")).collect()
    });
    for fetched in &ends {
        assert_eq!(sha256(&fs::read(&fetched.path).expect("there")), sha256(&bytes(BYTES, 4)));
    }
    let sent: usize = server.asked().iter().map(|asked| asked.sent).sum();
    assert_eq!(sent, BYTES, "it is sent once");
}

/// The lock is the file that huggingface_hub locks, too.
#[test]
fn a_lock_of_another_process_is_waited_for() {
    let (server, cache) = (Server::start(&[("m-q8_0.gguf", bytes(BYTES, 5))]), cache("waits"));
    let options = options(&server, &cache);
    let locks = cache.join(".locks/models--maker--tiny");
    fs::create_dir_all(&locks).expect("a folder");
    let lock = File::create(locks.join(format!("{}.lock", sha256(&bytes(BYTES, 5))))).expect("a file");
    lock.lock().expect("locks");
    let mut waited = 0;
    let holder = thread::spawn(move || {
        thread::sleep(Duration::from_millis(300));
        drop(lock);
    });
    let fetched = hub::fetch(&named("maker/tiny"), Form::Any, &options, &mut |event| {
        waited += usize::from(matches!(event, Event::Waiting { file: "m-q8_0.gguf" }));
        ControlFlow::Continue(())
    });
    assert!(fetched.is_ok() && waited == 1, "{fetched:?} {waited}");
    holder.join().expect("ends");
}
