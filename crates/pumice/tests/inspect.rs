//! `pumice inspect` from arguments to text: an encoder's folder, a language model's file, and what is neither.
//!
//! Golden texts are what is reported of the files, rewritten with `UPDATE=1`; what is reported of plans must add up.

use clap::Parser;
use pumice::cli::inspect::{Args, run};
use pumice_import::GgufWriter;
use pumice_types::{DType, Encoding, Scheme};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

#[derive(Parser)]
struct Command {
    #[command(flatten)]
    inspect: Args,
}

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn scratch(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("inspect");
    fs::create_dir_all(&folder).expect("a folder");
    folder.join(name)
}

/// Whether all is well, and the output; or the error.
fn inspect(path: &Path, args: &[&str]) -> Result<(bool, String), String> {
    let (well, out, _) = inspect_with_log(path, args)?;
    Ok((well, out))
}

/// The same, with the log.
fn inspect_with_log(path: &Path, args: &[&str]) -> Result<(bool, String, String), String> {
    let path = path.display().to_string();
    let parsed =
        Command::try_parse_from([&["inspect", path.as_str()], args].concat()).map_err(|e| e.to_string())?;
    let (mut out, mut log) = (Vec::new(), Vec::new());
    let well = run(&parsed.inspect, None, &mut out, &mut log).map_err(|e| e.to_string())?;
    let text = |bytes| String::from_utf8(bytes).expect("text");
    Ok((well, text(out), text(log)))
}

/// A two-layer language model of architecture `name`, with zeros for weights.
fn language_model(file: &str, name: &str, extra: Option<(&str, Encoding, &[u64])>) -> PathBuf {
    let mut w = GgufWriter::new();
    w.metadata("general.architecture", name).expect("new");
    w.metadata("general.name", "toy").expect("new");
    let counts = [
        ("block_count", 2u32),
        ("context_length", 64),
        ("embedding_length", 64),
        ("feed_forward_length", 128),
        ("attention.head_count", 4),
        ("attention.head_count_kv", 2),
    ];
    for (key, value) in counts {
        w.metadata(&format!("{name}.{key}"), value).expect("new");
    }
    w.metadata(&format!("{name}.attention.layer_norm_rms_epsilon"), 1e-5f32).expect("new");
    let mut tensor =
        |name: &str, encoding: Encoding, shape: &[u64]| w.tensor(name, encoding, shape).expect("new");
    tensor("token_embd.weight", Scheme::Q8_0.into(), &[96, 64]);
    for i in 0..2 {
        let blocks = [
            ("attn_q", 64, 64),
            ("attn_k", 32, 64),
            ("attn_v", 32, 64),
            ("attn_output", 64, 64),
            ("ffn_gate", 128, 64),
            ("ffn_up", 128, 64),
            ("ffn_down", 64, 128),
        ];
        for (name, out, into) in blocks {
            let encoding = if name == "attn_v" { DType::F16.into() } else { Scheme::Q4_1.into() };
            tensor(&format!("blk.{i}.{name}.weight"), encoding, &[out, into]);
        }
        for name in ["attn_norm", "ffn_norm"] {
            tensor(&format!("blk.{i}.{name}.weight"), DType::F32.into(), &[64]);
        }
    }
    tensor("output_norm.weight", DType::F32.into(), &[64]);
    if let Some((name, encoding, shape)) = extra {
        tensor(name, encoding, shape);
    }
    let path = scratch(file);
    let mut out = File::create(&path).expect("a file");
    w.write(&mut out, |_, _, piece| {
        piece.fill(0);
        Ok(())
    })
    .expect("written");
    path
}

/// What is reported of the file, without its folder; and what is reported of the plan, which changes when the planner
/// plans better.
fn sections(text: &str, path: &Path) -> (String, String) {
    let text = text.replace(&format!("{}/", path.parent().expect("a folder").display()), "");
    let (file, plan) = text.split_once("\nmemory on ").expect("a memory plan");
    (file.to_owned(), plan.to_owned())
}

/// The titles of every table of a plan, and its first line.
fn check_plan(plan: &str, head: &str) {
    assert!(plan.starts_with(head), "{plan}");
    for title in ["region", "run", "param"] {
        let is_title = |line: &str| line.strip_prefix("  ").is_some_and(|l| l.starts_with(title));
        assert!(plan.lines().any(is_title), "{title}: {plan}");
    }
    assert!(plan.contains("read as stored by") && plan.contains(" kept "), "{plan}");
}

fn check(golden: &str, text: &str) {
    let file = here("tests/inspect").join(golden);
    if std::env::var_os("UPDATE").is_some() {
        fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        fs::write(&file, text).expect("written");
    }
    assert_eq!(text, fs::read_to_string(&file).expect("checked in"), "UPDATE=1 rewrites {}", file.display());
}

#[test]
fn a_language_model_is_told_to_the_byte() {
    let path = language_model("toy.gguf", "llama", None);
    let (well, text) = inspect(&path, &["--target", "lavapipe", "--context", "32"]).expect("inspects");
    assert!(well);
    let (file, plan) = sections(&text, &path);
    check("llama.txt", &file);
    check_plan(&plan, "lavapipe, context 32: ");
    assert!(plan.contains("layer.*.k_cache") && plan.contains("blk.*.ffn_down.weight"), "{plan}");
    let (_, json) = inspect(&path, &["--target", "lavapipe", "--context", "32", "--json"]).expect("inspects");
    let report: serde_json::Value = serde_json::from_str(json.trim_end()).expect("one object on one line");
    assert_eq!(json.lines().count(), 1);
    let sum = |list: &str| -> u64 {
        report["memory"][list]
            .as_array()
            .expect("rows")
            .iter()
            .map(|r| r["bytes"].as_u64().expect("bytes"))
            .sum()
    };
    // Queries and keys lie side by side, as gate and up do; values are stored otherwise.
    assert!(plan.contains("as one with 1 other"), "{plan}");
    let params = report["memory"]["params"].as_array().expect("params");
    let joined =
        |name: &str| params.iter().find(|p| p["name"] == name).expect("a param")["joined"].to_string();
    assert_eq!(joined("blk.1.ffn_gate.weight"), r#"["blk.1.ffn_up.weight"]"#);
    assert_eq!(joined("blk.1.attn_q.weight"), r#"["blk.1.attn_k.weight"]"#);
    assert_eq!(joined("blk.1.attn_v.weight"), "[]");
    // Every tensor is a param, with the bytes that it has in the file; caches are as long as the context.
    assert_eq!(sum("params"), report["tensor_bytes"].as_u64().expect("bytes"));
    assert_eq!(report["tensors"].as_array().map(Vec::len), Some(20));
    assert_eq!(report["memory"]["context"], 32);
    let caches = report["memory"]["states"].as_array().expect("states");
    let cache = caches.iter().find(|s| s["name"] == "layer.0.k_cache").expect("a cache");
    assert_eq!(
        (cache["shape"].to_string(), cache["bytes"].as_u64()),
        ("[1,32,2,16]".into(), Some(2 * 32 * 2 * 16))
    );
    let regions = report["memory"]["regions"].as_array().expect("regions");
    let all: u64 = regions.iter().map(|r| r["bytes"].as_u64().expect("bytes")).sum();
    let sections =
        ["shared_bytes", "per_session_bytes"].map(|k| report["memory"][k].as_u64().expect("bytes"));
    assert_eq!(all, sections[0] + sections[1]);
}

#[test]
fn an_encoder_is_told_to_the_byte() {
    let path = here("../../tests/data/tiny/bert");
    let (well, text) = inspect(&path, &["--target", "h200", "--batch", "4"]).expect("inspects");
    assert!(well);
    let (file, plan) = sections(&text, &path);
    check("bert.txt", &file);
    check_plan(&plan, "h200: ");
}

/// A model that cannot be planned is still reported, with the reason, and the exit code is 1.
#[test]
fn what_cannot_be_planned_says_why() {
    let path = language_model("foreign.gguf", "gemma9", None);
    let (well, text) = inspect(&path, &["--target", "lavapipe"]).expect("inspects");
    assert!(
        !well && text.contains("no memory plan") && text.contains("is gemma9, which is not supported"),
        "{text}"
    );
    assert!(text.contains("20 tensors") && text.contains("gemma9.block_count"), "{text}");
    let biased = language_model("bias.gguf", "llama", Some(("blk.0.attn_q.bias", DType::F32.into(), &[64])));
    let (well, text) = inspect(&biased, &["--target", "lavapipe"]).expect("inspects");
    assert!(!well && text.contains("blk.0.attn_q.bias"), "{text}");
    let (well, text) = inspect(&here("../../tests/data/tiny/bert/model.safetensors"), &["--target", "h200"])
        .expect("inspects");
    assert!(!well && text.contains("give the folder that holds its config.json"), "{text}");
    let (_, text) = inspect(&path, &["--target", "lavapipe", "--context", "65"]).expect("inspects");
    assert!(text.contains("no memory plan"), "{text}");
    // A script that keeps the output elsewhere is told as well.
    for more in [&[][..], &["--json"]] {
        let args = [&["--target", "lavapipe"], more].concat();
        let (well, _, log) = inspect_with_log(&path, &args).expect("inspects");
        assert!(!well && log.starts_with("pumice: ") && log.lines().count() == 1, "{log}");
        assert!(log.contains("is gemma9, which is not supported"), "{log}");
    }
    let sound = language_model("sound.gguf", "llama", None);
    let (well, _, log) = inspect_with_log(&sound, &["--target", "lavapipe"]).expect("inspects");
    assert!(well && log.is_empty(), "{log}");
}

/// llama.cpp writes them beside NVFP4 matrices; the file was said to be of two models.
#[test]
fn scales_of_whole_tensors_are_told_as_such() {
    let refused = |name: &str| {
        let path = language_model("scales.gguf", "llama", Some((name, DType::F32.into(), &[1])));
        inspect(&path, &["--target", "lavapipe"]).expect("inspects")
    };
    for name in ["blk.0.attn_q.scale", "blk.1.ffn_down.input_scale"] {
        let (well, text) = refused(name);
        let said = format!("`{name}` is a scale of a whole tensor beside a matrix, and those are not read");
        assert!(!well && text.contains(&said), "{text}");
        assert!(text.contains("take the model in another encoding"), "{text}");
    }
    // Of no matrix.
    let (well, text) = refused("blk.0.none.scale");
    assert!(!well && text.contains("is a tensor that the model does not have"), "{text}");
}

/// Names of a file reached the terminal as they were, and could clear it or pass for lines of the program.
#[test]
fn control_characters_of_a_file_are_shown_as_escapes() {
    let extra = Some(("a\u{1b}[2J\n\u{7}b", DType::F32.into(), &[64][..]));
    let path = language_model("controls.gguf", "llama", extra);
    let (well, text) = inspect(&path, &["--target", "lavapipe"]).expect("inspects");
    let is_raw = |c: char| c.is_control() && c != '\n';
    assert!(!well && text.contains(r"  a\u{1b}[2J\n\u{7}b  ") && !text.contains(is_raw), "{text}");
    assert!(text.contains("no memory plan") && text.contains(r"`a\u{1b}[2J"), "{text}");
    let (_, json) = inspect(&path, &["--target", "lavapipe", "--json"]).expect("inspects");
    assert!(json.contains(r"a\u001b[2J\n\u0007b"), "{json}");
}

/// Tensors of types that are not read were counted as 0 bytes: the sum of a file was far below its size.
#[test]
fn tensors_of_types_that_are_not_read_have_their_bytes() {
    // Types 16 (iq2_xxs, 66 bytes) and 99 (none), 96 and 64 bytes up to the next tensor and to the end.
    let mut file = b"GGUF\x03\0\0\0".to_vec();
    file.extend([2u64, 0].map(u64::to_le_bytes).concat());
    for (name, ty, offset) in [("a", 16u32, 0u64), ("b", 99, 96)] {
        file.extend([&1u64.to_le_bytes()[..], name.as_bytes(), &1u32.to_le_bytes()].concat());
        file.extend([&256u64.to_le_bytes()[..], &ty.to_le_bytes(), &offset.to_le_bytes()].concat());
    }
    file.resize(file.len().next_multiple_of(32) + 96 + 64, 0);
    let path = scratch("foreign_types.gguf");
    fs::write(&path, file).expect("written");
    let (_, text) = inspect(&path, &["--target", "lavapipe"]).expect("inspects");
    assert!(text.contains("96 B, not read") && text.contains("64 B, not read"), "{text}");
    assert!(
        text.contains("2 tensors, 160 B: 1 iq2_xxs (96 B), 1 of the unknown ggml type 99 (64 B)"),
        "{text}"
    );

    let header = r#"{"w":{"dtype":"F8_E4M3FNUZ","shape":[3,5],"data_offsets":[0,15]}}"#;
    let path = scratch("foreign_types.safetensors");
    let length = (header.len() as u64).to_le_bytes();
    fs::write(&path, [&length, header.as_bytes(), &[0; 15]].concat()).expect("written");
    let (_, text) = inspect(&path, &["--target", "lavapipe"]).expect("inspects");
    assert!(text.contains("15 B, not read") && text.contains("1 tensor, 15 B: 1 F8_E4M3FNUZ"), "{text}");
}

/// 40,000 tensors took 6 s and 1,000,000 did not end: work grew with the square. The unit test of `grouped` counts it;
/// here the whole command runs, which would take minutes.
#[test]
fn a_file_of_very_many_tensors_is_told() {
    const TENSORS: usize = 200_000;
    let entries =
        (0..TENSORS).map(|i| format!(r#""t{i}":{{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}"#));
    let header = format!("{{{}}}", entries.collect::<Vec<_>>().join(","));
    let path = scratch("many.safetensors");
    let length = (header.len() as u64).to_le_bytes();
    fs::write(&path, [&length, header.as_bytes()].concat()).expect("written");
    let begin = std::time::Instant::now();
    let (_, text) = inspect(&path, &["--target", "lavapipe"]).expect("inspects");
    assert!(text.contains("200000 tensors") && text.lines().count() > TENSORS);
    assert!(begin.elapsed().as_secs() < 60, "{:?}", begin.elapsed());
}

#[test]
fn errors_say_what_to_do() {
    let bert = here("../../tests/data/tiny/bert");
    let model = language_model("errors.gguf", "llama", None);
    let says = |path: &Path, args: &[&str], words: &[&str]| {
        let error = inspect(path, args).expect_err("refused");
        words.iter().for_each(|w| assert!(error.contains(w), "{error}"));
    };
    says(&bert, &["--target", "rtx9"], &["`rtx9`", "h200 or lavapipe", "--device"]);
    says(&bert, &["--target", "h200", "--context", "9"], &["--context", "language models"]);
    says(&model, &["--target", "h200", "--batch", "9"], &["--batch", "sentence encoders"]);
    says(&model, &["--target", "h200", "--device", "0"], &["cannot be used with"]);
    says(&here("no-such.gguf"), &["--target", "h200"], &["no-such.gguf"]);
    says(&here("Cargo.toml"), &["--target", "h200"], &["Cargo.toml", "GGUF"]);
    says(&here("src"), &["--target", "h200"], &["model.safetensors"]);
}
