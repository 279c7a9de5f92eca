//! Commands that take a model, by its name in the hub: the same as by the paths of its files.

use super::server::Server;
use super::{cache, options};
use clap::Parser;
use pumice::cli::CommandError;
use pumice::cli::compile::{self, CompileArgs};
use pumice::cli::hub::HubAccess;
use pumice::cli::inspect;
use pumice::embed::cli::{self as embed, EmbedArgs};
use pumice::generate::cli::{self as generate, GenerateArgs, Interrupts};
use pumice::hub::Options;
use pumice_import::gguf::GgufStrings;
use pumice_import::{GgufFile, GgufValue, GgufWriter, SafetensorsFile, WeightSource};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

#[derive(Parser)]
enum Command {
    Compile(CompileArgs),
    Embed(EmbedArgs),
    Generate(Box<GenerateArgs>),
    Inspect(inspect::Args),
}

/// The standard output of a command on the interpreter; names are looked up through these options.
fn run(args: &[&str], hub: &Options) -> Result<String, CommandError> {
    let words = [&["pumice"], args, &["--device", "cpu"]].concat();
    let command = Command::try_parse_from(words).unwrap_or_else(|e| panic!("{e}"));
    let (mut out, mut log, access) = (Vec::new(), Vec::new(), HubAccess::Through(hub.clone()));
    match command {
        Command::Compile(mut args) => {
            args.hub.access = access;
            compile::run(&args, None, &mut out, &mut log)?;
        }
        Command::Embed(mut args) => {
            args.hub.access = access;
            embed::run(&args, None, &mut out, &mut log)?;
        }
        Command::Generate(mut args) => {
            args.hub.access = access;
            generate::run(&args, None, &Interrupts::default(), &mut out, &mut log)?;
        }
        Command::Inspect(mut args) => {
            args.hub.access = access;
            inspect::run(&args, None, &mut out, &mut log)?;
        }
    }
    Ok(String::from_utf8(out).expect("text"))
}

fn ids(model: &str, hub: &Options) -> Value {
    let words =
        ["generate", "--model", model, "--prompt", "Hello", "--greedy", "--ignore-eos", "-n", "8", "--json"];
    let report: Value = serde_json::from_str(&run(&words, hub).expect("generates")).expect("an object");
    assert_eq!(report["ids"].as_array().map(Vec::len), Some(8), "{report}");
    json!([report["prompt_ids"], report["ids"]])
}

fn data(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data").join(path)
}

/// Files in a folder of a test's own.
fn written(name: &str, files: &[(&str, Vec<u8>)]) -> PathBuf {
    let folder = cache(name);
    for (name, bytes) in files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, bytes).expect("written");
    }
    folder
}

/// What a model's file says, with a vocabulary of the printable characters and tokens that no text has.
fn say(writer: &mut GgufWriter, source: &GgufFile) {
    for (key, value) in source.metadata().iter().filter(|(key, _)| !key.starts_with("tokenizer.")) {
        writer.metadata(key, value.clone()).expect("new");
    }
    let letters = ('!'..='~').chain(['\u{120}']).map(String::from);
    let tokens: Vec<String> = letters.chain((0..).map(|n| format!("<{n}>"))).take(288).collect();
    let tokens: GgufStrings = tokens.iter().map(String::as_str).collect();
    writer.metadata("tokenizer.ggml.model", "gpt2").expect("new");
    writer.metadata("tokenizer.ggml.tokens", tokens).expect("new");
    writer
        .metadata("tokenizer.ggml.merges", std::iter::empty::<&str>().collect::<GgufStrings>())
        .expect("new");
    writer.metadata("tokenizer.ggml.eos_token_id", 287u32).expect("new");
}

/// A model as one file.
fn whole(source: &GgufFile) -> Vec<u8> {
    let mut writer = GgufWriter::new();
    say(&mut writer, source);
    written_with(&mut writer, source, source.names())
}

/// Every other tensor of a model, as a shard of two.
fn shard(source: &GgufFile, number: usize) -> Vec<u8> {
    let mut writer = GgufWriter::new();
    if number == 0 {
        say(&mut writer, source);
    }
    let all = source.names().len() as i32;
    let split: [(&str, GgufValue); 3] = [
        ("split.no", (number as u16).into()),
        ("split.count", 2u16.into()),
        ("split.tensors.count", all.into()),
    ];
    split.into_iter().for_each(|(key, value)| writer.metadata(key, value).expect("new"));
    written_with(&mut writer, source, source.names().into_iter().skip(number).step_by(2))
}

fn written_with<'n>(
    writer: &mut GgufWriter,
    source: &GgufFile,
    names: impl IntoIterator<Item = &'n str>,
) -> Vec<u8> {
    for name in names {
        let info = source.describe(name).expect("there");
        writer.tensor(name, info.encoding, &info.shape).expect("new");
    }
    let mut bytes = Vec::new();
    writer.write(&mut bytes, |name, at, piece| source.read_at(name, at, piece)).expect("written");
    bytes
}

#[test]
fn a_sharded_gguf_by_its_quant_gives_the_ids_of_the_local_file() {
    let source = GgufFile::open(data("tiny_decoders/llama/model.gguf")).expect("opens");
    let local = written("whole", &[("tiny.gguf", whole(&source))]).join("tiny.gguf");
    let shards = [0, 1].map(|number| shard(&source, number));
    let [first, second] = shards;
    let files = [
        ("bf16/tiny-BF16-00001-of-00002.gguf", first),
        ("bf16/tiny-BF16-00002-of-00002.gguf", second),
        ("tiny-Q4_K_M.gguf", b"another".to_vec()),
    ];
    let server = Server::start(&files);
    let hub = options(&server, &cache("sharded"));
    let own = ids(local.to_str().expect("text"), &hub);
    assert!(server.asked().is_empty(), "a path is no name");
    assert_eq!(ids("maker/tiny:bf16", &hub), own);
    server.asked();
    assert_eq!(ids("maker/tiny:BF16", &hub.clone().offline(true)), own);
    assert!(server.asked().is_empty(), "offline nothing is connected to");
}

/// Half of a model's tensors as a safetensors file, and their names.
fn part(source: &SafetensorsFile, number: usize) -> (Vec<u8>, Vec<String>) {
    let (mut header, mut data, mut names) = (serde_json::Map::new(), Vec::new(), Vec::new());
    for name in source.names().into_iter().skip(number).step_by(2) {
        let entry = &source.header().entries[name];
        let mut bytes = vec![0; (entry.end - entry.begin) as usize];
        source.read_at(name, 0, &mut bytes).expect("read");
        let offsets = [data.len(), data.len() + bytes.len()];
        data.extend_from_slice(&bytes);
        header.insert(
            name.to_owned(),
            json!({"dtype": entry.dtype.name, "shape": entry.shape, "data_offsets": offsets}),
        );
        names.push(name.to_owned());
    }
    let header = Value::from(header).to_string();
    ([&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &data].concat(), names)
}

/// Printable characters and no merges.
fn tokenizer() -> String {
    let letters = ('!'..='~').chain(['\u{120}']).enumerate();
    let vocab: serde_json::Map<String, Value> = letters.map(|(id, c)| (c.to_string(), id.into())).collect();
    let words =
        json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true});
    json!({
        "version": "1.0", "added_tokens": [], "normalizer": null, "pre_tokenizer": words, "post_processor": null,
        "decoder": words, "model": {"type": "BPE", "vocab": vocab, "merges": []},
    })
    .to_string()
}

#[test]
fn a_folder_in_shards_gives_the_ids_of_the_local_folder() {
    let source = SafetensorsFile::open(&data("tiny_decoders/llama/model.safetensors")).expect("opens");
    let [(first, one), (second, two)] = [0, 1].map(|number| part(&source, number));
    let names = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"];
    let map: serde_json::Map<String, Value> = one
        .into_iter()
        .map(|tensor| (tensor, names[0].into()))
        .chain(two.into_iter().map(|tensor| (tensor, names[1].into())))
        .collect();
    let files = [
        ("config.json", fs::read(data("tiny_decoders/llama/config.json")).expect("there")),
        (names[0], first),
        (names[1], second),
        ("model.safetensors.index.json", json!({"metadata": {}, "weight_map": map}).to_string().into_bytes()),
        ("tokenizer.json", tokenizer().into_bytes()),
        ("pytorch_model.bin", b"no".to_vec()),
    ];
    let (server, local) = (Server::start(&files), written("local", &files));
    let hub = options(&server, &cache("shards"));
    let own = ids(local.to_str().expect("text"), &hub);
    assert_eq!(ids("maker/tiny", &hub), own);
    assert_eq!(ids("maker/tiny", &hub.clone().offline(true)), own);
    let plan = cache("plan").join("x.plan");
    let words = ["compile", "maker/tiny", "-o", plan.to_str().expect("text"), "--explain"];
    assert!(run(&words, &hub).expect("compiles").contains("compiled in"));
    let shown = run(&["inspect", "maker/tiny", "--json"], &hub).expect("inspects");
    let shown: Value = serde_json::from_str(&shown).expect("an object");
    assert_eq!((shown["format"].as_str(), shown["problem"].as_str()), (Some("folder"), None), "{shown}");
}

#[test]
fn an_encoder_gives_the_vectors_of_the_local_folder() {
    let names = [
        "1_Pooling/config.json",
        "config.json",
        "model.safetensors",
        "modules.json",
        "sentence_bert_config.json",
        "tokenizer.json",
        "tokenizer_config.json",
    ];
    let files = names.map(|name| (name, fs::read(data("tiny/bert").join(name)).expect("there")));
    // An encoder is a folder, whatever GGUF file lies beside.
    let server = Server::start(&[&files[..], &[("m-Q4_K_M.gguf", b"no".to_vec())]].concat());
    let hub = options(&server, &cache("encoder"));
    let embed = |model: &str| run(&["embed", "--model", model, "one", "two of them"], &hub).expect("embeds");
    assert_eq!(embed("maker/tiny"), embed(data("tiny/bert").to_str().expect("text")));
}

#[test]
fn what_is_neither_here_nor_in_the_hub_is_said() {
    let server = Server::start(&[]);
    let hub = options(&server, &cache("neither"));
    let told = run(&["inspect", "maker/none"], &hub).expect_err("nothing").to_string();
    assert!(told.contains("`maker/none` is no file or folder here") && told.contains("status 404"), "{told}");
}

/// The program's requests with these variables and no others of the hub's, and what it said.
fn program(server: &Server, variables: &[(&str, &Path)]) -> (Vec<super::server::Asked>, String) {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_pumice"));
    command.args(["inspect", "maker/tiny", "--target", "h200"]);
    for name in ["HF_HOME", "HF_HUB_CACHE", "HF_TOKEN", "HF_HUB_OFFLINE", "XDG_CACHE_HOME"] {
        command.env_remove(name);
    }
    command.env("HF_ENDPOINT", server.endpoint()).envs(variables.iter().copied());
    let said = command.output().expect("starts");
    assert_eq!(said.status.code(), Some(2), "what is fetched is no model: {said:?}");
    server.asked();
    let _ = command.output().expect("starts");
    (server.asked(), String::from_utf8(said.stderr).expect("text"))
}

#[test]
fn the_program_reads_the_variables_of_huggingface_hub() {
    let server = Server::start(&[("m-q8_0.gguf", b"none".to_vec())]);
    let (home, elsewhere) = (cache("home"), cache("elsewhere"));
    let authorization = |variables: &[(&str, &Path)]| {
        let (asked, _) = program(&server, variables);
        assert_eq!(asked.len(), 1, "the second time the list alone: {asked:?}");
        asked[0].authorization.clone()
    };
    assert_eq!(authorization(&[("HF_HOME", &home)]), None);
    assert!(home.join("hub/models--maker--tiny").is_dir());
    fs::write(home.join("token"), "hf_kept\n").expect("written");
    assert_eq!(authorization(&[("HF_HOME", &home)]).as_deref(), Some("Bearer hf_kept"));
    let given = [("HF_HOME", home.as_path()), ("HF_TOKEN", Path::new("hf_given"))];
    assert_eq!(authorization(&given).as_deref(), Some("Bearer hf_given"));
    authorization(&[("HF_HOME", &home), ("HF_HUB_CACHE", &elsewhere)]);
    assert!(elsewhere.join("models--maker--tiny").is_dir());
    let offline = [("HF_HOME", home.as_path()), ("HF_HUB_OFFLINE", Path::new("1"))];
    let (asked, said) = program(&server, &offline);
    assert!(asked.is_empty() && said.contains("m-q8_0.gguf"), "{asked:?} {said}");
}
