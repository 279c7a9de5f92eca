//! Keys of a GGUF file: counts that the file does not hold, and values that change what is computed.

use pumice_import::fuzz::within_memory;
use pumice_import::{GgufValue, GgufWriter};
use pumice_models::decoder::Factors;
use pumice_models::{Conversion, LanguageModel, LanguageOptions};
use pumice_types::{DType, Scheme};
use std::path::{Path, PathBuf};

/// A file of one layer with these keys in place of, or beside, its own; the error of opening it.
fn open(name: &str, keys: &[(&str, GgufValue)]) -> Result<LanguageModel, String> {
    open_without(name, keys, &[])
}

/// The same, where keys are passed over.
fn open_without(name: &str, keys: &[(&str, GgufValue)], ignored: &[&str]) -> Result<LanguageModel, String> {
    let mut w = GgufWriter::new();
    let mut all: Vec<(String, GgufValue)> = vec![("general.architecture".into(), "llama".into())];
    let counts = [
        ("block_count", 1u32),
        ("context_length", 64),
        ("embedding_length", 8),
        ("feed_forward_length", 16),
        ("attention.head_count", 2),
        ("attention.head_count_kv", 1),
    ];
    all.extend(counts.map(|(key, n)| (format!("llama.{key}"), n.into())));
    all.push(("llama.attention.layer_norm_rms_epsilon".into(), 1e-5f32.into()));
    all.push(("tokenizer.ggml.model".into(), "gpt2".into()));
    for (key, value) in keys {
        all.retain(|(known, _)| known != key);
        all.push(((*key).to_owned(), value.clone()));
    }
    all.iter().for_each(|(key, value)| w.metadata(key, value.clone()).expect("new"));
    let mut tensor = |name: &str, shape: &[u64]| w.tensor(name, DType::F32, shape).expect("new");
    tensor("token_embd.weight", &[5, 8]);
    tensor("output_norm.weight", &[8]);
    for (name, shape) in [
        ("attn_q", vec![8, 8]),
        ("attn_k", vec![4, 8]),
        ("attn_v", vec![4, 8]),
        ("attn_output", vec![8, 8]),
        ("ffn_gate", vec![16, 8]),
        ("ffn_up", vec![16, 8]),
        ("ffn_down", vec![8, 16]),
        ("attn_norm", vec![8]),
        ("ffn_norm", vec![8]),
    ] {
        tensor(&format!("blk.0.{name}.weight"), &shape);
    }
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("keys-{name}.gguf"));
    let mut file = std::fs::File::create(&path).expect("a file");
    w.write(&mut file, |_, _, piece| {
        piece.fill(0);
        Ok(())
    })
    .expect("written");
    let options = LanguageOptions::default().ignored_keys(ignored.iter().copied());
    LanguageModel::open(&path, &options).map_err(|e| e.to_string())
}

/// A file of 4,480 bytes with a `block_count` of 2^24 took all memory: names of its weights were made first.
#[test]
fn a_count_of_layers_that_the_file_does_not_hold_is_refused_before_anything_is_made() {
    within_memory(4 << 10, || {
        let refused =
            |layers: u32| open("layers", &[("llama.block_count", layers.into())]).err().expect("refused");
        let (never, more) = (refused(1 << 24), refused(900));
        assert!(never.contains("`llama.block_count` is 16777216, not a number from 1 to 1024"), "{never}");
        assert!(more.contains("`llama.block_count` is 900, but the file has 11 tensors"), "{more}");
    });
}

/// They were passed over, and every value was another.
#[test]
fn keys_that_change_values_are_refused_and_those_that_do_not_pass() {
    let changing: [(&str, GgufValue); 13] = [
        ("llama.attention.causal", false.into()),
        ("llama.attention.scale", 0.25f32.into()),
        ("llama.logit_scale", 0.5f32.into()),
        ("llama.attn_logit_softcapping", 50f32.into()),
        ("llama.final_logit_softcapping", 30f32.into()),
        ("llama.attention.sliding_window", 32u32.into()),
        ("llama.residual_scale", 0.22f32.into()),
        ("llama.attention.clamp_kqv", 8f32.into()),
        ("llama.never_heard_of", 1u32.into()),
        ("llama.expert_count", 8u32.into()),
        ("llama.rope.scaling.type", "yarn".into()),
        ("llama.use_parallel_residual", true.into()),
        ("split.count", GgufValue::U16(2)),
    ];
    for (key, value) in changing {
        let error = open("changing", &[(key, value)]).err().expect(key);
        assert!(error.contains(&format!("`{key}`")) && error.contains("keys-changing.gguf"), "{error}");
    }
    let same: [(&str, GgufValue); 11] = [
        ("llama.attention.causal", true.into()),
        ("llama.attention.scale", 0.5f32.into()),
        ("llama.logit_scale", 1f32.into()),
        ("llama.attn_logit_softcapping", 0f32.into()),
        ("llama.attention.sliding_window", 64u32.into()),
        ("llama.rope.scaling.type", "none".into()),
        ("llama.rope.scaling.factor", 1f32.into()),
        ("llama.attention.sliding_window", 0u32.into()),
        ("llama.vocab_size", 5u32.into()),
        ("llama.expert_count", 0u32.into()),
        ("split.count", GgufValue::U16(1)),
    ];
    for (key, value) in same {
        assert_eq!(open("same", &[(key, value)]).err(), None, "{key}");
    }
}

/// llama.cpp takes a factor without a type for linear scaling.
#[test]
fn a_factor_of_positions_alone_is_linear() {
    let angles = |keys: &[(&str, GgufValue)]| {
        let model = open("linear", keys).expect("opens");
        format!("{:?}", model.config.layers[0].attention.rotary)
    };
    let factor = ("llama.rope.scaling.factor", GgufValue::from(8f32));
    let linear = angles(&[factor.clone(), ("llama.rope.scaling.type", "linear".into())]);
    assert_eq!(angles(std::slice::from_ref(&factor)), linear);
    assert_eq!(angles(&[factor, ("llama.rope.scaling.type", "none".into())]), angles(&[]));
    assert_ne!(linear, angles(&[]));
}

/// A count was made a share of the head and cut to a count again, which lost one.
#[test]
fn any_even_count_of_elements_rotates() {
    for (width, rotated) in [(88u32, 30u32), (104, 30), (100, 58), (128, 64), (100, 100)] {
        let keys =
            [("llama.attention.key_length", width.into()), ("llama.rope.dimension_count", rotated.into())];
        let model = open("rotated", &keys).unwrap_or_else(|e| panic!("{rotated} of {width}: {e}"));
        let rotary = model.config.layers[0].attention.rotary.as_ref().expect("positions");
        assert_eq!(rotary.rotated, u64::from(rotated), "of {width}");
    }
}

/// Any architecture may have YaRN. Its magnitude is 1 + ln(factor) / 10; the key by which that is divided is not read
/// by llama.cpp where it does not say so, and `attn_factor` multiplies it.
#[test]
fn yarn_is_read_and_what_belongs_to_others_is_not() {
    let with = |more: &[(&str, GgufValue)]| {
        let yarn = [
            ("llama.rope.scaling.type", GgufValue::from("yarn")),
            ("llama.rope.scaling.factor", 4f32.into()),
            ("llama.rope.scaling.original_context_length", 16u32.into()),
        ];
        open("yarn", &[&yarn, more].concat())
    };
    let rotation = |more: &[(&str, GgufValue)]| {
        with(more).expect("opens").config.layers[0].attention.rotary.clone().expect("rotates")
    };
    let plain = rotation(&[]);
    assert!((plain.magnitude - 1.138_629_4).abs() < 1e-6, "{plain:?}");
    // Of two pairs the first turns as it did, the other a quarter as far.
    assert_eq!(plain.factors, Factors::Given(vec![1.0, 4.0]));
    assert_eq!(rotation(&[("llama.rope.scaling.yarn_ext_factor", 1f32.into())]), plain);
    let half = rotation(&[("llama.rope.scaling.attn_factor", 0.5f32.into())]);
    assert!((half.magnitude - 0.569_314_7).abs() < 1e-6, "{half:?}");
    let longer = rotation(&[("llama.rope.scaling.original_context_length", 4096u32.into())]);
    assert_ne!(longer.factors, plain.factors);
    let fast = rotation(&[("llama.rope.scaling.yarn_beta_fast", 1e-3f32.into())]);
    assert_ne!(fast.factors, plain.factors);
    for (key, value) in [
        ("llama.rope.scaling.yarn_log_multiplier", GgufValue::from(1f32)),
        ("llama.attention.temperature_scale", 0.1f32.into()),
        ("llama.rope.scaling.yarn_ext_factor", 0f32.into()),
        ("llama.rope.scaling.yarn_beta_fast", f32::NAN.into()),
        ("llama.rope.scaling.yarn_beta_slow", (-1f32).into()),
        ("llama.rope.scaling.original_context_length", (-1i32).into()),
    ] {
        let error = with(&[(key, value)]).err().expect(key);
        assert!(error.contains(&format!("`{key}`")) && error.contains("keys-yarn.gguf"), "{error}");
    }
}

/// Converters wrote `use_parallel_residual` into files of models whose configuration does not say it.
#[test]
fn stablelm_has_parts_beside_each_other_where_the_second_has_no_norm() {
    let folders = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/tiny_decoders");
    for (name, is_parallel) in [("stablelm", false), ("stablelm12", true)] {
        let mut bytes = std::fs::read(folders.join(name).join("model.gguf")).expect("there");
        let key = b"stablelm.use_parallel_residual";
        let at = bytes.windows(key.len()).position(|found| found == key).expect("it says so");
        // A number for the type stands between.
        let value = bytes[at + key.len() + 4];
        assert_eq!(value, u8::from(is_parallel));
        for said in [0, 1] {
            let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("keys-{name}.gguf"));
            bytes[at + key.len() + 4] = said;
            std::fs::write(&path, &bytes).expect("written");
            let model = LanguageModel::open(&path, &LanguageOptions::default()).expect("opens");
            assert_eq!(model.config.layers[0].parallel, is_parallel, "{name}");
        }
    }
}

/// They were reported as options of ours (`kv_heads`), or by a source file of ours, without file or key.
#[test]
fn faults_of_a_file_name_its_key() {
    let faults: [(&str, GgufValue); 8] = [
        ("llama.attention.head_count_kv", 3u32.into()),
        ("llama.rope.dimension_count", 3u32.into()),
        ("llama.rope.dimension_count", 6u32.into()),
        ("llama.rope.freq_base", f32::NAN.into()),
        ("llama.rope.freq_base", (-1f32).into()),
        ("llama.rope.freq_base", 0f32.into()),
        ("llama.attention.layer_norm_rms_epsilon", f32::INFINITY.into()),
        ("llama.attention.layer_norm_rms_epsilon", (-1e-5f32).into()),
    ];
    for (key, value) in faults {
        let error = open("faults", &[(key, value)]).err().expect(key);
        assert!(error.contains(&format!("`{key}`")) && error.contains("keys-faults.gguf"), "{error}");
    }
}

/// They were taken for keys that are not there.
#[test]
fn keys_of_another_type_are_refused_by_name() {
    let numbers = [
        "llama.attention.value_length",
        "llama.attention.key_length",
        "llama.vocab_size",
        "llama.rope.dimension_count",
        "llama.rope.scaling.original_context_length",
        "llama.rope.scaling.factor",
        "llama.rope.scaling.attn_factor",
        "llama.rope.scaling.yarn_beta_fast",
        "llama.rope.scaling.yarn_beta_slow",
        "split.no",
        "split.count",
        "split.tensors.count",
    ];
    let other: [GgufValue; 4] = ["4".into(), (-4i32).into(), true.into(), vec![4i32].into()];
    let of_numbers = numbers.iter().flat_map(|key| other.iter().map(move |value| (*key, value.clone())));
    let words = [
        ("llama.rope.scaling.type", 1u32.into()),
        ("llama.rope.scaling.finetuned", "no".into()),
        ("llama.tensor_data_layout", 1u32.into()),
        ("llama.rope.scaling.attn_factor", f32::NAN.into()),
        ("llama.rope.scaling.original_context_length", 0u32.into()),
        ("llama.rope.scaling.original_context_length", 16.5f32.into()),
    ];
    for (key, value) in of_numbers.chain(words) {
        let error = open("typed", &[(key, value.clone())]).err();
        let error = error.unwrap_or_else(|| panic!("{key} is {value} and passed"));
        assert!(error.contains(&format!("`{key}`")) && error.contains("keys-typed.gguf"), "{error}");
    }
    let right: [(&str, GgufValue); 6] = [
        ("llama.attention.value_length", 4u32.into()),
        ("llama.rope.scaling.original_context_length", 64i32.into()),
        ("llama.rope.scaling.attn_factor", 1f32.into()),
        ("llama.rope.scaling.finetuned", true.into()),
        ("llama.tensor_data_layout", "reference".into()),
        ("split.no", GgufValue::U16(0)),
    ];
    for (key, value) in right {
        assert_eq!(open("typed", &[(key, value)]).err(), None, "{key}");
    }
}

/// Rows of the settings that are no whole blocks of the file's encoding were called a defect of this program.
#[test]
fn settings_of_another_model_are_refused_by_the_tensor() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/tiny_decoders/llama/model.gguf");
    let conversion = Conversion::open(path, Scheme::Q8_0.into()).expect("planned");
    let mut written = Vec::new();
    conversion.write(&mut written, |_, _| {}).expect("written");
    // 64 wide becomes 80 wide; 80 is no whole number of blocks of 32.
    let key = b"llama.embedding_length\x04\0\0\0";
    let at = written.windows(key.len()).position(|bytes| bytes == key).expect("a key") + key.len();
    assert_eq!(written[at], 64);
    written[at] = 80;
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("wider.gguf");
    std::fs::write(&path, written).expect("written");
    let told = LanguageModel::open(&path, &LanguageOptions::default()).and_then(|model| model.model());
    let told = told.err().expect("refused").to_string();
    assert!(told.contains("tensor `token_embd.weight` is q8_0") && told.contains("from one model"), "{told}");
}

#[test]
fn suggestions_that_are_no_numbers_are_refused_by_name() {
    for (key, value) in [
        ("general.sampling.temp", GgufValue::from("0.7")),
        ("general.sampling.top_k", 40.5f32.into()),
        ("general.sampling.top_p", true.into()),
    ] {
        let model = open("suggested", &[(key, value)]).expect("opens");
        let error = model.suggested_sampling().expect_err(key).to_string();
        assert!(error.contains(&format!("`{key}` is ")) && error.contains("number"), "{error}");
    }
    let model = open("suggested", &[("general.sampling.top_k", 40i32.into())]).expect("opens");
    assert_eq!(model.suggested_sampling().expect("a count").top_k, Some(40));
}

/// They went unsaid, where those of `generation_config.json` did not.
#[test]
fn suggestions_that_are_not_applied_are_noted() {
    let notes = |keys: &[(&str, GgufValue)]| -> Vec<String> {
        let opened = open("unapplied", keys).unwrap_or_else(|e| panic!("{keys:?}: {e}"));
        opened.notes.into_iter().map(|note| note.0).collect()
    };
    let said = [
        ("general.sampling.mirostat", GgufValue::from(2i32), "2"),
        ("general.sampling.xtc_probability", 0.1f32.into(), "0.1"),
        ("general.sampling.xtc_probability", 0.1f64.into(), "0.1"),
        ("general.sampling.penalty_last_n", (-1i32).into(), "-1"),
        ("general.sampling.never_heard_of", true.into(), "true"),
        ("general.sampling.sequence", "top_k;temperature".into(), "\"top_k;temperature\""),
    ];
    let silent = notes(&[]);
    for (key, value, shown) in said {
        let wanted = format!("`{key}` is {shown}, which is not applied here");
        assert_eq!(notes(&[(key, value)]), [silent.as_slice(), &[wanted]].concat());
    }
    let idle = [
        ("general.sampling.mirostat", GgufValue::from(0i32)),
        ("general.sampling.mirostat_tau", 5f32.into()),
        ("general.sampling.sequence", "".into()),
        ("general.sampling.temp", 0.5f32.into()),
    ];
    assert_eq!(notes(&idle), silent);
}

/// Files of the rules `llama-bpe` without `add_bos_token` got no token of beginning; llama.cpp puts one.
#[test]
fn llama_bpe_begins_with_bos_unless_the_file_says_otherwise() {
    let tokens: pumice_import::GgufStrings = ["<s>", "a", "b", "c", "d"].into_iter().collect();
    let begins = |name: &str, pre: &str, add: Option<bool>| {
        let mut keys: Vec<(&str, GgufValue)> = vec![
            ("tokenizer.ggml.pre", pre.into()),
            ("tokenizer.ggml.tokens", tokens.clone().into()),
            ("tokenizer.ggml.token_type", vec![3i32, 1, 1, 1, 1].into()),
            ("tokenizer.ggml.merges", pumice_import::GgufStrings::default().into()),
            ("tokenizer.ggml.bos_token_id", 0u32.into()),
        ];
        keys.extend(add.map(|add| ("tokenizer.ggml.add_bos_token", add.into())));
        let tokenizer = open(name, &keys).map(|file| file.tokenizer().expect("a vocabulary"));
        tokenizer.expect("opens").encode_prompt("ab", false).expect("tokens")
    };
    assert_eq!(begins("bos", "llama-bpe", None), [0, 1, 2]);
    assert_eq!(begins("bos", "llama3", None), [0, 1, 2]);
    assert_eq!(begins("bos", "llama-bpe", Some(false)), [1, 2]);
    assert_eq!(begins("bos", "smollm", None), [1, 2]);
    assert_eq!(begins("bos", "smollm", Some(true)), [0, 1, 2]);
}

#[test]
fn unknown_keys_are_passed_over_where_that_is_asked_for() {
    let unknown = [("llama.attention.twist", 2.5f32.into())];
    let error = open("twist", &unknown).err().expect("refused");
    assert!(error.contains("`llama.attention.twist` is 2.5, which is not known here"), "{error}");
    assert!(error.contains("--ignore-key llama.attention.twist`"), "{error}");
    let notes = open_without("twist", &unknown, &["llama.attention.twist"]).expect("opens").notes;
    assert!(notes.iter().any(|n| n.0.contains("`llama.attention.twist` is 2.5 and not known")), "{notes:?}");
    let error = open_without("twist", &unknown, &["llama.attention.twist", "llama.block_count"]);
    let error = error.err().expect("refused");
    assert!(error.contains("`llama.block_count` is read"), "{error}");
}
