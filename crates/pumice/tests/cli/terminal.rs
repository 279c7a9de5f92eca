//! The program in a terminal, which python3 gives it: the line editor once took Ctrl-C from the program for good.

use super::file;
use std::path::Path;
use std::process::{Command, Stdio};

#[test]
fn a_conversation_in_a_terminal() {
    let template = file("talk.jinja", "{% for m in messages %}{{ m.content }}{% endfor %}");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/terminal.py");
    // No answer reaches the end of such a context in the time that it has.
    let words = [
        "generate",
        "--seeded",
        "--device",
        "cpu",
        "--greedy",
        "--context",
        "100000",
        "--template",
        &template,
    ];
    let terminal =
        Command::new("python3").arg(script).arg("4").arg(env!("CARGO_BIN_EXE_pumice")).args(words).output();
    let said = String::from_utf8(terminal.expect("python3").stdout).expect("text");
    assert_eq!(said.lines().count(), 12, "{said}");
    assert!(said.lines().all(|line| line.starts_with("ok ")), "{said}");
}

/// With no conversation open it ends the program at once.
#[test]
fn ctrl_c_ends_the_program_that_answers_once() {
    let words =
        ["generate", "--seeded", "--device", "cpu", "--prompt", "hello", "-n", "-1", "--context", "100000"];
    let child = Command::new(env!("CARGO_BIN_EXE_pumice"))
        .args(words)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let mut child = child.expect("starts");
    std::thread::sleep(std::time::Duration::from_millis(1500));
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill");
    assert!(sent.success());
    assert_eq!(child.wait().expect("ends").code(), Some(130));
}
