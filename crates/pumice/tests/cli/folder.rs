//! A language model in a Hugging Face folder: configuration, weights, tokenizer, template, suggestions, each of a file.

use super::{command, parsed, place, run};
use crate::Interrupts;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

const VOCAB: usize = 720;
const HIDDEN: usize = 32;

/// Names and extents of a Llama of one layer.
fn tensors() -> Vec<(String, Vec<usize>)> {
    let of_layer = [
        ("self_attn.q_proj", vec![HIDDEN, HIDDEN]),
        ("self_attn.k_proj", vec![HIDDEN, HIDDEN]),
        ("self_attn.v_proj", vec![HIDDEN, HIDDEN]),
        ("self_attn.o_proj", vec![HIDDEN, HIDDEN]),
        ("mlp.gate_proj", vec![64, HIDDEN]),
        ("mlp.up_proj", vec![64, HIDDEN]),
        ("mlp.down_proj", vec![HIDDEN, 64]),
        ("input_layernorm", vec![HIDDEN]),
        ("post_attention_layernorm", vec![HIDDEN]),
    ];
    let mut all = vec![
        ("model.embed_tokens.weight".to_owned(), vec![VOCAB, HIDDEN]),
        ("model.norm.weight".to_owned(), vec![HIDDEN]),
    ];
    all.extend(of_layer.map(|(name, shape)| (format!("model.layers.0.{name}.weight"), shape)));
    all
}

/// A safetensors file of numbers that a seed gives.
fn weights() -> Vec<u8> {
    let (mut header, mut data, mut state) = (serde_json::Map::new(), Vec::new(), 7u64);
    for (name, shape) in tensors() {
        let begin = data.len();
        for _ in 0..shape.iter().product::<usize>() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let unit = (state >> 40) as f32 / (1 << 24) as f32 - 0.5;
            data.extend_from_slice(&unit.to_le_bytes());
        }
        header.insert(name, json!({"dtype": "F32", "shape": shape, "data_offsets": [begin, data.len()]}));
    }
    let header = Value::from(header).to_string();
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &data].concat()
}

/// A folder with everything.
pub(super) fn folder(name: &str) -> PathBuf {
    let folder = place(name);
    fs::create_dir_all(&folder).expect("a folder");
    let write = |name: &str, bytes: &[u8]| fs::write(folder.join(name), bytes).expect("written");
    let config = json!({
        "model_type": "llama", "vocab_size": VOCAB, "hidden_size": HIDDEN, "num_hidden_layers": 1,
        "num_attention_heads": 2, "intermediate_size": 64, "max_position_embeddings": 256, "rms_norm_eps": 1e-5,
        "tie_word_embeddings": true, "eos_token_id": 2,
    });
    write("config.json", config.to_string().as_bytes());
    write("model.safetensors", &weights());
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/text/tokenizer_json.json");
    let golden: Value = serde_json::from_slice(&fs::read(golden).expect("there")).expect("JSON");
    write("tokenizer.json", golden["tokenizers"]["bytes"]["file"].as_str().expect("a file").as_bytes());
    let template = "{% for m in messages %}<|user|>{{ m.content }}<|end|>{% endfor %}";
    let settings =
        json!({"bos_token": "<s>", "eos_token": "</s>", "add_bos_token": true, "chat_template": template});
    write("tokenizer_config.json", settings.to_string().as_bytes());
    let generation = json!({"eos_token_id": [2, 714], "temperature": 0.6, "top_k": 20, "do_sample": true});
    write("generation_config.json", generation.to_string().as_bytes());
    folder
}

fn text(path: &Path) -> &str {
    path.to_str().expect("text")
}

#[test]
fn a_folder_is_answered_from_all_its_files() {
    let folder = folder("language");
    let words = ["generate", "--model", text(&folder), "--device", "cpu", "-n", "5", "--seed", "4"];
    let report = |more: &[&str]| -> Value {
        serde_json::from_str(&command(&[&words, more].concat()).expect("generates")).expect("an object")
    };
    let told = report(&["--prompt", "the of", "--json"]);
    // The beginning is `tokenizer_config.json`'s.
    assert_eq!(told["prompt_ids"][0], 711, "{told}");
    assert_eq!(told["seed"], 4);
    // The template begins with a control token, and a message has none.
    let chat = report(&["--chat", "the <|end|> of", "--json"]);
    let ids: Vec<u64> =
        chat["prompt_ids"].as_array().expect("ids").iter().filter_map(Value::as_u64).collect();
    assert_eq!((ids[0], ids.iter().filter(|&&id| id >= 711).count()), (713, 2), "{ids:?}");
    let said =
        run(&[&words[..], &["--prompt", "the of"]].concat(), &Interrupts::default()).expect("generates");
    assert!(
        said.log.contains("suggest temperature 0.6, top-k 20") && said.log.contains("seed 4"),
        "{}",
        said.log
    );
    // What is suggested is what is taken, and what is given goes before it.
    let same = report(&["--prompt", "the of", "--json", "--temp", "0.6", "--top-k", "20"]);
    assert_eq!(same["ids"], told["ids"]);
}

#[test]
fn a_folder_is_compiled_and_its_plan_run() {
    let (folder, plan) = (folder("planned"), place("folder.plan"));
    command(&["compile", text(&folder), "-o", text(&plan), "--target", "h200", "--kv", "f32"])
        .expect("compiles");
    let more = ["--explain", "--device", "cpu"];
    command(&[&["compile", text(&folder), "-o", text(&plan), "--kv", "f32"], &more[..]].concat())
        .expect("compiles");
    let words = [
        "generate",
        "--model",
        text(&folder),
        "--device",
        "cpu",
        "--greedy",
        "-n",
        "4",
        "--prompt",
        "the",
        "--json",
    ];
    let ids = |more: &[&str]| -> Value {
        let report = command(&[&words, more].concat()).expect("generates");
        serde_json::from_str::<Value>(&report).expect("an object")["ids"].clone()
    };
    assert_eq!(ids(&["--plan", text(&plan)]), ids(&["--kv", "f32"]));
}

#[test]
fn a_file_that_is_missing_or_wrong_is_named() {
    let folder = folder("wrong");
    let words = ["generate", "--model", text(&folder), "--device", "cpu", "--prompt", "x"];
    let refused = || command(&words).expect_err("refused").to_string();
    fs::write(folder.join("generation_config.json"), r#"{"top_p": 7}"#).expect("written");
    let told = refused();
    assert!(told.contains("generation_config.json: `top_p` is 7"), "{told}");
    fs::write(folder.join("generation_config.json"), r#"{"eos_token_id": 720}"#).expect("written");
    let told = refused();
    assert!(told.contains("`eos_token_id` has 720") && told.contains("0 to 719"), "{told}");
    fs::remove_file(folder.join("generation_config.json")).expect("there");
    fs::remove_file(folder.join("tokenizer.json")).expect("there");
    let told = refused();
    assert!(told.contains("tokenizer.json") && told.contains("tokenizer.model"), "{told}");
    assert!(parsed(&words).is_ok());
}
