//! Published `config.json` files of the supported families are read: no key of theirs is refused.
//!
//! Where the files under data/published_configs come from: nobody downloaded them from where the models are. Copies
//! that public repositories have were read and typed in for Llama 3.1 and 3.2, Mistral v0.3 (all that transformers 4.38
//! wrote), Devstral Small 2 (its `text_config`, which is a whole Ministral 3), Qwen 2.5 7B, Qwen 3, Phi 1.5, 2, 4 and
//! 4 mini, Falcon 3, Granite 3.3, Gemma 2 9B (most of it), OLMo 2, StarCoder 2 15B and GPT-2 with its medium size. The
//! others are written from memory of the published ones, so a key may be missing or have another value there.
//! LongRoPE's factors of Phi 3 and 3.5 are made up, as many as there are. Ministral 3 is published inside multimodal
//! files alone: `text_config` again.

use pumice_models::{LanguageModel, LanguageOptions};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// A file, its family, and what is read of it: layers, heads, heads of keys, width of a head, tokens, context.
type Published = (&'static str, &'static str, [u64; 6]);

const PUBLISHED: [Published; 47] = [
    ("llama-2-7b", "Llama", [32, 32, 32, 128, 32_000, 4096]),
    ("llama-3-8b", "Llama", [32, 32, 8, 128, 128_256, 8192]),
    ("llama-3.1-8b-instruct", "Llama", [32, 32, 8, 128, 128_256, 131_072]),
    ("llama-3.2-1b-instruct", "Llama", [16, 32, 8, 64, 128_256, 131_072]),
    ("llama-3.3-70b-instruct", "Llama", [80, 64, 8, 128, 128_256, 131_072]),
    ("falcon3-7b-instruct", "Llama", [28, 12, 4, 256, 131_072, 32_768]),
    ("smollm2-135m-instruct", "Llama", [30, 9, 3, 64, 49_152, 8192]),
    ("smollm2-1.7b-instruct", "Llama", [24, 32, 32, 64, 49_152, 8192]),
    ("mistral-7b-v0.1", "Mistral", [32, 32, 8, 128, 32_000, 32_768]),
    ("mistral-7b-instruct-v0.2", "Mistral", [32, 32, 8, 128, 32_000, 32_768]),
    ("mistral-7b-instruct-v0.3", "Mistral", [32, 32, 8, 128, 32_768, 32_768]),
    ("ministral-3-3b-text", "Ministral 3", [26, 32, 8, 128, 131_072, 262_144]),
    ("devstral-small-2-text", "Ministral 3", [40, 32, 8, 128, 131_072, 393_216]),
    ("qwen2-7b-instruct", "Qwen 2", [28, 28, 4, 128, 152_064, 32_768]),
    ("qwen2.5-7b-instruct", "Qwen 2", [28, 28, 4, 128, 152_064, 32_768]),
    ("qwen2.5-0.5b-instruct-unsloth", "Qwen 2", [24, 14, 2, 64, 151_936, 32_768]),
    ("deepseek-r1-distill-qwen-1.5b", "Qwen 2", [28, 12, 2, 128, 151_936, 131_072]),
    ("qwen3-8b", "Qwen 3", [36, 32, 8, 128, 151_936, 40_960]),
    ("gemma-2-2b-it", "Gemma 2", [26, 8, 4, 256, 256_000, 8192]),
    ("gemma-2-9b-it", "Gemma 2", [42, 16, 8, 256, 256_000, 8192]),
    ("gemma-3-1b-it", "Gemma 3", [26, 4, 1, 256, 262_144, 32_768]),
    ("gemma-3-270m-it", "Gemma 3", [18, 4, 1, 256, 262_144, 32_768]),
    ("phi-1_5", "Phi 2", [24, 32, 32, 64, 51_200, 2048]),
    ("phi-2", "Phi 2", [32, 32, 32, 80, 51_200, 2048]),
    ("phi-3-mini-4k-instruct", "Phi 3", [32, 32, 32, 96, 32_064, 4096]),
    ("phi-3-mini-128k-instruct", "Phi 3", [32, 32, 32, 96, 32_064, 131_072]),
    ("phi-3-medium-128k-instruct", "Phi 3", [40, 40, 10, 128, 32_064, 131_072]),
    ("phi-3.5-mini-instruct", "Phi 3", [32, 32, 32, 96, 32_064, 131_072]),
    ("phi-4", "Phi 3", [40, 40, 10, 128, 100_352, 16_384]),
    ("phi-4-mini-instruct", "Phi 3", [32, 24, 8, 128, 200_064, 131_072]),
    ("smollm3-3b", "SmolLM 3", [36, 16, 4, 128, 128_256, 65_536]),
    ("olmo-2-1124-7b", "OLMo 2", [32, 32, 32, 128, 100_352, 4096]),
    ("granite-3.0-8b-instruct", "Granite", [40, 32, 8, 128, 49_155, 4096]),
    ("granite-3.1-2b-instruct", "Granite", [40, 32, 8, 64, 49_155, 131_072]),
    ("granite-3.3-8b-instruct", "Granite", [40, 32, 8, 128, 49_159, 131_072]),
    ("stablelm-2-1_6b", "StableLM", [24, 32, 32, 64, 100_352, 4096]),
    ("stablelm-2-12b", "StableLM", [40, 32, 8, 160, 100_352, 4096]),
    ("glm-4-9b-0414", "GLM 4", [40, 32, 2, 128, 151_552, 32_768]),
    ("c4ai-command-r-v01", "Command R", [40, 64, 64, 128, 256_000, 8192]),
    ("c4ai-command-r-plus", "Command R", [64, 96, 8, 128, 256_000, 8192]),
    ("c4ai-command-r-08-2024", "Command R", [40, 64, 8, 128, 256_000, 131_072]),
    ("starcoder2-3b", "StarCoder 2", [30, 24, 2, 128, 49_152, 16_384]),
    ("starcoder2-15b", "StarCoder 2", [40, 48, 4, 128, 49_152, 16_384]),
    ("gpt2", "GPT-2", [12, 12, 12, 64, 50_257, 1024]),
    ("gpt2-medium", "GPT-2", [24, 16, 16, 64, 50_257, 1024]),
    ("gpt2-xl", "GPT-2", [48, 25, 25, 64, 50_257, 1024]),
    ("distilgpt2", "GPT-2", [6, 12, 12, 64, 50_257, 1024]),
];

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/published_configs")
}

fn text(name: &str) -> String {
    std::fs::read_to_string(data().join(format!("{name}.json"))).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// A folder with this configuration and no other file.
fn open(name: &str, config: &str) -> Result<LanguageModel, String> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("published-{name}"));
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("config.json"), config).expect("written");
    LanguageModel::open(&folder, &LanguageOptions::default()).map_err(|e| format!("{name}: {e}"))
}

#[test]
fn published_configurations_are_read() {
    let mut wrong = Vec::new();
    for (name, family, expected) in PUBLISHED {
        let model = match open(name, &text(name)) {
            Ok(model) => model,
            Err(told) => {
                wrong.push(told);
                continue;
            }
        };
        let (config, attention) = (&model.config, &model.config.layers[0].attention);
        let heads = [attention.heads, attention.kv_heads, attention.width];
        let read =
            [&[config.layers.len() as u64], &heads[..], &[config.vocab, model.trained_context]].concat();
        if model.family() != family || read != expected {
            wrong.push(format!("{name}: {} {read:?}, expected {family} {expected:?}", model.family()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(std::fs::read_dir(data()).expect("a folder").count(), PUBLISHED.len(), "all files are read");
}

/// A configuration with a key in place of its own.
fn with(name: &str, key: &str, value: Value) -> String {
    let mut config: Value = serde_json::from_str(&text(name)).expect("an object");
    config[key] = value;
    config.to_string()
}

/// What programs write beside a model's own keys.
#[test]
fn keys_of_programs_that_wrote_the_file_say_nothing() {
    for (key, value) in [
        ("_attn_implementation_autoset", json!(true)),
        ("_attn_implementation", json!("sdpa")),
        ("unsloth_fixed", json!(true)),
        ("unsloth_version", json!("2025.3.19")),
        ("task_specific_params", json!({"text-generation": {"do_sample": true}})),
        ("transformers.js_config", json!({"kv_cache_dtype": {"q4f16": "float16"}})),
        ("max_length", json!(4096)),
    ] {
        let model = open("programs", &with("qwen3-8b", key, value)).unwrap_or_else(|e| panic!("{key}: {e}"));
        assert!(!model.notes.iter().any(|note| note.0.contains(key)), "{key}: {:?}", model.notes);
    }
}

/// Keys that would change values must have the value of what is done here.
#[test]
fn keys_that_steer_are_refused_with_another_value() {
    for (name, key, value) in [
        ("smollm2-135m-instruct", "rope_interleaved", json!(true)),
        ("starcoder2-3b", "mlp_type", json!("gated")),
        ("starcoder2-15b", "norm_type", json!("rms_norm")),
        ("phi-4-mini-instruct", "lm_head_bias", json!(true)),
        ("phi-4-mini-instruct", "mlp_bias", json!(true)),
        ("phi-4-mini-instruct", "attention_bias", json!(true)),
        ("phi-4-mini-instruct", "full_attn_mod", json!(2)),
        ("phi-4-mini-instruct", "interpolate_factor", json!(4)),
        ("deepseek-r1-distill-qwen-1.5b", "use_mrope", json!(true)),
        ("gpt2", "scale_attn_by_inverse_layer_idx", json!(true)),
        ("qwen3-8b", "add_cross_attention", json!(true)),
    ] {
        let told =
            open("steers", &with(name, key, value)).err().unwrap_or_else(|| panic!("{key} is accepted"));
        assert!(told.contains(&format!("`{key}` is ")) && told.contains("which is not supported"), "{told}");
    }
}

/// Where keys of Phi 2 are absent, what transformers takes then holds, and not what its files have.
#[test]
fn what_a_file_of_phi_does_not_say_is_what_transformers_takes() {
    let opened = |key| open("phi-absent", &with("phi-2", key, Value::Null)).expect("read").config.layers;
    let rotated = opened("partial_rotary_factor")[0].attention.rotary.as_ref().map(|rotary| rotary.rotated);
    assert_eq!(rotated, Some(40));
    assert_eq!(opened("hidden_act"), open("phi-2", &text("phi-2")).expect("read").config.layers);
}
