//! huggingface_hub and we find what the other has fetched. It needs python3, whose pip fetches huggingface_hub into a
//! place of its own (PUMICE_PYTHON names a python3 that has it): `tests/reference/hub_cache.py` is the other side.

use super::server::Server;
use super::{cache, fetch, folder, options};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A python3 that has huggingface_hub.
fn interpreter() -> PathBuf {
    if let Some(python) = std::env::var_os("PUMICE_PYTHON") {
        return PathBuf::from(python);
    }
    let place = cache("python");
    let run = |program: &Path, args: &[&str]| {
        let status = Command::new(program).args(args).status().expect("starts");
        assert!(status.success(), "{args:?}");
    };
    run(Path::new("python3"), &["-m", "venv", place.to_str().expect("text")]);
    let python = place.join("bin/python3");
    run(&python, &["-m", "pip", "install", "--quiet", "huggingface_hub==1.33.0"]);
    python
}

/// What the script says: the folder of the snapshot.
fn python(python: &Path, mode: &str, endpoint: &str, cache: &Path) -> PathBuf {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/reference/hub_cache.py");
    let said = Command::new(python)
        .arg(script)
        .args([mode, "maker/tiny"])
        .arg(cache)
        .env("HF_ENDPOINT", endpoint)
        .output();
    let said = said.expect("starts");
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    PathBuf::from(String::from_utf8(said.stdout).expect("text").trim())
}

#[test]
#[ignore = "long: fetches huggingface_hub by pip"]
fn each_finds_what_the_other_has_fetched() {
    let (server, interpreter) = (Server::start(&folder()), interpreter());
    let ours = cache("ours");
    let fetched = fetch("maker/tiny", &options(&server, &ours)).expect("fetched");
    server.asked();
    assert_eq!(python(&interpreter, "find", &server.endpoint(), &ours), fetched.path);
    // huggingface_hub asks for a list of programs that call it, whatever `local_files_only` says.
    let asked = server.asked();
    assert!(asked.iter().all(|asked| asked.path == "/api/agent-harnesses"), "{asked:?}");
    let theirs = cache("theirs");
    let path = python(&interpreter, "fetch", &server.endpoint(), &theirs);
    server.asked();
    let options = options(&server, &theirs);
    assert_eq!(fetch("maker/tiny", &options.clone().offline(true)).expect("found").path, path);
    assert!(server.asked().is_empty());
    // Beside the list nothing is asked for.
    assert_eq!(fetch("maker/tiny", &options).expect("found").path, path);
    assert_eq!(server.asked().len(), 1);
}
