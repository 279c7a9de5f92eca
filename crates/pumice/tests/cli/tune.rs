//! `pumice tune` where there is nothing to tune.

use clap::Parser;
use pumice::cli::{CommandError, tune};

#[derive(Debug, Parser)]
struct Words {
    #[command(flatten)]
    args: tune::Args,
}

fn refused(words: &[&str]) -> String {
    let Words { args } = Words::try_parse_from([&["tune"], words].concat()).expect("arguments");
    let (mut out, mut log) = (Vec::new(), Vec::new());
    match tune::run(&args, None, &mut out, &mut log) {
        Err(CommandError::Usage(why)) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_interpreter_has_nothing_to_tune() {
    assert!(refused(&["--device", "cpu"]).contains("interpreter"));
    assert!(
        refused(&["--device", "cpu", "-o", "x.json"]).contains("interpreter"),
        "before anything is written"
    );
}

#[test]
fn it_has_minutes() {
    let parsed = |words: &[&str]| Words::try_parse_from([&["tune"], words].concat()).map(|w| w.args.minutes);
    assert_eq!(parsed(&[]).expect("arguments"), 10);
    assert_eq!(parsed(&["--minutes", "3"]).expect("arguments"), 3);
    assert!(parsed(&["--minutes", "0"]).is_err());
}
