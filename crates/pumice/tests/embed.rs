//! `pumice embed` from arguments to output, on the interpreter, with a checked-in model.

use clap::Parser;
use pumice::embed::cli::{EmbedArgs, run};
use pumice::embed::{EmbedError, EmbedOptions, Embedder};
use pumice::{Device, Error};
use pumice_import::{SafetensorsFile, WeightSource};
use std::path::{Path, PathBuf};

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data")
}

#[derive(Parser)]
struct Command {
    #[command(flatten)]
    embed: EmbedArgs,
}

/// Runs the command; standard output and log.
fn command(args: &[&str]) -> Result<(String, String), EmbedError> {
    let parsed =
        Command::try_parse_from([&["embed", "--device", "cpu"], args].concat()).expect("sound arguments");
    let (mut out, mut log) = (Vec::new(), Vec::new());
    run(&parsed.embed, None, &mut out, &mut log)?;
    Ok((String::from_utf8(out).expect("text"), String::from_utf8(log).expect("text")))
}

fn tiny(name: &str) -> String {
    data().join("tiny").join(name).display().to_string()
}

fn golden(name: &str) -> Vec<Vec<f32>> {
    let path = data().join("tiny").join(name).join("golden.safetensors");
    let tensor = SafetensorsFile::open(&path).expect("checked in").load("embeddings").expect("in the file");
    tensor.to_vec::<f32>().expect("f32").chunks(tensor.shape()[1] as usize).map(<[f32]>::to_vec).collect()
}

fn scratch(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("embed-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("made");
    folder.join(name)
}

#[test]
fn a_file_of_lines_becomes_rows_in_order() {
    let sentences = std::fs::read_to_string(data().join("minilm/sentences.txt")).expect("checked in");
    let lines: Vec<&str> = sentences.lines().take(12).collect();
    let file = scratch("lines.txt");
    std::fs::write(&file, format!("{}\n\n{}\n", lines[..5].join("\n"), lines[5..].join("\n")))
        .expect("written");
    let (out, log) =
        command(&["--model", &tiny("bert"), "--file", &file.display().to_string(), "--batch", "4"])
            .expect("embeds");
    let rows: Vec<Vec<f32>> =
        out.lines().map(|l| l.split(' ').map(|v| v.parse().expect("a number")).collect()).collect();
    assert_eq!(rows.len(), 13, "the blank line is a row");
    let golden = golden("bert");
    for (i, want) in golden[..12].iter().enumerate() {
        let got = &rows[if i < 5 { i } else { i + 1 }];
        assert_eq!(got.len(), want.len());
        let worst = got.iter().zip(want).map(|(g, w)| (g - w).abs()).fold(0.0, f32::max);
        assert!(worst <= 1e-4, "line {i}: {worst}");
    }
    assert!(log.contains("precision: exact") && log.contains("interpreter"), "{log}");
}

#[test]
fn json_and_npy_hold_the_same_numbers() {
    let npy = scratch("x.npy");
    let model = tiny("distilbert");
    let (json, _) = command(&["--model", &model, "--json", "Hello", "Why?"]).expect("embeds");
    let report: serde_json::Value = serde_json::from_str(&json).expect("one object");
    assert_eq!((report["width"].as_u64(), report["precision"].as_str()), (Some(32), Some("exact")));
    let numbers: Vec<f32> = report["embeddings"]
        .as_array()
        .expect("rows")
        .iter()
        .flat_map(|row| row.as_array().expect("a row").iter().map(|v| v.as_f64().expect("a number") as f32))
        .collect();
    let (nothing, _) =
        command(&["--model", &model, "--out", &npy.display().to_string(), "Hello", "Why?"]).expect("embeds");
    assert!(nothing.is_empty());
    let bytes = std::fs::read(&npy).expect("written");
    let values: Vec<f32> = bytes[bytes.len() - numbers.len() * 4..]
        .chunks(4)
        .map(|b| f32::from_le_bytes(b.try_into().expect("four bytes")))
        .collect();
    assert_eq!(values, numbers);
    assert!(bytes.starts_with(b"\x93NUMPY") && bytes.len().is_multiple_of(64));
    let left: Vec<_> = std::fs::read_dir(npy.parent().expect("a folder"))
        .expect("there")
        .filter(|e| e.as_ref().is_ok_and(|e| e.file_name().to_string_lossy().ends_with(".new")))
        .collect();
    assert!(left.is_empty(), "nothing half-done is left");
}

#[test]
fn what_is_wrong_is_said() {
    assert!(matches!(command(&["--model", &tiny("bert")]), Err(EmbedError::Usage(_))));
    assert!(matches!(command(&["--model", "nowhere", "x"]), Err(EmbedError::Pumice(Error::Model(_)))));
    let file = scratch("bytes.txt");
    std::fs::write(&file, b"fine\n\xFF\n").expect("written");
    let error =
        command(&["--model", &tiny("bert"), "--file", &file.display().to_string()]).expect_err("not text");
    assert!(matches!(error, EmbedError::NotText { line: 2, .. }), "{error}");
    assert!(Command::try_parse_from(["embed", "x"]).is_err(), "no model");
    assert!(Command::try_parse_from(["embed", "--model", "m", "--pooling", "median", "x"]).is_err());
}

#[test]
fn the_offline_model_sees_words_in_common() {
    let mut embedder = Embedder::offline(1, &Device::cpu(), &EmbedOptions::default()).expect("needs nothing");
    let texts = ["The weather is lovely today.", "The weather is cold today.", "He drove to the stadium."];
    let e = embedder.embed(&texts, |_| {}).expect("embeds");
    let dot = |i: usize, j: usize| {
        let rows: Vec<&[f32]> = e.rows().collect();
        rows[i].iter().zip(rows[j]).map(|(a, b)| a * b).sum::<f32>()
    };
    assert!((dot(0, 0) - 1.0).abs() < 1e-4 && dot(0, 1) > dot(0, 2), "{} {}", dot(0, 1), dot(0, 2));
    assert!(embedder.embed::<&str>(&[], |_| {}).expect("nothing to do").is_empty());
}

/// Ten thousand words became 32 tokens without a word.
#[test]
fn what_is_cut_is_said() {
    let long = "word ".repeat(500);
    let args = ["--model", &tiny("bert"), "--max-tokens", "8", "short", long.trim()];
    let (_, log) = command(&args).expect("embeds");
    assert!(log.contains("cut: text 2 has 1502 tokens, the model takes 8;"), "{log}");
    assert_eq!(log.matches("cut:").count(), 1, "{log}");
    let (json, _) = command(&[&args[..], &["--json"]].concat()).expect("embeds");
    let report: serde_json::Value = serde_json::from_str(&json).expect("one object");
    assert_eq!(report["cut"], serde_json::json!([{ "text": 1, "kept": 8, "left_out": 1494 }]));
}

#[test]
fn a_limit_that_leaves_no_text_names_the_option() {
    let error = command(&["--model", &tiny("bert"), "--max-tokens", "2", "x"]).expect_err("two specials");
    let text = error.to_string();
    assert!(text.contains("max_tokens") && text.contains("take 3 or more"), "{text}");
    assert!(!text.contains("take all files"), "the files are right: {text}");
}

#[test]
fn the_place_of_the_result_is_looked_at_first() {
    let gone = scratch("gone").join("x.npy").display().to_string();
    // The model is not there either; the folder is reported, because it is looked at before anything is read.
    let error = command(&["--model", "nowhere", "--out", &gone, "x"]).expect_err("no folder");
    assert!(matches!(error, EmbedError::Io { .. }) && error.to_string().contains("gone"), "{error}");
    let one = scratch("one.npy").display().to_string();
    let (_, log) = command(&["--model", &tiny("bert"), "--out", &one, "x"]).expect("embeds");
    assert!(log.contains("1 vector of 32 to "), "{log}");
    assert!(log.contains("on interpreter (the interpreter was asked for); precision: exact"), "{log}");
}

#[test]
fn seeded_weights_have_the_old_name_too() {
    for flag in ["--seeded", "--offline"] {
        assert!(Command::try_parse_from(["embed", flag, "x"]).expect("an argument").embed.seeded);
    }
}
