//! A conversion that is ended leaves no file that is half written, and none of a set of files.

use super::{place, run, tiny};
use pumice::cli::CommandError;
use pumice::generate::cli::Interrupts;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A folder of a test's own, and what the program is told to write two files into it.
fn words(name: &str) -> (PathBuf, Vec<String>) {
    let folder = place(name);
    fs::create_dir_all(&folder).expect("a folder");
    let out = folder.join("o.gguf").display().to_string();
    let model = tiny("../tiny_decoders/llama/model.gguf");
    let words = ["convert", &model, "-o", &out, "--quantize", "f32", "--shards", "2"];
    (folder, words.map(str::to_owned).to_vec())
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("read");
    let names = entries.map(|entry| entry.expect("read").file_name().into_string().expect("text"));
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

const SHARDS: [&str; 2] = ["o-00001-of-00002.gguf", "o-00002-of-00002.gguf"];

#[test]
fn what_was_there_stays() {
    let (folder, words) = words("ended-at-once");
    SHARDS.iter().for_each(|name| fs::write(folder.join(name), "old").expect("written"));
    let interrupts = Interrupts::default();
    interrupts.stop.set();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let error = run(&words, &interrupts).map(|_| ()).expect_err("interrupted");
    assert!(matches!(error, CommandError::Interrupted), "{error}");
    assert_eq!(names(&folder), SHARDS);
    assert!(SHARDS.iter().all(|name| fs::read(folder.join(name)).expect("there") == b"old"));
}

/// The second file is a pipe that nobody reads, so that the first is written and not yet in its place.
#[test]
fn a_signal_leaves_nothing_beside() {
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        let (folder, words) = words(&format!("ended-by{signal}"));
        let pipe = folder.join(SHARDS[1]);
        assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo is there").success());
        let child = Command::new(env!("CARGO_BIN_EXE_pumice")).args(words).stderr(Stdio::null()).spawn();
        let mut child = child.expect("starts");
        let reader = fs::File::open(&pipe).expect("opened once the program opens it");
        let before = names(&folder);
        assert!(before.len() == 2 && before[0].starts_with(".o-00001"), "{before:?}");
        let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().expect("kill");
        assert!(sent.success());
        std::thread::sleep(Duration::from_millis(300));
        drop(reader);
        let begin = Instant::now();
        assert_eq!(child.wait().expect("ends").code(), Some(code), "{signal}");
        assert!(begin.elapsed() < Duration::from_secs(10));
        assert_eq!(names(&folder), [SHARDS[1]], "{signal}");
    }
}
