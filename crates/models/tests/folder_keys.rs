//! Folders of language models that are refused: by key, by tensor, before anything is made of them.

use pumice_models::{LanguageModel, LanguageOptions};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// The folder of a tiny Llama, from the tests' data.
fn llama() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/tiny_decoders/llama")
}

/// A copy of it under a name, whose configuration has these keys in place of, or beside, its own; null takes one away.
fn changed(name: &str, keys: &[(&str, Value)]) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("language-{name}"));
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::copy(llama().join("model.safetensors"), folder.join("model.safetensors")).expect("copied");
    let text = std::fs::read_to_string(llama().join("config.json")).expect("a file");
    let mut config: Map<String, Value> = serde_json::from_str(&text).expect("an object");
    for (key, value) in keys {
        config.remove(*key);
        if !value.is_null() {
            config.insert((*key).to_owned(), value.clone());
        }
    }
    std::fs::write(folder.join("config.json"), Value::from(config).to_string()).expect("written");
    folder
}

/// The error of reading that copy and making its graph.
fn refusal(name: &str, keys: &[(&str, Value)]) -> String {
    let options = LanguageOptions::default();
    let made = LanguageModel::open(changed(name, keys), &options).and_then(|folder| folder.model());
    made.err().unwrap_or_else(|| panic!("{name} is accepted")).to_string()
}

#[test]
fn keys_are_refused_by_name() {
    let rope = |settings: Value| ("rope_parameters", settings);
    let cases: Vec<(&str, (&str, Value), &str)> = vec![
        (
            "type",
            ("model_type", json!("mamba")),
            "`model_type` is \"mamba\"; models of these types can be run: llama,",
        ),
        ("no_type", ("model_type", Value::Null), "`model_type` is missing"),
        ("unknown", ("attention_sinks", json!(4)), "`attention_sinks` is 4, which is not known here"),
        ("quantized", ("quantization_config", json!({"quant_method": "gptq"})), "quantized by gptq"),
        ("heads", ("num_key_value_heads", json!(3)), "`num_key_value_heads` is 3, which does not divide"),
        (
            "layers",
            ("num_hidden_layers", json!(1 << 24)),
            "`num_hidden_layers` is 16777216, not a number from 1 to 1024",
        ),
        ("more_layers", ("num_hidden_layers", json!(900)), "`num_hidden_layers` is 900, and the weights are"),
        ("width", ("head_dim", json!(1 << 20)), "`head_dim` is 1048576"),
        ("eps", ("rms_norm_eps", json!(-1.0)), "`rms_norm_eps` is -1.0, and must be"),
        ("no_eps", ("rms_norm_eps", Value::Null), "`rms_norm_eps` is missing"),
        ("activation", ("hidden_act", json!("xielu")), "`hidden_act` is \"xielu\""),
        ("rope", rope(json!({"rope_type": "dynamic"})), "`rope_parameters.rope_type` is \"dynamic\""),
        (
            "yarn",
            rope(json!({"rope_type": "yarn"})),
            "`rope_parameters.original_max_position_embeddings` is missing",
        ),
        ("part", rope(json!({"partial_rotary_factor": 0.2})), "makes 3 of 16 elements of a head rotate"),
        ("other", rope(json!({"rope_type": "default", "base": 7})), "`rope_parameters.base` is 7"),
        // It was passed over, and the values were other ones than transformers'.
        (
            "both",
            ("rope_scaling", json!({"rope_type": "linear", "factor": 2})),
            "`rope_scaling` stands beside `rope_parameters` and says something else",
        ),
        ("tensor", ("attention_bias", json!(true)), "model.layers.0.self_attn.q_proj.bias"),
        ("tied", ("vocab_size", json!(289)), "model.embed_tokens.weight"),
    ];
    let wrong: Vec<String> = cases
        .into_iter()
        .filter_map(|(name, key, said)| {
            let told = refusal(name, &[key]);
            (!told.contains(said)).then(|| format!("{name}: {told}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// They became the values of what is not there: 0 for the first layer with a window, no suggestion.
#[test]
fn values_of_another_type_are_refused_by_name() {
    for value in [json!("28"), json!(-1), json!(2.5), json!([28])] {
        let keys = [
            ("model_type", json!("qwen2")),
            ("mlp_bias", Value::Null),
            ("use_sliding_window", json!(false)),
            ("max_window_layers", value.clone()),
        ];
        let told = LanguageModel::open(changed("windows", &keys), &LanguageOptions::default());
        let told = told.err().unwrap_or_else(|| panic!("{value} is accepted")).to_string();
        assert!(
            told.contains(&format!("config.json: `max_window_layers` is {value}, not a number from 0")),
            "{told}"
        );
    }
    let folder = changed("suggested", &[]);
    let suggested = |key: &str, value: &Value| {
        std::fs::write(folder.join("generation_config.json"), json!({ key: value }).to_string())
            .expect("written");
        let model = LanguageModel::open(&folder, &LanguageOptions::default()).expect("opens");
        model.suggested_sampling().map_err(|e| e.to_string())
    };
    for (key, value, said) in [
        ("temperature", json!("0.7"), "not a number"),
        ("top_p", json!(true), "not a number"),
        ("top_k", json!(40.9), "not a whole number"),
        ("repetition_penalty", json!([1.1]), "not a number"),
    ] {
        let told = suggested(key, &value).expect_err(key);
        assert!(told.contains(&format!("generation_config.json: `{key}` is {value}, {said}")), "{told}");
    }
    for (value, tokens) in [(json!(40), 40), (json!(40.0), 40), (json!(-1), 0)] {
        assert_eq!(suggested("top_k", &value).expect("a count").top_k, Some(tokens), "{value}");
    }
    assert!(suggested("temperature", &Value::Null).expect("nothing").is_empty());
}

#[test]
fn a_tensor_that_nobody_reads_is_refused() {
    let told = refusal("extra", &[("num_hidden_layers", json!(1))]);
    assert!(
        told.contains("model.layers.1.") && told.contains("a tensor that the model does not have"),
        "{told}"
    );
}

/// A copy whose header says another type of a tensor, of as many bits as its own bf16: two elements for each.
fn retyped(name: &str, dtype: &str) -> PathBuf {
    let folder = changed(name, &[]);
    let bytes = std::fs::read(llama().join("model.safetensors")).expect("a file");
    let (len, rest) = bytes.split_at(8);
    let len = u64::from_le_bytes(len.try_into().expect("eight bytes")) as usize;
    let mut header: Value = serde_json::from_slice(&rest[..len]).expect("a header");
    let tensor = &mut header["model.layers.1.mlp.up_proj.weight"];
    let rows = tensor["shape"][0].as_u64().expect("rows");
    tensor["shape"][0] = json!(2 * rows);
    tensor["dtype"] = json!(dtype);
    let header = header.to_string();
    let written = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &rest[len..]].concat();
    std::fs::write(folder.join("model.safetensors"), written).expect("written");
    folder
}

/// They were called a defect of this program, or taken for values.
#[test]
fn weights_whose_numbers_are_no_values_are_refused_by_name() {
    for (dtype, encoding) in [("F8_E4M3", "f8e4m3fn"), ("I8", "i8")] {
        let folder = retyped(dtype, dtype);
        for asked in [None, Some(pumice_types::Scheme::Q8_0.into())] {
            let options = LanguageOptions::default().quantize(asked);
            let told = LanguageModel::open(&folder, &options).and_then(|model| model.model());
            let told = told.err().expect("refused").to_string();
            let said = format!("`model.layers.1.mlp.up_proj.weight` is stored as {encoding}");
            assert!(told.contains(&said) && told.contains("before they were quantized"), "{told}");
        }
    }
}

#[test]
fn keys_that_switch_nothing_on_are_noted() {
    let folder =
        changed("noted", &[("new_key", json!(false)), ("other_key", json!([])), ("gone", Value::Null)]);
    let folder = LanguageModel::open(folder, &LanguageOptions::default()).expect("it is read");
    let notes: Vec<&str> = folder.notes.iter().map(|note| note.0.as_str()).collect();
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(notes[0].contains("`new_key`") && notes[1].contains("`other_key`"), "{notes:?}");
    folder.model().expect("it fits");
}

/// What nobody knows may be passed over by its name, at any depth, and is told; what counts may not.
#[test]
fn unknown_keys_are_passed_over_where_that_is_asked_for() {
    let folder = changed(
        "passed_over",
        &[
            ("attention_sinks", json!(4)),
            ("rope_parameters", json!({"rope_type": "default", "rope_theta": 10000.0, "twist": 2.5})),
        ],
    );
    let open = |names: &[&str]| {
        let options = LanguageOptions::default().ignored_keys(names.iter().copied());
        LanguageModel::open(&folder, &options).map(|model| model.notes).map_err(|e| e.to_string())
    };
    let refused = |names: &[&str], said: &str| {
        let error = open(names).expect_err("refused");
        assert!(error.contains(said), "{names:?}: {error}");
    };
    refused(&[], "`rope_parameters.twist` is 2.5, which is not known here");
    refused(&["rope_parameters.twist"], "`attention_sinks` is 4, which is not known here");
    refused(
        &[],
        "with `--ignore-key rope_parameters.twist` (`LanguageOptions::ignored_keys`): values may be wrong",
    );
    let notes = open(&["attention_sinks", "rope_parameters.twist"]).expect("opens");
    let told = |what: &str| notes.iter().any(|note| note.0.contains(what));
    assert!(told("`attention_sinks` is 4 and not known here: it is passed over"), "{notes:?}");
    assert!(told("`rope_parameters.twist` is 2.5 and not known here"), "{notes:?}");
    let both = ["attention_sinks", "rope_parameters.twist"];
    refused(&[&both[..], &["hidden_size"]].concat(), "`hidden_size` is read");
    refused(&[&both[..], &["rope_parameters.rope_theta"]].concat(), "`rope_parameters.rope_theta` is read");
    refused(&[&both[..], &["twist"]].concat(), "`twist` is no key of the model");
}

#[test]
fn a_context_is_at_most_what_the_model_was_trained_for() {
    let open = |tokens: u64| LanguageModel::open(llama(), &LanguageOptions::default().context(tokens));
    assert_eq!(open(100).expect("it fits").config.capacity, 100);
    assert!(open(129).err().expect("too long").to_string().contains("from 1 to 128"));
}

/// They passed without a word, and answers were others than those of the model's makers.
#[test]
fn what_would_choose_other_tokens_is_noted() {
    let folder = changed("unapplied", &[]);
    let notes = |keys: Value| -> Vec<String> {
        std::fs::write(folder.join("generation_config.json"), keys.to_string()).expect("written");
        let opened = LanguageModel::open(&folder, &LanguageOptions::default()).expect("opens");
        opened.notes.into_iter().map(|note| note.0).collect()
    };
    let long: Vec<u32> = (0..1000).collect();
    let said = [
        ("suppress_tokens", json!([1, 2])),
        ("begin_suppress_tokens", json!([220])),
        ("bad_words_ids", json!([[7]])),
        ("forced_bos_token_id", json!(0)),
        ("forced_eos_token_id", json!([2])),
        ("no_repeat_ngram_size", json!(3)),
        ("num_beams", json!(4)),
        ("penalty_alpha", json!(0.6)),
        ("min_new_tokens", json!(1)),
        ("min_length", json!(10)),
        ("epsilon_cutoff", json!(3e-4)),
        ("eta_cutoff", json!(3e-4)),
        ("encoder_repetition_penalty", json!(1.5)),
        ("encoder_no_repeat_ngram_size", json!(2)),
        ("sequence_bias", json!([[[5], -10.0]])),
    ];
    for (key, value) in said {
        let notes = notes(json!({ key: value, "temperature": 0.5 }));
        let wanted = format!("generation_config.json: `{key}` is {value}, which is not applied here");
        assert_eq!(notes, [wanted]);
    }
    let [cut] = &notes(json!({"suppress_tokens": long}))[..] else { panic!("one note") };
    assert!(cut.len() < 200 && cut.contains("0,1,2,3,4"), "{cut}");
    let idle = json!({
        "num_beams": 1, "min_length": 0, "no_repeat_ngram_size": 0, "bad_words_ids": null, "sequence_bias": {},
        "suppress_tokens": [], "encoder_repetition_penalty": 1.0, "epsilon_cutoff": 0.0, "guidance_scale": 1,
        "token_healing": false, "forced_bos_token_id": null, "do_sample": true, "top_k": 40, "max_length": 20,
    });
    assert!(notes(idle).is_empty());
}
